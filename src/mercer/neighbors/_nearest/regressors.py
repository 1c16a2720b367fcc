"""Regression by the mean of the k nearest rows, or of the rows within a radius."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import r2_score

from mercer._base.parameter import attribute
from mercer._base.scoring import RegressorMixin
from mercer._documentation import compose_docstring
from mercer._source import place_of
from mercer._source.namespace import to_numpy
from mercer._source.placement import is_on_device
from mercer._stored import Stored, numbers
from mercer._types import Array, Rows
from mercer.neighbors._nearest.queries import SHARED, NearestQueries, RadiusQueries
from mercer.neighbors._nearest.rows_model import ON_DEVICES, precision_of
from mercer.neighbors._nearest.votes import COUNTS_ROWS, COUNTS_ROWS_IN_CHECKS, TargetsModel, average, weigh


class NeighbourMeans(RegressorMixin, TargetsModel):
    """A regressor that averages the targets of neighbours; :meth:`_find` finds them."""

    _targets: Array = attribute()

    _stored: ClassVar[dict[str, Stored]] = {"_targets": numbers("rows | rows, targets")}

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any) -> None:
        source = self._open_fit(X, y, sample_weight, targets="numbers")
        rows, targets, weight = self._gather(source)
        self._keep(source, rows, {"_targets": np.asarray(targets), "_row_weight": weight})

    def _average(self, rows: Rows, threads: int) -> Array:
        """Return the mean of the targets of the neighbours, in the precision of the rows."""
        dtype = precision_of(self._fit_X if rows is None else rows)
        targets = self._targets.reshape(len(self._targets), -1).astype(np.float64, copy=False)
        parts = []
        for neighbours in self._find(rows, threads):
            weight = weigh(type(self).__name__, neighbours, self.weights, self._row_weight)
            parts.append(average(neighbours, targets, weight).astype(dtype, copy=False))
        means = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return means[:, 0] if self._targets.ndim == 1 else means

    def predict(self, X: Any) -> Array:
        """Predict the mean of the targets of the neighbours of each query.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, d), rows in any other place, distances of shape (m, n) with
            ``metric='precomputed'``, or None
            The queries; None means the rows of the fit, which are not their own neighbours.

        Returns
        -------
        y : ndarray of shape (m,) or (m, n_outputs)
        """
        return self._query(X, self._average)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination of the predictions, averaged over outputs.

        Parameters
        ----------
        X : as in :meth:`predict`
            For None, the rows of the fit are predicted from the other rows: the score of leave-one-out.
        y : array-like of shape (m,) or (m, n_outputs)
        """
        if is_on_device(self._fit_X) and X is None:
            return float(r2_score(to_numpy(y), self._average(None, 1), sample_weight=sample_weight))
        if X is None or place_of(X, y) == "memory":
            return super().score(X, y, sample_weight)
        source = self._open(X, y, sample_weight, targets="numbers", reset=False, accept_sparse="csr")
        rows, targets, weight = self._gather(source)
        return float(r2_score(targets, self._average(rows, self._threads()), sample_weight=weight))


class KNeighborsRegressor(NeighbourMeans, NearestQueries):
    r"""Regression by the mean of the k nearest rows.

    The prediction for a query x is the weighted mean of the targets of its `n_neighbors` nearest rows :math:`N(x)`,

    .. math:: \hat y(x) = \frac{\sum_{i \in N(x)} w_i y_i}{\sum_{i \in N(x)} w_i}.

    Attributes
    ----------
    effective_metric_, effective_metric_params_ : str or callable, dict
        The metric in use and its arguments.
    n_samples_fit_ : int
        The number of rows.
    %(fitted)s

    Notes
    -----
    Of equal distances the row with the lower index is the neighbour. The sample weight of a row multiplies its weight;
    k counts rows, whatever their weight. Cost and places are those of :class:`NearestNeighbors`.

    Examples
    --------
    >>> from mercer.neighbors import KNeighborsRegressor
    >>> model = KNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0])
    >>> model.predict([[1.5]]).tolist()
    [0.5]
    """

    __doc__ = compose_docstring(__doc__, SHARED)

    _documents = {
        "n_neighbors": (
            "k: the noise of the mean falls as 1 / k, its bias grows with the distance of the k-th row. "
            ":func:`select_n_neighbors` compares all k from one search."
        ),
        "weights": (
            "The weight :math:`w_i` of a neighbour: one; one over its distance (where that is zero, only such rows "
            "count); or a function from an array of distances to one of weights. None means ``'uniform'``."
        ),
    }

    _places: ClassVar[tuple[str, ...]] = ON_DEVICES
    _law_exceptions: ClassVar[dict[str, str]] = COUNTS_ROWS
    _check_exceptions: ClassVar[dict[str, str]] = NeighbourMeans._check_exceptions | COUNTS_ROWS_IN_CHECKS


class RadiusNeighborsRegressor(NeighbourMeans, RadiusQueries):
    """Regression by the mean of all rows within a radius.

    The prediction for a query is the weighted mean of the targets of the rows at a distance of at most `radius`, and
    NaN, with a warning, where no row is that near.

    Attributes
    ----------
    effective_metric_, effective_metric_params_ : str or callable, dict
        The metric in use and its arguments.
    n_samples_fit_ : int
        The number of rows.
    %(fitted)s

    Notes
    -----
    A weight of two is the row twice. Cost and places are those of :class:`NearestNeighbors`.

    Examples
    --------
    >>> from mercer.neighbors import RadiusNeighborsRegressor
    >>> model = RadiusNeighborsRegressor(radius=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0])
    >>> model.predict([[1.5]]).tolist()
    [0.5]
    """

    __doc__ = compose_docstring(__doc__, SHARED)

    _documents = {
        "radius": "How far a row may be that counts.",
        "weights": "As in :class:`KNeighborsRegressor`; a function gets an array of arrays of distances.",
        "metric": "As in :class:`NearestNeighbors`.",
    }
    _depends_on_units = ("columns", "scale")

    def _average(self, rows: Rows, threads: int) -> Array:
        means = super()._average(rows, threads)
        if np.isnan(means).any():
            warnings.warn(
                f"{type(self).__name__}: One or more samples have no neighbors within specified radius; predicting "
                f"NaN. Raise radius (now {self.radius:g}).",
                UserWarning,
                stacklevel=4,
            )
        return means
