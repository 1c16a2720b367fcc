"""Ridge by conjugate gradients on the normal equations, preconditioned by their diagonal; all targets in one pass.

Each step costs one pass over the rows and a few vectors of memory; nothing of size d x d is formed.
"""

from dataclasses import dataclass

import numpy as np

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.linear_state import gradient_certificate, quadratic_objective
from mercer._solver.step import Certificate, Solution, Step
from mercer._statistic import Moments, MomentSums
from mercer._statistic.products import NormalProduct, Residual
from mercer._types import Array


@plain
@dataclass(frozen=True)
class ConjugateState:
    """Coefficients, half the negative gradient there, the search direction, and steps taken for each target."""

    coef: Array
    intercept: Array
    residual: Array
    direction: Array
    steps: Array
    method: str = "sparse_cg"


def by_conjugate_gradient(
    alpha: Array, centre: bool, tolerance: float, max_iter: int, wide: bool, start: ConjugateState | None = None
) -> Solver:
    """Minimise until the gradient of each target is `tolerance` times what it was at zero.

    `wide` says that there are more columns than rows. Then S + alpha I is alpha I plus a matrix of low rank, on which
    plain conjugate gradients end within that rank; the diagonal would hide it.
    """
    moments = yield Moments(centre, diagonal=True)
    _check_finite(moments.scatter, moments.cross, moments.y_scatter)
    # Jacobi preconditioning: columns of different scale cost no steps.
    diagonal = moments.scatter[:, None] + alpha
    scaling = np.ones_like(diagonal) if wide else 1.0 / np.where(diagonal > 0, diagonal, 1.0)
    # The gradient at zero coefficients is X_c^T y_c.
    goal = tolerance * np.linalg.norm(moments.cross, axis=0)
    state = start or _start(moments, scaling)
    while True:
        active = np.linalg.norm(state.residual, axis=0) > goal
        spent = int(state.steps.max(initial=0)) >= max_iter
        if not active.any() or spent:
            # The recurrence drifts from the true gradient by rounding, so it is the true one that decides.
            sums = yield Residual(state.coef, moments.mean, moments.y_mean)
            gradient = sums.product - alpha * state.coef
            # NaN is neither above nor below a goal: without this the restarts would never end.
            _check_finite(gradient)
            reached = bool((np.linalg.norm(gradient, axis=0) <= np.maximum(goal, _rounding(moments))).all())
            if reached or spent:
                certificate = _certificate(gradient, moments, tolerance)
                return Solution(state, reached, certificate)
            state = _restart(state, gradient, scaling)
            continue
        sums = yield NormalProduct(state.direction, moments.mean)
        state = _advance(state, sums.product + alpha * state.direction, active, scaling, moments)
        objective = quadratic_objective(moments, state.coef, state.residual)
        yield Step(objective, state, _certificate(state.residual, moments, tolerance))


def _check_finite(*sums: Array) -> None:
    """Raise FloatingPointError, which the estimator explains by its inputs, where sums of squares overflow."""
    if not all(np.isfinite(one).all() for one in sums):
        raise FloatingPointError("the sums of squares overflow")


def _start(moments: MomentSums, scaling: Array) -> ConjugateState:
    coef = np.zeros_like(moments.cross)
    steps = np.zeros(coef.shape[1], dtype=np.int64)
    return ConjugateState(coef, moments.y_mean, moments.cross, scaling * moments.cross, steps)


def _restart(state: ConjugateState, gradient: Array, scaling: Array) -> ConjugateState:
    return ConjugateState(state.coef, state.intercept, gradient, scaling * gradient, state.steps)


def _advance(
    state: ConjugateState, product: Array, active: Array, scaling: Array, moments: MomentSums
) -> ConjugateState:
    """Take one step of Hestenes and Stiefel (1952) for the `active` targets; the others stay."""
    # r M^-1 r, whose ratio gives the turn of the direction (Fletcher and Reeves' form).
    before = np.sum(state.residual * scaling * state.residual, axis=0)
    curvature = np.sum(state.direction * product, axis=0)
    # No curvature along the direction: rounding, or a column that is constant.
    moving = active & (curvature > 0)
    # The exact minimum along the direction.
    rate = np.where(moving, before / np.where(moving, curvature, 1.0), 0.0)
    coef = state.coef + rate * state.direction
    residual = state.residual - rate * product
    after = np.sum(residual * scaling * residual, axis=0)
    turn = np.where(moving, after / np.where(before > 0, before, 1.0), 0.0)
    direction = np.where(moving, scaling * residual + turn * state.direction, state.direction)
    return ConjugateState(coef, moments.y_mean - moments.mean @ coef, residual, direction, state.steps + active)


def _rounding(moments: MomentSums) -> Array:
    """Return the size that the gradient has from rounding alone: no method in double precision gets below it."""
    return 4 * np.finfo(np.float64).eps * np.sqrt(moments.scatter.sum() * moments.y_scatter)


def _certificate(gradient: Array, moments: MomentSums, tolerance: float) -> Certificate:
    return gradient_certificate(gradient, moments.scatter.sum(), moments.y_scatter.sum(), tolerance)
