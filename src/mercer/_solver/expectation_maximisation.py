"""Expectation maximisation: one engine for every model with hidden variables (Dempster, Laird and Rubin, 1977).

With any distribution q of the hidden variables z, the log-likelihood has the lower bound

    F(q, theta) = sum_z q(z) log p(X, z | theta) + H(q) = log p(X | theta) - KL(q, p(z | X, theta)).

The E step raises F to the log-likelihood itself by q = p(z | X, theta); the M step raises it by theta. So the
likelihood never falls, which the engine asserts: a fall means that a step is wrong. A log prior of theta, added to the
M step and to the objective, gives the mode of the posterior; putting all of q on the best z (hard EM) climbs the
likelihood of the completed data instead. The limit is a stationary point: mostly a local maximum, in principle a
saddle.

A model says what one pass over the rows is to sum (:meth:`Model.expectation`), so that rows may be anywhere, and the
responsibilities of all of them never exist at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.step import Certificate, Solution, Step
from mercer.errors import DataError

__all__ = ["AscentState", "CollapseError", "ExpectationMaximisation", "Model", "ascent"]

Array = Any
# Runs that end in one optimum differ by rounding: the first is kept.
_EQUAL = 1e-9
# A fall of the objective by more than this part of it is none of rounding.
_ROUNDING = 1e-8
_STATEMENT = (
    "The gain of the expected complete-data objective in one more M step, per unit of weight: what one more EM "
    "iteration is certain to add to the objective, at least (where a floor on variances makes the M step inexact, by "
    "how much it changes it). Zero at a stationary point; it bounds nothing globally."
)


class CollapseError(DataError):
    """An M step found a component without a density: raised with its number and what to do about it."""

    def __init__(self, component: int, cure: str = "") -> None:
        super().__init__(component, cure)
        self.component = component
        self.cure = cure


class Model(Protocol):
    """What the engine asks of a model. ``expected`` is whatever the request of the E step is answered with."""

    def expectation(self, parameters: Any) -> Any:
        """A request for the E step: a statistic, or anything the driver can answer."""

    def maximisation(self, expected: Any, parameters: Any) -> Any:
        """The M step: the best parameters given what the E step at `parameters` expects."""

    def objective(self, expected: Any, parameters: Any) -> float:
        """The log-likelihood (plus log prior) at the parameters of the E step, per unit of weight."""

    def gain(self, expected: Any, parameters: Any, better: Any) -> float:
        """By how much `better` raises the expected complete-data objective; NaN where nobody can tell."""

    def slack(self, parameters: Any, better: Any) -> float:
        """By how much an M step that is not exact (a floor on variances) may lower the objective, at most."""


@plain
@dataclass(frozen=True)
class AscentState:
    """A run under way, and the best of those completed, with ``kept_restart`` -1 while there is none.

    ``objective`` is that of the parameters before the last M step, and of ``kept_parameters`` themselves. ``dtype`` is
    the type that a model's arrays are given in.
    """

    seed: Array
    restart: int
    iteration: int
    parameters: Any
    objective: float
    stopped: bool
    kept_restart: int
    kept_iteration: int
    kept_parameters: Any
    kept_objective: float
    kept_gain: float
    kept_stopped: bool
    dtype: str

    def best(self) -> tuple[Any, int, int]:
        """Parameters, restart and iterations of the best run so far, completed or not."""
        if self.kept_restart < 0 or self.improves():
            return self.parameters, self.restart, self.iteration
        return self.kept_parameters, self.kept_restart, self.kept_iteration

    def improves(self) -> bool:
        """Whether the run under way is better than the best completed one, by more than rounding."""
        if not np.isfinite(self.kept_objective):
            return self.objective > self.kept_objective
        return self.objective > self.kept_objective + _EQUAL * (1.0 + abs(self.kept_objective))


def ascent(gain: float, tolerance: float) -> Certificate:
    """The certificate of EM: what one more iteration is certain to add."""
    if np.isnan(gain):
        return Certificate.none("The expected complete-data objective was not given, so nothing bounds what is left.")
    return Certificate.of("likelihood ascent", abs(gain), tolerance, _STATEMENT)


@dataclass(frozen=True)
class ExpectationMaximisation:
    """The solver and what it is told.

    Parameters
    ----------
    prepare : callable
        A generator that returns the model, after what passes it needs.
    start : callable
        From the model and the seed of a restart to a generator that returns first parameters.
    n_init, max_iter, tol :
        A run ends when the objective changes by less than `tol`.
    seed : SeedSequence
        The root of all restarts. A state carries it, so that a resumed fit draws what the first one would have drawn.
    subject : str
        Who fits, for errors.
    before : float
        The objective that the first run is measured by: minus infinity, unless it continues an earlier fit.
    dtype : str
        The type that the model's arrays are given in.
    """

    prepare: Callable[[], Any]
    start: Callable[[Any, np.random.SeedSequence], Any]
    n_init: int
    max_iter: int
    tol: float
    seed: np.random.SeedSequence
    subject: str
    before: float = -np.inf
    dtype: str = "float64"

    def solve(self, state: AscentState | None = None) -> Solver:
        """Run all restarts, from the beginning or from a state."""
        model = yield from self.prepare()
        if state is None:
            seed = self.seed.generate_state(8)
            first = yield from self._started(model, seed, 0)
            kept = (-1, 0, first, -np.inf, np.nan, False)
            state = AscentState(seed, 0, 0, first, self.before, False, *kept, self.dtype)
        while True:
            state = yield from self._climb(model, state)
            state = yield from self._keep_better(model, state)
            if state.restart + 1 >= self.n_init:
                break
            first = yield from self._started(model, state.seed, state.restart + 1)
            state = replace(
                state, restart=state.restart + 1, iteration=0, parameters=first, objective=-np.inf, stopped=False
            )
        reason = "max_iter" if self.max_iter else "no steps"
        reason = "converged" if state.kept_stopped else reason
        return Solution(state, state.kept_stopped, ascent(state.kept_gain, self.tol), reason)

    def _started(self, model: Model, seed: Array, restart: int) -> Any:
        """First parameters of a run."""
        try:
            return (yield from self.start(model, _child(seed, restart)))
        except CollapseError as error:
            message = f"{self.subject}: component {error.component} collapsed at the start. {error.cure}"
            raise DataError(message) from error

    def _climb(self, model: Model, state: AscentState) -> Any:
        """Iterate one run until the objective changes by less than the tolerance."""
        # What an earlier call left is compared with nothing: nobody knows how exact its last step was.
        slack = np.inf
        while not state.stopped and state.iteration < self.max_iter:
            expected = yield model.expectation(state.parameters)
            value = model.objective(expected, state.parameters)
            change = value - state.objective
            self._check(value, change, slack, state.iteration)
            parameters = self._improved(model, expected, state)
            slack = model.slack(state.parameters, parameters)
            state = replace(
                state,
                iteration=state.iteration + 1,
                parameters=parameters,
                objective=value,
                stopped=bool(abs(change) < self.tol),
            )
            extra = {"restart": float(state.restart), "change": float(change)}
            yield Step(value, state, extra=extra)
        return state

    def _improved(self, model: Model, expected: Any, state: AscentState) -> Any:
        try:
            return model.maximisation(expected, state.parameters)
        except CollapseError as error:
            where = f"component {error.component} collapsed at iteration {state.iteration + 1}"
            message = f"{self.subject}: {where}. {error.cure}"
            raise DataError(message) from error

    def _check(self, value: float, change: float, slack: float, iteration: int) -> None:
        if not np.isfinite(value):
            message = (
                f"{self.subject}: the objective must be finite; got {value:g} at iteration {iteration + 1}. Scale the "
                f"columns, or look for rows that no component can have made."
            )
            raise DataError(message)
        if change < -slack - _ROUNDING * (1.0 + abs(value)):
            message = (
                f"{self.subject}: the objective of EM must not fall; it fell by {-change:.3g} to {value:.9g} at "
                f"iteration {iteration + 1}. The E step or the M step is not exact: check them against their formulas."
            )
            raise DataError(message)

    def _keep_better(self, model: Model, state: AscentState) -> Any:
        """Measure the parameters that the run ended with, and keep them if they are the best so far."""
        expected = yield model.expectation(state.parameters)
        state = replace(state, objective=model.objective(expected, state.parameters))
        if state.kept_restart < 0 or state.improves():
            gain = self._gain(model, expected, state)
            state = replace(
                state,
                kept_restart=state.restart,
                kept_iteration=state.iteration,
                kept_parameters=state.parameters,
                kept_objective=state.objective,
                kept_gain=float(gain),
                kept_stopped=state.stopped,
            )
        return state

    def _gain(self, model: Model, expected: Any, state: AscentState) -> float:
        try:
            better = model.maximisation(expected, state.parameters)
        except CollapseError:
            return np.inf
        return model.gain(expected, state.parameters, better)


def _child(seed: Array, number: int) -> np.random.SeedSequence:
    """The seed of one restart."""
    return np.random.SeedSequence(seed.tolist(), spawn_key=(number,))
