"""Hyperplanes: signed distances, their canonical form and its margin, and the slacks of a machine's rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer._base.reading import read_numbers
from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.errors import DataError, ParameterError


@dataclass(frozen=True, eq=False)
class Hyperplane:
    r"""The hyperplane w . x + b = 0, with its distances and margins.

    (w, b) and (k w, k b) with k > 0 are the same hyperplane with the same sides. The canonical form with respect to
    some rows is the one with :math:`\min_i |w \cdot x_i + b| = 1`; then the nearest row is at the distance
    :math:`1 / \|w\|`.

    Parameters
    ----------
    coef : array-like of shape (d,)
        w, the normal, not zero; it points to the positive side.
    intercept : float, default=0.0
        b.

    Examples
    --------
    >>> from mercer.svm import Hyperplane
    >>> plane = Hyperplane([3.0, 4.0], -5.0)
    >>> plane.distances([[3.0, 4.0], [0.0, 0.0]]).tolist(), plane.origin_distance
    ([4.0, -1.0], -1.0)
    >>> plane.canonicalize([[3.0, 4.0], [0.0, 2.5]]).margin  # the second row is nearest
    1.0
    """

    coef: Any
    intercept: float = 0.0

    def __post_init__(self) -> None:
        coef = read_numbers("Hyperplane", "coef", self.coef, closed="neither", error=ParameterError)
        intercept = read_numbers("Hyperplane", "intercept", self.intercept, closed="neither", error=ParameterError)
        if coef.ndim != 1 or not coef.any() or intercept.size != 1:
            raise ParameterError(
                f"Hyperplane: coef must be a vector that is not zero, and intercept one number; got shapes "
                f"{coef.shape} and {intercept.shape}. Give one row of coef_."
            )
        object.__setattr__(self, "coef", coef)
        object.__setattr__(self, "intercept", float(intercept.ravel()[0]))

    @classmethod
    def from_model(cls, model: Any) -> "Hyperplane":
        """Return the decision boundary of a fitted linear classifier of two classes, with its ``coef_``.

        Parameters
        ----------
        model : classifier
            With ``coef_`` of one row and ``intercept_``: a linear SVC, LogisticRegression, Perceptron and others.
        """
        check_is_fitted(model)
        coef = np.atleast_2d(to_numpy(model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_))
        if len(coef) != 1:
            raise DataError(
                f"Hyperplane: the model must have two classes; got {len(coef)} rows of coef_. Fit two classes."
            )
        return cls(coef[0], float(np.ravel(to_numpy(model.intercept_))[0]))

    @property
    def norm(self) -> float:
        """The length of w."""
        return float(np.linalg.norm(self.coef))

    @property
    def margin(self) -> float:
        """1 / |w|: the distance from the hyperplane to where scores are one. The full width is twice this."""
        return 1.0 / self.norm

    @property
    def origin_distance(self) -> float:
        """b / |w|: the signed distance of the origin."""
        return self.intercept / self.norm

    def decision_function(self, X: Any) -> Array:
        """Return w . x + b of each row."""
        X = check_array(X, dtype=np.float64, input_name="X")
        if X.shape[1] != len(self.coef):
            raise DataError(f"Hyperplane: X must have {len(self.coef)} columns, as coef has; got {X.shape[1]}.")
        return X @ self.coef + self.intercept

    def distances(self, X: Any) -> Array:
        """Return the signed distance of each row, (w . x + b) / |w|: positive on the side that w points to."""
        return self.decision_function(X) / self.norm

    def rescale(self, factor: float) -> "Hyperplane":
        """Return the same hyperplane as (k w, k b), k > 0."""
        factor = float(read_numbers("Hyperplane", "factor", factor, 0.0, closed="neither", error=ParameterError))
        return Hyperplane(factor * self.coef, factor * self.intercept)

    def canonicalize(self, X: Any) -> "Hyperplane":
        """Return the same hyperplane scaled so that the nearest of the rows has the score 1 or -1."""
        nearest = float(np.abs(self.decision_function(X)).min())
        if not nearest > 0:
            raise DataError("Hyperplane: no canonical form; got a row on the hyperplane. Leave out rows with score 0.")
        return self.rescale(1.0 / nearest)


def slacks(model: Any, X: Any, y: Any) -> Array:
    r"""Return the slack of each row: by how much it violates the constraint of a fitted machine.

    For classifiers of two classes :math:`\xi_i = \max(0, 1 - y_i f(x_i))`: 0 outside the margin, up to 1 inside on the
    right side, above 1 for errors. For regressors :math:`\xi_i = \max(0, |y_i - f(x_i)| - \epsilon)`, the distance to
    the tube. The objective of the machine is :math:`\tfrac12 \|w\|^2 + \sum_i C_i \xi_i`.

    Parameters
    ----------
    model : SVC, LinearSVC, SVR or LinearSVR
        Fitted; classifiers to two classes.
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
        Labels of the model, or targets.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from mercer.svm import SVC, slacks
    >>> X, y = [[0.0], [1.0], [5.0], [9.0], [2.0]], ["a", "a", "b", "b", "b"]
    >>> model = SVC(C=0.1, kernel="linear", tol=1e-8).fit(X, y)
    >>> (slacks(model, X, y).round(3) + 0.0).tolist()
    [0.0, 0.4, 0.0, 0.0, 1.2]
    """
    check_is_fitted(model)
    y = column_or_1d(y)
    check_consistent_length(X, y)
    # Regressors: how far a target is outside the tube.
    if not hasattr(model, "classes_"):
        if not hasattr(model, "epsilon"):
            raise DataError(f"slacks: the model must have two classes or an epsilon; got {type(model).__name__}.")
        return np.maximum(np.abs(np.asarray(y, dtype=np.float64) - to_numpy(model.predict(X))) - model.epsilon, 0.0)
    classes = to_numpy(model.classes_)
    if len(classes) != 2:
        raise DataError(f"slacks: the model must have two classes; got {len(classes)}. Fit two of them.")
    unknown = y[~np.isin(y, classes)]
    if len(unknown):
        raise DataError(f"slacks: y must have labels of the model; got {unknown.tolist()[0]!r}. Drop those rows.")
    # y is +1 for the second class, as in decision_function.
    signs = np.where(y == classes[1], 1.0, -1.0)
    return np.maximum(1.0 - signs * to_numpy(model.decision_function(X)), 0.0)
