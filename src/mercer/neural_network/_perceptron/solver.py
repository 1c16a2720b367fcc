"""The fit of a perceptron, epoch by epoch or with the gradient over all rows."""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from mercer._objective import PowerPenalty
from mercer._solver.driver import Solver
from mercer._solver.step import Certificate, Solution, Step
from mercer._source import Source
from mercer._types import Array
from mercer.neural_network._perceptron.epoch import Epoch, SharedPasses
from mercer.neural_network._perceptron.passes import DensePasses, LayerPasses
from mercer.neural_network._perceptron.state import PerceptronState
from mercer.optim import LBFGS, ProximalGradient

# Below this an adaptive learning rate is not lowered further.
_LOWEST_RATE = 1e-6
# A mean loss this many times that of the first epoch, and larger than one, is divergence.
_DIVERGED = 1e6
# Rows whose passes are made together where the gradient is over all rows.
_BLOCK = 2048
# Relative decrease of the objective below which a method over all rows ends: 1e7 times the precision of doubles.
_SMALL = 2.2e-9
# The default tolerance, to which the decrease above belongs; a smaller tolerance asks for a smaller decrease.
_USUAL = 1e-4
# Epochs of a fit from which on its last weights are certified: the pass over all rows that this takes is then at most
# a twentieth of the work.
_CERTIFIED = 20
_NOISE = "Gradients of batches are noisy, and a network's objective has many minima: no bound on the distance is known."
_HELD_OUT = "The weights are those with the best score on rows held out, which are not meant to be stationary."
_STATIONARY = "Largest entry of the gradient over all rows: zero where the objective is stationary."
_PROXIMAL = (
    "Largest entry of the last proximal step, divided by its length: zero where no small move lowers the loss and the "
    "penalty together."
)


@dataclass(frozen=True, eq=False)
class Rules:
    """When epochs end, and how the learning rate changes between them.

    Parameters
    ----------
    tol : float
    patience : float
        Epochs without an improvement by `tol` that end the fit.
    schedule : {"constant", "invscaling", "adaptive"}
    rate : float
        The first learning rate.
    power : float
        The exponent of "invscaling".
    judge : callable or None
        From weights and statistics to a request whose answer is a validation score.
    keep_best : bool
        Whether the weights with the best validation score are kept.
    """

    tol: float
    patience: float
    schedule: str
    rate: float
    power: float
    judge: Callable[[PerceptronState], Any] | None = None
    keep_best: bool = False

    def describe(self, score: float) -> dict[str, float]:
        """Return what the history keeps of a validation score."""
        return {"validation_score": score}


def descend_in_epochs(shared: SharedPasses, state: PerceptronState, epochs: tuple[int, int], rules: Rules) -> Solver:
    """Run epochs from one number to another, or until the loss or the validation score no longer improves."""
    certificate = Certificate.none(_NOISE)
    first, (begun, last_epoch) = math.nan, epochs
    while state.epochs < last_epoch:
        before = state
        with np.errstate(all="ignore"):
            state, loss = yield Epoch(shared, before)
        first = loss if math.isnan(first) else first
        # The loss is not finite, or far above that of the first epoch: the state before it is kept.
        if not _is_sound(state, loss, first):
            return Solution(before, False, certificate, "diverged")
        score = None if rules.judge is None else (yield rules.judge(state))
        state, ended = _update(shared, rules, state, loss, score)
        extra = {"learning_rate": before.rate}
        if score is not None:
            extra |= rules.describe(float(score))
        yield Step(loss, state, certificate, extra)
        if ended:
            break
    else:
        ended = False
    if rules.keep_best:
        return Solution(state, ended, Certificate.none(_HELD_OUT))
    return Solution(state, ended, (yield _FullGradient(shared, state, begun, rules.tol)))


@dataclass(frozen=True, eq=False)
class _FullGradient:
    """A request: the certificate of the weights that a fit in epochs returns.

    It is the largest entry of the gradient, over all training rows, of the objective whose gradient the batches
    estimate: the mean loss, and the penalty divided by the mean weight of a batch. There is none where the pass costs
    more than a twentieth of the epochs, where rows are read from elsewhere, and where dropout or batch norm change the
    objective from step to step.
    """

    shared: SharedPasses
    state: PerceptronState
    begun: int
    tol: float

    def answer(self, source: Source) -> Certificate:
        plan = self.shared.plan
        few = self.state.epochs - self.begun < _CERTIFIED
        if few or source.place != "memory" or plan.dropout > 0 or plan.batch_norm:
            return Certificate.none(_NOISE)
        objective = _Objective(self.shared, source, [0])
        gradient = objective.evaluate(self.state.choose_model()[0], plan.batch_size).gradient
        return Certificate.of("gradient norm", float(np.max(np.abs(gradient))), self.tol, _STATIONARY)


def _is_sound(state: PerceptronState, loss: float, first: float) -> bool:
    """Return whether a state is finite, and its loss not far above that of the first epoch."""
    far = loss > _DIVERGED * max(first, 1.0)
    return bool(math.isfinite(loss) and not far and np.isfinite(state.theta).all())


def _update(
    shared: SharedPasses, rules: Rules, state: PerceptronState, loss: float, score: float | None
) -> tuple[PerceptronState, bool]:
    """Return the state with its stopping rule and averages brought up to date, and whether the fit ends."""
    watched = loss if score is None else -float(score)
    # No improvement by more than tol.
    stuck = watched > state.best - rules.tol
    stale = state.stale + 1 if stuck else 0
    best_theta, best_statistics = state.best_theta, state.best_statistics
    if rules.keep_best and watched < state.best:
        best_theta, best_statistics = state.theta, state.statistics
    state = replace(
        state,
        stale=stale,
        best=min(state.best, watched),
        best_loss=min(state.best_loss, loss),
        best_theta=best_theta,
        best_statistics=best_statistics,
        losses=(*state.losses, loss),
        scores=state.scores if score is None else (*state.scores, float(score)),
    )
    state = _average(shared, state)
    if rules.schedule == "invscaling":
        # rate / t^power with t the rows seen.
        state = replace(state, rate=rules.rate / (state.seen + 1.0) ** rules.power)
    if stale <= rules.patience:
        return state, False
    # Adaptive: a fifth of the rate, and new patience, until the rate is negligible.
    if rules.schedule == "adaptive" and state.rate > _LOWEST_RATE:
        return replace(state, rate=state.rate / 5.0, stale=0), False
    return state, True


def _average(shared: SharedPasses, state: PerceptronState) -> PerceptronState:
    """Take the weights at the end of an epoch into their average (Izmailov et al., 2018)."""
    start = shared.plan.average_from
    if start is None or state.epochs <= start:
        return state
    n = state.n_averaged
    average = state.theta if n == 0 else state.average + (state.theta - state.average) / (n + 1)
    return replace(state, average=average, n_averaged=n + 1)


@dataclass(frozen=True, eq=False)
class _Point:
    """A place, the value there, and the gradient: what methods of ``mercer.optim`` ask for."""

    parameters: Array
    objective: float
    gradient: Array


@dataclass(frozen=True, eq=False)
class _Asked:
    """A request: what a method of ``mercer.optim`` asks of its function, answered by the rows of the source."""

    shared: SharedPasses
    question: Any
    counter: list[int]

    smooth: bool = False

    def answer(self, source: Source) -> Any:
        return self.question.answer(_Objective(self.shared, source, self.counter, self.smooth))


class _Objective:
    """The penalised mean loss over all rows, with the methods that questions of ``mercer.optim`` call.

    With `smooth` it is the mean loss alone, and :attr:`penalty` is what proximal steps add to it.
    """

    def __init__(self, shared: SharedPasses, source: Source, counter: list[int], smooth: bool = False) -> None:
        self.shared, self.source, self.counter, self.smooth = shared, source, counter, smooth

    @property
    def penalty(self) -> "_WeightPenalty":
        rows = self.shared.list_rows(self.source.n_rows, self.source.weight)
        weight = self.source.weight
        total = float(len(rows) if weight is None else np.sum(np.asarray(weight)[rows]))
        plan = self.shared.plan
        return _WeightPenalty(PowerPenalty(plan.power, plan.alpha / total), plan.is_weight)

    def read_number(self, name: str, value: float) -> float:
        return value

    def check_vector(self, name: str, value: Array, x: Array) -> Array:
        return value

    def value(self, theta: Array) -> float:
        return self.evaluate(theta).objective

    def evaluate(self, theta: Array, batch_size: int | None = None) -> _Point:
        """Return the objective and its gradient in double precision; the penalty as in batches of that size, if any."""
        shared, source = self.shared, self.source
        # The rows are in memory: there are no tensors.
        passes = cast("DensePasses | LayerPasses", shared.open(source, _BLOCK))
        rows = np.ascontiguousarray(shared.list_rows(source.n_rows, source.weight), dtype=np.intp)
        loss, gradient, weight = 0.0, np.zeros(theta.shape), 0.0
        with np.errstate(all="ignore"):
            for first in range(0, len(rows), passes.most_rows):
                value, part, total = passes.differentiate(theta, rows[first : first + passes.most_rows])
                loss, weight = loss + total * float(value), weight + total
                gradient += total * part
            penalty, slope = (0.0, 0.0) if self.smooth else shared.plan.penalty(theta, np)
        # Batches each carry the penalty once: the mean over batches of loss and penalty.
        n_batches = 1 if batch_size is None else -(-len(rows) // batch_size)
        penalty, slope = n_batches * penalty, n_batches * slope
        self.counter[0] += 1
        objective = (loss + float(penalty)) / weight
        gradient = (gradient + slope) / weight
        if shared.plan.mask is not None:
            gradient = gradient * shared.plan.mask
        return _Point(theta, objective if math.isfinite(objective) else math.inf, gradient)


@dataclass(frozen=True, eq=False)
class _WeightPenalty:
    """A penalty of the weights, which leaves biases alone."""

    penalty: PowerPenalty
    is_weight: np.ndarray

    def value(self, theta: Array) -> float:
        return self.penalty.value(theta[self.is_weight])

    def prox(self, theta: Array, step: float) -> Array:
        moved = theta.copy()
        moved[self.is_weight] = self.penalty.prox(theta[self.is_weight], step)
        return moved


def descend_on_all_rows(
    shared: SharedPasses, method: Any, state: PerceptronState, limits: tuple[int, int, float]
) -> Generator[Any, Any, Solution]:
    """Minimise by a method of ``mercer.optim`` with the gradient over all rows; `limits`: steps, evaluations, tol.

    A penalty of a power up to one has a corner at zero, where many weights end and no gradient exists: L-BFGS goes
    quickly to near a minimum and ends beside its corners, into which proximal steps then go.
    """
    plan = shared.plan
    if not isinstance(method, LBFGS) or plan.alpha == 0 or plan.power > 1:
        return (yield from _descend(shared, method, state, limits))
    # What proximal steps remember has no gradient: the fit goes on from a checkpoint among them.
    if state.inner is None or state.inner.gradient is not None:
        solution = yield from _descend(shared, method, state, limits)
        if solution.state.epochs >= limits[0] or solution.reason == "diverged":
            return solution
        state = replace(solution.state, inner=None)
    return (yield from _descend(shared, ProximalGradient(), state, limits))


def _descend(
    shared: SharedPasses, method: Any, state: PerceptronState, limits: tuple[int, int, float]
) -> Generator[Any, Any, Solution]:
    """Minimise by one method."""
    max_iter, max_fun, tol = limits
    smooth = isinstance(method, ProximalGradient)
    counter = [state.evaluations]
    # A fit that goes on from a checkpoint has what the method remembers; its bits are then those of one fit.
    inner = method.solve(state.theta.astype(np.float64) if state.inner is None else state.inner)
    certificate, answer = Certificate.none(_NOISE), None
    last = math.inf if state.inner is None else state.inner.value
    while True:
        try:
            item = inner.send(answer)
        except StopIteration as end:
            # The method found no lower point, because rounding hides any descent, or the steps grew without end.
            reason = "diverged" if end.value.reason == "diverged" else "line_search"
            return Solution(state, certificate.satisfied, certificate, reason)
        if not isinstance(item, Step):
            if counter[0] >= max_fun:
                return Solution(state, False, certificate)
            answer = yield _Asked(shared, item, counter, smooth)
            continue
        answer = None
        reached = item.state
        certificate = _certify_point(item, smooth, tol)
        state = replace(
            state,
            theta=reached.x.astype(state.theta.dtype),
            epochs=state.epochs + 1,
            steps=state.steps + 1,
            losses=(*state.losses, reached.value),
            best_loss=min(state.best_loss, reached.value),
            inner=reached,
            evaluations=counter[0],
        )
        yield Step(reached.value, state, certificate, {"gradient_norm": certificate.value})
        # Like SciPy's L-BFGS-B, a step that changes the objective by little more than its rounding ends the fit.
        least = _SMALL * min(1.0, tol / _USUAL) * max(abs(last), abs(reached.value), 1.0)
        small = last < math.inf and last - reached.value < least
        last = reached.value
        if certificate.satisfied or small:
            return Solution(state, True, certificate)
        if state.epochs >= max_iter:
            return Solution(state, False, certificate)


def _certify_point(item: Step, proximal: bool, tol: float) -> Certificate:
    """Return how far from stationary the point of a step is: by its gradient, or by the last proximal step."""
    if proximal:
        return Certificate.of("proximal gradient norm", item.extra["gradient_norm"], tol, _PROXIMAL)
    return Certificate.of("gradient norm", float(np.max(np.abs(item.state.gradient))), tol, _STATIONARY)
