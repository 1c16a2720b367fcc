"""A fit of a copy of an estimator to a sample, watched: rows read, steps taken, memory asked for, memory held."""

import gc
import time
import tracemalloc
import warnings
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone

from mercer._solver import Step
from mercer._source import Source
from mercer._source.counted import Readings, counted
from mercer._source.memory import Request, collected_requests
from mercer._source.sample import Sample
from mercer.errors import MemoryForecastError

__all__ = ["Rehearsal", "rehearse"]


@dataclass
class Rehearsal:
    """What one rehearsed fit took; a watch, so that it sees the steps."""

    n_rows: int
    readings: Readings = field(default_factory=Readings)
    requests: list[Request] = field(default_factory=list)
    seconds: float = 0.0
    held_bytes: int = 0  # at the peak
    kept_bytes: int = 0  # at the end
    n_steps: int = 0
    most_steps: int | None = None
    refusal: str = ""  # what the memory forecast said, if it refused
    first_step: int = 0  # passes made when the first step was complete

    def step(self, number: int, step: Step) -> str | None:
        self.first_step = self.first_step if self.n_steps else self.readings.passes
        self.n_steps += 1
        return None

    def preferred(self, last: Step) -> Step:
        return last

    @property
    def rest(self) -> float:
        """Seconds not spent reading rows: factorisations, checks, bookkeeping."""
        return max(0.0, self.seconds - sum(self.readings.seconds.values()))

    @property
    def passes_per_step(self) -> float:
        return (self.readings.passes - self.first_step) / max(1, self.n_steps - 1)


class _Rehearsed:
    """Mixed into the class of the copy: its source counts, and its steps are watched."""

    rehearsal: Rehearsal

    def _open(self, *args: Any, **options: Any) -> Source:
        source = super()._open(*args, **options)  # type: ignore[misc]
        return counted(source, self.rehearsal.readings, self.rehearsal.n_rows)

    def _watches(self, source: Source, max_steps: int | None, *rest: Any) -> Any:
        watches, *others = super()._watches(source, max_steps, *rest)  # type: ignore[misc]
        self.rehearsal.most_steps = max_steps
        return [*watches, self.rehearsal], *others


def rehearse(estimator: Any, sample: Sample, *, traced: bool = False) -> Rehearsal:
    """Fit a copy of `estimator` to `sample`; with `traced`, measure the memory it holds at its peak, else the time."""
    rehearsal = Rehearsal(sample.n_rows)
    model = clone(estimator)
    vars(model).pop("_skl_callbacks", None)
    if hasattr(model, "verbose"):
        model.verbose = 0
    cls = type(model)
    model.__class__ = type(cls.__name__, (_Rehearsed, cls), {"rehearsal": rehearsal, "__module__": cls.__module__})
    options = {} if sample.weight is None else {"sample_weight": sample.weight}
    with collected_requests() as rehearsal.requests, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            begin = time.perf_counter()
            if traced:
                # Which blocks are under way together is chance; one thread holds the same whenever it is asked.
                model.set_params(n_jobs=1)
                rehearsal.held_bytes, rehearsal.kept_bytes = _held(lambda: model.fit(sample.X, sample.y, **options))
            else:
                model.fit(sample.X, sample.y, **options)
            rehearsal.seconds = time.perf_counter() - begin
        except MemoryForecastError as refusal:
            rehearsal.refusal = str(refusal)
    return rehearsal


def _held(function: Any) -> tuple[int, int]:
    """The most bytes held at a time while `function` runs and those held after it, on top of those held before."""
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        # What earlier rehearsals left behind must not be given back in this one.
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
