"""Models whose scores are sums over trees, in the form that explanations read; and tables of nodes as packed trees."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._solver.tree.binary_tree import LEAF
from mercer._solver.tree.packed_forest import PackedForest
from mercer._types import Array


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
