"""Values of a kernel between rows on a device: computed there, in tiles; only sums and small squares are fetched.

Kernel rows are computed anew whenever they are needed, since a GPU computes them about as fast as it reads them. On
NVIDIA GPUs, CUDA programs compute the sums of radial kernels and take the pair steps within a set, see
:mod:`mercer._solver.cuda_sums` and :mod:`mercer.svm._dual.device_gram`. Elsewhere sums are array operations, and the
host takes the steps on squares that it fetches.
"""

import math
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from typing import Any

import numpy as np

from mercer._solver.cuda_sums import RowSums
from mercer._source.device.cuda_program import CudaProgram, capability_of, cuda_program, device_of, memory_of
from mercer._source.device.source import DeviceSource, full_precision
from mercer._source.namespace import to_numpy
from mercer._types import Array, Rows
from mercer.kernels import Kernel
from mercer.svm._dual.gram_rows import Gram, Square
from mercer.svm._dual.program import DualProgram

# Values of a tile: 256 MiB of float32, and twice that while it is widened to be summed.
_TILE = 2**26
# Fewest rows of a working set, however little memory the device has; the host's second-level cache holds their square.
_LEAST_SET = 1024
# Bytes of an entry of a square while it is computed: distances, values, both halves and their mean, float64 at worst.
_SQUARE_BYTES = 32
# Blocks of a cluster, threads of a block, rows of a thread and pairs at a time, by the compute capability they need.
_SHAPES = {90: (8, 128, 8, 4), 86: (1, 1024, 2, 2), 80: (1, 1024, 4, 2)}


def _find_shape(array: Array) -> tuple[int, int, int, int] | None:
    device = device_of(array)
    capability = 0 if device is None else capability_of(device)
    return next((shape for least, shape in _SHAPES.items() if capability >= least), None)


def _find_program(array: Array, shape: tuple[int, int, int, int]) -> CudaProgram | None:
    constants = dict(zip(("CLUSTER", "THREADS", "PER", "PAIRS"), shape, strict=True))
    # Four doubles and a float for each column of a block.
    shared = 36 * shape[1] * shape[2]
    return cuda_program("mercer.svm._dual", "pair_steps.cu", "pair_steps", array, constants, shared)


def count_most_rows(array: Array) -> int:
    """Return the most rows of a set on the device of an array; 0 if there is no CUDA program for it."""
    shape = _find_shape(array)
    return 0 if shape is None or _find_program(array, shape) is None else math.prod(shape[:3])


def describe_descent(
    program: DualProgram, diagonal: Array, goal: float, most: int, b: Array, slope: Array, rise: Array, fall: Array
) -> Array:
    """Return all that a descent needs beside the kernel values, as one vector, so that one transfer sends it.

    It has seven parts of n numbers: the diagonal plus the ridge, lower and upper bounds, coefficients, slopes, and what
    is added to slopes when coefficients rise and fall. Then the kink, the violation to end at, the most steps, and a
    place for their number.
    """
    rules = [program.kink, goal, most, 0.0]
    return np.concatenate([diagonal, program.lower, program.upper, b, slope, rise, fall, rules])


def take_steps(K: Array, state: Array) -> None:
    """Descend on float32 values (n, n) and a state of :func:`describe_descent`, both on the device, and update the
    state.

    The values get the diagonal of the state, which is exact and has the ridge of each row.
    """
    n = int(K.shape[0])
    K.reshape(-1)[:: n + 1] = state[:n]
    shape = _find_shape(K)
    program = None if shape is None else _find_program(K, shape)
    assert shape is not None
    assert program is not None
    program.launch((shape[0], 1), shape[1], [K, state, n], K)


class DeviceGram(Gram):
    """The values of a kernel between rows on a device.

    On an H200 a fit of SVC to 100 000 x 50 rows took 1.21 s with array operations and pair steps of the host, and takes
    0.38 s with the CUDA programs (``benchmarks/results/device_kernels_h200.json``).

    Parameters
    ----------
    kernel : Kernel
        Its values are computed by array-API operations.
    source : DeviceSource
    threads : int
        Threads of the host.
    """

    on_device = True

    def __init__(self, kernel: Kernel, source: DeviceSource, threads: int) -> None:
        super().__init__(kernel, source.X, threads)
        self.source, self.xp = source, source.xp
        self.last: tuple[Any, ...] = (None, None, None)
        self.lent: dict[int, Any] = {}
        self.sums: RowSums | None = None

    def count_set(self, dtype: Any, groups: int) -> int:
        """Return as many coefficients as a CUDA program descends on, in a quarter of the device's memory.

        A round costs transfers and launches whatever its size, so sets are large; without a program the host descends.
        """
        size, memory = self._most_rows(dtype, groups) or _LEAST_SET, memory_of(self.X)
        return size if memory is None else min(size, max(_LEAST_SET, math.isqrt(memory // (4 * _SQUARE_BYTES))))

    def _most_rows(self, dtype: Any, groups: int) -> int:
        """Return the most rows of a set on which a CUDA program descends."""
        return count_most_rows(self.X) if np.dtype(dtype) == np.float32 and groups == 1 else 0

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

    def _keep_digits(self) -> AbstractContextManager[None]:
        """Compute products with all the digits of their type within this context."""
        return full_precision(self.source.placement)

    def _take(self, rows: Array, dtype: Any) -> Array:
        return self.xp.take(self.prepare_rows(dtype), self._send_indices(rows), axis=0)

    def _take_again(self, others: Array, dtype: Any) -> Array:
        """Return rows that the next round is likely to ask for by the same array of indices, and keep them."""
        if self.last[0] is not others or self.last[1] != dtype:
            self.last = (others, dtype, self._take(others, dtype))
        return self.last[2]

    def _send_indices(self, indices: Array) -> Array:
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
        return self._fetch_square(self._compute_square(rows, dtype), rows, dtype)

    def descend(self, program: DualProgram, rows: Array, dtype: Any, *rest: Any) -> int | None:
        """Take pair steps on the device and update the arrays in place; return their number, or None if it cannot.

        `rest` are the violation to end at, the most steps, coefficients, slopes, and what is added to slopes when
        coefficients rise and fall.
        """
        n, (goal, most, b, slope, rise, fall) = len(program), rest
        if n > self._most_rows(dtype, len(program.groups)):
            return None
        diagonal = self.diagonal[rows] + (0.0 if program.ridge is None else program.ridge)
        state = self.source.placement.put(describe_descent(program, diagonal, goal, most, b, slope, rise, fall))
        take_steps(self._compute_square(rows, dtype), state)
        # The state from the coefficients on; see `describe_descent`.
        after = to_numpy(state[3 * n :])
        b[:], slope[:] = after[:n], after[n : 2 * n]
        return int(after[-1])

    def find_profile(self, dtype: Any) -> Any:
        """Return None: native code of the host does not compute these values."""
        return None

    def _compute_square(self, rows: Array, dtype: Any) -> Array:
        with self._keep_digits():
            taken = self._take(rows, dtype)
            values = self.kernel.of(self.xp, taken, taken)
            # The two halves may be rounded differently; their mean is symmetric.
            return 0.5 * (values + values.T)

    def _fetch_square(self, values: Array, rows: Array, dtype: Any) -> Array:
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
        with self._keep_digits():
            taken, every = self._take(rows, dtype), self._take_again(others, dtype)
            weights = self.source.placement.put(np.asarray(coefficients, dtype=np.float64))
            # As many columns at once as a tile of values may have.
            wide = max(1, _TILE // max(1, len(rows)))
            for first in range(0, len(others), wide):
                part = slice(first, min(first + wide, len(others)))
                values = xp.astype(self.kernel.of(xp, taken, every[part, :]), self.source.wide)
                sums[part] = to_numpy(weights @ values)
        return sums
