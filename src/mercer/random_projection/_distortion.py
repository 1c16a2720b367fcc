"""How much an embedding changes the distances between rows, measured on pairs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from mercer._base.randomness import seed_sequence
from mercer._base.reading import read_integer
from mercer._plain import plain
from mercer.errors import DataError

# Pairs whose differences are held at a time: 2**22 values of float64 are 32 MiB.
_VALUES = 2**22


@plain
@dataclass(frozen=True, eq=False)
class Distortion:
    """What :func:`measure_distortion` found.

    Attributes
    ----------
    ratios : ndarray of shape (n_pairs,)
        Squared distance in the embedding over squared distance between the rows, for each pair of distinct rows.
    least, mean, greatest : float
        The extreme ratios, and their mean.
    eps : float
        The largest ``|ratio - 1|``: the embedding keeps every measured distance within 1 +- eps.
    """

    ratios: np.ndarray
    least: float
    mean: float
    greatest: float
    eps: float

    def share_within(self, eps: float) -> float:
        """Return the share of pairs whose ratio is within 1 +- `eps`."""
        return float(np.mean(np.abs(self.ratios - 1.0) <= eps))


def measure_distortion(X: Any, embedding: Any, *, n_pairs: int = 100_000, random_state: Any = None) -> Distortion:
    """Measure how an embedding changes squared distances between rows, on random pairs or on all of them.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    embedding : {array-like, sparse matrix} of shape (n_samples, n_components)
        What became of them, by any method.
    n_pairs : int, default=100000
        How many random pairs; all pairs are taken if there are no more.
    random_state : None, int, RandomState or Generator, default=None
        Of the pairs.

    Returns
    -------
    Distortion
        Pairs of equal rows are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.random_projection import GaussianRandomProjection, measure_distortion
    >>> X = np.random.default_rng(0).normal(size=(50, 3000))
    >>> Y = GaussianRandomProjection(eps=0.2, random_state=0).fit_transform(X)
    >>> measure_distortion(X, Y).eps < 0.2
    True
    """
    subject = "measure_distortion"
    rows, images = (
        check_array(value, accept_sparse="csr", dtype=[np.float64, np.float32], input_name=name)
        for value, name in ((X, "X"), (embedding, "embedding"))
    )
    n = rows.shape[0]
    if images.shape[0] != n or n < 2:
        raise DataError(
            f"{subject}: X and embedding must have the same number of rows, at least 2; got {n} and "
            f"{images.shape[0]}. Give the embedding of these rows."
        )
    n_pairs = read_integer(subject, "n_pairs", n_pairs, 1)
    first, second = _choose_pairs(n, n_pairs, np.random.default_rng(seed_sequence(random_state)))
    before, after = _measure_squared_distances(rows, first, second), _measure_squared_distances(images, first, second)
    apart = before > 0
    if not apart.any():
        raise DataError(f"{subject}: X must have rows that differ; got {n} equal rows. Give rows at some distance.")
    ratios = after[apart] / before[apart]
    least, greatest = float(ratios.min()), float(ratios.max())
    return Distortion(ratios, least, float(ratios.mean()), greatest, max(1.0 - least, greatest - 1.0))


def _choose_pairs(n: int, n_pairs: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of all pairs of distinct rows, or of random pairs where there are more."""
    if n * (n - 1) // 2 <= n_pairs:
        first, second = np.triu_indices(n, 1)
        return first, second
    first = random.integers(0, n, n_pairs)
    # A shift by 1 to n - 1 rows reaches every other row with equal probability, and never the row itself.
    return first, (first + random.integers(1, n, n_pairs)) % n


def _measure_squared_distances(rows: Any, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return squared distances between pairs of rows, from differences, in parts that fit in memory."""
    distances = np.empty(len(first))
    step = max(1, _VALUES // rows.shape[1])
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        gaps = rows[first[part]] - rows[second[part]]
        gaps = gaps.toarray() if issparse(gaps) else gaps
        distances[part] = np.einsum("ij,ij->i", gaps, gaps, dtype=np.float64)
    return distances
