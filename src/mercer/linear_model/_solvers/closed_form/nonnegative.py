"""Least squares and ridge with coefficients that must not be negative.

On the scatter S = X_c^T W X_c and C = X_c^T W y_c, each step is one sweep of coordinate descent over all coefficients
followed by a move towards the minimum over the positive ones, cut where the first of them reaches zero. The sweep finds
which coefficients are zero; once it has, the move lands on the exact solution. Neither can raise the objective.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import lapack

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.linear_state import quadratic_objective
from mercer._solver.request import HEAVY, Dense
from mercer._solver.step import Certificate, Solution, Step
from mercer._statistic import Moments, MomentSums
from mercer._types import Array

_STATEMENT = (
    "Violation of the optimality conditions over |X| |y| (X and y centred): the gradient X^T W r - alpha coef where "
    "coef > 0, its positive part where coef = 0."
)
# Violations of this size are what rounding makes of an exact solution.
_ROUNDING = 1e-14


@plain
@dataclass(frozen=True)
class NonnegativeState:
    """The model and the steps taken."""

    coef: Array
    intercept: Array
    steps: int
    method: str = "active set"


def by_nonnegative_sweeps(
    alpha: Array, centre: bool, tolerance: float, max_iter: int, start: NonnegativeState | None = None
) -> Solver:
    """Minimise over coef >= 0 until the optimality conditions hold to rounding, or to `tolerance` and nothing falls."""
    moments = yield Moments(centre)
    # Dependent columns have many solutions; a penalty near rounding picks one.
    penalty = yield Dense(partial(_unique, alpha, moments.scatter, tolerance), moments.mean.shape[0] > HEAVY // 2)
    coef = np.zeros_like(moments.cross) if start is None else start.coef
    done = 0 if start is None else start.steps
    state = NonnegativeState(coef, moments.y_mean - moments.mean @ coef, done)
    lowest = np.inf
    while done < max_iter:
        coef, exact = yield Dense(partial(_improve, coef, penalty, moments), moments.mean.shape[0] > HEAVY // 2)
        done += 1
        state = NonnegativeState(coef, moments.y_mean - moments.mean @ coef, done)
        objective, certificate = _judge(coef, alpha, moments, tolerance)
        yield Step(objective, state, certificate)
        # The stopping rule belongs to the problem solved, with the small penalty that makes its answer unique.
        objective, rest = _judge(coef, penalty, moments, tolerance)
        if exact and (rest.value <= _ROUNDING or (rest.satisfied and objective >= lowest)):
            return Solution(state, certificate.satisfied, certificate)
        lowest = min(lowest, objective)
    return Solution(state, False, certificate)


def _unique(alpha: Array, scatter: Array, tolerance: float) -> Array:
    """Return the penalties, raised from zero if S is singular: then one of many optima is nearly the shortest.

    The trace is a part of the mean eigenvalue that the certificate tolerates; the larger it is, the less the answer
    hangs on rounding.
    """
    factor, failed = lapack.dpotrf(scatter, lower=False)
    pivots = np.diagonal(factor)
    if not failed and pivots.min(initial=np.inf) > 1e-6 * pivots.max(initial=0.0):
        return alpha
    size = np.diagonal(scatter)
    trace = min(max(tolerance, 1e-10), 1e-6)
    return np.maximum(alpha, trace * size.mean() if size.any() else 1.0)


def _judge(coef: Array, alpha: Array, moments: MomentSums, tolerance: float) -> tuple[float, Certificate]:
    """Return the objective and the certificate."""
    gradient = moments.cross - moments.scatter @ coef - alpha * coef
    violation = float(np.linalg.norm(np.where(coef > 0, gradient, np.maximum(gradient, 0.0))))
    scale = float(np.sqrt(np.trace(moments.scatter) * moments.y_scatter.sum()))
    certificate = Certificate.of("KKT residual", violation / scale if scale else violation, tolerance, _STATEMENT)
    return quadratic_objective(moments, coef, gradient), certificate


def _improve(coef: Array, alpha: Array, moments: MomentSums) -> tuple[Array, bool]:
    """Take one step for every target; return whether all are at the minimum over their positive coefficients."""
    columns = [
        _column(coef[:, target].copy(), penalty, moments.scatter, moments.cross[:, target])
        for target, penalty in enumerate(alpha)
    ]
    return np.stack([column for column, _ in columns], axis=1), all(exact for _, exact in columns)


def _column(coef: Array, penalty: float, scatter: Array, cross: Array) -> tuple[Array, bool]:
    gradient = cross - scatter @ coef - penalty * coef
    curvature = np.diagonal(scatter) + penalty
    for j in np.flatnonzero(curvature > 0):
        # The exact minimum along the coordinate, cut at zero: it never raises the objective.
        change = max(gradient[j] / curvature[j], -coef[j])
        if change != 0.0:
            coef[j] += change
            gradient -= change * scatter[j]
            gradient[j] -= change * penalty
    free = np.flatnonzero(coef > 0)
    if not free.size:
        return coef, True
    move = _solve_free(scatter[np.ix_(free, free)], penalty, cross[free]) - coef[free]
    falling = move < 0
    # The line to the minimum over the positive coefficients is left where the first of them reaches zero (Lawson and
    # Hanson, 1974).
    share = min(1.0, np.min(-coef[free][falling] / move[falling], initial=1.0))
    coef[free] = np.maximum(coef[free] + share * move, 0.0)
    return coef, share == 1.0


def _solve_free(scatter: Array, penalty: float, cross: Array) -> Array:
    """Return the minimum over the free coefficients."""
    matrix = scatter.copy(order="F")
    matrix.flat[:: matrix.shape[0] + 1] += penalty
    return lapack.dpotrs(lapack.dpotrf(matrix, lower=False, overwrite_a=True)[0], cross, lower=False)[0]
