"""Values of a kernel between rows on a device: computed there, in tiles; only sums and small squares are fetched.

Kernel rows are computed anew whenever they are needed, since a GPU computes them about as fast as it reads them. On
NVIDIA GPUs, CUDA programs compute the sums of radial kernels and take the pair steps within a set, see
:mod:`mercer._solver.cuda_sums` and :mod:`mercer.svm._dual.cuda_descent`. Elsewhere sums are array operations, and the
host takes the steps on squares that it fetches.
"""

import math
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._solver.cuda_sums import RowSums
from mercer._source.device.cuda_program import memory_of
from mercer._source.device.source import DeviceSource, full_precision
from mercer._source.namespace import to_numpy
from mercer._types import Array, Rows
from mercer.kernels import Kernel
from mercer.svm._dual.cuda_descent import count_most_rows, describe_descent, take_steps
from mercer.svm._dual.gram_rows import Gram, Square
from mercer.svm._dual.program import DualProgram

# Values of a tile: 256 MiB of float32, and twice that while it is widened to be summed.
_TILE = 2**26
# Rows of a working set where no CUDA program limits them.
_SET = 8192
# Fewest rows of a working set, however little memory the device has.
_LEAST_SET = 1024
# Bytes of an entry of a square while it is computed: distances, values, both halves and their mean, float64 at worst.
_SQUARE_BYTES = 32


class DeviceGram(Gram):
    """The values of a kernel between rows on a device: its :class:`~mercer.svm._dual.gram_rows.KernelRows`.

    Parameters
    ----------
    kernel : Kernel
        Its values are computed by array-API operations.
    source : DeviceSource
    threads : int
        Threads of the host.
    """

    keeps_rows = False
    holds_squares = True

    def __init__(self, kernel: Kernel, source: DeviceSource, threads: int) -> None:
        super().__init__(kernel, source.X, threads)
        self.source, self.xp = source, source.xp
        self.last: tuple[Any, ...] = (None, None, None)
        self.lent: dict[int, Any] = {}
        self.sums: RowSums | None = None

    @cached_property
    def set_size(self) -> int:  # type: ignore[override]
        """Coefficients of a working set: as many as a CUDA program descends on, in a quarter of the device's memory.

        A round costs transfers and launches whatever its size, so sets are large.
        """
        size, memory = count_most_rows(self.X) or _SET, memory_of(self.X)
        return size if memory is None else min(size, max(_LEAST_SET, math.isqrt(memory // (4 * _SQUARE_BYTES))))

    def prepare_rows(self, dtype: Any) -> Any:
        """Return all rows in a type; for stationary kernels less their mean, which keeps more digits of differences."""
        kind = np.dtype(dtype)
        if kind not in self.prepared:
            wide = self.source.wide
            rows = self.X
            # Stationary kernels depend on differences only, so a shift of all rows changes nothing.
            if self.kernel.stationary:
                rows = self.xp.astype(rows, wide)
                rows = rows - self.xp.mean(rows, axis=0)
            self.prepared[kind] = self.xp.astype(rows, self._find_type(kind))
        return self.prepared[kind]

    def _find_type(self, dtype: Any) -> Any:
        """Return the device's type for `dtype`: its widest one for float64."""
        return self.xp.float32 if np.dtype(dtype) == np.float32 else self.source.wide

    def keep_digits(self) -> AbstractContextManager[None]:
        """Compute products with all the digits of their type within this context."""
        return full_precision(self.source.placement)

    def _take(self, rows: Array, dtype: Any) -> Array:
        return self.xp.take(self.prepare_rows(dtype), self.send_indices(rows), axis=0)

    def _take_again(self, others: Array, dtype: Any) -> Array:
        """Return rows that the next round is likely to ask for by the same array of indices, and keep them."""
        if self.last[0] is not others or self.last[1] != dtype:
            self.last = (others, dtype, self._take(others, dtype))
        return self.last[2]

    def send_indices(self, indices: Array) -> Array:
        """Return indices of rows as an array on the device."""
        return self.source.placement.put(np.asarray(indices, dtype=np.int64))

    @cached_property
    def _here(self) -> Gram:
        """A Gram on the host, for values in float64 if the device has no such type."""
        return Gram(self.kernel, to_numpy(self.X).astype(np.float64), self.threads)

    def _is_beyond(self, dtype: Any) -> bool:
        return self.source.placement.is_narrow and np.dtype(dtype) == np.float64

    def make_square(self, rows: Array, dtype: Any) -> Array:
        """Return the kernel matrix of `rows`, on the host."""
        if self._is_beyond(dtype):
            return self._here.make_square(rows, dtype)
        return self.fetch_square(self._compute_square(rows, dtype), rows, dtype)

    def hold_square(self, rows: Array, dtype: Any) -> "DeviceSquare | None":
        """Return the kernel matrix of `rows` on the device, or None if the device does not know `dtype`."""
        if self._is_beyond(dtype):
            return None
        return DeviceSquare(self, rows, np.dtype(dtype), self._compute_square(rows, dtype))

    def find_profile(self, dtype: Any) -> Any:
        """Return None: native code of the host does not compute these values."""
        return None

    def _compute_square(self, rows: Array, dtype: Any) -> Array:
        with self.keep_digits():
            taken = self._take(rows, dtype)
            values = self.kernel.of(self.xp, taken, taken)
            # The two halves may be rounded differently; their mean is symmetric.
            return 0.5 * (values + values.T)

    def fetch_square(self, values: Array, rows: Array, dtype: Any) -> Array:
        """Return a square of values between `rows` on the host, with an exact diagonal."""
        values = np.require(self._fetch(values), dtype, ["C", "W"])
        np.fill_diagonal(values, self.diagonal[rows])
        return values

    def _fetch(self, values: Rows) -> Array:
        """Copy `values` to the host; from a GPU by torch to pinned memory, which needs no work of the CPU.

        The memory is that of an earlier square if one was returned.
        """
        if self.source.placement.library != "torch" or self.X.device.type != "cuda":
            return to_numpy(values)
        import torch

        count = values.numel()
        memory: Any = None
        with suppress(IndexError):
            memory = self.spare.pop()
        # Pinned memory is slow to allocate: the blocks of earlier squares are used again.
        if memory is None or memory.dtype != values.dtype or memory.numel() < count:
            memory = torch.empty(count, dtype=values.dtype, pin_memory=True)
        fetched = memory[:count].reshape(values.shape).copy_(values).numpy()
        self.lent[fetched.ctypes.data] = memory
        return fetched

    def return_memory(self, K: Array) -> None:
        """Take back the pinned memory of a square, for the next one."""
        if (memory := self.lent.pop(K.ctypes.data, None)) is not None:
            self.spare.append(memory)

    def make_pair_square(self, rows: Array, first: int, squares: tuple[Array, Array]) -> Square:
        """Return the kernel matrix of two sets of rows, computed whole."""
        return Square.whole(self.make_square(rows, squares[0].dtype))

    @cached_property
    def diagonal(self) -> Array:
        """k(x, x) of each row, float64; stationary kernels have the same everywhere."""
        if self.kernel.stationary:
            value = self.kernel.diagonal(np.zeros((1, self.source.n_features)))
            return np.full(self.source.n_rows, float(value[0]))
        return np.asarray(self.kernel.diagonal(to_numpy(self.X).astype(np.float64)))

    def add_products(self, rows: Array, coefficients: Array, others: Array, dtype: Any, out: Array) -> None:
        """Add sum_j coefficients_j k(x_j, x_i) over the rows j to `out`, for each row i of `others`."""
        out += self.sum_products(rows, coefficients, others, dtype)

    def sum_products(self, rows: Array, coefficients: Array, others: Array, dtype: Any) -> Array:
        """Return sum_j coefficients_j k(x_j, x_i) over the rows j, for each row i of `others`; on the host, float64.

        Sums are taken in the device's widest type, because rounding errors would add up over the rounds.
        """
        if self._is_beyond(dtype):
            return self._here.sum_products(rows, coefficients, others, dtype)
        # One CUDA program makes and sums the values without writing them.
        if np.dtype(dtype) == np.float32 and len(rows) and len(others):
            self.sums = self.sums or RowSums(self.kernel, self.prepare_rows(dtype), self.xp)
            if self.sums.is_possible:
                return to_numpy(self.sums.of(rows, coefficients, others))
        xp, sums = self.xp, np.empty(len(others))
        with self.keep_digits():
            taken, every = self._take(rows, dtype), self._take_again(others, dtype)
            weights = self.source.placement.put(np.asarray(coefficients, dtype=np.float64))
            # As many columns at once as a tile of values may have.
            wide = max(1, _TILE // max(1, len(rows)))
            for first in range(0, len(others), wide):
                part = slice(first, min(first + wide, len(others)))
                values = xp.astype(self.kernel.of(xp, taken, every[part, :]), self.source.wide)
                sums[part] = to_numpy(weights @ values)
        return sums


@dataclass(frozen=True, eq=False)
class DeviceSquare:
    """The kernel matrix of the rows with indices ``rows``, on a device."""

    gram: DeviceGram
    rows: Array
    dtype: Any
    values: Array

    def descend(
        self, program: DualProgram, goal: float, most: int, b: Array, slope: Array, rise: Array, fall: Array
    ) -> int | None:
        """Take pair steps on the device and update the arrays in place; return their number, or None if it cannot."""
        gram, n = self.gram, len(program)
        if self.dtype != np.float32 or len(program.groups) > 1 or n > count_most_rows(self.values):
            return None
        diagonal = gram.diagonal[self.rows] + (0.0 if program.ridge is None else program.ridge)
        state = gram.source.placement.put(describe_descent(program, diagonal, goal, most, b, slope, rise, fall))
        take_steps(self.values, state)
        # The state from the coefficients on; see `describe_descent`.
        after = to_numpy(state[3 * n :])
        b[:], slope[:] = after[:n], after[n : 2 * n]
        return int(after[-1])

    def fetch_part(self, positions: Array) -> Array:
        """Return the square of the rows at `positions`, on the host."""
        sent = self.gram.send_indices(positions)
        return self.gram.fetch_square(self.values[sent[:, None], sent[None, :]], self.rows[positions], self.dtype)

    def sum_products(self, positions: Array, coefficients: Array) -> Array:
        """Return the sums of coefficient times kernel row over the rows at `positions`; on the host, float64."""
        xp, source = self.gram.xp, self.gram.source
        weights = source.placement.put(np.asarray(coefficients, dtype=np.float64))
        with self.gram.keep_digits():
            values = xp.astype(xp.take(self.values, self.gram.send_indices(positions), axis=0), source.wide)
            return to_numpy(weights @ values)
