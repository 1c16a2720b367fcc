"""The base of voting classifiers and regressors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from mercer._base import fitting
from mercer._base.interface import TransformerMixin
from mercer._base.parameter import Array, Boolean, Integer, Nothing, parameter
from mercer._solver import Solution, Solver, Step
from mercer._solver.request import Dense
from mercer.ensemble._committee.bags import NO_BOUND, BagState
from mercer.ensemble._committee.named_members import FirstLayer, GivenRows, NamedMembers, fit_in_parallel, is_dropped
from mercer.errors import ParameterError


@dataclass(frozen=True, eq=False)
class _Voting:
    """The solver: fits as many members at a time as there are threads; each member is a step."""

    fit: Callable[[int], Any]
    n_members: int
    threads: int

    def solve(self, state: BagState | None) -> Solver:
        """Fit the members that `state` does not have yet."""
        state = BagState(()) if state is None else state
        while len(state.members) < self.n_members:
            first = len(state.members)
            size = min(self.threads, self.n_members - first)
            for member in (yield Dense(fit_in_parallel(self.fit, first, size), heavy=True)):
                state = BagState((*state.members, member))
                yield Step(float(len(state.members)), state, NO_BOUND)
        return Solution(state, True, NO_BOUND)


class VotingModel(TransformerMixin, NamedMembers):
    """Named members, each fitted to all rows, whose predictions are combined by fixed weights."""

    weights: Any = parameter(Array() | Nothing(), default=None, doc="A weight for each pair; None means equal weights.")
    verbose: int | bool = parameter(Integer(0) | Boolean(), default=False, after="n_jobs")

    _objective_moves = "up"

    # Which estimators may be members, see KINDS.
    _kind: ClassVar[str]

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the members take them.
        y : array-like of shape (n_samples,)
            Labels for classification, numbers for regression.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, for all members; with scikit-learn's metadata routing, for those that request them.
        **fit_params : dict
            Metadata for the members' ``fit``, through scikit-learn's routing.
        """
        self._check_call(X, y, fit_params)
        y, attributes = self._encode_targets(y)
        members = self._list_members(self._kind)
        self._check_weights()
        weight, params = self._route_fit(members, sample_weight, len(y), fit_params)
        solver = _Voting(FirstLayer(members, params, X, y).fit, len(members), self._threads())
        source = GivenRows(X, y, weight, self._threads())
        self.__dict__.pop("feature_names_in_", None)
        outcome = self._drive(solver.solve, source, max_steps=len(members), attributes=attributes)
        self._conclude(outcome)
        return self

    def _check_weights(self) -> None:
        """Raise if the weights of members are not finite, or not as many as the members."""
        if self.weights is None:
            return
        if len(self.weights) != len(self.estimators):
            raise ParameterError(
                f"{type(self).__name__}: Number of `estimators` and weights must be equal; got {len(self.weights)} "
                f"weights, {len(self.estimators)} estimators."
            )
        weights = np.asarray(self._list_weights(), dtype=np.float64)
        if not (np.isfinite(weights).all() and weights.sum() > 0):
            raise ParameterError(
                f"{type(self).__name__}: weights must be finite, with a positive sum over the estimators that are not "
                f"dropped; got {self.weights!r}."
            )

    def _list_weights(self) -> list[float] | None:
        """Return the weights of the fitted members, or before a fit of those that are not dropped."""
        if self.weights is None:
            return None
        pairs = zip(self.estimators, self.weights, strict=True)
        kept = [weight for (_, member), weight in pairs if not is_dropped(member)]
        return kept[: len(self.estimators_)] if "estimators_" in vars(self) else kept

    def _fitted(self, state: BagState) -> dict[str, Any]:
        """Return the fitted attributes that depend on the members of a state."""
        return self._name_members(list(state.members))

    def _describe_step(self, number: int, step: Step) -> str:
        names = [name for name, member in self.estimators if not is_dropped(member)]
        return f"{type(self).__name__}: fitted {names[number]!r}, {number + 1} of {len(names)}"
