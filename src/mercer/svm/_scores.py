"""Scores of kernel machines: sums over support vectors of coefficient times kernel value, less an offset."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer._solver.cuda_sums import CudaSums
from mercer._source import Block
from mercer._source.threads import run_numbered
from mercer.kernels import Kernel, Prepared

__all__ = ["FEW", "DeviceScores", "Group", "MatrixScores", "RowScores"]

Array = Any
# Support vectors, their coefficients, and the machines that these belong to.
Part = tuple[Prepared, Array, Any]
# A tile of values: 256 rows with 1024 support vectors are 2 MB of float64, in the second-level cache.
_ROWS, _SUPPORT = 256, 1024
# Coefficients of a product with one row: so few a BLAS takes on one thread, hence in one order, by itself. And the most
# support vectors of its tile.
_LONG = 8192
# Up to so many machines the values are made for each of them: array operations take ten times as long.
_SUMMED = 4
# Up to so many rows the crew costs more than it saves.
FEW = 8


@dataclass(frozen=True, eq=False)
class Group:
    """Support vectors that the same machines know: which they are, their coefficients (s, k), and those machines."""

    place: slice
    coefficients: Array
    machines: Array

    def within(self, tile: slice, size: int) -> Iterator[tuple[slice, Array]]:
        """Its support vectors that are in a tile, at most so many at a time, with their coefficients."""
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
        """The scores of rows, a tile at a time on all threads."""
        dtype = np.result_type(X.dtype, self.offsets.dtype)
        if X.shape[0] == 1:
            return self._single(X).astype(dtype, copy=False)
        if X.shape[0] <= FEW:
            return self._tile(X, self._cut).astype(dtype, copy=False)
        out = np.empty((X.shape[0], len(self.offsets)), dtype=dtype)
        parts = self._cut

        def fill(number: int) -> None:
            rows = slice(number * _ROWS, min((number + 1) * _ROWS, X.shape[0]))
            out[rows] = self._tile(X[rows], parts)

        run_numbered(fill, -(-X.shape[0] // _ROWS), threads)
        return out

    def _single(self, X: Array) -> Array:
        """The scores of one row, whose kernel values are made for all groups at once."""
        rows = self.kernel.prepare(self._stored_alike(X), like=self.support)
        tiles, gather = self._long
        sums = np.zeros(len(gather))
        for support, members in tiles:
            values = self.kernel.between(rows, support)[0]
            for some, own, columns in members:
                sums[columns] += values[some] @ own
        return (sums @ gather - self.offsets)[None]

    @cached_property
    def _long(self) -> tuple[list[tuple[Prepared, list[tuple[slice, Array, slice]]]], Array]:
        """Support vectors in long tiles, each with the coefficients of groups, and the machines of those as a table."""
        ends = np.cumsum([0, *(len(group.machines) for group in self.groups)])
        gather = np.zeros((ends[-1], len(self.offsets)))
        gather[np.arange(ends[-1]), np.concatenate([group.machines for group in self.groups])] = 1.0
        tiles = []
        for first in range(0, len(self.support), _LONG):
            tile = slice(first, min(first + _LONG, len(self.support)))
            members = [
                (slice(some.start - first, some.stop - first), own, slice(ends[number], ends[number + 1]))
                for number, group in enumerate(self.groups)
                for some, own in group.within(tile, _LONG // len(group.machines))
            ]
            tiles.append((self.support.take(tile), members))
        return tiles, gather

    @cached_property
    def _cut(self) -> list[Part]:
        """Support vectors in tiles, whose values with many rows stay in a cache."""
        found: list[Part] = []
        for group in self.groups:
            every = np.array_equal(group.machines, np.arange(len(self.offsets)))
            machines = slice(None) if every else group.machines
            found.extend((self.support.take(some), own, machines) for some, own in group.within(group.place, _SUPPORT))
        return found

    def _stored_alike(self, rows: Array) -> Array:
        """Rows stored as the support vectors are: sparse or dense."""
        if issparse(rows) == issparse(self.support.rows):
            return rows
        return rows.toarray() if issparse(rows) else csr_array(rows)

    def _tile(self, X: Array, parts: list[Part]) -> Array:
        rows = self.kernel.prepare(self._stored_alike(X), like=self.support)
        scores = np.zeros((len(rows), len(self.offsets)))
        for support, own, machines in parts:
            scores[:, machines] += self.kernel.between(rows, support) @ own
        scores -= self.offsets
        return scores


@dataclass(frozen=True, eq=False)
class DeviceScores:
    """The scores (n, p) of a block of rows on a device.

    ``values`` is the kernel's definition in array operations, ``sums`` makes the program that adds them up on NVIDIA
    GPUs; ``support`` are the support vectors less ``shift``, which
    leaves a stationary kernel as it is and keeps digits far from the origin; ``coefficients`` (s, p) are those of all
    machines, zero where one does not know a support vector.
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
        support, shift, coefficients = (xp.astype(one, kind) for one in (self.support, self.shift, self.coefficients))
        if coefficients.shape[1] <= _SUMMED and min(support.shape[0], block.X.shape[0]) > 0:
            sums = self.sums(support, xp)
            if sums.program is not None:
                return xp.astype(self._summed(xp, sums, support, xp.astype(block.X, kind) - shift), kind)
        found = [
            self.values(xp, xp.astype(block.X[tile, :], kind) - shift, support) @ coefficients
            for tile in block.tiles(max(1, support.shape[0]))
        ]
        return xp.concat(found) - xp.astype(self.offsets, kind)

    def _summed(self, xp: Any, sums: CudaSums, support: Array, rows: Array) -> Array:
        """The same by sums without values, one machine after the other."""
        own, others = sums.lay(support), sums.lay(rows, support.shape[0])
        table = xp.astype(self.coefficients, xp.float64)
        return xp.stack([sums.of(own, table[:, k], others) for k in range(table.shape[1])], axis=1) - self.offsets


@dataclass(frozen=True, eq=False)
class MatrixScores:
    """The scores (n, p) from given kernel values with all rows of the fit, of which some are support vectors."""

    support: Array
    groups: tuple[Group, ...]
    offsets: Array

    def of(self, K: Array, threads: int = 1) -> Array:
        """The scores of rows of kernel values."""
        out = np.zeros((K.shape[0], len(self.offsets)), dtype=np.result_type(K.dtype, self.offsets.dtype))

        def fill(number: int) -> None:
            part = slice(number * _ROWS, min((number + 1) * _ROWS, K.shape[0]))
            values = K[part][:, self.support]
            for group in self.groups:
                out[part, group.machines] += values[:, group.place] @ group.coefficients

        run_numbered(fill, -(-K.shape[0] // _ROWS), threads)
        out -= self.offsets
        return out
