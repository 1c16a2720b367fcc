"""Rows on a device: torch and CuPy arrays, on a CPU or a GPU, and any other array of the array-API standard.

Library and device are decided here, once. Statistics run where the rows are, in array operations; what a solver is sent
(sums, and the rows that it asks for by number) is NumPy in float64, and what it hands in goes to the device.
"""

import copy
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from mercer._source.array import ArraySource
from mercer._source.block import Block, DenseBlock, rows_per_block
from mercer._source.device.check import check_finite, check_matrix, check_targets, check_weights
from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement, change_arrays
from mercer._types import Array


def rows_per_device_block(n_features: int) -> int:
    """Return the fixed number of rows in a block on a device: a power of two that depends only on `n_features`.

    Each array operation costs a launch, so that blocks are far larger than a CPU's: about 2**27 numbers, 1 GiB in
    float64. It is a multiple of :func:`mercer._source.block.rows_per_block`, so that random draws block by block can
    be the same in both places.
    """
    rows = 2**27 // max(16, n_features)
    return max(rows_per_block(n_features), 2 ** (min(rows, 2**22).bit_length() - 1))


class DeviceSource(ArraySource):
    """Rows of an array on a device; targets and weights are on the same device."""

    place = "device"
    # Checks that rows are finite; None once they have been checked.
    unseen: Callable[[], None] | None = None

    def __init__(self, X: Array, y: Array = None, weight: Array = None, placement: Placement | None = None) -> None:
        self.placement = Placement.of(X) if placement is None else placement
        # One thread is enough to queue work on a device.
        super().__init__(X, y, weight, threads=1, xp=self.placement.xp)
        self.wide = self.placement.wide
        self.block_rows = rows_per_device_block(self.n_features)
        self.description = f"an array on {self.placement}"

    @property
    def host_dtype(self) -> np.dtype:
        return np.dtype(np.float32 if self.dtype == self.xp.float32 else np.float64)

    def _rows(self, start: int, stop: int) -> DenseBlock:
        y = None if self.y is None else self.y[start:stop, ...]
        weight = None if self.weight is None else self.weight[start:stop]
        return _kind(self.placement)(self.X[start:stop, :], start, y, weight, self.xp, self.wide)

    def send(self, thing: Any) -> Any:
        return change_arrays(thing, self.placement.put)

    def fetch(self, thing: Any) -> Any:
        return change_arrays(thing, to_numpy)

    def keep_missing(self) -> None:
        self.unseen = None

    def _look(self) -> None:
        """Raise if rows that were not checked before hold NaN or infinity."""
        if self.unseen is not None:
            self.unseen()
            self.unseen = None

    def reduce(self, statistic: Any) -> Any:
        # NaN shows in a sum of all values, which saves a pass over the rows for the check.
        if not statistic.sums_all_values:
            self._look()
        with full_precision(self.placement):
            sums = super().reduce(statistic)
        # The first sums show NaN and infinity: no pass of its own is needed to look for them.
        if self.unseen is not None:
            if not np.isfinite(sums.mean).all():
                self._look()
            self.unseen = None
        return change_arrays(sums, _widen) if self.placement.is_narrow else sums

    def _map(self, function: Callable[[Block], Array], out: Array) -> Array:
        self._look()
        with full_precision(self.placement):
            return super()._map(self.send(function), out)

    def on_blocks(self, work: dict[int, Callable[[Block], Any]]) -> dict[int, Any]:
        self._look()
        with full_precision(self.placement):
            return super().on_blocks({number: self.send(function) for number, function in work.items()})

    def on_rows(self, start: int, stop: int, function: Callable[[Block], Any]) -> Any:
        self._look()
        with full_precision(self.placement):
            result = super().on_rows(start, stop, self.send(function))
        return change_arrays(result, _widen) if self.placement.is_narrow else result

    def row_table(self, fill: float, dtype: Any = np.float64) -> Array:
        kind = self.wide if np.dtype(dtype) == np.float64 else getattr(self.xp, np.dtype(dtype).name)
        return self.xp.full((self.n_rows,), fill, dtype=kind, device=self.placement.device)

    def relabel(self, labelling: Any) -> "DeviceSource":
        whole = self.send(labelling).on(self._rows(0, self.n_rows))
        other = copy.copy(self)
        other.y, other.weight, other.has_weight = whole.y, whole.weight, whole.weight is not None
        return other

    def whole(self) -> Array:
        self._look()
        return self.X

    def part(self, rows: Array) -> "DeviceSource":
        self._look()
        other = DeviceSource(self._take_rows(rows), placement=self.placement)
        other.readings = self.readings
        return other

    def take(self, indices: Array) -> Array:
        self._look()
        return to_numpy(self._take_rows(indices))

    def _take_rows(self, rows: Array) -> Array:
        return self.xp.take(self.X, self.send(np.asarray(rows, dtype=np.int64)), axis=0)

    def fingerprint(self) -> dict[str, Any]:
        ends = [self.block(number) for number in sorted({0, self.n_blocks - 1})]
        sums = [np.ascontiguousarray(to_numpy(self.xp.sum(block.X, axis=0, dtype=self.wide))) for block in ends]
        return {
            "shape": [self.n_rows, self.n_features],
            "dtype": self.host_dtype.name,
            "data": [zlib.crc32(total.data.cast("B")) for total in sums],
        }


def open_device(X: Any, y: Any, weight: Any, *, subject: str, targets: str | None, threads: int = 1) -> DeviceSource:
    """Open rows on a device, with targets and weights that are there too.

    Parameters
    ----------
    X, y, weight : array
        All on one device; `weight` may be a number.
    subject : str
        Who asks, for errors.
    targets : {None, "numbers", "labels"}
        Which targets are wanted.
    threads : int
        Has no effect: a device has its own threads.
    """
    placement = Placement.of(X)
    X = check_matrix(X, placement, subject)
    y = None if targets is None else check_targets(y, X.shape[0], targets, placement, subject)
    source = DeviceSource(X, y, check_weights(weight, X.shape[0], placement, subject), placement)
    # The check for NaN costs a pass, which a first sum over all values may save.
    source.unseen = partial(check_finite, X, placement, subject)
    return source


def _kind(placement: Placement) -> type[DenseBlock]:
    """Return the class of blocks for rows at `placement`."""
    if placement.library != "torch":
        return DenseBlock
    from mercer._source.device.torch_block import TorchBlock

    return TorchBlock


def _widen(array: Array) -> Array:
    """Convert a sum that was taken in float32, on a device without float64, to the float64 that solvers compute in."""
    return array.astype(np.float64) if array.dtype == np.float32 else array


@contextmanager
def full_precision(placement: Placement) -> Iterator[None]:
    """Compute float32 products in full float32: torch may be set to use ten bits of mantissa instead of 23."""
    if placement.library != "torch":
        yield
        return
    import torch

    before = torch.get_float32_matmul_precision()
    # Setting the precision is global to the process; it is left alone where it is right already.
    if before == "highest":
        yield
        return
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
