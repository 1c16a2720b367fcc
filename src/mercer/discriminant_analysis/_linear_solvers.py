"""From class moments to linear scores: by the spectrum of the within-class correlation, by least squares, or by the
generalised eigenproblem of Fisher.

Scores are written about the prior mean of the class means, so that rows far from zero keep their digits:

    score_k(x) = (x - m)^T S^-1 (m_k - m) - (m_k - m)^T S^-1 (m_k - m) / 2 + log P_k
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, lstsq, solve_triangular
from scipy.special import xlogy

from mercer._plain import plain
from mercer._solver.eigenpairs import find_eigenpairs
from mercer._source import Block
from mercer._statistic.by_class import ClassMomentSums, flat_columns
from mercer._types import Array
from mercer.errors import DataError

_EPSILON = float(np.finfo(np.float64).eps)


@plain
@dataclass(frozen=True, eq=False)
class DiscriminantState:
    """Sums by class and the linear scores made of them; what a solver does not find is None.

    Rows are projected to `n_axes` axes at most.
    """

    sums: Any
    n_axes: int
    priors: Array
    means: Array
    centre: Array
    coef: Array
    intercept: Array
    covariance: Array
    scalings: Array
    ratio: Array
    criterion: Array


@dataclass(frozen=True, eq=False)
class Axes:
    """Scores of classes, and the axes (columns of `scalings`) with Fisher's criterion along each, where known."""

    coef: Array
    intercept: Array
    scalings: Array = None
    ratio: Array = None
    criterion: Array = None


def scores(coef: Array, means: Array, centre: Array, priors: Array) -> tuple[Array, Array]:
    """Return coefficients and intercepts of classes from S^-1 (m_k - m)."""
    with np.errstate(divide="ignore"):
        logarithms = np.log(priors)
    return coef, -0.5 * np.sum((means - centre) * coef, axis=1) - coef @ centre + logarithms


def by_spectrum(
    sums: ClassMomentSums, means: Array, centre: Array, priors: Array, n_axes: int, tolerance: float
) -> Axes:
    """Whiten within classes by the eigenvectors of their correlation, then rotate to the spread of the class means.

    The square roots of the eigenvalues are the singular values of the standardised, centred rows; those up to
    `tolerance` are left out, and so is what rounding of the correlation leaves of a zero.
    """
    flat, deviations = _deviations(np.diag(sums.within()) / sums.weight, centre)
    correlation = sums.within() / sums.weight / deviations[:, None] / deviations[None, :]
    # A constant column separates no classes; what its products hold is rounding.
    correlation[flat, :] = correlation[:, flat] = 0.0
    values, vectors = find_eigenpairs(correlation, check_finite=True)
    # eigh is accurate to about d eps times the largest eigenvalue, which for a correlation is of order one.
    floor = math.sqrt(len(values) * _EPSILON)
    singular = np.sqrt(np.maximum(values[::-1], 0.0))
    rank = int(np.sum(singular > max(tolerance, floor)))
    # Columns of W with W^T S W = I: rows times W have unit covariance within classes.
    whiten = vectors[:, ::-1][:, :rank] / deviations[:, None] / singular[:rank]
    return _find_axes(whiten, means, centre, priors, n_axes, max(tolerance, floor))


def by_rows(
    rows: Array, sums: ClassMomentSums, means: Array, centre: Array, priors: Array, n_axes: int, tolerance: float
) -> tuple[Axes, float]:
    """Solve for fewer rows than columns by n x n products; also return the mean log-density in the span of the rows.

    `rows` are centred on their classes' means and times the square roots of their shares of the weight; they are
    overwritten.
    """
    # Z Z^T has the positive eigenvalues of Z^T Z = S: the density within the span of the rows needs no more.
    spans = np.maximum(np.linalg.eigvalsh(rows @ rows.T), 0.0)
    flat, deviations = _deviations(sums.within() / sums.weight, centre)
    rows /= deviations
    # What a constant column holds about its class means is rounding.
    rows[:, flat] = 0.0
    values, vectors = find_eigenpairs(rows @ rows.T, check_finite=True)
    floor = math.sqrt(len(values) * _EPSILON * max(float(values[-1]), 0.0))
    singular = np.sqrt(np.maximum(values[::-1], 0.0))
    rank = int(np.sum(singular > max(tolerance, floor)))
    # A right singular vector is the rows' combination by the left one, over the singular value.
    whiten = rows.T @ (vectors[:, ::-1][:, :rank] / singular[:rank] ** 2) / deviations[:, None]
    spans = spans[spans > len(spans) * _EPSILON * spans[-1]]
    density = -0.5 * (len(spans) * (math.log(2.0 * math.pi) + 1.0) + float(np.sum(np.log(spans))))
    return _find_axes(whiten, means, centre, priors, n_axes, max(tolerance, floor)), density


def _deviations(variances: Array, centre: Array) -> tuple[Array, Array]:
    """Return which columns are constant, and the standard deviations, with 1 for constant columns."""
    flat = flat_columns(variances, centre)
    return flat, np.where(flat, 1.0, np.sqrt(np.where(flat, 1.0, variances)))


def _find_axes(whiten: Array, means: Array, centre: Array, priors: Array, n_axes: int, least: float) -> Axes:
    """Find the axes along which class means, whitened within classes, spread most.

    Axes whose criterion is below `least` times that of the first are dropped.
    """
    # Singular vectors of the weighted class means in the whitened space are the eigenvectors of S_w^-1 S_b.
    spread = np.sqrt(priors)[:, None] * (means - centre) @ whiten
    _, sizes, rotation = np.linalg.svd(spread, full_matrices=False)
    criterion = sizes**2
    kept = int(np.sum(sizes > least * sizes[0])) if len(sizes) else 0
    scalings = _flip_axes(whiten @ rotation.T[:, :kept])
    # scalings scalings^T is S^-1 restricted to the axes kept, so this is S^-1 (m_k - m) row by row.
    coef, intercept = scores((means - centre) @ scalings @ scalings.T, means, centre, priors)
    total = float(criterion.sum()) or 1.0
    return Axes(coef, intercept, scalings, criterion[:n_axes] / total, criterion[:n_axes])


def by_least_squares(means: Array, centre: Array, priors: Array, covariance: Array, n_axes: int) -> Axes:
    """Solve S c_k = m_k - m by least squares, with the solution of least norm where S is singular.

    The axes are combinations of the c_k: of S-length one and at right angles in S where U diag(J) U^T are the
    eigenvectors of the k x k matrix sqrt(P_k P_l) (m_k - m)^T c_l.
    """
    # Least squares, not a solve: a singular S has many solutions, and the one of least norm ignores its null space.
    coef = lstsq(covariance, (means - centre).T)[0].T
    roots = np.sqrt(priors)[:, None]
    products = (roots * coef) @ ((means - centre) * roots).T
    # Symmetric in exact arithmetic; averaging removes the rounding of the least-squares solve.
    values, vectors = find_eigenpairs((products + products.T) / 2.0, check_finite=True)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > len(values) * _EPSILON * max(float(values[0]), 0.0)
    scalings = _flip_axes((roots * coef).T @ (vectors[:, kept] / np.sqrt(values[kept])))
    total = float(values[kept].sum()) or 1.0
    return Axes(*scores(coef, means, centre, priors), scalings, values[:n_axes] / total, values[:n_axes])


def by_eigenvectors(
    means: Array, centre: Array, priors: Array, within: Array, total: Array, n_axes: int, subject: str
) -> Axes:
    """Solve S_b w = J S_w w; S_b is the total minus the within-class covariance, J Fisher's criterion along w."""
    try:
        values, vectors = eigh(total - within, within)
    except LinAlgError as error:
        raise DataError(
            f"{subject}: solver='eigen' needs a within-class covariance of full rank, and some columns are constant or "
            f"determined by others within classes; got a singular one. Use solver='svd', or shrinkage."
        ) from error
    # Fisher's criterion J falls along the axes.
    values, vectors = values[::-1], _flip_axes(vectors[:, ::-1])
    coef, intercept = scores((means - centre) @ vectors @ vectors.T, means, centre, priors)
    return Axes(coef, intercept, vectors, values[:n_axes] / (float(values.sum()) or 1.0), values[:n_axes])


def _flip_axes(axes: Array) -> Array:
    """Flip axes (columns) so that the entry of largest magnitude in each is positive."""
    most = axes[np.argmax(np.abs(axes), axis=0), np.arange(axes.shape[1])]
    return axes * np.where(most < 0, -1.0, 1.0)


def mean_log_density(within: Array, covariance: Array) -> float:
    """Mean log-density of rows whose scatter about their means is `within`, under Gaussians of `covariance`.

    Of a singular covariance, within its span.
    """
    # Cholesky is several times cheaper than the eigenvectors that a singular covariance needs.
    try:
        factor = cholesky(covariance, lower=True)
        logarithm = 2.0 * float(np.sum(np.log(np.diag(factor))))
        # tr(C^-1 W) = tr(L^-1 W L^-T) with C = L L^T.
        half = solve_triangular(factor, within, lower=True)
        trace, rank = float(np.trace(solve_triangular(factor, half.T, lower=True))), len(factor)
    except LinAlgError:
        values, vectors = find_eigenpairs(covariance, check_finite=True)
        # Directions within rounding of zero are outside the span.
        kept = values > len(values) * _EPSILON * max(float(values[-1]), 0.0)
        logarithm, rank = float(np.sum(np.log(values[kept]))), int(kept.sum())
        trace = float(np.sum(np.sum((within @ vectors) * vectors, axis=0)[kept] / values[kept]))
    return -0.5 * (rank * math.log(2.0 * math.pi) + logarithm + trace)


def combine_state(
    sums: Any, n_axes: int, priors: Array, means: Array, centre: Array, axes: Axes, covariance: Array, density: float
) -> tuple[DiscriminantState, float]:
    """Return the state, and the mean log-likelihood of rows and labels."""
    parts = (axes.coef, axes.intercept, covariance, axes.scalings, axes.ratio, axes.criterion)
    # log p(x, k) = log P_k + log p(x | k), averaged over the rows.
    likelihood = float(xlogy(sums.weights, priors).sum()) / sums.weight + density
    return DiscriminantState(sums, n_axes, priors, means, centre, *parts), likelihood


@dataclass(frozen=True, eq=False)
class Projected:
    """The rows of a block along some axes, less a centre where there is one."""

    axes: Array
    centre: Array

    def __call__(self, block: Block) -> Array:
        # Differences are taken first: rows far from zero keep their digits.
        rows = block.X if self.centre is None else block.X - self.centre
        return block.xp.matmul(rows, self.axes)


def count_axes(subject: str, sums: Any, n_components: int | None) -> int:
    """Check that the sums suffice, and return the number of axes: k class means span k - 1 directions."""
    n_classes, n_features = sums.means.shape
    if int((sums.weights > 0).sum()) < 2:
        raise DataError(
            f"{subject}: the rows must be of two classes at least; got one class, {sums.classes}. Add rows of another."
        )
    if sums.counts.sum() <= n_classes:
        raise DataError(
            f"{subject}: The number of samples must be more than the number of classes; got "
            f"{int(sums.counts.sum())} for {n_classes}. Add rows."
        )
    most = min(n_classes - 1, n_features)
    if n_components is not None and n_components > most:
        raise DataError(
            f"{subject}: n_components cannot be larger than min(n_features, n_classes - 1). It must "
            f"be an integer in [1, {most}]; got {n_components}."
        )
    return n_components or most
