"""Press Ctrl-C while a fitted model answers, and while it is saved and loaded."""

import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from tests.laws.subjects import Subject, digest, fitted, outputs
from tools.fuzzing.interrupts.traces import find_traces, note_surroundings

# Rows that a model answers about: most methods then take some milliseconds.
_ROWS = 1_000
_COLUMNS = 5
# Interrupts come until this many times the length of undisturbed work: some must be done before.
_LATEST = 1.1


class InterruptedAnswers:
    """A fitted estimator whose predictions, saving and loading are interrupted."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    @cached_property
    def model(self) -> Any:
        """The fitted model."""
        return self.subject.make().fit(*self.subject.data(200, _COLUMNS))

    @cached_property
    def rows(self) -> np.ndarray:
        """The rows that it answers about."""
        return self.subject.data(_ROWS, _COLUMNS)[0]

    def name(self, number: int) -> str:
        """Return what a case does, in words."""
        return "Ctrl-C while a model " + ("answers", "is saved", "is loaded", "answers")[number % 4]

    def try_all(self, first: int, last: int) -> Iterator[tuple[str, str]]:
        """Yield the outcome of each case, with words where it is not a documented one."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        warnings.simplefilter("ignore")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.mercer")
            mercer.save(self.model, path)
            work: tuple[Callable[[], Any], ...] = (
                lambda: outputs(self.model, self.rows),
                lambda: mercer.save(self.model, path),
                lambda: mercer.load(path),
                lambda: outputs(self.model, self.rows),
            )
            undisturbed = [self._time(one) for one in work]
            state, answers = digest(fitted(self.model)), digest(outputs(self.model, self.rows))
            for number in range(first, last):
                surroundings = note_surroundings()
                place = number % len(work)
                delay = np.random.default_rng(number).uniform(0.0, _LATEST * undisturbed[place])
                outcome, what = self._press_ctrl_c(work[place], delay)
                if traces := find_traces(surroundings):
                    outcome, what = "raw", f"{outcome}, but {traces} [{self.name(number)}]"
                elif outcome != "raw":
                    what = self._judge(path, state, answers)
                    outcome = "raw" if what else outcome
                yield outcome, what

    def _time(self, work: Callable[[], Any]) -> float:
        """Return the seconds of a second run; the first one imports modules and starts threads."""
        work()
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def _press_ctrl_c(self, work: Callable[[], Any], delay: float) -> tuple[str, str]:
        error = None
        try:
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, delay))
            work()
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        except BaseException as caught:
            error = caught
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        if error is not None and not isinstance(error, KeyboardInterrupt):
            return "raw", f"{type(error).__name__}: {str(error)[:150]} [Ctrl-C]"
        return ("finished" if error is None else "restored"), ""

    def _judge(self, path: Path, state: str, answers: str) -> str:
        """Return what the interrupt has changed, in words: the model, its answers, its file or the folder."""
        if digest(fitted(self.model)) != state:
            return "the model has changed []"
        if digest(outputs(self.model, self.rows)) != answers:
            return "the next answers are others []"
        if digest(fitted(mercer.load(path))) != state:
            return "the file holds another model []"
        others = [one.name for one in path.parent.iterdir() if one != path]
        return f"a file was left: {others[0].partition('.')[2]} []" if others else ""
