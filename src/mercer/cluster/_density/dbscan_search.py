"""The choice of DBSCAN's search, and clustering by it."""

from typing import Any

import numpy as np

from mercer._solver.neighbours.metric import TREES, Metric
from mercer._solver.neighbours.space_tree import NO_LABEL, SpaceTree
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array
from mercer.cluster._density.epsilon_grid import cluster_grid, suits_grid
from mercer.cluster._density.neighbour_lists import (
    DistanceTiles,
    Graph,
    MatrixRows,
    MetricTree,
    cluster_lists,
)
from mercer.cluster._numbering import number_by_first_rows
from mercer.errors import ParameterError


def search_used(model: Any, rows: Array, metric: Metric) -> str:
    """Return the search that suits rows and metric, or the one that ``algorithm`` asks for."""
    if isinstance(metric.name, str) and metric.name == "precomputed":
        return "precomputed"
    if model.algorithm == "brute":
        return "brute"
    if is_sparse_matrix(rows):
        _check_tree(model, model.algorithm == "auto", "sparse rows", "use algorithm='brute'")
        return "brute"
    if metric.is_euclidean and model.algorithm == "auto":
        # Cells of a grid where few columns and a suitable eps allow it; else a tree.
        return "grid" if suits_grid(rows, model.eps) else "kd_tree"
    if model.algorithm != "auto":
        known = metric.suits_tree(model.algorithm) or (callable(metric.given) and model.algorithm == "ball_tree")
        _check_tree(model, known, f"metric={metric.given!r}", "use algorithm='auto'")
        return model.algorithm
    return next((tree for tree in TREES if metric.suits_tree(tree)), "brute")


def _check_tree(model: Any, possible: bool, what: str, cure: str) -> None:
    if not possible:
        raise ParameterError(f"{type(model).__name__}: algorithm={model.algorithm!r} does not take {what}; {cure}.")


def cluster_rows(
    model: Any, used: str, rows: Array, metric: Metric, weight: Array, threads: int
) -> tuple[Array, Array]:
    """Return the labels of all rows, and whether each is core, by the search `used`."""
    subject = type(model).__name__
    if used == "grid":
        return cluster_grid(rows, model.eps, model.min_samples, weight, threads, subject)
    if used == "kd_tree" and metric.is_euclidean:
        return _cluster_tree(SpaceTree(rows, threads, subject), model.eps, model.min_samples, weight)
    if used == "precomputed":
        lists: Any = Graph(rows, model.eps) if is_sparse_matrix(rows) else MatrixRows(rows, metric, model.eps)
    elif used == "brute":
        lists = DistanceTiles(rows, metric.settle_scales(rows), model.eps)
    else:
        lists = MetricTree(rows, metric.settle_scales(rows).tree(used, rows, model.leaf_size), model.eps)
    return cluster_lists(lists, model.min_samples, weight, threads)


def _cluster_tree(tree: SpaceTree, eps: float, min_samples: int, weight: Array) -> tuple[Array, Array]:
    # `placed` arrays are in the order of the tree, all others in the order of the rows.
    # Core rows: at least min_samples of weight within eps, counted only up to there.
    placed = tree.count_within(eps, weight, float(min_samples)) >= min_samples
    if weight is not None:
        placed &= weight[tree.order] > 0
    core = np.empty(tree.n, bool)
    core[tree.order] = placed
    components = np.empty(tree.n, np.int32)
    components[tree.order] = tree.components(eps, placed)
    # Clusters are numbered by their first rows, as in scikit-learn.
    labels = number_by_first_rows(components)
    given = np.where(placed, labels[tree.order], NO_LABEL).astype(np.int32)
    labels[tree.order] = tree.share_labels(eps, given)
    return labels, core
