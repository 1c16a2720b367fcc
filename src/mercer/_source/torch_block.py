"""Blocks of torch tensors: the verbs that torch can spell with fewer passes over memory than the standard can."""

from typing import Any

from mercer._source.block import DenseBlock
from mercer._source.groups import Groups

__all__ = ["TorchBlock"]

Array = Any
_MOST_SHORT = 2**15 - 1


class TorchBlock(DenseBlock):
    """Rows of a torch tensor; the array-API expressions of :class:`DenseBlock` are what these must agree with."""

    __slots__ = ()
    # 32 MiB of float32: within the second-level cache of a large GPU, and still thousands of rows.
    tile_size = 2**23

    def least(self, directions: Array, offset: Array, shift: Array) -> Array:
        import torch

        labels = torch.empty(self.n, dtype=torch.int64, device=self.X.device)
        turned = directions.T
        for tile in self.tiles(directions.shape[0]):
            # One product that begins from the offset: the scores are written once and read once.
            scores = torch.addmm(offset, self.X[tile] - shift, turned, alpha=-1.0)
            torch.argmin(scores, dim=1, out=labels[tile])
        return labels

    def grouped(self, labels: Array, k: int) -> Groups:
        import torch

        # A radix sort takes as many passes as its keys have bytes.
        return Groups(labels.to(torch.int16 if k <= _MOST_SHORT else torch.int32), k, self.xp, self.device)
