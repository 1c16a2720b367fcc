"""A limit on the wall-clock time of a fit."""

import time
from typing import Any

from mercer._solver import Step


class TimeLimit:
    """End a fit at the first step that completes after `seconds` seconds.

    Works on every iterative mercer estimator, and on any other estimator that supports scikit-learn's callbacks. The
    parameter ``max_time`` of mercer's estimators is the same limit.

    Parameters
    ----------
    seconds : float
        The limit, counted from the start of the fit.

    Examples
    --------
    >>> from mercer.watch import TimeLimit
    >>> from mercer.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(1000, random_state=0)
    >>> KMeans(3, n_init=1, random_state=0).set_callbacks(TimeLimit(10)).fit(X).converged_
    True
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.deadline = time.perf_counter() + seconds

    def setup(self, estimator: Any, context: Any) -> None:
        self.deadline = time.perf_counter() + self.seconds

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        return time.perf_counter() >= self.deadline

    def step(self, number: int, step: Step) -> str | None:
        return "max_time" if time.perf_counter() >= self.deadline else None

    def choose_step(self, last: Step) -> Step:
        return last
