"""Paths of least angles as arrays."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer._base.parameter import Boolean, Choice, Integer, Real, check_parameters
from mercer._solver.relay import answer_requests
from mercer._source.threads import one_blas_thread
from mercer._statistic import MomentSums
from mercer.errors import DataError, ParameterError
from mercer.linear_model._lasso.descent_regressor import suits_gram
from mercer.linear_model._lasso.elastic_net_path import open_path_rows
from mercer.linear_model._solvers.greedy.column_products import (
    ColumnProducts,
    ProductPlan,
    open_products,
    sum_products,
)
from mercer.linear_model._solvers.greedy.least_angle import LeastAnglePath, PathRules
from mercer.linear_model._solvers.lasso.coordinate_descent import check_cross

_RULES = {
    "max_iter": Integer(0) | Real(np.inf), "alpha_min": Real(0, squared=False), "method": Choice("lar", "lasso"),
    "eps": Real(0), "return_path": Boolean(), "return_n_iter": Boolean(), "positive": Boolean(),
}  # fmt: skip


def lars_path(
    X: Any,
    y: Any,
    Xy: Any = None,
    *,
    Gram: Any = None,
    max_iter: float = 500,
    alpha_min: float = 0,
    method: str = "lar",
    copy_X: bool = True,
    eps: float = np.finfo(float).eps,
    copy_Gram: bool = True,
    verbose: int = 0,
    return_path: bool = True,
    return_n_iter: bool = False,
    positive: bool = False,
) -> tuple:
    """Compute the path of least angle regression, or that of the lasso by it.

    The objective is that of :class:`LassoLars` without an intercept; centre X and y for one.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    Xy : array-like of shape (n_features,) or None, default=None
        X^T y where it is known; it is checked.
    Gram : None, bool, 'auto' or array-like of shape (n_features, n_features), default=None
        True sums up the Gram matrix X^T X first; an array is that matrix. Otherwise the cost decides.
    max_iter : int, default=500
        The most steps.
    alpha_min : float, default=0
        The penalty at which the path ends.
    method : {'lar', 'lasso'}, default='lar'
        Whether coefficients pass zero, or leave the path there.
    copy_X, copy_Gram : bool, default=True
        Have no effect: nothing is overwritten.
    eps : float, default=np.finfo(float).eps
        The least pivot of the Cholesky factor; see :class:`Lars`.
    verbose : int, default=0
        Whether to print a line for each knot.
    return_path : bool, default=True
        Whether to return all knots, or the last alone.
    return_n_iter : bool, default=False
        Whether to return the number of steps.
    positive : bool, default=False
        Whether the coefficients must not be negative; with 'lasso'.

    Returns
    -------
    alphas : ndarray of shape (n_knots,)
        The penalties.
    active : list of int
        The columns in use at the end.
    coefs : ndarray of shape (n_features, n_knots), or (n_features,) without `return_path`
        Coefficients.
    n_iter : int
        Steps, if asked for.

    Examples
    --------
    >>> from mercer.linear_model import lars_path
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(100, 5, n_informative=2, random_state=0)
    >>> alphas, active, coefs = lars_path(X, y)
    >>> active[:2], coefs.shape
    ([3, 4], (5, 3))
    """
    if X is None:
        raise ParameterError(
            "lars_path: X and Gram cannot both be unspecified. Give X, or call lars_path_gram."
            if Gram is None
            else "lars_path: X cannot be None if Gram is not None. Call lars_path_gram, which takes neither X nor y."
        )
    rules = _read_rules("lars_path", locals())
    source = open_path_rows("lars_path", X, y, None, None)
    given = None if Gram is None or isinstance(Gram, bool | str) else np.ascontiguousarray(Gram, dtype=np.float64)
    on_gram = given is not None or suits_gram(source, Gram is True or source.n_rows > source.n_features, "lars_path")
    plan = ProductPlan("lars_path", False, on_gram, given, source.host_dtype == np.float32)
    with one_blas_thread():
        moments = answer_requests(sum_products(plan), source)
        check_cross("lars_path", Xy, moments.cross)
        products = answer_requests(open_products(plan, moments), source)
        path = LeastAnglePath(rules, moments, 0, products, source.n_rows)
        answer_requests(path.walk(source.n_features * 2**20), source)
    return _give(path, source.host_dtype, verbose, return_path, return_n_iter)


def lars_path_gram(
    Xy: Any,
    Gram: Any,
    *,
    n_samples: float,
    max_iter: float = 500,
    alpha_min: float = 0,
    method: str = "lar",
    copy_X: bool = True,
    eps: float = np.finfo(float).eps,
    copy_Gram: bool = True,
    verbose: int = 0,
    return_path: bool = True,
    return_n_iter: bool = False,
    positive: bool = False,
) -> tuple:
    """Compute the path of :func:`lars_path` from inner products alone.

    Parameters
    ----------
    Xy : array-like of shape (n_features,)
        X^T y.
    Gram : array-like of shape (n_features, n_features)
        X^T X.
    n_samples : float
        The number of rows, or the sum of their weights.
    max_iter, alpha_min, method, copy_X, eps, copy_Gram, verbose, return_path, return_n_iter, positive
        As in :func:`lars_path`.

    Returns
    -------
    alphas, active, coefs, n_iter
        As of :func:`lars_path`.

    Examples
    --------
    >>> from mercer.linear_model import lars_path_gram
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(100, 5, n_informative=2, random_state=0)
    >>> alphas, active, coefs = lars_path_gram(X.T @ y, X.T @ X, n_samples=100)
    >>> active[:2]
    [3, 4]
    """
    rules = _read_rules("lars_path_gram", locals())
    check_parameters("lars_path_gram", {"n_samples": Real(0, closed="neither")}, {"n_samples": n_samples})
    given = check_array(Xy, dtype=np.float64, ensure_2d=False), check_array(Gram, dtype=np.float64)
    cross, scatter = given[0].ravel(), np.ascontiguousarray(given[1])
    if scatter.shape != (len(cross), len(cross)):
        raise DataError(
            f"lars_path_gram: The shapes of the inputs Gram and Xy do not match: Gram must have the shape "
            f"{(len(cross), len(cross))}; got {scatter.shape}. Give X.T @ X."
        )
    nothing = np.zeros(1)
    moments = MomentSums(float(n_samples), np.zeros(len(cross)), scatter, nothing, cross[:, None], nothing)
    path = LeastAnglePath(rules, moments, 0, ColumnProducts.of_scatter(scatter), len(cross))
    with one_blas_thread():
        for _ in path.walk(len(cross) * 2**20):
            pass
    kinds = {np.asarray(one).dtype for one in (Xy, Gram)}
    dtype = kinds.pop() if len(kinds) == 1 else np.dtype(np.float64)
    return _give(path, dtype, verbose, return_path, return_n_iter)


def _read_rules(subject: str, given: dict[str, Any]) -> PathRules:
    """Check the parameters that both functions take, and return what they ask for."""
    check_parameters(subject, _RULES, given)
    lasso, positive = given["method"] == "lasso", given["positive"]
    if positive and not lasso:
        raise ParameterError(f"{subject}: Positive constraint not supported for 'lar' coding method. Set 'lasso'.")
    return PathRules(
        subject, lasso, positive, given["eps"], given["max_iter"], given["alpha_min"], given["return_path"]
    )


def _give(path: LeastAnglePath, dtype: Any, verbose: int, whole: bool, return_n_iter: bool) -> tuple:
    """Return what scikit-learn's functions return."""
    alphas, active, coefs = path.alphas.astype(dtype), path.active.tolist(), path.coefs.T.astype(dtype)
    if verbose:
        for number, alpha in enumerate(alphas.tolist()):
            print(f"{path.rules.subject}: knot {number}, alpha {alpha:.6g}")
    answer = (alphas, active, coefs) if whole else (alphas[-1:], active, coefs[:, -1])
    return (*answer, path.n_steps) if return_n_iter else answer
