"""Summarise a column in a sentence and a small histogram."""

from typing import Any

import numpy as np

from mercer._source.table.column_type import spell_categories
from mercer._source.table.table import quote
from mercer.app.study.record import Column

# Bins of a histogram, and categories that it shows.
_BINS = 20
_LABELS = 12
# Rows from which on distinct numbers are counted by sorting.
_MANY_ROWS = 100_000


def spell_number(value: float) -> str:
    """Return a number with four significant digits, without an exponent if it is readable without one."""
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        text = f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"
        text = f"{float(text):.0f}" if "e" in text else text
    else:
        text = f"{value:.3g}"
    # The page and the sentences have the true minus too.
    return text.replace("-", "\u2212")


def count_distinct(column: Any) -> int:
    """Count the distinct values, without the missing one."""
    if column.dtype.kind in "iuf" and len(column) > _MANY_ROWS:
        # Sorting 4.5 million floats takes a tenth of the time of a table of their hashes.
        values = column.to_numpy()
        values = np.sort(values[~np.isnan(values)] if values.dtype.kind == "f" else values)
        return int(np.count_nonzero(values[1:] != values[:-1])) + 1 if len(values) else 0
    return int(column.nunique(dropna=True))


def describe_column(name: str, column: Any, role: str, reason: str, distinct: int, association: float | None) -> Column:
    """Return the column as the record holds it."""
    missing = int(column.isna().sum())
    summary, counts, edges, labels = _summarise(column, role, distinct)
    return Column(name, role, reason, missing, distinct, summary, association, counts, edges, labels)


def _summarise(column: Any, role: str, distinct: int) -> tuple[str, list[int], list[float], list[str]]:
    """Return summary, counts, bin edges and labels of a column."""
    known = column.dropna()
    if len(known) == 0:
        return "no values", [], [], []
    if known.dtype.kind == "M":
        first, last = known.min(), known.max()
        # Dates are counted in seconds since 1970, so that the bins are even in time.
        counts, edges = np.histogram(known.to_numpy().astype("datetime64[s]").astype(np.int64), _BINS)
        return f"from {_spell_day(first)} to {_spell_day(last)}", counts.tolist(), edges.tolist(), []
    classes = role == "target" and distinct <= _LABELS
    if known.dtype.kind in "if" and role != "category" and not classes:
        return _summarise_numbers(known.to_numpy(dtype=float))
    return _summarise_categories(known, role, distinct)


def _spell_day(moment: Any) -> str:
    """Return a date as year-month-day."""
    return f"{moment:%Y-%m-%d}"


def _summarise_numbers(values: np.ndarray) -> tuple[str, list[int], list[float], list[str]]:
    low, high = float(values.min()), float(values.max())
    summary = f"mean {spell_number(float(values.mean()))}, from {spell_number(low)} to {spell_number(high)}"
    # There is no histogram if the range overflows, or if a bin is not much wider than the spacing of floats.
    spacing = 8 * np.spacing(max(abs(low), abs(high)))
    if not np.isfinite(high - low) or (high > low and (high - low) / _BINS <= spacing):
        return summary, [], [], []
    # NumPy widens a range of width zero by 1, which is nothing beside a number of 25 digits.
    ends = (low, high) if high > low else (low - max(0.5, spacing * _BINS), high + max(0.5, spacing * _BINS))
    counts, edges = np.histogram(values, _BINS, ends)
    return summary, counts.tolist(), edges.tolist(), []


def _summarise_categories(known: Any, role: str, distinct: int) -> tuple[str, list[int], list[float], list[str]]:
    """Return the summary and the counts of the most frequent categories."""
    if role in ("id", "text") or distinct == len(known):
        return f"for example {quote(*(str(value)[:40] for value in known.iloc[:2]))}", [], [], []
    counts = spell_categories(known).value_counts()
    labels = [str(label)[:60] for label in counts.index[:_LABELS]]
    share = counts.iloc[0] / len(known)
    return f"most frequent: {quote(labels[0])} ({100 * share:.0f} %)", counts.iloc[:_LABELS].tolist(), [], labels
