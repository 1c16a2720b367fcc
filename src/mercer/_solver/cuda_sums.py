"""Sums of kernel values on an NVIDIA GPU without the values, by the program of ``kernel_sums.cu``.

Array operations write a table of values and read it several times: 8 ms on an H200 for 4000 x 100 000 values of rows
with 50 columns, where the program takes 1.7.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._source.device.cuda_program import CudaProgram, capability_of, cuda_program, device_of
from mercer._source.placement import Placement
from mercer._types import Array
from mercer.kernels import Kernel, Prepared

# Rows and columns of a tile, as in the CUDA program.
_TILE = 128
# Threads of a block, as in the CUDA program.
_THREADS = 256
# Blocks that keep a large GPU busy: two rounds of two for each of 128 multiprocessors.
_BUSY = 512
# The most vectors of coefficients for which the program computes the kernel values anew for each: array operations
# take ten times as long.
MOST_SUMMED = 4
# The least compute capability that was tested.
_LEAST_CAPABILITY = 80
# The code of the Gaussian profile, which the program computes as a power of two.
_GAUSSIAN = 1


@dataclass(frozen=True, eq=False)
class Laid:
    """Rows in the layout of the program.

    ``entries`` has shape (d, c) with d even and c a multiple of a tile's rows, ``squares`` (c,) are squared lengths and
    ``numbers`` (c,) the identities of rows. The first ``count`` columns are rows; the others are padding.
    """

    count: int
    entries: Array
    squares: Array
    numbers: Array

    def take(self, xp: Any, places: Array, count: int) -> "Laid":
        """Return the rows at `places`; the first `count` of them are rows, the others padding."""
        entries, squares = xp.take(self.entries, places, axis=1), xp.take(self.squares, places, axis=0)
        return Laid(count, entries, squares, xp.take(self.numbers, places, axis=0))


class CudaSums:
    """Sums over rows of weight times kernel value, for a radial kernel and float32 rows on one device.

    Parameters
    ----------
    kernel : Kernel
    like : array of shape (n, d)
        An array on that device, of that type.
    xp : module
    """

    def __init__(self, kernel: Kernel, like: Array, xp: Any) -> None:
        # Any: only radial kernels, which have `scale_rows` and a profile, are given a program.
        self.kernel: Any = kernel
        self.xp, self.placement = xp, Placement.of(like)
        device = device_of(like) if like.dtype == xp.float32 else None
        self.profile: Any = None if device is None else kernel.profile(Prepared(like))
        self.program: CudaProgram | None = None
        if device is not None and self.profile is not None and capability_of(device) >= _LEAST_CAPABILITY:
            constants = {"KIND": self.profile.kind}
            self.program = cuda_program("mercer._solver", "kernel_sums.cu", "kernel_sums", like, constants)

    def lay(self, rows: Array, first: int = 0) -> Laid:
        """Lay out rows for the program; their numbers begin with `first`, and equal numbers mean the same row."""
        xp, rows = self.xp, self.kernel.scale_rows(self.xp, rows)
        count, width = rows.shape
        long, wide = -(-count // _TILE) * _TILE, width + width % 2
        entries = xp.zeros((wide, long), dtype=rows.dtype, device=rows.device)
        entries[:width, :count] = rows.T
        squares = xp.zeros(long, dtype=rows.dtype, device=rows.device)
        squares[:count] = xp.sum(rows * rows, axis=1)
        return Laid(count, entries, squares, xp.arange(first, first + long, dtype=xp.int64, device=rows.device))

    def of(self, rows: Laid, weights: Array, others: Laid) -> Array:
        """Compute the float64 sum over `rows` for each of the `others`; `weights` (m,) are float64 on the device."""
        xp, (d, m), c = self.xp, rows.entries.shape, others.entries.shape[1]
        padded = xp.zeros(m, dtype=xp.float64, device=weights.device)
        padded[: rows.count] = weights * self.profile.factor
        blocks, tiles = c // _TILE, m // _TILE
        # Slices of the rows, so that enough blocks of threads run even for few points.
        height = -(-tiles // max(1, min(tiles, -(-_BUSY // blocks))))
        slices = -(-tiles // height)
        # The program computes powers of two, which the GPU has as one instruction.
        scale = -self.profile.scale * math.log2(math.e) if self.profile.kind == _GAUSSIAN else self.profile.scale
        sums = xp.empty((slices, c), dtype=xp.float64, device=weights.device)
        given = [rows.entries, rows.squares, rows.numbers, padded, int(m)]
        given += [others.entries, others.squares, others.numbers, int(c), int(d)]
        given += [height * _TILE, float(self.profile.shape), float(scale), sums]
        assert self.program is not None
        self.program.launch((blocks, slices), _THREADS, given, sums)
        # Slices are summed in their order: the result does not depend on scheduling.
        return xp.sum(sums, axis=0)[: others.count]


class RowSums:
    """Sums between rows of one set, selected by their indices.

    Parameters
    ----------
    kernel : Kernel
    rows : array of shape (n, d)
    xp : module
    """

    def __init__(self, kernel: Kernel, rows: Array, xp: Any) -> None:
        self.rows, self.sums = rows, CudaSums(kernel, rows, xp)
        self._last: tuple[Array, Laid] | None = None

    @property
    def is_possible(self) -> bool:
        """Whether there is a program for the kernel on the device of the rows."""
        return self.sums.program is not None

    @cached_property
    def _every(self) -> Laid:
        return self.sums.lay(self.rows)

    def _take_rows(self, indices: Array) -> Laid:
        padded = np.zeros(-(-len(indices) // _TILE) * _TILE, dtype=np.int64)
        padded[: len(indices)] = indices
        return self._every.take(self.sums.xp, self.sums.placement.put(padded), len(indices))

    def of(self, rows: Array, coefficients: Array, others: Array) -> Array:
        """Compute the float64 sum over `rows` of coefficient times value for each of the `others`, on the device."""
        if self._last is None or self._last[0] is not others:
            # The next round is likely to ask for the same array of indices again.
            self._last = (others, self._take_rows(others))
        weights = self.sums.placement.put(np.asarray(coefficients, dtype=np.float64))
        return self.sums.of(self._take_rows(rows), weights, self._last[1])
