"""A study's clock: how much time is left, how sure that is, and whether to stop."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from mercer.app.study.record import Notice

__all__ = ["Clock", "ProgressEvent"]

Found = TypeVar("Found")
# The share of a budget that choosing a model may take; the rest is for the final fit and for what it has to say.
_CHOOSING = 0.6
# Kept for writing things down.
_SPARE = 0.04


@dataclass(frozen=True)
class ProgressEvent:
    """Where a study is: what it does now, how much of everything is done, and how long the rest may take."""

    text: str
    share: float
    seconds_left: float | None = None


class Clock:
    """Time and interruptions of one study.

    A part of the study that is not needed for an answer is asked for with :meth:`attempt`: it is left out when the time
    is over or the user has interrupted, and the report then says so.
    """

    def __init__(self, budget: float | None, watch: Callable[[ProgressEvent], None] | None, debug: bool) -> None:
        self.began = time.monotonic()
        self.budget = budget
        self.watch = watch
        self.debug = debug
        self.interrupted = False
        self.notices: list[Notice] = []
        self.left_out: list[str] = []

    def spent(self) -> float:
        """Seconds since the study began."""
        return time.monotonic() - self.began

    def left(self, share: float = 1.0) -> float:
        """Seconds left of a share of the budget; infinite without one."""
        if self.budget is None:
            return float("inf")
        return self.budget * min(share, 1 - _SPARE) - self.spent()

    def choosing_left(self) -> float:
        """Seconds left for choosing a model."""
        return self.left(_CHOOSING)

    def deadline(self, share: float = 1.0) -> float | None:
        """The moment, by ``time.monotonic``, when a share of the budget is over."""
        return None if self.budget is None else time.monotonic() + self.left(share)

    def tell(self, text: str, share: float) -> None:
        """Say what is being done, and how much of everything is done."""
        if self.watch is None:
            return
        spent = self.spent()
        left = spent * (1 - share) / share if share > 0.02 else None
        if self.budget is not None:
            left = max(0.0, min(self.budget - spent, left if left is not None else self.budget))
        self.watch(ProgressEvent(text, share, left))

    def attempt(
        self, what: str, find: Callable[[], Found], share: float, otherwise: Any = None, needs: float = 0.0
    ) -> Any:
        """What `find` returns, or `otherwise` where there is no time for it or it fails; `needs` are its seconds."""
        if self.interrupted or self.left() <= needs:
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
            self.notices.append(Notice("warning", what, f"This part could not be made: {wrong}"))
        return otherwise
