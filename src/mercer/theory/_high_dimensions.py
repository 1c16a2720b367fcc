"""What many dimensions do to volumes and distances: the curse of dimensionality in numbers."""

import math
from typing import Any

import numpy as np
from scipy.special import gammaln
from sklearn.utils import check_array

from mercer._base.reading import read_integer
from mercer._source.threads import one_blas_thread
from mercer.errors import DataError

# Distances held at a time: 32 MiB of float64.
_TILE = 2**22


def count_cells(n_dimensions: int, n_bins: int) -> int:
    """Return the number of cells of a grid with s intervals along each of d axes, s^d.

    Parameters
    ----------
    n_dimensions : int
        d.
    n_bins : int
        s.

    Returns
    -------
    int

    Examples
    --------
    >>> from mercer.theory import count_cells
    >>> [count_cells(d, 10) for d in (1, 2, 3, 10)]
    [10, 100, 1000, 10000000000]
    """
    n_dimensions = read_integer("count_cells", "n_dimensions", n_dimensions, 0)
    return read_integer("count_cells", "n_bins", n_bins, 1) ** n_dimensions


def ball_fraction(n_dimensions: int) -> float:
    r"""Return the share of a cube that the largest ball inside it fills.

    .. math:: \frac{\pi^{d/2}}{2^d \, \Gamma(d/2 + 1)}

    In many dimensions nearly all of the cube is in its corners.

    Parameters
    ----------
    n_dimensions : int
        d.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.theory import ball_fraction
    >>> [round(ball_fraction(d), 6) for d in (1, 2, 3, 10)]
    [1.0, 0.785398, 0.523599, 0.00249]
    """
    d = read_integer("ball_fraction", "n_dimensions", n_dimensions, 0)
    return math.exp(0.5 * d * math.log(math.pi) - d * math.log(2.0) - float(gammaln(0.5 * d + 1.0)))


def relative_contrast(X: Any, queries: Any = None) -> float:
    r"""Return the mean relative contrast of distances, (largest - smallest) / smallest.

    For each query the distances to all rows are compared, itself left out; duplicates of a query are too. In many
    dimensions independent columns make all distances nearly equal, and "nearest" loses its meaning.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, at least three.
    queries : array-like of shape (m, n_features) or None, default=None
        Where distances are measured from; None means the rows themselves.

    Returns
    -------
    float

    References
    ----------
    K. Beyer, J. Goldstein, R. Ramakrishnan and U. Shaft, When is nearest neighbor meaningful?, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.theory import relative_contrast
    >>> random = np.random.default_rng(0)
    >>> contrasts = [relative_contrast(random.uniform(size=(200, d))) for d in (2, 10, 100)]
    >>> bool(contrasts[0] > 10 * contrasts[1] > 20 * contrasts[2])
    True
    """
    X = check_array(X, dtype=np.float64, input_name="X")
    Q = X if queries is None else check_array(queries, dtype=np.float64, input_name="queries")
    if Q.shape[1] != X.shape[1]:
        raise DataError(
            f"relative_contrast: queries must have the {X.shape[1]} columns of X; got {Q.shape[1]}. Give the same "
            f"columns."
        )
    tile, ratios = max(1, _TILE // max(1, X.size)), []
    with one_blas_thread():
        for start in range(0, len(Q), tile):
            squares = np.sum((Q[start : start + tile, None] - X[None]) ** 2, axis=2)
            # Zero distances are of a query to itself or to a duplicate.
            least = np.sqrt(np.min(np.where(squares > 0, squares, np.inf), axis=1))
            largest = np.sqrt(squares.max(axis=1))
            known = np.isfinite(least)
            ratios.append((largest[known] - least[known]) / least[known])
    values = np.concatenate(ratios)
    if values.size == 0:
        raise DataError(
            "relative_contrast: all rows are equal, so that no distance is above zero. Give rows that differ."
        )
    return float(values.mean())
