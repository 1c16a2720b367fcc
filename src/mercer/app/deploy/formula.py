"""Write a fitted model as a formula: encoded columns, then a weighted sum or trees, then a link and a decision.

Exports to other forms begin here: what a formula cannot hold, they cannot write.
"""

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor

from mercer.decision import DecisionClassifier
from mercer.errors import DataError
from mercer.preprocessing import StandardScaler, TableEncoder

__all__ = ["Formula", "Tree", "make_formula"]

# Losses of boosted trees whose predictions are the sums of the leaves.
_PLAIN_LOSSES = ("squared_error", "absolute_error", "quantile", "huber")


@dataclass(frozen=True)
class Tree:
    """The nodes of a binary tree: rows with ``x[feature] <= threshold`` go to `left`; leaves have `left` -1."""

    feature: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    missing_left: list[bool]
    value: list[list[float]]  # (nodes, outputs)


@dataclass(frozen=True)
class Formula:
    """A model: scores are ``intercept + weights @ x`` of scaled columns x, plus the sums of the trees.

    `link` makes predictions of the scores: "identity", "sigmoid" (one score for two classes), "softmax", or "shares"
    (the scores are the probabilities). With `costs`, an array of actions by classes, the action of least expected cost
    is predicted.
    """

    names: list[str]  # of the columns
    codings: list[Any]  # how each column is encoded; None for a column that is not used
    shift: np.ndarray
    scale: np.ndarray
    intercept: np.ndarray
    weights: np.ndarray
    link: str
    trees: list[Tree] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    costs: np.ndarray | None = None


def make_formula(pipeline: Any) -> Formula:
    """Return the model of a study as a formula.

    Raises
    ------
    DataError
        If it is no weighted sum and no trees, or a column is a text.
    """
    steps = [step for _, step in pipeline.steps]
    encoder, last = steps[0], steps[-1]
    if not isinstance(encoder, TableEncoder) or any(not isinstance(step, StandardScaler) for step in steps[1:-1]):
        _refuse("its steps before the model are no encoder and scaler")
    names = [str(name) for name in encoder.feature_names_in_]
    texts = [name for name, coding in zip(names, encoder._codings) if coding is not None and coding.kind == "text"]
    if texts:
        _refuse(f"column `{texts[0]}` is a text; study the table with --ignore {texts[0]}")
    width = len(encoder.feature_columns_)
    shift, scale = np.zeros(width), np.ones(width)
    for step in steps[1:-1]:
        shift = np.zeros(width) if step.mean_ is None else np.asarray(step.mean_, dtype=float)
        scale = np.ones(width) if step.scale_ is None else np.asarray(step.scale_, dtype=float)
    inside, costs, actions = last, None, []
    if isinstance(last, TransformedTargetRegressor):
        if last.transformer is not None:
            _refuse("it predicts the logarithm of the target")
        inside = last.regressor_
    if isinstance(last, DecisionClassifier):
        inside, costs, actions = last.estimator_, np.asarray(last.costs_, dtype=float), [str(a) for a in last.actions_]
    classes = [str(name) for name in inside.classes_] if is_classifier(inside) else []
    link, intercept, weights, trees = _read_model(inside, width, classes)
    return Formula(
        names, list(encoder._codings), shift, scale, intercept, weights, link, trees, classes, actions or classes, costs
    )


def _refuse(reason: str) -> NoReturn:
    """Raise DataError: the model cannot be exported for this reason."""
    message = f"export: this model cannot be written in that form: {reason}. Use `mercer predict` or `mercer serve`."
    raise DataError(message)


def _read_model(model: Any, width: int, classes: list[str]) -> tuple[str, np.ndarray, np.ndarray, list[Tree]]:
    """Return link, intercept, weights and trees of a fitted model."""
    nothing = np.zeros((max(1, len(classes)), width))
    kind = type(model).__name__
    if hasattr(model, "estimators_") and kind.startswith(("RandomForest", "ExtraTrees")):
        trees = [_read_tree(member.tree_, 1 / len(model.estimators_)) for member in model.estimators_]
        return "shares" if classes else "identity", np.zeros(len(nothing)), nothing, trees
    if hasattr(model, "tree_") and hasattr(model.tree_, "children_left"):
        return "shares" if classes else "identity", np.zeros(len(nothing)), nothing, [_read_tree(model.tree_, 1.0)]
    if kind.startswith("HistGradientBoosting"):
        if not classes and model.loss not in _PLAIN_LOSSES:
            _refuse(f"boosted trees with loss={model.loss!r}")
        if model.is_categorical_ is not None:
            _refuse("boosted trees that split by categories")
        n_scores = len(model._baseline)
        trees = [_read_boosted(tree, place % n_scores, n_scores) for place, tree in enumerate(model._state.trees)]
        link = "identity" if not classes else "sigmoid" if n_scores == 1 else "softmax"
        return link, np.asarray(model._baseline, dtype=float), np.zeros((n_scores, width)), trees
    if kind == "DummyClassifier":
        return "shares", np.asarray(model.class_prior_, dtype=float), nothing, []
    if kind == "DummyRegressor":
        return "identity", np.ravel(model.constant_).astype(float), nothing, []
    return _read_linear(model, width, classes)


def _read_linear(model: Any, width: int, classes: list[str]) -> tuple[str, np.ndarray, np.ndarray, list[Tree]]:
    """Return link, intercept, weights and no trees of a linear model."""
    kind = type(model).__name__
    logistic = kind.startswith("LogisticRegression") or kind == "LinearDiscriminantAnalysis"
    if not hasattr(model, "coef_") or hasattr(model, "dual_coef_") or (classes and not logistic):
        _refuse(f"a {kind} is neither a linear model nor made of trees")
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=float))
    if weights.shape[1] != width:
        _refuse(f"a {kind} with other columns than the encoder")
    intercept = np.broadcast_to(np.ravel(np.asarray(model.intercept_, dtype=float)), (len(weights),)).copy()
    link = "identity" if not classes else "sigmoid" if len(weights) == 1 else "softmax"
    return link, intercept, weights, []


def _read_tree(tree: Any, share: float) -> Tree:
    """Return a tree with `share` of its values."""
    if len(tree.categories) and (np.asarray(tree.categories) >= 0).any():
        _refuse("a tree that splits by categories")
    return Tree(
        np.maximum(tree.feature, 0).tolist(),
        tree.threshold.tolist(),
        tree.children_left.tolist(),
        tree.children_right.tolist(),
        np.asarray(tree.missing_go_to_left, dtype=bool).tolist(),
        (share * tree.value[:, 0, :]).tolist(),
    )


def _read_boosted(tree: Any, output: int, n_outputs: int) -> Tree:
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
