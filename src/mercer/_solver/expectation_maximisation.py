"""Expectation maximisation: one engine for every model with hidden variables (Dempster, Laird and Rubin, 1977).

With any distribution q of the hidden variables z, the log-likelihood has the lower bound

    F(q, theta) = sum_z q(z) log p(X, z | theta) + H(q) = log p(X | theta) - KL(q, p(z | X, theta)).

The E step raises F to the log-likelihood itself by q = p(z | X, theta); the M step raises it by theta. So the
likelihood never falls, which the engine asserts: a fall means that a step is wrong. A log prior of theta, added to the
M step and to the objective, gives the mode of the posterior; putting all of q on the best z (hard EM) climbs the
likelihood of the completed data instead. The limit is a stationary point: mostly a local maximum, in principle a
saddle.

A model says what one pass over the rows must sum (:meth:`Model.expectation`), so that rows may be anywhere, and the
responsibilities of all rows never exist at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.restarts import Restarts, keep_best_run
from mercer._solver.step import Certificate, Solution, Step
from mercer.errors import DataError

# Runs whose objectives differ by less than this relative amount ended in the same optimum: the first is kept.
_EQUAL = 1e-9
# A larger relative drop of the objective cannot be rounding.
_ROUNDING = 1e-8
_STATEMENT = (
    "The gain of the expected complete-data objective in one more M step, per unit of weight: what one more EM "
    "iteration is certain to add to the objective, at least (where a floor on variances makes the M step inexact, by "
    "how much it changes it). Zero at a stationary point; it bounds nothing globally."
)


class CollapseError(DataError):
    """An M step found a component without a density; ``component`` is its index, ``cure`` what the user can do."""

    def __init__(self, component: int, cure: str = "") -> None:
        super().__init__(component, cure)
        self.component = component
        self.cure = cure


class Model(Protocol):
    """What the engine asks of a model. ``expected`` is the answer to the request of the E step."""

    def expectation(self, parameters: Any) -> Any:
        """Return the request of the E step: a statistic, or any other request that the driver can answer."""

    def maximisation(self, expected: Any, parameters: Any) -> Any:
        """Return the M step: the theta that maximises E_q[log p(X, z | theta)] plus the log prior."""

    def objective(self, expected: Any, parameters: Any) -> float:
        """Return the log-likelihood, plus the log prior, at the parameters of the E step, per unit of weight."""

    def gain(self, expected: Any, parameters: Any, better: Any) -> float:
        """Return the rise of the expected complete-data objective from `parameters` to `better`; NaN if unknown."""

    def slack(self, parameters: Any, better: Any) -> float:
        """Return the most that an inexact M step (one with a floor on variances) can lower the objective by."""


@plain
@dataclass(frozen=True, eq=False)
class AscentRun:
    """One run of EM.

    ``objective`` is that of the parameters before the last M step, and of ``parameters`` themselves once the run is
    complete; ``gain`` is what one more M step would add to a completed run, in the sense of :meth:`Model.gain`.
    """

    iteration: int
    parameters: Any
    objective: float = -np.inf
    gain: float = np.nan
    stopped: bool = False

    def improves_on(self, other: "AscentRun") -> bool:
        """Return whether the objective is higher than that of `other` by more than rounding."""
        if not np.isfinite(other.objective):
            # Infinity minus infinity would make every comparison false.
            return self.objective > other.objective
        return self.objective > other.objective + _EQUAL * (1.0 + abs(other.objective))


def certify_ascent(gain: float, tolerance: float) -> Certificate:
    """Return the certificate of EM: a lower bound on what one more iteration adds to the objective."""
    if np.isnan(gain):
        return Certificate.none("The expected complete-data objective was not given, so nothing bounds what is left.")
    return Certificate.of("likelihood ascent", abs(gain), tolerance, _STATEMENT)


@dataclass(frozen=True)
class ExpectationMaximisation:
    """The solver and its settings.

    Parameters
    ----------
    prepare : callable
        A generator that returns the model, after the passes over the rows that it needs.
    start : callable
        From the model and the seed of a restart to a generator that returns first parameters.
    n_init, max_iter, tol :
        A run ends when the objective changes by less than `tol`.
    seed : SeedSequence
        The root of the seeds of all restarts.
    subject : str
        The name that errors begin with.
    before : float
        The objective that the first iteration of the first run is compared with: minus infinity, unless it continues an
        earlier fit.
    """

    prepare: Callable[[], Any]
    start: Callable[[Any, np.random.SeedSequence], Any]
    n_init: int
    max_iter: int
    tol: float
    seed: np.random.SeedSequence
    subject: str
    before: float = -np.inf

    def solve(self, state: Restarts | None = None) -> Solver:
        """Run all restarts, from the beginning or from `state`."""
        model = yield from self.prepare()
        begin, complete = partial(self._begin, model), partial(self._iterate, model)
        state = yield from keep_best_run(begin, complete, self.n_init, self.seed.generate_state(8), state)
        best = state.best
        reason = "max_iter" if self.max_iter else "no steps"
        reason = "converged" if best.stopped else reason
        return Solution(state, best.stopped, certify_ascent(best.gain, self.tol), reason)

    def _begin(self, model: Model, seed: np.random.SeedSequence, restart: int) -> Any:
        """Return a run at its first parameters."""
        try:
            parameters = yield from self.start(model, seed)
        except CollapseError as error:
            raise DataError(
                f"{self.subject}: component {error.component} collapsed at the start. {error.cure}"
            ) from error
        return AscentRun(0, parameters, self.before if restart == 0 else -np.inf)

    def _iterate(self, model: Model, run: AscentRun) -> Any:
        """Iterate one run until the objective changes by less than the tolerance; return it with its own objective."""
        # The first objective is compared with nothing: the exactness of the last step of an earlier fit is not known.
        slack = np.inf
        while not run.stopped and run.iteration < self.max_iter:
            # The expectation at the parameters also gives the objective there: one pass for both.
            expected = yield model.expectation(run.parameters)
            value = model.objective(expected, run.parameters)
            change = value - run.objective
            self._check(value, change, slack, run.iteration)
            parameters = self._maximise(model, expected, run)
            # How far the next objective may fall where the M step is not exact.
            slack = model.slack(run.parameters, parameters)
            stopped = bool(abs(change) < self.tol)
            if stopped and slack > self.tol:
                # Then the objective may rest while the parameters still move.
                stopped = abs(model.gain(expected, run.parameters, parameters)) <= self.tol
            run = AscentRun(run.iteration + 1, parameters, value, np.nan, stopped)
            yield Step(value, run, extra={"change": float(change)})
        # After the last M step the objective of the final parameters is still unknown.
        expected = yield model.expectation(run.parameters)
        run = replace(run, objective=model.objective(expected, run.parameters))
        return replace(run, gain=float(self._measure_gain(model, expected, run)))

    def _maximise(self, model: Model, expected: Any, run: AscentRun) -> Any:
        """Return the parameters of the next M step; raise with the iteration if a component collapses."""
        try:
            return model.maximisation(expected, run.parameters)
        except CollapseError as error:
            where = f"component {error.component} collapsed at iteration {run.iteration + 1}"
            raise DataError(f"{self.subject}: {where}. {error.cure}") from error

    def _check(self, value: float, change: float, slack: float, iteration: int) -> None:
        """Raise if the objective `value` is not finite, or fell by more than `slack` and rounding allow."""
        if not np.isfinite(value):
            raise DataError(
                f"{self.subject}: the objective must be finite; got {value:g} at iteration {iteration + 1}. Scale the "
                f"columns, or look for rows that no component can have made."
            )
        if change < -slack - _ROUNDING * (1.0 + abs(value)):
            raise DataError(
                f"{self.subject}: the objective of EM must not fall; it fell by {-change:.3g} to {value:.9g} at "
                f"iteration {iteration + 1}. The E step or the M step is not exact: check them against their formulas."
            )

    def _measure_gain(self, model: Model, expected: Any, run: AscentRun) -> float:
        """Return the gain of one more M step at `run`; infinity if a component would collapse in it."""
        try:
            better = model.maximisation(expected, run.parameters)
        except CollapseError:
            return np.inf
        return model.gain(expected, run.parameters, better)
