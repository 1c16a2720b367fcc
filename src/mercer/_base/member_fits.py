"""Fits of the members of an estimator that wraps others: as many at a time as there are threads, each one a step."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._source.array import ArraySource
from mercer._source.threads import check_dropped, run_numbered

NO_BOUND = Certificate.none("Members are independent; nothing is optimised beyond what each of them optimises.")

# Seconds of fits after which a batch of members ends: much longer than starting the thread of a batch takes, 0.1 ms,
# and short enough for progress, and for what Ctrl-C drops.
_BATCH_SECONDS = 0.02
# Members that take less are fitted one after the other: handing them out between threads takes as long.
_SHORT_SECONDS = 2e-3


@plain
@dataclass(frozen=True)
class BagState:
    """The members so far."""

    members: Any


class GivenRows(ArraySource):
    """Rows as the user gave them, which members and callbacks see; the driver sees their indices only."""

    def __init__(self, X: Any, y: np.ndarray, weight: Any, threads: int) -> None:
        super().__init__(np.arange(len(y), dtype=np.float64)[:, None], y, weight, threads)
        self.given = X

    def whole(self) -> Any:
        """Return the rows as the user gave them."""
        return self.given

    def fingerprint(self) -> dict[str, Any]:
        """Return what identifies the rows, for checkpoints."""
        return super().fingerprint() | {"data": joblib.hash(self.given)}


class GivenTask(GivenRows):
    """Rows and targets of any kind as the user gave them; what else decides the fits identifies the task too."""

    def __init__(self, X: Any, y: Any, n_rows: int, threads: int, others: Any = None) -> None:
        super().__init__(X, np.arange(n_rows), None, threads)
        self.targets = y
        self.others = others

    def fingerprint(self) -> dict[str, Any]:
        """Return what identifies rows, targets and the rest, for checkpoints."""
        return super().fingerprint() | {"y": joblib.hash(self.targets), "others": joblib.hash(self.others)}


def fit_batch(fit: Callable[[int], Any], first: int, n_members: int, threads: int) -> Callable[[], list[Any]]:
    """Return a call that fits members from index `first` on, as many at a time as there are threads.

    It ends after the first ones with which it has taken `_BATCH_SECONDS`, so that short fits share the start of one
    thread. Neither changes a member.
    """

    def fit_some() -> list[Any]:
        members: list[Any] = []
        begun, size = time.perf_counter(), threads
        while True:
            size = min(size, n_members - first - len(members))
            members += _fit_together(fit, first + len(members), size)
            seconds = time.perf_counter() - begun
            if first + len(members) >= n_members or seconds > _BATCH_SECONDS:
                return members
            if seconds < _SHORT_SECONDS * len(members):
                size = 1
            check_dropped()

    return fit_some


def _fit_together(fit: Callable[[int], Any], first: int, size: int) -> list[Any]:
    """Return `size` members, from index `first` on, fitted in parallel."""
    if size == 1:
        # A single member may use all threads itself.
        return [fit(first)]
    members: list[Any] = []
    run_numbered(lambda offset: fit(first + offset), size, size, members.append)
    return members


@dataclass(frozen=True, eq=False)
class MemberFits:
    """The solver: fits as many members at a time as there are threads; each member is a step.

    ``certify(state)`` returns the certificate of some members, where they have any.
    """

    fit: Callable[[int], Any]
    n_members: int
    threads: int
    certify: Callable[[BagState], Certificate] = lambda state: NO_BOUND

    def solve(self, state: BagState | None) -> Solver:
        """Fit the members that `state` does not have yet."""
        state = BagState(()) if state is None else state
        while len(state.members) < self.n_members:
            batch = fit_batch(self.fit, len(state.members), self.n_members, self.threads)
            for member in (yield Dense(batch, heavy=True)):
                state = BagState((*state.members, member))
                yield Step(float(len(state.members)), state, self.certify(state))
        return Solution(state, True, self.certify(state))


def fit_at_once(fit: Callable[[int], Any], n_members: int, threads: int, state: BagState | None) -> Solver:
    """Fit all members as one step, as many at a time as there are threads."""
    if state is None:
        fitted: list[Any] = []
        while len(fitted) < n_members:
            fitted += yield Dense(fit_batch(fit, len(fitted), n_members, threads), heavy=True)
        state = BagState(tuple(fitted))
        yield Step(float(n_members), state, NO_BOUND)
    return Solution(state, True, NO_BOUND)
