"""Constraints: multipliers from the KKT system, a check of the KKT conditions, and Slater's condition.

The Lagrangian of min f(x) s.t. g(x) = 0, h(x) <= 0 is L = f + lambda . g + mu . h. At an optimum of a problem that
meets a constraint qualification there are multipliers with

    grad L = 0,    g = 0 and h <= 0,    mu >= 0,    mu_i h_i = 0.

For convex problems these also suffice. A convex problem has no duality gap if one point is strictly feasible; for
linear constraints any feasible point will do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lstsq
from scipy.optimize import linprog

from mercer._source.threads import one_blas_thread
from mercer.errors import DataError
from mercer.optim._derivatives import numerical_gradient


@dataclass(frozen=True, eq=False)
class EqualityMinimum:
    """A stationary point of a quadratic under linear equations.

    Attributes
    ----------
    x : ndarray of shape (d,)
    multipliers : ndarray of shape (m,)
        lambda in L = f + lambda . (A x - b).
    value : float
        The quadratic there.
    dual_value : float
        min over x of L at these multipliers; equal to `value` where the quadratic is convex.
    is_minimum : bool
        Whether the quadratic is convex along the constraints; else `x` is a saddle or a maximum.
    """

    x: np.ndarray
    multipliers: np.ndarray
    value: float
    dual_value: float
    is_minimum: bool


@dataclass(frozen=True)
class KKTReport:
    """How well a point and its multipliers meet the KKT conditions; each number is zero where one is met.

    Attributes
    ----------
    stationarity : float
        Largest entry of the gradient of the Lagrangian.
    feasibility : float
        Largest violation of a constraint.
    dual_sign : float
        Largest negative multiplier of an inequality.
    slackness : float
        Largest product of a multiplier and the slack of its inequality.
    satisfied : bool
        Whether all are at most the tolerance.
    """

    stationarity: float
    feasibility: float
    dual_sign: float
    slackness: float
    satisfied: bool


@dataclass(frozen=True, eq=False)
class SlaterReport:
    """Whether linear constraints have an inner point.

    Attributes
    ----------
    feasible : bool
        Whether any point meets them: enough for strong duality, since they are linear.
    strictly_feasible : bool
        Whether a point meets every inequality with room to spare: Slater's condition as it is asked of curved ones.
    point : ndarray of shape (d,) or None
        The point with the most room.
    room : float
        The least slack there, rows scaled to length one, up to 1; negative where nothing is feasible.
    """

    feasible: bool
    strictly_feasible: bool
    point: np.ndarray | None
    room: float


def solve_equality(H: Any, c: Any, A: Any, b: Any) -> EqualityMinimum:
    """Minimise x . H x / 2 + c . x subject to A x = b, through the KKT system.

    Parameters
    ----------
    H : array-like of shape (d, d)
        Symmetric.
    c : array-like of shape (d,)
    A : array-like of shape (m, d)
    b : array-like of shape (m,)

    Returns
    -------
    EqualityMinimum

    Examples
    --------
    The largest 1 - x^2 - y^2 on the line x + y = 1, from the least x^2 + y^2:

    >>> from mercer.optim import solve_equality
    >>> found = solve_equality([[2.0, 0.0], [0.0, 2.0]], [0.0, 0.0], [[1.0, 1.0]], [1.0])
    >>> found.x.round(6), round(1.0 - found.value, 6)
    (array([0.5, 0.5]), 0.5)
    """
    H, c = np.asarray(H, dtype=np.float64), np.asarray(c, dtype=np.float64)
    A, b = np.atleast_2d(np.asarray(A, dtype=np.float64)), np.atleast_1d(np.asarray(b, dtype=np.float64))
    d, m = len(c), len(b)
    if H.shape != (d, d) or A.shape != (m, d):
        shapes = ", ".join(str(part.shape) for part in (H, c, A, b))
        raise DataError(f"solve_equality: shapes must fit (d, d), (d,), (m, d), (m,); got {shapes}.")
    if not np.allclose(H, H.T):
        raise DataError("solve_equality: H must be symmetric; got another matrix. Take (H + H.T) / 2.")
    with one_blas_thread():
        return _solve_kkt(H, c, A, b)


def _solve_kkt(H: np.ndarray, c: np.ndarray, A: np.ndarray, b: np.ndarray) -> EqualityMinimum:
    d, m = len(c), len(b)
    # Stationarity H x + c + A^T lambda = 0 and feasibility A x = b, as one symmetric system.
    system = np.block([[H, A.T], [A, np.zeros((m, m))]])
    right = np.concatenate([-c, b])
    # Dependent constraints and flat directions leave the system singular; the shortest solution is as good as any.
    solution = lstsq(system, right)[0]
    residual = np.max(np.abs(system @ solution - right), initial=0.0)
    if residual > 1e-8 * max(1.0, float(np.max(np.abs(right), initial=0.0))):
        raise DataError(
            f"solve_equality: no point meets the KKT system (residual {residual:.2g}); "
            f"the constraints contradict each other, or the quadratic falls for ever along them."
        )
    x, multipliers = solution[:d], solution[d:]
    # The point is a minimum if H is positive semidefinite along the directions that keep A x = b.
    null = np.linalg.svd(A)[2][np.linalg.matrix_rank(A) :]
    curvatures = np.linalg.eigvalsh(null @ H @ null.T) if len(null) else np.zeros(1)
    scale = max(1.0, float(np.max(np.abs(H))))
    return EqualityMinimum(
        x,
        multipliers,
        float(0.5 * x @ H @ x + c @ x),
        _dual_value(H, c, A, b, multipliers),
        bool(curvatures.min() >= -1e-10 * scale),
    )


def _dual_value(H: np.ndarray, c: np.ndarray, A: np.ndarray, b: np.ndarray, multipliers: np.ndarray) -> float:
    """Minimise the Lagrangian over x; return minus infinity where it has no minimum."""
    # g(lambda) = min_x x . H x / 2 + slope . x - lambda . b, which is finite only if H is positive semidefinite and
    # slope lies in its range.
    slope = c + A.T @ multipliers
    if np.linalg.eigvalsh(H).min() < -1e-10 * max(1.0, float(np.max(np.abs(H)))):
        return -np.inf
    x = lstsq(H, -slope)[0]
    if np.max(np.abs(H @ x + slope)) > 1e-8 * max(1.0, float(np.max(np.abs(slope)))):
        return -np.inf
    return float(0.5 * x @ H @ x + slope @ x - multipliers @ b)


def check_kkt(
    fun: Callable[[np.ndarray], Any],
    x: Any,
    *,
    grad: Callable[[np.ndarray], Any] | None = None,
    equalities: Callable[[np.ndarray], Any] | None = None,
    inequalities: Callable[[np.ndarray], Any] | None = None,
    equality_multipliers: Any = (),
    inequality_multipliers: Any = (),
    tol: float = 1e-6,
) -> KKTReport:
    """Check the KKT conditions of min fun(x) s.t. equalities(x) = 0, inequalities(x) <= 0.

    Parameters
    ----------
    fun : callable
        From x to a number.
    x : array-like of shape (d,)
        The point.
    grad : callable or None, default=None
        The gradient of `fun`; None takes central differences, as for all constraints.
    equalities, inequalities : callable or None, default=None
        From x to an array, zero respectively at most zero where met.
    equality_multipliers, inequality_multipliers : array-like, default=()
        One for each entry.
    tol : float, default=1e-6
        Up to which a condition counts as met.

    Returns
    -------
    KKTReport

    Examples
    --------
    >>> from mercer.optim import check_kkt
    >>> report = check_kkt(
    ...     lambda x: x @ x, [0.5, 0.5], equalities=lambda x: [x.sum() - 1.0], equality_multipliers=[-1.0]
    ... )
    >>> report.satisfied
    True
    """
    place = np.asarray(x, dtype=np.float64)
    slope = numerical_gradient(fun, place) if grad is None else np.asarray(grad(place.copy()), dtype=np.float64)
    equal, equal_slope = _constraint("equalities", equalities, equality_multipliers, place)
    unequal, unequal_slope = _constraint("inequalities", inequalities, inequality_multipliers, place)
    multipliers = np.asarray(inequality_multipliers, dtype=np.float64)
    # grad f + lambda . grad g + mu . grad h = 0 at an optimum.
    stationarity = float(np.max(np.abs(slope + equal_slope + unequal_slope)))
    # Only the violated side of an inequality counts; equations count on both sides.
    violation = np.concatenate([np.abs(equal), np.maximum(unequal, 0.0)])
    feasibility = float(np.max(violation, initial=0.0))
    dual_sign = float(np.max(-multipliers, initial=0.0))
    # Complementary slackness: mu_i h_i = 0.
    slackness = float(np.max(np.abs(multipliers * unequal), initial=0.0))
    worst = max(stationarity, feasibility, dual_sign, slackness)
    return KKTReport(stationarity, feasibility, dual_sign, slackness, bool(worst <= tol))


def _constraint(name: str, function: Any, multipliers: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of constraints, and the gradient of their sum weighted by multipliers."""
    weights = np.asarray(multipliers, dtype=np.float64)
    values = np.empty(0) if function is None else np.atleast_1d(np.asarray(function(x.copy()), dtype=np.float64))
    if values.shape != weights.shape:
        raise DataError(f"check_kkt: {name} must have one multiplier each; got {values.shape} and {weights.shape}.")
    if function is None:
        return values, np.zeros_like(x)
    return values, numerical_gradient(lambda place: np.atleast_1d(function(place)) @ weights, x)


def check_slater(A: Any = None, b: Any = None, *, A_eq: Any = None, b_eq: Any = None) -> SlaterReport:
    """Look for a point that meets A x < b strictly and A_eq x = b_eq, the one with the most room.

    Parameters
    ----------
    A, b : array-like of shape (m, d) and (m,), or None
        Inequalities A x <= b.
    A_eq, b_eq : array-like of shape (k, d) and (k,), or None
        Equations, which need no inner point.

    Returns
    -------
    SlaterReport

    Examples
    --------
    >>> from mercer.optim import check_slater
    >>> check_slater([[1.0], [-1.0]], [1.0, 0.0]).strictly_feasible
    True
    >>> check_slater([[1.0], [-1.0]], [0.0, 0.0]).strictly_feasible
    False
    """
    if A is None and A_eq is None:
        raise DataError("check_slater: there must be constraints; got none.")
    d = np.atleast_2d(np.asarray(A if A is not None else A_eq, dtype=np.float64)).shape[1]
    rows = np.zeros((0, d)) if A is None else np.atleast_2d(np.asarray(A, dtype=np.float64))
    limits = np.zeros(0) if b is None else np.atleast_1d(np.asarray(b, dtype=np.float64))
    # Rows of length one make the room a distance: the radius of the largest ball inside the constraints, up to 1.
    lengths = np.linalg.norm(rows, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    equal = None if A_eq is None else np.column_stack([np.atleast_2d(A_eq), np.zeros(len(np.atleast_2d(A_eq)))])
    # One more variable is the room that every inequality leaves; one unit of it is plenty.
    program = linprog(
        # Maximise the room.
        np.append(np.zeros(d), -1.0),
        A_ub=np.column_stack([rows / lengths[:, None], np.ones(len(rows))]) if len(rows) else None,
        b_ub=limits / lengths if len(rows) else None,
        A_eq=equal,
        b_eq=None if b_eq is None else np.atleast_1d(b_eq),
        bounds=[(None, None)] * d + [(None, 1.0)],
    )
    if program.x is None:
        return SlaterReport(False, False, None, -np.inf)
    room = float(program.x[-1])
    return SlaterReport(room >= -1e-9, room > 1e-9, program.x[:-1], room)
