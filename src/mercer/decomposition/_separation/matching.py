"""How well sources were separated: a distance of matrices, and the pairing of estimated with true sources.

Separation leaves the order, the sign and the scale of the sources open, so that an estimate is compared with the truth
up to a permutation and a factor for each source.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from mercer._types import Array
from mercer.errors import DataError


def amari_distance(unmixing: Any, mixing: Any) -> float:
    """Return how far the product of an unmixing and a mixing matrix is from a permutation with scales.

    With P = |unmixing mixing|, it is the mean of the sums of each row over its largest entry, less one, and of the same
    for columns, divided by k - 1: zero if and only if P has one entry in each row and column, one if all are equal.

    Parameters
    ----------
    unmixing : array-like of shape (k, d)
        W: sources are W x.
    mixing : array-like of shape (d, k)
        A: rows are A s.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from mercer.decomposition import amari_distance
    >>> amari_distance([[0.0, 2.0], [-1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    0.0
    >>> amari_distance([[1.0, 1.0], [1.0, -1.0]], [[1.0, 0.0], [0.0, 1.0]])
    1.0
    """
    W, A = np.asarray(unmixing, dtype=np.float64), np.asarray(mixing, dtype=np.float64)
    if W.ndim != 2 or A.ndim != 2 or W.shape != A.shape[::-1]:
        raise DataError(
            f"amari_distance: the mixing matrix must have the transposed shape of the unmixing matrix; got {W.shape} "
            f"and {A.shape}. Give W of shape (k, d) and A of shape (d, k)."
        )
    # A permutation with scales has one entry in each row and column.
    P = np.abs(W @ A)
    k = len(P)
    if not np.isfinite(P).all() or (P.max(axis=0, initial=0) == 0).any() or (P.max(axis=1, initial=0) == 0).any():
        raise DataError(
            "amari_distance: the product of both matrices must be finite and have no row or column of zeros; got one. "
            "Leave out sources that are not found."
        )
    if k == 1:
        return 0.0
    rows = (P / P.max(axis=1)[:, None]).sum(axis=1) - 1.0
    columns = (P / P.max(axis=0)).sum(axis=0) - 1.0
    return float(rows.mean() + columns.mean()) / (2.0 * (k - 1))


@dataclass(frozen=True)
class SourceMatch:
    """Estimated sources paired with true ones.

    Attributes
    ----------
    order : ndarray of shape (n_true,)
        The column of the estimate for each true source.
    scale : ndarray of shape (n_true,)
        The factor, with its sign, by which the estimate is multiplied to be nearest to the true source.
    correlation : ndarray of shape (n_true,)
        The absolute correlation of each pair.
    """

    order: Array
    scale: Array
    correlation: Array

    def apply(self, estimated: Any) -> Array:
        """Return the estimated sources in the order, with the sign and the scale of the true ones."""
        return np.asarray(estimated)[:, self.order] * self.scale


def match_sources(estimated: Any, true: Any) -> SourceMatch:
    """Pair estimated with true sources so that the sum of the absolute correlations is largest.

    Parameters
    ----------
    estimated : array-like of shape (n_samples, n_estimated)
        Sources that were found, at least as many as true ones.
    true : array-like of shape (n_samples, n_true)
        Sources that were mixed.

    Returns
    -------
    SourceMatch
        The order, the scale and the correlation of each pair.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import match_sources
    >>> true = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, -2.0]])
    >>> match_sources(true[:, ::-1] * [-0.5, 4.0], true).order
    array([1, 0])
    """
    Y, S = np.asarray(estimated, dtype=np.float64), np.asarray(true, dtype=np.float64)
    if Y.ndim != 2 or S.ndim != 2 or len(Y) != len(S) or Y.shape[1] < S.shape[1]:
        raise DataError(
            f"match_sources: both must have one row per time, and at least as many estimated as true sources; got the "
            f"shapes {Y.shape} and {S.shape}. Drop true sources that were not looked for."
        )
    Y, S = Y - Y.mean(axis=0), S - S.mean(axis=0)
    products = S.T @ Y
    squares, true_squares = (Y**2).sum(axis=0), (S**2).sum(axis=0)
    lengths = np.sqrt(true_squares[:, None] * squares)
    correlation = products / np.where(lengths > 0, lengths, 1.0)
    # The pairing with the largest sum of absolute correlations (Hungarian method).
    rows, order = linear_sum_assignment(-np.abs(correlation))
    # The factor of least squares from the estimate to the truth.
    scale = products[rows, order] / np.where(squares[order] > 0, squares[order], 1.0)
    return SourceMatch(order, scale, np.abs(correlation[rows, order]))
