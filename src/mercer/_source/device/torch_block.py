"""Blocks of torch tensors: methods that torch can compute with fewer passes over memory than the array API can."""

from typing import Any

from mercer._source.block import DenseBlock
from mercer._source.device.cuda_program import cuda_program, device_of
from mercer._source.device.cuda_scatter import CentredSums, can_sum, sum_centred
from mercer._source.device.fused_search import can_fuse, search_nearest
from mercer._source.groups import Groups
from mercer._types import Array

# Threads of a block, as in the CUDA program.
_THREADS = 256
# Rows of a chunk: enough blocks for a GPU from some 100 000 rows on.
_CHUNK = 512
# Rows that each thread of a group reads at least, so that a block has work for longer than its start takes.
_LEAST_ROWS = 16


class CudaGroups(Groups):
    """Rows of a torch tensor by label; sums in float64, in an order that depends on the labels alone.

    The array operations of :class:`Groups` are its definition, and do what the program cannot.
    """

    def sums(self, values: Array, wide: Any) -> Array:
        table: Any = values if values.ndim == 2 else values[:, None]
        xp = self.xp
        if wide != xp.float64 or table.dtype not in (xp.float32, xp.float64) or table.stride(1) != 1:
            return super().sums(values, wide)
        total = self._sum_by_program(table)
        if total is None:
            return super().sums(values, wide)
        return total if values.ndim == 2 else total[:, 0]

    def _sum_by_program(self, table: Any) -> Any:
        """Return the sums (k, q) of a table (n, q); None where there is no program for its device."""
        xp, (n, width) = self.xp, table.shape
        lanes = min(_THREADS, 2 ** max(0, width - 1).bit_length())
        real = "float" if table.dtype == xp.float32 else "double"
        programs = [self._find_program(table, kind, lanes, ordered) for kind, ordered in ((real, 1), ("double", 0))]
        if device_of(table) is None or None in programs:
            return None
        chunk = max(_CHUNK, _LEAST_ROWS * (_THREADS // lanes))
        counts = self.starts[1:] - self.starts[:-1]
        begins = xp.cumulative_sum((counts + (chunk - 1)) // chunk, include_initial=True)
        # At most one chunk of each label is not full: a bound that needs no number from the device.
        blocks = n // chunk + self.k
        parts = xp.empty((blocks, width), dtype=xp.float64, device=table.device)
        given = [table, table.stride(0), width, self.order, self.starts, begins, self.k, chunk, parts]
        programs[0].launch((blocks, 1), _THREADS, given, table)
        total = xp.empty((self.k, width), dtype=xp.float64, device=table.device)
        # One chunk for each label, as long as it needs to be.
        numbers = xp.arange(self.k + 1, dtype=xp.int64, device=table.device)
        given = [parts, width, width, self.order, begins, numbers, self.k, blocks, total]
        programs[1].launch((self.k, 1), _THREADS, given, table)
        return total

    @staticmethod
    def _find_program(table: Any, real: str, lanes: int, ordered: int) -> Any:
        constants = {"REAL": real, "LANES": lanes, "ORDERED": ordered}
        return cuda_program("mercer._source.device", "group_sums.cu", "sum_chunks", table, constants)


Tensor = Any  # of torch, which is imported only where there are rows of it

# The largest number of labels that 16-bit integers can hold.
_MOST_SHORT = 2**15 - 1


class TorchBlock(DenseBlock):
    """Rows of a torch tensor; results must agree with the array-API expressions of :class:`DenseBlock`."""

    __slots__ = ()
    # 32 MiB of float32: within the second-level cache of a large GPU, and still thousands of rows.
    tile_size = 2**23

    def least(self, directions: Tensor, offset: Tensor, shift: Tensor) -> Tensor:
        import torch

        labels = torch.empty(self.n, dtype=torch.int64, device=self.X.device)
        turned = directions.T
        for tile in self.tiles(directions.shape[0]):
            # One call adds the offset to the product, so that the scores are written once and read once.
            scores = torch.addmm(offset, self.X[tile] - shift, turned, alpha=-1.0)
            torch.argmin(scores, dim=1, out=labels[tile])
        return labels

    def nearest(self, centres: Tensor, directions: Tensor, offset: Tensor, shift: Tensor) -> tuple[Tensor, Tensor]:
        if can_fuse(self.X):
            return search_nearest(self.X, centres, directions, offset, shift)
        return super().nearest(centres, directions, offset, shift)

    def centre(self, shift: Tensor) -> Tensor:
        # A wider shift makes torch widen the rows in the subtraction itself, without writing them in between.
        if getattr(shift, "dtype", None) == self.wide:
            return self.X - shift
        return super().centre(shift)

    @property
    def has_centred_sums(self) -> bool:  # type: ignore[override]
        return self.weight is None and can_sum(self.X)

    def sum_centred(self, targets: Tensor = None) -> CentredSums:
        return sum_centred(self.X, targets)

    @property
    def sums_are_rough(self) -> bool:  # type: ignore[override]
        return self.X.dtype != self.wide and self.weight is None

    def rough_sums(self) -> Tensor:
        # For a sum in another type than the rows' own, torch would first write all rows in that type.
        return self.X.sum(0).to(self.wide) if self.sums_are_rough else self.column_sums()

    def group(self, labels: Tensor, k: int) -> Groups:
        import torch

        # A radix sort takes as many passes as its keys have bytes.
        kind = CudaGroups if self.X.is_cuda else Groups
        return kind(labels.to(torch.int16 if k <= _MOST_SHORT else torch.int32), k, self.xp, self.device)
