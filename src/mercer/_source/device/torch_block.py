"""Blocks of torch tensors: methods that torch can compute with fewer passes over memory than the array API can."""

from typing import Any

from mercer._source.block import DenseBlock
from mercer._source.device.cuda_groups import CudaGroups
from mercer._source.device.cuda_scatter import CentredSums, can_sum, sum_centred
from mercer._source.device.fused_search import can_fuse, search_nearest
from mercer._source.groups import Groups

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
