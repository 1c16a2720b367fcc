"""Orthogonal matching pursuit as functions of arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from mercer._base.parameter import Boolean, Integer, Nothing, Real, check_parameters
from mercer._base.validation import FLOATS
from mercer._solver.relay import answer_requests
from mercer._source import open_source
from mercer._source.threads import n_threads, one_blas_thread
from mercer._statistic import MomentSums
from mercer.errors import DataError
from mercer.linear_model._greedy.matching_pursuit import count_columns, warn_of_dependence
from mercer.linear_model._lasso.descent_regressor import suits_gram
from mercer.linear_model._solvers.greedy.column_products import (
    ColumnProducts,
    ProductPlan,
    open_products,
    sum_products,
)
from mercer.linear_model._solvers.greedy.matching_pursuit import MatchingPursuit

_RULES = {
    "n_nonzero_coefs": Integer(1) | Nothing(), "tol": Real(0) | Nothing(), "return_path": Boolean(),
    "return_n_iter": Boolean(),
}  # fmt: skip


def orthogonal_mp(
    X: Any,
    y: Any,
    *,
    n_nonzero_coefs: int | None = None,
    tol: float | None = None,
    precompute: Any = False,
    copy_X: bool = True,
    return_path: bool = False,
    return_n_iter: bool = False,
) -> Any:
    """Find coefficients by orthogonal matching pursuit, without an intercept.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; unlike scikit-learn's function, this asks of their columns no norm of one.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Targets.
    n_nonzero_coefs : int or None, default=None
        How many columns to use; None means a tenth of them, and at least one.
    tol : float or None, default=None
        The squared residual to reach; it takes the place of the number.
    precompute : bool or 'auto', default=False
        True sums up the products of all columns first; otherwise the cost decides.
    copy_X : bool, default=True
        Has no effect: nothing is overwritten.
    return_path : bool, default=False
        Whether to return the coefficients with one column, two and so on.
    return_n_iter : bool, default=False
        Whether to return the numbers of columns in use.

    Returns
    -------
    coef : ndarray of shape (n_features,), (n_features, n_targets), or (n_features, n_targets, n_sizes) with the path
        Coefficients; axes of length one are left out.
    n_iters : int or list of int
        Columns in use, for each target, if asked for.

    Examples
    --------
    >>> from mercer.linear_model import orthogonal_mp
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(noise=4, random_state=0)
    >>> int((orthogonal_mp(X, y) != 0).sum())
    10
    """
    check_parameters("orthogonal_mp", _RULES, locals())
    X = check_array(X, accept_sparse="csr", dtype=list(FLOATS), order="C")
    y = check_array(y, dtype=FLOATS[0], ensure_2d=False)
    check_consistent_length(X, y)
    source = open_source(X, y, None, n_threads(None))
    most = count_columns("orthogonal_mp", n_nonzero_coefs, tol, source.n_features)
    on_gram = suits_gram(source, precompute is True or source.n_rows > source.n_features, "orthogonal_mp")
    plan = ProductPlan("orthogonal_mp", False, on_gram)
    with one_blas_thread():
        moments = answer_requests(sum_products(plan), source)
        products = answer_requests(open_products(plan, moments), source)
        paths = []
        for target in range(source.n_targets):
            size = min(most, source.n_rows) if tol is not None else most
            goal = -np.inf if tol is None else float(tol)
            path = MatchingPursuit("orthogonal_mp", size, goal, moments, target, products)
            answer_requests(path.walk(size), source)
            paths.append(path)
    return _give(paths, source.host_dtype, return_path, return_n_iter)


def orthogonal_mp_gram(
    Gram: Any,
    Xy: Any,
    *,
    n_nonzero_coefs: int | None = None,
    tol: float | None = None,
    norms_squared: Any = None,
    copy_Gram: bool = True,
    copy_Xy: bool = True,
    return_path: bool = False,
    return_n_iter: bool = False,
) -> Any:
    """Find coefficients by orthogonal matching pursuit from inner products alone.

    Parameters
    ----------
    Gram : array-like of shape (n_features, n_features)
        X^T X.
    Xy : array-like of shape (n_features,) or (n_features, n_targets)
        X^T y.
    n_nonzero_coefs, tol, return_path, return_n_iter
        As in :func:`orthogonal_mp`.
    norms_squared : array-like of shape (n_targets,) or None, default=None
        The squared norms of the targets, which `tol` needs.
    copy_Gram, copy_Xy : bool, default=True
        Have no effect: nothing is overwritten.

    Returns
    -------
    coef, n_iters
        As of :func:`orthogonal_mp`.

    Examples
    --------
    >>> from mercer.linear_model import orthogonal_mp_gram
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(noise=4, random_state=0)
    >>> int((orthogonal_mp_gram(X.T @ X, X.T @ y) != 0).sum())
    10
    """
    check_parameters("orthogonal_mp_gram", _RULES, locals())
    given, cross = check_array(Gram, dtype=list(FLOATS)), check_array(Xy, dtype=np.float64, ensure_2d=False)
    scatter, cross = np.ascontiguousarray(given, dtype=np.float64), cross.reshape(len(cross), -1)
    d, n_targets = cross.shape
    if scatter.shape != (d, d):
        raise DataError(f"orthogonal_mp_gram: Gram must have the shape {(d, d)}; got {scatter.shape}. Give X.T @ X.")
    if tol is not None and norms_squared is None:
        raise DataError(
            "orthogonal_mp_gram: Gram OMP needs the precomputed norms in order to evaluate the error sum of squares: "
            "norms_squared must hold those of the targets where tol is given; got None."
        )
    squares = np.zeros(n_targets) if norms_squared is None else np.asarray(norms_squared, dtype=np.float64).reshape(-1)
    moments = MomentSums(1.0, np.zeros(d), scatter, np.zeros(n_targets), cross, squares)
    most = count_columns("orthogonal_mp_gram", n_nonzero_coefs, tol, d)
    products, goal = ColumnProducts.of_scatter(scatter), -np.inf if tol is None else float(tol)
    paths = [MatchingPursuit("orthogonal_mp_gram", most, goal, moments, k, products) for k in range(n_targets)]
    with one_blas_thread():
        for path in paths:
            for _ in path.walk(most):
                pass
    return _give(paths, given.dtype, return_path, return_n_iter)


def _give(paths: Sequence[MatchingPursuit], dtype: Any, whole: bool, return_n_iter: bool) -> Any:
    """Return what scikit-learn's functions return."""
    warn_of_dependence([path.ended for path in paths], stacklevel=3)
    if whole:
        length = max(path.n_steps for path in paths)
        tables = [path.coefs[1:] for path in paths]
        # A target that ended early keeps its last coefficients.
        coef = np.stack([np.concatenate([t, np.repeat(t[-1:], length - len(t), axis=0)]).T for t in tables], axis=1)
    else:
        coef = np.stack([path.coef for path in paths], axis=1)
    coef = np.squeeze(coef).astype(dtype)
    steps = [path.n_steps for path in paths]
    return (coef, steps[0] if len(steps) == 1 else steps) if return_n_iter else coef
