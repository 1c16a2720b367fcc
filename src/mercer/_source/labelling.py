"""Conversion of labels and weights, block by block, to the ones that a loss takes."""

from dataclasses import dataclass

from mercer._source.block import Block
from mercer._types import Array


@dataclass(frozen=True, eq=False)
class Labelling:
    """Replaces labels by the indices of their classes and multiplies weights by the weights of the classes.

    Parameters
    ----------
    classes : array of shape (k,)
        In rising order, of the library that the labels are of.
    by_class : array of shape (k,) or None
        A factor of each row's weight.
    """

    classes: Array
    by_class: Array = None

    def on(self, block: Block) -> Block:
        """Return the block with class indices for labels: floats 0 and 1 for two classes, integers for more."""
        xp = block.xp
        binary = self.classes.shape[0] == 2
        # Two classes need no search: the second is the one that counts as 1.
        labels = block.y == self.classes[1] if binary else xp.searchsorted(self.classes, block.y)
        weight = block.weight
        if self.by_class is not None:
            # The weight of a row is its own times that of its class.
            factor = xp.take(self.by_class, xp.astype(labels, xp.int64))
            weight = factor if weight is None else factor * weight
        y = xp.astype(labels, block.wide if binary else xp.int64, copy=False)
        return type(block)(block.X, block.start, y, weight, xp, block.wide)
