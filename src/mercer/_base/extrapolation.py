"""Extrapolation of what a fit takes, from rehearsals on a sample and on half of it, to all rows.

What doubles with the number of rows grows with them; what stays the same does not.
"""

import math
from dataclasses import dataclass

from mercer._base.rehearsal import Rehearsal
from mercer._source.memory import Request, require_memory
from mercer.errors import MemoryForecastError


@dataclass(frozen=True)
class Extrapolation:
    """The cost of a fit to `n_rows` rows, extrapolated from the costs of its rehearsals.

    Parameters
    ----------
    half, whole : Rehearsal
        The same one twice if the sample holds all rows, so that there is nothing to extrapolate.
    n_rows : int
        All rows.
    """

    half: Rehearsal
    whole: Rehearsal
    n_rows: int

    @property
    def factor(self) -> float:
        """All rows over rows of the sample."""
        return self.n_rows / self.whole.n_rows

    @property
    def more(self) -> int:
        """Rows of the sample minus rows of its half."""
        return max(1, self.whole.n_rows - self.half.n_rows)

    def rows_read(self) -> dict[str, float]:
        """Return the rows that the fit will read, by kind; it makes as many passes as over the sample."""
        before, after = self.half.readings.rows, self.whole.readings.rows
        return {
            # Passes read all rows, whatever their number; other readings grow as they did from the half to the whole
            # sample.
            kind: count * self.factor if kind == "passes" else _extrapolate(before[kind], count, self.factor)
            for kind, count in after.items()
        }

    def passes(self) -> tuple[int, int]:
        """Return the number of passes over the data: expected, and at most."""
        whole = self.whole
        # 0.01 of a pass is rounding, and would add a whole one.
        expected = max(1, math.ceil(sum(self.rows_read().values()) / self.n_rows - 0.01))
        if whole.most_steps is None or whole.n_steps >= whole.most_steps:
            return expected, expected
        return expected, expected + math.ceil((whole.most_steps - whole.n_steps) * whole.passes_per_step)

    def seconds(self, reading: float) -> tuple[float, float]:
        """Return the seconds of the whole fit, and the part spent on rows, which threads share."""
        rows, readings = self.rows_read(), self.whole.readings
        computing = sum(spent * rows[kind] / max(1, readings.rows[kind]) for kind, spent in readings.seconds.items())
        # A thread reads ahead, so a pass takes as long as the slower one of reading and computing; `reading` is in
        # seconds per row.
        on_rows = max(computing, reading * sum(rows.values()))
        # The other work of the half, scaled to as many steps as the whole sample took.
        before = self.half.rest * max(1, self.whole.n_steps) / max(1, self.half.n_steps)
        slope = min(max(0.0, self.whole.rest - before) / self.more, self.whole.rest / self.whole.n_rows)
        return on_rows + self.whole.rest + slope * (self.n_rows - self.whole.n_rows), on_rows

    def count_fixed_bytes(self, threads: int) -> int:
        """Return the bytes held whatever the number of rows: sums and blocks, for each thread that works on blocks."""
        rows, held = self.whole.readings.rows, self.whole.held_bytes
        at_once = threads if rows["passes"] >= rows["parts"] else 1
        # At least a tenth counts as fixed, because a sample cannot always separate it from what grows.
        return int(max(held - self._growing(1.0), 0.1 * held)) * at_once

    def count_growing_bytes(self) -> int:
        """Return the bytes held that grow with the number of rows."""
        return int(self._growing(self.factor))

    def _growing(self, factor: float) -> float:
        """Return the largest of three measures of growth: memory at the peak, memory at the end, memory asked for."""
        half, whole = self.half, self.whole
        sizes: list[tuple[float, float]] = [(half.held_bytes, whole.held_bytes), (half.kept_bytes, whole.kept_bytes)]
        sizes += [(before.n_bytes, after.n_bytes) for before, after in self.requests()]
        # Growth of less than a byte per row is bookkeeping, for example the history of steps.
        grown = [self._growth(before, after, factor) for before, after in sizes if after - before >= self.more]
        return max(grown, default=0.0)

    def _growth(self, before: float, after: float, factor: float) -> float:
        """Return what grows of `after`, scaled to all rows; all of it grows if it much more than doubled."""
        if after > 2.5 * before:
            return _extrapolate(before, after, factor)
        return (after - before) / self.more * factor * self.whole.n_rows

    def requests(self) -> list[tuple[Request, Request]]:
        """Pair the requests for memory of both rehearsals; half of the rows may have used another solver."""
        half = self.half if len(self.half.requests) == len(self.whole.requests) else self.whole
        return list(zip(half.requests, self.whole.requests, strict=True))

    def count_requested_bytes(self) -> dict[str, int]:
        """Return the bytes that the fit will ask for, by purpose."""
        return {
            self._purpose(after): int(_extrapolate(before.n_bytes, after.n_bytes, self.factor))
            for before, after in self.requests()
        }

    def refusals(self) -> list[str]:
        """List the errors that `require_memory` would raise for all rows."""
        said = []
        for _, asked in self.requests():
            # The check itself raises, so the forecast says word for word what the fit would say.
            try:
                purpose = self._purpose(asked)
                require_memory(asked.subject, self.count_requested_bytes()[purpose], purpose, asked.cure)
            except MemoryForecastError as refusal:
                said.append(str(refusal))
        return said

    def _purpose(self, request: Request) -> str:
        """Return the purpose of a request with the number of all rows in place of the sample's."""
        return request.purpose.replace(str(self.whole.n_rows), str(self.n_rows))


def _extrapolate(half: float, whole: float, factor: float) -> float:
    """Scale `whole` to `factor` times the rows, by the integer power of the rows that takes `half` to `whole`."""
    if half <= 0 or whole <= 0:
        return whole
    return whole * factor ** min(3, max(0, round(math.log2(whole / half))))
