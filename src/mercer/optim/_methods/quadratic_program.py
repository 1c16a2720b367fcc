"""Convex quadratic programs by a primal-dual interior point, with the duality gap as certificate."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import lstsq

from mercer._base.parameter import Real, check_parameters
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Step
from mercer.errors import DataError
from mercer.optim._result import Iterate, Result, run
from mercer.optim._stopping import MaxIter, StopRule

_STATEMENT = (
    "Sum of slack times multiplier plus what equations and stationarity are off: the duality gap once those hold."
)
# How near a step may come to the wall of the positive orthant (Nocedal and Wright, 2006, section 16.6).
_TO_THE_WALL = 0.995
# The least share of the mean of slack times multiplier that one constraint may have after a step, if it had it before:
# of 402 random programs two ran in circles without it, and none with it, in as many steps.
_CENTRAL = 1e-3
# Most cuts of a step by a tenth: after 40 a hundredth of it is left.
_MOST_CUTS = 40
# Beyond this many times the size of the data a point is no answer: double precision has no digits left for it.
_FAR = 1e12


@plain
@dataclass(frozen=True, eq=False)
class QuadraticProgramState:
    """Parameters, value and gradient; multipliers of equations and inequalities; the slack of inequalities."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    equality_multipliers: np.ndarray
    inequality_multipliers: np.ndarray
    slack: np.ndarray
    n_steps: int


@dataclass(frozen=True, eq=False)
class Program:
    """min x . H x / 2 + c . x subject to A x <= b and E x = e."""

    H: np.ndarray
    c: np.ndarray
    A: np.ndarray
    b: np.ndarray
    E: np.ndarray
    e: np.ndarray

    def state(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, s: np.ndarray, n_steps: int) -> QuadraticProgramState:
        """Return the state at a point with its multipliers and slack."""
        product = self.H @ x
        return QuadraticProgramState(x, float(0.5 * x @ product + self.c @ x), product + self.c, y, z, s, n_steps)

    def residuals(self, state: QuadraticProgramState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the residuals of stationarity, inequalities and equations."""
        y, z = state.equality_multipliers, state.inequality_multipliers
        return (
            state.gradient + self.A.T @ z + self.E.T @ y,
            self.A @ state.x + state.slack - self.b,
            self.E @ state.x - self.e,
        )

    def certify(self, state: QuadraticProgramState, tol: float) -> Certificate:
        """Return the duality gap, relative to the size of the objective, with the residuals beside it."""
        stationarity, inequality, equality = (np.max(np.abs(part), initial=0.0) for part in self.residuals(state))
        scale = 1.0 + abs(state.value)
        slope = 1.0 + float(np.max(np.abs(self.c), initial=0.0))
        limit = 1.0 + float(np.max(np.abs(np.concatenate([self.b, self.e])), initial=0.0))
        # At a point that is primal and dual feasible, s . z is the difference of the primal and the dual objective.
        gap = float(state.slack @ state.inequality_multipliers) / scale
        off = max(stationarity / slope, inequality / limit, equality / limit)
        return Certificate.of("duality gap", gap + float(off), tol, _STATEMENT)


def minimize_quadratic(
    H: Any,
    c: Any,
    *,
    A: Any = None,
    b: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    tol: float = 1e-10,
    stop: StopRule | None = None,
    callback: Callable[[Iterate], Any] | None = None,
) -> Result:
    """Minimise x . H x / 2 + c . x subject to A x <= b and A_eq x = b_eq.

    Parameters
    ----------
    H : array-like of shape (d, d)
        Symmetric and positive semi-definite.
    c : array-like of shape (d,)
    A, b : array-like of shape (m, d) and (m,), or None
    A_eq, b_eq : array-like of shape (k, d) and (k,), or None
    tol : float, default=1e-10
        What gap and residuals must come down to, relative to the size of the problem.
    stop : StopRule or None, default=None
        When to give up; None means 100 steps.
    callback : callable or None, default=None
        Called with an :class:`~mercer.optim.Iterate` after each step; True ends the run.

    Returns
    -------
    Result
        ``state.inequality_multipliers`` and ``state.equality_multipliers`` are those of L = f + y . (A_eq x - b_eq) +
        z . (A x - b); ``certificate`` is the duality gap.

    Notes
    -----
    Mehrotra's predictor and corrector: about ten to twenty steps of O((d + k)^3), whatever the constraints.

    References
    ----------
    Nocedal and Wright (2006), Numerical optimization, section 16.6.

    Examples
    --------
    The point of the triangle x, y >= 0, x + y <= 1 nearest to (1, 1):

    >>> from mercer.optim import minimize_quadratic
    >>> result = minimize_quadratic(
    ...     [[1.0, 0.0], [0.0, 1.0]], [-1.0, -1.0], A=[[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], b=[0.0, 0.0, 1.0]
    ... )
    >>> result.x.round(6), result.state.inequality_multipliers.round(6)
    (array([0.5, 0.5]), array([0. , 0. , 0.5]))
    """
    check_parameters("minimize_quadratic", {"tol": Real(0)}, {"tol": tol})
    program = _read(H, c, A, b, A_eq, b_eq)
    return run(
        "minimize_quadratic",
        "interior point",
        _interior(program, tol),
        None,
        MaxIter(100) if stop is None else stop,
        callback=callback,
    )


def _interior(program: Program, tol: float) -> Generator[Any, Any, Solution]:
    state = yield Dense(partial(_start, program))
    certificate = yield Dense(partial(program.certify, state, tol))
    while not certificate.satisfied:
        before = state
        state = yield Dense(partial(_take_step, program, state))
        if not np.all(np.isfinite(state.x)) or _has_run_away(program, state):
            reason = Certificate.none("The constraints contradict each other, or the objective falls for ever.")
            return Solution(before, False, reason, "no solution")
        certificate = yield Dense(partial(program.certify, state, tol))
        moved = float(np.max(np.abs(state.x - before.x)))
        yield Step(state.value, state, certificate, {"gap": certificate.value, "step_norm": moved})
    return Solution(state, True, certificate)


def _has_run_away(program: Program, state: QuadraticProgramState) -> bool:
    """Return whether point or multipliers diverge: the program is infeasible or unbounded."""
    scale = 1.0 + max(float(np.max(np.abs(part), initial=0.0)) for part in (program.c, program.b, program.e))
    size = max(float(np.max(np.abs(part), initial=0.0)) for part in (state.x, state.inequality_multipliers))
    return size > _FAR * scale


def _start(program: Program) -> QuadraticProgramState:
    """Return the minimum under the equations alone; slack and multipliers well inside."""
    x, y = _newton(program.H, program.E, np.zeros(len(program.e)), -program.c, program.e)
    slack = program.b - program.A @ x
    # A start well inside the positive orthant: interior-point methods converge slowly from near its boundary.
    size = max(1.0, float(np.max(np.abs(slack), initial=0.0)))
    return program.state(x, y, np.full(len(slack), size), np.maximum(slack, size), 0)


def _take_step(program: Program, state: QuadraticProgramState) -> QuadraticProgramState:
    """Take Mehrotra's predictor-corrector step: a plain Newton step decides how much to centre and to correct."""
    z, s = state.inequality_multipliers, state.slack
    dx, dy, dz, ds = _solve(program, state, s * z)
    if len(s):
        # Complementarity s_i z_i should fall equally in all constraints. The predictor (a pure Newton step) shows how
        # far it can fall: if far, centre little.
        mean = float(s @ z) / len(s)
        reach = _reach(s, ds, z, dz)
        ahead = float((s + reach * ds) @ (z + reach * dz)) / len(s)
        # Mehrotra's heuristic: sigma = (mu_predicted / mu)^3.
        centring = (ahead / mean) ** 3 if mean > 0 else 0.0
        # The corrector adds the second-order term ds dz that linearisation dropped, and aims at sigma mu instead of
        # zero.
        dx, dy, dz, ds = _solve(program, state, s * z + ds * dz - centring * mean)
    reach = min(1.0, _TO_THE_WALL * _reach(s, ds, z, dz, longest=1.0 / _TO_THE_WALL))
    reach = _stay_central(s, ds, z, dz, reach)
    y = state.equality_multipliers
    return program.state(state.x + reach * dx, y + reach * dy, z + reach * dz, s + reach * ds, state.n_steps + 1)


def _stay_central(s: np.ndarray, ds: np.ndarray, z: np.ndarray, dz: np.ndarray, reach: float) -> float:
    """Reduce a step until no product s_i z_i is far below their mean, from where steps would turn in circles."""
    if not len(s):
        return reach
    least = min(_CENTRAL, float(np.min(s * z)) / (float(s @ z) / len(s)))
    for _ in range(_MOST_CUTS):
        products = (s + reach * ds) * (z + reach * dz)
        if np.min(products) >= least * np.mean(products):
            break
        reach *= 0.9
    return reach


def _solve(program: Program, state: QuadraticProgramState, complementarity: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the Newton step of the KKT system, for a given right side of slack times multiplier.

    ds = -inequality - A dx always. Where slack is not small, dz = -(complementarity + z ds) / s is eliminated. Of the
    others, at most as many as there are parameters, dz is an unknown: divided by a slack near zero, it would have no
    digits.
    """
    z, s = state.inequality_multipliers, state.slack
    stationarity, inequality, equality = program.residuals(state)
    weights = z / s
    tight = np.argsort(weights)[max(0, len(s) - len(state.x)) :]
    loose = np.delete(np.arange(len(s)), tight)
    A = program.A[loose]
    pull = A.T @ ((z * inequality - complementarity) / s)[loose]
    dx, multipliers = _newton(
        program.H + A.T @ (weights[loose, None] * A),
        np.concatenate([program.A[tight], program.E]),
        np.concatenate([1.0 / weights[tight], np.zeros(len(equality))]),
        -stationarity - pull,
        np.concatenate([complementarity[tight] / z[tight] - inequality[tight], -equality]),
    )
    ds = -inequality - program.A @ dx
    dz = -(complementarity + z * ds) / s
    dz[tight] = multipliers[: len(tight)]
    return dx, multipliers[len(tight) :], dz, ds


def _newton(
    matrix: np.ndarray, rows: np.ndarray, give: np.ndarray, right: np.ndarray, limits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve [[matrix, rows'], [rows, -diag(give)]] for the step and the multipliers of the rows."""
    system = np.block([[matrix, rows.T], [rows, -np.diag(give)]])
    target = np.concatenate([right, limits])
    try:
        solution = np.linalg.solve(system, target)
    except np.linalg.LinAlgError:
        # Dependent equality constraints or a flat objective make the system singular; the shortest solution still
        # serves.
        solution = lstsq(system, target)[0]
    return solution[: len(right)], solution[len(right) :]


def _reach(s: np.ndarray, ds: np.ndarray, z: np.ndarray, dz: np.ndarray, longest: float = 1.0) -> float:
    """Return how far slack and multipliers can go before one is zero."""
    values, changes = np.concatenate([s, z]), np.concatenate([ds, dz])
    falling = changes < 0
    return float(min(longest, np.min(-values[falling] / changes[falling], initial=np.inf)))


def _read(H: Any, c: Any, A: Any, b: Any, A_eq: Any, b_eq: Any) -> Program:
    c = np.asarray(c, dtype=np.float64)
    d = len(c)
    parts = []
    for name, rows, right in (("A", A, b), ("A_eq", A_eq, b_eq)):
        if (rows is None) != (right is None):
            raise DataError(f"minimize_quadratic: {name} and its right side come together; got one alone.")
        matrix = np.zeros((0, d)) if rows is None else np.atleast_2d(np.asarray(rows, dtype=np.float64))
        limits = np.zeros(0) if right is None else np.atleast_1d(np.asarray(right, dtype=np.float64))
        if matrix.shape != (len(limits), d):
            raise DataError(f"minimize_quadratic: {name} must have shape {(len(limits), d)}; got {matrix.shape}.")
        parts += [matrix, limits]
    H = np.asarray(H, dtype=np.float64)
    if H.shape != (d, d) or not np.allclose(H, H.T):
        raise DataError(
            f"minimize_quadratic: H must be symmetric of shape {(d, d)}; got {H.shape}. Take (H + H.T) / 2."
        )
    # Rounding may push the zero eigenvalues of a semi-definite matrix slightly below zero.
    least = float(np.linalg.eigvalsh(H).min()) if d else 0.0
    if least < -1e-10 * max(1.0, float(np.max(np.abs(H)))):
        raise DataError(f"minimize_quadratic: H must be positive semi-definite; got the eigenvalue {least:.3g}.")
    if not all(np.all(np.isfinite(part)) for part in (H, c, *parts)):
        raise DataError("minimize_quadratic: all numbers must be finite; got NaN or infinity.")
    return Program(H, c, *parts)
