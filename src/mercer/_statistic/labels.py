"""The distinct labels and the weight of each, which a classifier needs before it can number its classes."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mercer._plain import plain
from mercer._source import Block
from mercer._source.groups import Groups
from mercer._source.namespace import namespace_of
from mercer._statistic.statistic import Statistic
from mercer._types import Array


@dataclass(frozen=True)
class LabelCounts:
    """Labels in rising order, the weight of the rows with each, and how many rows there are."""

    classes: Array
    weights: Array
    n_rows: int

    def __add__(self, other: "LabelCounts") -> "LabelCounts":
        xp = namespace_of(self.classes)
        if self.classes.shape == other.classes.shape and bool(xp.all(self.classes == other.classes)):
            return LabelCounts(self.classes, self.weights + other.weights, self.n_rows + other.n_rows)
        classes = xp.sort(xp.unique_values(xp.concat([self.classes, other.classes])))
        weights = _expand(self, classes, xp) + _expand(other, classes, xp)
        return LabelCounts(classes, weights, self.n_rows + other.n_rows)


def _expand(counts: LabelCounts, classes: Array, xp: Any) -> Array:
    """Return the weights of `counts` at the indices of all `classes`; labels without rows have weight 0."""
    matches = counts.classes[:, None] == classes[None, :]
    return xp.sum(xp.where(matches, counts.weights[:, None], xp.zeros_like(counts.weights[:, None])), axis=0)


@dataclass(frozen=True)
class Labels(Statistic):
    """The labels of the rows and the weight of each."""

    reads_rows: ClassVar[bool] = False

    def of(self, block: Block) -> LabelCounts:
        xp = block.xp
        if block.weight is None:
            classes, counts = xp.unique_counts(block.y)
            weights = xp.astype(counts, block.wide)
        else:
            classes, numbers = xp.unique_inverse(block.y)
            groups = Groups(xp.reshape(numbers, (-1,)), classes.shape[0], xp, block.device)
            weights = groups.sums(block.weight, block.wide)
        # The standard leaves the order of unique values to the library.
        order = xp.argsort(classes)
        return LabelCounts(xp.take(classes, order), xp.take(weights, order), block.n)


@plain
@dataclass(frozen=True)
class RowCounts:
    """Rows, rows of positive weight, and the weight of all."""

    n_rows: int
    n_positive: int
    weight: float

    def __add__(self, other: "RowCounts") -> "RowCounts":
        return RowCounts(self.n_rows + other.n_rows, self.n_positive + other.n_positive, self.weight + other.weight)


@dataclass(frozen=True)
class Rows(Statistic):
    """The number of rows, of rows of positive weight, and the total weight."""

    reads_rows: ClassVar[bool] = False

    def of(self, block: Block) -> RowCounts:
        if block.weight is None:
            return RowCounts(block.n, block.n, float(block.n))
        positive = block.xp.sum(block.xp.astype(block.weight > 0, block.xp.int64))
        return RowCounts(block.n, int(positive), block.total_weight())
