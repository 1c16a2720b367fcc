"""The time of a study: how much is left, whether to go on, and how long trials of candidates will take."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from mercer._source.table.table import Notice
from mercer.model_selection import Contender
from mercer.model_selection.trials import Plan

Result = TypeVar("Result")
# The needs of a part that is made although the time is over.
ALWAYS = float("-inf")
# Share of the budget, and the number of seconds at least, that are kept for writing the report.
_SPARE = 0.04
_LEAST_SPARE = 0.4
# A short budget keeps at most this share of it for that.
_MOST_SPARE = 0.1
# On a busy machine seconds of work take several seconds of a clock: at least and at most this many are believed, and
# then this share of the budget is kept. The first tenths of a second of work say nothing.
_MOST_SLOWNESS = 8.0
_MOST_SPARE_IF_SLOW = 0.2
_LEAST_WORK = 0.3
# Seconds of work that a part of the report takes if nothing else is known.
_PART_SECONDS = 0.15
# Share of the work from which on the time spent tells how long the rest takes.
_KNOWN = 0.3


@dataclass(frozen=True)
class ProgressEvent:
    """How far a study is: what it does now, the share of the work that is done, and the seconds left.

    After the trial of a candidate the event has its `result`.
    """

    text: str
    share: float
    seconds_left: float | None = None
    result: tuple[str, float, bool] | None = None  # a candidate that was tried, its score, and whether it leads
    forecast: str = ""  # once, before models are fitted: the size of the table, and what the study will take


class Clock:
    """Time and interruptions of one study.

    Parts of the study that the answer does not need are run by :meth:`attempt`. They are left out if the time is over
    or the user has interrupted the study, and the report then says so.
    """

    def __init__(self, budget: float | None, watch: Callable[[ProgressEvent], None] | None, debug: bool) -> None:
        self.began = time.monotonic()
        self.worked = time.process_time()
        self.budget = budget
        self.watch = watch
        self.debug = debug
        self.expected: float | None = None  # seconds of the whole study, once they were forecast
        self.asks = False  # whether the chosen model is also scored on another kind of new rows
        self.n_more_rows = 0  # rows that are not compared, to which the chosen model is fitted too
        self.interrupted = False
        self.notices: list[Notice] = []
        self.left_out: list[str] = []

    def measure_spent(self) -> float:
        """Return the seconds since the study began."""
        return time.monotonic() - self.began

    def measure_slowness(self) -> float:
        """Return how many seconds a second of work has taken so far: more than 1 where others use the machine."""
        work = time.process_time() - self.worked
        return 1.0 if work < _LEAST_WORK else min(max(1.0, self.measure_spent() / work), _MOST_SLOWNESS)

    def measure_left(self, share: float = 1.0) -> float:
        """Return the seconds left of a share of the budget; infinity without a budget."""
        if self.budget is None:
            return float("inf")
        slowness = self.measure_slowness()
        most = min(_MOST_SPARE * slowness, _MOST_SPARE_IF_SLOW)
        spare = max(_SPARE, min(_LEAST_SPARE * slowness / self.budget, most))
        return self.budget * min(share, 1 - spare) - self.measure_spent()

    def tell(self, text: str, share: float, result: tuple[str, float, bool] | None = None) -> None:
        """Tell the watcher what is being done, and which share of the work is done."""
        if self.watch is None:
            return
        spent = self.measure_spent()
        left = None
        if share > _KNOWN:
            left = spent * (1 - share) / share
        elif self.expected is not None:
            left = max(self.expected - spent, 1.0)
        if self.budget is not None:
            left = max(0.0, min(self.budget - spent, left if left is not None else self.budget))
        self.watch(ProgressEvent(text, share, left, result))

    def announce(self, text: str, seconds: float) -> None:
        """Tell the watcher a forecast: the rest of the study will take `seconds`."""
        self.expected = self.measure_spent() + seconds
        if self.watch is not None:
            self.watch(ProgressEvent("", 0.04, forecast=text))

    def attempt(
        self, what: str, find: Callable[[], Result], share: float, otherwise: Any = None, needs: float | None = None
    ) -> Any:
        """Return `find()`, or `otherwise` if it fails or its `needs`, in seconds, are more than the time left.

        A part whose needs are not known is taken for a small one, which takes longer on a busy machine.
        A part that later commands cannot do without, and that takes no time, has `ALWAYS` for its needs.
        """
        if needs is None:
            needs = _PART_SECONDS * self.measure_slowness() if self.measure_slowness() > 1.5 else 0.0
        # A part that cannot be finished is not begun, so that the time goes to the parts after it.
        if needs > ALWAYS and (self.interrupted or self.measure_left() <= needs):
            self.left_out.append(what)
            return otherwise
        try:
            self.tell(what, share)
            return find()
        except KeyboardInterrupt:
            self.interrupted = True
            self.left_out.append(what)
        except Exception as wrong:
            if self.debug:
                raise
            self.notices.append(Notice("warning", what, f"This part of the study failed: {wrong}"))
        return otherwise


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
