"""Ridge regression with the penalty that leave-one-out errors choose, from one decomposition for all penalties.

The eigenvectors of the smaller side do it: of the scatter, d x d, where the errors are a sum over the rows and so come
from any place; or of the Gram matrix of rows in memory, n x n. There, with rows scaled by the roots of their weights
and K = Q diag(l) Q^T, the residual for alpha is Q diag(alpha / (l + alpha)) Q^T y, and one minus the leverage of row i
is sum_j Q_ij^2 alpha / (l_j + alpha): no difference of large numbers, however small alpha is.

With S = X_c^T W X_c = V diag(l) V^T, a row x of residual r, taken out once, is missed by r / (1 - q h) where
h = sum_j (V^T x_c)_j^2 / (l_j + alpha) + 1 / sum(w), the last term for the intercept, and q is the weight taken out:
one of the copies that a weight stands for, or all of a weight below one.

The shares l_j / (l_j + alpha) that a direction keeps are a smooth function of two numbers, so that to rounding a matrix
of them for many penalties has a low rank q: for a hundred penalties over seven decades, 7 where all l are alike and
about 50 where they span ten decades. Rows meet its thin factors, n r q + n q a multiplications instead of n r a.
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._native.sums import left_out
from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.linear_state import gradient_certificate
from mercer._solver.request import HEAVY, Dense, Map
from mercer._solver.step import Solution, Step
from mercer._source import Block
from mercer._statistic.moments import targets
from mercer._statistic.products import Residual
from mercer._statistic.statistic import Statistic
from mercer._types import Array
from mercer.linear_model._solvers.closed_form.dual_equations import centre_gram, dual_coefficients
from mercer.linear_model._solvers.closed_form.linear_spectrum import LinearSpectrum

Judge = Callable[[Array], tuple[Array, Array]]
# Bytes of errors held at once while a Gram matrix gives them.
_PANEL = 2**25
# Columns of errors held at once for the rows of a block.
_WIDEST = 256


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
    left, right = yield Dense(partial(_shares, eigen.values, alphas), len(eigen.values) > HEAVY)
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
    values, vectors = yield Dense(partial(_decompose, gram, np.sqrt(share) if centre else None), n_rows > HEAVY)
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
        each = yield Dense(partial(eigen.errors, alphas[start : start + size]), n_rows > HEAVY)
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


@dataclass(frozen=True, eq=False)
class LeaveOneOutErrors:
    """The errors of the rows of a block, (n, a k) for a penalties and k targets, penalties slowest.

    Parameters
    ----------
    directions : array of shape (d, r)
        V.
    left : array of shape (r, q)
        The left factor of the shares l / (l + alpha), each row over its l.
    right : array of shape (q, a)
        Their right factor.
    shrunk : array of shape (r, k q)
        Targets along the directions times the left factor, targets slowest.
    mean, y_mean : array
        Of the rows and targets; zero without an intercept.
    share : float
        1 / sum(w), or zero without an intercept.
    """

    directions: Array
    left: Array
    right: Array
    shrunk: Array
    mean: Array
    y_mean: Array
    share: float

    def __call__(self, block: Block) -> Array:
        xp, (rank, n_penalties) = block.xp, self.right.shape
        rows, y = self.along(block), targets(block) - self.y_mean
        # h = sum_j (V^T x)_j^2 / (l_j + alpha) for all penalties as a product of two thin matrices.
        leverage = ((rows * rows) @ self.left) @ self.right + self.share
        if block.weight is not None:
            leverage = leverage * xp.minimum(block.weight, xp.ones_like(block.weight))[:, None]
        # A row of leverage one determines its own fit: its residual is zero, and no leave-one-out error exists.
        left = xp.maximum(1.0 - leverage, xp.full_like(leverage, 1e-300))
        # Fits of all targets and penalties, by the same factors.
        fitted = xp.reshape(rows @ self.shrunk, (-1, rank)) @ self.right
        if self.y_mean.shape[0] == 1:
            return (y - fitted) / left
        errors = (y[:, :, None] - xp.reshape(fitted, (block.n, -1, n_penalties))) / left[:, None, :]
        return xp.reshape(xp.permute_dims(errors, (0, 2, 1)), (block.n, -1))

    def along(self, block: Block) -> Array:
        """Return the centred rows along the directions."""
        if block.is_sparse:
            return block.matmul(self.directions) - self.mean @ self.directions
        return block.centre(self.mean) @ self.directions


@dataclass(frozen=True, eq=False)
class LeaveOneOut(Statistic):
    """The weighted sum of squared errors for each penalty and target, of shape (a k,)."""

    errors: LeaveOneOutErrors

    def of(self, block: Block) -> Array:
        xp, errors = block.xp, self.errors
        n_penalties, size = errors.right.shape[1], max(1, _WIDEST // errors.y_mean.shape[0])
        sums = []
        for start in range(0, n_penalties, size):
            part = replace(errors, right=errors.right[:, start : min(start + size, n_penalties)])(block)
            sums.append(xp.sum(block.weigh(part * part), axis=0))
        return sums[0] if len(sums) == 1 else xp.concat(sums)

    def native_run(self, block: Block, unit: int) -> Array:
        """Sum squared errors over a run of blocks, without an array of errors."""
        return self._by_parts(block, unit, self._of_part)

    def _of_part(self, block: Block) -> Array:
        errors = self.errors
        rows = errors.along(block)
        k, n_penalties = errors.y_mean.shape[0], errors.right.shape[1]
        sums = np.zeros((k, n_penalties))
        left_out.add_squared_errors(
            (rows * rows) @ errors.left,
            rows @ errors.shrunk,
            errors.right,
            targets(block) - errors.y_mean,
            np.empty(0) if block.weight is None else block.weight,
            errors.share,
            np.empty((2, n_penalties)),
            sums,
        )
        return sums.T.reshape(-1)
