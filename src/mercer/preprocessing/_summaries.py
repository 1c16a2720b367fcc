"""What a coding needs to know of a column, collected block by block and joined over blocks.

Values are counted exactly as long as there are at most `MOST` different ones in a column. Beyond that numbers are
rounded to fewer binary digits, and rare categories and words are dropped; `error` says how far the result may be off.
"""

import warnings
from collections import Counter
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.preprocessing._columns import Columns

# Different values of a column that are counted exactly: their numbers take 16 MB, their names some 100 MB.
MOST = 2**20
# Binary digits that are dropped at a time, and the most that may be dropped of the 52 of a float64.
_STEP = 4
_FEWEST_DIGITS = 8


class NumberSummary:
    """The known values of a column and how many are missing: gives the median, the range and whether all are whole.

    Of one block the values are kept as they are. Those of several are counted by value; if more than `MOST` differ,
    they are cut to fewer binary digits, so that the median has a relative error of at most `error`. The result does not
    depend on the order of the blocks.
    """

    def __init__(self) -> None:
        self.n_missing = 0
        self.n_known = 0
        self.digits = 52
        # Values and counts; counts are None for values as they came.
        self._parts: list[tuple[Array, Array | None]] = []
        self._waiting = 0

    def add(self, values: Array) -> None:
        """Add the values of a block; NaN is missing."""
        unknown = np.isnan(values)
        known = values[~unknown] if unknown.any() else values
        self.n_missing += len(values) - len(known)
        self.n_known += len(known)
        self._append(known, None)

    def join(self, other: "NumberSummary") -> None:
        """Add the values of another summary."""
        self.n_missing += other.n_missing
        self.n_known += other.n_known
        self.digits = min(self.digits, other.digits)
        for values, counts in other._parts:
            self._append(values, counts)

    def _append(self, values: Array, counts: Array | None) -> None:
        if len(values) == 0:
            return
        self._parts.append((values, counts))
        self._waiting += len(values)
        if self._waiting > MOST and len(self._parts) > 1:
            self.compress()

    def compress(self) -> None:
        """Count equal values, and drop binary digits until at most `MOST` differ."""
        if not self._parts:
            return
        values = np.concatenate([values for values, _ in self._parts])
        counts = np.concatenate([np.ones(len(v), np.int64) if c is None else c for v, c in self._parts])
        while True:
            kept, places = np.unique(_cut(values, self.digits), return_inverse=True)
            if len(kept) <= MOST or self.digits <= _FEWEST_DIGITS:
                break
            self.digits -= _STEP
        total = np.zeros(len(kept), np.int64)
        np.add.at(total, places, counts)
        self._parts = [(kept, total)]
        # The next values are counted when as many wait again.
        self._waiting = 0

    @property
    def error(self) -> float:
        """The largest relative error of the median."""
        return 0.0 if self.digits == 52 else 2.0**-self.digits

    def median(self) -> float:
        """Return the median of the known values, as NumPy has it; 0 if there is none."""
        if self.n_known == 0:
            return 0.0
        if len(self._parts) == 1 and self._parts[0][1] is None:
            return float(np.median(self._parts[0][0]))
        self.compress()
        values, counts = self._parts[0]
        assert counts is not None  # what is compressed is counted
        ends = np.cumsum(counts)
        middle = np.searchsorted(ends, [(self.n_known - 1) // 2, self.n_known // 2], side="right")
        return float(np.mean(values[middle]))

    def range(self) -> tuple[float, float]:
        """Return the least and the largest known value."""
        return min(float(v.min()) for v, _ in self._parts), max(float(v.max()) for v, _ in self._parts)


def _cut(values: Array, digits: int) -> Array:
    """Return the values with fewer binary digits, rounded towards zero; as they are with all 52."""
    if digits == 52:
        return values
    bits = values.astype(np.float64).view(np.int64)
    return (bits & np.int64(-(2 ** (52 - digits)))).view(np.float64)


class DateSummary(NumberSummary):
    """The days of a column of dates, and whether one has a time of the day."""

    def __init__(self) -> None:
        super().__init__()
        self.has_times = False

    def add(self, values: Array) -> None:
        super().add(values)
        known = values[~np.isnan(values)]
        self.has_times |= bool((known != np.floor(known)).any())

    def join(self, other: NumberSummary) -> None:
        super().join(other)
        self.has_times |= getattr(other, "has_times", False)


class NameSummary:
    """How often each category of a column occurs, or in how many texts each word is.

    Of more than `MOST` names the rarer half is dropped, and as much subtracted from the counts of the others as the
    most frequent dropped one had (Misra and Gries, 1982): counts are then at most `error` too small.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self.n_missing = 0
        self.error = 0
        self.counts: Counter[str] = Counter()

    def add(self, counts: dict[str, int], n_rows: int, n_missing: int) -> None:
        """Add the counts of a block of rows."""
        self.n_rows += n_rows
        self.n_missing += n_missing
        self.counts.update(counts)
        if len(self.counts) > MOST:
            self._prune()

    def join(self, other: "NameSummary") -> None:
        """Add the counts of another summary."""
        self.error += other.error
        self.add(other.counts, other.n_rows, other.n_missing)

    def _prune(self) -> None:
        """Keep the more frequent half of the names."""
        lost = sorted(self.counts.values(), reverse=True)[MOST // 2]
        self.counts = Counter({name: count - lost for name, count in self.counts.items() if count > lost})
        self.error += lost


def count_names(columns: Columns, index: int) -> tuple[dict[str, int], int, int]:
    """Return how often each category of a column occurs, the number of rows, and that of missing values."""
    values, places = columns.factorise(index)
    counts = np.bincount(places[places >= 0], minlength=len(values))
    return dict(zip(values, counts.tolist(), strict=True)), len(places), int((places < 0).sum())


def start_summary(kind: str) -> Any:
    """Return an empty summary for a column of a kind; None for one that is ignored."""
    match kind.split()[0]:
        case "number":
            return NumberSummary()
        case "date":
            return DateSummary()
        case "category" | "text":
            return NameSummary()
    return None


def warn_of_errors(kinds: dict[str, str], summaries: list[Any], keep: bool) -> None:
    """Warn of columns with more different values than are counted exactly; with `keep` no median is used."""
    for (name, kind), summary in zip(kinds.items(), summaries, strict=True):
        numeric = kind.split()[0] in ("number", "date")
        if summary is None or not summary.error or (numeric and keep):
            continue
        what = f"the median is exact to {summary.error:.1e} of its value"
        if not numeric:
            what = f"counts of its categories or words may be {summary.error} too small; raise min_frequency above that"
        message = f"TableEncoder: column {name!r} has more than {MOST} different values, so that {what}."
        warnings.warn(message, UserWarning, stacklevel=4)
