"""The positive one of two classes, and the probability from which on it is predicted. Loads quickly."""

from typing import Any

import numpy as np

from mercer.decision import DecisionClassifier
from mercer.errors import DataError

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
