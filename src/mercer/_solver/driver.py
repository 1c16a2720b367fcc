"""The driver: the only loop in mercer that talks to the outside.

A solver is a generator. It yields requests (a statistic to sum, rows to take) and is sent the answers; it yields a
:class:`~mercer._solver.step.Step` whenever it has completed one; it returns a solution. The driver asks the source,
records the steps, and asks the watches whether to go on. So progress, history, time limits, early stopping, checkpoints
and Ctrl-C are written once, here and in :mod:`mercer.watch`, and no solver knows of them.
"""

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from mercer._solver.step import Certificate, Solution, Step
from mercer._source import Source

__all__ = ["Outcome", "Recorder", "Solver", "Watch", "drive"]

Solver = Generator[Any, Any, Solution]


class Watch(Protocol):
    """Follows the steps of a fit."""

    def step(self, number: int, step: Step) -> str | None:
        """See a completed step; a returned reason, such as ``"max_time"``, ends the fit there."""

    def preferred(self, last: Step) -> Step:
        """The step whose state should be kept when the fit ends."""


@dataclass
class Outcome:
    """How a fit ended."""

    state: Any
    converged: bool
    certificate: Certificate
    reason: str
    n_steps: int
    history: dict[str, np.ndarray] = field(default_factory=dict)
    interrupt: KeyboardInterrupt | None = None


class Recorder:
    """Builds ``history_``: one array per column, one entry per step."""

    def __init__(self, earlier: dict[str, list[float]] | None = None) -> None:
        self.columns: dict[str, list[float]] = {"step": [], "objective": [], "seconds": []} | (earlier or {})
        self.start = time.perf_counter() - (self.columns["seconds"][-1] if earlier else 0.0)

    def __len__(self) -> int:
        return len(self.columns["step"])

    def add(self, number: int, step: Step) -> None:
        seconds = time.perf_counter() - self.start
        record = {"step": number, "objective": step.objective, "seconds": seconds, **step.extra}
        for name, value in record.items():
            # A column that starts late is padded, so that all columns have one length.
            column = self.columns.setdefault(name, [])
            column.extend([np.nan] * (number - len(column)) + [value])

    def history(self) -> dict[str, np.ndarray]:
        length = len(self.columns["step"])
        return {
            name: np.asarray(
                values + [np.nan] * (length - len(values)), dtype=np.int64 if name == "step" else np.float64
            )
            for name, values in self.columns.items()
        }


def drive(solver: Solver, source: Source, watches: Sequence[Watch] = (), recorder: Recorder | None = None) -> Outcome:
    """Run `solver` over `source` to its end, or to where a watch or Ctrl-C ends it.

    A KeyboardInterrupt before the first completed step passes through: there is no state to keep.
    """
    recorder = Recorder() if recorder is None else recorder
    last: Step | None = None
    answer: Any = None
    try:
        while True:
            try:
                request = solver.send(answer)
            except StopIteration as end:
                return _completed(end.value, last, watches, recorder)
            answer = None
            if not isinstance(request, Step):
                answer = request.answer(source)
                continue
            last = request
            number = len(recorder)
            recorder.add(number, last)
            for reason in [watch.step(number, last) for watch in watches]:
                if reason is not None:
                    return _ended(last, reason, watches, recorder)
    except KeyboardInterrupt as interrupt:
        if last is None:
            raise
        outcome = _ended(last, "interrupt", watches, recorder)
        outcome.interrupt = interrupt
        return outcome
    finally:
        solver.close()


def _completed(solution: Solution, last: Step | None, watches: Sequence[Watch], recorder: Recorder) -> Outcome:
    history = recorder.history()
    chosen = _preferred(last, watches)
    state = solution.state if chosen is last or chosen is None else chosen.state
    reason = solution.reason or ("converged" if solution.converged else "max_iter")
    return Outcome(state, solution.converged, solution.certificate, reason, len(history["step"]), history)


def _ended(last: Step, reason: str, watches: Sequence[Watch], recorder: Recorder) -> Outcome:
    chosen = _preferred(last, watches)
    certificate = chosen.certificate or Certificate.none(f"The fit was ended early ({reason}).")
    history = recorder.history()
    return Outcome(chosen.state, False, certificate, reason, len(history["step"]), history)


def _preferred(last: Step | None, watches: Sequence[Watch]) -> Any:
    if last is None:
        return None
    for watch in watches:
        chosen = watch.preferred(last)
        if chosen is not last:
            return chosen
    return last
