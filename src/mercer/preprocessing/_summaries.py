"""What a coding needs to know of a column, collected block by block and joined over blocks.

Values are counted exactly as long as there are at most `MOST` different ones in a column. Beyond that numbers are
rounded to fewer binary digits, and rare categories and words are dropped; `error` says how far the result may be off.
"""

import warnings
from collections import Counter
from typing import Any

import numpy as np

from mercer._statistic.column_values import MOST, NumberSummary
from mercer._types import Array
from mercer.preprocessing._columns import Columns


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
