"""Which method computes a map, and whether it can do what else is asked for."""

import math
from typing import Any

from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer.errors import DataError, UnsupportedError
from mercer.manifold._tsne.affinities import (
    Affinities,
    check_perplexity,
    find_affinities,
    find_distances,
    weigh_all,
)

# Nanoseconds of one thread in an iteration, at perplexity 30: CPU time on digits, with AVX-512, at 100 to 400 points
# for all pairs, at 100 to 60 000 for the tree, and at 1000 to 60 000 for the grid. Only their ratios matter.
# All pairs: a pair of points.
_PAIR = 2.3
# Tree: a point, for each doubling of the number of points. 24 at 1000 points, 33 at 16 000, 38 at 60 000.
_TREE_LEVEL = 35.0
# Grid: a point, its edges included.
_GRID_POINT = 340.0
# Grid: the transforms, per unit of area of the map.
_GRID_AREA = 600.0
# The area of a map of thousands of points, in square units, as a mean over 1000 iterations: with 16 000 points it was
# 131 x 136 after 450 of them, with 10 000 points 236 x 235 after all.
_AREA = 3e4
# What all pairs may take longer than the tree, in nanoseconds: their forces are exact, and 0.05 s of 1000 iterations
# are not noticed.
_PRICE_OF_EXACTNESS = 5e4


def is_precomputed(metric: Any) -> bool:
    """Return whether rows are given as distances."""
    return isinstance(metric, str) and metric == "precomputed"


def weigh_pairs(model: Any, rows: Any, method: str) -> Affinities:
    """Return the affinities of all pairs of rows, or of each row with its neighbours, as the method needs them."""
    n, threads = rows.shape[0], model._threads()
    if method == "exact":
        require_memory("TSNE", 40.0 * n * n, f"the {n} x {n} affinities", "use method='barnes_hut'")
        distances = find_distances("TSNE", rows, None, model.metric, model.metric_params)
        return weigh_all(distances, model.perplexity, threads)
    return find_affinities("TSNE", rows, model.perplexity, model.metric, model.metric_params, threads)


def choose_method(model: Any, rows: Any) -> str:
    """Return the method to use; raise if the one asked for cannot do what else is asked for."""
    n = rows.shape[0]
    if is_precomputed(model.metric):
        check_distances(model, rows)
    if n < 2:
        raise DataError(f"TSNE: n_samples = {n}, but a map needs at least 2 rows. Give more rows.")
    check_perplexity("TSNE", model.perplexity, n)
    all_pairs = model.n_components > 3 or model.kernel != "student" or model.dof != 1
    if model.method == "fft" and (all_pairs or model.n_components != 2):
        raise UnsupportedError(
            "TSNE: method='fft' needs n_components=2, kernel='student' and dof=1; got n_components="
            f"{model.n_components}, kernel={model.kernel!r} and dof={model.dof:g}. Use method='auto'."
        )
    if all_pairs and model.method == "barnes_hut":
        raise UnsupportedError(
            "TSNE: 'n_components' should be inferior to 4 for the barnes_hut algorithm as it relies on quad-tree "
            f"or oct-tree, and kernel='student' with dof=1; got n_components={model.n_components}, "
            f"kernel={model.kernel!r} and dof={model.dof:g}. Use method='exact'."
        )
    if model.method != "auto":
        return model.method
    if all_pairs:
        return "exact"
    has_all_distances = not (is_precomputed(model.metric) and is_sparse_matrix(rows))
    return choose_cheapest(n, grid=model.n_components == 2, exact=has_all_distances)


def choose_cheapest(n: int, *, grid: bool, exact: bool) -> str:
    """Return the method whose iterations take the least time for `n` points; `grid` and `exact`: whether these can."""
    tree_time = _TREE_LEVEL * n * math.log2(n)
    if exact and _PAIR * n * n <= tree_time + _PRICE_OF_EXACTNESS:
        return "exact"
    grid_time = _GRID_POINT * n + _GRID_AREA * _AREA
    return "fft" if grid and grid_time < tree_time else "barnes_hut"


def check_distances(model: Any, distances: Any) -> None:
    """Raise if a matrix of distances cannot be used as asked for."""
    if isinstance(model.init, str) and model.init == "pca":
        raise UnsupportedError(
            'TSNE: The parameter init="pca" cannot be used with metric="precomputed": distances have no principal '
            "components. Use init='random' or an array."
        )
    if distances.shape[0] != distances.shape[1]:
        raise DataError(
            "TSNE: X should be a square distance matrix with metric='precomputed'; got shape "
            f"{distances.shape}. Give the distances of all rows to all rows."
        )
    if is_sparse_matrix(distances) and model.method == "exact":
        raise UnsupportedError(
            "TSNE: method='exact' needs a dense distance matrix, of all pairs; got a sparse one. Use "
            "method='barnes_hut', or X.toarray() if no distance is missing."
        )
