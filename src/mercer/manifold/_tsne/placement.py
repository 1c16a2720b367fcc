"""The map that a descent starts from, and places of new rows on a fitted map."""

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh
from sklearn.utils import check_array

from mercer._native.embedding import map_tasks
from mercer._source.namespace import is_sparse_matrix, to_numpy
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.decomposition import PCA
from mercer.errors import DataError, ModelFileError, UnsupportedError
from mercer.manifold import _crossovers
from mercer.manifold._tsne.affinities import match_perplexity
from mercer.manifold._tsne.cell_tree import LEAF, make_tree

# The standard deviation of the first map along its widest axis: small, so that early forces are attractions only.
_SPREAD = 1e-4
# Iterations for new rows; the divergence of a row changes by less than 1e-3 after.
_STEPS = 100
# The share of the last step that is added to the next, as in the fit.
_MOMENTUM = 0.8
# The rate; the curvature of a row's divergence is at most about 4.
_RATE = 0.1
# The longest step of a row.
_LONGEST = 1.0
# Pairs of new and old rows up to which repulsion is exact: a place then does not depend on the other new rows.
_MOST_PAIRS = 2**24
# The angle of cells beyond that.
_ANGLE = 0.5
# Leaves that a thread works on at a time.
_RUN = 8


def make_first_map(init: Any, rows: Any, d: int, seed: np.random.SeedSequence, joint: Any = None) -> Array:
    """Return the first places: principal components, eigenvectors of affinities, draws, or the user's array."""
    n = rows.shape[0]
    generator = np.random.default_rng(seed)
    if isinstance(init, str) and init == "random":
        return _SPREAD * generator.standard_normal((n, d))
    if isinstance(init, str) and init == "spectral":
        return _find_spectral_map(joint, d)
    if not isinstance(init, str):
        return check_first_map(init, n, d)
    kept = min(d, *rows.shape)
    # Constant columns or equal rows leave axes without variance, where random draws let the points part.
    places = _SPREAD * generator.standard_normal((n, d))
    # A frame, where the user has asked every transformer for frames.
    components = np.asarray(to_numpy(PCA(n_components=kept).fit_transform(rows)))
    spread = float(np.std(components[:, 0]))
    if spread > 0:
        places[:, :kept] = components * (_SPREAD / spread)
        places[:, kept:] *= 0.1
    return places


def _find_spectral_map(joint: Any, d: int) -> Array:
    """Return the eigenvectors of the normalised affinities that follow the trivial first one, scaled to start from."""
    if joint is None:
        raise UnsupportedError(
            "TSNE: init='spectral' needs rows in memory; use init='pca', or an array of first places."
        )
    vectors = find_smooth_columns(joint, d, tol=1e-6)
    spread = vectors.std(axis=0)
    return _SPREAD * vectors / np.where(spread > 0, spread, 1.0)


def find_smooth_columns(joint: Any, d: int, tol: float, most: int | None = None) -> Array:
    """Return the eigenvectors of the normalised affinities that follow the trivial first one.

    They minimise the sum of p_ij |y_i - y_j|^2 under fixed variance: what the attraction of an exaggerated phase tends
    to (Linderman and Steinerberger, 2019). Columns beyond the number of rows less two are zero. `most` is the number of
    restarts of Lanczos' method, after which `ArpackNoConvergence` is raised.
    """
    n = joint.shape[0]
    roots = np.sqrt(np.asarray(joint.sum(axis=1), dtype=np.float64).ravel())
    scale = 1.0 / np.where(roots > 0, roots, 1.0)
    table = csr_array(joint) if is_sparse_matrix(joint) else joint
    normal = table * scale[:, None] * scale[None, :]
    kept = min(d, n - 2)
    places = np.zeros((n, d))
    if is_sparse_matrix(normal) or n >= _crossovers.SPARSE_FACTORS:
        start = np.random.default_rng(0).uniform(-1.0, 1.0, n)
        values, vectors = eigsh(normal, kept + 1, which="LA", v0=start, tol=tol, maxiter=most)
    else:
        values, vectors = eigh(normal, subset_by_index=[n - kept - 1, n - 1])
    order = np.argsort(-values, kind="stable")[1:]
    vectors = vectors[:, order] * scale[:, None]
    places[:, :kept] = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(kept)])
    return places


def check_first_map(init: Any, n: int, d: int, subject: str = "TSNE") -> Array:
    """Return the user's array of first places, checked."""
    places = check_array(init, dtype=np.float64, input_name="init")
    if places.shape != (n, d):
        raise DataError(f"{subject}: init must have shape {(n, d)}, a row for each row of X; got {places.shape}.")
    return places


def check_map(model: Any) -> None:
    """Raise ModelFileError if a loaded map has fewer than 2 rows: a row of one alone has no neighbours."""
    rows = len(model.embedding_) if hasattr(model, "embedding_") else 2
    if rows < 2:
        raise ModelFileError(f"{type(model).__name__}.embedding_ must have at least 2 rows; the file has {rows}.")


def place_rows(distances: Array, columns: Array, perplexity: Any, embedding: Array, threads: int) -> Array:
    """Return places on the map for rows from the distances to their neighbours among the rows of the fit.

    Row i minimises its own divergence, of p_ij, the weights of its neighbours, from q_ij, its similarities to all rows
    of the fit divided by their sum. It starts at the weighted median of its neighbours' places.
    """
    squares = np.square(distances, dtype=np.float64)
    weights, _, _ = match_perplexity(squares, perplexity, n_jobs=threads)
    targets = np.asarray(embedding, dtype=np.float64)[columns]
    places = _find_medians(targets, weights)
    repulsion = _Repulsion(np.ascontiguousarray(embedding, dtype=np.float32), places, threads)
    speed, gain = np.zeros_like(places), np.ones_like(places)
    for _ in range(_STEPS):
        steps = places[:, None, :] - targets
        pulls = weights / (1.0 + np.square(steps).sum(axis=2))
        slope = 2.0 * ((pulls[:, :, None] * steps).sum(axis=1) - repulsion.at(places))
        gain = np.maximum(np.where(slope * speed < 0, gain + 0.2, gain * 0.8), 0.01)
        speed = _MOMENTUM * speed - _RATE * gain * slope
        speed *= np.minimum(1.0, _LONGEST / np.maximum(np.linalg.norm(speed, axis=1), 1e-300))[:, None]
        places = places + speed
    return places


def _find_medians(targets: Array, weights: Array) -> Array:
    """Return the weighted median of each coordinate of the targets of each row."""
    order = np.argsort(targets, axis=1, kind="stable")
    shares = np.cumsum(np.take_along_axis(np.broadcast_to(weights[:, :, None], targets.shape), order, axis=1), axis=1)
    middle = np.argmax(shares >= 0.5 * shares[:, -1:, :], axis=1)[:, None, :]
    return np.take_along_axis(np.take_along_axis(targets, order, axis=1), middle, axis=1)[:, 0]


class _Repulsion:
    """The repulsion of points by a fixed map, divided by the sum of their similarities to it."""

    def __init__(self, embedding: Array, places: Array, threads: int) -> None:
        n, d = embedding.shape
        angle = 0.0 if len(places) * n <= _MOST_PAIRS else _ANGLE
        self.threads = threads
        self.map, _ = make_tree(n, d, angle)
        self.map.sort(embedding)
        self.map.place(embedding)
        self.own, _ = make_tree(len(places), d, angle)
        self.own.sort(np.ascontiguousarray(places, dtype=np.float32))
        self.push, self.potential = np.zeros((len(places), d), np.float32), np.zeros(len(places))

    def at(self, places: Array) -> Array:
        """Return sum_j w_ij^2 (y_i - y_j) / sum_j w_ij at these places."""
        self.own.place(np.ascontiguousarray(places, dtype=np.float32))
        leaves, d = -(-len(places) // LEAF), places.shape[1]

        def work(block: int) -> None:
            first, last = block * _RUN, min((block + 1) * _RUN, leaves)
            out = np.empty((d + 1, LEAF), np.float32)
            map_tasks.repel(self.own, self.map, first, last, self.push, self.potential, out)

        run_numbered(work, -(-leaves // _RUN), self.threads)
        return self.push / np.maximum(self.potential, 1e-30)[:, None]
