"""The clock of a study: how much time is left, and whether to go on."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from mercer._source.table.notice import Notice

Result = TypeVar("Result")
# Share of the budget, and the number of seconds at least, that are kept for writing the report.
_SPARE = 0.04
_LEAST_SPARE = 0.4
# A short budget keeps at most this share of it for that.
_MOST_SPARE = 0.1
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
        self.budget = budget
        self.watch = watch
        self.debug = debug
        self.expected: float | None = None  # seconds of the whole study, once they were forecast
        self.interrupted = False
        self.notices: list[Notice] = []
        self.left_out: list[str] = []

    def measure_spent(self) -> float:
        """Return the seconds since the study began."""
        return time.monotonic() - self.began

    def measure_left(self, share: float = 1.0) -> float:
        """Return the seconds left of a share of the budget; infinity without a budget."""
        if self.budget is None:
            return float("inf")
        spare = max(_SPARE, min(_LEAST_SPARE / self.budget, _MOST_SPARE))
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
        self, what: str, find: Callable[[], Result], share: float, otherwise: Any = None, needs: float = 0.0
    ) -> Any:
        """Return `find()`, or `otherwise` if it fails or its `needs`, in seconds, are more than the time left."""
        # A part that cannot be finished is not begun, so that the time goes to the parts after it.
        if self.interrupted or self.measure_left() <= needs:
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
