"""Models whose scores are sums over trees, in the form that explanations read; and tables of nodes as packed trees."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._solver.tree.binary_tree import LEAF
from mercer._solver.tree.packed_forest import CATEGORICAL, COLUMN_SHIFT, MISSING_LEFT, SPLIT, PackedForest
from mercer._solver.tree.path_shares import average_leaves, share_paths
from mercer._types import Array
from mercer.errors import ParameterError


@dataclass(frozen=True, eq=False)
class TreeSum:
    """Scores that are a constant plus a sum over trees.

    Attributes
    ----------
    forest : PackedForest
        The trees, their values scaled so that they add up to the scores.
    weights : (nodes,)
        The weight of the training rows that came by each packed node.
    baseline : (k,)
        The scores without any tree.
    read : callable
        From rows as users give them to the numbers (n, d) that the trees compare.
    """

    forest: PackedForest
    weights: Array
    baseline: Array
    read: Callable[[Any], Array]

    def score(self, X: Array, threads: int = 1) -> Array:
        """Return the scores (n, k) of rows that were read."""
        scores = np.tile(np.asarray(self.baseline, np.float64), (len(X), 1))
        self.forest.add_leaves(np.ascontiguousarray(X), scores, threads)
        return scores

    def share(self, X: Array) -> Array:
        """Return the part (n, k, d + 1) of each column in each score; last, the mean score of the training rows."""
        k = len(self.baseline)
        shares = np.empty((len(X), k, X.shape[1] + 1))
        shares[:, :, :-1] = share_paths(self.forest, self.weights, X, k).values
        # With the mean score, contributions add up to the score.
        shares[:, :, -1] = self.baseline + average_leaves(self.forest, self.weights, k)
        return shares

    def average_over(self, columns: Array, grid: Array) -> Array:
        """Return the mean scores (points, k) with some columns given, which follow both sides of all other splits.

        The two sides count as the training rows that came by.

        Parameters
        ----------
        columns : (c,)
        grid : (points, c)
            The values of these columns.
        """
        forest, k = self.forest, len(self.baseline)
        marks = forest.nodes["mark"]
        if (marks & CATEGORICAL).any():
            raise ParameterError("partial_dependence: trees that split by categories need method='brute'.")
        skips, thresholds = forest.nodes["skip"], forest.nodes["threshold"]
        places = np.full(max(forest.n_columns, int(columns.max()) + 1), -1)
        places[columns] = np.arange(len(columns))
        scores = np.tile(np.asarray(self.baseline, np.float64)[:, None], (1, len(grid)))
        for root, output in zip(forest.roots, forest.outputs):
            # Level by level: the nodes of one depth, and the share of each point that comes by.
            here, shares = np.array([root], np.int64), np.ones((1, len(grid)))
            while len(here):
                inner = (marks[here] & SPLIT) != 0
                values = forest.values[here[~inner]]
                scores[output : output + values.shape[1]] += values.T @ shares[~inner]
                here, shares = here[inner], shares[inner]
                left, right = here + 1, here + 1 + skips[here]
                place = places[marks[here] >> COLUMN_SHIFT]
                goes = np.repeat((self.weights[left] / self.weights[here])[:, None], len(grid), axis=1)
                asked = place >= 0
                given, missing = grid.T[place[asked]], (marks[here[asked]] & MISSING_LEFT) != 0
                goes[asked] = np.where(np.isnan(given), missing[:, None], given <= thresholds[here[asked], None])
                here, shares = np.concatenate([left, right]), np.vstack([shares * goes, shares * (1.0 - goes)])
        return scores[:k].T


@dataclass(frozen=True, eq=False)
class NodeTable:
    """The nodes of one tree in any order, the root first.

    Attributes
    ----------
    left, right : (nodes,)
        Children; negative at a leaf.
    column, threshold, missing_left : (nodes,)
        Values up to the threshold go left.
    value : (nodes, k)
    weight : (nodes,)
        Of the training rows that came by.
    """

    left: Array
    right: Array
    column: Array
    threshold: Array
    missing_left: Array
    value: Array
    weight: Array


def pack_tables(tables: list[NodeTable], outputs: Array | None = None) -> tuple[PackedForest, Array]:
    """Return tables of nodes as packed trees, and the weights of their nodes; `outputs` as `PackedForest` has them."""
    sizes = np.array([len(table.left) for table in tables], np.int64)
    roots = np.cumsum(sizes) - sizes
    first = np.repeat(roots, sizes)
    left, right = (
        np.concatenate([np.asarray(getattr(table, name), np.int64) for table in tables]) for name in ("left", "right")
    )
    inner = left >= 0
    left, right = np.where(inner, left + first, LEAF), np.where(inner, right + first, LEAF)
    places = _number_depth_first(left, right, roots)
    order = np.empty(len(places), np.int64)
    order[places] = np.arange(len(places))

    def gather(name: str, dtype: Any) -> Array:
        return np.concatenate([getattr(table, name) for table in tables]).astype(dtype)[order]

    rights = np.where(inner, places[right] - first, LEAF)[order].astype(np.int32)
    arrays = rights, gather("threshold", np.float64), gather("missing_left", np.uint8), gather("value", np.float64)
    columns = np.where(inner[order], gather("column", np.int32), -1).astype(np.int32)
    forest = PackedForest.pack(sizes, columns, *arrays, np.empty(0, np.int64), outputs=outputs)
    return forest, gather("weight", np.float64)


def _number_depth_first(left: Array, right: Array, roots: Array) -> Array:
    """Return the place of each node if those of each tree are numbered depth first, left before right."""
    inner = np.flatnonzero(left >= 0)
    if (left[inner] == inner + 1).all() and (right[inner] > inner).all():
        return np.arange(len(left))
    levels, here = [], roots
    while len(here := here[left[here] >= 0]):
        levels.append(here)
        here = np.concatenate([left[here], right[here]])
    sizes = np.ones(len(left), np.int64)
    for here in reversed(levels):
        sizes[here] += sizes[left[here]] + sizes[right[here]]
    places = np.empty(len(left), np.int64)
    places[roots] = roots
    for here in levels:
        places[left[here]] = places[here] + 1
        places[right[here]] = places[here] + 1 + sizes[left[here]]
    return places
