"""Disturb the fits of one subject: Ctrl-C at random moments, and callbacks that raise."""

import signal
import time
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from tests.laws.subjects import Subject, digest, fitted, outputs
from tools.fuzzing.interrupts.callbacks import Counting, Raising
from tools.fuzzing.interrupts.traces import find_traces, note_surroundings

_ROWS = 200
_COLUMNS = 5
# Attributes that scikit-learn's callbacks keep on an estimator.
_CALLBACKS = ("_skl_callbacks", "_callback_fit_ctx", "_skl_callbacks_to_teardown", "_parent_callback_ctx")
# Interrupts come until this many times the length of an undisturbed fit: some fits must be done before.
_LATEST = 1.1


class InterruptedSubject:
    """One estimator in one setting, whose fits are disturbed."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows and targets of the fits."""
        return self.subject.data(_ROWS, _COLUMNS)

    @cached_property
    def undisturbed(self) -> tuple[str, float, int]:
        """The digest of an undisturbed fit, its seconds, and how often it calls a callback."""
        self._fit(self.subject.make())
        start = time.perf_counter()
        model = self._fit(self.subject.make())
        seconds = time.perf_counter() - start
        counting = Counting()
        self._fit(self.subject.make().set_callbacks(counting))
        return digest(fitted(model)), seconds, counting.calls

    def name(self, number: int) -> str:
        """Return what a case does, in words."""
        return "a callback raises" if number % 4 == 3 else "Ctrl-C"

    def try_all(self, first: int, last: int) -> Iterator[tuple[str, str]]:
        """Yield the outcome of each case, with words where it is not a documented one."""
        # A process whose parent ignores Ctrl-C ignores it too, unless it says otherwise.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        # For all cases at once: Ctrl-C at the end of a context around one fit would leave the filter behind.
        warnings.simplefilter("ignore")
        self.undisturbed  # noqa: B018 - the first fit imports modules and starts threads; it is not disturbed
        for number in range(first, last):
            surroundings = note_surroundings()
            disturb = self._raise_in_callback if number % 4 == 3 else self._press_ctrl_c
            outcome, what = disturb(np.random.default_rng(number))
            traces = find_traces(surroundings)
            yield ("raw", f"{outcome}, but {traces} [{self.name(number)}]") if traces else (outcome, what)

    def _press_ctrl_c(self, random: np.random.Generator) -> tuple[str, str]:
        """Deliver KeyboardInterrupt at a random moment of a fit."""
        model = self._make(random)
        before, error = dict(vars(model)), None
        delay = max(1e-6, random.uniform(0.0, _LATEST * self.undisturbed[1]))
        try:
            # The timer's signal has the handler of Ctrl-C, so that it raises KeyboardInterrupt in the main thread.
            signal.setitimer(signal.ITIMER_REAL, delay)
            self._fit(model)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        except BaseException as caught:
            error = caught
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        if error is not None and not isinstance(error, KeyboardInterrupt):
            return "raw", f"{type(error).__name__}: {str(error)[:150]} [Ctrl-C]"
        return self._judge(model, before, error)

    def _raise_in_callback(self, random: np.random.Generator) -> tuple[str, str]:
        """Fit with a callback that raises at one of its calls."""
        model = self._make(random)
        error = None
        raising = Raising(1 + int(random.integers(max(1, self.undisturbed[2]))), random)
        model.set_callbacks(raising)
        before = dict(vars(model))
        try:
            self._fit(model)
        except BaseException as caught:
            error = caught
        if error is not None and error is not raising.error:
            words = f"{type(error).__name__}: {str(error)[:120]} in place of {type(raising.error).__name__}"
            return "raw", f"{words} [a callback raises in {raising.place}]"
        del model._skl_callbacks
        return self._judge(model, before, error)

    def _judge(self, model: Any, before: dict[str, Any], error: BaseException | None) -> tuple[str, str]:
        """Return what a disturbed fit came to, once a second fit has shown that nothing stayed behind."""
        kept = getattr(error, "mercer_state_kept", None) is model
        outcome = "finished" if error is None else "kept" if kept else "restored"
        now = {name: value for name, value in vars(model).items() if name not in _CALLBACKS}
        before = {name: value for name, value in before.items() if name not in _CALLBACKS}
        restored = now.keys() == before.keys() and all(now[name] is before[name] for name in now)
        if outcome == "restored" and not restored and digest(fitted(model)) == self.undisturbed[0]:
            # Ctrl-C came after the last statement of the fit: everything is there.
            outcome = "finished"
        elif outcome == "restored" and not restored:
            return "raw", f"attributes are others than before the fit: {sorted(now.keys() ^ before.keys())[:5]} []"
        try:
            if outcome == "kept":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    outputs(model, self.rows[0][:5])
            again = digest(fitted(self._fit(model)))
        except Exception as caught:
            return "raw", f"{outcome}, then {type(caught).__name__}: {str(caught)[:150]} []"
        if again != self.undisturbed[0]:
            return "raw", f"{outcome}, but the next fit has other bits []"
        return outcome, ""

    def _make(self, random: np.random.Generator) -> Any:
        """Return an estimator: a new one, or one that was fitted before, whose attributes a failed fit must restore."""
        model = self.subject.make()
        return self._fit(model) if random.random() < 0.3 else model

    def _fit(self, model: Any) -> Any:
        X, y = self.rows
        return model.fit(X, y)
