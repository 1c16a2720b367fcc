"""Values of a kernel between rows on a device: made there, in tiles, and nothing but sums and small squares fetched.

Rows of values are made anew whenever they are needed, since a GPU makes them about as fast as it reads them. On NVIDIA
GPUs the sums of radial kernels, and pair steps within a set, are programs of their own, see
:mod:`mercer._solver.cuda_sums` and :mod:`mercer.svm._dual.cuda_descent`; elsewhere they are array operations, and
rounds of the host on squares that it fetches.
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
from mercer.kernels import Kernel
from mercer.svm._dual.cuda_descent import described, most_rows, take_steps
from mercer.svm._dual.gram_rows import Gram, Square
from mercer.svm._dual.program import DualProgram

__all__ = ["DeviceGram", "DeviceSquare"]

Array = Any
# Values of a tile: 256 MiB of float32, and twice that while it is widened to be summed.
_TILE = 2**26
# Rows of a working set where no program says how many, and the fewest. Bytes of an entry of its square while that is
# made: distances, values, both halves and their mean, which are float64 at worst.
_SET, _LEAST_SET, _SQUARE_BYTES = 8192, 1024, 32


class DeviceGram(Gram):
    """The values of a kernel between rows on a device, in the types that there are.

    Parameters
    ----------
    kernel : Kernel
        With values in array-API operations.
    source : DeviceSource
    threads : int
        Of the host.
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
        """Coefficients of a working set: a round costs transfers and launches whatever it does, so that it had better
        do more; as many as a program descends on, and as a quarter of the device's memory has room for."""
        size, memory = most_rows(self.X) or _SET, memory_of(self.X)
        return size if memory is None else min(size, max(_LEAST_SET, math.isqrt(memory // (4 * _SQUARE_BYTES))))

    def rows(self, dtype: Any) -> Any:
        """The rows in a type; of kernels that do not depend on the origin, about their mean, where digits are kept."""
        kind = np.dtype(dtype)
        if kind not in self.prepared:
            wide = self.source.wide
            rows = self.X
            if self.kernel.stationary:
                rows = self.xp.astype(rows, wide)
                rows = rows - self.xp.mean(rows, axis=0)
            self.prepared[kind] = self.xp.astype(rows, self._kind(kind))
        return self.prepared[kind]

    def _kind(self, dtype: Any) -> Any:
        return self.xp.float32 if np.dtype(dtype) == np.float32 else self.source.wide

    def in_full(self) -> AbstractContextManager[None]:
        """Products with all the digits of their type."""
        return full_precision(self.source.placement)

    def _taken(self, rows: Array, dtype: Any) -> Array:
        return self.xp.take(self.rows(dtype), self.sent(rows), axis=0)

    def _kept(self, others: Array, dtype: Any) -> Array:
        """Rows that are likely to be asked for again, by the same numbers, in the next round."""
        if self.last[0] is not others or self.last[1] != dtype:
            self.last = (others, dtype, self._taken(others, dtype))
        return self.last[2]

    def sent(self, numbers: Array) -> Array:
        """Numbers of rows, where the rows are."""
        return self.source.placement.put(np.asarray(numbers, dtype=np.int64))

    @cached_property
    def _here(self) -> Gram:
        """The same on the host, for values in float64 of a device that has none."""
        return Gram(self.kernel, to_numpy(self.X).astype(np.float64), self.threads)

    def _is_beyond(self, dtype: Any) -> bool:
        return self.source.placement.is_narrow and np.dtype(dtype) == np.float64

    def square(self, rows: Array, dtype: Any) -> Array:
        """The values between some rows and themselves, on the host."""
        if self._is_beyond(dtype):
            return self._here.square(rows, dtype)
        return self.brought(self._square(rows, dtype), rows, dtype)

    def held(self, rows: Array, dtype: Any) -> "DeviceSquare | None":
        """The values between some rows and themselves, where they are made."""
        return None if self._is_beyond(dtype) else DeviceSquare(self, rows, np.dtype(dtype), self._square(rows, dtype))

    def _square(self, rows: Array, dtype: Any) -> Array:
        with self.in_full():
            taken = self._taken(rows, dtype)
            values = self.kernel.of(self.xp, taken, taken)
            # One of two roundings, so that the square has two equal halves.
            return 0.5 * (values + values.T)

    def brought(self, values: Array, rows: Array, dtype: Any) -> Array:
        """A square of values between some rows, on the host, where its diagonal is exact."""
        values = np.require(self._fetched(values), dtype, ["C", "W"])
        np.fill_diagonal(values, self.diagonal[rows])
        return values

    def _fetched(self, values: Array) -> Array:
        """Values on the host: from torch on a GPU in pinned memory, to which it writes by itself, left by an earlier
        square if there is one."""
        if self.source.placement.library != "torch" or self.X.device.type != "cuda":
            return to_numpy(values)
        import torch

        count, memory = values.numel(), None
        with suppress(IndexError):
            memory = self.spare.pop()
        if memory is None or memory.dtype != values.dtype or memory.numel() < count:
            memory = torch.empty(count, dtype=values.dtype, pin_memory=True)
        found = memory[:count].reshape(values.shape).copy_(values).numpy()
        self.lent[found.ctypes.data] = memory
        return found

    def leave(self, K: Array) -> None:
        """Give the pinned memory of a square back."""
        if (memory := self.lent.pop(K.ctypes.data, None)) is not None:
            self.spare.append(memory)

    def pair_square(self, rows: Array, first: int, squares: tuple[Array, Array]) -> Square:
        """The values between two sets of rows and themselves."""
        return Square.whole(self.square(rows, squares[0].dtype))

    @cached_property
    def diagonal(self) -> Array:
        """The value of each row with itself, float64; of a kernel that is the same everywhere, one is asked for."""
        if self.kernel.stationary:
            one = self.kernel.diagonal(np.zeros((1, self.source.n_features)))
            return np.full(self.source.n_rows, float(one[0]))
        return np.asarray(self.kernel.diagonal(to_numpy(self.X).astype(np.float64)))

    def add_products(self, rows: Array, coefficients: Array, others: Array, dtype: Any, found: Array) -> None:
        """Add sums of coefficient times value to what is found of the others."""
        found += self.products(rows, coefficients, others, dtype)

    def products(self, rows: Array, coefficients: Array, others: Array, dtype: Any) -> Array:
        """The sums over some rows of coefficient times value, for each of the others; on the host, float64.

        They are taken in the widest type there is: what rounding leaves would add up over the rounds.
        """
        if self._is_beyond(dtype):
            return self._here.products(rows, coefficients, others, dtype)
        if np.dtype(dtype) == np.float32 and len(rows) and len(others):
            self.sums = self.sums or RowSums(self.kernel, self.rows(dtype), self.xp)
            if self.sums.is_possible:
                return to_numpy(self.sums.of(rows, coefficients, others))
        xp, found = self.xp, np.empty(len(others))
        with self.in_full():
            taken, every = self._taken(rows, dtype), self._kept(others, dtype)
            weights = self.source.placement.put(np.asarray(coefficients, dtype=np.float64))
            wide = max(1, _TILE // max(1, len(rows)))
            for first in range(0, len(others), wide):
                part = slice(first, min(first + wide, len(others)))
                values = xp.astype(self.kernel.of(xp, taken, every[part, :]), self.source.wide)
                found[part] = to_numpy(weights @ values)
        return found


@dataclass(frozen=True, eq=False)
class DeviceSquare:
    """The values between some rows and themselves on a device: ``rows`` are their numbers."""

    gram: DeviceGram
    rows: Array
    dtype: Any
    values: Array

    def descend(
        self, program: DualProgram, goal: float, most: int, b: Array, slope: Array, rise: Array, fall: Array
    ) -> int | None:
        """Pair descent where the values are, in place; the number of steps, or None where it cannot be done there."""
        gram, n = self.gram, len(program)
        if self.dtype != np.float32 or len(program.groups) > 1 or n > most_rows(self.values):
            return None
        diagonal = gram.diagonal[self.rows] + (0.0 if program.ridge is None else program.ridge)
        state = gram.source.placement.put(described(program, diagonal, goal, most, b, slope, rise, fall))
        take_steps(self.values, state)
        found = to_numpy(state[3 * n :])
        b[:], slope[:] = found[:n], found[n : 2 * n]
        return int(found[-1])

    def part(self, positions: Array) -> Array:
        """The square of some of the rows, on the host."""
        sent = self.gram.sent(positions)
        return self.gram.brought(self.values[sent[:, None], sent[None, :]], self.rows[positions], self.dtype)

    def products(self, positions: Array, coefficients: Array) -> Array:
        """The sums over some of the rows of coefficient times value, for each row; on the host, float64."""
        xp, source = self.gram.xp, self.gram.source
        weights = source.placement.put(np.asarray(coefficients, dtype=np.float64))
        with self.gram.in_full():
            values = xp.astype(xp.take(self.values, self.gram.sent(positions), axis=0), source.wide)
            return to_numpy(weights @ values)
