"""Agglomerative clustering."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from joblib import Memory
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_memory

from mercer._base import LimitedEstimator, few_rows, fitting, open_new_rows
from mercer._base.interface import ClusterMixin
from mercer._base.parameter import Array as ArrayLike
from mercer._base.parameter import (
    Boolean,
    Choice,
    Function,
    Instance,
    Integer,
    Nothing,
    Real,
    Text,
    describe_value,
    parameter,
)
from mercer._solver import Solver
from mercer._source import Block, Source
from mercer._source.block import DenseBlock
from mercer._stored import Stored, floats, integers, numbers, size
from mercer._types import Array
from mercer.cluster._distances import check_distances, measure_metric, metric_options
from mercer.cluster._hierarchy.constrained import Graph, merge_graph
from mercer.cluster._hierarchy.linkage import METHODS, merging
from mercer.cluster._hierarchy.merging import SQUARED, Merges, run_alone, yield_steps
from mercer.cluster._hierarchy.tree import Tree
from mercer.errors import DataError, ModelFileError, ParameterError

# Distances held at a time: 16 MiB.
_TILE = 2**21


@dataclass(frozen=True, eq=False)
class NearestCluster:
    """The cluster at the least linkage distance from each row of a block; among equals the lowest.

    `exemplars` are the means of the clusters for linkages by means (`labels` is None then), the rows of the fit for
    linkages by pairs, and None if a block holds the distances to the rows of the fit.
    """

    linkage: str
    metric: Any
    exemplars: Any
    labels: Any
    sizes: Array

    def __call__(self, block: Block) -> Array:
        X = block.dense()
        if self.labels is None:
            return self._by_means(X)
        rows = max(1, _TILE // len(self.labels))
        return np.concatenate([self._by_pairs(X[start : start + rows]) for start in range(0, len(X), rows)])

    def _by_means(self, X: Array) -> Array:
        gaps = cdist(X, self.exemplars, "sqeuclidean")
        # Ward's height of a merge with one row: 2 n / (n + 1) |x - mean|^2.
        if self.linkage == "ward":
            gaps *= self.sizes / (self.sizes + 1)
        return np.argmin(gaps, axis=1)

    def _by_pairs(self, X: Array) -> Array:
        distances = X if self.exemplars is None else self._measure(X)
        if self.linkage == "single":
            # Among equally near rows the lowest label wins.
            nearest = distances == np.min(distances, axis=1)[:, None]
            return np.min(np.where(nearest, self.labels, len(self.sizes)), axis=1)
        order = np.argsort(self.labels, kind="stable")
        # Rows sorted by label: one reduction over runs gives the linkage to every cluster.
        starts = np.searchsorted(self.labels[order], np.arange(len(self.sizes)))
        reach = np.maximum if self.linkage == "complete" else np.add
        linked = reach.reduceat(distances[:, order], starts, axis=1)
        return np.argmin(linked / self.sizes if reach is np.add else linked, axis=1)

    def _measure(self, X: Array) -> Array:
        if callable(self.metric):
            both = np.concatenate([X, self.exemplars])
            return np.asarray(self.metric(both))[: len(X), len(X) :]
        options = metric_options(self.exemplars, self.metric, None)
        return measure_metric("AgglomerativeClustering", X, self.exemplars, self.metric, options)


class AgglomerativeClustering(ClusterMixin, LimitedEstimator):
    r"""Agglomerative clustering: merge the two closest clusters until few are left.

    Begins with every row on its own. The distance of clusters A and B is

    ===========  =======================================================================================
    linkage      distance
    ===========  =======================================================================================
    ward         :math:`\sqrt{2\,|A|\,|B| / (|A| + |B|)}\;\lVert \mu_A - \mu_B \rVert`, whose square is twice the
                 growth of the sum of squares by the merge
    single       the least distance of a row of A and a row of B
    complete     the greatest
    average      the mean of all
    weighted     the mean over the two parts that A was made of
    centroid     :math:`\lVert \mu_A - \mu_B \rVert`
    median       the same of midpoints: a merge counts both parts alike
    ===========  =======================================================================================

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Clusters, numbered in the order of their first rows.
    n_clusters_, n_leaves_, n_connected_components_ : int
    children_ : ndarray of shape (n - 1, 2)
        The clusters of each merge; rows below n, and n + i for what merge i made.
    distances_ : ndarray of shape (n - 1,)
        The height of each merge, if asked for.
    exemplars_, sizes_ : ndarray
        What ``predict`` measures from: the means of the clusters for Ward's, centroid and median linkage, the rows of
        the fit for others; and how many rows each cluster has.
    history_ : dict of ndarray
        Per step: ``objective`` (clusters left), ``height`` (the greatest so far), ``seconds``.
    converged_ : bool
        Whether all merges were made.
    certificate_ : Certificate
        ``"none"``: nothing bounds how far a cut is from the best partition.

    Notes
    -----
    Ward's and single linkage of Euclidean rows take n^2 d steps and O(n) memory; other linkages, and all where n is at
    most d, n^2 d steps and n^2 distances, which are forecast. Ward's, complete, average and weighted linkage follow
    chains of nearest neighbours; single linkage is a minimum spanning tree; centroid and median linkage look for the
    closest pair each time, up to n^3 steps at worst, and their heights may fall. Results are exact to rounding. Rows
    must be in memory.

    References
    ----------
    F. Murtagh, A survey of recent advances in hierarchical clustering algorithms, 1983. D. Muellner, Modern
    hierarchical, agglomerative clustering algorithms, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import AgglomerativeClustering
    >>> X = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [4.0, 2.0], [4.0, 4.0], [4.0, 0.0]])
    >>> model = AgglomerativeClustering(compute_distances=True).fit(X)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> round(float(model.distances_[-1]) ** 2 / 2, 9)
    13.5
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_clusters: int | None = parameter(
        Integer(1) | Nothing(),
        default=2,
        kw_only=False,
        doc="The number of clusters to cut the tree into; None with `distance_threshold`.",
    )
    metric: Any = parameter(
        Text() | Function(),
        default="euclidean",
        doc="``'euclidean'``, ``'l1'``, ``'l2'``, ``'manhattan'``, ``'cosine'``, any metric of SciPy, or "
        "``'precomputed'`` when `X` holds all distances. A callable makes the distances of all rows from `X`. "
        "Ward's, centroid and median linkage need Euclidean distances.",
    )
    memory: Any = parameter(
        Text() | Instance(Memory) | Nothing(),
        default=None,
        doc="A folder, or a joblib memory, where the tree is kept for the next fit to the same rows.",
    )
    connectivity: Any = parameter(
        ArrayLike("anything") | Function() | Nothing(),
        default=None,
        doc="A matrix, sparse or dense, whose entries say which rows touch, or a function that makes one from `X`: "
        "only clusters that touch are merged.",
    )
    compute_full_tree: str | bool = parameter(
        Choice("auto") | Boolean(),
        default="auto",
        doc="Whether to merge on beyond `n_clusters` when there is a connectivity; ``'auto'`` does so unless "
        "`n_clusters` is at least 100 and 2 % of the rows. Without a connectivity the tree is always whole.",
    )
    linkage: str = parameter(Choice(*METHODS), default="ward", doc="The distance of two clusters.")
    distance_threshold: float | None = parameter(
        Real(0) | Nothing(),
        default=None,
        doc="The height at or above which clusters are not merged; then `n_clusters` is None.",
    )
    compute_distances: bool = parameter(
        Boolean(), default=False, doc="Whether to keep ``distances_`` without a threshold."
    )

    _documents = {
        "max_time": "Seconds after which the fit ends with the merges it has made.",
        "n_jobs": "Threads that measure distances; None means all cores. Changes no result.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "labels_": integers("rows", low=0),
        "children_": integers("merges, 2", low=0),
        "distances_": floats("merges"),
        "exemplars_": numbers("exemplars, columns"),
        "n_leaves_": size("rows"),
        "n_connected_components_": integers(low=0),
        "sizes_": floats("clusters"),
        "n_clusters_": size("clusters"),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "a hierarchy holds the means of all its clusters, or their distances; rows alone would not do",
    }
    _depends_on_units: ClassVar[tuple[str, ...]] = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None) -> "AgglomerativeClustering":
        """Build the tree and cut it.

        Parameters
        ----------
        X : array-like of shape (n, d), or of shape (n, n) with metric='precomputed'
        """
        self._merge(self._open(X, ensure_min_samples=2))
        return self

    def _merge(self, source: Source) -> None:
        """Merge the rows of a source, and store the tree."""
        rows = source.whole()
        self._check_choices(rows)
        # A refit must not keep attributes of the last one that it may not set itself.
        self.__dict__.pop("exemplars_", None)
        self.__dict__.pop("distances_", None)
        graph = None
        if self.connectivity is not None:
            graph = Graph.of(type(self).__name__, rows, self.connectivity, self.metric)
        given = {"n_leaves_": len(rows), "n_connected_components_": 1 if graph is None else graph.n_components}
        outcome = self._drive(
            lambda start: self._solver(source, graph, start),
            source,
            fitted=partial(self._attributes_of, X=rows),
            attributes=given,
        )
        self._conclude(outcome, cure="raise max_time")

    def _check_choices(self, X: Array) -> None:
        name = type(self).__name__
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ParameterError(
                f"{name}: Exactly one of n_clusters and distance_threshold has to be set, and the other needs to be "
                f"None; got n_clusters={self.n_clusters} and distance_threshold={self.distance_threshold}."
            )
        # A threshold may lie at any height, so the tree must be whole.
        if self.distance_threshold is not None and not self.compute_full_tree:
            raise ParameterError(f"{name}: compute_full_tree must be True if distance_threshold is set; got False.")
        if self.n_clusters is not None and self.n_clusters > len(X):
            raise DataError(
                f"{name}: n_clusters must be at most the {len(X)} rows; got {self.n_clusters}. Lower n_clusters."
            )
        # These linkages compute with means of clusters, which only Euclidean distances have.
        needs_means = self.linkage == "ward" or (self.linkage in SQUARED and self.metric != "precomputed")
        if needs_means and self.metric not in ("euclidean", "l2"):
            raise ParameterError(
                f"{name}: {self.metric} was provided as metric. {self.linkage.capitalize()} can only work with "
                f"euclidean distances (i.e. 'euclidean' and 'l2'); choose another linkage for other metrics."
            )
        if self.metric == "cosine" and not np.all(np.any(X, axis=1)):
            raise DataError(f"{name}: Cosine affinity cannot be used when X contains zero vectors; drop those rows.")
        if self.metric == "precomputed":
            check_distances(name, X)

    def _solver(self, source: Source, graph: Graph | None, start: Merges | None) -> Solver:
        X = source.whole()
        if self.memory is None:
            return yield_steps(self._calls(X, graph), len(X), start)
        try:
            cached = check_memory(self.memory).cache(_all_merges, ignore=["calls"])
        except (OSError, UnicodeError) as error:
            raise ParameterError(
                f"{type(self).__name__}: memory must be a folder that can be written; {describe_value(self.memory)} "
                f"cannot ({type(error).__name__}). Give another."
            ) from error
        key = (self.linkage, self.metric, self._last_number(len(X)) if graph is not None else 1)
        edges = None if graph is None else (graph.left, graph.right)
        pairs, heights = cached(X, key, edges, calls=yield_steps(self._calls(X, graph), len(X), None))
        return yield_steps(iter([Merges(pairs, heights)]), len(X), start)

    def _calls(self, X: Array, graph: Graph | None) -> Iterator[Merges]:
        X = X.astype(np.float64, copy=False)
        if graph is not None:
            return merge_graph(X, graph, self.linkage, self._last_number(len(X)))
        matrix = None
        if callable(self.metric):
            matrix = np.array(self.metric(X), dtype=np.float64)
        elif self.metric == "precomputed":
            # Merging overwrites the matrix, and this one is the user's.
            matrix = X.copy()
        rows = X if matrix is None else None
        return merging(type(self).__name__, rows, matrix, self.linkage, self.metric, None, self._threads())

    def _last_number(self, n: int) -> int:
        """Return the number of clusters at which a constrained tree stops."""
        full = self.compute_full_tree
        if full == "auto":
            full = self.n_clusters is None or self.n_clusters < max(100, 0.02 * n)
        return 1 if full or self.n_clusters is None else self.n_clusters

    def _attributes_of(self, merges: Merges, X: Array) -> dict[str, Any]:
        """Return the fitted attributes that follow from `merges` of `X`, rows or distances."""
        in_order = self.linkage in ("centroid", "median") or self.connectivity is not None
        tree = Tree.of(merges, len(X), in_order)
        n_clusters = self.n_clusters
        if n_clusters is None:
            # As many clusters as merges above the threshold leave.
            n_clusters = len(X) - int(np.count_nonzero(tree.heights < self.distance_threshold))
        labels = tree.cut_at_number(n_clusters)
        sizes = np.bincount(labels).astype(np.float64)
        attributes = {"labels_": labels, "children_": tree.children, "sizes_": sizes, "n_clusters_": len(sizes)}
        if self.distance_threshold is not None or self.compute_distances:
            attributes["distances_"] = tree.heights
        return attributes | self._exemplars_of(X, labels, sizes)

    def _exemplars_of(self, X: Array, labels: Array, sizes: Array) -> dict[str, Any]:
        """Return what ``predict`` measures from."""
        if self.metric == "precomputed":
            return {}
        return {"exemplars_": _means(X, labels, sizes) if self.linkage in SQUARED else X}

    def fit_predict(self, X: Any, y: Any = None) -> Array:
        """Fit to `X` and return ``labels_``."""
        return self.fit(X).labels_

    def predict(self, X: Any) -> Array:
        """Return for each row the cluster that it alone would merge with first.

        Parameters
        ----------
        X : array-like of shape (m, d), or with metric='precomputed' (m, n): the distances to the rows of the fit
        """
        if (rows := few_rows(self, X)) is not None:
            return self._nearest()(DenseBlock(rows, 0))
        return open_new_rows(self, X).map(self._nearest())

    def _check_structure(self) -> None:
        # Each cluster has one exemplar, or each row is one.
        exemplars = vars(self).get("exemplars_")
        if exemplars is not None and len(exemplars) not in (len(self.sizes_), len(self.labels_)):
            raise ModelFileError(
                f"{type(self).__name__}.exemplars_ must have a row for each cluster or each row of the fit; "
                + (f"the file has {len(exemplars)}.")
            )
        if vars(self).get("labels_") is not None and self.labels_.max(initial=-1) >= self.n_clusters_:
            raise ModelFileError(f"{type(self).__name__}.labels_ must be below {self.n_clusters_}; the file's are not.")

    def _nearest(self) -> NearestCluster:
        exemplars = self.__dict__.get("exemplars_")
        labels = None if exemplars is not None and len(exemplars) == len(self.sizes_) else self.labels_
        return NearestCluster(self.linkage, self.metric, exemplars, labels, self.sizes_)


def _all_merges(X: Array, key: Any, edges: Any, calls: Solver) -> tuple[Array, Array]:
    """Return the merges that `calls` end with; `X`, `key` and `edges` are what joblib's memory compares."""
    merges = run_alone(calls)
    return merges.pairs, merges.heights


def _means(X: Array, labels: Array, sizes: Array) -> Array:
    """Return the mean of each cluster, (k, d), summed in the order of rows."""
    totals = np.zeros((len(sizes), X.shape[1]))
    np.add.at(totals, labels, X)
    return totals / sizes[:, None]
