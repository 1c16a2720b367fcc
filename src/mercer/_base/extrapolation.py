"""From two rehearsals, of a sample of the rows and of half of it, to all rows.

What is twice as much for twice the rows grows with them, and what is the same does not.
"""

import math
from dataclasses import dataclass

from mercer._base.rehearsal import Rehearsal
from mercer._source.memory import Request, require_memory
from mercer.errors import MemoryForecastError

__all__ = ["Extrapolation"]


@dataclass(frozen=True)
class Extrapolation:
    """What a fit to `n_rows` rows will take, given what its rehearsals took.

    Parameters
    ----------
    half, whole : Rehearsal
        The same one twice where the sample holds all rows and there is nothing to carry on.
    n_rows : int
        All rows.
    """

    half: Rehearsal
    whole: Rehearsal
    n_rows: int

    @property
    def factor(self) -> float:
        """How many times the rows of the sample there are."""
        return self.n_rows / self.whole.n_rows

    @property
    def more(self) -> int:
        """How many rows the sample has more than its half."""
        return max(1, self.whole.n_rows - self.half.n_rows)

    def rows_read(self) -> dict[str, float]:
        """Rows read of all rows, by kind. Passes are as many as over the sample, whatever half of it took."""
        before, after = self.half.readings.rows, self.whole.readings.rows
        return {
            kind: count * self.factor if kind == "passes" else _grown(before[kind], count, self.factor)
            for kind, count in after.items()
        }

    def passes(self) -> tuple[int, int]:
        """Passes over the data: expected, and at most."""
        whole = self.whole
        expected = max(1, math.ceil(sum(self.rows_read().values()) / self.n_rows - 0.01))
        if whole.most_steps is None or whole.n_steps >= whole.most_steps:
            return expected, expected
        return expected, expected + math.ceil((whole.most_steps - whole.n_steps) * whole.passes_per_step)

    def seconds(self, reading: float) -> tuple[float, float]:
        """Seconds of the whole fit, and of those on rows, in parallel; `reading` one row takes so many by itself."""
        rows, readings = self.rows_read(), self.whole.readings
        computing = sum(spent * rows[kind] / max(1, readings.rows[kind]) for kind, spent in readings.seconds.items())
        # A thread reads ahead, so that a pass takes as long as the slower of reading and computing.
        on_rows = max(computing, reading * sum(rows.values()))
        # What half of the rows would have taken by itself for as many steps.
        before = self.half.rest * max(1, self.whole.n_steps) / max(1, self.half.n_steps)
        slope = min(max(0.0, self.whole.rest - before) / self.more, self.whole.rest / self.whole.n_rows)
        return on_rows + self.whole.rest + slope * (self.n_rows - self.whole.n_rows), on_rows

    def fixed_bytes(self, threads: int) -> int:
        """Bytes held whatever the number of rows: sums and blocks, for each thread that works on blocks."""
        rows, held = self.whole.readings.rows, self.whole.held_bytes
        at_once = threads if rows["passes"] >= rows["parts"] else 1
        # Something is held beside what grows, even where the two cannot be told apart in a sample.
        return int(max(held - self._growing(1.0), 0.1 * held)) * at_once

    def growing_bytes(self) -> int:
        """Bytes held for the rows there are."""
        return int(self._growing(self.factor))

    def _growing(self, factor: float) -> float:
        """The most of three measures: of what grew at the peak, of what was left at the end, of what was asked for."""
        half, whole = self.half, self.whole
        sizes: list[tuple[float, float]] = [(half.held_bytes, whole.held_bytes), (half.kept_bytes, whole.kept_bytes)]
        sizes += [(before.n_bytes, after.n_bytes) for before, after in self.requests()]
        # Less than a byte for each row is bookkeeping, of steps for example.
        grown = [self._growth(before, after, factor) for before, after in sizes if after - before >= self.more]
        return max(grown, default=0.0)

    def _growth(self, before: float, after: float, factor: float) -> float:
        """The part of `after` that grows with the rows, carried on: all of it if it much more than doubled."""
        if after > 2.5 * before:
            return _grown(before, after, factor)
        return (after - before) / self.more * factor * self.whole.n_rows

    def requests(self) -> list[tuple[Request, Request]]:
        """Requests for memory of both, one beside the other; half of the rows may have had another solver."""
        half = self.half if len(self.half.requests) == len(self.whole.requests) else self.whole
        return list(zip(half.requests, self.whole.requests, strict=True))

    def requested_bytes(self) -> dict[str, int]:
        """What the fit will ask for, by purpose."""
        return {
            self._purpose(after): int(_grown(before.n_bytes, after.n_bytes, self.factor))
            for before, after in self.requests()
        }

    def refusals(self) -> list[str]:
        """What the memory forecast will say when all rows are there."""
        said = []
        for _, asked in self.requests():
            try:
                purpose = self._purpose(asked)
                require_memory(asked.subject, self.requested_bytes()[purpose], purpose, asked.cure)
            except MemoryForecastError as refusal:
                said.append(str(refusal))
        return said

    def _purpose(self, request: Request) -> str:
        """A purpose that names the rows of the sample, with those there are."""
        return request.purpose.replace(str(self.whole.n_rows), str(self.n_rows))


def _grown(half: float, whole: float, factor: float) -> float:
    """What `whole` becomes for `factor` times the rows, by the power of them that takes `half` to it."""
    if half <= 0 or whole <= 0:
        return whole
    return whole * factor ** min(3, max(0, round(math.log2(whole / half))))
