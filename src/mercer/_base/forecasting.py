"""The forecast of what a fit will take: memory, passes over the data, and time.

A copy of the estimator is fitted to a sample of the rows and to half of that sample. What doubles with the
number of rows grows with them, what stays the same does not; both are extrapolated to all rows.
"""

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from mercer._base.estimator import Estimator
from mercer._base.rehearsal import Rehearsal, rehearse
from mercer._base.scaling import amdahl
from mercer._notebook import render_table
from mercer._source import Source
from mercer._source.memory import MOST_TABLE_BYTES, Request, count_allowed_bytes, readable, require_memory
from mercer._source.sample import Sample, take_sample
from mercer.errors import DataError, MemoryForecastError, ParameterError


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
        # Kernel matrices, pairs of rows and factorisations grow by a power, which shows where it takes longer than the
        # noise of a clock.
        if self.whole.rest > max(2.5 * before, _LONG_REST):
            return on_rows + _extrapolate(before, self.whole.rest, self.factor), on_rows
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


# The most rows of a sample: few compared with data worth a forecast, many compared with the cost of starting threads.
_MOST_ROWS = 2**16
# The most values of a sample: 64 MiB of float64.
_MOST_VALUES = 2**23
# Blocks that a sequential source holds besides those being worked on: read ahead, and being joined.
_AHEAD = 6
# Seconds of work besides reading rows whose growth can be told from the noise of a rehearsal.
_LONG_REST = 0.05
# Seconds after which a rehearsal is not repeated: the noise of a longer one is small.
_LONG = 2.0


@dataclass(frozen=True)
class Forecast:
    """What a fit will take.

    Attributes
    ----------
    estimator : str
        The name of its class.
    rows, columns : int
        Of the data.
    memory_bytes : int
        The peak of the memory held, on top of the data.
    memory_parts : dict of str to int
        Its parts.
    passes : tuple of int
        Passes over the data: expected, and at most. (0, 0) if the fit would be refused.
    seconds : float
        How long it will take, roughly; NaN where the fit would be refused.
    parallel_share : float
        The share of the time that more threads or workers would shorten.
    allowed_bytes : int
        The memory that a fit may take here and now.
    fits : bool
        Whether the memory needed is at most the memory allowed.
    notes : tuple of str
        What else to know, such as the text of the refusal.
    """

    estimator: str
    rows: int
    columns: int
    memory_bytes: int
    memory_parts: dict[str, int]
    passes: tuple[int, int]
    seconds: float
    parallel_share: float
    allowed_bytes: int
    fits: bool
    notes: tuple[str, ...] = ()

    def speed_up(self, workers: float) -> float:
        """Return how many times faster the fit could be with `workers` times the cores, by :func:`amdahl`."""
        return amdahl(self.parallel_share, workers)

    def __str__(self) -> str:
        lines = [f"  {name:6}  {text}" for name, text in self._list_lines()]
        return "\n".join([f"{self.estimator} on {self.rows} x {self.columns}", *lines])

    def _repr_html_(self) -> str:
        return render_table(f"{self.estimator} on {self.rows} x {self.columns}", self._list_lines())

    def _list_lines(self) -> list[tuple[str, str]]:
        """Return what is forecast, by name."""
        least, most = self.passes
        verdict = "fits" if self.fits else "does not fit"
        parts = ", ".join(f"{readable(size)} {what}" for what, size in self.memory_parts.items())
        passes = f"{least}" if least == most else f"about {least}, at most {most}"
        memory = (
            f"{readable(self.memory_bytes)} on top of the data ({parts}); {verdict} in {readable(self.allowed_bytes)}"
        )
        lines = [("memory", memory)]
        # A fit that is refused for its memory has no time: its seconds are NaN.
        if not math.isnan(self.seconds):
            lines += [("passes", passes), ("time", f"about {_write_duration(self.seconds)}")]
        return lines + [("note", note) for note in self.notes]


def forecast(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Forecast:
    """Say how much memory, how many passes over the data and how much time a fit will take, before it is begun.

    A copy of the estimator is fitted to a sample of some 65 thousand rows and to half of it; the estimator itself is
    left alone. Closed forms make the same number of passes over any data. Iterative ones make about as many over all
    rows as over the sample: that, and the time with it, is a guess, within a factor of two in our measurements.

    Parameters
    ----------
    estimator : Estimator
        One of mercer's, fitted or not.
    X, y, sample_weight
        What ``fit`` would be given, in any place.

    Returns
    -------
    Forecast
        Prints as a few lines.

    Examples
    --------
    >>> import mercer
    >>> import numpy as np
    >>> from mercer.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(20_000, 8))
    >>> said = mercer.forecast(LinearRegression(), X, X[:, 0])
    >>> said.passes, said.fits
    ((2, 2), True)
    """
    if not isinstance(estimator, Estimator):
        raise ParameterError(
            f"forecast: estimator must be one of mercer's; got {type(estimator).__name__}. Forecast the last step of a "
            f"pipeline by itself."
        )
    source, opening = _open_timed(estimator, X, y, sample_weight)
    sample = take_sample(source, _sample_rows(source))
    whole = _rehearse_best(estimator, sample)
    # A sample of all rows leaves nothing to extrapolate: half of it would tell nothing new.
    half = whole if sample.n_rows >= source.n_rows else _rehearse_best(estimator, sample.half())
    extrapolation = Extrapolation(half, whole, source.n_rows)
    if whole.refusal:
        return _forecast_refusal(estimator, source, extrapolation)
    copied = source.place == "memory" and not _in_place(source, X)
    seconds, on_rows = extrapolation.seconds(sample.seconds_per_row)
    # The copy of the rows is made once, when they are opened; rehearsals include only the check of rows.
    seconds += opening if copied else 0.0
    parts = _memory_parts(extrapolation, source, sample, copied)
    refusals, allowed = extrapolation.refusals(), count_allowed_bytes()
    return Forecast(
        type(estimator).__name__,
        source.n_rows,
        source.n_features,
        sum(parts.values()),
        parts,
        extrapolation.passes(),
        min(seconds, getattr(estimator, "max_time", None) or math.inf),
        on_rows / seconds,
        allowed,
        sum(parts.values()) <= allowed and not refusals,
        (*refusals, *_notes(source, whole)),
    )


def _rehearse_best(estimator: Any, sample: Sample) -> Rehearsal:
    """Fit the sample twice for the time and once for the memory; the faster counts, as the first also loads modules."""
    best = rehearse(estimator, sample)
    if best.refusal:
        return best
    # A second run of a long rehearsal would cost more than loading modules once can distort.
    if best.seconds < _LONG:
        best = min(best, rehearse(estimator, sample), key=lambda rehearsal: rehearsal.seconds)
    # Tracing slows allocations down, so memory is measured in a run of its own, which does not count for the time.
    traced = rehearse(estimator, sample, traced=True)
    best.held_bytes, best.kept_bytes = traced.held_bytes, traced.kept_bytes
    return best


def _open_timed(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Source, float]:
    """Open the rows by a copy of the estimator, and return the source and the seconds that took."""
    begin = time.perf_counter()
    targets = "labels" if is_classifier(estimator) else "numbers" if is_regressor(estimator) else None
    y = y if targets else None
    source = clone(estimator)._open(X, y, sample_weight, targets=targets, accept_sparse="csr")
    # The rehearsal consumes blocks that the fit itself would need again.
    if not getattr(source, "restartable", True):
        raise DataError(
            f"forecast: {source.description} can be read only once, and a forecast reads some of it; give a list of "
            f"blocks, or a function without arguments that returns a fresh iterator."
        )
    return source, time.perf_counter() - begin


def _sample_rows(source: Source) -> int:
    """Return the rows of a sample: enough for choices by shape, such as n > 10 d, to be those for all rows."""
    d = source.n_features
    return max(min(_MOST_ROWS, _MOST_VALUES // d), 10 * d if d <= 1000 else 2 * d)


def _memory_parts(extrapolation: Extrapolation, source: Source, sample: Sample, copied: bool) -> dict[str, int]:
    """Return the bytes held, by part: whatever the data, growing with the rows, and for access to the rows."""
    parts = {"for blocks and sums": extrapolation.count_fixed_bytes(source.threads)}
    tables_last = source.place in ("memory", "device") or 8 * source.n_rows <= MOST_TABLE_BYTES
    if tables_last and (growing := extrapolation.count_growing_bytes()):
        parts["for what grows with the rows"] = growing
    if copied:
        parts["for a copy of the rows as C-ordered floats"] = int(sample.bytes_per_row * source.n_rows)
    if not source.random_access:
        # Blocks wait in the queue, and each thread works on one more.
        ahead = (_AHEAD + source.threads) * source.block_rows
        parts["for blocks read ahead"] = int(sample.bytes_per_row * ahead)
    return parts


def _in_place(source: Source, X: Any) -> bool:
    """Return whether the rows are read where the user has them."""
    rows = source.whole()
    values, given = (rows.data, getattr(X, "data", None)) if source.is_sparse else (rows, X)
    return isinstance(given, np.ndarray) and np.may_share_memory(values, given)


def _notes(source: Source, whole: Rehearsal) -> list[str]:
    """List what else the user should know about the forecast."""
    notes = []
    if whole.n_steps > 1 and whole.n_rows < source.n_rows:
        notes.append(f"passes and time are those of a sample of {whole.n_rows} rows, which took {whole.n_steps} steps")
    if source.place == "dask":
        notes.append("timed in this process, not on the cluster")
    if source.place == "device":
        notes.append("memory is that of the host; the device's is not measured")
    return notes


def _forecast_refusal(estimator: Any, source: Source, extrapolation: Extrapolation) -> Forecast:
    """Return the forecast of a fit that is refused even for the sample, so that there is nothing to time."""
    parts = {f"for {purpose}": size for purpose, size in extrapolation.count_requested_bytes().items()}
    return Forecast(
        type(estimator).__name__,
        source.n_rows,
        source.n_features,
        sum(parts.values()),
        parts,
        (0, 0),
        math.nan,
        0.0,
        count_allowed_bytes(),
        False,
        tuple(extrapolation.refusals()),
    )


def _write_duration(seconds: float) -> str:
    """Write a duration for people: ``1.5 minutes``."""
    for unit, size in (("hours", 3600.0), ("minutes", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= size or unit == "ms":
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return ""
