"""HDBSCAN's checks of its input, and the linkage matrix of the hierarchy."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._solver.neighbours.metric import TREES, Metric
from mercer._solver.neighbours.space_tree import SpaceTree
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows
from mercer.cluster._density.condensed_tree import CondensedTree, linkage_of
from mercer.cluster._density.neighbour_lists import check_distances, densify
from mercer.cluster._density.spanning_tree import Boruvka, all_distances, core_distances, graph_edges, walk_edges
from mercer.errors import DataError, ParameterError

# scikit-learn's label of a row with infinity.
INFINITE = -2
# scikit-learn's label of a row with NaN.
MISSING = -3


def finite_rows(model: Any, X: Any) -> tuple[Array, Array]:
    """Return the rows without NaN and infinity, and a state per given row: 0, INFINITE or MISSING."""
    _check_choices(model)
    if model._is_precomputed():
        rows = _distances(model, X)
        return rows, np.zeros(rows.shape[0], np.int8)
    rows = model._open(X, accept_sparse="csr", ensure_all_finite=False).whole()
    states = row_states(rows)
    if not states.any():
        return rows, states
    if states.all():
        raise DataError(
            "HDBSCAN: some rows must be without NaN and infinity; all have one. Fill in or drop what is missing."
        )
    return rows[states == 0], states


def row_states(rows: Rows) -> Array:
    """Return, for each row, MISSING if it has NaN, else INFINITE if it has infinity, else 0."""
    if is_sparse_matrix(rows):
        numbers = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        missing = np.bincount(numbers, np.isnan(rows.data), rows.shape[0]) > 0
        infinite = np.bincount(numbers, np.isinf(rows.data), rows.shape[0]) > 0
    else:
        # A sum is finite unless a value is not, or the sum overflows; only such rows are looked at value by value.
        with np.errstate(all="ignore"):
            doubtful = np.flatnonzero(~np.isfinite(rows.sum(axis=1)))
        missing, infinite = np.zeros((2, rows.shape[0]), bool)
        missing[doubtful] = np.isnan(rows[doubtful]).any(axis=1)
        infinite[doubtful] = np.isinf(rows[doubtful]).any(axis=1)
    return np.where(missing, MISSING, np.where(infinite, INFINITE, 0)).astype(np.int8)


def _check_choices(model: Any) -> None:
    precomputed, tree = model._is_precomputed(), model.algorithm in TREES
    if precomputed and model.store_centers is not None:
        raise ParameterError(
            "HDBSCAN: Cannot store centers when using a precomputed distance matrix. Set store_centers=None, or give "
            "the rows."
        )
    if tree and not Metric(model.metric, model.metric_params).suits_tree(model.algorithm):
        name = {"kd_tree": "KDTree", "ball_tree": "BallTree"}[model.algorithm]
        raise ParameterError(
            f"HDBSCAN: {model.metric} is not a valid metric for a {name}-based algorithm. Please select a different "
            f"metric."
        )


def _distances(model: Any, X: Any) -> Array:
    if not is_sparse_matrix(X) and np.isnan(np.asarray(X, float)).any():
        raise DataError(
            "HDBSCAN: np.nan values found in precomputed-dense distances; put infinity where one is missing."
        )
    D = check_distances(model, X, ensure_all_finite=is_sparse_matrix(X))
    if is_sparse_matrix(D):
        uneven = bool(abs(D - D.T).max() > 1e-8 + 1e-5 * abs(D).max())
    else:
        # Parts of the matrix, so that the comparison takes a bounded amount of memory.
        size = max(1, 2**22 // D.shape[0])
        parts = [slice(i, i + size) for i in range(0, D.shape[0], size)]
        uneven = not all(np.allclose(D[part], D[:, part].T) for part in parts)
    if uneven:
        raise DataError(
            "HDBSCAN: The precomputed distance matrix is expected to be symmetric, however its values appear to be "
            "asymmetric. Give the distances of both directions, or their mean."
        )
    return D


def check_sizes(model: Any, rows: Array) -> int:
    """Return k, the number of rows within the core distance, the row itself counted; raise if rows are too few."""
    n = rows.shape[0]
    if n == 1:
        raise DataError("HDBSCAN: n_samples=1 while HDBSCAN requires more than one sample; give more rows.")
    # scikit-learn's rule: the row itself counts as one of its k neighbours.
    k = model.min_cluster_size if model.min_samples is None else model.min_samples
    if k > n:
        raise DataError(f"HDBSCAN: min_samples ({k}) must be at most the number of samples in X ({n}); lower it.")
    if is_sparse_matrix(rows) and not model._is_precomputed() and model.algorithm in TREES:
        raise ParameterError(
            "HDBSCAN: Sparse data matrices only support algorithm `brute`. Set algorithm='auto', or make it dense."
        )
    return int(k)


def search_used(model: Any, rows: Array, metric: Metric) -> str:
    """Choose the method for the spanning tree: ``"boruvka"`` in a tree of boxes, ``"prim"``, or ``"graph"``."""
    if model._is_precomputed():
        return "graph" if is_sparse_matrix(rows) else "prim"
    dense = metric.is_euclidean and not is_sparse_matrix(rows)
    return "boruvka" if dense and model.algorithm in ("auto", "kd_tree") else "prim"


def build_linkage(model: Any, used: str, rows: Array, metric: Metric, k: int, threads: int) -> tuple[Array, Array]:
    """Return the linkage matrix, (n - 1, 4), and the core distances, (n,)."""
    if used == "boruvka":
        search = Boruvka(SpaceTree(rows, threads, "HDBSCAN"), k, model.alpha)
        return linkage_of(*search.edges()), search.core_distances()
    if used == "graph":
        farthest = float(metric.arguments.get("max_distance", 0.0))
        edges, lengths, core = graph_edges(rows, k, model.alpha, farthest, "HDBSCAN")
        return linkage_of(edges, lengths), core
    if model._is_precomputed():
        return _walk(lambda row: np.ascontiguousarray(rows[row], np.float64), rows.shape[0], k, model.alpha, threads)
    metric = metric.settle_scales(rows)
    by_rows = is_sparse_matrix(rows) or model.algorithm == "brute" or metric.is_euclidean
    tree = None if by_rows else _tree_for(model.algorithm, metric)
    core = None if tree is None else _tree_core_distances(metric.tree(tree, rows, model.leaf_size), rows, k, threads)
    return _walk(all_distances(rows, metric, threads), rows.shape[0], k, model.alpha, threads, core)


def _tree_for(algorithm: str, metric: Metric) -> str | None:
    """Return the first of scikit-learn's trees that knows the metric and that `algorithm` allows, or None."""
    return next((tree for tree in TREES if algorithm in ("auto", tree) and metric.suits_tree(tree)), None)


def _tree_core_distances(tree: Any, rows: Array, k: int, threads: int) -> Array:
    core = np.empty(rows.shape[0])

    def work(run: int) -> None:
        part = slice(run * 512, (run + 1) * 512)
        # A row is the nearest to itself, so k counts it.
        core[part] = tree.query(rows[part], k)[0][:, -1]

    run_numbered(work, -(-rows.shape[0] // 512), threads)
    return core


def _walk(row: Any, n: int, k: int, alpha: float, threads: int, core: Array = None) -> tuple[Array, Array]:
    core = core_distances(row, n, k, threads) if core is None else core
    return linkage_of(*walk_edges(row, core, alpha)), core


@dataclass(frozen=True, eq=False)
class JoinSearch:
    """The rows of the fit with their core distances and clusters.

    A new row counts itself among the `k` rows within its core distance. ``rows`` is None where distances are given.
    """

    rows: Array
    core: Array
    k: int
    alpha: float
    metric: Metric
    tree: CondensedTree
    labels_of: Array
    least_level: float

    @classmethod
    def of(cls, model: Any, tree: CondensedTree, kept: Array) -> "JoinSearch":
        """Return the search of a fitted model with the clusters `kept` of its condensed tree."""
        k = model.min_cluster_size if model.min_samples is None else model.min_samples
        metric, owners = Metric(model.metric, model.metric_params), tree.owners(kept)
        if model._fit_rows is not None:
            metric = metric.settle_scales(model._fit_rows)
        labels = np.where(owners >= 0, (np.cumsum(kept) - 1)[owners], -1)
        level = tree.single_level(model.cluster_selection_epsilon) if kept[0] else 0.0
        return cls(model._fit_rows, model.core_distances_, k, model.alpha, metric, tree, labels, level)

    def labels(self, rows: Array, threads: int) -> Array:
        """Return the cluster that each row would join, or -1."""
        labels = np.empty(rows.shape[0], np.int64)
        # At most 2^20 distances (8 MiB) at a time per thread.
        size = max(1, 2**20 // len(self.core))

        def work(tile: int) -> None:
            part = slice(tile * size, (tile + 1) * size)
            labels[part] = self._labels(rows[part])

        if rows.shape[0] <= size:
            work(0)
        else:
            run_numbered(work, -(-rows.shape[0] // size), threads)
        return labels

    def _labels(self, rows: Array) -> Array:
        """Return each row's cluster at the fitted row of least mutual reachability, at that level of the hierarchy."""
        distances = self._distances(rows)
        reach = np.maximum(distances / self.alpha, self.core)
        if self.k > 1:
            # The k rows within the core distance count the new row itself, hence the (k - 1)-th nearest fitted row.
            own = np.partition(distances, self.k - 2, axis=1)[:, self.k - 2]
            reach = np.maximum(reach, own[:, None])
        nearest = reach.argmin(axis=1)
        with np.errstate(divide="ignore"):
            levels = 1.0 / reach[np.arange(len(reach)), nearest]
        clusters = self.tree.belongs[nearest]
        # Climb from the fitted row's last cluster to the one that existed at this level.
        while (early := self.tree.births[clusters] > levels).any():
            clusters = np.where(early, self.tree.parents[clusters], clusters)
        return np.where(levels >= self.least_level, self.labels_of[clusters], -1)

    def _distances(self, rows: Array) -> Array:
        if self.rows is not None:
            return self.metric.distances(rows, self.rows)
        return densify(rows)
