"""Scores that packed trees give to a block of rows, and the part of a score that each column contributes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._solver.tree.packed_forest import PackedForest
from mercer._solver.tree.tree_sum import TreeSum
from mercer._source import Block
from mercer._types import Array
from mercer.ensemble._histogram.tree import BoostedTree, order_nodes


@dataclass(frozen=True, eq=False)
class Scores:
    """A function of a block: the scores that trees give its rows.

    Parameters
    ----------
    forest : PackedForest
    baseline : (k,)
        The scores without any tree.
    categories : Categories or None
    """

    forest: PackedForest
    baseline: Array
    categories: Any

    def __call__(self, block: Block) -> Array:
        return self.score_rows(np.ascontiguousarray(block.dense()))

    def score_rows(self, X: Array) -> Array:
        """Return the scores (n, k) of rows (n, d)."""
        if self.categories is not None:
            X = self.categories.on(X)
        scores = np.empty((len(X), len(self.baseline)))
        scores[:] = self.baseline
        self.forest.add_leaves(X, scores, 1)
        return scores


@dataclass(frozen=True, eq=False)
class Predictions:
    """A function of a block: ``finish(scores)`` of the scores (n, k) of its rows, in the rows' own precision."""

    scores: Scores
    dtype: Any
    finish: Callable[[Array], Array]

    def __call__(self, block: Block) -> Array:
        return self.finish(self.scores(block).astype(self.dtype, copy=False))


@dataclass(frozen=True, eq=False)
class Labels:
    """A function of scores (n, k): the label of the most probable class."""

    classes: Array

    def __call__(self, scores: Array) -> Array:
        index = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes[index]


def squeeze_scores(scores: Array) -> Array:
    """Return scores (n, k) as they are, or (n,) if k is 1."""
    return scores[:, 0] if scores.shape[1] == 1 else scores


def weigh_nodes(trees: tuple[BoostedTree, ...]) -> Array:
    """Return the number of training rows in each node of trees, in the order in which they are packed."""
    counts = [np.empty(0), *(tree.count.astype(np.float64) for tree in trees)]
    return np.concatenate(counts)[order_nodes(trees)]


@dataclass(frozen=True, eq=False)
class Contributions:
    """A function of a block: the part of each column in each score; last, the mean score of the training rows.

    Parameters
    ----------
    trees : TreeSum
        What the scores are a sum of.
    categories : Categories or None
    """

    trees: TreeSum
    categories: Any

    def __call__(self, block: Block) -> Array:
        """Return the contributions (n, k, d + 1)."""
        X = np.asarray(block.dense(), dtype=np.float64, order="C")
        if self.categories is not None:
            X = self.categories.on(X)
        return self.trees.share(X)
