"""Write how a study decides between classes, and how it calibrates probabilities, by scikit-learn's own classes."""

import copy
import warnings
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer.app.deploy.formula import Formula
from mercer.decision import DecisionClassifier

# Probabilities below this count as this before their logarithm is taken.
_LEAST = 1e-300


def add_calibration(model: Any, last: Any) -> Any:
    """Return the model inside the calibration of the study, if there is one."""
    outer = model.steps[-1][1]
    inside = outer.estimator_ if isinstance(outer, DecisionClassifier) else outer
    if not isinstance(inside, CalibratedClassifierCV):
        return last
    calibrated = copy.copy(inside)
    calibrated.set_params(estimator=last)
    member = copy.copy(inside.calibrated_classifiers_[0])
    member.estimator = last
    calibrated.calibrated_classifiers_ = [member]
    return calibrated


def find_weights(costs: np.ndarray) -> np.ndarray | None:
    """Return weights w such that the least expected cost is where ``w[k] * probability[k]`` is largest; None if none.

    The costs must be zero on the diagonal, and the same for every wrong prediction of a row of one class.
    """
    n_classes = costs.shape[1]
    if costs.shape[0] != n_classes or np.diag(costs).any():
        return None
    weights = costs.sum(axis=0) / (n_classes - 1)
    wrong = ~np.eye(n_classes, dtype=bool)
    same = np.allclose(costs[wrong], np.broadcast_to(weights, costs.shape)[wrong], rtol=1e-12, atol=0.0)
    return weights if same and (weights > 0).all() else None


def add_decision(formula: Formula, last: Any, rows: Any) -> Any:
    """Return the model with the decision of the study around it; `rows` are some rows that the model takes.

    Two classes get a threshold. Of more classes, each with its own weight, both ``predict`` and ``predict_proba`` are
    those of the study. Other costs and actions leave ``predict`` alone: its classes are the actions.
    """
    costs, classes = formula.costs, formula.classes
    if costs is None:
        return last
    weights = find_weights(costs) if formula.actions == classes else None
    if weights is not None and np.ptp(weights) == 0:
        return last
    if costs.shape == (2, 2) and formula.actions == classes:
        alarm, miss = costs[1, 0] - costs[0, 0], costs[0, 1] - costs[1, 1]
        decided: Any = FixedThresholdClassifier(
            FrozenEstimator(last), threshold=float(alarm / (alarm + miss)), pos_label=classes[1]
        )
        decided.set_params(response_method="predict_proba")
        return decided.fit(rows, np.resize(np.array(classes, dtype=object), len(rows)))
    # scikit-learn sorts the labels, and learns their places.
    labels = sorted(formula.actions)
    if weights is not None:
        final = _make_weighing(weights)
    else:
        final = _make_linear_decision(costs[[formula.actions.index(name) for name in labels]])
    decided = StackingClassifier(
        [("probabilities", FrozenEstimator(last))],
        final_estimator=FrozenEstimator(final),
        stack_method="predict_proba",
        cv="prefit",
    )
    return decided.fit(rows, np.resize(np.array(labels, dtype=object), len(rows)))


def _make_weighing(weights: np.ndarray) -> Any:
    """Return steps from probabilities to a class: predictions weigh the classes, and probabilities stay as they are.

    scikit-learn's ``predict`` takes the nearest centre, and its ``predict_proba`` is the softmax of minus the squared
    distances in units of ``within_class_std_dev_``. Row z holds log p and a zero. With centre k at ``(e_k, b_k)``, the
    squared distance is ``|z|² - 2 log p_k + 1 + b_k²``. So ``b_k² = constant - 2 log w_k`` predicts the class of
    largest ``w_k p_k``. In units of sqrt(2) and, for the last column, of infinity, minus the squared distance is
    ``log p_k`` but for what all classes share: the softmax returns p.
    """
    n_classes = len(weights)
    clipped = FunctionTransformer(np.clip, kw_args={"a_min": _LEAST, "a_max": 1.0})
    padded = FunctionTransformer(np.pad, kw_args={"pad_width": ((0, 0), (0, 1))})
    centres = NearestCentroid()
    steps = make_pipeline(clipped, FunctionTransformer(np.log), padded, centres)
    with warnings.catch_warnings():
        # The column of zeros has no spread.
        warnings.simplefilter("ignore")
        steps.fit(np.random.default_rng(0).random((3 * n_classes, n_classes)), np.tile(np.arange(n_classes), 3))
    offsets = -2 * np.log(weights)
    centres.centroids_ = np.column_stack([np.eye(n_classes), np.sqrt(offsets - offsets.min())])
    centres.within_class_std_dev_ = np.append(np.full(n_classes, np.sqrt(2.0)), np.inf)
    centres.class_prior_ = np.full(n_classes, 1 / n_classes)
    return steps


def _make_linear_decision(costs: np.ndarray) -> RidgeClassifier:
    """Return a linear classifier that takes probabilities and predicts the action of least expected cost."""
    n_actions, n_classes = costs.shape
    # With two labels scikit-learn leaves out the probability of the first class, which is 1 less all others.
    width = n_classes - 1 if n_actions == 2 else n_classes
    linear = RidgeClassifier().fit(np.eye(n_actions, width), np.arange(n_actions))
    if n_actions == 2:
        # The second action is taken where it costs less.
        saved = costs[0] - costs[1]
        linear.coef_, linear.intercept_ = (saved[1:] - saved[0])[None, :], saved[:1].copy()
    else:
        linear.coef_, linear.intercept_ = -costs, np.zeros(n_actions)
    return linear
