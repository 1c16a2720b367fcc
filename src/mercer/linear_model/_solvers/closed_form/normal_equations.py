"""Least squares and ridge in closed form, by the normal equations where they are accurate and by orthogonal
transformations where they are not.

One pass gives the scatter S = X_c^T W X_c and C = X_c^T W y_c; a Cholesky factor of S + alpha I gives the
coefficients. Squaring X squares its condition number, so the reciprocal condition of S + alpha I decides: that of
columns on one scale, since the digits of Cholesky's factor do not depend on units. Down to `refine_below` the factor
is used as it is, below it the residual of the data themselves corrects the answer (the corrected seminormal equations
of Bjorck, 1987), and below `give_up_below` another solver takes over: on dense rows, the SVD of a triangle; where the
rows are gone and only S is left, its eigenvectors.
"""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import eigh, lapack, svd

from mercer._solver.driver import Solver
from mercer._solver.linear_state import LinearState, gradient_certificate, quadratic_objective
from mercer._solver.request import HEAVY, Dense, Factored
from mercer._solver.step import Solution, Step
from mercer._statistic import Moments, MomentSums
from mercer._statistic.products import Residual
from mercer._statistic.triangle import Triangle, TriangleSums
from mercer._types import Array

# Share of the largest eigenvalue, per column: rounding in sums over many rows makes zero eigenvalues this large.
_ROUNDING = 16 * float(np.finfo(np.float64).eps)
# Reciprocal condition below which the units of columns may be the cause.
_GRADED = 1e-8


def by_normal_equations(
    alpha: Array,
    centre: bool,
    tolerance: float,
    *,
    refine_below: float,
    give_up_below: float,
    otherwise: Callable[[MomentSums], Solver],
    spectrum: bool = False,
) -> Solver:
    """Solve for all targets, each with its own penalty in `alpha`.

    Parameters
    ----------
    alpha : array of shape (n_targets,)
    centre : bool
        Whether there is an intercept.
    tolerance : float
        What the certificate is held against; the answer does not depend on it.
    refine_below, give_up_below : float
        Reciprocal conditions of S + alpha I, with columns on one scale, below which the answer is corrected, and handed
        to another solver.
    otherwise : callable
        From the moments to that other solver.
    spectrum : bool
        Whether the singular values of the rows are wanted.
    """
    moments = yield Moments(centre)
    heavy = moments.mean.shape[0] > HEAVY
    factors = yield Factored(partial(Factors, moments.scatter, alpha), heavy)
    if factors.condition < give_up_below:
        return (yield from otherwise(moments))
    coef = yield Dense(partial(factors.solve, moments.cross), heavy)
    squares = None
    # Each correction multiplies the error by about eps / condition; two are enough down to 1e-8 and beyond.
    corrections = 0 if factors.condition >= refine_below else 1 + int(factors.condition < 1e-5)
    for _ in range(corrections):
        coef, squares = yield from _refine(coef, alpha, moments, factors)
    # The gradient of the residual, from sums: what the certificate reports.
    gradient = moments.cross - moments.scatter @ coef - alpha * coef
    if spectrum and squares is None:
        squares = _find_residual_squares(coef, moments)
    # Squared, small singular values drown beside those of columns of a larger unit; the factor still has them.
    measured = partial(_find_triangle_values, factors) if factors.graded else partial(_singular_values, moments.scatter)
    singular = (yield Dense(measured, heavy)) if spectrum else None
    intercept = moments.y_mean - moments.mean @ coef
    state = LinearState(coef, intercept, "cholesky", moments.mean.shape[0], singular, squares)
    return (yield from _finish(state, gradient, alpha, moments, tolerance))


class Factors:
    """Cholesky factors of S + alpha_t I, one for each distinct penalty.

    ``condition`` is the smallest reciprocal condition; ``graded`` says whether it is that of columns on one scale,
    because the matrix as it is looks singular.
    """

    def __init__(self, scatter: Array, alpha: Array, factorise: Callable[[Array, float], tuple[Array, int]]) -> None:
        self.columns: list[tuple[Array, Array]] = []
        self.condition = np.inf
        self.graded = False
        for value in np.unique(alpha):
            # The largest sum of absolute values of a column, without a matrix of them; the diagonal is not negative.
            norm = lapack.dlange("1", scatter.T) + value
            factor, failed = factorise(scatter, value)
            # LAPACK estimates the reciprocal condition in the 1-norm from the factor, at O(d^2).
            condition = 0.0 if failed or norm == 0.0 else lapack.dpocon(factor, norm, uplo="U")[0]
            if not failed and norm > 0.0 and condition < _GRADED:
                condition, self.graded = max(condition, _estimate_scaled(scatter, value, factor)), True
            self.condition = min(self.condition, condition)
            self.columns.append((alpha == value, factor))
            # One singular system makes the caller choose another solver for all targets.
            if condition == 0.0:
                return

    def solve(self, right: Array) -> Array:
        solution = np.empty_like(right)
        for columns, factor in self.columns:
            solution[:, columns] = lapack.dpotrs(factor, right[:, columns], lower=False)[0]
        return solution


def _estimate_scaled(scatter: Array, alpha: float, factor: Array) -> float:
    """Return the reciprocal condition of S + alpha I with columns on one scale, from the factor of the matrix itself.

    The scales are powers of two, so that the factor of the scaled matrix is the scaled factor, to the last bit.
    """
    scale = find_scales(np.sqrt(np.diagonal(scatter) + alpha))
    matrix = scatter / np.outer(scale, scale)
    matrix.flat[:: matrix.shape[0] + 1] += alpha / scale**2
    return float(lapack.dpocon(factor / scale, lapack.dlange("1", matrix), uplo="U")[0])


def find_scales(sizes: Array) -> Array:
    """Return the powers of two nearest to sizes of columns; one for a column of zeros."""
    return np.exp2(np.round(np.log2(np.where(sizes > 0, sizes, 1.0))))


def _refine(coef: Array, alpha: Array, moments: MomentSums, factors: Factors) -> Generator[Any, Any, tuple]:
    """Correct the coefficients once by the residual of the data: digits lost in forming S come back."""
    sums = yield Residual(coef, moments.mean, moments.y_mean)
    slope = sums.product
    change = yield Dense(partial(factors.solve, slope - alpha * coef))
    # |r - X change|^2 = |r|^2 - change . (2 X^T r - S change)
    squares = sums.squares - np.sum(change * (2.0 * slope - moments.scatter @ change), axis=0)
    return coef + change, np.maximum(squares, 0.0)


def _singular_values(scatter: Array) -> Array:
    return np.sqrt(np.maximum(np.linalg.eigvalsh(scatter)[::-1], 0.0))


def _find_triangle_values(factors: Factors) -> Array:
    """Return the singular values of the unpenalised rows from their Cholesky factor."""
    return svd(np.triu(factors.columns[0][1]), compute_uv=False)


def _find_residual_squares(coef: Array, moments: MomentSums) -> Array:
    """Return |y - X coef|^2 of each target from the moments; what cancels is rounding of |y|^2."""
    return np.maximum(moments.y_scatter - np.sum(coef * (2.0 * moments.cross - moments.scatter @ coef), axis=0), 0.0)


def by_eigenvectors(alpha: Array, moments: MomentSums, tolerance: float, *, cutoff: float) -> Solver:
    """Solve by the eigenvectors of S, for which no rows are needed: of least norm where S is singular.

    Eigenvalues of S with its columns on one scale are squares of singular values; those at or below `cutoff` times the
    largest count as zero, as do those that rounding alone can have made.
    """
    heavy = moments.mean.shape[0] > HEAVY
    coef, rank, singular = yield Dense(partial(_shrink_scatter, moments, alpha, cutoff), heavy)
    gradient = moments.cross - moments.scatter @ coef - alpha * coef
    intercept = moments.y_mean - moments.mean @ coef
    state = LinearState(coef, intercept, "eigh", rank, singular, _find_residual_squares(coef, moments))
    return (yield from _finish(state, gradient, alpha, moments, tolerance))


def _shrink_scatter(moments: MomentSums, alpha: Array, cutoff: float) -> tuple:
    """Return V diag(1 / (s^2 + alpha)) V^T C, the rank and the singular values, from S = V diag(s^2) V^T."""
    values, vectors = _decompose(moments.scatter)
    # S squares the rows: singular values below the root of this cannot be told from zero.
    floor = max(cutoff**2, _ROUNDING * len(values)) * values.max(initial=0.0)
    kept = values > floor
    if not (kept.all() or alpha.any()):
        # Small beside another column's unit is not zero: count with the columns on one scale.
        scale = find_scales(np.sqrt(np.diagonal(moments.scatter)))
        scaled, axes = _decompose(moments.scatter / np.outer(scale, scale))
        rank = int((scaled > max(cutoff**2, _ROUNDING * len(values)) * scaled.max(initial=0.0)).sum())
        if rank == len(values):
            coef = axes @ ((axes.T @ (moments.cross / scale[:, None])) / scaled[:, None])
            return coef / scale[:, None], rank, np.sqrt(values)
        kept = np.arange(len(values)) < rank
    penalised = values[:, None] + alpha
    shrunk = np.divide(1.0, penalised, out=np.zeros_like(penalised), where=kept[:, None] | (penalised > floor))
    return vectors @ (shrunk * (vectors.T @ moments.cross)), int(kept.sum()), np.sqrt(values)


def _decompose(scatter: Array) -> tuple[Array, Array]:
    """Return the eigenvalues, largest first, none below zero, with their vectors."""
    values, vectors = eigh(scatter, driver="evd")
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]


def by_orthogonal_triangle(
    alpha: Array, centre: bool, tolerance: float, *, cutoff: float, moments: MomentSums | None = None
) -> Solver:
    """Solve by the SVD of the triangular factor of the rows: exact to rounding whatever their condition.

    Singular values of the columns on one scale at or below `cutoff` times the largest count as zero for unpenalised
    targets, which gives the solution of minimum norm.
    """
    # The triangle carries the scatter; of the moments only the diagonal is wanted.
    if moments is None:
        moments = yield Moments(centre, diagonal=True)
    triangle = yield Triangle(centre)
    heavy = min(triangle.factor.shape) > HEAVY
    coef, rank, singular = yield Dense(partial(_shrink, triangle, moments, alpha, cutoff), heavy)
    intercept = moments.y_mean - moments.mean @ coef
    sums = yield Residual(coef, moments.mean, moments.y_mean)
    state = LinearState(coef, intercept, "svd", rank, singular, sums.squares)
    return (yield from _finish(state, sums.product - alpha * coef, alpha, moments, tolerance))


def _shrink(triangle: TriangleSums, moments: MomentSums, alpha: Array, cutoff: float) -> tuple:
    """Return V diag(s / (s^2 + alpha)) U^T y, the rank and the singular values, from the triangle."""
    width = moments.mean.shape[0]
    rows, y = triangle.factor[:, :width], triangle.factor[:, width:]
    left, singular, right = svd(rows, full_matrices=False)
    kept = singular > cutoff * (singular[0] if singular.size else 0.0)
    if not (kept.all() or alpha.any()):
        # Small beside another column's unit is not zero: count with the columns on one scale.
        scale = find_scales(np.linalg.norm(rows, axis=0))
        lefts, scaled, rights = svd(rows / scale, full_matrices=False)
        rank = int((scaled > cutoff * scaled[0]).sum())
        if rank == width:
            return rights.T @ ((lefts.T @ y) / scaled[:, None]) / scale[:, None], rank, singular
        kept = np.arange(len(singular)) < rank
    with np.errstate(divide="ignore", invalid="ignore"):
        # With a penalty no division is by zero, and small singular values need no cutoff.
        shrunk = np.where(kept[:, None] | (alpha > 0), singular[:, None] / (singular[:, None] ** 2 + alpha), 0.0)
    coef = right.T @ (np.nan_to_num(shrunk) * (left.T @ y))
    return coef, int(kept.sum()), singular


def _finish(state: LinearState, gradient: Array, alpha: Array, moments: MomentSums, tolerance: float) -> Solver:
    diagonal = moments.scatter if moments.scatter.ndim == 1 else np.diagonal(moments.scatter)
    certificate = gradient_certificate(gradient, diagonal.sum(), moments.y_scatter.sum(), tolerance)
    if state.squares is None:
        objective = quadratic_objective(moments, state.coef, gradient)
    else:
        objective = float(np.sum(state.squares) + np.sum(alpha * state.coef * state.coef))
    yield Step(objective, state, certificate)
    return Solution(state, True, certificate)
