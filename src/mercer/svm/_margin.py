"""The geometry of a fitted machine: distances to its hyperplane, its margin, and a bound on its VC dimension."""

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError
from mercer.kernels import Constant, Difference, Linear, Polynomial, Product, Sum
from mercer.svm._svdd import SVDD

__all__ = ["fit_path", "margin_bound", "margin_width", "signed_distances"]


def _compute_norm(model: Any) -> float:
    """Return |w| in feature space, of a machine of two classes: sqrt(b' K b), or the norm of ``coef_``."""
    check_is_fitted(model)
    if len(getattr(model, "classes_", (0, 1))) != 2:
        message = (
            f"{type(model).__name__}: a margin belongs to one hyperplane; got a model of {len(model.classes_)} classes."
            f" Fit two of them."
        )
        raise DataError(message)
    if "support_vectors_" not in vars(model):
        return float(np.linalg.norm(model.coef_))
    if model._values_given:
        message = f"{type(model).__name__}: the length of w needs the support vectors; got kernel values. Use a kernel."
        raise DataError(message)
    b = np.asarray(model._coefficients, dtype=np.float64)[0]
    ready = model._kernel.prepare(to_numpy(model.support_vectors_))
    return math.sqrt(max(float(b @ np.asarray(model._kernel.between(ready, ready), dtype=np.float64) @ b), 0.0))


def margin_width(model: Any) -> float:
    """Return the distance from the hyperplane to where scores are one, in feature space: 1 / |w|.

    Parameters
    ----------
    model : SVC or LinearSVC
        Fitted to two classes. The full width between both sides is twice this.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.svm import SVC, margin_width
    >>> model = SVC(C=1e6, kernel="linear").fit([[0.0], [1.0], [5.0], [9.0]], [0, 0, 1, 1])
    >>> round(margin_width(model), 6)
    2.0
    """
    norm = _compute_norm(model)
    return math.inf if norm == 0 else 1.0 / norm


def signed_distances(model: Any, X: Any) -> Array:
    """Return the distance of each row to the hyperplane, f(x) / |w|, positive on the side of the second class.

    Parameters
    ----------
    model : SVC or LinearSVC
        Fitted to two classes.
    X : array-like or sparse matrix of shape (n, d)

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from mercer.svm import SVC, signed_distances
    >>> model = SVC(C=1e6, kernel="linear", tol=1e-8).fit([[0.0], [1.0], [5.0], [9.0]], [0, 0, 1, 1])
    >>> signed_distances(model, [[0.0], [3.0], [4.0]]).round(6).tolist()
    [-3.0, 0.0, 1.0]
    """
    return model.decision_function(X) / _compute_norm(model)


def margin_bound(model: Any, X: Any, *, ceiling: bool = True) -> float:
    r"""Return a bound on the VC dimension of hyperplanes with a margin as wide as the model's.

    .. math:: h \le \min(\lceil R^2 / \rho^2 \rceil, n) + 1

    with :math:`\rho` the margin, R the radius of the smallest sphere around the rows in feature space, and n the
    dimension of that space, where it is finite and known: the number of columns of a linear kernel, the number of
    monomials of a polynomial one, and their sums and products for sums and products of kernels.

    Parameters
    ----------
    model : SVC or LinearSVC
        Fitted to two classes.
    X : array-like or sparse matrix of shape (n, d)
        The rows that the sphere is to hold.
    ceiling : bool, default=True
        Whether to round R^2 / rho^2 up.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.svm import SVC, margin_bound
    >>> X = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    >>> model = SVC(C=1e6, kernel="linear").fit(X, [0, 0, 1, 1])
    >>> margin_bound(model, X)
    3.0
    """
    norm = _compute_norm(model)
    # A linear machine has no support vectors, and the columns are its features.
    kernel = model._kernel if "support_vectors_" in vars(model) else Linear()
    radius = SVDD(1.0, kernel=kernel, tol=1e-6).fit(X).radius_
    ratio = radius**2 * norm**2
    # Rounding alone must not raise an integer to the next one.
    ratio = float(math.ceil(ratio * (1 - 1e-9))) if ceiling else ratio
    return min(ratio, count_feature_dimensions(kernel, model.n_features_in_)) + 1.0


def count_feature_dimensions(kernel: Any, d: int) -> float:
    """Return the dimension of the feature space of a kernel of rows with `d` columns; infinite where it is not known.

    A sum of kernels has the features of both side by side, a product all products of two.
    """
    if isinstance(kernel, Linear):  # of unit vectors too
        return float(d)
    if isinstance(kernel, Constant):
        return 1.0
    if isinstance(kernel, Polynomial) and kernel.positive_definite:
        # Monomials of degree p in d columns, or, with an offset, of degree up to p.
        return float(math.comb(d + int(kernel.degree) - (kernel.coef0 == 0), int(kernel.degree)))
    if isinstance(kernel, Difference):
        return math.inf
    if isinstance(kernel, Sum):
        return count_feature_dimensions(kernel.k1, d) + count_feature_dimensions(kernel.k2, d)
    if isinstance(kernel, Product):
        return count_feature_dimensions(kernel.k1, d) * count_feature_dimensions(kernel.k2, d)
    return math.inf


def fit_path(model: Any, X: Any, y: Any, Cs: Sequence[float], sample_weight: Any = None) -> list[Any]:
    """Return a machine fitted for each value in `Cs`, each started from the coefficients of the one before.

    Parameters
    ----------
    model : SVC or SVR
        Gives all other parameters.
    X, y : the rows and their targets
    Cs : sequence of float
        In increasing order, coefficients of one fit are within the bounds of the next.
    sample_weight : array-like of shape (n,), default=None

    Returns
    -------
    list of estimators
        One for each value, in the order of `Cs`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.svm import SVC, fit_path
    >>> X, y = load_iris(return_X_y=True)
    >>> [int(model.n_support_.sum()) for model in fit_path(SVC(kernel="linear"), X, y, [0.01, 1.0])]
    [119, 27]
    """
    walker, path = clone(model).set_params(warm_start=True), []
    for C in Cs:
        walker.set_params(C=C).fit(X, y, sample_weight)
        path.append(copy.copy(walker).set_params(warm_start=model.warm_start))
    return path
