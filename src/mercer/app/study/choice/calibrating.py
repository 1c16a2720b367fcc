"""Calibrate the probabilities of the chosen candidate inside each fold, if they are wrong."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.pipeline import Pipeline

from mercer._source.threads import run_numbered
from mercer.app.options import Options
from mercer.app.study.choice.selection import Selection
from mercer.app.study.dataset import Dataset
from mercer.calibration import CalibratedClassifierCV
from mercer.decision import DecisionClassifier
from mercer.model_selection import Contender, Trial, score_interval
from mercer.model_selection.trials import fit_settings, respond, take_rows

# Rows from which on isotonic calibration is used: it has no fixed number of parameters, so it overfits small samples.
_ISOTONIC_ROWS = 2000
# With fewer rows, or fewer rows of a class, a calibration curve is mostly noise.
_FEWEST_ROWS = 200
_FEWEST_OF_A_CLASS = 15
# Bins of equal counts in which probabilities are compared with observed shares.
_BINS = 10
# Folds of the calibration inside each training part.
_FOLDS = 3


def is_off(true: np.ndarray, predictions: np.ndarray, level: float = 0.99) -> bool:
    """Return whether probabilities differ from observed shares by more than chance allows, in two bins or more."""
    confidence = predictions.max(axis=1)
    right = true == predictions.argmax(axis=1)
    # Bins of equal counts keep the intervals about equally wide.
    bins = np.array_split(np.argsort(confidence, kind="stable"), _BINS)
    counts = np.array([len(rows) for rows in bins])
    hits = np.array([right[rows].sum() for rows in bins])
    # Jeffreys interval of a share: quantiles of Beta(hits + 1/2, misses + 1/2).
    low, high = beta.ppf([[(1 - level) / 2], [(1 + level) / 2]], hits + 0.5, counts - hits + 0.5)
    predicted = np.array([confidence[rows].mean() for rows in bins])
    # At a level of 99 % one of several bins may lie outside by chance; two rarely do.
    return int(((predicted < low) | (predicted > high)).sum()) >= 2


def calibrate(selection: Selection, dataset: Dataset, options: Options, rows: np.ndarray) -> str:
    """Calibrate the winner if that improves its probabilities on unseen rows; return a sentence that says how.

    A calibrated copy is fitted in each outer fold, to its training rows alone. It replaces the winner if its log loss
    on unseen rows is lower by more than the standard error of the difference.
    """
    true = np.searchsorted(dataset.classes, dataset.y)
    predictions = selection.winner.predictions
    counts = np.bincount(true[rows], minlength=len(dataset.classes))
    few = len(rows) < _FEWEST_ROWS or counts.min() < _FEWEST_OF_A_CLASS
    # Calibration splits rows at random, which would tear groups apart and mix up times.
    bound = dataset.groups is not None or dataset.time is not None
    constant = selection.winner.name == selection.offers[0].name
    if few or bound or constant or predictions.ndim == 1 or not is_off(true[rows], predictions[rows]):
        return ""
    method = "temperature" if len(counts) > 2 else "isotonic" if len(rows) >= _ISOTONIC_ROWS else "sigmoid"
    trial = _refit(selection, method)
    gain = _measure_losses(true[rows], predictions[rows]) - _measure_losses(true[rows], trial.predictions[rows])
    if gain.mean() <= gain.std() / np.sqrt(len(gain)):
        return ""
    _replace_winner(selection, trial, method, options)
    return f"The probabilities of {trial.name} are calibrated ({method}), in each fold and in the final model."


def _measure_losses(true: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return the log loss of each row."""
    return -np.log(np.clip(predictions[np.arange(len(true)), true], 1e-12, 1.0))


def _wrap_in_calibration(pipeline: Pipeline, method: str) -> Pipeline:
    """Return the pipeline with a calibration around its model, inside the decision rule if there is one."""
    name, last = pipeline.steps[-1]
    inside = last.estimator if isinstance(last, DecisionClassifier) else last
    around: Any = CalibratedClassifierCV(inside, method=method, cv=_FOLDS, ensemble=False)
    if isinstance(last, DecisionClassifier):
        around = DecisionClassifier(around, costs=last.costs)
    return Pipeline([*pipeline.steps[:-1], (name, around)])


def _rename_setting(setting: dict[str, Any]) -> dict[str, Any]:
    """Return a setting with the names it has once the model is wrapped in a calibration."""
    return {
        name.replace("model__", "model__estimator__", 1)
        if not name.startswith("model__estimator__")
        else name.replace("model__estimator__", "model__estimator__estimator__", 1): value
        for name, value in setting.items()
    }


def _refit(selection: Selection, method: str) -> Trial:
    """Return the trial of the winner with a calibrated copy fitted in each outer fold."""
    plan, winner = selection.plan, selection.winner
    pipeline = _wrap_in_calibration(selection.contenders[winner.name].estimator, method)
    settings = [_rename_setting(setting) for setting in winner.settings]
    results: list[Any] = []

    def fit(fold: int) -> Any:
        setting = settings[winner.chosen[fold]]
        scored = fit_settings(pipeline, [setting], plan.rows, *plan.outer[fold], train_score=True, keep=True)[0]
        unseen = take_rows(plan.rows.X, plan.outer[fold][1])
        return scored, respond(scored.model, unseen, plan.classes)

    run_numbered(fit, len(plan.outer), 1, results.append)
    # Only the first round of folds predicts each row once; repetitions add scores but no predictions.
    predictions = np.full_like(winner.predictions, np.nan)
    for (_, test), (_, unseen) in zip(plan.outer[: plan.folds], results):
        predictions[test] = unseen
    return replace(
        winner,
        settings=settings,
        scores=np.array([scored.test for scored, _ in results]),
        train_scores=np.array([scored.train for scored, _ in results]),
        predictions=predictions,
        seconds=winner.seconds + sum(scored.seconds for scored, _ in results),
        models=[scored.model for scored, _ in results],
    )


def _replace_winner(selection: Selection, trial: Trial, method: str, options: Options) -> None:
    """Replace the winner by its calibrated trial, and its scores in the folds that chose it."""
    result, old = selection.result, selection.contenders[trial.name]
    # Folds in which another candidate was chosen keep its score.
    chosen = np.array([name == trial.name for name in result.choices])
    scores = np.where(chosen, trial.scores, result.scores)
    selection.calibrated = True
    selection.trials = [trial if other.name == trial.name else other for other in selection.trials]
    selection.contenders[trial.name] = Contender(old.name, _wrap_in_calibration(old.estimator, method), {}, old.rank)
    selection.conclusion = replace(
        result,
        trials=selection.trials,
        scores=scores,
        setting=_rename_setting(result.setting),
        interval=score_interval(scores, test_share=selection.plan.test_share, level=options.level),
    )
