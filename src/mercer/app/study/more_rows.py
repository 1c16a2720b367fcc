"""Fit the chosen model to more rows than were compared, and score it on rows that were kept apart for that."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.app.options import Options
from mercer.app.study.choice.comparison import read_interval
from mercer.app.study.choice.schedule import limit_time
from mercer.app.study.choice.selection import Selection
from mercer.app.study.choice.stacking import NAME as STACKED
from mercer.app.study.clock import Clock, spell_duration
from mercer.app.study.dataset import Dataset
from mercer.app.study.record import Sureness
from mercer.model_selection import ScoreInterval, pool_interval
from mercer.model_selection.trials import fit_weights, respond

# Rows that are kept apart at most, as a share of those that were not compared, and at least.
_MOST_APART = 50_000
_APART_SHARE = 0.25
_FEWEST_APART = 2000
# A fit to more rows than were compared has at least this many times as many, or all: with fewer it gains little.
_GROWTH = 3
# Rows of the fit that tells how long a fit to all rows takes, and the margin: larger tables do not stay in caches.
_PROBE = 20_000
_MARGIN = 1.4
# Share of the time left that goes to the fit to all rows, and to the fits that measure how long it takes.
_FIT_SHARE = 0.6
_PROBES_SHARE = 0.1
_METHOD = (
    "{n_apart} rows took no part in the comparison, nor in the fit of the model to {n_fitted} others. The score is "
    "that of this model on them. The interval says how far chance may have moved the score. It is the score plus and "
    "minus about two standard errors, which come from the predictions of these rows. It holds for new rows from the "
    "same source as these."
)
_NO_TIME = "A fit to all {n_rows} rows would take about {seconds}, for which there is no time."


def draw_apart(dataset: Dataset, sample: Dataset, options: Options) -> np.ndarray | None:
    """Draw places of rows that were not compared, whole groups of them; None if there are few, or an order in time."""
    rest = np.flatnonzero(~np.isin(dataset.rows, sample.rows))
    most = min(_MOST_APART, int(_APART_SHARE * len(rest)))
    if most < _FEWEST_APART or dataset.time is not None:
        return None
    random = np.random.default_rng([options.seed, 5])
    if dataset.groups is None:
        return np.sort(random.choice(rest, most, replace=False))
    names, sizes = np.unique(dataset.groups[rest], return_counts=True)
    order = random.permutation(len(names))
    chosen = names[order[: int(np.searchsorted(np.cumsum(sizes[order]), most)) + 1]]
    # The choice knows a group if some of its rows were compared.
    chosen = np.setdiff1d(chosen, np.unique(np.asarray(sample.groups)))
    places = rest[np.isin(dataset.groups[rest], chosen)]
    return places if len(places) >= _FEWEST_APART else None


def prefer_affordable(selection: Selection, dataset: Dataset, n_compared: int, clock: Clock) -> int:
    """Choose the candidate and setting to fit to more rows than were compared; return for how many there is time.

    It is the one of the best score that can be fitted to `_GROWTH` times the compared rows, or to all. If there is
    none, the choice stays as it is, for the rows that were compared.
    """
    left = clock.measure_left()
    if not np.isfinite(left):
        return len(dataset)
    allowed, end = _FIT_SHARE * left, time.monotonic() + _PROBES_SHARE * left
    for name, setting in _list_choices(selection):
        needed = _forecast(selection, name, setting, dataset, allowed)
        n_rows = min(len(dataset), int(len(dataset) * allowed / needed))
        if n_rows >= min(_GROWTH * n_compared, len(dataset)):
            _change_choice(selection, name, setting)
            # The limit is for a machine that becomes slower during the fit.
            selection.contenders[name] = limit_time(selection.contenders[name], 1.3 * allowed)
            return n_rows
        if name not in selection.too_slow:
            selection.too_slow[name] = _NO_TIME.format(n_rows=len(dataset), seconds=spell_duration(needed))
        if time.monotonic() > end:
            break
    selection.too_slow.clear()
    return n_compared


def _list_choices(selection: Selection) -> list[tuple[str, dict[str, Any]]]:
    """Return the chosen candidate with its setting, and then the others with theirs, the best score first."""
    choices = [(selection.result.winner, dict(selection.result.setting))]
    trials = [
        trial for trial in selection.trials[1:] if trial.name != STACKED and trial.name not in selection.distrusted
    ]
    for trial in sorted(trials, key=lambda trial: -float(trial.scores.mean())):
        means = trial.inner_scores.mean(axis=(0, 2))
        choices += [(trial.name, trial.settings[place]) for place in np.argsort(-means, kind="stable")]
    return [choice for place, choice in enumerate(choices) if choice not in choices[:place]]


def _forecast(selection: Selection, name: str, setting: dict[str, Any], dataset: Dataset, most: float) -> float:
    """Return the seconds that a fit to all rows takes, from one to `_PROBE` of them."""
    rows = np.linspace(0, len(dataset) - 1, min(len(dataset), _PROBE)).astype(int)
    probe = dataset.take(rows)
    growth = _MARGIN * len(dataset) / len(rows)
    # A fit that is stopped by the limit is too slow in any case.
    contender = limit_time(selection.contenders[name], 1.5 * most / growth + 0.1)
    model = clone(contender.estimator).set_params(**setting)
    began = time.perf_counter()
    model.fit(probe.X, probe.y, **fit_weights(model, probe.weight))
    return growth * (time.perf_counter() - began)


def _change_choice(selection: Selection, name: str, setting: dict[str, Any]) -> None:
    selection.conclusion = replace(selection.result, winner=name, setting=setting)


def predict_apart(model: Any, apart: Dataset) -> np.ndarray:
    """Return class probabilities, or values, of the rows that were kept apart."""
    return respond(model, apart.X, np.array(apart.classes) if apart.classes else None)


def measure_apart(selection: Selection, apart: Dataset, predictions: np.ndarray, options: Options) -> ScoreInterval:
    """Return the interval of the score of predictions of rows that the model has not seen, in the scorer's sign."""
    labels = None
    if apart.classes and predictions.ndim == 2:
        # Without costs the decision is the likeliest class, with costs the one of least expected cost.
        decided = predictions if selection.costs is None else -(predictions @ selection.costs.T)
        labels = np.asarray(apart.classes)[decided.argmax(axis=1)]
    return pool_interval(
        apart.y,
        predictions,
        scoring=selection.metric.scorer,
        labels=labels,
        groups=apart.groups,
        sample_weight=apart.weight,
        level=options.level,
    )


def describe_apart(
    sure: Sureness, interval: ScoreInterval, selection: Selection, n_apart: int, n_fitted: int
) -> Sureness:
    """Return the sureness with the score on the rows that were kept apart."""
    mean, low, high = read_interval(interval, selection.metric)
    return replace(
        sure, score=mean, low=low, high=high, method=_METHOD.format(n_apart=n_apart, n_fitted=n_fitted), n_apart=n_apart
    )
