"""DBSCAN on a grid: cells with a diagonal of epsilon, sorted, so that neighbours are runs of consecutive rows."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.space import epsilon_grid
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._types import Array

# Cells in one native call: some milliseconds of work.
_RUN = 1024
# Rows whose cells are computed at a time, which bounds the temporary arrays.
_ROWS = 2**16
# Diagonals are slightly shorter than epsilon, so that rounding cannot put two rows farther apart than it into one cell.
_SHORT = 1 - 1e-9
# Keys of cells must fit into 64-bit integers, with room for the offsets of neighbours.
_MOST_KEYS = 2**62


def suits_grid(X: Array, eps: float) -> bool:
    """Return whether rows have at most three columns, and few enough cells that their keys fit into 64 bits."""
    if X.shape[1] > 3:
        return False
    extents = X.max(axis=0).astype(float) - X.min(axis=0)
    cells = [extent / _side(eps, X.shape[1]) + 2 * _reach(X.shape[1]) + 2 for extent in extents]
    # Cells are counted in float64, whose rounding must stay below a cell.
    return all(math.isfinite(count) and count < 2**40 for count in cells) and math.prod(cells) < _MOST_KEYS


def _side(eps: float, d: int) -> float:
    # The diagonal of a cube of d dimensions is sqrt(d) sides: rows of a cell are within eps of each other.
    return eps / math.sqrt(d) * _SHORT


def _reach(d: int) -> int:
    """Return how many cells away a neighbour can be along each axis: ceil(eps / side)."""
    return math.ceil(math.sqrt(d) / _SHORT)


@dataclass(frozen=True, eq=False)
class EpsilonGrid:
    """Rows sorted into cells.

    ``Z`` (d, n) holds the sorted rows feature by feature, ``order`` their row indices, ``keys`` and ``starts`` the
    cells that are not empty and the first row of each.
    """

    Z: Array
    order: Array
    keys: Array
    starts: Array
    offsets: Array
    span: int
    radius: float
    threads: int

    @classmethod
    def of(cls, X: Array, eps: float, threads: int, subject: str) -> "EpsilonGrid":
        """Sort rows into cells of side eps / sqrt(d)."""
        n, d = X.shape
        require_memory(subject, n * (d * X.itemsize + 36), f"the grid of {n} rows", "fit fewer rows")
        side, reach = _side(eps, d), _reach(d)
        low = X.min(axis=0).astype(float)
        # `reach` empty cells at both ends of each axis keep the neighbours' keys from running into the next line of
        # cells.
        counts = [int((float(most) - least) / side) + 2 * reach + 1 for most, least in zip(X.max(axis=0), low)]
        strides = [math.prod(counts[k + 1 :]) for k in range(d)]
        keys = np.zeros(n, np.int64)
        for start in range(0, n, _ROWS):
            part = slice(start, start + _ROWS)
            for k in range(d):
                keys[part] += (np.floor((X[part, k] - low[k]) / side).astype(np.int64) + reach) * strides[k]
        # A stable sort: weights are then added in the order of rows.
        order = np.argsort(keys, kind="stable").astype(np.int32)
        keys = keys[order]
        begins = np.flatnonzero(keys[1:] != keys[:-1])
        starts = np.zeros(len(begins) + 2, np.int64)
        starts[1:-1], starts[-1] = begins + 1, n
        keys = keys[starts[:-1]]
        del begins
        Z = np.empty((d, n), X.dtype)
        for start in range(0, n, _ROWS):
            part = slice(start, start + _ROWS)
            Z[:, part] = X[order[part]].T
        return cls(Z, order, keys, starts, _offsets(strides, reach), 2 * reach, eps**2, threads)

    def cluster(self, min_samples: int, weight: Array) -> tuple[Array, Array]:
        """Return the labels of the sorted rows, and whether each is core."""
        core = self._cores(min_samples, weight)
        clusters = self._clusters(core)
        labels = np.empty(len(core), np.int32)
        none = np.iinfo(np.int32).max

        def work(first: int, stop: int) -> None:
            epsilon_grid.find_borders(self.Z, self._cells(), first, stop, self.radius, core, clusters, none, labels)

        self._each(work)
        return labels, core

    def _cores(self, min_samples: int, weight: Array) -> Array:
        core = np.empty(len(self.order), np.int8)
        placed = np.empty(0) if weight is None else weight[self.order]

        def work(first: int, stop: int) -> None:
            epsilon_grid.find_cores(self.Z, self._cells(), first, stop, self.radius, placed, min_samples, core)

        self._each(work)
        return core

    def _clusters(self, core: Array) -> Array:
        """Return the label of each cell, (m,); clusters are numbered in the order of their first core rows."""
        cores = np.maximum.reduceat(core, self.starts[:-1])
        parent = np.arange(len(self.keys), dtype=np.int32)
        box, cells = np.empty((2, len(self.Z))), self._cells()
        # On one thread: cells that are united already need no distance, so this is a small part of the work.
        for first in range(0, len(self.keys), _RUN):
            stop = min(first + _RUN, len(self.keys))
            epsilon_grid.link_cells(self.Z, cells, first, stop, self.radius, core, cores, box, parent)
        # Per root the lowest core row, then its rank; cells without a core row keep a value above all labels.
        labels = np.full(len(self.keys), np.iinfo(np.int32).max, np.int32)
        epsilon_grid.first_rows(self.starts, self.order, core, parent, labels)
        roots = np.flatnonzero(labels < np.iinfo(np.int32).max)
        labels[roots[np.argsort(labels[roots])]] = np.arange(len(roots), dtype=np.int32)
        for start in range(0, len(parent), _ROWS):
            parent[start : start + _ROWS] = labels[parent[start : start + _ROWS]]
        return parent

    def _cells(self) -> epsilon_grid.Cells:
        """Return the record of cells that one native call works on."""
        runs = np.empty((len(self.offsets), 2), np.int64)
        return epsilon_grid.Cells(self.keys, self.starts, self.offsets, runs, self.span)

    def _each(self, function: Any) -> None:
        total = len(self.keys)
        run_numbered(lambda run: function(run * _RUN, min((run + 1) * _RUN, total)), -(-total // _RUN), self.threads)


def _offsets(strides: list[int], reach: int) -> Array:
    """Return the offset from a cell's key to the start of each run of cells within reach, the nearest runs first."""
    steps = itertools.product(range(-reach, reach + 1), repeat=len(strides) - 1)
    nearest_first = sorted(steps, key=lambda step: (sum(move * move for move in step), step))
    runs = [sum(move * stride for move, stride in zip(step, strides)) - reach for step in nearest_first]
    return np.array(runs, np.int64)


def cluster_grid(
    X: Array, eps: float, min_samples: int, weight: Array, threads: int, subject: str
) -> tuple[Array, Array]:
    """Return the labels of all rows, and whether each is core."""
    grid = EpsilonGrid.of(X, eps, threads, subject)
    sorted_labels, core = grid.cluster(min_samples, weight)
    order = grid.order
    # The sorted rows are the largest part of memory; they are freed before the result is put into the rows' order.
    del grid
    labels, marks = np.empty(len(order), np.int64), np.empty(len(order), bool)
    labels[order], marks[order] = sorted_labels, core
    return labels, marks
