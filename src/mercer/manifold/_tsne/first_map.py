"""The map that a descent starts from."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.decomposition import PCA
from mercer.errors import DataError

__all__ = ["make_first_map"]

# The standard deviation of the first map along its widest axis: small, so that early forces are attractions only.
_SPREAD = 1e-4


def make_first_map(init: Any, rows: Any, d: int, seed: np.random.SeedSequence) -> Array:
    """Return the first places: principal components, random draws, or the array that the user gave."""
    n = rows.shape[0]
    generator = np.random.default_rng(seed)
    if isinstance(init, str) and init == "random":
        return _SPREAD * generator.standard_normal((n, d))
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


def check_first_map(init: Any, n: int, d: int) -> Array:
    """Return the user's array of first places, checked."""
    places = check_array(init, dtype=np.float64, input_name="init")
    if places.shape != (n, d):
        message = f"TSNE: init must have shape {(n, d)}, a row for each row of X; got {places.shape}."
        raise DataError(message)
    return places
