"""What is in a column, in a sentence and in a small histogram."""

from typing import Any

import numpy as np

from mercer.app.study.record import Column
from mercer.app.table.column_type import category_texts
from mercer.app.table.table import named

__all__ = ["count_distinct", "describe", "number_text"]

_BINS = 20
_LABELS = 12


def number_text(value: float) -> str:
    """A number as a person writes it: four digits that mean something, no exponent where none is needed."""
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        text = f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"
        return f"{float(text):.0f}" if "e" in text else text
    return f"{value:.3g}"


def count_distinct(column: Any) -> int:
    """How many values there are beside the missing one."""
    return int(column.nunique(dropna=True))


def describe(name: str, column: Any, role: str, reason: str, distinct: int, association: float | None) -> Column:
    """The column for the record."""
    missing = int(column.isna().sum())
    summary, counts, edges, labels = _contents(column, role, distinct)
    return Column(name, role, reason, missing, distinct, summary, association, counts, edges, labels)


def _contents(column: Any, role: str, distinct: int) -> tuple[str, list[int], list[float], list[str]]:
    known = column.dropna()
    if len(known) == 0:
        return "nothing", [], [], []
    if known.dtype.kind == "M":
        first, last = known.min(), known.max()
        counts, edges = np.histogram(known.to_numpy().astype("datetime64[s]").astype(np.int64), _BINS)
        return f"from {_day(first)} to {_day(last)}", counts.tolist(), edges.tolist(), []
    classes = role == "target" and distinct <= _LABELS
    if known.dtype.kind in "if" and role != "category" and not classes:
        return _numbers(known.to_numpy(dtype=float))
    return _categories(known, role, distinct)


def _day(moment: Any) -> str:
    return f"{moment:%Y-%m-%d}"


def _numbers(values: np.ndarray) -> tuple[str, list[int], list[float], list[str]]:
    low, high = float(values.min()), float(values.max())
    summary = f"mean {number_text(float(values.mean()))}, from {number_text(low)} to {number_text(high)}"
    # Beyond half the range of a double the width of a bin overflows: such a column has no histogram.
    if not np.isfinite(high - low) or (high > low and (high - low) / _BINS <= np.spacing(max(abs(low), abs(high)))):
        return summary, [], [], []
    counts, edges = np.histogram(values, _BINS)
    return summary, counts.tolist(), edges.tolist(), []


def _categories(known: Any, role: str, distinct: int) -> tuple[str, list[int], list[float], list[str]]:
    if role in ("id", "text") or distinct == len(known):
        return f"such as {named(*(str(value)[:40] for value in known.iloc[:2]))}", [], [], []
    counts = category_texts(known).value_counts()
    labels = [str(label)[:60] for label in counts.index[:_LABELS]]
    share = counts.iloc[0] / len(known)
    return f"most often {named(labels[0])} ({share:.0%})", counts.iloc[:_LABELS].tolist(), [], labels
