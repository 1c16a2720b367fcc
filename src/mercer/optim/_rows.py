"""The mean loss of a linear model as a function to minimise, over rows in any place."""

from typing import Any, ClassVar

import numpy as np

from mercer._base import Estimator
from mercer._objective import Loss, Penalty
from mercer._source import Labelling, Source
from mercer._statistic.labels import Labels
from mercer._statistic.loss import CurvatureProduct, LossCurvature, LossGradient
from mercer._types import Array
from mercer.errors import DataError, ParameterError


class _Rows(Estimator):
    """Opens rows under the name of the objective."""

    _places: ClassVar[tuple[str, ...]] = ("memory", "file", "stream", "dask", "device")

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs


_Rows.__name__ = "RowObjective"


class RowObjective:
    """The mean loss of a linear model over rows in any place, with its derivatives.

    With parameters x = (w, b), a row of w and b for each score one after the other,

        J(x) = (1 / S) sum_i s_i loss(w . z_i + b, y_i) + penalty(w)

    where z_i are the rows and S the sum of the weights s_i. Every value is a pass over the rows, summed in one order
    wherever they are, so that an array and a file give the same bits; value and gradient at one place share a pass.

    Parameters
    ----------
    loss : Loss
        Of :mod:`mercer.objectives`, such as ``Logistic()``.
    X : array-like, sparse matrix, or rows in any other place
        The rows z.
    y : array-like or None
        Their targets: numbers, or labels from 0 to K - 1; None where the rows come with them.
    sample_weight : array-like or None, default=None
        Their weights s.
    penalty : Penalty or None, default=None
        A smooth penalty on w, such as ``0.1 * L2()``. One with corners goes to :func:`~mercer.optim.minimize`.
    fit_intercept : bool, default=True
        Whether there is a b.
    n_jobs : int or None, default=None
        Threads; results do not depend on it.

    Attributes
    ----------
    start : ndarray of shape (n_parameters,)
        Zeros.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mercer.objectives import L2, Logistic
    >>> from mercer.optim import RowObjective, minimize
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> objective = RowObjective(Logistic(), X, y, penalty=0.01 * L2())
    >>> result = minimize(objective, objective.start, grad=objective.gradient, method="nesterov", learning_rate=0.3)
    >>> result.converged, round(result.value, 4)
    (True, 0.0996)
    """

    def __init__(
        self,
        loss: Loss,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        penalty: Penalty | None = None,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        if penalty is not None and not penalty.is_smooth:
            raise ParameterError(
                f"RowObjective: penalty must be smooth; got {type(penalty).__name__}. Give it to minimize with "
                f"method='proximal_gradient'."
            )
        self.loss, self.penalty, self.fit_intercept = loss, penalty, fit_intercept
        self._source = self._open_rows(X, y, sample_weight, n_jobs)
        self._total = self._source.total_weight()
        self._shape = (loss.n_scores, self._source.n_features)
        self.start = np.zeros(self._shape[0] * (self._shape[1] + fit_intercept))
        self._last: tuple[Array, float, Array] | None = None

    def _open_rows(self, X: Any, y: Any, sample_weight: Any, n_jobs: int | None) -> Source:
        kind = self.loss.target
        source = _Rows(n_jobs)._open(X, y, sample_weight, targets=kind, accept_sparse="csr")
        if kind != "labels":
            return source
        n_classes = self.loss.n_classes  # type: ignore[attr-defined]
        classes, expected = source.reduce(Labels()).classes, np.arange(n_classes)
        if not np.isin(classes, expected).all():
            raise DataError(
                f"RowObjective: labels of {type(self.loss).__name__} must be numbers from 0 to {n_classes - 1}; got "
                f"{classes[:5]}. Number them."
            )
        return source.relabel(Labelling(expected, None))

    def __call__(self, x: Array) -> float:
        """Compute J at `x`."""
        return self._evaluate(x)[1]

    def gradient(self, x: Array) -> Array:
        """Return the gradient of J at `x`."""
        return self._evaluate(x)[2].copy()

    def hessian(self, x: Array) -> Array:
        """Return the matrix of second derivatives of J at `x`."""
        (k, d), parameters = self._shape, self._matrix(x)
        matrix = np.array(self._source.reduce(LossCurvature(self.loss, parameters))) / self._total
        # The intercept is the last of d + 1 parameters of each score and is never penalised.
        blocks = matrix.reshape(k, d + 1, k, d + 1)
        if self.penalty is not None:
            for i in range(k):
                blocks[i, :d, i, :d] += self.penalty.curvature(parameters[i, :d])
        width = d + self.fit_intercept
        return blocks[:, :width, :, :width].reshape(k * width, k * width)

    def hessian_product(self, x: Array, vector: Array) -> Array:
        """Return the Hessian at `x` times `vector`, without forming it."""
        parameters, direction = self._matrix(x), self._matrix(vector)
        product = np.array(self._source.reduce(CurvatureProduct(self.loss, parameters, direction))) / self._total
        if self.penalty is not None:
            for i in range(self._shape[0]):
                product[i, :-1] += self.penalty.curvature(parameters[i, :-1]) @ direction[i, :-1]
        return self._vector(product)

    def _evaluate(self, x: Array) -> tuple[Array, float, Array]:
        # Solvers ask for value and gradient at one point in turn: one pass over the rows serves both.
        if self._last is None or not np.array_equal(self._last[0], x):
            parameters = self._matrix(x)
            sums = self._source.reduce(LossGradient(self.loss, parameters))
            value, gradient = sums.value / self._total, np.array(sums.gradient) / self._total
            if self.penalty is not None:
                value += self.penalty.value(parameters[:, :-1])
                gradient[:, :-1] += self.penalty.gradient(parameters[:, :-1])
            self._last = (np.array(x), float(value), self._vector(gradient))
        return self._last

    def _matrix(self, x: Array) -> Array:
        """Return the parameters (k, d + 1) that a vector holds."""
        if np.shape(x) != self.start.shape:
            raise DataError(f"RowObjective: x must have shape {self.start.shape}; got {np.shape(x)}.")
        # Statistics always take an intercept; it stays zero where none is fitted.
        result = np.zeros((self._shape[0], self._shape[1] + 1))
        width = self._shape[1] + self.fit_intercept
        result[:, :width] = np.reshape(x, (-1, width))
        return result

    def _vector(self, matrix: Array) -> Array:
        return np.ascontiguousarray(matrix[:, : self._shape[1] + self.fit_intercept]).reshape(-1)
