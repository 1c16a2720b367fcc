"""Joint diagonalisation: one transform V that makes every matrix V C_k V^T of a set as diagonal as it can.

Three methods. ``jacobi`` rotates pairs of axes and keeps V orthogonal. ``ffdiag`` multiplies V by (I + W) with small
off-diagonal W, hence V stays invertible. ``qdiag`` replaces one row of V at a time by the vector of given length that
is best for the others.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, eig, eigh, solve_triangular

from mercer._base.parameter import Choice, Integer, Real, check_parameters
from mercer._native.separation import jacobi_angles
from mercer._solver import Certificate
from mercer._types import Array
from mercer.errors import DataError

METHODS = ("jacobi", "ffdiag", "qdiag")
# The norm of an FFDIAG step at most, so that I + W is invertible (Ziehe and others, 2004).
_LONGEST = 0.9
# Halvings of an FFDIAG step that does not lower the criterion.
_HALVINGS = 30
# Exact solutions for pairs of combinations that are tried as first transforms.
_GUESSES = 5


class Sweep(NamedTuple):
    """A transform after one sweep, the share of squares off the diagonals, and how far the sweep moved it."""

    transform: Array
    criterion: float
    change: float


@dataclass(frozen=True)
class JointDiagonalization:
    """A transform that makes matrices as diagonal as it can.

    Attributes
    ----------
    transform : ndarray of shape (k, k)
        V; ``V @ C @ V.T`` is nearly diagonal for each matrix C. Orthogonal for ``"jacobi"``.
    diagonals : ndarray of shape (n_matrices, k)
        The diagonals of the transformed matrices.
    history : dict of ndarray
        After each sweep: ``criterion``, the share of the squares that lie off the diagonals, and ``change``.
    converged : bool
    certificate : Certificate
        How far the last sweep moved the transform.
    """

    transform: Array
    diagonals: Array
    history: dict[str, Array]
    converged: bool
    certificate: Certificate

    @property
    def criterion(self) -> float:
        """The share of the squares of all entries that lie off the diagonals, at the end."""
        return float(self.history["criterion"][-1])


def diagonalize_jointly(
    matrices: Any, method: str = "jacobi", *, constraint: Any = None, tol: float = 1e-10, max_iter: int = 200
) -> JointDiagonalization:
    """Find one transform that makes several symmetric matrices as diagonal as it can.

    Parameters
    ----------
    matrices : array-like of shape (n_matrices, k, k)
        Symmetric matrices, of any sign.
    method : one of 'jacobi', 'ffdiag', 'qdiag', default='jacobi'
        ``"jacobi"`` finds the best rotation. ``"ffdiag"`` and ``"qdiag"`` find any invertible transform, which noisy
        matrices of non-orthogonal mixtures need.
    constraint : array-like of shape (k, k) or None, default=None
        A positive definite C_0 for ``"qdiag"``, whose rows v satisfy v^T C_0 v = 1; None means the first matrix if it
        is positive definite, and the identity otherwise.
    tol : a number in [0, inf), default=1e-10
        The change of the transform in a sweep at which the method stops.
    max_iter : an integer in [1, inf), default=200
        Sweeps at most.

    Returns
    -------
    JointDiagonalization
        The transform, the diagonals, the course of the criterion and a certificate.

    Notes
    -----
    O(m k^3) a sweep for m matrices of order k.

    References
    ----------
    Cardoso and Souloumiac (1996), Jacobi angles for simultaneous diagonalization. Ziehe, Laskov, Nolte and Muller
    (2004), A fast algorithm for joint diagonalization. Vollgraf and Obermayer (2006), Quadratic optimization for
    simultaneous matrix diagonalization.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import diagonalize_jointly
    >>> random = np.random.default_rng(0)
    >>> A = random.normal(size=(3, 3))
    >>> C = [A @ np.diag(random.normal(size=3)) @ A.T for _ in range(5)]
    >>> diagonalize_jointly(C, "ffdiag").criterion < 1e-20
    True
    """
    rules = {"method": Choice(*METHODS), "tol": Real(0, closed="left"), "max_iter": Integer(1)}
    check_parameters("diagonalize_jointly", rules, {"method": method, "tol": tol, "max_iter": max_iter})
    C = _read_matrices(matrices)
    root = _read_constraint(constraint, C, method)
    course: list[Sweep] = []
    for sweep in sweep_matrices(_transform(root, C), method):
        course.append(sweep)
        if sweep.change <= tol or len(course) >= max_iter:
            break
    last = course[-1]
    V = last.transform @ root
    history = {
        "criterion": np.array([sweep.criterion for sweep in course]),
        "change": np.array([sweep.change for sweep in course]),
    }
    # The diagonals of V C_m V^T.
    diagonals = np.einsum("ij,mjk,ik->mi", V, C, V)
    return JointDiagonalization(V, diagonals, history, last.change <= tol, certify_turn(last.change, tol))


def certify_turn(change: float, tol: float) -> Certificate:
    """Return the certificate of a transform that a sweep changes by `change`."""
    return Certificate.of(
        "fixed point",
        change,
        tol,
        "Largest change of the transform in the last sweep over all pairs of axes, as a sine or a relative step: zero "
        "where no step of the method lowers the criterion.",
    )


def off_diagonal(matrices: Array) -> float:
    """Return the share of the squares of all entries that lie off the diagonals."""
    total = float((matrices**2).sum())
    # The sum off the diagonals itself, not a difference of two sums, which would round to 1e-16.
    off = matrices.copy()
    order = np.arange(matrices.shape[1])
    off[:, order, order] = 0.0
    return float((off**2).sum()) / total if total > 0 else 0.0


def sweep_matrices(C: Array, method: str, start: Array = None) -> Iterator[Sweep]:
    """Yield the transform after each sweep, for ever."""
    if start is not None:
        V = np.array(start, dtype=np.float64)
    elif method == "jacobi":
        V = np.eye(C.shape[1])
    else:
        V = _guess(C)
        V = _balance(V, C) if method == "ffdiag" else V / np.linalg.norm(V, axis=1)[:, None]
    return {"jacobi": _sweep_jacobi, "ffdiag": _sweep_ffdiag, "qdiag": _sweep_qdiag}[method](C, V)


def _transform(V: Array, C: Array) -> Array:
    return V @ C @ V.T


def _guess(C: Array) -> Array:
    """Return the best of the identity and of the exact solutions for pairs of random combinations of the matrices.

    Where C_m = A D_m A^T exactly, the eigenvectors of (sum a_m C_m)^(-1) (sum b_m C_m) are the rows of A^(-1).
    """
    random, k = np.random.default_rng(0), C.shape[1]
    best, least = np.eye(k), off_diagonal(_transform(_balance(np.eye(k), C), C))
    # Any two combinations have the same eigenvectors, unless noise differs.
    for _ in range(_GUESSES if len(C) > 1 else 0):
        first, second = np.tensordot(random.normal(size=(2, len(C))), C, axes=1)
        try:
            values, vectors = eig(np.linalg.solve(first, second))
        except np.linalg.LinAlgError:
            continue
        V = np.real(vectors).T
        # Complex pairs have two equal real parts: noise has made the exact solution useless.
        if np.abs(np.imag(values)).max() > 0 or np.linalg.matrix_rank(V) < k:
            continue
        value = off_diagonal(_transform(_balance(V, C), C))
        if value < least:
            best, least = V, value
    return best


def _sweep_jacobi(C: Array, V: Array) -> Iterator[Sweep]:
    """Rotate every pair of axes by its best angle in each sweep."""
    V = np.ascontiguousarray(V)
    while True:
        # Transformed anew in each sweep, so that the rounding of many rotations does not add up.
        A = np.ascontiguousarray(_transform(V, C).transpose(1, 2, 0))
        change = float(jacobi_angles.sweep_pairs(A, V, 1e-16))
        yield Sweep(V.copy(), off_diagonal(_transform(V, C)), change)


def _sweep_ffdiag(C: Array, V: Array) -> Iterator[Sweep]:
    """Multiply by I + W, with W from the matrices linearised about their diagonals (Ziehe and others, 2004)."""
    D = _transform(V, C)
    criterion = off_diagonal(D)
    k = len(V)
    while True:
        diagonals = np.diagonal(D, axis1=1, axis2=2)
        # z_ij = sum_m D_i D_j and y_ij = sum_m D_j E_ij; each pair (W_ij, W_ji) solves two equations.
        z = diagonals.T @ diagonals
        y = np.einsum("mj,mij->ij", diagonals, D)
        own = np.diagonal(z)
        determinant = own[:, None] * own[None, :] - z * z
        # Pairs with proportional diagonals cannot be told apart; they stay as they are.
        alike = determinant <= 1e-14 * own[:, None] * own[None, :]
        W = np.where(alike, 0.0, (z * y.T - own[:, None] * y) / np.where(alike, 1.0, determinant))
        np.fill_diagonal(W, 0.0)
        length = float(np.linalg.norm(W))
        # W must stay small for I + W to be invertible.
        W *= min(1.0, _LONGEST / length) if length > 0 else 1.0
        moved, there, change = V, criterion, 0.0
        for _ in range(_HALVINGS):
            trial = _balance((np.eye(k) + W) @ V, C)
            value = off_diagonal(_transform(trial, C))
            if value < criterion:
                moved, there, change = trial, value, float(np.abs(W).max())
                break
            W *= 0.5
        V, criterion = moved, there
        D = _transform(V, C)
        yield Sweep(V.copy(), criterion, change)


def _balance(V: Array, C: Array) -> Array:
    """Return V with rows scaled so that each has diagonals of unit sum of squares: the criterion has no scale."""
    diagonals = np.einsum("ij,mjk,ik->mi", V, C, V)
    size = np.sqrt((diagonals**2).sum(axis=0))
    return V / np.sqrt(np.where(size > 0, size, 1.0))[:, None]


def _sweep_qdiag(C: Array, V: Array) -> Iterator[Sweep]:
    """Replace each row by the unit vector v that makes sum_m sum_(j != i) (v^T C_m v_j)^2 least: an eigenvector."""
    total = float((C**2).sum())
    while True:
        before = V.copy()
        products = np.einsum("mab,ib->ima", C, V)
        M = np.einsum("ima,imb->ab", products, products)
        for i in range(len(V)):
            M -= products[i].T @ products[i]
            _, vectors = eigh(M, subset_by_index=[0, 0])
            # The sign that turns least.
            V[i] = vectors[:, 0] * (1.0 if vectors[:, 0] @ V[i] >= 0 else -1.0)
            products[i] = C @ V[i]
            M += products[i].T @ products[i]
        change = float(np.abs(V - before).max())
        D = _transform(V, C)
        # Relative to the given matrices, whose sum of squares stays as it is: each row lowers this criterion.
        yield Sweep(V.copy(), off_diagonal(D) * float((D**2).sum()) / total, change)


def _read_matrices(matrices: Any) -> Array:
    """Return the matrices as one float64 array of symmetric matrices."""
    try:
        C = np.asarray(matrices, dtype=np.float64)
    except (TypeError, ValueError):
        C = np.empty(0)
    if C.ndim != 3 or C.shape[1] != C.shape[2] or C.size == 0 or not np.isfinite(C).all():
        raise DataError(
            f"diagonalize_jointly: matrices must be finite and of shape (n_matrices, k, k); got the shape {C.shape}. "
            f"Stack square matrices of one order."
        )
    skew = float(np.abs(C - C.transpose(0, 2, 1)).max())
    if skew > 1e-8 * max(float(np.abs(C).max()), math.ulp(0.0)):
        raise DataError(
            f"diagonalize_jointly: matrices must be symmetric; the largest |C - C^T| is {skew:.3g}. Use (C + C^T) / 2."
        )
    return 0.5 * (C + C.transpose(0, 2, 1))


def _read_constraint(constraint: Any, C: Array, method: str) -> Array:
    """Return a matrix P with P C_0 P^T = I, which makes rows of unit length of what v^T C_0 v = 1 asks for."""
    k = C.shape[1]
    if constraint is None:
        root = _invert_root(C[0]) if method == "qdiag" else None
        return np.eye(k) if root is None else root
    C_0 = np.asarray(constraint, dtype=np.float64)
    if method != "qdiag" or C_0.shape != (k, k):
        raise DataError(
            f"diagonalize_jointly: constraint must be a matrix of order {k} for method='qdiag'; got the shape "
            f"{C_0.shape} with method={method!r}. Leave it out otherwise."
        )
    if (root := _invert_root(C_0)) is None:
        raise DataError(
            "diagonalize_jointly: constraint must be positive definite; got one that is not. Add to its diagonal."
        )
    return root


def _invert_root(C_0: Array) -> Array:
    """Return the inverse of the Cholesky factor; None if the matrix is not positive definite."""
    try:
        return solve_triangular(cholesky(C_0, lower=True), np.eye(len(C_0)), lower=True)
    except np.linalg.LinAlgError:
        return None
