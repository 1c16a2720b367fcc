"""The driver: the only loop in mercer that talks to the outside.

A solver is a generator. It yields requests (a statistic to sum, rows to take) and is sent the answers; it yields a
:class:`~mercer._solver.step.Step` whenever it has completed one; it returns a solution. The driver asks the source,
records the steps, and asks the watches whether to go on. So progress, history, time limits, early stopping, checkpoints
and Ctrl-C are written once, here and in :mod:`mercer.watch`, and no solver knows of them.
"""

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias

import numpy as np

from mercer._solver.request import Request
from mercer._solver.step import Certificate, Solution, Step
from mercer._source import Source
from mercer._types import State

# What is sent depends on the request, which no type can say: Any.
Solver: TypeAlias = Generator[Request | Step[State], Any, Solution[State]]


class Watch(Protocol):
    """Follows the steps of a fit."""

    def step(self, number: int, step: Step[Any]) -> str | None:
        """See a completed step; a returned reason, such as ``"max_time"``, ends the fit there."""

    def choose_step(self, last: Step[Any]) -> Step[Any]:
        """Return the step whose state should be kept when the fit ends: `last`, or an earlier one."""


@dataclass
class Outcome(Generic[State]):
    """How a fit ended."""

    state: State
    converged: bool
    certificate: Certificate
    reason: str
    n_steps: int
    history: dict[str, np.ndarray] = field(default_factory=dict)
    interrupt: KeyboardInterrupt | None = None


class Recorder:
    """Builds ``history_``: one array per column, one entry per step.

    Parameters
    ----------
    earlier : dict of list or None
        The columns of a fit that this one resumes; its seconds count on.
    """

    def __init__(self, earlier: dict[str, list[float]] | None = None) -> None:
        self.columns: dict[str, list[float]] = {"step": [], "objective": [], "seconds": []} | (earlier or {})
        self.start = time.perf_counter() - (self.columns["seconds"][-1] if earlier else 0.0)

    def __len__(self) -> int:
        return len(self.columns["step"])

    def add(self, step: Step[Any]) -> int:
        """Append the objective, the seconds so far and the extra measures of `step` to the columns; return its number.

        Steps of the same native call come before it, their seconds spread evenly: nobody measured them.
        """
        columns = self.columns
        if step.earlier is not None:
            self._add_earlier(step.earlier)
        number = len(self)
        columns["step"].append(number)
        columns["objective"].append(step.objective)
        columns["seconds"].append(time.perf_counter() - self.start)
        for name, value in step.extra.items():
            column = columns.setdefault(name, [])
            if len(column) > number:
                # A solver that calls the length of its steps "step" means these.
                column[-1] = value
                continue
            if len(column) < number:
                # A column that starts late is padded with NaN, so that all columns have one length.
                column.extend([np.nan] * (number - len(column)))
            column.append(value)
        return number

    def _add_earlier(self, earlier: dict[str, list[float]]) -> None:
        """Append the measures of several steps that one native call has taken."""
        first, length = len(self), len(earlier["objective"])
        seconds = self.columns["seconds"]
        begun, ended = seconds[-1] if seconds else 0.0, time.perf_counter() - self.start
        pace = (ended - begun) / (length + 1)
        given = {"step": range(first, first + length), "seconds": [begun + pace * (i + 1) for i in range(length)]}
        for name, values in (given | earlier).items():
            column = self.columns.setdefault(name, [])
            column.extend([np.nan] * (first - len(column)))
            column.extend(values)

    def history(self) -> dict[str, np.ndarray]:
        """Return the columns as arrays of one length; a column that ended early is padded with NaN."""
        length = len(self.columns["step"])
        return {
            name: np.array(
                values if len(values) == length else values + [np.nan] * (length - len(values)),
                dtype=np.int64 if name == "step" else np.float64,
            )
            for name, values in self.columns.items()
        }


def drive(
    solver: Solver[State], source: Source, watches: Sequence[Watch] = (), recorder: Recorder | None = None
) -> Outcome[State]:
    """Run `solver` over `source` to its end, or to where a watch or Ctrl-C ends it.

    A KeyboardInterrupt before the first completed step passes through: there is no state to keep.
    """
    recorder = Recorder() if recorder is None else recorder
    last: Step[State] | None = None
    answer: Any = None
    try:
        while True:
            try:
                request = solver.send(answer)
            except StopIteration as end:
                return _report_end(end.value, last, watches, recorder)
            answer = None
            if not isinstance(request, Step):
                answer = request.answer(source)
                continue
            last = request
            number = recorder.add(last)
            if not watches:
                continue
            # Every watch sees the step, also when an earlier one has asked to stop.
            for reason in [watch.step(number, last) for watch in watches]:
                if reason is not None:
                    return _report_stop(last, reason, watches, recorder)
    except KeyboardInterrupt as interrupt:
        # There is no completed step to keep.
        if last is None:
            raise
        outcome = _report_stop(last, "interrupt", watches, recorder)
        outcome.interrupt = interrupt
        return outcome
    # The generator may hold threads or files, which its own cleanup releases.
    finally:
        solver.close()


def _report_end(
    solution: Solution[State], last: Step[State] | None, watches: Sequence[Watch], recorder: Recorder
) -> Outcome[State]:
    """Return the outcome of a solver that returned `solution`; a watch may prefer the state of an earlier step."""
    history = recorder.history()
    chosen = None if last is None else _choose_step(last, watches)
    state = solution.state if chosen is last or chosen is None else chosen.state
    # A solver that has met its own rule has not converged where its certificate says otherwise.
    converged = bool(solution.converged) and solution.certificate.satisfied is not False
    stopped = "max_iter" if not solution.converged else "converged" if converged else "stalled"
    reason = solution.reason or stopped
    return Outcome(state, converged, solution.certificate, reason, len(history["step"]), history)


def _report_stop(last: Step[State], reason: str, watches: Sequence[Watch], recorder: Recorder) -> Outcome[State]:
    """Return the outcome of a solver that a watch or Ctrl-C stopped after the step `last`."""
    chosen = _choose_step(last, watches)
    certificate = chosen.certificate or Certificate.none(f"The fit was ended early ({reason}).")
    history = recorder.history()
    return Outcome(chosen.state, False, certificate, reason, len(history["step"]), history)


def _choose_step(last: Step[State], watches: Sequence[Watch]) -> Step[State]:
    """Return the step that the first watch with a preference wants kept, or else `last`."""
    for watch in watches:
        chosen = watch.choose_step(last)
        if chosen is not last:
            return chosen
    return last
