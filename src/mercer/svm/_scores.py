"""Scores of kernel machines: sums over support vectors of coefficient times kernel value, less an offset."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer._base import _crossovers
from mercer._solver.cuda_sums import MOST_SUMMED, CudaSums
from mercer._source import Block
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows
from mercer.kernels import Kernel, Prepared

# Support vectors, their coefficients, and the machines that these belong to.
Part = tuple[Prepared, Array, Any]
# Rows of a tile of kernel values. With 1024 support vectors a tile is 2 MB of float64, which stays in the second-level
# cache.
_ROWS = 256
# Support vectors of a tile.
_SUPPORT = 1024
# The most coefficients in a product with one row, and the most support vectors of its tile. A BLAS computes products of
# this size on one thread, hence sums them in one order, without being told to.
_LONG = 8192


@dataclass(frozen=True, eq=False)
class Group:
    """Support vectors that belong to the same machines.

    ``place`` says which support vectors they are, ``coefficients`` has shape (s, k), and ``machines`` holds the indices
    of the k machines.
    """

    place: slice
    coefficients: Array
    machines: Array

    def cut(self, tile: slice, size: int) -> Iterator[tuple[slice, Array]]:
        """Yield the support vectors that are in `tile` and their coefficients, at most `size` at a time."""
        start, stop = max(tile.start, self.place.start), min(tile.stop, self.place.stop)
        for first in range(start, stop, max(1, size)):
            some = slice(first, min(first + max(1, size), stop))
            yield some, self.coefficients[some.start - self.place.start : some.stop - self.place.start]


@dataclass(frozen=True, eq=False)
class RowScores:
    """The scores (n, p) of rows, from their kernel values with prepared support vectors."""

    kernel: Kernel
    support: Prepared
    groups: tuple[Group, ...]
    offsets: Array

    def of(self, X: Array, threads: int = 1) -> Array:
        """Return the scores of rows, computed tile by tile on `threads` threads."""
        dtype = np.result_type(X.dtype, self.offsets.dtype)
        # One row and few rows have paths of their own: predictions one by one are the common case of services.
        if X.shape[0] == 1:
            return self._score_one_row(X).astype(dtype, copy=False)
        if X.shape[0] < _crossovers.THREADED_QUERIES:
            return self._score_tile(X, self._tiles).astype(dtype, copy=False)
        out = np.empty((X.shape[0], len(self.offsets)), dtype=dtype)
        parts = self._tiles

        def fill(number: int) -> None:
            rows = slice(number * _ROWS, min((number + 1) * _ROWS, X.shape[0]))
            out[rows] = self._score_tile(X[rows], parts)

        run_numbered(fill, -(-X.shape[0] // _ROWS), threads)
        return out

    def _score_one_row(self, X: Array) -> Array:
        """Return the scores of one row, whose kernel values are computed for all groups at once."""
        rows = self.kernel.prepare(self._match_storage(X), like=self.support)
        tiles, gather = self._long_tiles
        sums = np.zeros(len(gather))
        for support, members in tiles:
            values = self.kernel.between(rows, support)[0]
            for some, own, columns in members:
                sums[columns] += values[some] @ own
        return (sums @ gather - self.offsets)[None]

    @cached_property
    def _long_tiles(self) -> tuple[list[tuple[Prepared, list[tuple[slice, Array, slice]]]], Array]:
        """Support vectors in long tiles with the coefficients of groups, and a table of zeros and ones that adds the
        columns of all groups up by machine."""
        ends = np.cumsum([0, *(len(group.machines) for group in self.groups)])
        # A column of `gather` for each machine: it adds the scores of the groups that take part in it.
        gather = np.zeros((ends[-1], len(self.offsets)))
        gather[np.arange(ends[-1]), np.concatenate([group.machines for group in self.groups])] = 1.0
        tiles = []
        for first in range(0, len(self.support), _LONG):
            tile = slice(first, min(first + _LONG, len(self.support)))
            members = [
                (slice(some.start - first, some.stop - first), own, slice(ends[number], ends[number + 1]))
                for number, group in enumerate(self.groups)
                for some, own in group.cut(tile, _LONG // len(group.machines))
            ]
            tiles.append((self.support.take(tile), members))
        return tiles, gather

    @cached_property
    def _tiles(self) -> list[Part]:
        """Support vectors in tiles whose kernel values with `_ROWS` rows stay in a cache."""
        parts: list[Part] = []
        for group in self.groups:
            every = np.array_equal(group.machines, np.arange(len(self.offsets)))
            machines = slice(None) if every else group.machines
            parts.extend((self.support.take(some), own, machines) for some, own in group.cut(group.place, _SUPPORT))
        return parts

    def _match_storage(self, rows: Rows) -> Array:
        """Return the rows stored as the support vectors are: sparse or dense."""
        if is_sparse_matrix(rows) == is_sparse_matrix(self.support.rows):
            return rows
        return rows.toarray() if is_sparse_matrix(rows) else csr_array(rows)

    def _score_tile(self, X: Array, parts: list[Part]) -> Array:
        rows = self.kernel.prepare(self._match_storage(X), like=self.support)
        scores = np.zeros((len(rows), len(self.offsets)))
        for support, own, machines in parts:
            scores[:, machines] += self.kernel.between(rows, support) @ own
        scores -= self.offsets
        return scores


@dataclass(frozen=True, eq=False)
class DeviceScores:
    """The scores (n, p) of a block of rows on a device.

    ``values`` is the kernel's definition in array operations, and ``sums`` makes the program that adds the values up on
    NVIDIA GPUs. ``support`` holds the support vectors minus ``shift``: a stationary kernel does not change by a shift,
    and rows near the origin keep more digits. ``coefficients`` of shape (s, p) are those of all machines, zero where a
    support vector does not belong to a machine.
    """

    values: Callable[[Any, Array, Array], Array]
    sums: Callable[..., CudaSums]
    support: Array
    shift: Array
    coefficients: Array
    offsets: Array

    def __call__(self, block: Block) -> Array:
        xp = block.xp
        kind = xp.result_type(block.X, self.support)
        support, shift, coefficients = (
            xp.astype(array, kind) for array in (self.support, self.shift, self.coefficients)
        )
        # Few machines: a CUDA program sums without writing the values.
        if coefficients.shape[1] <= MOST_SUMMED and min(support.shape[0], block.X.shape[0]) > 0:
            sums = self.sums(support, xp)
            if sums.program is not None:
                return xp.astype(self._add_up(xp, sums, support, xp.astype(block.X, kind) - shift), kind)
        # Tile by tile, so that the kernel values take a bounded amount of memory.
        scores = [
            self.values(xp, xp.astype(block.X[tile, :], kind) - shift, support) @ coefficients
            for tile in block.tiles(max(1, support.shape[0]))
        ]
        return xp.concat(scores) - xp.astype(self.offsets, kind)

    def _add_up(self, xp: Any, sums: CudaSums, support: Array, rows: Array) -> Array:
        """Return the scores of `rows` by the CUDA program, which stores no kernel values, machine by machine."""
        own, others = sums.lay(support), sums.lay(rows, support.shape[0])
        table = xp.astype(self.coefficients, xp.float64)
        return xp.stack([sums.of(own, table[:, k], others) for k in range(table.shape[1])], axis=1) - self.offsets


@dataclass(frozen=True, eq=False)
class MatrixScores:
    """The scores (n, p) from given kernel values with all rows of the fit; ``support`` holds indices of rows."""

    support: Array
    groups: tuple[Group, ...]
    offsets: Array

    def of(self, K: Array, threads: int = 1) -> Array:
        """Return the scores of rows given as kernel values `K`."""
        out = np.zeros((K.shape[0], len(self.offsets)), dtype=np.result_type(K.dtype, self.offsets.dtype))

        def fill(number: int) -> None:
            part = slice(number * _ROWS, min((number + 1) * _ROWS, K.shape[0]))
            values = K[part][:, self.support]
            for group in self.groups:
                out[part, group.machines] += values[:, group.place] @ group.coefficients

        run_numbered(fill, -(-K.shape[0] // _ROWS), threads)
        out -= self.offsets
        return out
