"""Bins: each column is cut at quantiles of a sample into at most 255 bins, one byte a value."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._native.boosting import boosting_bins
from mercer._plain import plain
from mercer._source import Block, Source
from mercer._source.threads import run_numbered
from mercer._stored import Stored, flags, floats, integers
from mercer._types import Array
from mercer.errors import DataError, ModelFileError

# Rows from which quantiles are computed: about 256 for each of 255 bins. More rows make no better trees.
_SAMPLE = 2**16


@plain
@dataclass(frozen=True)
class BinMap:
    """The map from values to bins.

    Attributes
    ----------
    edges : (d, 2**k - 1)
        The bin of a value is the number of edges below it; each row of edges is padded with infinities.
    counts : (d,)
        The number of bins of each column, without the bin of missing values, which is the next.
    categorical : (d,), bool
        Columns whose values are indices of categories, hence of bins.
    """

    edges: Array
    counts: Array
    categorical: Array

    _stored: ClassVar[dict[str, Stored]] = {
        "edges": floats("columns, edges"),
        "counts": integers("columns", low=1),
        "categorical": flags("columns"),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError if a column has more bins than edges allow, or their number is not 2^k - 1."""
        width = self.edges.shape[1]
        if width & (width + 1) or self.counts.max(initial=1) > width + 1:
            raise ModelFileError(
                "BinMap.edges must have 2^k - 1 edges a column, enough for all bins; the file's has not."
            )

    @property
    def offsets(self) -> Array:
        """The index in a histogram at which the bins of each column begin; last, its length."""
        return np.concatenate([[0], np.cumsum(self.counts + 1)]).astype(np.int32)

    @property
    def width(self) -> int:
        """The number of bins of the widest column, with the bin of missing values."""
        return int(self.counts.max()) + 1

    @property
    def dtype(self) -> Any:
        """The type that holds a bin."""
        return np.dtype(np.uint8 if self.width <= 256 else np.uint16)

    def find_thresholds(self, features: Array, bins: Array) -> Array:
        """Return the upper edge of each bin of each column; infinity for the last bin and for categories."""
        inner = (bins < self.counts[features] - 1) & ~self.categorical[features]
        return np.where(inner, self.edges[features, np.where(inner, bins, 0)], np.inf)


@dataclass(frozen=True, eq=False)
class BinAssignment:
    """A function of a block: its rows as bins (n, d)."""

    bins: BinMap
    categories: Any = None

    def __call__(self, block: Block) -> Array:
        X = np.ascontiguousarray(block.dense())
        if self.categories is not None:
            X = self.categories.on(X)
        out = np.empty(X.shape, self.bins.dtype)
        boosting_bins.assign_bins(X, self.bins.edges, self.bins.counts, out)
        return out


def sample_rows(rows: Array, seed: np.random.SeedSequence) -> Array:
    """Return the indices of all rows, or of a sample large enough for quantiles, sorted."""
    if len(rows) <= _SAMPLE:
        return rows
    sampled = np.zeros(int(rows.max()) + 1, dtype=bool)
    sampled[np.random.default_rng(seed).choice(rows, _SAMPLE, replace=False, shuffle=False)] = True
    # Marking them takes a tenth of the time of sorting them.
    return np.flatnonzero(sampled)


def learn_bins(
    source: Source, rows: Array, weight: Array | None, max_bins: int, categories: Any, categorical: Array
) -> BinMap:
    """Cut every column at quantiles of some rows.

    A column with at most `max_bins` distinct values is cut between all of them. Weights are repetitions.

    Parameters
    ----------
    source : Source
    rows : (m,)
        The indices of the rows.
    weight : (m,) or None
    max_bins : int
        Most bins of a column, without the bin of missing values.
    categories : Categories or None
        The bins of categories.
    categorical : (d,), bool
    """
    in_memory = source.place == "memory" and not source.is_sparse
    X = source.whole() if in_memory else source.take(rows)
    whole = len(rows) == len(X)
    edges: list[Array] = [None] * source.n_features

    def cut(j: int) -> None:
        if categorical[j]:
            # Category codes are whole numbers: an edge at each code separates it from the next.
            edges[j] = np.arange(categories.count(j) - 1, dtype=np.float64)
        else:
            column = X[:, j] if whole else X[rows, j]
            edges[j] = _find_edges(np.asarray(column, dtype=np.float64), weight, max_bins)

    run_numbered(cut, source.n_features, source.threads)
    _check_known(source, X, rows)
    counts = np.array([len(cuts) + 1 for cuts in edges], dtype=np.int64)
    # Native code searches 2**k - 1 edges by k comparisons without a branch.
    width = 2 ** int(max(counts.max() - 1, 1)).bit_length() - 1
    # Unused edges are infinite: no value is above them.
    table = np.full((len(edges), width), np.inf)
    for line, cuts in zip(table, edges, strict=True):
        line[: len(cuts)] = cuts
    return BinMap(table, counts, np.asarray(categorical, dtype=bool))


def _check_known(source: Source, X: Array, rows: Array) -> None:
    """Raise if all values are missing; the first row mostly shows that they are not."""
    if not np.isnan(X[rows[:1]] if len(rows) < len(X) else X[:1]).all():
        return
    if np.isnan(X[rows] if len(rows) < len(X) else X).all():
        raise DataError(f"{source.subject}: X holds nothing but NaN; give rows with a column that has values.")


def _find_edges(column: Array, weight: Array | None, max_bins: int) -> Array:
    """Return the edges between the bins of a column."""
    known = ~np.isnan(column)
    column = column[known]
    if weight is None:
        values, shares = _count_distinct(np.sort(column))
    else:
        order = np.argsort(column, kind="stable")
        values, shares = _count_distinct(column[order], weight[known][order])
    if len(values) > max_bins:
        # Cut after the values at which the cumulative weight reaches each multiple of 1 / max_bins; a value that
        # spans several multiples is cut once.
        reached = np.cumsum(shares)
        goals = reached[-1] * np.arange(1, max_bins) / max_bins
        last = np.unique(np.minimum(np.searchsorted(reached, goals), len(values) - 2))
    else:
        last = np.arange(len(values) - 1)
    # Halved before they are added: the sum of two large values would overflow.
    with np.errstate(invalid="ignore", over="ignore"):
        middle = values[last] / 2 + values[last + 1] / 2
    # Beside an infinity, and between adjacent floats, there is no middle: the lower value is the edge.
    inside = (middle >= values[last]) & (middle < values[last + 1])
    return np.where(inside, middle, values[last])


def _count_distinct(values: Array, weight: Array | None = None) -> tuple[Array, Array]:
    """Return the distinct values of a sorted array, and the total weight of each."""
    if len(values) == 0:
        return values, values
    first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    if weight is None:
        return values[first], np.diff(np.append(first, len(values)))
    return values[first], np.add.reduceat(weight, first)
