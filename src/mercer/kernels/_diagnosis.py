"""Checks of a kernel before it is used: whether it is positive semidefinite, and whether its scale suits the rows."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh
from scipy.spatial.distance import pdist

from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array, Rows
from mercer.errors import DataError
from mercer.kernels._kernel import Kernel
from mercer.kernels._prepared import floating
from mercer.kernels._wrapped import Precomputed

# Rows that the check of the scale samples: 500 rows have 125000 pairs, enough for a median to three digits.
_SAMPLE = 500
# Values of a normalised kernel that rounding or noise hides.
_NEGLIGIBLE = 1e-8


class KernelScaleWarning(UserWarning):
    """The scale of a kernel makes its matrix the identity, or all ones: nothing can be learnt from it."""


@dataclass(frozen=True)
class MercerCheck:
    """The result of :func:`check_mercer`.

    Attributes
    ----------
    smallest_eigenvalue, largest_eigenvalue : float
    tolerance : float
        How far below zero rounding may have put the smallest eigenvalue.
    positive_semidefinite : bool
        Whether it is not below that.
    """

    smallest_eigenvalue: float
    largest_eigenvalue: float
    tolerance: float
    positive_semidefinite: bool

    def __bool__(self) -> bool:
        return self.positive_semidefinite


def check_mercer(K: Array, tolerance: float | None = None) -> MercerCheck:
    """Return whether a matrix of kernels is positive semidefinite, as Mercer's condition asks for any rows.

    Parameters
    ----------
    K : array-like of shape (n, n)
        k(x_i, x_j) of all pairs.
    tolerance : float or None, default=None
        How far below zero the smallest eigenvalue may be; None means n eps times the largest, by the precision of `K`.

    Returns
    -------
    MercerCheck
        True where the matrix is positive semidefinite, with the eigenvalues at both ends.

    Notes
    -----
    One matrix can disprove that a function is a kernel and not prove it. Costs n^3.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF, Sigmoid, check_mercer
    >>> X = np.array([[-1.0], [0.5], [1.0]])
    >>> bool(check_mercer(RBF()(X))), bool(check_mercer(Sigmoid(1.0, -1.0)(X)))
    (True, False)
    """
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or len(K) == 0:
        raise DataError(
            f"check_mercer: kernels must be a square matrix; got shape {K.shape}. Give k(x, y) of all pairs."
        )
    # What rounding of the given type can leave below zero.
    precision = np.finfo(K.dtype if K.dtype.kind == "f" else np.float64).eps
    if not np.allclose(K, K.T, rtol=0.0, atol=len(K) * precision * max(1.0, float(np.abs(K).max()))):
        raise DataError("check_mercer: kernels must be symmetric; got a matrix that is not. Check the kernel.")
    values = eigvalsh(K.astype(np.float64))
    if tolerance is None:
        tolerance = len(K) * float(precision) * max(float(np.abs(values).max()), np.finfo(np.float64).tiny)
    return MercerCheck(float(values[0]), float(values[-1]), float(tolerance), bool(values[0] >= -tolerance))


def median_length_scale(X: Rows, sample: int = 500, random_state: int = 0) -> float:
    """Return the median distance between rows: a length scale at which a kernel tells near rows from far ones.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, d)
    sample : int, default=500
        Rows drawn to measure distances of; all if there are no more.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    float
        The median of the distances that are not zero; 1 where all rows are equal.

    Examples
    --------
    >>> from mercer.kernels import median_length_scale
    >>> median_length_scale([[0.0], [1.0], [4.0]])
    3.0
    """
    X = floating(X)
    if X.shape[0] > sample:
        chosen = np.random.default_rng(random_state).choice(X.shape[0], sample, replace=False)
        X = X[np.sort(chosen)]
    X = X.toarray() if is_sparse_matrix(X) else X
    X = X.astype(np.float64, copy=False)
    distances = pdist(X)
    # Equal rows say nothing of the scale.
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 1.0


def warn_of_scale(subject: str, kernel: Kernel, X: Array) -> None:
    """Warn if a stationary kernel of these rows is numerically the identity, or all ones; say what scale would suit."""
    if isinstance(kernel, Precomputed) or not kernel.stationary or X.shape[0] < 3:
        return
    # Every step-th row: a sample without a seed, spread over sorted rows.
    step = max(1, X.shape[0] // _SAMPLE)
    rows = floating(X)[::step][:_SAMPLE]
    values = kernel(rows)
    sizes = np.sqrt(np.maximum(kernel.diagonal(rows), np.finfo(values.dtype).tiny))
    # Correlations in feature space: kernels of unequal diagonals are comparable.
    others = np.abs(values / sizes[:, None] / sizes[None, :])[np.triu_indices(len(values), 1)]
    if others.max() < _NEGLIGIBLE:
        what = "the identity: every row is far from every other"
    elif others.min() > 1.0 - _NEGLIGIBLE and len(np.unique(make_dense(rows), axis=0)) > 1:
        what = "all ones: every row is near every other"
    else:
        return
    scale = median_length_scale(rows)
    warnings.warn(
        f"{subject}: the kernel matrix is numerically {what}. The median distance between rows is {scale:.3g}: try "
        f"length_scale={scale:.3g}, or gamma={0.5 / scale**2:.3g}.",
        KernelScaleWarning,
        stacklevel=2,
    )


def make_dense(rows: Rows) -> Array:
    """Return the rows as a dense array."""
    return rows.toarray() if is_sparse_matrix(rows) else rows
