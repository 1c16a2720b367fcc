"""Sums of kernel values on an NVIDIA GPU without the values, by the program of ``kernel_sums.cu``.

Array operations write a table of values and read it several times: 8 ms on an H200 for 4000 x 100 000 values of rows
with 50 columns, where the program takes 1.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._source.cuda_program import CudaProgram, capability_of, cuda_program, device_of
from mercer._source.placement import Placement
from mercer.kernels import Kernel, Prepared

__all__ = ["CudaSums"]

Array = Any
# Rows and columns of a tile, and its threads.
_TILE, _THREADS = 128, 256
# Blocks that keep a large GPU busy: two for each multiprocessor, twice.
_BUSY = 512
# The compute capability that was tried, and the number of the Gaussian profile, whose exponentials are powers of two.
_LEAST, _GAUSSIAN = 80, 1


@dataclass(frozen=True, eq=False)
class Columns:
    """Some of the rows by number, as the program wants them: their places (c,), c a multiple of a tile's columns, their
    entries (d, c) and squared lengths (c,)."""

    numbers: Array
    count: int
    places: Array
    entries: Array
    squares: Array


class CudaSums:
    """Sums over rows of coefficient times value, of a radial kernel and float32 rows.

    Parameters
    ----------
    kernel : Kernel
    rows : array of shape (n, d), float32
    xp : module
    placement : Placement
    """

    def __init__(self, kernel: Kernel, rows: Array, xp: Any, placement: Placement) -> None:
        self.kernel, self.rows, self.xp, self.placement = kernel, rows, xp, placement
        self._others: Columns | None = None

    @cached_property
    def profile(self) -> Any:
        return self.kernel.profile(Prepared(self.rows))

    @cached_property
    def program(self) -> CudaProgram | None:
        """The compiled code; None where the kernel or the place has none."""
        device = device_of(self.rows)
        if device is None or self.profile is None or capability_of(device) < _LEAST:
            return None
        return cuda_program("mercer._solver", "kernel_sums.cu", "kernel_sums", self.rows, {"KIND": self.profile.kind})

    @cached_property
    def _every(self) -> tuple[Array, Array]:
        """All rows in the kernel's units, entry by entry, an even number of them; and their squared lengths."""
        xp, rows = self.xp, self.kernel.scaled(self.xp, self.rows)
        squares = xp.sum(rows * rows, axis=1)
        if rows.shape[1] % 2:
            rows = xp.concat([rows, xp.zeros_like(rows[:, :1])], axis=1)
        # Written to memory of its own: a transpose is but another way to look at the rows.
        turned = xp.empty((rows.shape[1], rows.shape[0]), dtype=rows.dtype, device=rows.device)
        turned[...] = rows.T
        return turned, squares

    def _columns(self, numbers: Array) -> Columns:
        count = -(-len(numbers) // _TILE) * _TILE
        padded = np.zeros(count, dtype=np.int64)
        padded[: len(numbers)] = numbers
        places, (entries, squares) = self.placement.put(padded), self._every
        taken = self.xp.take(entries, places, axis=1)
        return Columns(numbers, count, places, taken, self.xp.take(squares, places, axis=0))

    def of(self, rows: Array, coefficients: Array, others: Array) -> Array:
        """The sums over some rows for each of the others, float64, where the rows are."""
        if self._others is None or self._others.numbers is not others:
            # They are likely to be asked for again, by the same numbers, in the next round.
            self._others = self._columns(others)
        own, columns = self._columns(rows), self._others
        weights = np.zeros(own.count)
        weights[: len(rows)] = coefficients * self.profile.factor
        blocks, tiles = columns.count // _TILE, own.count // _TILE
        height = -(-tiles // max(1, min(tiles, -(-_BUSY // blocks))))
        slices = -(-tiles // height)
        scale = -self.profile.scale * math.log2(math.e) if self.profile.kind == _GAUSSIAN else self.profile.scale
        sums = self.xp.empty((slices, columns.count), dtype=self.xp.float64, device=self.rows.device)
        sent = self.placement.put(weights)
        program, d = self.program, int(own.entries.shape[0])
        assert program is not None
        given = [own.entries, own.squares, own.places, sent, own.count]
        given += [columns.entries, columns.squares, columns.places, columns.count, d]
        given += [height * _TILE, float(self.profile.shape), float(scale), sums]
        program.launch((blocks, slices), _THREADS, given, self.rows)
        return self.xp.sum(sums, axis=0)[: len(others)]
