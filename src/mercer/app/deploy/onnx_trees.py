"""Write trees as nodes of an ONNX graph."""

from typing import Any

import numpy as np

from mercer.app.deploy.formula import Tree

# Comparison of a node in ONNX: at most the threshold.
_AT_MOST = 0
# The largest finite double.
_LARGEST = float(np.finfo(np.float64).max)


def add_trees(builder: Any, trees: list[Tree], x: str, width: int) -> str:
    """Return the sums of the leaves. A leaf of ONNX has one output: a tree with several is repeated for each.

    Every column comes twice, once with minus infinity for missing values and once with infinity. A node asks the first
    one where missing values go left, so that every comparison is of plain numbers.
    """
    from onnx import numpy_helper

    missing = builder.add("IsNaN", x)
    low, high = (builder.add("Where", missing, builder.hold(end), x) for end in (-np.inf, np.inf))
    both = builder.add("Concat", low, high, axis=1)
    keys = ("feature", "split", "yes", "yes_leaf", "no", "no_leaf", "roots", "target", "weight")
    lists: dict[str, list[Any]] = {name: [] for name in keys}
    for tree in trees:
        values = np.array(tree.value)
        leaves = np.array(tree.left) < 0
        for output in np.flatnonzero(values[leaves].any(axis=0)):
            _add_tree(lists, tree, values[:, output], int(output), width)
    doubles = {name: numpy_helper.from_array(np.array(lists[name], dtype=float)) for name in ("split", "weight")}
    modes = numpy_helper.from_array(np.full(len(lists["feature"]), _AT_MOST, dtype=np.uint8))
    return builder.add(
        "TreeEnsemble",
        both,
        domain="ai.onnx.ml",
        n_targets=len(trees[0].value[0]),
        aggregate_function=1,  # the sum
        post_transform=0,  # none
        tree_roots=lists["roots"],
        nodes_featureids=lists["feature"],
        nodes_splits=doubles["split"],
        nodes_modes=modes,
        nodes_truenodeids=lists["yes"],
        nodes_trueleafs=lists["yes_leaf"],
        nodes_falsenodeids=lists["no"],
        nodes_falseleafs=lists["no_leaf"],
        leaf_targetids=lists["target"],
        leaf_weights=doubles["weight"],
    )


def _add_tree(lists: dict[str, list[Any]], tree: Tree, values: np.ndarray, output: int, width: int) -> None:
    """Append the nodes and leaves of one tree; `width` is the number of columns."""
    inner = [node for node, left in enumerate(tree.left) if left >= 0]
    first, first_leaf = len(lists["feature"]), len(lists["target"])
    lists["roots"].append(first)
    if not inner:
        # A tree of a single leaf becomes a node with two equal leaves: ONNX has no tree without a node.
        lists["target"] += [output, output]
        lists["weight"] += [values[0], values[0]]
        for name, value in zip(
            ("feature", "split", "yes", "yes_leaf", "no", "no_leaf"), (0, 0.0, first_leaf, 1, first_leaf + 1, 1)
        ):
            lists[name].append(value)
        return
    places = {node: first + place for place, node in enumerate(inner)}
    leaves = {node: first_leaf + place for place, node in enumerate(n for n, left in enumerate(tree.left) if left < 0)}
    lists["target"] += [output] * len(leaves)
    lists["weight"] += [values[node] for node in leaves]
    for node in inner:
        lists["feature"].append(tree.feature[node] + (0 if tree.missing_left[node] else width))
        # Infinity, which stands for a missing value, is above every threshold.
        lists["split"].append(min(tree.threshold[node], _LARGEST))
        for side, child in (("yes", tree.left[node]), ("no", tree.right[node])):
            lists[side].append(places.get(child, leaves.get(child)))
            lists[f"{side}_leaf"].append(int(child in leaves))
