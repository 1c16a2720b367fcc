"""Further metrics of the chosen model on unseen rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from mercer.app.options import Options
from mercer.app.study.choice.intervals import find_score_interval
from mercer.app.study.choice.selection import Selection
from mercer.app.study.dataset import Dataset
from mercer.app.study.diagnosis import decide_classes
from mercer.model_selection import pool_interval

Measure = Callable[[np.ndarray, np.ndarray, np.ndarray, Any], float]


def _area(true: np.ndarray, predictions: np.ndarray, answer: np.ndarray, weight: Any) -> float:
    """Return the area under the ROC curve; with more than two classes, the mean of one class against the rest."""
    if predictions.shape[1] == 2:
        return float(roc_auc_score(true == 1, predictions[:, 1], sample_weight=weight))
    return float(
        roc_auc_score(true, predictions, multi_class="ovr", labels=range(predictions.shape[1]), sample_weight=weight)
    )


def _log_loss(true: np.ndarray, predictions: np.ndarray, answer: np.ndarray, weight: Any) -> float:
    return float(log_loss(true, predictions, labels=range(predictions.shape[1]), sample_weight=weight))


def _brier(true: np.ndarray, predictions: np.ndarray, answer: np.ndarray, weight: Any) -> float:
    return float(brier_score_loss(true, predictions, labels=range(predictions.shape[1]), sample_weight=weight))


_OF_CLASSES: dict[str, Measure] = {
    "balanced accuracy": lambda true, predictions, answer, weight: balanced_accuracy_score(
        true, answer, sample_weight=weight
    ),
    "accuracy": lambda true, predictions, answer, weight: accuracy_score(true, answer, sample_weight=weight),
    "F1, mean over classes": lambda true, predictions, answer, weight: f1_score(
        true, answer, average="macro", zero_division=0, sample_weight=weight
    ),
    "area under the ROC curve": _area,
    "log loss": _log_loss,
    "Brier score": _brier,
}
_OF_NUMBERS: dict[str, Measure] = {
    "R²": lambda true, predictions, answer, weight: r2_score(true, predictions, sample_weight=weight),
    "root mean squared error": lambda true, predictions, answer, weight: root_mean_squared_error(
        true, predictions, sample_weight=weight
    ),
    "mean absolute error": lambda true, predictions, answer, weight: mean_absolute_error(
        true, predictions, sample_weight=weight
    ),
}
# scikit-learn's names of the metrics; it negates losses, so that more is better.
_SCORERS = {
    "balanced accuracy": "balanced_accuracy",
    "accuracy": "accuracy",
    "F1, mean over classes": "f1_macro",
    "area under the ROC curve": "roc_auc_ovr",
    "log loss": "neg_log_loss",
    "Brier score": "neg_brier_score",
    "R²": "r2",
    "root mean squared error": "neg_root_mean_squared_error",
    "mean absolute error": "neg_mean_absolute_error",
}
_LOSSES = ("log loss", "Brier score", "root mean squared error", "mean absolute error")


def measure_other_metrics(
    selection: Selection, dataset: Dataset, options: Options, costs: np.ndarray | None
) -> dict[str, list[float]]:
    """Return the value and the interval of each metric, from the folds of the chosen model."""
    predictions = selection.winner.predictions
    true = np.searchsorted(dataset.classes, dataset.y) if dataset.classes else dataset.y
    measured = {}
    for name, measure in (_OF_CLASSES if dataset.classes else _OF_NUMBERS).items():
        if name == selection.metric.words:
            continue
        scores = []
        for _, test in selection.plan.outer[: selection.plan.folds]:
            answer = decide_classes(predictions[test], dataset, costs) if dataset.classes else predictions[test]
            weight = None if dataset.weight is None else dataset.weight[test]
            try:
                scores.append(float(measure(true[test], predictions[test], answer, weight)))
            except ValueError:  # a fold that lacks a class has no such metric
                continue
        # Some versions of scikit-learn return NaN for such a fold.
        scores = [score for score in scores if np.isfinite(score)]
        if len(scores) > 1:
            sign = -1.0 if name in _LOSSES else 1.0
            signed = sign * np.array(scores)
            interval = find_score_interval(selection, predictions, signed, options.level, _SCORERS[name])
            least = 0.0 if name != "R²" else -np.inf
            most = np.inf if name.startswith(("log", "root", "mean")) else 1.0
            ends = sorted(float(np.clip(sign * end, least, most)) for end in (interval.low, interval.high))
            measured[name] = [sign * interval.mean, *ends]
    return measured


def measure_predictions(
    words: str, true: np.ndarray, predictions: np.ndarray, answer: np.ndarray
) -> tuple[float, float]:
    """Return a metric, named in words, of predictions, and its standard error; classes are indices."""
    measure = (_OF_CLASSES | _OF_NUMBERS)[words]
    if predictions.ndim == 2:
        # Rows may lack a class: the others share its probability.
        present, true, renamed = np.unique(true), *(np.searchsorted(np.unique(true), part) for part in (true, answer))
        answer = np.where(np.isin(answer, present), renamed, -1)
        predictions = predictions[:, present] / np.maximum(predictions[:, present].sum(axis=1, keepdims=True), 1e-12)
    score = float(measure(true, predictions, answer, None))
    found = pool_interval(true, predictions, scoring=_SCORERS[words], labels=answer)
    return score, found.standard_error
