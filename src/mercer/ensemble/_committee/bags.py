"""Drawing the rows and columns of bagged members, and fitting members to them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._source.threads import run_numbered
from mercer.ensemble._reweighting.weak_learner import seed_member, take_rows

__all__ = ["BagState", "Bags", "Draws", "fit_member"]

_STATEMENT = "Members are independent; nothing is optimised beyond what each of them optimises."
# Members between two steps: fixed, so that the steps of a fit do not depend on the threads.
_BATCH = 8


@plain
@dataclass(frozen=True, eq=False)
class Draws:
    """Which rows and columns each member sees; member i draws from the child i of one seed."""

    entropy: Any
    n_rows: int
    n_features: int
    max_samples: int
    max_features: int
    bootstrap: bool
    bootstrap_features: bool
    partition: int
    share: np.ndarray | None

    def seed(self, number: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.entropy, spawn_key=(number,))

    def features(self, number: int) -> np.ndarray:
        """The columns of a member."""
        if self.max_features == self.n_features and not self.bootstrap_features:
            return np.arange(self.n_features)
        random = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(number, 0)))
        return random.choice(self.n_features, self.max_features, replace=self.bootstrap_features)

    def rows(self, number: int) -> np.ndarray:
        """The rows of a member, once for each time that they were drawn."""
        if self.partition:
            whole = np.random.default_rng(np.random.SeedSequence(self.entropy)).permutation(self.n_rows)
            return np.sort(whole[number % self.partition :: self.partition])
        random = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(number, 1)))
        return random.choice(self.n_rows, self.max_samples, replace=self.bootstrap, p=self.share)


@plain
@dataclass(frozen=True)
class BagState:
    """The members so far."""

    members: Any


@dataclass(frozen=True, eq=False)
class Bags:
    """The solver: members in batches, those of a batch side by side."""

    fit: Callable[[int], Any]
    n_members: int
    threads: int
    before: tuple[Any, ...] = ()

    def solve(self, state: BagState | None) -> Solver:
        """Fit the members that are missing."""
        state = BagState(self.before) if state is None else state
        while len(state.members) < self.n_members:
            first = len(state.members)
            size = min(_BATCH, self.n_members - first)
            fitted = yield Dense(partial(self._batch, first, size))
            state = BagState((*state.members, *fitted))
            yield Step(float(len(state.members)), state, Certificate.none(_STATEMENT))
        return Solution(state, True, Certificate.none(_STATEMENT))

    def _batch(self, first: int, size: int) -> list[Any]:
        fitted: list[Any] = []
        run_numbered(lambda number: self.fit(first + number), size, self.threads, fitted.append)
        return fitted


def fit_member(estimator: Any, draws: Draws, number: int, X: Any, y: np.ndarray, fit_params: dict[str, Any]) -> Any:
    """A copy of `estimator`, fitted to what it draws: by weights where it takes them, else by copies of rows."""
    member = seed_member(clone(estimator), draws.seed(number))
    rows, features = draws.rows(number), draws.features(number)
    if len(features) < draws.n_features or draws.bootstrap_features:
        X = X[:, features]
    if has_fit_parameter(member, "sample_weight"):
        counts = np.bincount(rows, minlength=draws.n_rows).astype(np.float64)
        member.fit(X, y, **fit_params, sample_weight=counts)
        return member
    taken = {
        name: value[rows] if hasattr(value, "shape") and len(value) == draws.n_rows else value
        for name, value in fit_params.items()
    }
    member.fit(take_rows(X, rows), y[rows], **taken)
    return member
