"""Outliers as rows that are far from their nearest rows."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np

from mercer._base import check_new_rows, fitting
from mercer._base.outliers import NeighbourShares, count_others, put_own_first, share_neighbours
from mercer._base.parameter import Choice, Function, Integer, MetricName, Nothing, Options, Real, attribute, parameter
from mercer._base.preparation import prepare_once
from mercer._stored import Stored, floats, integers
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.neighbors import NearestNeighbors
from mercer.outliers._detector import OutlierDetector

# A distance below this share of the k-th counts as none: rounding of metrics such as the cosine.
_NOTHING = 1e-12


class KNeighborsOutlier(OutlierDetector):
    """Detector of rows that are far from their k nearest rows.

    The score of a row is minus its distance to the k-th nearest row of the fit, or minus the mean distance to the k
    nearest. It is global: a row of a thin cluster has a low score, however regular the cluster is. The local outlier
    factor (:class:`mercer.neighbors.LocalOutlierFactor`) compares with the distances of the neighbours instead.

    Attributes
    ----------
    rows_ : ndarray of shape (n_samples, n_features)
        The rows of the fit.
    n_neighbors_ : int
        The number of neighbours that were taken: at most one less than there are rows.
    training_scores_ : ndarray of shape (n_samples,)
        Their scores; no row is its own neighbour there.
    offset_ : float
        The threshold: rows with lower scores are outliers.

    Notes
    -----
    The search for neighbours is exact, up to n^2 d operations in many columns. Rows must be in memory and are kept.
    With sample weights, neighbours are counted by their weights: those of a row are the nearest rows whose weights sum
    to k, and a row of weight w has w - 1 neighbours at no distance, its own copies.

    References
    ----------
    S. Ramaswamy, R. Rastogi and K. Shim, Efficient algorithms for mining outliers from large data sets, 2000.

    Examples
    --------
    >>> from mercer.outliers import KNeighborsOutlier
    >>> model = KNeighborsOutlier(n_neighbors=1, contamination=0.25).fit([[0.0], [1.0], [3.0], [9.0]])
    >>> model.training_scores_.tolist(), model.predict([[2.5], [20.0]]).tolist()
    ([-1.0, -1.0, -2.0, -6.0], [1, -1])
    """

    n_neighbors: int = parameter(
        Integer(1),
        default=20,
        kw_only=False,
        doc="k; more than the size of a group of equal outliers, which else hide each other.",
    )
    method: str = parameter(
        Choice("largest", "mean"),
        default="largest",
        doc="The distance to the k-th nearest row, or the mean distance to the k nearest.",
    )
    algorithm: str = parameter(
        Choice("auto", "ball_tree", "kd_tree", "brute"),
        default="auto",
        after="contamination",
        doc="As in :class:`mercer.neighbors.NearestNeighbors`; changes no result.",
    )
    leaf_size: int = parameter(Integer(1), default=30, doc="Taken for compatibility.")
    metric: Any = parameter(
        MetricName() | Function(),
        default="minkowski",
        doc="As in :class:`mercer.neighbors.NearestNeighbors`, for rows; distances that are given need no detector "
        "by rows.",
    )
    p: float = parameter(
        Real(0, closed="neither"), default=2, doc="The exponent of Minkowski's metric: 2 is the Euclidean one."
    )
    metric_params: dict[str, Any] | None = parameter(
        Options() | Nothing(), default=None, doc="Parameters of the metric."
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "the rows are the model: it keeps all of them"}
    rows_: Any = attribute()
    n_neighbors_: int = attribute()
    # Files of models without weights do not have it.
    _row_weight: Any = attribute(None)

    _stored: ClassVar[dict[str, Stored]] = {
        "rows_": floats("rows, columns"),
        "n_neighbors_": integers(low=1),
        "_row_weight": floats("rows | none"),
    }
    _depends_on_units = ("columns",)

    def _check_rows(self, X: Array) -> None:
        if len(X) < 2:
            raise DataError("KNeighborsOutlier: neighbours need at least 2 rows, n_samples = 1; give more rows.")
        if self.metric == "precomputed":
            raise ParameterError(
                "KNeighborsOutlier: metric must compare rows; got 'precomputed'. For given distances use "
                "LocalOutlierFactor(metric='precomputed')."
            )

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the neighbours of each row, and set the threshold.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice. Their sum is at least 2.
        """
        self._fit(X, sample_weight)
        return self

    def _learn(self, X: Array, weight: Array) -> tuple[dict[str, Any], Array]:
        others = len(X) - 1 if weight is None else count_others("KNeighborsOutlier", weight)
        k = min(self.n_neighbors, others)
        if k < self.n_neighbors:
            warnings.warn(
                f"KNeighborsOutlier: n_neighbors must be less than the number of rows, {others + 1}; got "
                f"{self.n_neighbors}, and {k} are taken. Lower n_neighbors or give more rows.",
                stacklevel=9,
            )
        search = self._make_search().fit(X)
        attributes = {"rows_": X, "n_neighbors_": k, "_row_weight": weight}
        if weight is None:
            distances, _ = search.kneighbors(n_neighbors=k)
            return attributes, self._score(distances, X.dtype)
        shares = share_neighbours(
            lambda count: put_own_first(lambda others: search.kneighbors(n_neighbors=others), len(X), count),
            weight,
            k,
            len(X),
            # One copy of a row is the row itself.
            lambda distances, near: np.minimum(near[:, 0], 1.0),
        )
        return attributes, self._score_shares(shares, X.dtype)

    def score_samples(self, X: Any) -> Array:
        """Return minus the distance of each row to its neighbours among the rows of the fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; one that equals a row of the fit has the score of that row.
        """
        rows = check_new_rows(self, X)
        k = self.n_neighbors_
        search = prepare_once(self, (self.rows_,), lambda: self._make_search().fit(self.rows_))
        if self._row_weight is not None:
            shares = share_neighbours(
                lambda count: search.kneighbors(rows, n_neighbors=count),
                self._row_weight,
                k,
                len(self.rows_),
                lambda distances, near: np.minimum(np.sum(near, axis=1, where=_find_own(distances)), 1.0),
            )
            return self._score_shares(shares, rows.dtype)
        distances, _ = search.kneighbors(rows, n_neighbors=k + 1)
        # A row at no distance is the row itself, which is left out, so that rows of the fit have their scores of the
        # fit.
        is_own = _find_own(distances)[:, :1]
        return self._score(np.where(is_own, distances[:, 1:], distances[:, :k]), rows.dtype)

    def _score(self, distances: Array, dtype: Any) -> Array:
        values = distances[:, -1] if self.method == "largest" else np.mean(distances, axis=1)
        return -values.astype(dtype, copy=False)

    def _score_shares(self, shares: NeighbourShares, dtype: Any) -> Array:
        values = shares.last_distances() if self.method == "largest" else shares.mean(shares.distances)
        return -values.astype(dtype, copy=False)

    def _make_search(self) -> NearestNeighbors:
        names = ("algorithm", "leaf_size", "metric", "p", "metric_params", "n_jobs")
        return NearestNeighbors(**{name: getattr(self, name) for name in names})


def _find_own(distances: Array) -> Array:
    """Return which neighbours are at no distance, but for the rounding of the metric."""
    return distances <= _NOTHING * distances[:, -1:]
