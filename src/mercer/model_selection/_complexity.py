"""Measures of complexity: parameters, effective degrees of freedom, norm of the weights and roughness."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.errors import DataError, ParameterError

_WEIGHTS = ("coef_", "intercept_")


def parameter_count(model: Any) -> int:
    """Count the numbers that a fitted model, or the last step of a pipeline, has learned and uses.

    Parameters
    ----------
    model : fitted estimator
        A linear model (``coef_``), a network (``coefs_``), a mixture of Gaussians, a kernel machine (``dual_coef_``),
        a tree or a forest.

    Returns
    -------
    int
        Coefficients that are not zero, and intercepts; none of a model with ``fit_intercept=False``. Of a mixture its
        free parameters: weights that sum to one, means, and covariances of its type. Of a tree a column and a threshold
        for each split, and the free numbers of each leaf.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer.linear_model import Lasso
    >>> from mercer.model_selection import parameter_count
    >>> X, y = load_diabetes(return_X_y=True)
    >>> parameter_count(Lasso(0.1).fit(X, y)), parameter_count(Lasso(1.0).fit(X, y))
    (8, 4)
    """
    last = model[-1] if hasattr(model, "steps") else model
    for count in (_count_network, _count_mixture, _count_trees, _count_expansion):
        found = count(last)
        if found is not None:
            return found
    last = _find_weights("parameter_count", model)
    coefficients = last.coef_.data if hasattr(last.coef_, "toarray") else last.coef_
    # A model without an intercept stores zeros for it, which it has not learned.
    learned = getattr(last, "fit_intercept", True) is not False
    return int(np.count_nonzero(coefficients)) + (int(np.size(getattr(last, "intercept_", ()))) if learned else 0)


def _count_network(model: Any) -> int | None:
    parts = [*getattr(model, "coefs_", ()), *getattr(model, "intercepts_", ())]
    # Biases are free numbers even where they are zero; a weight that was pruned is none.
    return sum(int(np.count_nonzero(part)) if part.ndim > 1 else part.size for part in parts) if parts else None


def _count_mixture(model: Any) -> int | None:
    kind = getattr(model, "covariance_type", None)
    if kind is None or not hasattr(model, "weights_") or not hasattr(model, "means_"):
        return None
    k, d = model.means_.shape
    free = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
    return k - 1 + k * d + free[kind]


def _count_trees(model: Any) -> int | None:
    if hasattr(model, "estimators_") and hasattr(model, "n_features_in_"):
        counts = [_count_trees(member) for member in np.ravel(np.asarray(model.estimators_, dtype=object))]
        return None if None in counts else sum(count for count in counts if count is not None)
    if not hasattr(model, "tree_") or not hasattr(model, "get_n_leaves"):
        return None
    leaves = int(model.get_n_leaves())
    free = max(1, len(model.classes_) - 1) if hasattr(model, "classes_") else 1
    return 2 * (leaves - 1) + free * leaves


def _count_expansion(model: Any) -> int | None:
    # Of a linear kernel the coefficients of the columns say the same with fewer numbers.
    if not hasattr(model, "dual_coef_") or getattr(model, "kernel", None) == "linear":
        return None
    return int(np.count_nonzero(model.dual_coef_)) + int(np.size(getattr(model, "intercept_", ())))


def weight_norm(model: Any) -> float:
    """Compute the norm of the coefficients of a linear model, or of the last step of a pipeline, without intercept.

    Parameters
    ----------
    model : fitted estimator
        With ``coef_``.

    Returns
    -------
    float
        The Euclidean norm.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer.linear_model import Ridge
    >>> from mercer.model_selection import weight_norm
    >>> X, y = load_diabetes(return_X_y=True)
    >>> weight_norm(Ridge(0.1).fit(X, y)) > weight_norm(Ridge(10.0).fit(X, y))
    True
    """
    return float(np.linalg.norm(_find_weights("weight_norm", model).coef_))


def _find_weights(subject: str, model: Any) -> Any:
    """Return the model with coefficients: the last step of a pipeline, or the model itself."""
    last = model[-1] if hasattr(model, "steps") else model
    if not hasattr(last, "coef_"):
        raise DataError(f"{subject}: the model must be fitted and have coef_; got {type(last).__name__} without.")
    return last


def degrees_of_freedom(estimator: Any, X: Any, y: Any = None, *, step: float | None = None) -> float:
    r"""Compute the effective degrees of freedom of a regressor: the sum of the derivatives of predictions by targets.

    .. math:: df = \sum_i \frac{\partial \hat y_i}{\partial y_i} = \operatorname{tr} S

    where predictions are :math:`S y`, as those of least squares, ridge, splines and kernel smoothers are.

    Parameters
    ----------
    estimator : estimator
        A regressor.
    X : array-like of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,) or None, default=None
        The targets around which derivatives are taken; None takes zeros. For linear smoothers they do not matter.
    step : float or None, default=None
        Change of each target, which any linear smoother follows exactly; None takes a thousandth of the targets' range,
        so that neither rounding of large targets nor bends of other models matter.

    Returns
    -------
    float
        Between 0 and the number of rows for linear smoothers.

    Notes
    -----
    Fits n_samples + 1 times.

    References
    ----------
    J. Ye, *On measuring and correcting the effects of data mining and model selection*, Journal of the American
    Statistical Association 93 (1998).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import LinearRegression
    >>> from mercer.model_selection import degrees_of_freedom
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> round(degrees_of_freedom(LinearRegression(), X), 6)
    5.0
    """
    X = np.asarray(X, dtype=float)
    target = np.zeros(len(X)) if y is None else np.asarray(y, dtype=float)
    if step is None:
        # A thousandth of the range of the targets, or of their size, or of one where all are zero.
        step = 1e-3 * (float(np.ptp(target)) or float(np.abs(target).max(initial=0.0)) or 1.0)
    if not np.isfinite(step) or step == 0:
        raise ParameterError(f"degrees_of_freedom: step must be a number other than zero; got {step!r}.")
    # A linear smoother has y^ = S y, so that a forward difference of any width gives the diagonal of S exactly.
    before = clone(estimator).fit(X, target).predict(X)
    total = 0.0
    for row in range(len(X)):
        moved = target.copy()
        moved[row] += step
        total += float(clone(estimator).fit(X, moved).predict(X[row : row + 1])[0] - before[row]) / step
    return total


def roughness(function: Callable[[np.ndarray], Any], low: float, high: float, *, n_points: int = 1001) -> float:
    r"""Compute the roughness of a function of one variable, :math:`\int f''(x)^2 dx`, on a grid.

    Parameters
    ----------
    function : callable
        Takes an array of shape (n_points, 1), as ``predict`` does.
    low, high : float
        The ends.
    n_points : int, default=1001
        Points of the grid.

    Returns
    -------
    float
        0 for a straight line.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.model_selection import roughness
    >>> round(roughness(lambda x: np.sin(x[:, 0]), 0.0, np.pi), 3)  # half of pi
    1.571
    """
    if not low < high or n_points < 3:
        raise ParameterError(
            f"roughness: low must be below high, and n_points at least 3; got {low}, {high} and {n_points}."
        )
    x = np.linspace(low, high, n_points)
    values = np.asarray(function(x[:, None]), dtype=float).ravel()
    width = x[1] - x[0]
    bend = np.diff(values, 2) / width**2
    # The ends have no second difference: they take that of their neighbour. Integrate by the trapezoidal rule.
    squares = np.concatenate([bend[:1], bend, bend[-1:]]) ** 2
    return float(np.sum((squares[1:] + squares[:-1]) / 2) * width)
