"""Write trees as scikit-learn's own, and boosted trees as an embedding with a logistic regression.

scikit-learn compares single-precision values with a threshold, so that thresholds are moved by as little. Numbers of up
to seven digits then go to the same side as in the model. Of longer ones, those that lie between a threshold and its
single-precision neighbour may go to the other side; the comparison with the model on random rows notices where this
matters.
"""

from typing import Any

import numpy as np
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from mercer.app.deploy.formula import Formula, Tree

# A tolerance at which a fit ends with its first step: what it finds is replaced.
_AT_ONCE = 1e9
# The relative error of a few operations in double precision.
_NOISE = 1e-14


def make_tree(tree: Tree, width: int, classes: np.ndarray, values: np.ndarray) -> Any:
    """Return a fitted tree of scikit-learn with the nodes of `tree` and `values` of shape (nodes, outputs)."""
    n_outputs = max(1, len(classes))
    if len(classes):
        labels = np.resize(classes, 2 * len(classes))
        made: Any = DecisionTreeClassifier(max_depth=1).fit(np.arange(len(labels) * width).reshape(-1, width), labels)
    else:
        made = DecisionTreeRegressor(max_depth=1).fit(np.zeros((2, width)), np.zeros(2))
    maker, arguments, state = made.tree_.__reduce__()
    size = len(tree.left)
    nodes = np.zeros(size, dtype=state["nodes"].dtype)
    inner = np.array(tree.left) >= 0
    nodes["left_child"] = np.where(inner, tree.left, -1)
    nodes["right_child"] = np.where(inner, tree.right, -1)
    # scikit-learn marks leaves by the feature and the threshold -2.
    nodes["feature"] = np.where(inner, tree.feature, -2)
    nodes["threshold"] = np.where(inner, _move_thresholds(np.array(tree.threshold, dtype=float)), -2.0)
    nodes["n_node_samples"], nodes["weighted_n_node_samples"] = 1, 1.0
    nodes["missing_go_to_left"] = tree.missing_left
    copy = maker(*arguments)
    copy.__setstate__(
        {**state, "node_count": size, "max_depth": size, "nodes": nodes, "values": values.reshape(size, 1, n_outputs)}
    )
    made.tree_ = copy
    return made


def _move_thresholds(thresholds: np.ndarray) -> np.ndarray:
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
    below = np.nextafter(plain.astype(np.float32), np.float32(-np.inf)).astype(float)
    return np.where(above, below, moved)


def make_boosting_steps(formula: Formula) -> tuple[list[tuple[str, Any]], Any]:
    """Return steps for a sum of trees behind a link: the leaves of each row as indicators, then their values.

    The indicator of a leaf has the leaf's value as its coefficient, so that the scores are the sums of the leaves.
    """
    width, classes = len(formula.shift), np.array(formula.classes, dtype=object)
    trees = [make_tree(tree, width, classes[:0], np.zeros((len(tree.left), 1))) for tree in formula.trees]
    embedding = RandomTreesEmbedding(1, max_depth=1, sparse_output=True).fit(
        np.random.default_rng(0).normal(size=(4, width))
    )
    embedding.set_params(n_estimators=len(trees))
    embedding.estimators_ = trees
    leaves = [np.flatnonzero(np.array(tree.left) < 0) for tree in formula.trees]
    longest = max(map(len, leaves))
    # The encoder learns the leaves of every tree: shorter lists repeat their last leaf.
    embedding.one_hot_encoder_.fit(
        np.column_stack([np.append(one, [one[-1]] * (longest - len(one))) for one in leaves])
    )
    coefficients = np.concatenate([np.array(tree.value)[one] for tree, one in zip(formula.trees, leaves)]).T
    labels = np.resize(classes, 2 * len(classes))
    logistic = LogisticRegression(tol=_AT_ONCE).fit(np.eye(len(labels), coefficients.shape[1]), labels)
    logistic.coef_, logistic.intercept_ = coefficients.copy(), formula.intercept.copy()
    return [("leaves", embedding)], logistic
