"""Ridge for many penalties from one singular value decomposition, and what else the singular values tell.

With X_c = U diag(d) V^T, the coefficients are V diag(d / (d^2 + alpha)) U^T y for every alpha: along the j-th singular
direction the least-squares fit shrinks by d_j^2 / (d_j^2 + alpha).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.utils import check_array, check_X_y

from mercer._base.validation import FLOATS
from mercer._source import open_source
from mercer._source.threads import n_threads, one_blas_thread
from mercer._statistic.triangle import Triangle
from mercer.errors import ParameterError


@dataclass(frozen=True)
class _Spectrum:
    """Singular values d, directions V^T, the targets along U, and the means."""

    singular: np.ndarray
    directions: np.ndarray
    targets: np.ndarray
    mean: np.ndarray
    y_mean: np.ndarray

    def coef(self, alpha: float) -> np.ndarray:
        """Return coefficients, one column per target; zero along directions without data, the limit alpha -> 0."""
        return self.directions.T @ (self.shrinkage(alpha)[:, None] * self.targets)

    def shrinkage(self, alpha: float) -> np.ndarray:
        tiny = self.directions.shape[1] * np.finfo(np.float64).eps * self.singular.max(initial=0.0)
        kept = self.singular > tiny
        return np.divide(self.singular, self.singular**2 + alpha, out=np.zeros_like(self.singular), where=kept)


def ridge_path(
    X: Any, y: Any, alphas: Any, *, fit_intercept: bool = True, sample_weight: Any = None, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Compute coefficients and intercepts of ridge regression for every penalty, from one decomposition.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    alphas : array-like of shape (n_alphas,)
        Penalties, non-negative; zero gives least squares (of least norm).
    fit_intercept : bool, default=True
        Whether there is an intercept.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    coefs : ndarray of shape (n_alphas, n_features) or (n_alphas, n_targets, n_features)
    intercepts : ndarray of shape (n_alphas,) or (n_alphas, n_targets)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import ridge_path
    >>> coefs, _ = ridge_path(np.eye(3), [3.0, 6.0, 9.0], [0.0, 1.0, 2.0], fit_intercept=False)
    >>> coefs[:, 2].round(6)
    array([9. , 4.5, 3. ])
    """
    alphas = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    if not (alphas >= 0).all():
        raise ParameterError(f"ridge_path: every alpha must be a number in [0, inf); got {alphas.min():g}.")
    spectrum, flat = _decompose(X, y, fit_intercept, sample_weight, n_jobs)
    with one_blas_thread():
        # V diag(d / (d^2 + alpha)) U^T y for each penalty, from one decomposition.
        coefs = np.stack([spectrum.coef(alpha).T for alpha in alphas])
        intercepts = spectrum.y_mean - coefs @ spectrum.mean
    return (coefs[:, 0], intercepts[:, 0]) if flat else (coefs, intercepts)


def alpha_for_norm(
    X: Any, y: Any, squared_norm: float, *, fit_intercept: bool = True, sample_weight: Any = None
) -> float:
    """Find the penalty whose coefficients have |coef|^2 = `squared_norm`: a budget instead of a price.

    |coef(alpha)|^2 falls as alpha grows, so there is one root. A budget that least squares itself keeps gives zero.

    Parameters
    ----------
    X, y, fit_intercept, sample_weight
        As for :func:`ridge_path`; one target.
    squared_norm : float
        The budget, positive.

    Returns
    -------
    alpha : float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import alpha_for_norm
    >>> round(alpha_for_norm(np.eye(2), [3.0, 4.0], 6.25, fit_intercept=False), 6)
    1.0
    """
    if not squared_norm > 0:
        raise ParameterError(f"alpha_for_norm: squared_norm must be a number in (0, inf); got {squared_norm!r}.")
    spectrum, _ = _decompose(X, y, fit_intercept, sample_weight, None)

    def excess(alpha: float) -> float:
        return float(np.sum((spectrum.shrinkage(alpha)[:, None] * spectrum.targets) ** 2)) - squared_norm

    # |coef|^2 falls as alpha grows: if least squares keeps the budget, no penalty is needed; otherwise one root exists.
    if excess(0.0) <= 0:
        return 0.0
    # |coef| <= d_max |U^T y| / alpha bounds the root from above.
    reach = float(spectrum.singular.max() * np.linalg.norm(spectrum.targets))
    return float(brentq(excess, 0.0, reach / np.sqrt(squared_norm), xtol=1e-300, rtol=1e-14))


def alpha_per_sample(penalty: float, n_samples: float) -> float:
    """Return the `alpha` of (1/n) sum_i (y_i - x_i . c)^2 + penalty |c|^2: n times the penalty.

    Examples
    --------
    >>> from mercer.linear_model import alpha_per_sample
    >>> alpha_per_sample(0.01, 500)
    5.0
    """
    return n_samples * penalty


def alpha_from_variances(noise: float, prior: float) -> float:
    """Return the `alpha` of the posterior mode under noise N(0, `noise`) and a prior N(0, `prior` I).

    Examples
    --------
    >>> from mercer.linear_model import alpha_from_variances
    >>> alpha_from_variances(noise=4.0, prior=2.0)
    2.0
    """
    return noise / prior


def ridge_degrees_of_freedom(X: Any, alpha: float, *, fit_intercept: bool = True) -> float:
    """Return the trace of the ridge smoother, sum_j d_j^2 / (d_j^2 + alpha), without the intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import ridge_degrees_of_freedom
    >>> ridge_degrees_of_freedom(np.eye(4), 1.0, fit_intercept=False)
    2.0
    """
    X = check_array(X, dtype=list(FLOATS), order="C")
    spectrum, _ = _decompose(X, np.zeros(X.shape[0]), fit_intercept, None, None)
    return float(np.sum(spectrum.singular * spectrum.shrinkage(alpha)))


def penalised_condition_number(largest: float, smallest: float, alpha: float = 0.0) -> float:
    """Return the condition number of X^T X + alpha I from the extreme eigenvalues of X^T X.

    Examples
    --------
    >>> from mercer.linear_model import penalised_condition_number
    >>> penalised_condition_number(1e3, 1e-3), round(penalised_condition_number(1e3, 1e-3, alpha=1.0), 6)
    (1000000.0, 1000.0)
    """
    return (largest + alpha) / (smallest + alpha)


def _decompose(X: Any, y: Any, centre: bool, sample_weight: Any, n_jobs: int | None) -> tuple[_Spectrum, bool]:
    """Compute the spectrum of rows and targets; return it, and whether `y` was flat."""
    X, y = check_X_y(X, y, dtype=list(FLOATS), order="C", multi_output=True, y_numeric=True)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    source = open_source(X, y, weight, n_threads(n_jobs))
    sums = source.reduce(Triangle(centre))
    factor, width = sums.factor, X.shape[1]
    with one_blas_thread():
        left, singular, right = np.linalg.svd(factor[:, :width], full_matrices=False)
        targets = left.T @ factor[:, width:]
    return _Spectrum(singular, right, targets, sums.mean[:width], sums.mean[width:]), y.ndim == 1
