"""What voting classifiers and regressors share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import TransformerMixin

from mercer._base.parameter import Array, Boolean, Instance, Integer, Nothing, Real, Rule
from mercer._solver import Certificate, Outcome, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer.ensemble._committee.bags import BagState
from mercer.ensemble._committee.named_members import FirstLayer, GivenRows, NamedMembers, dropped, side_by_side
from mercer.errors import ParameterError

__all__ = ["VotingModel"]

_STATEMENT = "Members are independent; nothing is optimised beyond what each of them optimises."


@dataclass(frozen=True, eq=False)
class _Poll:
    """The solver: as many members at a time as there are threads, and a step for each of them."""

    fit: Callable[[int], Any]
    n_members: int
    threads: int

    def solve(self, state: BagState | None) -> Solver:
        state = BagState(()) if state is None else state
        while len(state.members) < self.n_members:
            first = len(state.members)
            size = min(self.threads, self.n_members - first)
            for member in (yield Dense(side_by_side(self.fit, first, size), heavy=True)):
                state = BagState((*state.members, member))
                yield Step(float(len(state.members)), state, Certificate.none(_STATEMENT))
        return Solution(state, True, Certificate.none(_STATEMENT))


class VotingModel(TransformerMixin, NamedMembers):
    """Named members, each fitted to all rows, whose answers are combined by fixed weights."""

    weights: Any
    _parameters: ClassVar[dict[str, Rule]] = {
        "estimators": Instance(list),
        "weights": Array() | Nothing(),
        "n_jobs": Integer() | Nothing(),
        "verbose": Integer(0) | Boolean(),
        "max_time": Real(0) | Nothing(),
    }
    _objective_moves = "up"

    def _fit_poll(
        self,
        X: Any,
        y: np.ndarray,
        sample_weight: Any,
        fit_params: dict[str, Any],
        members: list[tuple[str, Any]],
        attributes: dict[str, Any],
    ) -> Outcome:
        self._check_weights()
        weight, params = self._given(members, sample_weight, len(y), fit_params)
        layer = FirstLayer(members, params, X, y)
        poll = _Poll(layer.fit, len(members), self._threads())
        source = GivenRows(X, y, weight, self._threads())
        self.__dict__.pop("feature_names_in_", None)
        return self._drive(poll.solve, source, max_steps=len(members), attributes=attributes)

    def _check_weights(self) -> None:
        if self.weights is None:
            return
        if len(self.weights) != len(self.estimators):
            message = (
                f"{type(self).__name__}: Number of `estimators` and weights must be equal; got {len(self.weights)} "
                f"weights, {len(self.estimators)} estimators."
            )
            raise ParameterError(message)
        found = np.asarray(self._kept_weights(), dtype=np.float64)
        if not (np.isfinite(found).all() and found.sum() > 0):
            message = (
                f"{type(self).__name__}: weights must be finite, with a positive sum over the estimators that are not "
                f"dropped; got {self.weights!r}."
            )
            raise ParameterError(message)

    def _kept_weights(self) -> list[float] | None:
        """The weights of the members that are not dropped, as many as are fitted."""
        if self.weights is None:
            return None
        pairs = zip(self.estimators, self.weights, strict=True)
        kept = [weight for (_, member), weight in pairs if not dropped(member)]
        return kept[: len(self.estimators_)] if "estimators_" in vars(self) else kept

    def _fitted(self, state: BagState) -> dict[str, Any]:
        return self._named(list(state.members))

    def _describe_step(self, number: int, step: Step) -> str:
        names = [name for name, member in self.estimators if not dropped(member)]
        return f"{type(self).__name__}: fitted {names[number]!r}, {number + 1} of {len(names)}"
