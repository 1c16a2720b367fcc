r"""Boosting by reweighting: the rounds that every AdaBoost shares.

Labels are coded as vectors: class k is Y with 1 at k and -1/(K-1) elsewhere. A round adds a vector v(x), whose entries
sum to zero, to the score F(x), and the loss is the exponential one,

    sum_i w_i exp(-Y_i . F(x_i) / K) / sum_i w_i ,    Y_i . v / K = v_(y_i) / (K - 1) .

So the weights of the next round are those of this one times exp(-v_(y_i) / (K - 1)), normalised, and the loss is the
product of the normalisers. With two classes this is the classical algorithm.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer.errors import DataError

# Least weight of a row: a weight of zero would stay zero, however often later rounds err on the row.
_LEAST = float(np.finfo(np.float64).eps)
_NO_BOUND = Certificate.none(
    "Nothing bounds the distance from the best combination; the training error is at most the last objective."
)


@dataclass(frozen=True, eq=False)
class MemberShares:
    """The predictions of a member: row i has the class shares ``table[index[i]]``."""

    table: np.ndarray
    index: np.ndarray

    def look_up(self, values: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return ``values[index[i], labels[i]]`` of each row i, for values in the shape of the table."""
        return np.take(values, self.index * values.shape[1] + labels)


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
    """Validation rows: the indices of their classes, weights, and a function from a member to its class shares."""

    labels: np.ndarray
    weight: np.ndarray
    predict: Callable[[Any], MemberShares]


@dataclass(frozen=True, eq=False)
class Rounds:
    """The solver.

    Attributes
    ----------
    subject : str
        The name of the estimator, for errors.
    labels : (n,)
        The index of each row's class.
    row_weight : (n,)
        The weights of the rows before the first round.
    n_classes, n_rounds : int
    learning_rate : float
    algorithm : {"SAMME", "real", "gentle"}
        See :func:`compute_votes`.
    learn : callable
        ``learn(weight, index)`` returns the member of a round and its class shares of the training rows.
    softness : float or None
        The C of the soft margins; None does without them, and without the influence of rows.
    validation : Validation or None
    patience : int or None
        Rounds without a smaller validation loss that end the fit.
    tolerance : float
        The least difference of a smaller loss.
    """

    subject: str
    labels: np.ndarray
    row_weight: np.ndarray
    n_classes: int
    n_rounds: int
    learning_rate: float
    algorithm: str
    learn: Callable[[np.ndarray, int], tuple[Any, MemberShares]]
    softness: float | None = None
    validation: Validation | None = None
    patience: int | None = None
    tolerance: float = 0.0

    @cached_property
    def start(self) -> np.ndarray:
        """The weights of the rows in the first round (n,), which sum to one."""
        return self.row_weight / self.row_weight.sum()

    @cached_property
    def _classes(self) -> np.ndarray:
        """The labels in the type of an index."""
        return self.labels.astype(np.intp)

    @cached_property
    def _all_count(self) -> bool:
        return bool((self.start > 0).all())

    def solve(self, state: BoostState | None) -> Solver:
        """Add members until all rounds are done, a member makes no error, or a member is no better than chance."""
        state = self._begin() if state is None else state
        while not state.ended and len(state.members) < self.n_rounds:
            member, shares = yield Dense(partial(self.learn, state.row_weight, len(state.members)))
            added = self._add(state, member, shares)
            if added is None:
                break
            state = added
            extra = {"error": state.errors[-1], "member_weight": state.weights[-1]}
            if state.validation_losses:
                extra["validation_loss"] = state.validation_losses[-1]
            yield Step(state.loss, state, _NO_BOUND, extra)
        return Solution(self._cut_to_best(state), True, _NO_BOUND)

    def _begin(self) -> BoostState:
        scores = None if self.validation is None else np.zeros((len(self.validation.labels), self.n_classes))
        influence = None if self.softness is None else np.zeros(len(self.labels))
        return BoostState((), (), (), self.start.copy(), 1.0, influence, scores)

    def _add(self, state: BoostState, member: Any, shares: MemberShares) -> BoostState | None:
        """Return the state after one more member, or None if SAMME cannot use it."""
        # Members with few distinct answers share them in a table; `index` tells the row of each.
        wrong = (np.arange(shares.table.shape[1]) != shares.table.argmax(axis=1)[:, None]).astype(np.float64)
        # Weights are not negative, so that their sum is zero only if all of them are.
        error = float(min(shares.look_up(wrong, self._classes) @ state.row_weight, 1.0))
        perfect = error == 0.0
        # SAMME's weight log((1 - e) / e) + log(K - 1) is positive only if the error is below that of chance, 1 - 1/K.
        if not perfect and self.algorithm == "SAMME" and error >= 1.0 - 1.0 / self.n_classes - 1e-12:
            self._check_first(state, error)
            return None
        size = self.learning_rate
        if self.algorithm == "SAMME":
            size *= math.log((1 - error) / error) + math.log(self.n_classes - 1) if not perfect else 1.0
        votes = compute_votes(shares.table, size, self.algorithm)
        state = replace(
            state,
            members=(*state.members, member),
            weights=(*state.weights, float(size)),
            errors=(*state.errors, 0.0 if perfect else error),
        )
        state = self._validate(state, member, size)
        return replace(self._reweigh(state, shares, votes, size), ended=self._find_reason(state, perfect))

    def _reweigh(self, state: BoostState, shares: MemberShares, votes: np.ndarray, size: float) -> BoostState:
        """Return the state with the weights of the next round, larger where this round erred."""
        # The factor exp(-Y_i . v / K) of a row is exp(-v_(y_i) / (K - 1)).
        factors = np.exp(-votes / max(self.n_classes - 1, 1))
        weight = shares.look_up(factors, self._classes)
        weight *= state.row_weight
        influence = state.influence
        if influence is not None and self.softness is not None:
            # d / d_0, the weight in units of the first one, has mean one: C then means the same for any n.
            ratio = np.divide(state.row_weight, self.start, out=np.zeros_like(self.start), where=self.start > 0)
            step = size * (self.n_classes - 1) / self.n_classes * ratio
            influence = influence + step
            weight = weight * np.exp(-self.softness * step)
        total = float(weight.sum())
        if not math.isfinite(total) or total <= 0:
            return replace(state, loss=state.loss, ended="overflow")
        weight /= total
        np.maximum(weight, _LEAST, out=weight)
        if not self._all_count:
            weight[self.start <= 0] = 0.0
        weight /= weight.sum()
        # The loss is the product of the normalisers of all rounds.
        return replace(state, row_weight=weight, loss=state.loss * total, influence=influence)

    def _validate(self, state: BoostState, member: Any, size: float) -> BoostState:
        """Return the state with the scores and the loss of the validation rows after `member`."""
        if self.validation is None:
            return state
        labels = self.validation.labels
        shares = self.validation.predict(member)
        scores = state.validation + compute_votes(shares.table, size, self.algorithm)[shares.index]
        # Y . F / K is the score of the true class over K - 1, since scores sum to zero.
        right = scores[np.arange(len(labels)), labels]
        with np.errstate(over="ignore"):
            loss = float(np.average(np.exp(-right / max(self.n_classes - 1, 1)), weights=self.validation.weight))
        # exp may overflow: the largest finite number stands for infinity.
        losses = (*state.validation_losses, min(loss, float(np.finfo(np.float64).max)))
        return replace(state, validation=scores, validation_losses=losses)

    def _find_reason(self, state: BoostState, perfect: bool) -> str:
        """Return why the rounds end, or an empty string."""
        if perfect:
            return "perfect"
        if self.patience is None or not state.validation_losses:
            return ""
        losses = state.validation_losses
        best = int(np.argmin(losses))
        before = min(losses[: -self.patience], default=math.inf)
        # The best of the last `patience` rounds must be below the best of those before them by the tolerance.
        stalled = len(losses) > self.patience and min(losses[-self.patience :]) > before - self.tolerance
        return "validation" if stalled and best < len(losses) - 1 else ""

    def _cut_to_best(self, state: BoostState) -> BoostState:
        """Return the rounds up to the least validation loss, where early stopping was asked for."""
        if self.patience is None or not state.validation_losses:
            return state
        best = int(np.argmin(state.validation_losses)) + 1
        return replace(state, members=state.members[:best], weights=state.weights[:best], errors=state.errors[:best])

    def _check_first(self, state: BoostState, error: float) -> None:
        """Raise if the member that is no better than chance is the first."""
        if not state.members:
            raise DataError(
                f"BaseClassifier in {self.subject} ensemble is worse than random, ensemble can not be fit: the first "
                f"member errs on {error:.3g} of the weight. Give an estimator that can tell the classes apart."
            )


def compute_votes(shares: np.ndarray, size: float, algorithm: str) -> np.ndarray:
    """Return the vote v (K,) of each row of class shares p (K,); its entries sum to zero.

    ``"SAMME"`` gives (K-1)^2 / K times `size` to the class of the largest share, the first of equal ones; ``"real"``
    gives the minimiser of the loss, (K-1) (log p - mean log p), and ``"gentle"`` a Newton step, the mean of Y, both
    times `size`.
    """
    n_classes = shares.shape[1]
    if n_classes == 1:
        return np.zeros_like(shares, dtype=np.float64)
    if algorithm == "real":
        # Shares of zero are raised to the least positive one, so that the logarithm is finite.
        logs = np.log(np.clip(shares, _LEAST, None))
        return size * (n_classes - 1) * (logs - logs.mean(axis=1, keepdims=True))
    if algorithm == "gentle":
        # The mean of the coding Y: (K p - 1) / (K - 1).
        return size * (n_classes * shares - 1.0) / (n_classes - 1)
    # The coding of the chosen class: 1 there and -1 / (K - 1) elsewhere.
    coded = np.full(shares.shape, -1.0 / (n_classes - 1))
    coded[np.arange(len(shares)), shares.argmax(axis=1)] = 1.0
    return size * (n_classes - 1) ** 2 / n_classes * coded
