"""Bins: each column cut at quantiles of a sample into at most some hundreds, one byte a value."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.boosting import boosting_bins
from mercer._plain import plain
from mercer._source import Block, Source
from mercer._source.threads import run_numbered
from mercer.errors import DataError

__all__ = ["BinMap", "Binned", "learn_bins", "sampled_rows"]

Array = Any
# Rows from which quantiles are taken: 255 bins then hold about 256 of them each. More make no better trees.
_SAMPLE = 2**16


@plain
@dataclass(frozen=True)
class BinMap:
    """How values become bins.

    Attributes
    ----------
    edges : (d, 2**k - 1)
        A value is in the bin whose number is the count of edges below it; rows end in infinities.
    counts : (d,)
        Bins of each column, without that of missing values, which comes next.
    categorical : (d,), bool
        Columns whose values are the numbers of categories, hence of bins.
    """

    edges: Array
    counts: Array
    categorical: Array

    @property
    def offsets(self) -> Array:
        """Where the bins of each column begin in a histogram, and its length."""
        return np.concatenate([[0], np.cumsum(self.counts + 1)]).astype(np.int32)

    @property
    def width(self) -> int:
        """Bins of the widest column, with that of missing values."""
        return int(self.counts.max()) + 1

    @property
    def dtype(self) -> Any:
        """The type that holds a bin."""
        return np.dtype(np.uint8 if self.width <= 256 else np.uint16)

    def thresholds(self, features: Array, numbers: Array) -> Array:
        """The largest values that are in bins of some columns or below; infinity for the last bin and categories."""
        inner = (numbers < self.counts[features] - 1) & ~self.categorical[features]
        return np.where(inner, self.edges[features, np.where(inner, numbers, 0)], np.inf)


@dataclass(frozen=True, eq=False)
class Binned:
    """A function of a block: its rows as bins."""

    bins: BinMap
    categories: Any = None

    def __call__(self, block: Block) -> Array:
        X = np.ascontiguousarray(block.dense())
        if self.categories is not None:
            X = self.categories.on(X)
        out = np.empty(X.shape, self.bins.dtype)
        boosting_bins.assign_bins(X, self.bins.edges, self.bins.counts, out)
        return out


def sampled_rows(rows: Array, seed: np.random.SeedSequence) -> Array:
    """At most as many of some rows as quantiles need, in their order."""
    if len(rows) <= _SAMPLE:
        return rows
    sampled = np.zeros(int(rows.max()) + 1, dtype=bool)
    sampled[np.random.default_rng(seed).choice(rows, _SAMPLE, replace=False, shuffle=False)] = True
    # A tenth of the time of sorting them.
    return np.flatnonzero(sampled)


def learn_bins(
    source: Source, rows: Array, weight: Array | None, max_bins: int, categories: Any, categorical: Array
) -> BinMap:
    """Cut every column at quantiles of some rows.

    A column with no more values than bins is cut between all of them. A weight counts as repetitions.

    Parameters
    ----------
    source : Source
    rows : (m,)
        The rows to look at, by number.
    weight : (m,) or None
    max_bins : int
        Bins of a column at most, without that of missing values.
    categories : Categories or None
        What numbers the categories.
    categorical : (d,), bool
    """
    in_memory = source.place == "memory" and not source.is_sparse
    X = source.whole() if in_memory else source.take(rows)
    whole = len(rows) == len(X)
    edges: list[Array] = [None] * source.n_features

    def cut(j: int) -> None:
        if categorical[j]:
            edges[j] = np.arange(categories.count(j) - 1, dtype=np.float64)
        else:
            column = X[:, j] if whole else X[rows, j]
            edges[j] = _edges(np.asarray(column, dtype=np.float64), weight, max_bins)

    run_numbered(cut, source.n_features, source.threads)
    _check_known(source, X, rows)
    counts = np.array([len(one) + 1 for one in edges], dtype=np.int64)
    width = 2 ** int(max(counts.max() - 1, 1)).bit_length() - 1
    table = np.full((len(edges), width), np.inf)
    for line, one in zip(table, edges, strict=True):
        line[: len(one)] = one
    return BinMap(table, counts, np.asarray(categorical, dtype=bool))


def _check_known(source: Source, X: Array, rows: Array) -> None:
    """Raise if there is nothing but missing values; a look at the first rows mostly tells."""
    if not np.isnan(X[rows[:1]] if len(rows) < len(X) else X[:1]).all():
        return
    if np.isnan(X[rows] if len(rows) < len(X) else X).all():
        message = f"{source.subject}: X holds nothing but NaN; give rows with a column that has values."
        raise DataError(message)


def _edges(column: Array, weight: Array | None, max_bins: int) -> Array:
    """The places between values at which a column is cut."""
    known = ~np.isnan(column)
    column = column[known]
    if weight is None:
        values, shares = _distinct(np.sort(column))
    else:
        order = np.argsort(column, kind="stable")
        values, shares = _distinct(column[order], weight[known][order])
    if len(values) > max_bins:
        reached = np.cumsum(shares)
        goals = reached[-1] * np.arange(1, max_bins) / max_bins
        last = np.unique(np.minimum(np.searchsorted(reached, goals), len(values) - 2))
    else:
        last = np.arange(len(values) - 1)
    with np.errstate(invalid="ignore", over="ignore"):
        middle = values[last] / 2 + values[last + 1] / 2
    # Beside infinities, and between neighbours among the floats, the lower value is the edge.
    inside = (middle >= values[last]) & (middle < values[last + 1])
    return np.where(inside, middle, values[last])


def _distinct(values: Array, weight: Array | None = None) -> tuple[Array, Array]:
    """The distinct ones of sorted values, and the weight of each."""
    if len(values) == 0:
        return values, values
    first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    if weight is None:
        return values[first], np.diff(np.append(first, len(values)))
    return values[first], np.add.reduceat(weight, first)
