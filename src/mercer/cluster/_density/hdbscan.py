"""HDBSCAN: density clusters of every scale at once, cut from their hierarchy."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils.validation import check_is_fitted

from mercer._base import Estimator, few_rows, fitting
from mercer._base.interface import ClusterMixin
from mercer._base.parameter import (
    Boolean,
    Choice,
    Function,
    Integer,
    MetricName,
    Nothing,
    Options,
    Real,
    attribute,
    check_parameters,
    parameter,
)
from mercer._base.preparation import prepare_once
from mercer._base.validation import check_rows
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.neighbours.metric import Metric
from mercer._solver.request import Dense
from mercer._source import open_source
from mercer._source.namespace import is_sparse_matrix
from mercer._stored import Stored, floats, integers, numbers, texts
from mercer._types import Array
from mercer.cluster._density.condensed_tree import CondensedTree
from mercer.cluster._density.hdbscan_search import (
    MISSING,
    JoinSearch,
    build_linkage,
    check_sizes,
    finite_rows,
    row_states,
    search_used,
)
from mercer.cluster._hierarchy.tree import check_linkage
from mercer.cluster._numbering import number_by_first_rows
from mercer.errors import ModelFileError

# What `dbscan_clustering` takes.
_CUT_RULES = {"cut_distance": Real(0), "min_cluster_size": Integer(1)}


@plain
@dataclass(frozen=True)
class HierarchyState:
    """The tree of merges as a linkage matrix, and the core distances that it rests on."""

    linkage: Any
    core: Any


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The solver: one exact computation, hence one step."""

    build: Any

    def solve(self, state: HierarchyState | None = None) -> Solver:
        """Build the hierarchy, unless `state` holds it already."""
        if state is None:
            state = HierarchyState(*(yield Dense(self.build)))
        heights = state.linkage[:, 2]
        statement = "The spanning tree is exact, and its weight the objective; the choice of clusters has no optimum."
        yield Step(float(heights[np.isfinite(heights)].sum()), state, Certificate.none(statement))
        return Solution(state, True, Certificate.none(statement))


class HDBSCAN(ClusterMixin, Estimator):
    r"""Hierarchical density clustering with noise (HDBSCAN).

    With the core distance :math:`c_i` of a row, that to its `min_samples`-th nearest row, rows are compared by their
    mutual reachability

    .. math:: m_{ij} = \max\{c_i, c_j, d(x_i, x_j) / \alpha\} .

    The minimum spanning tree of :math:`m` holds the DBSCAN clusters of every radius. Splits that only lose fewer than
    `min_cluster_size` rows are no splits; of the clusters that are left, those are kept whose rows stay in them for the
    longest range of densities in total (``'eom'``), or those that split no more (``'leaf'``).

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int64
        The cluster of each row; -1 for noise, -2 for rows with an infinite value, -3 for rows with NaN.
    probabilities_ : ndarray of shape (n,)
        How deep each row is in its cluster, from 0 to 1; NaN for rows with NaN.
    centroids_, medoids_ : ndarray of shape (n_clusters, d)
        Means weighted by the probabilities, and the rows of least weighted distance; where `store_centers` asks.
    single_linkage_tree_ : ndarray of shape (n_finite - 1, 4)
        The tree of merges as SciPy's linkage matrix, of the rows without NaN and infinity.
    core_distances_ : ndarray of shape (n_finite,)
    search_used_ : str
        ``'boruvka'``, ``'prim'`` or ``'graph'``.
    history_ : dict of ndarray
        One step: ``objective``, the weight of the spanning tree, and ``seconds``.
    converged_, n_iter_ : bool, int
        True and 1: the computation is exact.
    certificate_ : Certificate
        ``"none"``: the choice of clusters optimises nothing that could be bounded.

    Notes
    -----
    Memory is O(n d). Time is about O(n log n) in few dimensions and at most O(n^2 d). Among edges of equal length the
    one whose rows come first is taken, so the tree is unique and does not depend on the search; scikit-learn lets its
    sorting decide, so a row between two clusters may fall to the other one there. Rows must be in memory.

    References
    ----------
    R. Campello, D. Moulavi and J. Sander, Density-based clustering based on hierarchical density estimates, 2013.
    L. McInnes and J. Healy, Accelerated hierarchical density based clustering, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import HDBSCAN
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0)
    >>> model = HDBSCAN(min_cluster_size=10).fit(X)
    >>> int(model.labels_.max()) + 1
    3
    """

    _needs_rows: ClassVar[str] = "it searches the neighbours of every row among all rows"

    min_cluster_size: int = parameter(Integer(2), default=5, kw_only=False, doc="The least rows of a cluster.")
    min_samples: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        kw_only=False,
        doc="Which nearest row, itself counted, is at the core distance; None means `min_cluster_size`.",
    )
    cluster_selection_epsilon: float = parameter(
        Real(0), default=0.0, kw_only=False, doc="Clusters that split at a smaller distance are kept together."
    )
    max_cluster_size: int | None = parameter(
        Integer(1) | Nothing(), default=None, kw_only=False, doc="The most rows of a cluster that ``'eom'`` keeps."
    )
    metric: Any = parameter(
        MetricName() | Function(),
        default="euclidean",
        kw_only=False,
        doc="What d is: any metric of scikit-learn's ``pairwise_distances``, or a function of two rows. "
        "``'precomputed'``: `X` is a square matrix of distances, dense (infinite where missing) or sparse.",
    )
    metric_params: dict[str, Any] | None = parameter(
        Options() | Nothing(),
        default=None,
        kw_only=False,
        doc="More arguments of the metric; ``max_distance`` stands in for infinite distances of a sparse matrix.",
    )
    alpha: float = parameter(
        Real(0, closed="neither"), default=1.0, kw_only=False, doc=r"What distances are divided by, :math:`\alpha`."
    )
    algorithm: str = parameter(
        Choice("auto", "brute", "kd_tree", "ball_tree"),
        default="auto",
        kw_only=False,
        doc="How neighbours are found: all give the same tree. Euclidean rows use a k-d tree and Boruvka's "
        "algorithm, on all threads; other metrics Prim's algorithm.",
    )
    leaf_size: int = parameter(
        Integer(1),
        default=40,
        kw_only=False,
        doc="The rows in a leaf of scikit-learn's trees, which other metrics use.",
    )
    n_jobs: int | None = parameter(Integer() | Nothing(), default=None, kw_only=False)
    cluster_selection_method: str = parameter(
        Choice("eom", "leaf"), default="eom", kw_only=False, doc="Which clusters are kept."
    )
    allow_single_cluster: bool = parameter(
        Boolean(), default=False, kw_only=False, doc="Whether all rows may make one cluster."
    )
    store_centers: str | None = parameter(
        Choice("centroid", "medoid", "both") | Nothing(), default=None, kw_only=False, doc="Which centres to compute."
    )
    copy: bool | str = parameter(
        Boolean() | Choice("warn"),
        default="warn",
        kw_only=False,
        doc="Taken for compatibility; the input is never changed.",
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "_fit_rows": numbers("finite, columns | none", sparse=True),
        "labels_": integers("rows", low=-3),
        "probabilities_": floats("rows"),
        "core_distances_": floats("finite"),
        "single_linkage_tree_": floats("links, 4"),
        "centroids_": floats("clusters, columns"),
        "medoids_": numbers("clusters, columns"),
        "search_used_": texts(),
    }
    _objective_moves = None
    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "the search tree keeps the rows in its own order"}

    labels_: Array = attribute()
    probabilities_: Array = attribute()
    single_linkage_tree_: Array = attribute()
    core_distances_: Array = attribute()
    _fit_rows: Array = attribute()
    _takes_sparse = True
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None) -> "HDBSCAN":
        """Find the clusters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or distances of shape (n, n)
            Rows with NaN or infinity are set apart.
        """
        rows, states = finite_rows(self, X)
        k = check_sizes(self, rows)
        threads = self._threads()
        source = open_source(rows, threads=threads)
        metric = Metric(self.metric, self.metric_params)
        used = search_used(self, rows, metric)
        solver = Hierarchy(lambda: build_linkage(self, used, rows, metric, k, threads))
        outcome = self._drive(solver.solve, source, max_steps=1, attributes={"search_used_": used})
        if np.isinf(self.single_linkage_tree_[:, 2]).any():
            warnings.warn(
                "HDBSCAN: The minimum spanning tree contains edge weights with value infinity: too many distances are "
                "missing for min_samples; give more of them, or lower min_samples.",
                UserWarning,
                stacklevel=4,
            )
        self._fit_rows = None if self._is_precomputed() else rows
        self._store_labels(states)
        self._conclude(outcome)
        return self

    def _fitted(self, state: HierarchyState) -> dict[str, Any]:
        return {"single_linkage_tree_": state.linkage, "core_distances_": state.core}

    def _is_precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _check_structure(self) -> None:
        if "single_linkage_tree_" in vars(self):
            check_linkage("HDBSCAN.single_linkage_tree_", self.single_linkage_tree_)
            finite = int((self.labels_ >= -1).sum()) if "labels_" in vars(self) else -1
            if not len(self.core_distances_) == len(self.single_linkage_tree_) + 1 == finite:
                raise ModelFileError(
                    f"HDBSCAN.labels_ must have {len(self.core_distances_)} finite rows; the file has {finite}."
                )

    def _clusters(self) -> tuple[CondensedTree, Array]:
        check_linkage("HDBSCAN.single_linkage_tree_", self.single_linkage_tree_)
        tree = CondensedTree.of(self.single_linkage_tree_, self.min_cluster_size)
        method, most = self.cluster_selection_method, self.max_cluster_size
        return tree, tree.select(method, self.allow_single_cluster, self.cluster_selection_epsilon, most)

    def _store_labels(self, states: Array) -> None:
        """Set labels, probabilities and centres; `states` is 0 for a finite row, else the label INFINITE or MISSING."""
        tree, kept = self._clusters()
        labels, depth = tree.labels(kept, self.cluster_selection_epsilon)
        self.labels_, self.probabilities_ = states.astype(np.int64), np.where(states == MISSING, np.nan, 0.0)
        self.labels_[states == 0], self.probabilities_[states == 0] = labels, depth
        if self.store_centers is not None:
            self._store_centres(labels, depth)

    def _store_centres(self, labels: Array, depth: Array) -> None:
        metric, rows = Metric(self.metric, self.metric_params), self._fit_rows
        members = [np.flatnonzero(labels == label) for label in range(labels.max(initial=-1) + 1)]
        shape = (len(members), rows.shape[1])
        if self.store_centers in ("centroid", "both"):
            # Means weighted by membership.
            means = [np.asarray(depth[own] @ rows[own]).ravel() / depth[own].sum() for own in members]
            self.centroids_ = np.array(means, rows.dtype).reshape(shape)
        if self.store_centers in ("medoid", "both"):
            metric = metric.settle_scales(rows)
            chosen = [own[_medoid(metric, rows[own], depth[own])] for own in members]
            medoids: Any = rows[chosen] if members else np.empty(shape, rows.dtype)
            self.medoids_ = medoids.toarray() if is_sparse_matrix(medoids) else medoids

    def fit_predict(self, X: Any, y: Any = None) -> Array:
        """Fit to `X` and return its labels."""
        return self.fit(X).labels_

    def predict(self, X: Any) -> Array:
        """Return the cluster that each row would join, or -1.

        A row joins the row of the fit to which its mutual reachability is least, at that level of the hierarchy; it
        changes neither the hierarchy nor the core distances of the fit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or distances to the rows of the fit, of shape (m, n)

        Returns
        -------
        labels : ndarray of shape (m,), int64
            Rows with NaN or infinity as in ``labels_``.
        """
        if (rows := few_rows(self, X)) is not None:
            return self._join_search().labels(rows, 1)
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False, accept_sparse="csr", ensure_all_finite=self._is_precomputed())
        # The states of rows with NaN or infinity are their labels; finite rows have the state 0.
        labels = row_states(rows).astype(np.int64)
        if (finite := labels == 0).any():
            labels[finite] = self._join_search().labels(rows if finite.all() else rows[finite], self._threads())
        return labels

    def _join_search(self) -> JoinSearch:
        return prepare_once(self, (self.single_linkage_tree_,), lambda: JoinSearch.of(self, *self._clusters()))

    def dbscan_clustering(self, cut_distance: float, min_cluster_size: int = 5) -> Array:
        """Return the clusters at one distance: those of DBSCAN without border rows.

        Parameters
        ----------
        cut_distance : float
            Rows whose mutual reachability is below this are joined.
        min_cluster_size : int, default=5
            Smaller clusters are noise.

        Returns
        -------
        labels : ndarray of shape (n,), int64
            Numbered in the order of their first rows; noise, infinite and missing rows as in ``labels_``.
        """
        check_is_fitted(self)
        given = {"cut_distance": cut_distance, "min_cluster_size": min_cluster_size}
        check_parameters("dbscan_clustering", _CUT_RULES, given)
        tree, n = self.single_linkage_tree_, len(self.single_linkage_tree_) + 1
        # Merges below the cut, as edges from both children to their node: components of this graph are the clusters.
        merged = np.flatnonzero(tree[:, 2] < cut_distance)
        ends = tree[merged, :2].astype(np.int64).ravel()
        graph = coo_array((np.ones(len(ends), np.int8), (ends, np.repeat(merged + n, 2))), (2 * n - 1, 2 * n - 1))
        parts = connected_components(graph, directed=False)[1][:n]
        large = np.bincount(parts)[parts] >= min_cluster_size
        labels = np.where(self.labels_ < -1, self.labels_, 0)
        labels[self.labels_ >= -1] = number_by_first_rows(np.where(large, parts, -1))
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._is_precomputed()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags


def _medoid(metric: Metric, rows: Array, weight: Array) -> int:
    """Return the index of the row with the least weighted sum of distances to all rows; 2^20 distances at a time."""
    size = max(1, 2**20 // rows.shape[0])
    parts = [metric.distances(rows[i : i + size], rows) @ weight for i in range(0, rows.shape[0], size)]
    return int(np.argmin(np.concatenate(parts)))
