"""The rehearsal of a fit: a copy of an estimator is fitted to a sample, and what it reads, takes and holds is measured.

While the copy is fitted, a context variable names it and its rehearsal. ``Estimator`` asks for the rehearsal of itself
when it opens rows and when it collects the watches of a fit; estimators that the copy fits in turn have none.
"""

import gc
import time
import tracemalloc
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sklearn.base import clone

from mercer._base.scikit_learn import drop_callbacks
from mercer._solver import Step
from mercer._source.memory import Request, collect_requests
from mercer._source.readings import Readings
from mercer._source.sample import Sample
from mercer.errors import MemoryForecastError

# The copy that is fitted now and its rehearsal.
_under_way: ContextVar["tuple[Any, Rehearsal] | None"] = ContextVar("mercer_rehearsal", default=None)


@dataclass
class Rehearsal:
    """The cost of one rehearsed fit; it is a watch, so that it sees the steps."""

    n_rows: int
    readings: Readings
    requests: list[Request] = field(default_factory=list)
    seconds: float = 0.0
    held_bytes: int = 0  # at the peak
    kept_bytes: int = 0  # at the end
    n_steps: int = 0
    most_steps: int | None = None
    refusal: str = ""  # the text of the MemoryForecastError, if the fit was refused
    first_step: int = 0  # number of passes made when the first step was complete

    def step(self, number: int, step: Step) -> str | None:
        self.first_step = self.first_step if self.n_steps else self.readings.passes
        self.n_steps += 1
        return None

    def choose_step(self, last: Step) -> Step:
        return last

    @property
    def rest(self) -> float:
        """Seconds not spent reading rows: factorisations, checks, bookkeeping."""
        return max(0.0, self.seconds - sum(self.readings.seconds.values()))

    @property
    def passes_per_step(self) -> float:
        return (self.readings.passes - self.first_step) / max(1, self.n_steps - 1)


def rehearse(estimator: Any, sample: Sample, *, traced: bool = False) -> Rehearsal:
    """Fit a copy of `estimator` to `sample`; with `traced`, measure the memory it holds at its peak, else the time."""
    rehearsal = Rehearsal(sample.n_rows, Readings(sample.n_rows))
    model = clone(estimator)
    drop_callbacks(model)
    if hasattr(model, "verbose"):
        model.verbose = 0
    options = {} if sample.weight is None else {"sample_weight": sample.weight}
    token = _under_way.set((model, rehearsal))
    with collect_requests() as rehearsal.requests, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = partial(model.fit, sample.X, sample.y, **options)
            begin = time.perf_counter()
            if traced:
                # How many blocks are held at once depends on the scheduling of threads; one thread makes it repeatable.
                model.set_params(n_jobs=1)
                rehearsal.held_bytes, rehearsal.kept_bytes = _measure_memory(fit)
            else:
                fit()
            rehearsal.seconds = time.perf_counter() - begin
        except MemoryForecastError as refusal:
            rehearsal.refusal = str(refusal)
        finally:
            _under_way.reset(token)
    return rehearsal


def find_rehearsal(estimator: Any) -> Rehearsal | None:
    """Return the rehearsal under way if `estimator` is the copy that it fits; None for all other fits."""
    under_way = _under_way.get()
    return under_way[1] if under_way is not None and under_way[0] is estimator else None


def _measure_memory(function: Callable[[], Any]) -> tuple[int, int]:
    """Return the peak of the bytes held while `function` runs and the bytes held after it, less those held before."""
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        # Garbage of earlier rehearsals must not be freed, and so subtracted, during this one.
        gc.collect()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        function()
        peak = tracemalloc.get_traced_memory()[1]
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
        return max(0, peak - before), max(0, after - before)
    finally:
        if not was_tracing:
            tracemalloc.stop()
