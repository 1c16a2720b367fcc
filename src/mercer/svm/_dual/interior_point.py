"""Small dense quadratic programs with boxes and equalities, by a primal-dual interior point.

    minimise  1/2 x' H x + p' x    with  A x = A x0,  lower <= x <= upper

Newton's method on the optimality conditions with complementarities relaxed to s z = mu, and mu driven to zero with a
predictor and a corrector (Mehrotra, 1992). Bounds may be infinite.
"""

from typing import Any

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from mercer._types import Array

# Most steps: a guard for programs on which the method does not converge.
_MOST = 100


def solve_box_program(H: Array, p: Array, A: Array, lower: Array, upper: Array, start: Array) -> Array:
    """Return the minimum, from a feasible `start` whose equalities it keeps."""
    width = np.where(np.isfinite(upper - lower), upper - lower, 1.0)
    low, high = np.isfinite(lower), np.isfinite(upper)
    # A tenth of the width from each bound: near a bound the first steps would be cut short at once.
    inside = np.clip(start, np.where(low, lower + 0.1 * width, -np.inf), np.where(high, upper - 0.1 * width, np.inf))
    x, target = inside, A @ start
    y = np.zeros(len(A))
    scale = max(1.0, float(np.abs(p).max(initial=0.0)))
    z, w = np.where(low, scale, 0.0), np.where(high, scale, 0.0)
    count = max(1, int(np.count_nonzero(low) + np.count_nonzero(high)))
    for _ in range(_MOST):
        below, above = np.where(low, x - lower, 1.0), np.where(high, upper - x, 1.0)
        # The mean complementarity: zero, together with both residuals, exactly at the optimum.
        mu = float(z @ below + w @ above) / count
        dual, primal = H @ x + p - A.T @ y - z + w, A @ x - target
        if mu <= 1e-14 * scale and np.abs(dual).max() <= 1e-12 * scale and np.abs(primal).max(initial=0.0) <= 1e-13:
            break
        try:
            factor = lu_factor(_make_matrix(H, A, z / below + w / above))
        except ValueError:
            break
        steps = _find_direction(factor, dual, primal, low * z * below, high * w * above, z, w, below, above)
        # The predictor aims at mu = 0; how far it gets tells how much centring the corrector needs, mu (ahead / mu)^3.
        affine = _find_reach(x, steps, z, w, below, above, low, high)
        ahead = float(
            (z + affine * steps[2]) @ (below + affine * steps[0])
            + (w + affine * steps[3]) @ (above - affine * steps[0])
        )
        centre = mu * min(1.0, max(ahead / count / max(mu, 1e-300), 0.0)) ** 3
        # Second-order terms of the predictor are put in, so that the corrector meets s z = centre to second order.
        left = low * (z * below + steps[0] * steps[2] - centre)
        right = high * (w * above - steps[0] * steps[3] - centre)
        steps = _find_direction(factor, dual, primal, left, right, z, w, below, above)
        # Just short of the boundary: a slack of zero would stop all later steps.
        length = 0.995 * _find_reach(x, steps, z, w, below, above, low, high)
        x, y, z, w = x + length * steps[0], y + length * steps[1], z + length * steps[2], w + length * steps[3]
    return np.clip(x, lower, upper)


def _make_matrix(H: Array, A: Array, weights: Array) -> Array:
    """Return the matrix of Newton's equations; 1e-13 on the diagonal keeps it regular where H has no curvature."""
    n, m = len(H), len(A)
    matrix = np.zeros((n + m, n + m))
    matrix[:n, :n] = H + np.diag(weights + 1e-13 * (1.0 + np.abs(np.diag(H))))
    matrix[:n, n:], matrix[n:, :n] = -A.T, A
    return matrix


def _find_direction(
    factor: Any, dual: Array, primal: Array, left: Array, right: Array, z: Array, w: Array, below: Array, above: Array
) -> tuple[Array, ...]:
    """Return the step of x, y, z and w that takes the dual and primal residuals, and `left` and `right`, to zero."""
    n = len(dual)
    solution = lu_solve(factor, np.concatenate([-dual - left / below + right / above, -primal]))
    x = solution[:n]
    return x, solution[n:], -(left + z * x) / below, -(right - w * x) / above


def _find_reach(x: Array, steps: Any, z: Array, w: Array, below: Array, above: Array, low: Array, high: Array) -> float:
    """Return the share of a step, at most one, after which a slack or a multiplier is zero."""
    most = 1.0
    # Slacks x - lower and upper - x, then their multipliers; only finite bounds have them.
    for value, change, counts in (
        (below, steps[0], low),
        (above, -steps[0], high),
        (z, steps[2], low),
        (w, steps[3], high),
    ):
        falls = counts & (change < 0)
        if falls.any():
            # value + share change = 0.
            most = min(most, float(np.min(-value[falls] / change[falls])))
    return most
