"""DBSCAN: clusters are the connected regions where rows lie close together."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._base import Estimator, check_new_rows, fitting
from mercer._base.interface import ClusterMixin
from mercer._base.parameter import Choice, Function, Integer, MetricName, Nothing, Options, Real, attribute, parameter
from mercer._base.validation import check_weight
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.neighbours.metric import Metric
from mercer._solver.request import Dense
from mercer._source import open_source
from mercer._stored import Stored, integers, numbers, texts
from mercer._types import Array
from mercer.cluster._density.dbscan_search import cluster_rows, core_search, search_used
from mercer.cluster._density.neighbour_lists import check_distances


@plain
@dataclass(frozen=True)
class DensityState:
    """The label of each row, -1 for noise, and whether it is core."""

    labels: Any
    core: Any


@dataclass(frozen=True, eq=False)
class DensityClusters:
    """The solver: one exact computation, hence one step."""

    search: Any

    def solve(self, state: DensityState | None = None) -> Solver:
        """Cluster the rows, unless `state` holds the result already."""
        if state is None:
            state = DensityState(*(yield Dense(self.search)))
        noise = float(np.count_nonzero(state.labels < 0))
        statement = "DBSCAN is a definition, not an optimum: cores, clusters and noise are those of the definition."
        yield Step(noise, state, Certificate.none(statement), {"n_clusters": float(state.labels.max(initial=-1) + 1)})
        return Solution(state, True, Certificate.none(statement))


class DBSCAN(ClusterMixin, Estimator):
    r"""Density clustering with noise (DBSCAN).

    A row is *core* if rows of total weight at least `min_samples`, itself included, are within `eps` of it:

    .. math:: \sum_{j : d(x_i, x_j) \le \epsilon} w_j \ge m .

    Clusters are the connected components of core rows within `eps` of each other. Any other row within `eps` of a core
    row is a *border* row of that cluster, and what is left is noise, labelled -1. The number of clusters is found.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int64
        The cluster of each row, -1 for noise. Clusters are numbered in the order of their first core rows.
    core_sample_indices_ : ndarray of shape (n_core,), int64
        The core rows.
    components_ : ndarray or sparse matrix of shape (n_core, d)
        A copy of the core rows.
    search_used_ : str
        ``'grid'``, ``'kd_tree'``, ``'ball_tree'``, ``'brute'`` or ``'precomputed'``.
    history_ : dict of ndarray
        One step: ``objective``, the number of rows that are noise, ``seconds``, ``n_clusters``.
    converged_, n_iter_ : bool, int
        True and 1: the computation is exact.
    certificate_ : Certificate
        ``"none"``: nothing is optimised.

    Notes
    -----
    Exact, in O(n) memory for every metric: no list of all neighbours is ever held. On the grid the rows of a cell are
    neighbours of each other, so a full cell needs no distance; time is about O(n). In the tree, parts that belong to
    one cluster are skipped. All distances take O(n^2 d).

    A border row within reach of several clusters gets the lowest of their labels, which is scikit-learn's rule too. A
    row of weight zero is never core, since it stands for no row, but it is labelled. Given distances that differ by
    direction link two rows if either is small enough. Rows must be in memory.

    References
    ----------
    M. Ester et al., A density-based algorithm for discovering clusters in large spatial databases with noise, 1996.
    A. Gunawan, A faster algorithm for DBSCAN, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import DBSCAN
    >>> X = np.array([[1.0, 2.0], [2.0, 2.0], [2.0, 3.0], [8.0, 7.0], [8.0, 8.0], [25.0, 80.0]])
    >>> model = DBSCAN(eps=3, min_samples=2).fit(X)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, -1]
    >>> int(model.predict([[2.5, 2.5]])[0])
    0
    """

    _needs_rows: ClassVar[str] = "it searches the neighbours of every row among all rows"

    eps: float = parameter(
        Real(0, closed="neither"),
        default=0.5,
        kw_only=False,
        doc=r"The radius of a neighbourhood, :math:`\epsilon`. See :func:`suggest_eps`.",
    )
    min_samples: int = parameter(Integer(1), default=5, doc="The weight in a neighbourhood that makes a row core, m.")
    metric: Any = parameter(
        MetricName() | Function(),
        default="euclidean",
        doc="What d is: any metric of scikit-learn's ``pairwise_distances``, or a function of two rows. "
        "``'precomputed'``: `X` is a square matrix of distances, or a sparse one that holds the near ones.",
    )
    metric_params: dict[str, Any] | None = parameter(
        Options() | Nothing(), default=None, doc="More arguments of the metric."
    )
    algorithm: str = parameter(
        Choice("auto", "ball_tree", "kd_tree", "brute"),
        default="auto",
        doc="How neighbours are found: all give the same clusters. ``'auto'`` sorts Euclidean rows of up to three "
        "columns into a grid and others into a k-d tree; other metrics use scikit-learn's trees if these know "
        "them, else all distances, a tile at a time.",
    )
    leaf_size: int = parameter(Integer(1), default=30, doc="The rows in a leaf of scikit-learn's trees.")
    p: float | None = parameter(
        Real(0) | Nothing(), default=None, doc="The power of ``metric='minkowski'``; None means 2."
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None)

    _stored: ClassVar[dict[str, Stored]] = {
        "components_": numbers("core, columns", sparse=True),
        "core_sample_indices_": integers("core", low=0),
        "labels_": integers("rows", low=-1),
        "search_used_": texts(),
    }
    _objective_moves = None
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the search keeps the rows in its own order, and components_ is a copy of the core rows"
    }

    labels_: Array = attribute()
    components_: Array = attribute()
    core_sample_indices_: Array = attribute()
    _takes_sparse = True
    _depends_on_units = ("columns", "scale")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "DBSCAN":
        """Find the clusters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or distances of shape (n, n)
        sample_weight : array-like of shape (n,), default=None
            A row of weight two counts as two rows in a neighbourhood.
        """
        if isinstance(self.metric, str) and self.metric == "precomputed":
            rows = check_distances(self, X)
            source = open_source(rows, None, check_weight(self, sample_weight, rows.shape[0]), self._threads())
        else:
            source = self._open(X, None, sample_weight, accept_sparse="csr")
        rows = source.whole()
        metric = Metric(self.metric, self.metric_params, self.p)
        used = search_used(self, rows, metric)
        solver = DensityClusters(lambda: cluster_rows(self, used, rows, metric, source.weight, source.threads))
        outcome = self._drive(solver.solve, source, max_steps=1, attributes={"search_used_": used})
        self.components_ = rows[self.core_sample_indices_]
        self._conclude(outcome)
        return self

    def _fitted(self, state: DensityState) -> dict[str, Any]:
        return {"labels_": state.labels, "core_sample_indices_": np.flatnonzero(state.core)}

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to `X` and return its labels."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: Any) -> Array:
        """Return the cluster of each row: the lowest label of a core row within `eps`, or -1.

        The rows of the fit get their labels again.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or distances to the rows of the fit, of shape (m, n)
        """
        rows = check_new_rows(self, X, accept_sparse="csr")
        return core_search(self).labels(rows, self._threads())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags


def dbscan(
    X: Any,
    eps: float = 0.5,
    *,
    min_samples: int = 5,
    metric: Any = "minkowski",
    metric_params: dict[str, Any] | None = None,
    algorithm: str = "auto",
    leaf_size: int = 30,
    p: float | None = 2,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> tuple[Array, Array]:
    """Cluster rows by DBSCAN; the parameters are those of :class:`DBSCAN`.

    Returns
    -------
    core_samples : ndarray of shape (n_core,), int64
        The core rows.
    labels : ndarray of shape (n,), int64
        The cluster of each row, -1 for noise.

    Examples
    --------
    >>> from mercer.cluster import dbscan
    >>> cores, labels = dbscan([[0.0], [0.4], [5.0]], min_samples=2)
    >>> labels.tolist()
    [0, 0, -1]
    """
    model = DBSCAN(
        eps,
        min_samples=min_samples,
        metric=metric,
        metric_params=metric_params,
        algorithm=algorithm,
        leaf_size=leaf_size,
        p=p,
        n_jobs=n_jobs,
    ).fit(X, sample_weight=sample_weight)
    return model.core_sample_indices_, model.labels_
