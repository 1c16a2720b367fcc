"""Find which of k centres is nearest to each row of a block."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._native.space import assignment
from mercer._solver.centres import _crossovers
from mercer._source.block import Block, SparseBlock
from mercer._source.namespace import namespace_of
from mercer._types import Array

# The scores of this many rows and centres stay in the second-level cache; 256 rows fill the BLAS.
_SCORES = 2**16
# Rows of a panel of lanes: a whole number of registers at every CPU level.
_LANES = 32
_NONE = np.empty(0)


@dataclass(frozen=True)
class Centres:
    """k centres in the rows' own precision, and the tables that a search among them needs."""

    centres: Array

    @property
    def k(self) -> int:
        """The number of centres."""
        return self.centres.shape[0]

    @cached_property
    def half_norms(self) -> Array:
        """Half the squared norm of each centre, float64."""
        wide = self.centres.astype(np.float64)
        return 0.5 * np.einsum("ij,ij->i", wide, wide)

    @cached_property
    def shift(self) -> Array:
        """A point amid the centres. Scores relative to it do not cancel when the data lie far from the origin."""
        if isinstance(self.centres, np.ndarray):
            # The bits of NumPy's mean at half its time, which for few centres is that of the calls.
            return (np.add.reduce(self.centres, axis=0, dtype=np.float64) / self.k).astype(self.centres.dtype)
        return namespace_of(self.centres).mean(self.centres, axis=0)

    @cached_property
    def shifted(self) -> Array:
        """The centres minus the shift."""
        return self.centres - self.shift

    @cached_property
    def offset(self) -> Array:
        """Half the squared norms of the shifted centres."""
        if not isinstance(self.centres, np.ndarray):
            return 0.5 * namespace_of(self.centres).sum(self.shifted * self.shifted, axis=1)
        wide = self.shifted.astype(np.float64)
        return (0.5 * np.einsum("ij,ij->i", wide, wide)).astype(self.centres.dtype)

    @cached_property
    def reach(self) -> float:
        """The largest norm among the shifted centres."""
        return float(np.sqrt(2.0 * self.offset.max()))

    @property
    def rounding(self) -> float:
        """Bound on a score's error relative to (||x|| + ||c||)^2 / 2: d products, their sum, and the shifts."""
        return (self.centres.shape[1] + 8) * float(np.finfo(self.centres.dtype).eps)

    @cached_property
    def workspace(self) -> tuple[int, int]:
        """The number of rows searched at a time, a multiple of 32 up to 256, and their number of columns."""
        width = min(256, max(32, _SCORES // self.k // 32 * 32))
        return width, self.centres.shape[1]

    def suits_lanes(self, n_rows: int) -> bool:
        """Return whether distances in lanes take less time than scores by the BLAS, its preparation included."""
        return self.centres.size < _crossovers.PRODUCT_VALUES or n_rows <= _LANES

    def assign(
        self, X: Array, unit: int, weight: Array, drift: Array, half_gap: Array, rows: tuple[Array, ...], table: Array
    ) -> int:
        """Assign the rows of a run of blocks and add them up in `table`; return how many rows were searched.

        `rows` holds labels, distances and lower bounds, overwritten; `drift` and `half_gap` are as in the native record
        ``Rows``, or None to search all rows.
        """
        moves = _NONE if drift is None else drift, _NONE if half_gap is None else half_gap
        listed = np.empty(min(unit, X.shape[0]), np.int32)
        weight = _NONE if weight is None else weight
        if self.suits_lanes(X.shape[0]):
            record = assignment.Rows(rows, weight, moves, (listed, np.empty(_LANES, np.int32)))
            return assignment.assign_by_lanes(X, unit, self.centres, *self._prepare_lanes(), record, table)
        record = self._make_rows(rows, listed, weight, moves)
        return assignment.assign_by_products(X, unit, *self._prepare(), record, table)

    def _prepare_lanes(self) -> tuple[Array, Array, Array]:
        """Return the arguments that searches in lanes share: the centres in float64, and scratch."""
        points = self.centres.astype(np.float64, copy=False)
        return points, np.empty((points.shape[1], _LANES)), np.empty((2, _LANES))

    def _make_rows(
        self,
        out: tuple[Array, ...],
        listed: Array,
        weight: Array = _NONE,
        moves: tuple[Array, Array] = (_NONE, _NONE),
        safe: float = np.inf,
    ) -> assignment.Rows:
        """Return the record of rows that a native search reads and writes."""
        scratch = listed, np.empty(self.workspace[0], np.int32)
        return assignment.Rows(out, weight, moves, scratch, (self.reach, self.rounding), safe)

    def _prepare(self) -> tuple[Array, Array, Array, Array, Array, Array, Array]:
        """Return the arguments that all native searches share: the centres, shifted too, and scratch for a tile."""
        width, n_features = self.workspace
        real = self.centres.dtype
        tile, products = np.empty((width, n_features), real), np.empty((self.k, width), real)
        return self.centres, self.shift, self.shifted, self.offset, tile, products, np.empty((2, width), real)

    def search_by_lanes(self, X: Array, labels: Array, distances: Array) -> None:
        """Write the nearest centre of each dense row and the squared distance to it, from all distances."""
        scratch = np.arange(X.shape[0], dtype=np.int32), np.empty(_LANES, np.int32)
        record = assignment.Rows((labels, distances, _NONE), _NONE, (_NONE, _NONE), scratch)
        assignment.search_by_lanes(X, *self._prepare_lanes(), record)

    def search_by_products(self, X: Array, labels: Array, distances: Array) -> None:
        """Write the nearest centre of each dense row and the squared distance to it, by native matrix products."""
        record = self._make_rows((labels, distances, _NONE), np.arange(X.shape[0], dtype=np.int32))
        assignment.search_by_products(X, *self._prepare(), record)

    def find_labels(self, block: Block) -> Array:
        """Return the labels that :meth:`find_nearest` finds; of many dense rows and centres, without distances."""
        if block.is_sparse or not block.is_native or self.suits_lanes(block.n):
            return self.find_nearest(block)[0]
        labels, distances = np.empty(block.n, dtype=np.int32), np.empty(block.n)
        # No row is longer than all rows of the block together; scores of rows of that length are in doubtful order
        # within this bound, which takes a tenth of the time of the distances.
        flat = block.X.reshape(-1)
        # A hundredth more than the sum in float32 may have lost.
        longest = 1.01 * math.sqrt(float(np.vdot(flat, flat))) + float(np.linalg.norm(self.shift))
        safe = self.rounding * (3.0 * self.reach + longest) ** 2
        record = self._make_rows((labels, distances, _NONE), np.arange(block.n, dtype=np.int32), safe=safe)
        assignment.search_by_products(block.X, *self._prepare(), record)
        return labels

    def search_sparse(self, X: Any, labels: Array, distances: Array) -> None:
        """Search as :meth:`search_by_products` for CSR rows; products are added up in the order of stored values."""
        wide = np.ascontiguousarray(self.centres.T, dtype=np.float64)
        rows = max(32, 2**20 // self.k)
        for start in range(0, X.shape[0], rows):
            part = X[start : start + rows]
            # argmin |x - c|^2 = argmin |c|^2 / 2 - x . c; the square follows as |x|^2 + 2 times the least score.
            scores = self.half_norms - part @ wide
            best = scores.argmin(axis=1)
            least = np.take_along_axis(scores, best[:, None], axis=1)[:, 0]
            labels[start : start + rows] = best
            squares = SparseBlock(part, start).sum_squares()
            distances[start : start + rows] = np.maximum(0.0, squares + 2.0 * least)

    def search_by_array(self, block: Block) -> tuple[Array, Array]:
        """Return the nearest centre of each dense row and the squared distance to it, by array operations.

        Centres are compared by |c|^2 / 2 - x . c, about the shift: |x - c|^2 / 2 without the part that is equal for all
        c.
        """
        return block.nearest(self.centres, self.shifted, self.offset, self.shift)

    def distances(self, block: Block) -> Array:
        """Return the squared distances of all rows to a few centres, (n, k), by array operations about the shift."""
        xp = block.xp
        rows = block.X - self.shift
        squares = xp.sum(rows * rows, axis=1, dtype=block.wide)
        products = xp.astype(xp.matmul(rows, self.shifted.T), block.wide, copy=False)
        distance = squares[:, None] - 2.0 * products + xp.sum(self.shifted**2, axis=1, dtype=block.wide)[None, :]
        return xp.clip(distance, 0.0, None)

    def lengths_by_array(self, block: Block) -> Array:
        """Compute :meth:`lengths` by array operations, in tiles of rows."""
        return block.xp.concat([self._lengths_of_tile(block, tile) for tile in block.tiles(4 * self.k)])

    def _lengths_of_tile(self, block: Block, part: slice) -> Array:
        xp = block.xp
        rows = xp.astype(block.X[part, :], block.wide, copy=False) - self.shift
        centres = xp.astype(self.centres, block.wide, copy=False) - self.shift
        row_norms, centre_norms = xp.sum(rows * rows, axis=1), xp.sum(centres * centres, axis=1)
        squares = row_norms[:, None] - 2.0 * xp.matmul(rows, centres.T) + centre_norms[None, :]
        # |x - c|^2 as a difference of norms loses digits when it is small beside them: such entries are computed from x
        # - c.
        limit = self._doubt(float(xp.finfo(block.wide).eps)) * (row_norms + 2.0 * xp.max(centre_norms))
        doubtful = squares <= limit[:, None]
        i, j = xp.nonzero(doubtful)
        if i.shape[0]:
            step = xp.take(rows, i, axis=0) - xp.take(centres, j, axis=0)
            direct = xp.sum(step * step, axis=1)
            # The array API cannot write to scattered positions; the n-th doubtful entry reads the n-th direct distance.
            places = xp.cumulative_sum(xp.astype(xp.reshape(doubtful, (-1,)), xp.int64)) - 1
            direct = xp.reshape(xp.take(direct, xp.clip(places, 0, None)), squares.shape)
            squares = xp.where(doubtful, direct, squares)
        return xp.astype(xp.sqrt(squares), block.X.dtype, copy=False)

    def _doubt(self, eps: float) -> float:
        """Return the least squared distance, relative to the norms, at which the expanded square keeps eight digits."""
        return 2.0**24 * (self.centres.shape[1] + 8) * eps

    def lengths(self, X: Array) -> Array:
        """Return the distance of each dense row to each centre, (n, k), in the rows' type.

        Expanded squares in float64, about the shift, give them; where these keep fewer than eight digits, differences
        do.
        """
        rows, centres = (np.subtract(part, self.shift, dtype=np.float64) for part in (X, self.centres))
        row_norms, centre_norms = np.einsum("ij,ij->i", rows, rows), np.einsum("ij,ij->i", centres, centres)
        # |x - c|^2 = |x|^2 + |c|^2 - 2 x.c, in place; a factor of two changes no digit.
        result = rows @ (-2.0 * centres.T)
        result += row_norms[:, None]
        result += centre_norms
        # Below this bound rounding may have taken more than half of the digits.
        limit = self._doubt(np.finfo(np.float64).eps) * (row_norms + 2.0 * centre_norms.max())
        doubtful = result <= limit[:, None]
        # Most rows are far from all centres: then no places are listed, which takes as long as the product.
        places = np.argwhere(doubtful) if doubtful.any() else np.empty((0, 2), np.intp)
        # In parts, so that the differences take a bounded amount of memory.
        for start in range(0, len(places), 2**14):
            i, j = places[start : start + 2**14].T
            step = rows[i] - centres[j]
            result[i, j] = np.einsum("ij,ij->i", step, step)
        return np.sqrt(result, out=result).astype(X.dtype, copy=False)

    def find_nearest(self, block: Block) -> tuple[Array, Array]:
        """Return the nearest centre of each row, among equals the lowest, and the squared distance to it.

        The method depends on where the rows are, how many there are, and whether they are sparse.
        """
        if not (block.is_sparse or block.is_native):
            labels, squares = self.search_by_array(block)
            return block.xp.astype(labels, block.xp.int32, copy=False), squares
        labels = np.empty(block.n, dtype=np.int32)
        distances = np.empty(block.n)
        if block.is_sparse:
            self.search_sparse(block.X, labels, distances)
        elif self.suits_lanes(block.n):
            self.search_by_lanes(block.X, labels, distances)
        else:
            self.search_by_products(block.X, labels, distances)
        return labels, distances
