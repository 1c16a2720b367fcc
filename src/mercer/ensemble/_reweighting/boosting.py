r"""Boosting by reweighting: the rounds that every AdaBoost shares.

Labels are coded as vectors: class k is Y with 1 at k and -1/(K-1) elsewhere. A round adds a vector v(x), whose entries
sum to zero, to the score F(x), and the loss is the exponential one,

    sum_i w_i exp(-Y_i . F(x_i) / K) / sum_i w_i ,    Y_i . v / K = v_(y_i) / (K - 1) .

So the weights of the next round are those of this one times exp(-v_(y_i) / (K - 1)), normalised, and the loss is the
product of the normalisers. With two classes this is the classical algorithm.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer.errors import DataError

__all__ = ["Answers", "BoostState", "Rounds", "Validation", "vote_table"]

# Weights are kept above this share, lest rows be lost for good: they would not come back when they are needed again.
_LEAST = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Answers:
    """What a member says of rows: row i has the class shares ``table[index[i]]``."""

    table: np.ndarray
    index: np.ndarray


@plain
@dataclass(frozen=True)
class BoostState:
    """The members so far, with their weights and errors, and the weights of the rows for the next round."""

    members: Any
    weights: Any
    errors: Any
    row_weight: Any
    loss: float
    influence: Any = None
    validation: Any = None
    validation_losses: Any = ()
    ended: str = ""


@dataclass(frozen=True, eq=False)
class Validation:
    """Rows that are not learnt from: their class numbers, weights, and a function from a member to its answers."""

    labels: np.ndarray
    weight: np.ndarray
    answers: Callable[[Any], Answers]


@dataclass(frozen=True, eq=False)
class Rounds:
    """The solver.

    ``learn(weight, number)`` returns a member and its answers for the training rows. ``algorithm`` is ``"SAMME"``,
    ``"real"`` or ``"gentle"``; ``softness`` is the C of the soft margins, zero for none.
    """

    subject: str
    labels: np.ndarray
    row_weight: np.ndarray
    n_classes: int
    n_rounds: int
    learning_rate: float
    algorithm: str
    learn: Callable[[np.ndarray, int], tuple[Any, Answers]]
    softness: float = 0.0
    validation: Validation | None = None
    patience: int | None = None
    tolerance: float = 0.0
    start: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", self.row_weight / self.row_weight.sum())

    def solve(self, state: BoostState | None) -> Solver:
        """Add members until the rounds are over, a member makes no error, or one is no better than chance."""
        state = self._begin() if state is None else state
        while not state.ended and len(state.members) < self.n_rounds:
            number, weight = len(state.members), state.row_weight
            member, answers = yield Dense(partial(self.learn, weight, number))
            added = self._add(state, member, answers)
            if added is None:
                break
            state = added
            extra = {"error": state.errors[-1], "member_weight": state.weights[-1]}
            if state.validation_losses:
                extra["validation_loss"] = state.validation_losses[-1]
            yield Step(state.loss, state, _statement(), extra)
        return Solution(self._kept(state), True, _statement())

    def _begin(self) -> BoostState:
        scores = None if self.validation is None else np.zeros((len(self.validation.labels), self.n_classes))
        influence = np.zeros(len(self.labels)) if self.softness else None
        return BoostState((), (), (), self.start.copy(), 1.0, influence, scores)

    def _add(self, state: BoostState, member: Any, answers: Answers) -> BoostState | None:
        wrong = (answers.table.argmax(axis=1)[answers.index] != self.labels) * 1.0
        error = float(min(wrong @ state.row_weight, 1.0))
        perfect = not (wrong * state.row_weight).any()
        if not perfect and self.algorithm == "SAMME" and error >= 1.0 - 1.0 / self.n_classes - 1e-12:
            self._check_first(state, error)
            return None
        size = self.learning_rate
        if self.algorithm == "SAMME":
            size *= math.log((1 - error) / error) + math.log(self.n_classes - 1) if not perfect else 1.0
        votes = vote_table(answers.table, size, self.algorithm)
        state = replace(
            state,
            members=(*state.members, member),
            weights=(*state.weights, float(size)),
            errors=(*state.errors, 0.0 if perfect else error),
        )
        state = self._judge(state, member, size)
        return replace(self._reweigh(state, answers, votes, size), ended=self._reason(state, perfect))

    def _reweigh(self, state: BoostState, answers: Answers, votes: np.ndarray, size: float) -> BoostState:
        """The weights of the next round: up where this one erred."""
        factors = np.exp(-votes / max(self.n_classes - 1, 1))
        weight = state.row_weight * factors.ravel()[answers.index * self.n_classes + self.labels]
        influence = state.influence
        if influence is not None:
            # d / d_0, the weight in units of the first one, has mean one: C then means the same for any n.
            share = np.divide(state.row_weight, self.start, out=np.zeros_like(self.start), where=self.start > 0)
            step = size * (self.n_classes - 1) / self.n_classes * share
            influence = influence + step
            weight = weight * np.exp(-self.softness * step)
        total = float(weight.sum())
        if not math.isfinite(total) or total <= 0:
            return replace(state, loss=state.loss, ended="overflow")
        weight /= total
        weight = np.where(self.start > 0, np.maximum(weight, _LEAST), 0.0)
        return replace(state, row_weight=weight / weight.sum(), loss=state.loss * total, influence=influence)

    def _judge(self, state: BoostState, member: Any, size: float) -> BoostState:
        """The loss on the validation rows, or on the training rows where there are none."""
        if self.validation is None:
            return state
        given = self.validation
        answers = given.answers(member)
        scores = state.validation + vote_table(answers.table, size, self.algorithm)[answers.index]
        right = scores[np.arange(len(given.labels)), given.labels]
        with np.errstate(over="ignore"):
            loss = float(np.average(np.exp(-right / max(self.n_classes - 1, 1)), weights=given.weight))
        losses = (*state.validation_losses, min(loss, float(np.finfo(np.float64).max)))
        return replace(state, validation=scores, validation_losses=losses)

    def _reason(self, state: BoostState, perfect: bool) -> str:
        if perfect:
            return "perfect"
        if self.patience is None or not state.validation_losses:
            return ""
        losses = state.validation_losses
        best = int(np.argmin(losses))
        before = min(losses[: -self.patience], default=math.inf)
        stalled = len(losses) > self.patience and min(losses[-self.patience :]) > before - self.tolerance
        return "validation" if stalled and best < len(losses) - 1 else ""

    def _kept(self, state: BoostState) -> BoostState:
        """The rounds up to the best on the validation rows, where early stopping was asked for."""
        if self.patience is None or not state.validation_losses:
            return state
        best = int(np.argmin(state.validation_losses)) + 1
        return replace(state, members=state.members[:best], weights=state.weights[:best], errors=state.errors[:best])

    def _check_first(self, state: BoostState, error: float) -> None:
        """Raise if the member that is no better than chance is the first."""
        if not state.members:
            message = (
                f"BaseClassifier in {self.subject} ensemble is worse than random, ensemble can not be fit: the first "
                f"member errs on {error:.3g} of the weight. Give an estimator that can tell the classes apart."
            )
            raise DataError(message)


def vote_table(shares: np.ndarray, size: float, algorithm: str) -> np.ndarray:
    """The vectors v that stand for class shares, row by row; they sum to zero.

    ``"SAMME"`` takes the first largest share as its answer and gives it (K-1)^2 / K times `size`; ``"real"`` takes the
    minimiser of the loss, (K-1) (log p - mean log p); ``"gentle"`` a Newton step, the mean of Y. The latter two are
    scaled by `size` too.
    """
    n_classes = shares.shape[1]
    if n_classes == 1:
        return np.zeros_like(shares, dtype=np.float64)
    if algorithm == "real":
        logs = np.log(np.clip(shares, _LEAST, None))
        return size * (n_classes - 1) * (logs - logs.mean(axis=1, keepdims=True))
    if algorithm == "gentle":
        return size * (n_classes * shares - 1.0) / (n_classes - 1)
    coded = np.full(shares.shape, -1.0 / (n_classes - 1))
    coded[np.arange(len(shares)), shares.argmax(axis=1)] = 1.0
    return size * (n_classes - 1) ** 2 / n_classes * coded


def _statement() -> Certificate:
    return Certificate.none(
        "Nothing bounds the distance from the best combination; the training error is at most the last objective."
    )
