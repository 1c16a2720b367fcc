"""Fuzzy graphs: memberships of rows in the neighbourhoods of others, their union, and what targets say of them."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer._types import Array

# The least width of a neighbourhood, as a share of the mean distance, as in umap-learn.
_LEAST_SHARE = 1e-3
# The relative error of a sum of memberships that is met.
_CLOSE = 1e-10
# Newton steps; each row takes some ten, and more where distances differ by orders of magnitude.
_MOST_STEPS = 200
# What an edge of a row without a class is worth, as in umap-learn: exp(-1).
_UNKNOWN = 1.0
# Steps of a class distance at a target weight of zero, as in umap-learn.
_FAR = 2.5
# The same at a target weight of one: no edge between classes is left.
_INFINITELY_FAR = 1e12
# The class of rows without one.
UNLABELLED = -1


def find_reaches(distances: Array, local_connectivity: float) -> Array:
    """Return rho: the distance to the neighbour of number `local_connectivity`, interpolated, among those apart.

    `distances` to the neighbours of each row rise; neighbours at distance zero are not counted.
    """
    n, k = distances.shape
    apart = np.count_nonzero(distances > 0, axis=1)
    index = int(np.floor(local_connectivity))
    part = local_connectivity - index
    # Row after row: the places of the neighbours number `index` and `index` + 1 that are apart.
    start = k - apart

    def take(number: int) -> Array:
        return distances[np.arange(n), np.clip(start + number, 0, k - 1)]

    low = take(index - 1) if index > 0 else np.zeros(n)
    reaches = low + part * (take(index) - low)
    return np.where(apart >= local_connectivity, reaches, np.where(apart > 0, distances[:, -1], 0.0))


def find_widths(distances: Array, reaches: Array, target: float, mean: float) -> Array:
    """Return sigma of each row, at which the sum of exp(-max(0, d - rho) / sigma) is `target`.

    The sum is convex and falls in 1 / sigma, so that Newton's steps from zero rise to the root and never pass it. Where
    too many neighbours are within rho there is no root. A width is at least a thousandth of the mean distance: of the
    row's own ones, with the row itself, or, where rho is zero, of all, `mean`.
    """
    k = distances.shape[1]
    gaps = np.maximum(distances - reaches[:, None], 0.0)
    # Distances in units of a row's largest gap: squares of tiny units would vanish.
    scales = np.maximum(gaps.max(axis=1, initial=0.0), np.finfo(np.float64).tiny)
    is_full = np.count_nonzero(gaps == 0, axis=1) >= target
    inverse = np.where(is_full, np.inf, 0.0)
    # A single neighbour beyond rho meets its target of one at no finite width.
    rows = np.flatnonzero(~is_full) if k > target else np.empty(0, np.intp)
    part, beta = gaps[rows] / scales[rows, None], np.zeros(len(rows))
    for _ in range(_MOST_STEPS):
        weights = np.exp(-part * beta[:, None])
        surplus = weights.sum(axis=1) - target
        open_ = surplus > _CLOSE * target
        inverse[rows] = beta / scales[rows]
        if not open_.any():
            break
        rows, part, weights = rows[open_], part[open_], weights[open_]
        beta = beta[open_] + surplus[open_] / (part * weights).sum(axis=1)
    least = _LEAST_SHARE * np.where(reaches > 0, distances.sum(axis=1) / (k + 1), mean)
    with np.errstate(divide="ignore"):
        return np.maximum(1.0 / inverse, least)


def weigh_neighbours(
    distances: Array, columns: Array, n_columns: int, local_connectivity: float, mean: float | None = None
) -> tuple[csr_array, Array, Array]:
    """Return the memberships exp(-max(0, d - rho) / sigma) of neighbours, with sigma and rho.

    `distances` of shape (n, k) leave the row itself out, which counts as one of the k + 1 neighbours of the target
    log2(k + 1).
    """
    n, k = distances.shape
    mean = float(distances.sum()) / max(1, n * (k + 1)) if mean is None else mean
    reaches = find_reaches(distances, local_connectivity)
    widths = find_widths(distances, reaches, np.log2(k + 1), mean)
    gaps = np.maximum(distances - reaches[:, None], 0.0)
    weights = np.exp(-gaps / np.where(widths > 0, widths, 1.0)[:, None])
    pointers = np.arange(0, n * k + 1, k)
    table = csr_array((weights.ravel(), columns.ravel().astype(np.int32), pointers), shape=(n, n_columns))
    table.eliminate_zeros()
    return table, widths, reaches


def join_sets(table: csr_array, mix: float) -> csr_array:
    """Return the symmetric graph: `mix` of the fuzzy union w + w' - w w', and the rest of the intersection w w'."""
    other = csr_array(table.T)
    both = table.multiply(other)
    graph = csr_array(mix * (table + other - both) + (1.0 - mix) * both)
    graph.eliminate_zeros()
    graph.sort_indices()
    return graph


def divide_by_class(graph: csr_array, codes: Array, weight: float) -> csr_array:
    """Return a graph whose edges between different classes are weaker; `codes` are -1 for rows without a class."""
    distance = _FAR / (1.0 - weight) if weight < 1.0 else _INFINITELY_FAR
    edges = graph.tocoo()
    left, right = codes[edges.row], codes[edges.col]
    unknown = (left == UNLABELLED) | (right == UNLABELLED)
    factors = np.where(unknown, np.exp(-_UNKNOWN), np.where(left == right, 1.0, np.exp(-distance)))
    divided = csr_array((edges.data * factors, (edges.row, edges.col)), shape=graph.shape)
    return reconnect(divided)


def intersect(graph: csr_array, target: csr_array, weight: float) -> csr_array:
    """Return the intersection of two fuzzy graphs: the product of memberships, one of them to a power by `weight`.

    Edges that only one graph has count, in the other, half of its least membership.
    """
    pattern = csr_array(_mark(graph) + _mark(target)).tocoo()
    left, left_least = _read(graph, pattern)
    right, right_least = _read(target, pattern)
    if weight < 0.5:
        values = left * right ** (weight / (1.0 - weight))
    else:
        values = right * left ** ((1.0 - weight) / weight) if weight < 1.0 else right
    kept = (left > left_least) | (right > right_least)
    joined = csr_array((values[kept], (pattern.row[kept], pattern.col[kept])), shape=graph.shape)
    return reconnect(joined)


def _mark(graph: csr_array) -> csr_array:
    return csr_array((np.ones(len(graph.data)), graph.indices, graph.indptr), shape=graph.shape)


def _read(graph: csr_array, pattern: Any) -> tuple[Array, float]:
    """Return the memberships at the places of a pattern, and what stands for those that a graph does not have."""
    least = max(float(graph.data.min(initial=1.0)) / 2.0, 1e-8)
    found = np.asarray(csr_array(graph)[pattern.row, pattern.col]).ravel()
    return np.where(found > 0, found, least), least


def reconnect(graph: csr_array) -> csr_array:
    """Return the union of a graph whose rows are divided by their largest membership: each row has a full neighbour."""
    graph = csr_array(graph)
    graph.eliminate_zeros()
    largest = graph.max(axis=1).toarray().ravel() if graph.nnz else np.zeros(graph.shape[0])
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    graph.data = graph.data / largest[rows]
    return join_sets(graph, 1.0)
