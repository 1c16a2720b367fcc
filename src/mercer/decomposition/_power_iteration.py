"""Eigenvectors by repeated products with a matrix, and matrices that whiten."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_triangular
from sklearn.exceptions import ConvergenceWarning

from mercer._base.parameter import Integer, Real, Seed, check_parameters
from mercer._base.randomness import seed_sequence
from mercer._base.reading import read_numbers
from mercer.errors import DataError, ParameterError


@dataclass(frozen=True, eq=False)
class PowerIteration:
    """What :func:`power_iteration` found.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Rayleigh quotients, in the order in which they were found.
    vectors : ndarray of shape (k, d)
        Unit vectors, at right angles to each other.
    estimates : list of ndarray
        For each vector, the Rayleigh quotient after every product.
    residuals : ndarray of shape (k,)
        |A v - value v| over the largest absolute value.
    n_iter : ndarray of shape (k,)
        Products for each vector.
    converged : bool
        Whether all residuals are within the tolerance.
    """

    values: np.ndarray
    vectors: np.ndarray
    estimates: list[np.ndarray]
    residuals: np.ndarray
    n_iter: np.ndarray
    converged: bool


def power_iteration(
    matrix: Any,
    n_components: int = 1,
    *,
    n_features: int | None = None,
    start: Any = None,
    tol: float = 1e-10,
    max_iter: int = 10_000,
    random_state: Any = None,
) -> PowerIteration:
    r"""Find eigenvectors of a symmetric matrix by :math:`v \leftarrow A v / \lVert A v \rVert`, with deflation.

    The error shrinks at each step by the ratio of the second largest absolute eigenvalue to the largest. The next
    vector is found in the same way from :math:`A - \sum_i \lambda_i v_i v_i^\top`. Needs a largest absolute eigenvalue
    that is alone, or repeated; of a repeated one some vector of its space is found. Where :math:`\lambda` and
    :math:`-\lambda` are both largest it does not converge.

    Parameters
    ----------
    matrix : array-like of shape (d, d), or callable
        A, symmetric; a callable returns A v, as ``lambda v: X.T @ (X @ v)`` does without forming A.
    n_components : int, default=1
        How many vectors.
    n_features : int or None, default=None
        d, for a callable.
    start : array-like of shape (d,) or None, default=None
        The first vector; None draws it. An eigenvector that is orthogonal to it is never found.
    tol : float, default=1e-10
        Largest relative residual.
    max_iter : int, default=10000
        Most products for each vector.
    random_state : None, int, RandomState or Generator, default=None
        The seed of the first vectors.

    Returns
    -------
    PowerIteration

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import power_iteration
    >>> found = power_iteration(np.diag([3.0, 2.0, 1.0]), 2, random_state=0)
    >>> found.values.round(6)
    array([3., 2.])
    """
    subject = "power_iteration"
    rules = {"n_components": Integer(1), "tol": Real(0), "max_iter": Integer(1), "random_state": Seed()}
    given = {"n_components": n_components, "tol": tol, "max_iter": max_iter, "random_state": random_state}
    check_parameters(subject, rules, given)
    multiply, d = _read_matrix(subject, matrix, n_features)
    if n_components > d:
        raise ParameterError(
            f"{subject}: n_components must be at most the size of the matrix, {d}; got {n_components}."
        )
    firsts = np.random.default_rng(seed_sequence(random_state)).standard_normal((n_components, d))
    if start is not None:
        firsts[0] = read_numbers(subject, "start", start, closed="neither").reshape(d)
    values: list[float] = []
    residuals: list[float] = []
    estimates: list[np.ndarray] = []
    vectors = np.empty((0, d))
    for first in firsts:
        vector, steps, residual = _iterate(multiply, first, vectors, np.array(values), tol, max_iter)
        vectors = np.concatenate([vectors, vector[None]])
        values.append(steps[-1])
        estimates.append(np.array(steps))
        residuals.append(residual)
    converged = max(residuals) <= tol
    if not converged:
        warnings.warn(
            f"{subject}: not converged; residual {max(residuals):.2g} > {tol:g} after {max_iter} products; raise "
            "max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    counts = np.array([len(steps) for steps in estimates])
    return PowerIteration(np.array(values), vectors, estimates, np.array(residuals), counts, converged)


def _read_matrix(subject: str, matrix: Any, n_features: int | None) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    """Return the product with the matrix, and its size."""
    if callable(matrix):
        if n_features is None:
            raise ParameterError(f"{subject}: n_features must be given with a callable, which does not show its size.")
        return lambda vector: np.asarray(matrix(vector), dtype=np.float64).reshape(n_features), n_features
    A = read_numbers(subject, "matrix", matrix, closed="neither")
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.allclose(A, A.T, rtol=1e-10, atol=0.0):
        raise DataError(
            f"{subject}: matrix must be symmetric; got shape {A.shape}. For rows X use lambda v: X.T @ (X @ v)."
        )
    return lambda vector: A @ vector, len(A)


def _iterate(
    multiply: Callable[[np.ndarray], np.ndarray],
    first: np.ndarray,
    known: np.ndarray,
    values: np.ndarray,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, list[float], float]:
    """Return the next vector, its Rayleigh quotients, and its residual."""
    # The start is made orthogonal to the vectors found.
    vector = _make_unit(first - (known @ first) @ known)
    largest = float(np.abs(values).max(initial=0.0))
    steps: list[float] = []
    residual = math.inf
    for _ in range(max_iter):
        product = multiply(vector)
        # Deflation: A - sum_i l_i v_i v_i^T; for a vector at right angles to the v_i it removes rounding alone.
        product = product - (known @ product) @ known
        # Rayleigh's quotient v^T A v.
        value = float(vector @ product)
        steps.append(value)
        largest_now = max(largest, abs(value))
        residual = _measure(product - value * vector) / (largest_now or 1.0)
        if residual <= tol or not product.any():
            break
        vector = _make_unit(product - (known @ product) @ known)
    return vector, steps, residual


def _make_unit(vector: np.ndarray) -> np.ndarray:
    length = _measure(vector)
    return vector / length if length > 0 else vector


def _measure(vector: np.ndarray) -> float:
    """Return the length of a vector, from entries scaled so that squares neither overflow nor vanish."""
    most = float(np.abs(vector).max(initial=0.0))
    return most * float(np.linalg.norm(vector / most)) if most > 0 else 0.0


def whitening_matrix(covariance: Any, *, kind: str = "pca", floor: float = 0.0) -> np.ndarray:
    r"""Return W such that :math:`W C W^\top = I`: W (x - mean) is white where x has the covariance C.

    Parameters
    ----------
    covariance : array-like of shape (d, d)
        C, symmetric, without negative eigenvalues.
    kind : {"pca", "zca", "cholesky"}, default="pca"
        :math:`\Lambda^{-1/2} V^\top`, largest variance first; :math:`V \Lambda^{-1/2} V^\top`, the symmetric one, which
        changes rows least; or the inverse of the Cholesky factor, which is lower triangular.
    floor : float in [0, 1], default=0.0
        Eigenvalues below this share of the largest are raised to it, so that noise is not blown up; directions below
        it are then not white.

    Returns
    -------
    ndarray of shape (d, d)

    See Also
    --------
    mercer.decomposition.PCA : With ``whiten=True`` or ``"zca"``, whitens rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import whitening_matrix
    >>> C = np.array([[2.0, 1.5], [1.5, 2.0]])
    >>> W = whitening_matrix(C, kind="zca")
    >>> (W @ C @ W.T).round(12) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    subject = "whitening_matrix"
    C = read_numbers(subject, "covariance", covariance, closed="neither")
    floor = float(read_numbers(subject, "floor", floor, 0.0, 1.0))
    if C.ndim != 2 or C.shape[0] != C.shape[1] or not np.allclose(C, C.T, rtol=1e-8, atol=1e-12 * np.abs(C).max()):
        raise DataError(f"{subject}: covariance must be a symmetric matrix; got shape {C.shape}.")
    if kind not in ("pca", "zca", "cholesky"):
        raise ParameterError(f"{subject}: kind must be one of 'pca', 'zca', 'cholesky'; got {kind!r}.")
    values, vectors = eigh((C + C.T) / 2.0)
    largest = float(values[-1])
    # Raised eigenvalues keep noise directions from being blown up.
    raised = np.maximum(values, floor * largest)
    if largest <= 0 or raised[0] <= len(values) * np.finfo(np.float64).eps * largest:
        rank = int(np.sum(values > len(values) * np.finfo(np.float64).eps * max(largest, 0.0)))
        raise DataError(
            f"{subject}: covariance must have full rank to be whitened; got rank {rank} of {len(values)}. Give floor, "
            "or drop columns that others determine."
        )
    if kind == "cholesky":
        # The Cholesky factor of the matrix with raised eigenvalues.
        restored = (vectors * raised) @ vectors.T
        return solve_triangular(np.linalg.cholesky(restored), np.eye(len(values)), lower=True)
    scaled = (vectors / np.sqrt(raised)).T
    if kind == "zca":
        return vectors @ scaled
    rows = scaled[::-1]
    # An eigenvector has either sign: the entry of largest magnitude is made positive.
    return rows * np.where(rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
