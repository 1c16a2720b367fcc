"""Stochastic gradient descent on a penalised loss, one row or a small batch at a time (Robbins and Monro, 1951).

A step of the solver is an epoch: every row is visited once, in an order drawn from the seed and the epoch's number. In
memory that is any order of all rows; rows that are read front to back are shuffled within their blocks only. Several
scores (one class against the rest, each) are descents of their own over the same order, and end one by one.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._native.linear import stochastic
from mercer._objective import Loss
from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.request import Map
from mercer._solver.step import Certificate, Solution, Step
from mercer._source import Block
from mercer._types import Array
from mercer.errors import DataError
from mercer.linear_model._solvers.stochastic.epochs import DIVERGED, LOWEST_RATE, STEEPEST, Epoch, Epochs, EpochSums

_STATEMENT = (
    "The steps follow the gradients of single rows, and no bound is known on how far the last one is from the optimum."
)
# The schedule of passive-aggressive steps that are bounded by the rate; see :mod:`mercer._native.linear.stochastic`.
_BOUNDED_STEPS = 3


@plain
@dataclass(frozen=True, eq=False)
class StochasticState:
    """Parameters of k scores after an epoch, and all that the next one needs.

    ``coef`` (k, d) and ``intercept`` (k,) are where steps go on, ``average_*`` their averages, ``owed`` and ``due``
    the account of the l1 penalty, ``t`` the number of each score's next step, ``rate`` its learning rate, ``best`` its
    best objective or validation score (negated), ``stale`` the epochs since, ``active`` whether it goes on; ``last``
    the objective of the last epoch.
    """

    coef: Array
    intercept: Array
    average_coef: Array
    average_intercept: Array
    owed: Array
    due: Array
    t: Array
    rate: Array
    best: Array
    stale: Array
    active: Array
    last: Array
    epochs: int
    seed: tuple[int, ...]

    @classmethod
    def begin(cls, coef: Array, intercept: Array, descent: "Descent", seed: tuple[int, ...]) -> "StochasticState":
        """Return the state before the first epoch."""
        k, d = coef.shape
        return cls(
            coef,
            intercept,
            np.zeros((k, d if descent.average else 0)),
            np.zeros(k),
            np.zeros((k, d if descent.l1 > 0 else 0)),
            np.zeros(k),
            np.ones(k),
            np.full(k, descent.rate),
            np.full(k, np.inf),
            np.zeros(k, dtype=np.int64),
            np.ones(k, dtype=bool),
            np.full(k, np.nan),
            0,
            seed,
        )

    def choose_model(self, average: int) -> tuple[Array, Array]:
        """Return coefficients and intercepts to predict with: averages for scores whose averaging has begun."""
        begun = (self.t > average) if average else np.zeros(len(self.t), dtype=bool)
        if not begun.any():
            return self.coef, self.intercept
        coef = np.where(begun[:, None], self.average_coef, self.coef)
        return coef, np.where(begun, self.average_intercept, self.intercept)

    def resume(self, descent: "Descent") -> "StochasticState":
        """Return the state as the start of further epochs on other rows; newly enabled averages start at zero."""
        k, d = self.coef.shape
        average = np.zeros((k, d)) if descent.average and not self.average_coef.size else self.average_coef
        return replace(
            self,
            average_coef=average if descent.average else np.zeros((k, 0)),
            # The account of the l1 penalty starts anew: the debts belong to the earlier rows.
            owed=np.zeros((k, d if descent.l1 > 0 else 0)),
            due=np.zeros(k),
            best=np.full(k, np.inf),
            stale=np.zeros(k, dtype=np.int64),
            active=np.ones(k, dtype=bool),
        )


@dataclass(frozen=True, eq=False)
class Descent:
    """The objective and the steps of a stochastic gradient descent.

    Parameters
    ----------
    loss : Loss
        One of those that native code knows.
    labels : bool
        Whether targets are the numbers of classes.
    l1, l2 : float
        Strengths of the penalties |w| and |w|^2 / 2.
    fit_intercept : bool
    schedule, rate, power, origin : int and floats
        The learning rates; see :mod:`mercer._native.linear.stochastic`.
    adaptive : bool
        Whether a rate is divided by five where the descent would otherwise end.
    average : int
        The step from which parameters are averaged; 0 for never.
    batch_size : int
    shuffle : bool
    tol : float or None
    n_iter_no_change : int
    judge : request or None
        Gives a validation score for each score's parameters, which the stopping rule then looks at.
    training : array or None
        The numbers of the rows to learn from; None for all.
    tilt : float
        Slope of the objective in the intercept, besides that of the losses.
    """

    loss: Loss
    labels: bool
    l1: float
    l2: float
    fit_intercept: bool
    schedule: int
    rate: float
    power: float
    origin: float
    adaptive: bool
    average: int
    batch_size: int
    shuffle: bool
    tol: float | None
    n_iter_no_change: int
    judge: Any = None
    training: Array = None
    tilt: float = 0.0

    @property
    def slope_is_bounded(self) -> bool:
        """Whether no step can be longer than the rate times a row, so that rates cannot diverge exponentially."""
        return self.loss.is_lipschitz

    @property
    def reach(self) -> float:
        """The mean loss at zero scores above which steps may be lost in the rounding of the targets; none is if inf.

        Passive-aggressive steps along a row of length zero move the intercept by the rate at most.
        """
        bounded = self.schedule == _BOUNDED_STEPS and self.slope_is_bounded and not self.labels
        return self.rate / float(np.finfo(np.float64).eps) if bounded else math.inf

    def make_method(self) -> Any:
        """Return the loss, the rates and the penalties as native code takes them."""
        # A loss of labels has the targets 0 and 1; one of numbers is given -1 and 1 by classifiers.
        loss = (self.loss.native, self.loss.shape, 0.0 if self.loss.target == "labels" else -1.0)
        rates = (self.schedule, self.power, self.origin)
        return stochastic.Method(*loss, *rates, self.fit_intercept, self.l1, self.l2, float(self.average), self.tilt)

    def penalties(self, coef: Array, intercept: Array) -> Array:
        """Return the penalty of each score's parameters."""
        with np.errstate(all="ignore"):
            smooth = 0.5 * self.l2 * np.square(coef).sum(axis=1) + self.tilt * intercept
            return self.l1 * np.abs(coef).sum(axis=1) + smooth if self.l1 > 0 else smooth


def stochastic_gradient(
    descent: Descent, state: StochasticState, last_epoch: int, subject: str, watched: bool = True
) -> Solver:
    """Run epochs up to the one of that number, or until every score has met its stopping rule.

    Where nobody looks at the state after each epoch (`watched`), many epochs of a small table are one step.
    """
    certificate = Certificate.none(_STATEMENT)
    while state.active.any() and state.epochs < last_epoch:
        before = state
        run = yield Epochs(descent, before, 1 if watched else last_epoch - before.epochs)
        if run is not None:
            state, objectives, updates = run.state, run.objectives.tolist(), run.updates.tolist()
            earlier = {"objective": objectives[:-1], "updates": updates[:-1]} if len(objectives) > 1 else None
            yield Step(objectives[-1], state, certificate, {"updates": updates[-1]}, earlier)
            continue
        state, sums = yield Epoch(descent, before)
        _check_finite(state, subject, None if _is_finite(state, sums) else (yield Map(find_squared_norms)))
        _check_reach(descent, sums, subject)
        if np.any(sums.loss_at_zero > descent.reach):
            _check_bounded_steps(descent, sums, subject, (yield Map(find_squared_norms)))
        score = None if descent.judge is None else (yield replace(descent.judge, state=state))
        state = _update_rules(descent, before, state, sums, score)
        extra = {"updates": float(sums.updates.sum())}
        if score is not None:
            extra["validation_score"] = float(np.mean(score))
        yield Step(float(state.last.sum()), state, certificate, extra)
        if _is_lost(descent, before, state, sums):
            return Solution(state, False, certificate, reason="diverged")
    return Solution(state, bool(not state.active.any() or descent.tol is None), certificate)


def _update_rules(
    descent: Descent, before: StochasticState, state: StochasticState, sums: EpochSums, score: Array | None
) -> StochasticState:
    """Return the state with its stopping rules brought up to date."""
    active = before.active
    # The losses were met on the way, at parameters that changed; the penalty is that of the last ones. An exact
    # objective would take another pass.
    objective = sums.loss + descent.penalties(state.coef, state.intercept)
    all_active = bool(active.all())
    objective = objective if all_active else np.where(active, objective, before.last)
    watched = objective if score is None else -score
    # NaN compares as false, so that it never counts as no progress; divergence is detected elsewhere.
    stuck = np.zeros(len(active), dtype=bool) if descent.tol is None else watched > before.best - descent.tol
    stale, best = (before.stale + 1) * stuck, np.minimum(before.best, watched)
    if not all_active:
        stale, best = np.where(active, stale, before.stale), np.where(active, best, before.best)
    ended = active & (stale >= descent.n_iter_no_change)
    rate = state.rate
    if descent.adaptive:
        lowered = ended & (rate > LOWEST_RATE)
        rate, stale, ended = np.where(lowered, rate / 5.0, rate), np.where(lowered, 0, stale), ended & ~lowered
    if descent.l1 == 0 and descent.l2 == 0:
        # No update and no penalty: all later epochs would be the same.
        ended = ended | (active & (sums.updates == 0))
    return replace(state, rate=rate, best=best, stale=stale, active=active & ~ended, last=objective)


def _is_lost(descent: Descent, before: StochasticState, state: StochasticState, sums: EpochSums) -> bool:
    """Return whether the losses diverge: far above those of all-zero scores in two epochs, and rising."""
    if descent.slope_is_bounded or descent.schedule == 1:
        return False
    # Two epochs in a row, since the first steps of a sound fit may overshoot too.
    far = DIVERGED * sums.loss_at_zero
    return bool(np.any((before.last > far) & (state.last > before.last)))


def _is_finite(state: StochasticState, sums: EpochSums) -> bool:
    # A finite sum has finite terms; only a sum that is not, by overflow too, asks for a look at each.
    with np.errstate(all="ignore"):
        if math.isfinite(state.coef.sum() + state.intercept.sum()) and not math.isnan(sums.loss.sum()):
            return True
    return bool(np.isfinite(state.coef).all() and np.isfinite(state.intercept).all() and not np.isnan(sums.loss).any())


def _check_finite(state: StochasticState, subject: str, lengths: Array | None) -> None:
    if lengths is None:
        return
    largest = float(np.max(lengths))
    cure = f" or try eta0={1.0 / (1.0 + largest):.1g} with learning_rate='constant'" if math.isfinite(largest) else ""
    raise DataError(
        f"{subject}: Floating-point under-/overflow occurred at epoch #{state.epochs}. Scaling input data with "
        f"StandardScaler or MinMaxScaler might help. The largest squared norm of a row is {largest:.3g}; scale the "
        f"columns{cure}."
    )


def _check_reach(descent: Descent, sums: EpochSums, subject: str) -> None:
    """Raise an error if residuals are so large that their steps are clipped: such targets are never reached."""
    if descent.slope_is_bounded or not np.any(sums.loss_at_zero > 0.5 * STEEPEST**2):
        return
    raise DataError(
        f"{subject}: steps are clipped where the loss is steeper than {STEEPEST:.0e}, and with targets of a mean "
        f"square of {2.0 * float(np.max(sums.loss_at_zero)):.3g} it is. Scale the targets, for instance by "
        f"scikit-learn's TransformedTargetRegressor."
    )


def _check_bounded_steps(descent: Descent, sums: EpochSums, subject: str, lengths: Array) -> None:
    """Raise an error if the longest step changes a score by less than the rounding of the targets."""
    step, largest = descent.rate * (1.0 + float(np.max(lengths))), float(np.max(sums.loss_at_zero))
    if largest * float(np.finfo(np.float64).eps) <= step:
        return
    raise DataError(
        f"{subject}: a step changes a score by {step:.3g} at most, which is lost in the rounding of targets with a "
        f"mean size of {largest:.3g}. Scale the targets, for instance by scikit-learn's TransformedTargetRegressor."
    )


def find_squared_norms(block: Block) -> Array:
    """Return the squared norm of each row; infinite where it overflows."""
    with np.errstate(all="ignore"):
        return block.sum_squares()
