"""A move to the minimum over the coefficients in use, their signs held, where sweeps converge slowly.

On the face of coefficients with given signs s the objective is a quadratic with the minimum
(G_AA + l2 I)^-1 (X_A^T y - l1 s). Coefficients that would change sign on the way there go to zero, all at once where
that lies lower, else only the first of them; neither can raise the objective.
"""

import numpy as np
from scipy.linalg import lapack

from mercer._types import Array
from mercer.linear_model._solvers.lasso.price import Price

# Coefficients in use beyond which a Cholesky factor (0.2 s at this size) would delay Ctrl-C.
_LARGEST = 2000
_TRACE = 1e-10


def to_face_minimum(G: Array, linear: Array, w: Array, q: Array, price: Price) -> None:
    """Move `w` in place, and its slopes q = linear - G w with it; `G` may be wider than w is long."""
    m, used = len(w), np.flatnonzero(w)
    # No coefficient in use, or a system too large to factorise in passing.
    if not 0 < len(used) <= _LARGEST:
        return
    here, signs = w[used], np.sign(w[used])
    # The gradient of the face's quadratic: q - l2 w - l1 s.
    step = _solve(G[np.ix_(used, used)], q[used] - price.l2 * here - price.l1 * signs, price.l2)
    if step is None:
        return
    target = here + step
    kept = target * signs > 0
    height = _height(here, linear[used], q[used], price)
    # All that change sign to zero at once, or only as far as the first of them.
    for trial in (np.where(kept, target, 0.0), _cut(here, target, kept)):
        slopes = linear - trial @ G[used, :m]
        if _height(trial, linear[used], slopes[used], price) < height:
            w[used], q[:] = trial, slopes
            return


def _solve(matrix: Array, right: Array, l2: float) -> Array | None:
    """Solve (matrix + l2 I) x = right; return None if the matrix is not positive definite to rounding."""
    # A small part of the diagonal is added so that dependent columns do not fail; the move is then a step of a proximal
    # method, which still decreases the objective.
    matrix.flat[:: len(matrix) + 1] += l2 + _TRACE * float(np.trace(matrix)) / len(matrix)
    factor, failed = lapack.dpotrf(matrix.T, lower=False, overwrite_a=True, clean=False)
    if failed:
        return None
    solution = lapack.dpotrs(factor, right, lower=False)[0]
    return solution if np.isfinite(solution).all() else None


def _cut(here: Array, target: Array, kept: Array) -> Array:
    """Return the point on the way to the target where the first coefficient becomes zero."""
    shares = np.where(kept, np.inf, here / np.where(kept, 1.0, here - target))
    first = int(np.argmin(shares))
    if kept[first]:
        return target
    point = here + shares[first] * (target - here)
    point[first] = 0.0
    return point


def _height(w: Array, linear: Array, slopes: Array, price: Price) -> float:
    """Return the objective up to |y|^2 / 2."""
    return price.of(w) - 0.5 * float(w @ (linear + slopes))
