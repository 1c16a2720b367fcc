"""Damped least squares by the bidiagonalisation of Golub and Kahan: LSQR (Paige and Saunders, 1982).

In exact arithmetic the steps are those of conjugate gradients on the normal equations, but nothing is squared, so
ill-conditioned rows cost steps and not digits. Each step is one pass; n numbers per target are kept.
"""

from dataclasses import dataclass

import numpy as np

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.linear_state import gradient_certificate
from mercer._solver.step import Solution, Step
from mercer._statistic import Moments, MomentSums
from mercer._statistic.products import Bidiagonal, ProductSums, Residual
from mercer._types import Array


@plain
@dataclass(frozen=True)
class LsqrState:
    """The model and the recurrence: vectors u (per row), v and the search direction; per target the scalars.

    ``phi`` is the norm of the part of the residual still to be removed, ``damped`` the squares that damping has put
    aside; their sum of squares is the objective. ``slope`` is the norm of the gradient.
    """

    coef: Array
    intercept: Array
    left: Array
    right: Array
    direction: Array
    length: Array
    rho: Array
    phi: Array
    damped: Array
    slope: Array
    steps: Array
    method: str = "lsqr"


def by_lsqr(
    alpha: Array, y: Array, centre: bool, tolerance: float, max_iter: int, start: LsqrState | None = None
) -> Solver:
    """Minimise until the gradient is `tolerance` times what it was at zero, or the residual `tolerance` times |y|."""
    moments = yield Moments(centre, diagonal=True)
    size, y_size = np.sqrt(moments.scatter.sum()), np.sqrt(moments.y_scatter)
    # Below a few roundings of |X| |y| the gradient is noise.
    goal = np.maximum(tolerance * np.linalg.norm(moments.cross, axis=0), 4 * np.finfo(np.float64).eps * size * y_size)
    state = start or _start((yield Residual(np.zeros_like(moments.cross), moments.mean, moments.y_mean)), y, moments)
    while True:
        # The residual norm of the damped problem.
        error = np.sqrt(state.phi**2 + state.damped)
        active = (state.slope > goal) & (error > tolerance * y_size) & (state.phi != 0)
        # All targets take their steps together; each stops by its own rule.
        spent = int(state.steps.max(initial=0)) >= max_iter
        if spent or not active.any():
            sums = yield Residual(state.coef, moments.mean, moments.y_mean)
            gradient = sums.product - alpha * state.coef
            certificate = gradient_certificate(gradient, size**2, moments.y_scatter.sum(), tolerance)
            return Solution(state, not active.any(), certificate)
        left = np.empty_like(state.left)
        sums = yield Bidiagonal(state.right, moments.mean, state.left, state.length, left)
        state = _advance(state, sums, left, active, alpha, moments)
        scale = size * np.sqrt(moments.y_scatter.sum())
        value = float(np.linalg.norm(state.slope)) / scale if scale else 0.0
        yield Step(float(np.sum(state.phi**2 + state.damped)), state, extra={"gradient_norm": value})


def _start(sums: ProductSums, y: Array, moments: MomentSums) -> LsqrState:
    # beta u = y and alpha v = X^T u start the bidiagonalisation; zero vectors stay zero.
    beta = np.sqrt(sums.squares)
    left = (y - moments.y_mean) * _inverse(beta)
    right = sums.product * _inverse(beta)
    length = np.linalg.norm(right, axis=0)
    right = right * _inverse(length)
    coef, none = np.zeros_like(right), np.zeros_like(beta)
    steps = np.zeros(beta.shape[0], dtype=np.int64)
    return LsqrState(coef, moments.y_mean, left, right, right, length, length, beta, none, length * beta, steps)


def _advance(
    state: LsqrState, sums: ProductSums, left: Array, active: Array, alpha: Array, moments: MomentSums
) -> LsqrState:
    """Take one step of the paper's section 5, with the damping rotation of section 7, for the `active` targets."""
    # beta u = A v - alpha u, and then alpha v = A^T u - beta v, with norms beta and alpha (the paper's names).
    beta = np.sqrt(sums.squares)
    left *= _inverse(beta)
    right = sums.product * _inverse(beta) - beta * state.right
    length = np.linalg.norm(right, axis=0)
    right = right * _inverse(length)
    # First rotation: the damping; second: the subdiagonal beta.
    rho_damped = np.hypot(state.rho, np.sqrt(alpha))
    phi = state.phi * state.rho * _inverse(rho_damped)
    aside = state.phi * np.sqrt(alpha) * _inverse(rho_damped)
    rho = np.hypot(rho_damped, beta)
    cosine, sine = rho_damped * _inverse(rho), beta * _inverse(rho)
    coef = state.coef + (cosine * phi * _inverse(rho)) * state.direction
    direction = right - (sine * length * _inverse(rho)) * state.direction
    phi_left = sine * phi
    after = LsqrState(
        coef,
        moments.y_mean - moments.mean @ coef,
        left,
        right,
        direction,
        length,
        -cosine * length,
        phi_left,
        state.damped + aside**2,
        # |X^T r - alpha coef| follows from the recurrence: no pass is needed to know the gradient.
        np.abs(phi_left * length * cosine),
        state.steps + 1,
    )
    return after if active.all() else _merge(state, after, active)


def _merge(before: LsqrState, after: LsqrState, active: Array) -> LsqrState:
    """Return `after` for active targets, `before` for the others."""
    names = [name for name in after.__dataclass_fields__ if name != "method"]
    return LsqrState(*(np.where(active, getattr(after, name), getattr(before, name)) for name in names))


def _inverse(value: Array) -> Array:
    return np.divide(1.0, value, out=np.zeros_like(value), where=value != 0)
