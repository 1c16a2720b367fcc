"""Covariances by a call, for those who want the matrix and no estimator."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer._statistic.shrinkage import shrink_covariance
from mercer.covariance._empirical import EmpiricalCovariance
from mercer.covariance._graphical import GraphicalLasso
from mercer.covariance._shrunk import OAS, LedoitWolf
from mercer.errors import ParameterError


def empirical_covariance(
    X: Any, *, assume_centered: bool = False, sample_weight: Any = None, ddof: float = 0, ridge: float = 0.0
) -> Any:
    """Compute the covariance: the scatter divided by the sum of the weights less `ddof`, plus `ridge` I.

    By default that is maximum likelihood.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or rows in any other place
        Rows; one dimension is taken for one row.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights.
    ddof : float, default=0
        1 for the unbiased estimate.
    ridge : float, default=0.0
        Added to the diagonal.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        The covariance.

    Examples
    --------
    >>> from mercer.covariance import empirical_covariance
    >>> empirical_covariance([[0.0, 0.0], [2.0, 4.0]])
    array([[1., 2.],
           [2., 4.]])
    >>> empirical_covariance([[0.0, 0.0], [2.0, 4.0]], ddof=1, ridge=0.5)
    array([[2.5, 4. ],
           [4. , 8.5]])
    """
    model = EmpiricalCovariance(store_precision=False, assume_centered=assume_centered, ddof=ddof, ridge=ridge)
    return model.fit(_as_rows(X), sample_weight=sample_weight).covariance_


def graphical_lasso(
    emp_cov: Any,
    alpha: float,
    *,
    mode: str = "cd",
    tol: float = 1e-4,
    enet_tol: float = 1e-4,
    max_iter: int = 100,
    verbose: bool = False,
    return_costs: bool = False,
    eps: float = np.finfo(np.float64).eps,
    return_n_iter: bool = False,
) -> tuple[Any, ...]:
    """Compute the covariance and the sparse precision of the graphical lasso from the covariance of the rows.

    Parameters
    ----------
    emp_cov : array-like of shape (n_features, n_features)
        The covariance of the rows.
    alpha, mode, tol, enet_tol, max_iter, verbose, eps
        As of :class:`GraphicalLasso`.
    return_costs : bool, default=False
        Whether to return the objective and the duality gap after each sweep as well.
    return_n_iter : bool, default=False
        Whether to return the number of sweeps as well.

    Returns
    -------
    covariance, precision : ndarray of shape (n_features, n_features)
    costs : list of pairs of float
        With `return_costs`.
    n_iter : int
        With `return_n_iter`.

    Examples
    --------
    >>> from mercer.covariance import graphical_lasso
    >>> covariance, precision = graphical_lasso([[1.0, 0.5], [0.5, 1.0]], alpha=0.3)
    >>> covariance.round(6).tolist(), precision.round(4).tolist()
    ([[1.0, 0.2], [0.2, 1.0]], [[1.0417, -0.2083], [-0.2083, 1.0417]])
    """
    given: dict[str, Any] = {
        "mode": mode,
        "tol": tol,
        "enet_tol": enet_tol,
        "max_iter": max_iter,
        "verbose": verbose,
        "eps": eps,
    }
    model = GraphicalLasso(alpha, covariance="precomputed", assume_centered=True, **given).fit(emp_cov)
    costs, n_iter = ([model.costs_] if return_costs else []), ([model.n_iter_] if return_n_iter else [])
    return (model.covariance_, model.precision_, *costs, *n_iter)


def shrunk_covariance(emp_cov: Any, shrinkage: float = 0.1) -> np.ndarray:
    """Compute (1 - shrinkage) C + shrinkage (tr C / d) I.

    Parameters
    ----------
    emp_cov : array-like of shape (..., n_features, n_features)
        One covariance, or several.
    shrinkage : float in [0, 1], default=0.1
        The share of the identity.

    Returns
    -------
    ndarray of shape (..., n_features, n_features)
        The shrunk covariances.

    Examples
    --------
    >>> from mercer.covariance import shrunk_covariance
    >>> shrunk_covariance([[2.0, 1.0], [1.0, 0.0]], 0.5)
    array([[1.5, 0.5],
           [0.5, 0.5]])
    """
    if not 0.0 <= shrinkage <= 1.0:
        raise ParameterError(f"shrunk_covariance: shrinkage must be a number in [0, 1]; got {shrinkage!r}.")
    return shrink_covariance(check_array(emp_cov, allow_nd=True, dtype=[np.float64, np.float32]), shrinkage)


def ledoit_wolf(
    X: Any, *, assume_centered: bool = False, block_size: int = 1000, sample_weight: Any = None
) -> tuple[Any, float]:
    """Compute the covariance shrunk as Ledoit and Wolf (2004) propose, and the weight of the identity in it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or rows in any other place
        Rows.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.
    block_size : int, default=1000
        Has no effect; see :class:`LedoitWolf`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights.

    Returns
    -------
    covariance : ndarray of shape (n_features, n_features)
    shrinkage : float
    """
    model = LedoitWolf(store_precision=False, assume_centered=assume_centered, block_size=block_size)
    model.fit(_as_rows(X), sample_weight=sample_weight)
    return model.covariance_, model.shrinkage_


def ledoit_wolf_shrinkage(X: Any, assume_centered: bool = False, block_size: int = 1000) -> float:
    """Compute the weight of the identity in the shrinkage of Ledoit and Wolf (2004).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or rows in any other place
        Rows.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.
    block_size : int, default=1000
        Has no effect; see :class:`LedoitWolf`.

    Returns
    -------
    float
        In [0, 1].
    """
    return ledoit_wolf(X, assume_centered=assume_centered, block_size=block_size)[1]


def oas(X: Any, *, assume_centered: bool = False, sample_weight: Any = None) -> tuple[Any, float]:
    """Compute the covariance by oracle approximating shrinkage, and the weight of the identity in it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or rows in any other place
        Rows.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights.

    Returns
    -------
    covariance : ndarray of shape (n_features, n_features)
    shrinkage : float
    """
    model = OAS(store_precision=False, assume_centered=assume_centered)
    model.fit(_as_rows(X), sample_weight=sample_weight)
    return model.covariance_, model.shrinkage_


def _as_rows(X: Any) -> Any:
    """Return the rows; an array of one dimension becomes one row, with a warning."""
    if np.ndim(X) == 1 and np.asarray(X).dtype.kind in "fiub":
        warnings.warn("Only one sample available. You may want to reshape your data array.", stacklevel=3)
        return np.reshape(X, (1, -1))
    return X
