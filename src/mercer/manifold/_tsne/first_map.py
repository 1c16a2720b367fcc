"""The map that a descent starts from."""

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh
from sklearn.utils import check_array

from mercer._source.namespace import is_sparse_matrix, to_numpy
from mercer._types import Array
from mercer.decomposition import PCA
from mercer.errors import DataError, UnsupportedError

# The standard deviation of the first map along its widest axis: small, so that early forces are attractions only.
_SPREAD = 1e-4
# Rows up to which all eigenvectors of dense affinities take less time than an iterative method.
_FEW = 300


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
    """Return the eigenvectors of the normalised affinities that follow the trivial first one, scaled to start from.

    They minimise the sum of p_ij |y_i - y_j|^2 under fixed variance: what the attraction of an exaggerated phase tends
    to (Linderman and Steinerberger, 2019).
    """
    if joint is None:
        raise UnsupportedError(
            "TSNE: init='spectral' needs rows in memory; use init='pca', or an array of first places."
        )
    n = joint.shape[0]
    roots = np.sqrt(np.asarray(joint.sum(axis=1), dtype=np.float64).ravel())
    scale = 1.0 / np.where(roots > 0, roots, 1.0)
    table = csr_array(joint) if is_sparse_matrix(joint) else joint
    normal = table * scale[:, None] * scale[None, :]
    kept = min(d, n - 2)
    places = np.zeros((n, d))
    if is_sparse_matrix(normal) or n > _FEW:
        start = np.random.default_rng(0).uniform(-1.0, 1.0, n)
        values, vectors = eigsh(normal, kept + 1, which="LA", v0=start, tol=1e-6)
    else:
        values, vectors = eigh(normal, subset_by_index=[n - kept - 1, n - 1])
    order = np.argsort(-values, kind="stable")[1:]
    vectors = vectors[:, order] * scale[:, None]
    vectors *= np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(kept)])
    spread = vectors.std(axis=0)
    places[:, :kept] = _SPREAD * vectors / np.where(spread > 0, spread, 1.0)
    return places


def check_first_map(init: Any, n: int, d: int) -> Array:
    """Return the user's array of first places, checked."""
    places = check_array(init, dtype=np.float64, input_name="init")
    if places.shape != (n, d):
        raise DataError(f"TSNE: init must have shape {(n, d)}, a row for each row of X; got {places.shape}.")
    return places
