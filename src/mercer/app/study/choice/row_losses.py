"""Losses of single rows, by which candidates are compared beside their scores on folds."""

from collections.abc import Callable

import numpy as np

from mercer.app.study.material import Material
from mercer.app.study.metrics import Metric
from mercer.model_selection import Trial
from mercer.model_selection.trials import Plan

Measure = Callable[[Trial, int | None], np.ndarray | None]
# Probabilities below this count as this: one wrong certainty would decide alone.
_LEAST_PROBABILITY = 1e-4


def make_measure(plan: Plan, metric: Metric, material: Material) -> Measure | None:
    """Return the function that measures the loss of each row in a trial; None where there is no such loss.

    The score must be a mean over rows, or follow from one: a squared or absolute error, or a log loss. Standard errors
    over rows hold for rows that do not depend on each other, so that groups and times exclude them.
    """
    if material.weight is not None or material.groups is not None or material.time is not None:
        return None
    if metric.scorer in ("r2", "neg_root_mean_squared_error", "neg_mean_absolute_error"):
        power = 1 if metric.scorer == "neg_mean_absolute_error" else 2
        return lambda trial, fold: _apply(trial, fold, lambda answers: np.abs(answers - plan.rows.y) ** power)
    if metric.scorer == "neg_log_loss" and plan.classes is not None:
        place = np.searchsorted(plan.classes, plan.rows.y)[:, None]
        return lambda trial, fold: _apply(trial, fold, lambda answers: _measure_log_losses(answers, place))
    return None


def _apply(trial: Trial, fold: int | None, measure: Callable[[np.ndarray], np.ndarray]) -> np.ndarray | None:
    """Return the losses of the predictions by the outer models, or by the inner models of an outer split."""
    if fold is None:
        return measure(trial.predictions)
    return None if trial.inner_predictions is None else measure(trial.inner_predictions[fold].astype(float))


def _measure_log_losses(answers: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return the log loss of each row; NaN where it has no prediction."""
    return -np.log(np.clip(np.take_along_axis(answers, place, axis=1)[:, 0], _LEAST_PROBABILITY, 1.0))
