"""Choose among the trials of candidates, and add the stack of the best ones to them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mercer.app.options import Options
from mercer.app.study.choice.schedule import measure_reserve
from mercer.app.study.choice.selection import Selection
from mercer.app.study.choice.splits import has_many_rows
from mercer.app.study.choice.stacking import NAME as STACKED
from mercer.app.study.choice.stacking import build_pipeline, describe_stack, make_stack, measure_gain
from mercer.app.study.clock import Clock, spell_duration
from mercer.app.study.dataset import Dataset
from mercer.app.study.metrics import Metric
from mercer.app.study.recipe import choose_costs
from mercer.model_selection import Contender, Trial
from mercer.model_selection.trials import Plan, conclude, find_outdone

Measure = Callable[[Trial, int | None], np.ndarray | None]
# Probabilities below this count as this: one wrong certainty would decide alone.
_LEAST_PROBABILITY = 1e-4


def make_measure(plan: Plan, metric: Metric, dataset: Dataset) -> Measure | None:
    """Return the function that measures the loss of each row in a trial; None where there is no such loss.

    The score must be a mean over rows, or follow from one: a squared or absolute error, or a log loss. Standard errors
    over rows hold for rows that do not depend on each other, so that groups and times exclude them.
    """
    if dataset.weight is not None or dataset.groups is not None or dataset.time is not None:
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


# Standard errors by which the predictions of the best candidate must be better than the constant guess.
_CLEAR = 2.0
# Standard errors by which the predictions of a stack must be better than those of the best single candidate. On the
# development tables of benchmarks/choice_tables.py, 1 is better than 0 and 2.
_STACK_CLEAR = 1.0


def add_stack(selection: Selection, dataset: Dataset, options: Options, clock: Clock) -> None:
    """Add the weighted mean of the best candidates to the trials, if it can be made and there is time to fit it."""
    costs = choose_costs(dataset, selection.metric.scorer, options.threshold)
    stack = None if clock.interrupted else make_stack(selection.plan, selection.trials, dataset, costs)
    if stack is None:
        return
    selection.offers = [*selection.offers, describe_stack(stack, dataset.task)]
    used = [name for name, weight in zip(stack.names, stack.weights) if weight > 0]
    seconds = sum(selection.seconds[name] for name in used)
    # If it is chosen, it is fitted once for each outer split and once to all rows, and again for another question.
    needed = (len(selection.plan.outer) * (2 if clock.asks else 1) + 1) * seconds
    left = clock.measure_left() - (measure_reserve(clock) if has_many_rows(dataset, options) else 0.0)
    if len(used) < 2:
        selection.skipped[STACKED] = f"no second model improves on the predictions of {used[0]}"
    elif needed > left:
        selection.lacking[STACKED] = needed
        time_left = f"only {spell_duration(left)} were left" if left > 0 else "no time was left for it"
        selection.skipped[STACKED] = f"would take about {spell_duration(needed)}, but {time_left}"
    else:
        tried = {trial.name: trial for trial in selection.trials}
        settings = [tried[name].best_setting for name in stack.names]
        pipeline = build_pipeline(selection.contenders, stack.names, stack.weights, settings, costs)
        selection.contenders[STACKED] = Contender(STACKED, pipeline, {}, stack.trial.rank)
        selection.seconds[STACKED] = seconds
        selection.trials.append(stack.trial)
        selection.stack = stack


def choose(selection: Selection, dataset: Dataset, options: Options) -> None:
    """Choose among the trials by paired differences, without those that are worse than the constant guess."""
    selection.distrusted = _list_distrusted(selection.trials, dataset)
    trusted = [trial for trial in selection.trials if trial.name not in selection.distrusted]
    if len(trusted) == 1:
        # Beside the constant nothing is left; calibration may still mend the probabilities of the best one.
        trusted = selection.trials
    if not dataset.classes:
        trusted = _judge_constant(selection, trusted)
    if selection.stack is not None:
        trusted = _judge_stack(selection, trusted)
    measure = make_measure(selection.plan, selection.metric, dataset)
    result = conclude(selection.plan, trusted, rule="paired", level=options.level, measure=measure)
    selection.conclusion = replace(result, trials=selection.trials)
    if measure is not None:
        selection.outdone = _list_outdone(selection, trusted, measure)


def _list_distrusted(trials: list[Trial], dataset: Dataset) -> list[str]:
    """Return the candidates that are worse than the constant guess: by their probabilities, or by their scores.

    Predictions of numbers may be absurd for a single row, so that the standard error of their score is as large as
    their lag. Without this rule such a candidate would count as about as good as the best one.
    """
    constant, *others = trials
    if dataset.classes:
        worst = measure_brier(constant, dataset)
        return [trial.name for trial in others if measure_brier(trial, dataset) > worst + 1e-12]
    least = constant.scores.mean()
    return [trial.name for trial in others if trial.scores.mean() < least]


def _list_outdone(selection: Selection, trusted: list[Trial], measure: Measure) -> dict[str, str]:
    """Return the candidates whose predictions are worse row by row than those of the trusted one of the best score."""
    best = max(trusted, key=lambda trial: float(trial.scores.mean()))
    names = [trial.name for trial in selection.trials]
    losses = np.stack([np.asarray(measure(trial, None)) for trial in selection.trials])
    behind = find_outdone(losses, names.index(best.name), len(selection.plan.outer), selection.plan.test_share)
    return {name: best.name for name, worse in zip(names, behind) if worse}


def _judge_constant(selection: Selection, trusted: list[Trial]) -> list[Trial]:
    """Return the trials without the constant guess, if row by row another candidate is clearly better.

    The R² of a constant differs much between folds, above all if they go forward in time, so that even a good model is
    within one standard error of it. Errors of rows show the difference.
    """
    constant, *others = trusted
    if not others:
        return trusted
    best = max(others, key=lambda trial: float(trial.scores.mean()))
    gain, error = measure_gain(best, constant, selection.plan)
    return others if gain > _CLEAR * error and best.scores.mean() > constant.scores.mean() else trusted


def _judge_stack(selection: Selection, trusted: list[Trial]) -> list[Trial]:
    """Return the trials without the stack, unless row by row it is clearly better than the best single candidate."""
    singles = [trial for trial in trusted if trial.name != STACKED]
    stack = next((trial for trial in trusted if trial.name == STACKED), None)
    if stack is None:
        return trusted
    best = max(singles, key=lambda trial: float(trial.scores.mean()))
    gain, error = measure_gain(stack, best, selection.plan)
    if gain > _STACK_CLEAR * error:
        return trusted
    selection.rivals = {STACKED: best.name}
    return singles


def measure_brier(trial: Trial, dataset: Dataset) -> float:
    """Return the Brier score of the predictions of unseen rows: the mean squared error of all class probabilities."""
    predictions = trial.predictions
    if predictions.ndim == 1:
        return 0.0
    seen = np.flatnonzero(~np.isnan(predictions[:, 0]))
    true = np.searchsorted(dataset.classes, dataset.y[seen])
    target = np.eye(len(dataset.classes))[true]
    weight = None if dataset.weight is None else dataset.weight[seen]
    return float(np.average(((predictions[seen] - target) ** 2).sum(axis=1), weights=weight))
