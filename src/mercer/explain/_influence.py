"""What each training row did to a linear model: exact for least squares and ridge, by one Newton step for logistic."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer._types import Array
from mercer.errors import DataError, UnsupportedError
from mercer.explain._rows import Table

# Relative size of the gradient up to which parameters count as those of the optimum.
_AT_OPTIMUM = 1e-2


@dataclass(frozen=True, eq=False)
class Influence:
    """What changes in a model where one training row is left out.

    Attributes
    ----------
    coefficients : ndarray of shape (n, d)
        The change of the coefficients where row i is left out.
    intercept : ndarray of shape (n,)
        That of the intercept.
    leverages : ndarray of shape (n,)
        How much each row's own answer follows its target, between 0 and 1.
    is_exact : bool
        Whether the changes are those of a new fit, or of one step of Newton's method towards it.
    """

    coefficients: Array
    intercept: Array
    leverages: Array
    is_exact: bool

    def change_scores(self, X: Any) -> Array:
        """Return what leaving out each training row changes in the scores of rows.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        changes : ndarray of shape (m, n)
        """
        return np.asarray(np.asarray(X, np.float64) @ self.coefficients.T + self.intercept)


def influence(model: Any, X: Any, y: Any) -> Influence:
    r"""Measure what each training row did to a linear model.

    With :math:`A` the curvature of the objective at its minimum and :math:`g_i` the gradient of row i's loss, leaving
    row i out moves the parameters by :math:`A^{-1} g_i / (1 - h_i)`, where :math:`h_i` is its leverage. For squared
    losses this is what a new fit gives; for logistic regression it is one step of Newton's method.

    Parameters
    ----------
    model : estimator
        Fitted least squares, ridge, or logistic regression of two classes with a ridge penalty or none, of mercer or
        scikit-learn.
    X : array-like of shape (n, d)
        The rows of the fit.
    y : array-like of shape (n,)
        Their targets.

    Returns
    -------
    Influence

    References
    ----------
    R. D. Cook, Detection of influential observation in linear regression, 1977.
    D. Pregibon, Logistic regression diagnostics, 1981.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.explain import influence
    >>> from mercer.linear_model import LinearRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0], [10.0]]), np.array([0.0, 1.0, 2.0, 0.0])
    >>> found = influence(LinearRegression().fit(X, y), X, y)
    >>> round(float(found.coefficients[3, 0] + LinearRegression().fit(X, y).coef_[0]), 6)
    1.0
    """
    check_is_fitted(model)
    rows, targets = Table.read("influence", X, model).to_floats("influence"), np.asarray(y)
    if targets.shape != (len(rows),):
        raise DataError(f"influence: y must have {len(rows)} values; got an array of shape {targets.shape}.")
    coefficients = np.asarray(getattr(model, "coef_", np.empty((0, 0))), np.float64)
    if coefficients.size != rows.shape[1]:
        raise UnsupportedError(
            f"influence: {type(model).__name__} must be linear with one output; it is not. Refit without a row instead."
        )
    has_intercept = bool(getattr(model, "fit_intercept", True))
    design = np.column_stack([rows, np.ones(len(rows))]) if has_intercept else rows
    parameters = np.append(coefficients.ravel(), np.ravel(model.intercept_)) if has_intercept else coefficients.ravel()
    penalty = np.append(np.full(rows.shape[1], _read_penalty(model)), np.zeros(int(has_intercept)))
    gradients, curvatures = _read_loss(model, design @ parameters, targets)
    total, size = design.T @ gradients + penalty * parameters, np.abs(design).T @ np.abs(gradients)
    if (np.abs(total) > _AT_OPTIMUM * (size + penalty * np.abs(parameters)).max() + 1e-9).any():
        raise DataError(
            "influence: X and y must be those of the fit, with a squared or logistic loss and a ridge penalty; the "
            "gradient at the fitted parameters is not zero. Give the rows of the fit, without weights."
        )
    inverse = np.linalg.pinv((design.T * curvatures) @ design + np.diag(penalty), hermitian=True)
    moved = design @ inverse
    leverages = curvatures * np.einsum("ij,ij->i", moved, design)
    with np.errstate(divide="ignore", invalid="ignore"):
        changes = moved * (gradients / (1.0 - leverages))[:, None]
    shift = changes[:, -1] if has_intercept else np.zeros(len(rows))
    return Influence(changes[:, : rows.shape[1]], shift, leverages, not is_classifier(model))


def _read_penalty(model: Any) -> float:
    """Return the factor of half the squared length of the coefficients in the objective."""
    if is_classifier(model):
        strength = getattr(model, "C", None)
        ratio = getattr(model, "l1_ratio", 0.0)
        if strength is None or getattr(model, "penalty", "l2") in ("l1", "elasticnet") or ratio:
            raise UnsupportedError(
                f"influence: {type(model).__name__} has no curvature that is known here; use logistic regression with "
                f"a ridge penalty."
            )
        return 0.0 if getattr(model, "penalty", "l2") is None or np.isinf(strength) else 1.0 / float(strength)
    alpha = getattr(model, "alpha_", getattr(model, "alpha", 0.0))
    if getattr(model, "l1_ratio", 0.0) or not isinstance(alpha, int | float | np.floating):
        raise UnsupportedError(f"influence: {type(model).__name__} is not least squares or ridge; use one of these.")
    return float(alpha)


def _read_loss(model: Any, scores: Array, targets: Array) -> tuple[Array, Array]:
    """Return gradients and curvatures (n,) of the losses by the scores."""
    if not is_classifier(model):
        return scores - np.asarray(targets, np.float64), np.ones(len(scores))
    chances = 1.0 / (1.0 + np.exp(-scores))
    return chances - (targets == model.classes_[1]), chances * (1.0 - chances)
