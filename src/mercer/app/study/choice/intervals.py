"""Intervals of scores: from the pooled predictions of unseen rows, or from the scores of the folds."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import norm

from mercer.app.study.answer import spell_value
from mercer.app.study.choice.selection import Selection
from mercer.model_selection import ScoreInterval, Trial, pool_interval, score_interval

# Rows, and groups of rows, from which on the pooled variance is used. With fewer it is known no better than that of
# the folds.
_FEWEST_UNITS = 20
_SCORE = (
    "The rows were divided {splits} times. Each time, models were fitted and chosen on one part of the rows and scored "
    "on the other part, so that no row was predicted by a model that had seen it. "
)
_SAME = "The score is the mean of the {splits} scores. "
_OTHERS = (
    "In {others} of the {splits} divisions another model was chosen than for all rows. The score is therefore half way "
    "between two means over the divisions: {nested} with the model chosen in each of them, and {own} with the model "
    "chosen for all rows. The first is mostly too low, because a choice by fewer rows is worse. The second may be too "
    "high, because the choice has seen it. The interval holds the intervals of both. "
)
_EQUAL = (
    "In {others} of the {splits} divisions another model was chosen than for all rows. The mean score over the "
    "divisions is {own} with the models chosen there, and with the model chosen for all rows. "
)
_GUESSED = (
    "In {others} of the {splits} divisions a model was chosen, and in the others the constant guess, as for all rows. "
    "The score is the mean of the {splits} scores. The interval also holds that of the constant guess. "
)
_POOLED = (
    "The interval says how far chance may have moved the score. It is the score plus and minus about {times:.1f} "
    "standard errors, which come from the predictions of all rows{unit}. They are a little larger than the usual ones, "
    "because other training rows would have given another model. "
)
_FOLDS = (
    "The interval says how far chance may have moved the score. It comes from the differences between the {splits} "
    "scores (the corrected t interval of Nadeau and Bengio). It is wide because there are few scores. "
)
_SOURCE = "It holds for new rows from the same source as these."


def pool_choices(selection: Selection) -> np.ndarray:
    """Return the prediction of each row by the model that the inner folds of its split chose; NaN for rows without."""
    result, plan = selection.result, selection.plan
    pooled = np.full_like(selection.winner.predictions, np.nan)
    for (_, test), name in zip(plan.outer[: plan.folds], result.choices):
        pooled[test] = result.trial(name).predictions[test]
    return pooled


def _is_pooled(selection: Selection, predictions: np.ndarray, scorer: str) -> bool:
    """Return whether the interval comes from pooled predictions.

    Rows in time order are not exchangeable: there the spread of the folds is the only one that counts.
    """
    if selection.timed or predictions.dtype == object:
        return False
    units = len(predictions) if selection.groups is None else len(np.unique(selection.groups))
    known = np.isfinite(predictions).all()
    needs_shares = scorer in ("neg_log_loss", "roc_auc_ovr", "neg_brier_score") and predictions.ndim == 1
    return bool(units >= _FEWEST_UNITS and known and not needs_shares)


def find_score_interval(
    selection: Selection, predictions: np.ndarray, scores: Any, level: float, scorer: str | None = None
) -> ScoreInterval:
    """Return the interval of a score with the mean of `scores`, which folds have given, in the scorer's sign."""
    scorer = selection.metric.scorer if scorer is None else scorer
    # Few units and rows in time order are not pooled; the interval then comes from the scores of the folds.
    if not _is_pooled(selection, predictions, scorer):
        return score_interval(scores, test_share=selection.plan.test_share, level=level)
    rows, labels = selection.plan.rows, None
    if selection.plan.classes is not None and predictions.ndim == 2:
        costs = selection.costs
        # Without costs the decision is the likeliest class, with costs the action of least expected cost.
        best = predictions.argmax(axis=1) if costs is None else (predictions @ costs.T).argmin(axis=1)
        labels = np.asarray(selection.plan.classes)[best]
    return pool_interval(
        rows.y,
        predictions,
        scoring=scorer,
        scores=scores,
        labels=labels,
        groups=selection.groups,
        sample_weight=rows.weight,
        level=level,
    )


def find_reported_interval(selection: Selection, level: float) -> ScoreInterval:
    """Return the interval of the score that the study reports.

    The score with the choice repeated in each fold is mostly too low: there the choice has fewer rows. That of the
    chosen model may be too high: the choice has seen it. The score is the mean of both, and the interval holds both
    intervals. If the constant guess is chosen, the score is the first one: how well a model does nevertheless.
    """
    result, winner = selection.result, selection.winner
    nested = find_score_interval(selection, pool_choices(selection), result.scores, level)
    if not _list_other_choices(selection):
        return nested
    own = find_trial_interval(selection, winner, level)
    guessed = winner.name == selection.trials[0].name
    mean = nested.mean if guessed else (nested.mean + own.mean) / 2
    return replace(nested, mean=mean, low=min(nested.low, own.low), high=max(nested.high, own.high))


def _list_other_choices(selection: Selection) -> list[str]:
    """Return the choices of the folds that differ from the chosen candidate."""
    return [name for name in selection.result.choices if name != selection.result.winner]


def find_trial_interval(selection: Selection, trial: Trial, level: float) -> ScoreInterval:
    """Return the interval of the score of one candidate."""
    return find_score_interval(selection, trial.predictions, trial.scores, level)


def describe_method(selection: Selection, level: float) -> str:
    """Return how the interval of the reported score was made, in sentences."""
    splits, others = len(selection.result.scores), len(_list_other_choices(selection))
    score = _SAME.format(splits=splits)
    if others and selection.winner.name == selection.trials[0].name:
        score = _GUESSED.format(splits=splits, others=others)
    elif others:
        sign = 1.0 if selection.metric.greater_is_better else -1.0
        means = (sign * float(scores.mean()) for scores in (selection.result.scores, selection.winner.scores))
        nested, own = (spell_value(mean, selection.metric) for mean in means)
        words = _EQUAL if nested == own else _OTHERS
        score = words.format(splits=splits, others=others, nested=nested, own=own)
    how = _FOLDS.format(splits=splits)
    if _is_pooled(selection, pool_choices(selection), selection.metric.scorer):
        unit = "" if selection.groups is None else ", where the rows of one group count as one"
        how = _POOLED.format(unit=unit, times=norm.ppf((1 + level) / 2))
    return _SCORE.format(splits=splits) + score + how + _SOURCE
