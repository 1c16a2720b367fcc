"""The nodes of a tree in the record that scikit-learn's trees keep them in, by the protocol of pickling."""

from typing import Any

import numpy as np

# The relative error of a few operations in double precision.
_NOISE = 1e-14


def fill_tree(made: Any, tree: Any) -> Any:
    """Give a tree of scikit-learn the nodes of one of mercer's; `made` must not be fitted.

    `tree` has the arrays of :class:`mercer.tree.DecisionTreeClassifier`'s ``tree_``.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    classes = np.asarray(tree.n_classes)
    # The record of a tree is made by the protocol of pickling, from that of a small one of as many outputs.
    rows = np.zeros((2, tree.n_features))
    if hasattr(made, "classes_"):
        targets = np.column_stack([np.resize(np.arange(count), max(classes)) for count in classes])
        rows = np.zeros((len(targets), tree.n_features))
        small: Any = DecisionTreeClassifier(max_depth=1).fit(rows, targets)
    else:
        small = DecisionTreeRegressor(max_depth=1).fit(rows, np.zeros((2, len(classes))))
    maker, arguments, state = small.tree_.__reduce__()
    size = tree.node_count
    nodes = np.zeros(size, dtype=state["nodes"].dtype)
    inner = np.asarray(tree.children_left) >= 0
    nodes["left_child"], nodes["right_child"] = tree.children_left, np.where(inner, tree.children_right, -1)
    # scikit-learn marks leaves by the feature and the threshold -2.
    nodes["feature"] = np.where(inner, tree.feature, -2)
    nodes["threshold"] = np.where(inner, move_thresholds(np.asarray(tree.threshold, dtype=float)), -2.0)
    for name in ("impurity", "n_node_samples", "weighted_n_node_samples", "missing_go_to_left"):
        nodes[name] = getattr(tree, name)
    values = np.ascontiguousarray(tree.value, dtype=np.float64)
    copied = maker(*arguments)
    copied.__setstate__(
        {**state, "node_count": size, "max_depth": int(tree.max_depth), "nodes": nodes, "values": values}
    )
    made.tree_ = copied
    return made


def move_thresholds(thresholds: np.ndarray) -> np.ndarray:
    """Return thresholds that single-precision values pass as the double-precision ones pass the given thresholds.

    The middle of 21.7 and 21.9 is computed as a number just below 21.8, so that 21.8 goes right; its single-precision
    value must do so too. A value that equals a threshold goes left.
    """
    with np.errstate(over="ignore"):
        single = thresholds.astype(np.float32).astype(float)
    moved = np.where(np.isfinite(single), np.maximum(thresholds, single), thresholds)
    plain = np.array([float(f"{threshold:.7g}") for threshold in thresholds])
    # An infinite threshold, which only missing values pass, stays as it is.
    with np.errstate(invalid="ignore"):
        above = (plain > thresholds) & (plain - thresholds <= _NOISE * np.abs(plain))
    with np.errstate(over="ignore"):
        below = np.nextafter(plain.astype(np.float32), np.float32(-np.inf)).astype(float)
    return np.where(above, below, moved)
