"""The rows and columns that are drawn for each member of bagging, and the solver that fits the members."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from mercer._base.member_fits import NO_BOUND, BagState
from mercer._base.wrapping import take_rows
from mercer._plain import plain
from mercer._solver import Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._source.threads import run_numbered
from mercer.ensemble._reweighting.weak_learner import seed_member, take_columns

# Members between two steps: fixed, so that the steps of a fit do not depend on the threads.
BATCH = 8


@plain
@dataclass(frozen=True, eq=False)
class Draws:
    """The rows and columns that each member sees; those of member i follow from one seed and i.

    With `partition` above zero rows are dealt to that many parts, one for each member. ``share`` are the chances of the
    rows (n_rows,), or None for equal ones.
    """

    entropy: int | list[int] | tuple[int, ...]
    n_rows: int
    n_features: int
    max_samples: int
    max_features: int
    bootstrap: bool
    bootstrap_features: bool
    partition: int
    share: np.ndarray | None

    def make_seed(self, index: int) -> np.random.SeedSequence:
        """Return the seed of a member itself."""
        return np.random.SeedSequence(self.entropy, spawn_key=(index,))

    def draw_features(self, index: int) -> np.ndarray:
        """Return the columns of a member."""
        if self.max_features == self.n_features and not self.bootstrap_features:
            return np.arange(self.n_features)
        random = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index, 0)))
        return random.choice(self.n_features, self.max_features, replace=self.bootstrap_features)

    def draw_rows(self, index: int) -> np.ndarray:
        """Return the rows of a member, each as often as it was drawn."""
        if self.partition:
            whole = np.random.default_rng(np.random.SeedSequence(self.entropy)).permutation(self.n_rows)
            return np.sort(whole[index % self.partition :: self.partition])
        random = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index, 1)))
        return random.choice(self.n_rows, self.max_samples, replace=self.bootstrap, p=self.share)


@dataclass(frozen=True, eq=False)
class Bagging:
    """The solver: fits members in batches, those of a batch in parallel.

    Attributes
    ----------
    fit : callable
        From the index of a member to the fitted member.
    n_members : int
        Members in all, those of an earlier fit included.
    threads : int
    earlier : tuple
        The members of a fit that this one continues.
    """

    fit: Callable[[int], Any]
    n_members: int
    threads: int
    earlier: tuple[Any, ...] = ()

    def solve(self, state: BagState | None) -> Solver:
        """Fit the members that are missing."""
        state = BagState(self.earlier) if state is None else state
        while len(state.members) < self.n_members:
            first = len(state.members)
            size = min(BATCH, self.n_members - first)
            fitted = yield Dense(partial(self._fit_batch, first, size))
            state = BagState((*state.members, *fitted))
            yield Step(float(len(state.members)), state, NO_BOUND)
        return Solution(state, True, NO_BOUND)

    def _fit_batch(self, first: int, size: int) -> list[Any]:
        """Return `size` fitted members from index `first` on."""
        members: list[Any] = []
        run_numbered(lambda offset: self.fit(first + offset), size, self.threads, members.append)
        return members


def fit_member(estimator: Any, draws: Draws, index: int, X: Any, y: np.ndarray, fit_params: dict[str, Any]) -> Any:
    """Fit a copy of `estimator` to its rows and columns: by weights where it takes them, else by copies of rows."""
    member = seed_member(clone(estimator), draws.make_seed(index))
    rows, features = draws.draw_rows(index), draws.draw_features(index)
    if len(features) < draws.n_features or draws.bootstrap_features:
        X = take_columns(X, features)
    # A row drawn twice has the weight two: no rows are copied.
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
