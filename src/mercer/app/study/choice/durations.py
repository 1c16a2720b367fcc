"""Forecast how long the trials of candidates take, from short fits to samples of the rows."""

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.model_selection import Contender
from mercer.model_selection.trials import Plan

# Numbers of rows of the two fits from which the time of a trial is predicted.
PROBES = (500, 2000)
# Share of an unlimited study that goes to trying candidates; describing the chosen one takes the rest.
_TRYING = 0.7
# Seconds that the other parts of a study take at least.
_DESCRIBING = 2.0


def predict_seconds(
    contender: Contender, plan: Plan, threads: int, probes: Iterable[int] = PROBES
) -> tuple[float, float]:
    """Predict the seconds of a trial, and of one with a single setting, from fits to samples of a training part.

    The steps before the model are fitted once for all settings of a split. Settings are listed from simple to complex:
    on average one takes the mean of the time without a setting and of the last one.
    """
    train = plan.outer[0][0]
    sizes = sorted({min(len(train), size) for size in probes})
    last_setting = plan.list_settings(contender)[-1]
    seconds, growth = [], 1.0
    for size in sizes:
        rows = train[np.linspace(0, len(train) - 1, size).astype(int)]
        estimator = clone(contender.estimator)
        began = time.perf_counter()
        numbers = estimator[:-1].fit_transform(plan.rows.X.iloc[rows], plan.rows.y[rows])
        between = time.perf_counter()
        _fit_and_ask(estimator, numbers, plan.rows.y[rows])
        seconds.append((between - began, time.perf_counter() - between))
        if size == sizes[0] and last_setting:
            began = time.perf_counter()
            _fit_and_ask(clone(estimator).set_params(**last_setting), numbers, plan.rows.y[rows])
            growth = 0.5 + 0.5 * (time.perf_counter() - began) / max(seconds[0][1], 1e-9)
    once = []
    for first, last in zip(seconds[0], seconds[-1]):
        slope = 1.0
        if len(sizes) > 1:
            # Time grows like n^slope between the two samples.
            # The limits keep noise in short times from exploding in the forecast.
            ratio = max(last, 1e-9) / max(first, 1e-9)
            slope = float(np.clip(np.log(ratio) / np.log(sizes[-1] / sizes[0]), 0.3, 3.0))
        once.append(last * (len(train) / sizes[-1]) ** slope)
    encoding, fitting = once
    n_splits = sum(len(splits) for splits in plan.inner) + len(plan.outer)
    speed = max(1.0, 0.7 * threads)
    return (
        (encoding * n_splits + growth * fitting * plan.n_fits(contender)) / speed,
        (encoding + fitting) * n_splits / speed,
    )


def _fit_and_ask(estimator: Any, numbers: Any, y: np.ndarray) -> None:
    """Fit the last step of a pipeline and predict as many rows, as a trial does: half of them twice."""
    estimator[-1].fit(numbers, y).predict(numbers)


def spell_duration(seconds: float) -> str:
    """Return a duration with two digits: 0.35 s, 12 s, 3.5 min, 2 h."""
    if seconds < 100:
        return f"{max(seconds, 0.01):.2g} s"
    return f"{seconds / 60:.2g} min" if seconds < 6000 else f"{seconds / 3600:.2g} h"


def forecast_study(seconds: dict[str, float]) -> float:
    """Return the seconds of a study without a budget, from those of the trials of its candidates."""
    return sum(seconds.values()) / _TRYING + _DESCRIBING


def spell_forecast(seconds: dict[str, float]) -> str:
    """Return the forecast in words."""
    longest = max(seconds, key=lambda name: seconds[name])
    return (
        f"Trying {len(seconds)} candidates will take about {spell_duration(sum(seconds.values()))} "
        f"({spell_duration(seconds[longest])} of it for {longest}), and the whole study about "
        f"{spell_duration(forecast_study(seconds))}."
    )
