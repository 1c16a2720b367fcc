"""The local outlier factor."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._base import fitting
from mercer._base.outliers import (
    CONTAMINATION,
    Detector,
    NeighbourShares,
    count_others,
    find_offset,
    label_scores,
    put_own_first,
    share_neighbours,
)
from mercer._base.parameter import Boolean, Function, Integer, MetricName, attribute, parameter
from mercer._base.validation import check_weight
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.neighbours.metric_search import Search
from mercer._stored import Stored, floats, integers
from mercer._types import Array, Rows
from mercer.errors import DataError
from mercer.neighbors._nearest.queries import NearestQueries
from mercer.neighbors._nearest.rows_model import PairMetric

# The threshold of 'auto': an inlier's factor is about 1.
_USUAL_OFFSET = -1.5
# A factor above this can only come from the smoothing of zero distances.
_HUGE_FACTOR = 1e7
# Added to mean reachability distances, as a share of the mean distance to the last neighbour: where a row has k
# duplicates the distance is zero, and densities must stay finite. scikit-learn adds this number itself.
_SMOOTHING = 1e-10
# Rows from which the search runs on a thread of its own, open to Ctrl-C.
_MANY_ROWS = 2000
EXACT = Certificate.none("Neighbours are found exactly, and factors are a closed form of their distances.")


@plain
@dataclass(frozen=True, eq=False)
class OutlierFactorState:
    """Local reachability densities (n,), the distance of each row's last neighbour (n,), and negative factors (n,)."""

    densities: Array
    last_distances: Array
    negative_factors: Array
    smoothing: float


def find_factors(search: Search, rows: Rows, k: int, weight: Array) -> Solver:
    """Find neighbours, densities, and factors; `weight` is None or counts the copies of each row."""
    n = rows.shape[0]
    heavy = n > _MANY_ROWS
    if weight is None:
        distances, indices = yield Dense(lambda: search.nearest(rows, k, leave_out_self=True), heavy=heavy)
        # A table without weights stands for itself: every neighbour counts once.
        shares = NeighbourShares(distances, indices, np.ones((1, k)))
    else:
        shares = yield Dense(lambda: _share(search, rows, k, weight), heavy=heavy)
    distances, indices = shares.distances.astype(rows.dtype, copy=False), shares.indices
    last = np.ascontiguousarray(distances[:, -1] if weight is None else shares.last_distances().astype(rows.dtype))
    scale = float(np.average(last.astype(np.float64), weights=weight))
    smoothing = _SMOOTHING * scale if scale > 0 else _SMOOTHING
    reach = np.maximum(distances, last[indices])
    densities = 1.0 / (_average(shares, reach, weight) + smoothing)
    factors = _average(shares, densities[indices] / densities[:, None], weight)
    state = OutlierFactorState(densities, last, -factors, smoothing)
    yield Step(float(np.average(factors.astype(np.float64), weights=weight)), state, EXACT)
    return Solution(state, True, EXACT)


def _share(search: Search, rows: Rows, k: int, weight: Array) -> NeighbourShares:
    """Return the neighbours of all rows, and how many of the k neighbours each stands for."""
    return share_neighbours(
        lambda count: put_own_first(
            lambda others: search.nearest(rows, others, leave_out_self=True), rows.shape[0], count
        ),
        weight,
        k,
        rows.shape[0],
        # One copy of a row is the row itself.
        lambda distances, near: np.minimum(near[:, 0], 1.0),
    )


def _average(shares: NeighbourShares, values: Array, weight: Array) -> Array:
    """Return means over neighbours, in the type of the values."""
    return np.mean(values, axis=1) if weight is None else shares.mean(values).astype(values.dtype, copy=False)


def score_new(shares: NeighbourShares, state: OutlierFactorState, weight: Array) -> Array:
    """Return minus the factors of new rows, from their neighbours among the rows of the fit."""
    reach = np.maximum(shares.distances, state.last_distances[shares.indices])
    densities = 1.0 / (_average(shares, reach, weight) + state.smoothing)
    return -_average(shares, state.densities[shares.indices] / densities[:, None], weight)


def _require_novelty(method: str) -> Callable[["LocalOutlierFactor"], bool]:
    """Return a check that raises AttributeError if the model was not made for new rows."""

    def check(model: "LocalOutlierFactor") -> bool:
        if not model.novelty:
            raise AttributeError(
                f"LocalOutlierFactor: {method} is not available when novelty=False, use fit_predict if you want to "
                f"predict on training data; negative_outlier_factor_ has its scores. Use novelty=True if you want to "
                f"use LOF for novelty detection and score new rows."
            )
        return True

    return check


def _require_training_rows(model: "LocalOutlierFactor") -> bool:
    """Raise AttributeError if the model was made for new rows."""
    if model.novelty:
        raise AttributeError(
            "LocalOutlierFactor: fit_predict is not available when novelty=True. Use novelty=False if you want to "
            "predict on the training set."
        )
    return True


class LocalOutlierFactor(Detector, NearestQueries):
    r"""Local outlier factor: rows whose surroundings are emptier than those of their neighbours.

    With d(a, b) the distance, N(a) the k nearest rows of a, and :math:`d_k(b)` the distance of b to its k-th neighbour,

    .. math:: \mathrm{lrd}(a)^{-1} = \frac1k \sum_{b \in N(a)} \max(d_k(b), d(a, b)), \qquad
        \mathrm{LOF}(a) = \frac1k \sum_{b \in N(a)} \frac{\mathrm{lrd}(b)}{\mathrm{lrd}(a)}.

    The density lrd is that of the surroundings; a factor of 1 means that a's are as dense as its neighbours', 2 that
    they are half as dense. So a row near a dense cluster can be strange where a row of a thin cluster is not.

    Attributes
    ----------
    negative_outlier_factor_ : ndarray of shape (n_samples,)
        Minus the factor of each row of the fit.
    n_neighbors_ : int
        The number of neighbours that were taken.
    offset_ : float
        The threshold: rows with lower scores are outliers.
    effective_metric_, effective_metric_params_, n_samples_fit_
        The metric under its plainest name, its parameters, and the number of rows of the fit.
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean factor.

    Notes
    -----
    The search for neighbours takes most of the time: up to n^2 d operations in many columns. Ties of distance are
    broken by the order of rows. All rows are held in memory and are kept.

    With sample weights, N(a) are the nearest rows whose weights sum to k; the last of them counts with the part that is
    needed. A row of weight w has w - 1 neighbours at no distance, its own copies, and a row of weight zero is nobody's
    neighbour. ``kneighbors`` counts rows all the same.

    References
    ----------
    M. M. Breunig, H.-P. Kriegel, R. T. Ng and J. Sander, LOF: identifying density-based local outliers, 2000.

    Examples
    --------
    >>> from mercer.neighbors import LocalOutlierFactor
    >>> model = LocalOutlierFactor(n_neighbors=2)
    >>> model.fit_predict([[-1.1], [0.2], [101.1], [0.3]]).tolist()
    [1, 1, -1, 1]
    >>> model.negative_outlier_factor_.round(2).tolist()
    [-0.98, -1.04, -73.37, -0.98]
    """

    _needs_rows: ClassVar[str] = "it searches the neighbours of every row among all rows"

    n_neighbors: int = parameter(Integer(1), default=20, kw_only=False, doc="k; at most n - 1 are taken.")
    metric: Any = parameter(
        MetricName() | Function() | PairMetric(),
        default="minkowski",
        after="leaf_size",
        doc="As in :class:`NearestNeighbors`; 'precomputed' takes distances in the place of rows.",
    )
    contamination: Any = parameter(
        CONTAMINATION,
        default="auto",
        after="metric_params",
        doc="The share of outliers among the rows of the fit, which sets the threshold ``offset_``; 'auto' sets it "
        "to -1.5.",
    )
    novelty: bool = parameter(
        Boolean(),
        default=False,
        doc="Whether new rows are to be scored (``predict``, ``decision_function``, ``score_samples``), or the rows "
        "of the fit (``fit_predict``, ``negative_outlier_factor_``).",
    )

    _documents = {
        "algorithm": "As in :class:`NearestNeighbors`; changes no result.",
        "p": "The exponent of Minkowski's metric: 2 is the Euclidean one.",
        "metric_params": "Parameters of the metric.",
    }

    _places: ClassVar[tuple[str, ...]] = ("memory",)
    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "the rows are the model: it keeps all of them"}
    _stored: ClassVar[dict[str, Stored]] = {
        "negative_outlier_factor_": floats("rows"),
        "n_neighbors_": integers(low=1),
        "_densities": floats("rows"),
        "_last_distances": floats("rows"),
        "_smoothing": floats(""),
        "_row_weight": floats("rows | none"),
    }
    negative_outlier_factor_: Any = attribute()
    n_neighbors_: int = attribute()
    _densities: Any = attribute()
    _last_distances: Any = attribute()
    _smoothing: float = attribute()
    # Files of models without weights do not have it.
    _row_weight: Any = attribute(None)

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the neighbours of each row, and its factor.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or distances of shape (n_samples, n_samples)
            Rows.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights; a weight of two is the row twice. Their sum is at least 2.
        """
        source = self._open_fit(X)
        rows, _, _ = self._gather(source)
        # Rows of weight zero have factors too, so that none is left out here.
        weight = check_weight(self, sample_weight, rows.shape[0])
        n = rows.shape[0] if weight is None else count_others("LocalOutlierFactor", weight) + 1
        if self.n_neighbors > n:
            warnings.warn(
                f"LocalOutlierFactor: n_neighbors ({self.n_neighbors}) is greater than the total number of samples "
                f"({n}). n_neighbors will be set to (n_samples - 1) for estimation.",
                stacklevel=4,
            )
        k = max(1, min(self.n_neighbors, n - 1))
        _check_count(k, n, n, own=True)
        metric, attributes = self._describe_rows(rows)
        search = self._open_search(rows, metric, self._threads())
        outcome = self._drive(
            lambda start: find_factors(search, rows, k, weight),
            source,
            fitted=lambda state: self._list_attributes(state, weight),
            max_steps=1,
            attributes=attributes | {"n_neighbors_": k},
        )
        if self.negative_outlier_factor_.min() < -_HUGE_FACTOR and not self.novelty:
            warnings.warn(
                "LocalOutlierFactor: Duplicate values are leading to incorrect results. Increase the number of "
                f"neighbors for more accurate results. Some rows have more than n_neighbors={k} equal ones.",
                stacklevel=4,
            )
        self._conclude(outcome)
        return self

    def _list_attributes(self, state: OutlierFactorState, weight: Array) -> dict[str, Any]:
        factors = state.negative_factors
        offset = _USUAL_OFFSET if self.contamination == "auto" else find_offset(factors, self.contamination, weight)
        return {
            "negative_outlier_factor_": factors,
            "offset_": offset,
            "_densities": state.densities,
            "_last_distances": state.last_distances,
            "_smoothing": state.smoothing,
            "_row_weight": weight,
        }

    @available_if(_require_training_rows)
    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Find the factors of rows, and return 1 for usual rows and -1 for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or distances of shape (n_samples, n_samples)
            Rows.
        """
        self.fit(X, sample_weight=sample_weight)
        return label_scores(self.negative_outlier_factor_ - self.offset_)

    @available_if(_require_novelty("score_samples"))
    def score_samples(self, X: Any) -> Array:
        """Return minus the local outlier factor of each new row, among the rows of the fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; a row of the fit is its own neighbour here.
        """
        check_is_fitted(self)
        return self._query(X, self._score)

    @available_if(_require_novelty("decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Return the score of each new row less the threshold: negative for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; a row of the fit is its own neighbour here.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    @available_if(_require_novelty("predict"))
    def predict(self, X: Any) -> Array:
        """Return 1 for usual new rows and -1 for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; a row of the fit is its own neighbour here.
        """
        return label_scores(self.decision_function(X))

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Return the nearest rows of the fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or None, default=None
            Rows; None means those of the fit; no row is its own neighbour then.
        n_neighbors : int or None, default=None
            The number of neighbours; None means ``n_neighbors_``.
        return_distance : bool, default=True
            Whether distances are returned too.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_neighbors)
            In rising order; only with `return_distance`.
        indices : ndarray of shape (n_samples, n_neighbors)
        """
        check_is_fitted(self)
        found = super().kneighbors(X, self.n_neighbors_ if n_neighbors is None else n_neighbors, return_distance)
        return (found[0].astype(self._fit_X.dtype, copy=False), found[1]) if return_distance else found

    def _nearest(self, rows: Rows, k: int, threads: int, stay: bool = False) -> tuple[Array, Array]:
        _check_count(k, self.n_samples_fit_, self.n_samples_fit_ if rows is None else rows.shape[0], own=rows is None)
        return super()._nearest(rows, k, threads, stay)

    def _score(self, rows: Rows, threads: int) -> Array:
        """Return minus the factors of checked rows."""
        k, weight = self.n_neighbors_, self._row_weight
        if weight is None:
            shares = NeighbourShares(*self._nearest(rows, k, threads), np.empty(0))
        else:
            shares = share_neighbours(
                lambda count: self._nearest(rows, count, threads),
                weight,
                k,
                self.n_samples_fit_,
                lambda distances, near: np.zeros(len(distances)),
            )
        dtype = self._fit_X.dtype if self._is_precomputed else rows.dtype
        shares = replace(shares, distances=shares.distances.astype(dtype, copy=False))
        state = OutlierFactorState(self._densities, self._last_distances, np.empty(0), self._smoothing)
        return score_new(shares, state, weight)


def _check_count(k: int, n_fit: int, n: int, own: bool) -> None:
    """Raise if more neighbours are asked for than there are rows."""
    if k > n_fit - own:
        sign = "<" if own else "<="
        raise DataError(
            f"LocalOutlierFactor: Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
            f"{n_fit}, n_samples = {n}. Give more rows, or lower n_neighbors."
        )
