"""The first map of a layout: eigenvectors of its graph, part by part, principal components, draws or given places."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence

from mercer._source.namespace import is_sparse_matrix, to_numpy
from mercer._types import Array
from mercer.decomposition import PCA
from mercer.manifold import _crossovers
from mercer.manifold._tsne.placement import check_first_map, find_smooth_columns

# The range of each axis of the first map, as in umap-learn.
_RANGE = 10.0
# The standard deviation of what is added to places, so that equal ones part.
_NOISE = 1e-4
# The relative accuracy of eigenvectors: a start needs no more.
_CLOSE = 1e-3
# Restarts of Lanczos' method, of some 20 products each.
_RESTARTS = 20
# Products of block iterations where Lanczos' method has not converged: what is not smooth has vanished.
_PRODUCTS = 100


def make_first_map(
    init: Any, rows: Any, graph: csr_array, d: int, seed: np.random.SeedSequence, *, is_given: bool
) -> Array:
    """Return the first places of all rows; `is_given` tells whether rows are distances."""
    n = graph.shape[0]
    random = np.random.default_rng(seed)
    if isinstance(init, str) and init == "random":
        return random.uniform(-_RANGE, _RANGE, (n, d))
    if not isinstance(init, str):
        places = check_first_map(init, n, d, "UMAP")
        return _part(places, random) if len(np.unique(places, axis=0)) < n else places
    if init == "pca":
        kept = min(d, *rows.shape)
        places = np.zeros((n, d))
        places[:, :kept] = to_numpy(PCA(n_components=kept).fit_transform(rows))
    else:
        places = _map_parts(graph, None if is_given else rows, d, random)
    return _part(_stretch(places), random)


def _part(places: Array, random: np.random.Generator) -> Array:
    return places + _NOISE * random.standard_normal(places.shape)


def _stretch(places: Array) -> Array:
    """Return places between 0 and 10 in each axis."""
    low, high = places.min(axis=0), places.max(axis=0)
    return _RANGE * (places - low) / np.where(high > low, high - low, 1.0)


def _map_parts(graph: csr_array, rows: Any, d: int, random: np.random.Generator) -> Array:
    """Return the map of a graph: of each connected part around a centre, where there are several."""
    count, labels = connected_components(graph, directed=False)
    if count == 1:
        return _map_part(graph, d, random)
    centres = _place_centres(rows, labels, count, d, random)
    gaps = np.linalg.norm(centres[:, None] - centres[None], axis=2) + np.diag(np.full(count, np.inf))
    radii = 0.5 * gaps.min(axis=1)
    places = np.empty((len(labels), d))
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(count + 1))
    for part in range(count):
        own = order[bounds[part] : bounds[part + 1]]
        around = _map_part(csr_array(graph[own][:, own]), d, random)
        around -= around.mean(axis=0)
        # Parts fill balls of half the way to the next part, which do not meet.
        size = np.linalg.norm(around, axis=1).max()
        places[own] = centres[part] + around * (radii[part] / size if size > 0 else 0.0)
    return places


def _place_centres(rows: Any, labels: Array, count: int, d: int, random: np.random.Generator) -> Array:
    """Return a place for each part: principal components of their means, or draws where the rows are distances."""
    draws = random.uniform(-1.0, 1.0, (count, d))
    if rows is None:
        return draws
    sizes = np.bincount(labels, minlength=count)
    member = csr_array((1.0 / sizes[labels], (labels, np.arange(len(labels)))), shape=(count, len(labels)))
    means = member @ rows
    means = means.toarray() if is_sparse_matrix(means) else np.asarray(means)
    kept = min(d, *means.shape)
    centres = np.zeros((count, d))
    centres[:, :kept] = to_numpy(PCA(n_components=kept).fit_transform(means))
    spread = float(centres[:, 0].std())
    return centres / (spread or 1.0) + 0.1 * draws


def _map_part(graph: csr_array, d: int, random: np.random.Generator) -> Array:
    """Return the map of a connected graph by its smoothest columns; draws where it has too few rows for them."""
    n = graph.shape[0]
    if n < d + 3:
        return random.uniform(-1.0, 1.0, (n, d))
    try:
        return find_smooth_columns(graph.toarray() if n < _crossovers.SPARSE_FACTORS else graph, d, _CLOSE, _RESTARTS)
    except ArpackNoConvergence:
        return _smooth_draws(graph, d, random)


def _smooth_draws(graph: csr_array, d: int, random: np.random.Generator) -> Array:
    """Return nearly smoothest columns: draws that are averaged over neighbours again and again, then rotated."""
    scale = 1.0 / np.sqrt(graph.sum(axis=1))
    normal = csr_array(diags_array(scale) @ graph @ diags_array(scale))
    block = random.standard_normal((graph.shape[0], 2 * d + 4))
    block[:, 0] = 1.0 / scale
    for turn in range(_PRODUCTS):
        # Of the shifted matrix no eigenvalue is negative.
        block = block + normal @ block
        if turn % 10 == 9:
            block = np.linalg.qr(block)[0]
    _, vectors = np.linalg.eigh(block.T @ (normal @ block))
    return (block @ vectors[:, ::-1][:, 1 : d + 1]) * scale[:, None]
