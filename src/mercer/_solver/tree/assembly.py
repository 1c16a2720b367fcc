"""Make a tree, its nodes numbered depth first, from the levels of a growth; store and restore a growth."""

from dataclasses import dataclass

import numpy as np

from mercer._native.tree import node_rows
from mercer._plain import plain
from mercer._solver.tree.binary_tree import LEAF, BinaryTree
from mercer._solver.tree.growth import Growth, Level
from mercer._solver.tree.soundness import mark_grown
from mercer._solver.tree.target import Described
from mercer._types import Array

_NODE_FIELDS = ("left", "right", "feature", "threshold", "missing_left", "categories")


@plain
@dataclass(frozen=True, eq=False)
class GrowthState:
    """A tree as it grows, level by level, and the rows of its last level."""

    nodes: dict[str, Array]
    words: Array
    sizes: Array
    rows: Array
    starts: Array
    stops: Array
    seeds: Array
    bounds: Array


def take_state(growth: Growth) -> GrowthState:
    """Return the state of a growth, from which it can be continued or assembled to a tree."""
    last = growth.levels[-1]
    sizes = np.array([len(level.starts) for level in growth.levels])
    words = np.concatenate([np.zeros(0, np.int64), *growth.words])
    return GrowthState(
        join_levels(growth.levels), words, sizes, last.rows, last.starts, last.stops, last.seeds, last.bounds
    )


def join_levels(levels: list[Level]) -> dict[str, Array]:
    """Return the arrays that describe nodes, each joined over all `levels`."""
    nodes = {name: np.concatenate([getattr(level, name) for level in levels]) for name in _NODE_FIELDS}
    nodes["n_rows"] = np.concatenate([level.stops - level.starts for level in levels])
    for name in ("weights", "values", "impurity", "pure"):
        nodes[name] = np.concatenate([getattr(level.known, name) for level in levels])
    return nodes


def resume_levels(state: GrowthState) -> list[Level]:
    """Return the levels of a state; only the last level, whose nodes may still be split, has rows."""
    # Nodes are stored level by level.
    ends = np.cumsum(state.sizes)
    levels = []
    for depth, (first, end) in enumerate(zip(ends - state.sizes, ends)):
        part = slice(int(first), int(end))
        known = Described(*(state.nodes[name][part] for name in ("weights", "values", "impurity", "pure")))
        # Levels above the last one keep only the sizes of their nodes, as differences of stops and starts.
        stops = np.cumsum(state.nodes["n_rows"][part])
        level = Level(
            np.zeros(0, np.int32), stops - state.nodes["n_rows"][part], stops, stops, np.zeros((0, 2)), known, depth
        )
        for name in _NODE_FIELDS:
            setattr(level, name, state.nodes[name][part].copy())
        levels.append(level)
    last = levels[-1]
    last.rows, last.starts, last.stops = state.rows, state.starts, state.stops
    last.seeds, last.bounds = state.seeds, state.bounds
    return levels


def assemble(state: GrowthState, n_features: int, n_classes: Array) -> BinaryTree:
    """Return the tree that a state holds, its nodes numbered depth first."""
    nodes = state.nodes
    left, right = nodes["left"], nodes["right"]
    numbers, sizes = np.empty(len(left), np.int64), np.empty(len(left), np.int64)
    # Depth-first numbers, with which children stand after their parents.
    node_rows.number_nodes(left, right, sizes, numbers)

    def place(values: Array) -> Array:
        out = np.empty_like(values)
        out[numbers] = values
        return out

    left, right = (np.where(child == LEAF, LEAF, numbers[child]) for child in (left, right))
    return mark_grown(
        BinaryTree(
            n_features=n_features,
            n_classes=n_classes,
            children_left=place(left.astype(np.int32)),
            children_right=place(right.astype(np.int32)),
            feature=place(nodes["feature"].astype(np.int32)),
            threshold=place(nodes["threshold"]),
            missing_go_to_left=place(nodes["missing_left"]),
            impurity=place(nodes["impurity"]),
            n_node_samples=place(nodes["n_rows"].astype(np.int32)),
            weighted_n_node_samples=place(nodes["weights"]),
            value=shape_values(place(nodes["values"]), n_classes),
            categories=place(nodes["categories"]) if len(state.words) else np.zeros(0, np.int64),
            words=state.words,
        )
    )


def shape_values(values: Array, n_classes: Array) -> Array:
    """Return `values` as (nodes, outputs, classes), padded with zeros for outputs that have fewer classes."""
    if len(n_classes) == 1 or (n_classes == n_classes[0]).all():
        return values.reshape(len(values), len(n_classes), int(n_classes[0]))
    padded = np.zeros((len(values), len(n_classes), int(n_classes.max())))
    ends = np.cumsum(n_classes)
    for output, (count, end) in enumerate(zip(n_classes, ends)):
        padded[:, output, :count] = values[:, end - count : end]
    return padded
