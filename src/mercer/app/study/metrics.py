"""The metrics by which models can be compared, and the positive one of two classes."""

import difflib
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.decision import DecisionClassifier
from mercer.errors import DataError, ParameterError


@dataclass(frozen=True)
class Metric:
    """A metric: scikit-learn's name for its scorer, its name in sentences, and its least and largest possible value."""

    scorer: str
    words: str
    greater_is_better: bool = True
    least: float | None = None
    most: float | None = None


METRICS = {
    "classification": {
        "balanced_accuracy": Metric("balanced_accuracy", "balanced accuracy", True, 0.0, 1.0),
        "accuracy": Metric("accuracy", "accuracy", True, 0.0, 1.0),
        "f1_macro": Metric("f1_macro", "F1, mean over classes", True, 0.0, 1.0),
        "roc_auc": Metric("roc_auc_ovr", "area under the ROC curve", True, 0.0, 1.0),
        "log_loss": Metric("neg_log_loss", "log loss", False, 0.0, None),
    },
    "regression": {
        "r2": Metric("r2", "R²", True, None, 1.0),
        "mae": Metric("neg_mean_absolute_error", "mean absolute error", False, 0.0, None),
        "rmse": Metric("neg_root_mean_squared_error", "root mean squared error", False, 0.0, None),
    },
}


def find_metric(name: str | None, task: str) -> Metric:
    """Return the metric of that name for `task`; None means the first one in ``METRICS``."""
    known = METRICS[task]
    if name is not None and name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        cure = f" Did you mean {near[0]}?" if near else ""
        raise ParameterError(f"metric: must be one of {', '.join(known)} for {task}; got {name!r}.{cure}")
    return next(iter(known.values())) if name is None else known[name]


# Class names that mark the positive one of two classes.
_YES = {"yes", "true", "1", "y", "positive", "pos", "bad", "fraud", "default", "failure", "churn", "spam", "malignant"}


def choose_positive(classes: list[str], shares: np.ndarray, given: str | None) -> str | None:
    """Return the positive one of two classes: as given, by its name, or the rarer one."""
    if len(classes) != 2:
        return None
    if given is not None:
        if given not in classes:
            raise DataError(f"--positive: the class must be one of {classes[0]!r} and {classes[1]!r}; got {given!r}.")
        return given
    named = [name for name in classes if name.lower() in _YES]
    if len(named) == 1:
        return named[0]
    return classes[0] if shares[0] < shares[1] else classes[1]


def find_threshold(pipeline: Any, positive: str | None) -> float | None:
    """Return the probability from which on a fitted pipeline predicts the positive class; None without one."""
    model = pipeline.steps[-1][1]
    if positive is None or not hasattr(model, "predict_proba"):
        return None
    if not isinstance(model, DecisionClassifier):
        return 0.5
    if model.costs_.shape != (2, 2) or list(model.actions_) != list(model.classes_):
        return None
    place = list(model.classes_).index(positive)
    alarm = model.costs_[place, 1 - place] - model.costs_[1 - place, 1 - place]
    miss = model.costs_[1 - place, place] - model.costs_[place, place]
    return float(alarm / (alarm + miss)) if alarm + miss > 0 else None
