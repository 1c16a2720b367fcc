"""Distances and coordinates in the feature space of a kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer._types import Array
from mercer.errors import DataError
from mercer.kernels._diagnosis import check_mercer
from mercer.kernels._resolution import as_kernel


def feature_distances(kernel: Any, X: Array, Y: Array = None) -> Array:
    """Return the squared distances of features, k(x, x) - 2 k(x, y) + k(y, y).

    Parameters
    ----------
    kernel : str, callable or Kernel
    X : array-like of shape (n, d)
    Y : array-like of shape (m, d) or None, default=None
        None means `X`.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> from mercer.kernels import feature_distances
    >>> feature_distances("linear", [[0.0, 0.0], [3.0, 4.0]])
    array([[ 0., 25.],
           [25.,  0.]])
    """
    kernel = as_kernel(kernel, rows=np.asarray(X) if not hasattr(X, "shape") else X)
    own = kernel.diagonal(X)
    others = own if Y is None else kernel.diagonal(Y)
    # Rounding can make the squared distance of near rows negative.
    return np.maximum(own[:, None] + others[None, :] - 2.0 * kernel(X, Y), 0.0)


def distances_from_mean(kernel: Any, X: Array, Y: Array) -> Array:
    """Return the squared distance of the features of each row of `X` from the mean of the features of `Y`.

    Parameters
    ----------
    kernel : str, callable or Kernel
    X : array-like of shape (n, d)
    Y : array-like of shape (m, d)

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from mercer.kernels import distances_from_mean
    >>> distances_from_mean("linear", [[3.0]], [[0.0], [2.0]])
    array([4.])
    """
    kernel = as_kernel(kernel, rows=np.asarray(Y) if not hasattr(Y, "shape") else Y)
    across = kernel(X, Y).mean(axis=1)
    return np.maximum(kernel.diagonal(X) - 2.0 * across + kernel(Y).mean(), 0.0)


@dataclass
class EmpiricalFeatureMap:
    """Coordinates whose dot products are the kernel values of given rows.

    The matrix of kernels is K = sum_i v_i u_i u_i^T with eigenvalues v and eigenvectors u; row j gets the coordinates
    sqrt(v_i) u_ij, and a new row x, by Nystrom's extension, the coordinates u_i . k(x) / sqrt(v_i).

    Parameters
    ----------
    kernel : str, callable or Kernel
        A kernel that is not positive semidefinite on the rows is refused, with its smallest eigenvalue.
    n_components : int or None, default=None
        Coordinates to keep, of the largest eigenvalues; None means all that rounding did not make.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
    eigenvectors_ : ndarray of shape (n, n_components)
    rows_ : ndarray of shape (n, d)

    Notes
    -----
    Costs n^3 and n^2 numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import EmpiricalFeatureMap, Polynomial
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> coordinates = EmpiricalFeatureMap(Polynomial(2, coef0=0.0)).fit(X).transform(X)
    >>> coordinates.shape[1], bool(np.allclose(coordinates @ coordinates.T, (X @ X.T) ** 2))
    (3, True)
    """

    kernel: Any = "rbf"
    n_components: int | None = None

    def fit(self, X: Array, y: Any = None) -> "EmpiricalFeatureMap":
        """Find the coordinates of the rows of `X`; `y` is ignored."""
        X = X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64)
        self.kernel_ = as_kernel(self.kernel, rows=X)
        K = self.kernel_(X)
        diagnosis = check_mercer(K)
        if not diagnosis:
            raise DataError(
                f"EmpiricalFeatureMap: the kernel must be positive semidefinite; its smallest eigenvalue on these rows "
                f"is {diagnosis.smallest_eigenvalue:.3g}. Use a Mercer kernel."
            )
        values, vectors = eigh(K.astype(np.float64))
        # In falling order; eigenvalues below n eps of the largest are rounding.
        kept = values[::-1] > len(K) * np.finfo(K.dtype).eps * values[-1]
        kept[len(K) if self.n_components is None else self.n_components :] = False
        self.eigenvalues_, self.eigenvectors_ = values[::-1][kept], vectors[:, ::-1][:, kept]
        self.rows_ = X
        return self

    def transform(self, X: Array) -> Array:
        """Return the coordinates of rows."""
        values = self.kernel_(X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64), self.rows_)
        return values @ (self.eigenvectors_ / np.sqrt(self.eigenvalues_))

    def fit_transform(self, X: Array, y: Any = None) -> Array:
        """Find the coordinates of the rows of `X` and return them."""
        return self.fit(X).eigenvectors_ * np.sqrt(self.eigenvalues_)
