"""The geometry of a fitted machine: distances to its hyperplane, its margin, and its path over C."""

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError, DataTypeError


def _compute_norm(model: Any) -> float:
    """Return |w| in feature space, of a machine of two classes: sqrt(b' K b), or the norm of ``coef_``."""
    check_is_fitted(model)
    if hasattr(model, "steps"):
        # The hyperplane lies in the space that the last step sees.
        return _compute_norm(model[-1])
    if len(getattr(model, "classes_", (0, 1))) != 2:
        raise DataError(
            f"{type(model).__name__}: a margin belongs to one hyperplane; got a model of {len(model.classes_)} classes."
            f" Fit two of them."
        )
    # Linear machines store w itself; machines of other libraries have no kernel that could be asked.
    if "support_vectors_" not in vars(model) or not hasattr(model, "_values_given"):
        if not hasattr(model, "coef_"):
            raise DataTypeError(
                f"{type(model).__name__}: the length of w needs coef_, or a kernel of mercer; got neither. Fit "
                f"mercer.svm.SVC, or use a linear kernel."
            )
        return float(np.linalg.norm(model.coef_))
    if model._values_given:
        raise DataError(
            f"{type(model).__name__}: the length of w needs the support vectors; got kernel values. Use a kernel."
        )
    b = np.asarray(model._coefficients, dtype=np.float64)[0]
    ready = model._kernel.prepare(to_numpy(model.support_vectors_))
    return math.sqrt(max(float(b @ np.asarray(model._kernel.between(ready, ready), dtype=np.float64) @ b), 0.0))


def margin_width(model: Any) -> float:
    """Return the distance from the hyperplane to where scores are one, in feature space: 1 / |w|.

    Parameters
    ----------
    model : SVC, LinearSVC, another linear classifier, or a pipeline that ends in one
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
    model : SVC, LinearSVC, another linear classifier, or a pipeline that ends in one
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
