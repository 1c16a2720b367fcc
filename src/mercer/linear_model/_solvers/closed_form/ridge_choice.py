"""Ridge regression with the penalty that leave-one-out errors choose, from one decomposition for all penalties.

The eigenvectors of the smaller side do it: of the scatter, d x d, where the errors are a sum over the rows and so come
from any place; or of the Gram matrix of rows in memory, n x n. There, with rows scaled by the roots of their weights
and K = Q diag(l) Q^T, the residual for alpha is Q diag(alpha / (l + alpha)) Q^T y, and one minus the leverage of row i
is sum_j Q_ij^2 alpha / (l_j + alpha): no difference of large numbers, however small alpha is.
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.linear_state import gradient_certificate
from mercer._solver.request import Dense, Map
from mercer._solver.step import Solution, Step
from mercer._statistic.products import Residual
from mercer._types import Array
from mercer.linear_model._solvers.closed_form.dual_equations import centre_gram, dual_coefficients
from mercer.linear_model._solvers.closed_form.leave_one_out import LeaveOneOut, LeaveOneOutErrors
from mercer.linear_model._solvers.closed_form.linear_spectrum import LinearSpectrum

Judge = Callable[[Array], tuple[Array, Array]]
# Columns or rows from which a decomposition takes long enough (some 10 ms) to deserve its own thread.
_HEAVY = 400
# Bytes of errors held at once while a Gram matrix gives them.
_PANEL = 2**25


@plain
@dataclass(frozen=True)
class RidgeChoice:
    """Coefficients (d, k), intercepts, the method, the index of the chosen penalty of each target, and its score."""

    coef: Array
    intercept: Array
    method: str
    chosen: Array
    score: Array


def choose_by_scatter(
    spectrum: Generator[Any, Any, LinearSpectrum],
    alphas: Array,
    centre: bool,
    tol: float,
    judge: Judge,
    whole: bool,
    method: str,
) -> Solver:
    """Choose from the eigenvectors of the scatter.

    Parameters
    ----------
    spectrum : generator
        Gives the LinearSpectrum.
    alphas : array of shape (a,)
        Penalties, positive.
    centre : bool
        Whether there is an intercept.
    tol : float
        What the certificate is held against.
    judge : callable
        From leave-one-out errors to the number of the chosen penalty of each target, and its score.
    whole : bool
        Whether the judge wants every row's errors (n, a, k), for rows in memory, or their weighted sums of squares
        (a, k).
    method : str
        The name of the decomposition.
    """
    eigen = yield from spectrum
    k, n_alphas = eigen.along.shape[1], len(alphas)
    # The shares l / (l + alpha) as a product of two thin matrices: left (r, q) times right (q, penalties).
    left, right = yield Dense(partial(_shares, eigen.values, alphas), len(eigen.values) > _HEAVY)
    shrunk = (eigen.along[:, :, None] * left[:, None, :]).reshape(len(left), -1)
    share = 1.0 / eigen.weight if centre else 0.0
    errors = LeaveOneOutErrors(eigen.directions, left, right, shrunk, eigen.mean, eigen.y_mean, share)
    if whole:
        chosen, score = judge((yield Map(errors)).reshape(-1, n_alphas, k))
    else:
        chosen, score = judge((yield LeaveOneOut(errors)).reshape(n_alphas, k))
    return (yield from solve_by_scatter(eigen, alphas[chosen], chosen, score, tol, method))


def _shares(values: Array, alphas: Array) -> tuple[Array, Array]:
    """Return thin factors of 1 / (l + alpha), (r, q) and (q, a); zero where the rows do not vary.

    The shares l / (l + alpha) are factored, to rounding, and their rows divided by l: a share and what it multiplies,
    a row along a unit vector of fitted values, are both at most one, so that no digits are lost however l is spread.
    """
    left, sizes, right = np.linalg.svd(values[:, None] / (values[:, None] + alphas), full_matrices=False)
    kept = sizes > np.finfo(np.float64).eps * sizes[0]
    # If nothing varies all sizes are zero; one factor must remain for the shapes.
    kept[0] = True
    scaled = np.divide(
        left[:, kept] * sizes[kept], values[:, None], out=np.zeros((len(values), kept.sum())), where=values[:, None] > 0
    )
    return scaled, np.ascontiguousarray(right[kept])


def solve_by_scatter(
    eigen: LinearSpectrum, alpha: Array, chosen: Array, score: Array, tol: float, method: str
) -> Solver:
    """Solve for the chosen penalties (k,), from the eigenvectors of the scatter."""
    coef = eigen.coef(alpha)
    # One correction by the residuals of the data: what forming the scatter has cost in digits comes back.
    sums = yield Residual(coef, eigen.mean, eigen.y_mean)
    total = eigen.values[:, None] + alpha
    change = eigen.directions.T @ (sums.product - alpha * coef) / np.where(total > 0, total, 1.0)
    coef = coef + eigen.directions @ np.where(eigen.values[:, None] > 0, change, 0.0)
    state = RidgeChoice(coef, eigen.intercept(coef), method, chosen, score)
    scale = float(np.sum(eigen.values)), float(np.sum(eigen.y_scatter))
    return (yield from _finish(state, eigen.mean, eigen.y_mean, alpha, scale, tol))


@dataclass(frozen=True, eq=False)
class GramSpectrum:
    """Eigenvectors Q of the Gram matrix of centred rows scaled by the roots of their weights, and what it was made of.

    The direction of the intercept is left out of Q. ``along`` is Q^T y, ``root`` the roots of the weights (n, 1),
    ``share`` their squares over their sum, and ``outside`` the unscaled products of the rows of weight zero with all.
    """

    values: Array
    vectors: Array
    along: Array
    root: Array
    share: Array
    y: Array
    y_mean: Array
    outside: Array

    def dual(self, alpha: Array) -> Array:
        """Return dual coefficients (n, k), one penalty for each target; zero in directions without data."""
        kept = self.values[:, None] > 0
        total = np.where(kept, self.values[:, None] + alpha, 1.0)
        return self.root * (self.vectors @ np.where(kept, self.along / total, 0.0))

    def errors(self, alphas: Array) -> Array:
        """Return leave-one-out errors (n, a, k)."""
        # alpha / (l + alpha): factors of the residual, and of one minus the leverage, along each eigenvector.
        part = alphas / (self.values[:, None] + alphas)
        scaled, shape = part[:, :, None] * self.along[:, None, :], (len(alphas), self.along.shape[1])
        residual = (self.vectors @ scaled.reshape(len(part), math.prod(shape))).reshape(-1, *shape)
        left = (self.vectors * self.vectors) @ part
        weight = self.root**2
        # A row of weight w > 1 stands for w rows. One is left out: the leverage is divided by w.
        taken = np.minimum(1.0, 1.0 / np.where(weight > 0, weight, 1.0))
        left = np.maximum(1.0 - taken + taken * left, 1e-300)
        root = np.where(self.root > 0, self.root, 1.0)
        errors = residual / root[:, :, None] / left[:, :, None]
        absent = np.flatnonzero(self.root[:, 0] == 0)
        # Rows of weight zero are in no model: their error is that of a plain prediction.
        for number, alpha in enumerate(alphas if len(absent) else ()):
            fitted = self.outside @ self.dual(np.full(self.along.shape[1], alpha))
            errors[absent, number] = self.y[absent] - self.y_mean - fitted
        return errors


def gram_spectrum(y: Array, weight: Array, centre: bool) -> Generator[Any, Any, tuple[GramSpectrum, Array | None]]:
    """Compute the eigenvectors of the Gram matrix of rows in memory, and their mean if it had to be known."""
    n_rows = y.shape[0]
    weight = np.ones(n_rows) if weight is None else weight
    # Rows of weight zero have no part in the fit but do have an error.
    root, share = np.sqrt(weight)[:, None], (weight / weight.sum())[:, None]
    y_mean = share[:, 0] @ y if centre else np.zeros(y.shape[1])
    gram, mean = yield from centre_gram(n_rows, share, centre)
    outside = gram[weight == 0]
    gram *= root * root.T
    values, vectors = yield Dense(partial(_decompose, gram, np.sqrt(share) if centre else None), n_rows > _HEAVY)
    along = vectors.T @ (root * (y - y_mean))
    return GramSpectrum(values, vectors, along, root, share, y, y_mean, outside), mean


def _decompose(gram: Array, intercept: Array | None) -> tuple[Array, Array]:
    """Return eigenvalues and vectors, without the intercept's null direction, which is lifted above all others."""
    if intercept is not None:
        # Gershgorin: no eigenvalue exceeds the largest absolute column sum, so that the lifted one is the last.
        gram = gram + 1.1 * np.abs(gram).sum(axis=0).max(initial=0.0) * (intercept @ intercept.T)
    values, vectors = np.linalg.eigh(gram)
    if intercept is not None:
        values, vectors = values[:-1], vectors[:, :-1]
    kept = values > len(gram) * np.finfo(np.float64).eps * values.max(initial=0.0)
    return np.where(kept, values, 0.0), vectors


def choose_by_gram(
    alphas: Array, y: Array, weight: Array, centre: bool, tol: float, judge: Judge, whole: bool
) -> Solver:
    """Choose from the eigenvectors of the Gram matrix of rows in memory; takes what `choose_by_scatter` takes.

    `y` holds the targets (n, k) and `weight` the weights of the rows or None.
    """
    eigen, mean = yield from gram_spectrum(y, weight, centre)
    n_rows, k = y.shape
    # As many penalties at once as fit in a panel of memory.
    size = len(alphas) if whole else max(1, _PANEL // (8 * n_rows * k))
    weight, parts = eigen.root**2, []
    for start in range(0, len(alphas), size):
        each = yield Dense(partial(eigen.errors, alphas[start : start + size]), n_rows > _HEAVY)
        # Summed over rows at once where the judge does not want them one by one.
        parts.append(each if whole else np.sum(weight[:, :, None] * each * each, axis=0))
    chosen, score = judge(parts[0] if whole else np.concatenate(parts))
    return (yield from solve_by_gram(eigen, mean, centre, alphas[chosen], chosen, score, tol))


def solve_by_gram(
    eigen: GramSpectrum, mean: Array, centre: bool, alpha: Array, chosen: Array, score: Array, tol: float
) -> Solver:
    """Solve for the chosen penalties (k,), from the eigenvectors of the Gram matrix."""
    coef, mean = yield from dual_coefficients(eigen.dual(alpha), eigen.share, centre, mean)
    state = RidgeChoice(coef, eigen.y_mean - mean @ coef, "eigen gram", chosen, score)
    y_squares = float(np.sum(eigen.root**2 * (eigen.y - eigen.y_mean) ** 2))
    return (yield from _finish(state, mean, eigen.y_mean, alpha, (float(np.sum(eigen.values)), y_squares), tol))


def _finish(
    state: RidgeChoice, mean: Array, y_mean: Array, alpha: Array, scale: tuple[float, float], tol: float
) -> Solver:
    sums = yield Residual(state.coef, mean, y_mean)
    certificate = gradient_certificate(sums.product - alpha * state.coef, *scale, tol)
    objective = float(np.sum(sums.squares) + np.sum(alpha * state.coef**2))
    yield Step(objective, state, certificate, {"score": float(np.mean(state.score))})
    return Solution(state, True, certificate)
