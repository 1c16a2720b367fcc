"""Symmetric affinities as tables of equal width, so that every force is a sum along the rows of a table.

Rows have different numbers of affinities. Points are numbered anew by this count, and those of similar counts share a
table that is padded with affinities of zero. No force is scattered: sums along rows have the same bits in every run.
CUDA programs need no tables: they take the affinities of all rows one after the other.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement
from mercer._types import Array
from mercer.manifold._tsne.grid import LEAST_CELLS, MARGIN, MOST_CELLS, SPACING

# Lengths of transforms are these times a power of two: small primes, and steps of at most a fifth.
_FACTORS = (8, 9, 10, 12, 14)
# Room for a wide map to grow until the next look at its extent.
_ROOM = 1.05


def find_length(least: int) -> int:
    """Return the smallest even length of the list that is at least `least`."""
    lengths = [factor * 2 ** max(1, math.ceil(math.log2(max(least, 1) / factor))) for factor in _FACTORS]
    return min(length for length in lengths if length >= least)


class NodeTable:
    """Nodes of a spacing, and the transform of the kernel's spline coefficients on twice as many nodes a side."""

    def __init__(self, spacing: float, lengths: tuple[int, int], placement: Placement) -> None:
        self.spacing, self.lengths = spacing, lengths
        # The transform is periodic: with half of it empty, no point feels another from behind.
        self.shape = lengths[0] // 2, lengths[1] // 2
        self.kernel = _transform_kernel(spacing, lengths, placement)

    @classmethod
    def choose(cls, extent: Array, last: "NodeTable | None", placement: Placement) -> "NodeTable":
        """Return a table for points of this extent; `last` if it is the same."""
        longest = max(float(np.max(extent)), 1e-12)
        spacing = max(min(SPACING, longest / LEAST_CELLS), longest / MOST_CELLS)
        cells = np.ceil(_ROOM * np.asarray(extent) / spacing) + 2 * MARGIN
        lengths = find_length(2 * int(cells[0])), find_length(2 * int(cells[1]))
        if last is not None and last.spacing == spacing and last.lengths == lengths:
            return last
        return cls(spacing, lengths, placement)


def _transform_kernel(spacing: float, lengths: tuple[int, int], placement: Placement) -> Array:
    """Return the transform of 1 / (1 + r^2) at the nodes, divided by that of the splines of sources and targets."""
    xp: Any = placement.xp
    options = {"dtype": placement.wide, "device": placement.device}
    squares, splines = [], []
    for n in lengths:
        numbers = xp.arange(n, **options)
        squares.append((spacing * xp.minimum(numbers, n - numbers)) ** 2)
        splines.append((4.0 + 2.0 * xp.cos(2.0 * math.pi / n * numbers)) / 6.0)
    kernel = 1.0 / (1.0 + squares[0][:, None] + squares[1][None, :])
    columns = splines[1][: lengths[1] // 2 + 1]
    return xp.real(xp.fft.rfftn(kernel, axes=(0, 1))) / (splines[0][:, None] * columns[None, :]) ** 2


# Entries of a table: 2**25 float32 are 128 MiB, and a step holds some six such arrays.
_ENTRIES = 2**25


@dataclass(frozen=True, eq=False)
class EdgeLists:
    """Affinities row by row.

    Attributes
    ----------
    starts : array of shape (n + 1,), int64
        Where the affinities of each point begin.
    ends : array of shape (m,), int32
        The points at the other ends.
    weights : array of shape (m,), float32
        The affinities.
    entropy : float
        The sum of p log p over all affinities.
    """

    starts: Array
    ends: Array
    weights: Array
    entropy: float
    placement: Placement


@dataclass(frozen=True, eq=False)
class EdgeTables:
    """Affinities in pieces.

    Attributes
    ----------
    order : array of shape (n,)
        The row that each point of the tables stands for.
    tables : list of (first, columns, weights)
        The number of the first point of a piece, the points at the other ends, (m, width), and the affinities.
    entropy : float
        The sum of p log p over all affinities.
    """

    order: Array
    tables: list[tuple[int, Array, Array]]
    entropy: float
    placement: Placement

    def attract(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Return the sums of p w (y_i - y_j) of all points, along each coordinate."""
        xp, along, across = self.placement.xp, [], []
        for first, columns, weights in self.tables:
            right, down, squares = self._find_steps(x, y, first, columns)
            strength = weights / (1.0 + squares)
            along.append(xp.sum(strength * right, axis=1))
            across.append(xp.sum(strength * down, axis=1))
        return xp.concat(along), xp.concat(across)

    def sum_logarithms(self, x: Array, y: Array) -> float:
        """Return the sum of p log(1 + squared distance)."""
        xp, total = self.placement.xp, 0.0
        for first, columns, weights in self.tables:
            squares = self._find_steps(x, y, first, columns)[2]
            total += float(xp.sum(weights * xp.log1p(squares), dtype=self.placement.wide))
        return total

    def _find_steps(self, x: Array, y: Array, first: int, columns: Array) -> tuple[Array, Array, Array]:
        """Return the differences of a piece's points to those at the other ends, and the squared distances."""
        xp, (m, width) = self.placement.xp, columns.shape
        ends = xp.reshape(columns, (-1,))
        right = x[first : first + m, None] - xp.reshape(xp.take(x, ends), (m, width))
        down = y[first : first + m, None] - xp.reshape(xp.take(y, ends), (m, width))
        return right, down, right * right + down * down


def make_tables(weights: Array, columns: Array, placement: Placement) -> EdgeTables:
    """Return p_ij = (p_j|i + p_i|j) / 2n of rows with k weighted neighbours each, as tables."""
    keys, values, entropy = _join_pairs(weights, columns, placement)
    return _cut(columns.shape[0], keys, values, entropy, placement)


def make_lists(weights: Array, columns: Array, placement: Placement) -> EdgeLists:
    """Return the affinities of :func:`make_tables` row by row."""
    xp, n = placement.xp, columns.shape[0]
    keys, values, entropy = _join_pairs(weights, columns, placement)
    starts = xp.searchsorted(keys, xp.arange(n + 1, device=keys.device) * n)
    ends = xp.astype(keys % n, xp.int32)
    return EdgeLists(xp.astype(starts, xp.int64), ends, xp.astype(values, xp.float32), entropy, placement)


def _join_pairs(weights: Array, columns: Array, placement: Placement) -> tuple[Array, Array, float]:
    """Return affinities in the order of rows and columns: n times the row plus the column, values and entropy."""
    xp, n = placement.xp, columns.shape[0]
    columns = xp.astype(columns, xp.int64)
    rows = xp.reshape(xp.arange(n, device=columns.device)[:, None] + xp.zeros_like(columns), (-1,))
    ends, values = xp.reshape(columns, (-1,)), xp.reshape(weights, (-1,))
    keys = xp.concat([rows * n + ends, ends * n + rows])
    order = xp.argsort(keys, stable=True)
    keys, values = xp.take(keys, order), xp.take(xp.concat([values, values]), order)
    # A pair is there once or twice, since each row names a neighbour once: of two equal keys the first gets the sum.
    same = keys[1:] == keys[:-1]
    none = xp.zeros_like(values[:1])
    values = values + xp.concat([xp.where(same, values[1:], xp.zeros_like(values[1:])), none])
    kept = xp.concat([xp.ones_like(same[:1]), ~same])
    keys, values = keys[kept], values[kept]
    values = values / xp.sum(values, dtype=placement.wide)
    wide = xp.astype(values, placement.wide)
    entropy = float(xp.sum(xp.where(wide > 0, wide * xp.log(xp.where(wide > 0, wide, xp.ones_like(wide))), 0.0 * wide)))
    return keys, xp.astype(values, weights.dtype), entropy


def _cut(n: int, keys: Array, values: Array, entropy: float, placement: Placement) -> EdgeTables:
    """Cut sorted affinities into padded tables; `keys` are n times the row plus the column."""
    xp = placement.xp
    starts = xp.searchsorted(keys, xp.arange(n + 1, device=keys.device) * n)
    counts = starts[1:] - starts[:-1]
    order = xp.argsort(counts, stable=True)
    numbers = xp.argsort(order, stable=True)
    sorted_counts = to_numpy(xp.take(counts, order))
    tables = []
    for first, last in _find_pieces(sorted_counts):
        width, rows = int(sorted_counts[last - 1]), order[first:last]
        begins, sizes = xp.take(starts, rows), xp.take(counts, rows)
        steps = xp.arange(width, device=keys.device)[None, :]
        filled = steps < sizes[:, None]
        places = xp.where(filled, begins[:, None] + steps, xp.zeros_like(begins[:, None] + steps))
        flat = xp.reshape(places, (-1,))
        ends = xp.reshape(xp.take(numbers, xp.take(keys, flat) % n), places.shape)
        shares = xp.reshape(xp.take(values, flat), places.shape)
        shares = xp.where(filled, shares, xp.zeros_like(shares))
        tables.append((first, xp.astype(ends, xp.int32), shares))
    return EdgeTables(order, tables, entropy, placement)


def _find_pieces(counts: Array) -> list[tuple[int, int]]:
    """Return the first and last point of each piece: counts that rise by at most an eighth, and a bounded table."""
    pieces, first, n = [], 0, len(counts)
    while first < n:
        widest = int(counts[first]) + max(int(counts[first]) // 8, 4)
        last = int(np.searchsorted(counts, widest, side="right"))
        last = min(last, first + max(1, _ENTRIES // max(widest, 1)))
        pieces.append((first, last))
        first = last
    return pieces
