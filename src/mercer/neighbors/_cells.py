"""Cells of a histogram: their edges, the keys that name them, and the statistics that count their rows.

Only cells that have rows are kept, so that memory follows the rows and not the number of cells, which grows like the
bins of a column to the power of the columns.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._source import Block
from mercer._statistic import Statistic
from mercer._types import Array

# Most bins of a column: a key has two bytes for each column.
MOST_BINS = 2**16 - 1


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells between the edges of each column.

    Parameters
    ----------
    edges : list of ndarray
        In rising order; the first and the last are the sides of the box. A bin includes its lower edge, the last one
        both.
    """

    edges: list[Array]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of bins of each column."""
        return tuple(len(edges) - 1 for edges in self.edges)

    @property
    def count(self) -> int:
        """The number of all cells, empty or not."""
        return math.prod(self.shape)

    def bins_of(self, X: Array) -> tuple[Array, Array]:
        """Return the bin of each value, (n, d), and whether each row is inside the box."""
        bins, inside = np.empty(X.shape, np.uint16), np.ones(len(X), bool)
        for column, edges in enumerate(self.edges):
            values = X[:, column]
            inside &= (values >= edges[0]) & (values <= edges[-1])
            bins[:, column] = self._find_bins(values, edges, self._rates[column])
        return bins, inside

    def _find_bins(self, values: Array, edges: Array, rate: float) -> Array:
        """Return the bin of each value; the first or the last for values outside."""
        last = len(edges) - 2
        if rate == 0:
            return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, last)
        # Among even edges a product gives the bin up to one; the edges themselves decide.
        guess = np.clip((values - edges[0]) * rate, 0, last).astype(np.intp)
        guess -= values < edges[guess]
        guess += values >= edges[guess + 1]
        return np.clip(guess, 0, last, out=guess)

    @cached_property
    def _rates(self) -> list[float]:
        """One over the width of the bins of each column; zero where widths differ."""
        rates = []
        for edges in self.edges:
            widths = np.diff(edges)
            with np.errstate(over="ignore", divide="ignore"):
                rate = float(len(widths) / (edges[-1] - edges[0]))
            # Deviations from an even width add up over all bins to at most 1e-6 of a width,
            # so a multiplication finds the bin.
            even = np.ptp(widths) <= 1e-6 * widths[0] / len(widths)
            rates.append(rate if even and math.isfinite(rate) else 0.0)
        return rates

    def keys_of(self, bins: Array) -> Array:
        """Return a key for each row of bins: the index of the cell, or the bins as bytes if that exceeds 62 bits."""
        if self.count < 2**62:
            return np.ravel_multi_index(tuple(bins.T.astype(np.intp)), self.shape)
        # Big-endian, so that keys have the order of their bins.
        return np.ascontiguousarray(bins.astype(">u2")).view(f"S{2 * bins.shape[1]}").ravel()

    def bins_with(self, keys: Array) -> Array:
        """Return the bins, (m, d), that the keys stand for."""
        if keys.dtype.kind != "S":
            return np.column_stack(np.unravel_index(keys, self.shape)).astype(np.uint16)
        return np.ascontiguousarray(keys).view(">u2").reshape(len(keys), len(self.edges)).astype(np.uint16)

    def log_volumes(self, bins: Array) -> Array:
        """Return the logarithm of the volume of each cell, (m,)."""
        return sum(np.log(np.diff(edges))[bins[:, column]] for column, edges in enumerate(self.edges))

    @property
    def empty_keys(self) -> Array:
        """An empty array of keys, with the type that keys have."""
        return self.keys_of(np.empty((0, len(self.edges)), np.uint16))


@dataclass(frozen=True)
class CellSums:
    """The weight in each cell that has any: keys in rising order, and their weights."""

    keys: Array
    weights: Array

    def __add__(self, other: "CellSums") -> "CellSums":
        keys = np.concatenate([self.keys, other.keys])
        return gather_counts(keys, np.concatenate([self.weights, other.weights]))


@dataclass(frozen=True, eq=False)
class CellCounts(Statistic):
    """The weight of the rows in each cell."""

    cells: Cells

    def of(self, block: Block) -> CellSums:
        X, weight = block.X, block.weight
        if weight is not None:
            X, weight = X[weight > 0], weight[weight > 0]
        bins, inside = self.cells.bins_of(X)
        if not inside.all():
            bins, weight = bins[inside], None if weight is None else weight[inside]
        return gather_counts(self.cells.keys_of(bins), np.ones(len(bins)) if weight is None else weight)


def gather_counts(keys: Array, weights: Array) -> CellSums:
    """Return the distinct keys and the sum of weights of each."""
    if keys.dtype.kind != "S" and len(keys) and keys.max() < 4 * len(keys):
        # If most cells up to the last have rows, a table of all of them is faster than sorting.
        table = np.bincount(keys, weights)
        distinct = np.flatnonzero(table)
        return CellSums(distinct, table[distinct])
    distinct, place = np.unique(keys, return_inverse=True)
    return CellSums(distinct, np.bincount(place, weights, len(distinct)))
