"""Measure how strongly each two columns of a table go together, whatever their kinds, from 0 to 1."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from mercer._source.table.column_type import spell_categories

# Rows that are used: the standard error of a correlation is then 1 %.
_MOST_ROWS = 10_000
# Columns that are compared with each other: 1225 pairs.
_MOST_COLUMNS = 50
# Distinct values of a category that is compared; of more, tables of pairs have few rows in a cell.
_MOST_VALUES = 50


@dataclass(frozen=True)
class ColumnPair:
    """Two columns, and how strongly they go together.

    Two of numbers or dates by the rank correlation of Spearman, two categories by Cramér's V, and a category with
    numbers by the square root of the share of the variance of the ranks that lies between categories.
    """

    first: str
    second: str
    strength: float


def measure_pairs(frame: Any, kinds: dict[str, str]) -> list[ColumnPair]:
    """Return the pairs of columns with a kind, the strongest first."""
    rows = np.arange(len(frame))
    if len(rows) > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, _MOST_ROWS, replace=False))
    columns: dict[str, tuple[np.ndarray, bool]] = {}
    for name, kind in kinds.items():
        coded = _encode(frame[name].iloc[rows], kind)
        if coded is not None and len(columns) < _MOST_COLUMNS:
            columns[name] = coded, kind == "category"
    pairs = [
        ColumnPair(first, second, _measure(*columns[first], *columns[second]))
        for first, second in combinations(columns, 2)
    ]
    return sorted(pairs, key=lambda pair: -pair.strength)


def _encode(column: Any, kind: str) -> np.ndarray | None:
    """Return ranks of numbers and dates, or codes of categories, with NaN for missing; None for other columns."""
    if kind in ("number", "date"):
        return np.asarray(column.rank(), dtype=float)
    if kind != "category":
        return None
    texts = spell_categories(column)
    known = texts.notna().to_numpy()
    names, codes = np.unique(texts[known].to_numpy(dtype=str), return_inverse=True)
    if not 1 < len(names) <= _MOST_VALUES:
        return None
    coded = np.full(len(texts), np.nan)
    coded[known] = codes
    return coded


def _measure(a: np.ndarray, a_is_category: bool, b: np.ndarray, b_is_category: bool) -> float:
    """Return how strongly two encoded columns go together, over the rows that have both."""
    both = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[both], b[both]
    if len(a) < 3 or a.min() == a.max() or b.min() == b.max():
        return 0.0
    if not a_is_category and not b_is_category:
        return float(min(1.0, abs(np.corrcoef(a, b)[0, 1])))
    if a_is_category and b_is_category:
        return _measure_categories(a.astype(int), b.astype(int))
    codes, values = (a, b) if a_is_category else (b, a)
    sizes = np.bincount(codes.astype(int))
    means = np.bincount(codes.astype(int), values) / np.maximum(sizes, 1)
    between = float((sizes * (means - values.mean()) ** 2).sum())
    # Of k categories without effect, the share (k - 1) / (n - 1) lies between them by chance.
    chance = (np.count_nonzero(sizes) - 1) / (len(values) - 1)
    share = between / float(((values - values.mean()) ** 2).sum())
    return float(np.sqrt(max(0.0, (share - chance) / max(1e-12, 1 - chance))))


def _measure_categories(a: np.ndarray, b: np.ndarray) -> float:
    """Return Cramér's V without the part that chance gives (Bergsma, 2013)."""
    counts = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(counts, (a, b), 1.0)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    n, (rows, columns) = counts.sum(), counts.shape
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    squares = float(((counts - expected) ** 2 / expected).sum()) / n
    squares = max(0.0, squares - (rows - 1) * (columns - 1) / (n - 1))
    fewest = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)) - 1
    return float(min(1.0, np.sqrt(squares / fewest))) if fewest > 0 else 0.0
