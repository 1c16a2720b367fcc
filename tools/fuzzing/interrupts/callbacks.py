"""Callbacks that count their calls, and callbacks that raise at one of them."""

from typing import Any

import numpy as np


class Surprise(BaseException):
    """An exception that nobody catches by its kind."""


# What a callback may raise: errors, what ends generators and programs, and what only `except BaseException` sees.
_RAISED = (RuntimeError, ValueError, StopIteration, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit, Surprise)


class Counting:
    """Follows a fit by scikit-learn's protocol, and counts the calls."""

    def __init__(self) -> None:
        self.calls = 0

    def see(self, place: str) -> None:
        """Count one call."""
        self.calls += 1

    def setup(self, estimator: Any, context: Any) -> None:
        self.see("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.see("teardown")

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.see("on_fit_task_begin")

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        self.see("on_fit_task_end")
        return False


class Raising(Counting):
    """Raises one of many exceptions at one call; `error` is that exception then."""

    def __init__(self, at: int, random: np.random.Generator) -> None:
        super().__init__()
        self.at = at
        self.kind = _RAISED[int(random.integers(len(_RAISED)))]
        self.error: BaseException | None = None
        self.place = ""

    def see(self, place: str) -> None:
        """Count one call, and raise if it is the one."""
        super().see(place)
        if self.calls == self.at:
            self.place = place
            self.error = self.kind("raised by a callback")
            raise self.error
