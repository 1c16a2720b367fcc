"""k-medoids clustering."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import Estimator, LimitedEstimator, few_rows, fitting, open_new_rows, seed_sequence
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from mercer._base.parameter import Array as ArrayLike
from mercer._base.parameter import Choice, Function, Integer, Nothing, Options, Seed, Text, parameter
from mercer._source import Block
from mercer._source.block import DenseBlock
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats, integers, numbers
from mercer._types import Array
from mercer.cluster._distances import check_distances, open_distances
from mercer.cluster._medoids.board import Board
from mercer.cluster._medoids.swaps import MedoidSearch, MedoidState
from mercer.errors import DataError, ParameterError

_DRAWN = "first medoids are drawn: weights are repetitions in distribution, and exactly with init='build' or given rows"


class KMedoids(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, LimitedEstimator):
    r"""k-medoids clustering: centres that are rows, under any distance.

    Chooses rows :math:`m_1 \dots m_k` (``medoid_indices_``) that minimise the total deviation

    .. math:: T = \sum_i w_i \min_q d(x_i, x_{m_q}) .

    Unlike a mean, a medoid exists for any distance and stays where it is when one far outlier is added.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (k,)
        The rows that are medoids.
    cluster_centers_ : ndarray of shape (k, d)
        Those rows; absent where distances are precomputed.
    labels_ : ndarray of shape (n,), int32
        The nearest medoid of each row; among equals the lowest.
    inertia_ : float
        T at the end.
    n_iter_ : int
        Passes (``'pam'``: swaps looked for, ``'clara'``: samples).
    history_ : dict of ndarray
        Per pass: ``objective`` (T), ``idle`` (candidates in a row that did not help), ``seconds``.
    converged_ : bool
        Whether no swap is left that helps; for ``'alternate'``, no better medoid within a cluster.
    certificate_ : Certificate
        ``"swap gain"``: the most by which one more swap could lower T, zero at a local optimum; ``"none"`` for
        ``'alternate'`` and ``'clara'``.

    Notes
    -----
    A pass measures n^2 distances and adds n^2 numbers, whatever k is: the loss of removing a medoid is shared by all
    candidates. Memory is n (k + 64) numbers and a copy of the rows; no n x n matrix is made. Weights are repetitions,
    and rows of weight zero are no candidates. Rows must be in memory.

    References
    ----------
    L. Kaufman and P. Rousseeuw, Finding Groups in Data, 1990. E. Schubert and P. Rousseeuw, Fast and eager k-medoids
    clustering, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import KMedoids
    >>> X = np.array([[1.0], [2.0], [3.0], [10.0], [11.0], [500.0]])
    >>> model = KMedoids(2, init="build").fit(X)
    >>> model.cluster_centers_.ravel().tolist(), float(model.inertia_)
    ([3.0, 500.0], 18.0)
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_clusters: int = parameter(Integer(1), default=8, kw_only=False, doc="The number of medoids, k.")
    metric: Any = parameter(
        Text() | Function(),
        default="euclidean",
        doc="Any metric of SciPy or scikit-learn, a function of two rows, or ``'precomputed'`` when `X` holds all "
        "distances.",
    )
    metric_params: dict[str, Any] | None = parameter(
        Options() | Nothing(), default=None, doc="Further arguments of the metric."
    )
    method: str = parameter(
        Choice("fasterpam", "pam", "alternate", "clara"),
        default="fasterpam",
        doc="``'fasterpam'`` makes each swap that helps when it is found; ``'pam'`` looks at all swaps and makes "
        "the best one; ``'alternate'`` recentres each cluster, which is fast and worse; ``'clara'`` runs "
        "fasterpam on samples.",
    )
    init: Any = parameter(
        Choice("k-medoids++", "build", "random") | ArrayLike(),
        default="k-medoids++",
        doc="The first medoids: ``'k-medoids++'`` draws rows in proportion to their distance from those drawn "
        "before, ``'build'`` adds the row that lowers T most, k times (nothing is drawn, k passes over all "
        "pairs), ``'random'`` draws rows. An array holds the indices of k rows, or k positions: the rows "
        "nearest to them are taken.",
    )
    max_iter: int = parameter(Integer(1), default=300, doc="Most passes over all rows; for ``'pam'``, most swaps.")
    n_draws: int = parameter(Integer(1), default=5, doc="Samples of ``'clara'``.")
    draw_size: int | None = parameter(
        Integer(1) | Nothing(), default=None, doc="Rows of a sample; None means 80 + 4 k."
    )
    random_state: Any = parameter(Seed(), default=None, doc="Seed of what is drawn.")

    _stored: ClassVar[dict[str, Stored]] = {
        "cluster_centers_": numbers("clusters, columns"),
        "labels_": integers("rows"),
        "medoid_indices_": integers("clusters", low=0),
        "inertia_": floats(),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "rows are laid out once more, feature by feature, for the n^2 distances of a pass",
    }
    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        "check_sample_weight_equivalence_on_dense_data": _DRAWN,
    }
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KMedoids":
        """Find the medoids.

        Parameters
        ----------
        X : array-like of shape (n, d), or of shape (n, n) with metric='precomputed'
        """
        source = self._open(X, None, sample_weight)
        rows = source.whole()
        if self._precomputed:
            check_distances(type(self).__name__, rows)
        weight = source.weight
        board = Board(open_distances(rows, self.metric, self.metric_params), weight, self._threads())
        self._check_choices(len(board.candidates))
        self.__dict__.pop("cluster_centers_", None)
        fitted = partial(self._attributes_of, rows=rows)
        outcome = self._drive(self._search(board), source, fitted=fitted, max_steps=self.max_iter)
        # An interrupted search may leave the board at medoids later than those of its last state.
        if not np.array_equal(board.medoids, self.medoid_indices_):
            board.place(self.medoid_indices_)
        self.labels_, self.inertia_ = board.nearest, board.total
        self._conclude(outcome, cure="raise max_iter")
        return self

    def _search(self, board: Board) -> Any:
        search = MedoidSearch(
            board,
            self.n_clusters,
            self.init,
            self.metric,
            self.max_iter,
            seed_sequence(self.random_state),
            self.n_draws,
            self.draw_size,
        )
        return {
            "fasterpam": search.swap_eagerly,
            "pam": search.swap_best,
            "alternate": search.alternate,
            "clara": search.draw,
        }[self.method]

    def _check_choices(self, n: int) -> None:
        name = type(self).__name__
        if self.n_clusters > n:
            raise DataError(f"{name}: n_samples={n} should be >= n_clusters={self.n_clusters}. Lower n_clusters.")
        wanted = {"seuclidean": "V", "mahalanobis": "VI"}.get(self.metric if isinstance(self.metric, str) else "")
        if wanted is not None and wanted not in (self.metric_params or {}):
            raise ParameterError(
                f"{name}: metric={self.metric!r} needs metric_params={{{wanted!r}: ...}}, which must be the same "
                f"for the rows of the fit and for new ones; got none."
            )
        if self.method != "clara":
            return
        if not isinstance(self.init, str):
            raise ParameterError(f"{name}: method='clara' starts in samples, so init must be a name; got an array.")
        if self.draw_size is not None and self.draw_size < self.n_clusters:
            raise ParameterError(
                f"{name}: draw_size must be at least n_clusters={self.n_clusters}; got {self.draw_size}. Raise it."
            )

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _attributes_of(self, state: MedoidState, rows: Array) -> dict[str, Any]:
        """Return the fitted attributes of a state: the medoids, and their rows unless distances were given."""
        attributes = {"medoid_indices_": state.medoids}
        return attributes if self._precomputed else attributes | {"cluster_centers_": rows[state.medoids]}

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to `X` and return ``labels_``."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to `X` and return the distance of each row to each medoid."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def predict(self, X: Any) -> Array:
        """Return the nearest medoid of each row; among equals the lowest.

        Parameters
        ----------
        X : array-like of shape (m, d), or with metric='precomputed' (m, n): the distances to the rows of the fit
        """
        if (rows := few_rows(self, X)) is not None:
            return self._lengths(labels=True)(DenseBlock(rows, 0))
        return open_new_rows(self, X).map(self._lengths(labels=True))

    def transform(self, X: Any) -> Array:
        """Return the distance of each row to each medoid, an array of shape (m, k)."""
        source = open_new_rows(self, X)
        size = source.n_rows * len(self.medoid_indices_) * source.host_dtype.itemsize
        require_memory(type(self).__name__, size, "the distances to all medoids", "transform fewer rows at a time")
        return source.map(self._lengths(labels=False))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the total deviation of `X`: the weighted sum of distances to the nearest medoids."""
        near = np.min(self.transform(X), axis=1).astype(np.float64)
        return -float(near.sum() if sample_weight is None else near @ np.asarray(sample_weight, dtype=np.float64))

    def _lengths(self, labels: bool) -> "_Lengths":
        distances = None
        if not self._precomputed:
            distances = open_distances(self.cluster_centers_, self.metric, self.metric_params)
        return _Lengths(distances, self.medoid_indices_, labels)

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(frozen=True, eq=False)
class _Lengths:
    """The distance of each row of a block to each medoid, or the nearest medoid."""

    distances: Any
    medoids: Array
    labels: bool

    def __call__(self, block: Block) -> Array:
        X = block.dense()
        lengths = X[:, self.medoids] if self.distances is None else self.distances.reach(X)
        return np.argmin(lengths, axis=1).astype(np.int32) if self.labels else lengths.astype(X.dtype, copy=False)
