"""Read fitted models as scores: weighted sums of the columns, sums over trees, or one of the bodies."""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

# Losses of boosted trees whose predictions are the sums of the leaves.
_PLAIN_LOSSES = ("squared_error", "absolute_error", "quantile", "huber")
# Models that no export can hold, and why.
_NOT_HELD = {
    "ClassConditionalClassifier": "a classifier by mixture or kernel densities has no counterpart in that form",
    "BayesNetClassifier": "a Bayesian network has no counterpart in that form",
    "HDBSCAN": "groups by density are the rows of the study themselves",
}


class NotHeldError(Exception):
    """A model has no such form; the text is the reason."""


@dataclass(frozen=True)
class Tree:
    """The nodes of a binary tree: rows with ``x[feature] <= threshold`` go to `left`; leaves have `left` -1."""

    feature: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    missing_left: list[bool]
    value: list[list[float]]  # (nodes, outputs)


def refuse(reason: str) -> NoReturn:
    """Raise NotHeldError: a model has no such form, for this reason."""
    raise NotHeldError(reason)


def read_model(model: Any, width: int, classes: list[str]) -> tuple[str, np.ndarray, np.ndarray, list[Tree]]:
    """Return link, intercept, weights and trees of a fitted model."""
    nothing = np.zeros((max(1, len(classes)), width))
    kind = type(model).__name__
    if hasattr(model, "estimators_") and kind.startswith(("RandomForest", "ExtraTrees")):
        trees = [read_tree(member.tree_, 1 / len(model.estimators_)) for member in model.estimators_]
        return "shares" if classes else "identity", np.zeros(len(nothing)), nothing, trees
    if hasattr(model, "tree_") and hasattr(model.tree_, "children_left"):
        return "shares" if classes else "identity", np.zeros(len(nothing)), nothing, [read_tree(model.tree_, 1.0)]
    if kind.startswith("HistGradientBoosting"):
        if not classes and model.loss not in _PLAIN_LOSSES:
            refuse(f"boosted trees with loss={model.loss!r}")
        if model.is_categorical_ is not None:
            refuse("boosted trees that split by categories")
        n_scores = len(model._baseline)
        trees = [read_boosted(tree, place % n_scores, n_scores) for place, tree in enumerate(model._state.trees)]
        link = "identity" if not classes else "sigmoid" if n_scores == 1 else "softmax"
        return link, np.asarray(model._baseline, dtype=float), np.zeros((n_scores, width)), trees
    if kind == "DummyClassifier":
        return "shares", np.asarray(model.class_prior_, dtype=float), nothing, []
    if kind == "DummyRegressor":
        return "identity", np.ravel(model.constant_).astype(float), nothing, []
    if kind == "NearestCentroid" and model.metric == "euclidean":
        return _read_centroids(model)
    return _read_linear(model, width, classes)


def _read_centroids(model: Any) -> tuple[str, np.ndarray, np.ndarray, list[Tree]]:
    """Return nearest centroids as a linear model: ``-|(x - c) / s|² / 2`` is linear but for what all classes share."""
    centres = np.asarray(model.centroids_, dtype=float)
    spread, priors = np.asarray(model.within_class_std_dev_, dtype=float), np.asarray(model.class_prior_, dtype=float)
    if np.abs(priors * len(priors) - 1.0).max() <= 1e-5:
        # With equal priors all columns have the same scale, the root mean variance within classes.
        spread = np.full_like(spread, np.sqrt(np.mean(spread**2)))
    scale = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 1.0) ** 2
    weights = scale * centres
    intercept = np.log(priors) - 0.5 * (scale * centres**2).sum(axis=1)
    if len(centres) == 2:
        return "sigmoid", intercept[1:] - intercept[:1], weights[1:] - weights[:1], []
    return "softmax", intercept, weights, []


def _read_linear(model: Any, width: int, classes: list[str]) -> tuple[str, np.ndarray, np.ndarray, list[Tree]]:
    """Return link, intercept, weights and no trees of a linear model."""
    kind = type(model).__name__
    if kind in _NOT_HELD:
        refuse(_NOT_HELD[kind])
    if hasattr(model, "steps"):
        kind = "pipeline of " + " and ".join(type(step).__name__ for _, step in model.steps)
    logistic = kind.startswith("LogisticRegression") or kind == "LinearDiscriminantAnalysis"
    if not hasattr(model, "coef_") or hasattr(model, "dual_coef_") or (classes and not logistic):
        refuse(f"{kind} has no counterpart in that form")
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=float))
    if weights.shape[1] != width:
        refuse(f"a {kind} with other columns than the encoder")
    intercept = np.broadcast_to(np.ravel(np.asarray(model.intercept_, dtype=float)), (len(weights),)).copy()
    if kind.startswith("PLS"):
        # These weights belong to centred columns.
        intercept = intercept - weights @ np.asarray(model.x_mean_, dtype=float)
    link = "identity" if not classes else "sigmoid" if len(weights) == 1 else "softmax"
    return link, intercept, weights, []


def read_tree(tree: Any, share: float) -> Tree:
    """Return a tree with `share` of its values."""
    if len(tree.categories) and (np.asarray(tree.categories) >= 0).any():
        refuse("a tree that splits by categories")
    return Tree(
        np.maximum(tree.feature, 0).tolist(),
        tree.threshold.tolist(),
        tree.children_left.tolist(),
        tree.children_right.tolist(),
        np.asarray(tree.missing_go_to_left, dtype=bool).tolist(),
        (share * tree.value[:, 0, :]).tolist(),
    )


def read_boosted(tree: Any, output: int, n_outputs: int) -> Tree:
    """Return a boosted tree; its leaves add to one of the scores."""
    inner = tree.left > 0
    values = np.zeros((len(tree.value), n_outputs))
    values[:, output] = tree.value
    return Tree(
        tree.feature.tolist(),
        np.where(inner, tree.threshold, 0.0).tolist(),
        np.where(inner, tree.left, -1).tolist(),
        np.where(inner, tree.left + 1, -1).tolist(),
        np.asarray(tree.missing_left, dtype=bool).tolist(),
        values.tolist(),
    )
