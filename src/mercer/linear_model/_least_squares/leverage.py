"""The projection onto the columns: hat matrix, leverages and leave-one-out residuals.

With singular value decomposition X = U S V^T, least squares fits y by U U^T y: the hat matrix is U U^T, and row i has
leverage |U_i|^2 in [0, 1]. U is never formed for leverages: one pass gives the triangle of X, a second V^T x_i / s.
"""

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from mercer._base.validation import FLOATS
from mercer._source import Source, open_source
from mercer._source.memory import require_memory
from mercer._source.threads import n_threads, one_blas_thread
from mercer._statistic import Moments
from mercer._statistic.triangle import Triangle
from mercer.errors import DataError, ParameterError
from mercer.linear_model._least_squares.least_squares import LinearRegression
from mercer.linear_model._solvers.closed_form.normal_equations import find_scales


def leverages(X: Any, *, fit_intercept: bool = True, n_jobs: int | None = None) -> np.ndarray:
    """Compute the leverage of each row: the diagonal of the hat matrix.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    fit_intercept : bool, default=True
        Whether the model has an intercept; it adds 1 / n to each leverage.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    leverages : ndarray of shape (n_samples,)
        They sum to the rank of X, plus one with an intercept.

    Examples
    --------
    >>> from mercer.linear_model import leverages
    >>> leverages([[0.0], [1.0], [2.0], [9.0]]).round(2)
    array([0.43, 0.33, 0.27, 0.97])
    """
    source = _open_rows(X, n_jobs)
    shift, whitening = _whitening(source, fit_intercept)
    extra = 1.0 / source.n_rows if fit_intercept else 0.0
    return source.map(lambda block: np.sum((block.centre(shift) @ whitening) ** 2, axis=1) + extra)


def hat_matrix(X: Any, *, fit_intercept: bool = True, n_jobs: int | None = None) -> np.ndarray:
    """Compute the matrix P with fitted values P y: symmetric and idempotent, its trace the rank.

    Takes what :func:`leverages` takes, and n^2 numbers of memory.

    Returns
    -------
    P : ndarray of shape (n_samples, n_samples)

    Examples
    --------
    >>> from mercer.linear_model import hat_matrix
    >>> P = hat_matrix([[0.0], [1.0], [2.0]])
    >>> round(float(P.trace()), 6)
    2.0
    """
    source = _open_rows(X, n_jobs)
    require_memory(
        "hat_matrix", 16 * source.n_rows**2, "the n x n matrix", "use leverages, which needs its diagonal only"
    )
    shift, whitening = _whitening(source, fit_intercept)
    basis = source.map(lambda block: block.centre(shift) @ whitening)
    with one_blas_thread():
        return basis @ basis.T + (1.0 / source.n_rows if fit_intercept else 0.0)


def leave_one_out_residuals(
    X: Any, y: Any, *, alpha: float = 0.0, fit_intercept: bool = True, n_jobs: int | None = None
) -> np.ndarray:
    """Compute the residual of each row under the model fitted without it, r_i / (1 - h_i), from one fit.

    h_i is the derivative of the prediction for a row by its own target. For kernel ridge regression see
    ``KernelRidge(leave_one_out=True)``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    alpha : float, default=0.0
        Strength of the penalty: of ridge regression, |y - X w - b|^2 + alpha |w|^2, where positive.
    fit_intercept, n_jobs
        As for :func:`leverages`.

    Returns
    -------
    residuals : ndarray of the shape of `y`
        NaN for a row of leverage one: nothing else determines its fit.

    Examples
    --------
    >>> from mercer.linear_model import leave_one_out_residuals
    >>> leave_one_out_residuals([[0.0], [1.0], [2.0]], [0.0, 1.0, 5.0]).round(6)
    array([ 3. , -1.5,  3. ])
    """
    if not alpha >= 0:
        raise ParameterError(f"leave_one_out_residuals: alpha must be a number in [0, inf); got {alpha!r}.")
    if alpha > 0:
        return _ridge_residuals(X, y, float(alpha), fit_intercept)
    left = 1.0 - leverages(X, fit_intercept=fit_intercept, n_jobs=n_jobs)
    # Rows of leverage one have no residual without themselves.
    left[left <= 1e-12] = np.nan
    residuals = LinearRegression(fit_intercept=fit_intercept, n_jobs=n_jobs).fit(X, y).residuals(X, y)
    return residuals / (left if residuals.ndim == 1 else left[:, None])


def _ridge_residuals(X: Any, y: Any, alpha: float, fit_intercept: bool) -> np.ndarray:
    """Return r_i / (1 - h_i) of ridge regression, h_i = 1 / n + sum_k s_k^2 / (s_k^2 + alpha) u_ik^2 if centred."""
    rows, targets = check_array(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    check_consistent_length(rows, targets)
    if fit_intercept:
        # Without a penalty on the intercept, the model of centred rows and targets is the model itself.
        rows, targets = rows - rows.mean(axis=0), targets - targets.mean(axis=0)
    with one_blas_thread():
        left, singular, _ = np.linalg.svd(rows, full_matrices=False)
        shares = singular**2 / (singular**2 + alpha)
        fitted = left @ (shares[:, None] * (left.T @ targets.reshape(len(rows), -1)))
    own = (left**2) @ shares + (1.0 / len(rows) if fit_intercept else 0.0)
    return (targets - fitted.reshape(targets.shape)) / (1.0 - own if targets.ndim == 1 else (1.0 - own)[:, None])


def _open_rows(X: Any, n_jobs: int | None) -> Source:
    X = check_array(X, dtype=list(FLOATS), order="C")
    return open_source(X, threads=n_threads(n_jobs))


def _whitening(source: Source, centre: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return a shift m and a matrix V / s such that (X - m) V / s is an orthonormal basis of the columns of X."""
    moments = source.reduce(Moments(centre, diagonal=True))
    if not np.isfinite(moments.scatter).all():
        raise DataError("leverages: the squares of the rows overflow; scale the columns down.")
    # The column space does not depend on the columns' units, so the rank is counted with all on one scale.
    scale = find_scales(np.sqrt(moments.scatter))
    triangle = source.reduce(Triangle(centre)).factor / scale
    with one_blas_thread():
        _, singular, right = np.linalg.svd(triangle, full_matrices=False)
    # Directions within rounding of zero do not belong to the column space.
    kept = singular > max(source.n_rows, source.n_features) * np.finfo(np.float64).eps * singular.max(initial=0.0)
    return moments.mean, right[kept].T / scale[:, None] / singular[kept]
