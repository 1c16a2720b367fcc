"""Calibrating the chosen candidate where its probabilities are off, inside each fold."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline

from mercer._source.threads import run_numbered
from mercer.app.options import Options
from mercer.app.study.material import Material
from mercer.app.study.selection import Selection
from mercer.decision import DecisionClassifier
from mercer.model_selection import Contender, Trial, score_interval
from mercer.model_selection.trials import fit_settings, respond, take_rows

__all__ = ["calibrate", "is_off"]

# An isotonic curve has as many steps as it likes: it wants rows.
_ISOTONIC_ROWS = 2000
_FEWEST_ROWS = 200
_FEWEST_OF_A_CLASS = 15
_BINS = 10
_FOLDS = 3


def is_off(true: np.ndarray, told: np.ndarray, level: float = 0.99) -> bool:
    """Whether probabilities differ from observed shares by more than chance allows, in two bins of equal counts."""
    sure = told.max(axis=1)
    right = true == told.argmax(axis=1)
    bins = np.array_split(np.argsort(sure, kind="stable"), _BINS)
    counts = np.array([len(one) for one in bins])
    hits = np.array([right[one].sum() for one in bins])
    low, high = beta.ppf([[(1 - level) / 2], [(1 + level) / 2]], hits + 0.5, counts - hits + 0.5)
    predicted = np.array([sure[one].mean() for one in bins])
    return int(((predicted < low) | (predicted > high)).sum()) >= 2


def calibrate(selection: Selection, material: Material, options: Options, rows: np.ndarray) -> str:
    """Calibrate the winner where that makes its probabilities better on unseen rows; say how.

    A calibrated copy is fitted in each outer fold, to its training rows alone. It takes the winner's place if its log
    loss on unseen rows is lower by more than its standard error.
    """
    true = np.searchsorted(material.classes, material.y)
    told = selection.winner.predictions
    counts = np.bincount(true[rows], minlength=len(material.classes))
    few = len(rows) < _FEWEST_ROWS or counts.min() < _FEWEST_OF_A_CLASS
    # The folds of a calibration know neither groups nor time.
    bound = material.groups is not None or material.time is not None
    constant = selection.winner.name == selection.offers[0].name
    if few or bound or constant or told.ndim == 1 or not is_off(true[rows], told[rows]):
        return ""
    method = "temperature" if len(counts) > 2 else "isotonic" if len(rows) >= _ISOTONIC_ROWS else "sigmoid"
    trial = _refitted(selection, method)
    gain = _losses(true[rows], told[rows]) - _losses(true[rows], trial.predictions[rows])
    if gain.mean() <= gain.std() / np.sqrt(len(gain)):
        return ""
    _replace(selection, trial, method, options)
    return f"Probabilities of {trial.name} are calibrated ({method}), inside each fold as in the final model."


def _losses(true: np.ndarray, told: np.ndarray) -> np.ndarray:
    return -np.log(np.clip(told[np.arange(len(true)), true], 1e-12, 1.0))


def _around(pipeline: Pipeline, method: str) -> Pipeline:
    """The pipeline with a calibration around its model, inside the decision if there is one."""
    name, last = pipeline.steps[-1]
    inside = last.estimator if isinstance(last, DecisionClassifier) else last
    around: Any = CalibratedClassifierCV(inside, method=method, cv=_FOLDS, ensemble=False)
    if isinstance(last, DecisionClassifier):
        around = DecisionClassifier(around, costs=last.costs)
    return Pipeline([*pipeline.steps[:-1], (name, around)])


def _renamed(setting: dict[str, Any]) -> dict[str, Any]:
    """A setting whose model is one step further inside."""
    return {
        name.replace("model__", "model__estimator__", 1)
        if not name.startswith("model__estimator__")
        else name.replace("model__estimator__", "model__estimator__estimator__", 1): value
        for name, value in setting.items()
    }


def _refitted(selection: Selection, method: str) -> Trial:
    plan, winner = selection.plan, selection.winner
    pipeline = _around(selection.contenders[winner.name].estimator, method)
    settings = [_renamed(one) for one in winner.settings]
    found: list[Any] = []

    def fit(fold: int) -> Any:
        setting = settings[winner.chosen[fold]]
        verdict = fit_settings(pipeline, [setting], plan.rows, *plan.outer[fold], train_score=True, keep=True)[0]
        unseen = take_rows(plan.rows.X, plan.outer[fold][1])
        return verdict, respond(verdict.model, unseen, plan.classes)

    run_numbered(fit, len(plan.outer), 1, found.append)
    told = np.full_like(winner.predictions, np.nan)
    for (_, test), (_, one) in zip(plan.outer[: plan.folds], found):
        told[test] = one
    return replace(
        winner,
        settings=settings,
        scores=np.array([one.test for one, _ in found]),
        train_scores=np.array([one.train for one, _ in found]),
        predictions=told,
        seconds=winner.seconds + sum(one.seconds for one, _ in found),
        models=[one.model for one, _ in found],
    )


def _replace(selection: Selection, trial: Trial, method: str, options: Options) -> None:
    """Put the calibrated trial in the winner's place, and its scores where the folds chose it."""
    result, old = selection.result, selection.contenders[trial.name]
    chosen = np.array([name == trial.name for name in result.choices])
    scores = np.where(chosen, trial.scores, result.scores)
    selection.calibrated = True
    selection.trials = [trial if one.name == trial.name else one for one in selection.trials]
    selection.contenders[trial.name] = Contender(old.name, _around(old.estimator, method), {}, old.rank)
    selection.result = replace(
        result,
        trials=selection.trials,
        scores=scores,
        setting=_renamed(result.setting),
        interval=score_interval(scores, test_share=selection.plan.test_share, level=options.level),
    )
