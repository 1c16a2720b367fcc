"""What maps of rows share: the state of their solvers, eigenvectors, inverses of sparse ones, and what is stored."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.blas import dsymv, dtrsv
from scipy.linalg.lapack import dpotrf
from scipy.sparse import coo_array, eye_array
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from mercer._base import Estimator
from mercer._base.interface import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer._base.parameter import Integer, parameter
from mercer._native.graph import elimination_order
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.eigenpairs import find_eigenpairs
from mercer._solver.request import HEAVY_SPECTRUM
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import check_dropped
from mercer._stored import Stored, floats
from mercer._types import Array, Rows
from mercer.manifold import _crossovers

# Entries of a matrix that SuperLU orders in some 40 ms: shorter than Ctrl-C may wait.
_SOON_ORDERED = 200_000
# Entries of lists that one native call of the ordering reads: some milliseconds.
_PIECE = 2**20
# A pivot is taken from the diagonal if it is at least this share of the largest entry of its column.
_PIVOT = 0.01
# Rows of a sparse matrix that may be factored as a dense one: it takes 35 ms, shorter than Ctrl-C may wait.
_DENSE_ROWS = 1500
# Share of entries from which that pays: at a twentieth SuperLU fills 0.6 of the triangle of 1000 rows, in 96 ms.
_DENSE_SHARE = 0.05
# The share of stored entries from which on products are tried before a factorisation, whose factors would be full: for
# graphs of 1000 to 2000 rows with a seventh of all edges they take a tenth of its time.
_FULL = 0.03
# Restarts of the Lanczos method by products, some 17 products each: at most a fifth of the time of a factorisation for
# 1000 rows with a seventh of all edges.
_RESTARTS = 20
_EPS = float(np.finfo(np.float64).eps)


def invert_sparse(matrix: Rows, shift: float = 0.0) -> LinearOperator:
    """Return the product with (M - shift I)^-1 for a sparse symmetric M, by a factorisation.

    SuperLU orders columns for matrices without symmetry unless told otherwise. A minimum degree of M + M^T, with pivots
    from the diagonal where these are not a hundred times below the largest entry, halves the fill and takes a third of
    the time. A matrix of few rows with many entries fills up anyway: Cholesky's dense factor of 1000 rows, a seventh of
    whose entries are not zero, takes 11 ms where SuperLU takes 137 ms.
    """
    n = matrix.shape[0]
    shifted = (matrix - shift * eye_array(n)).tocsc() if shift else matrix.tocsc()
    if n <= _DENSE_ROWS and matrix.nnz >= _DENSE_SHARE * n * n:
        factor, failed = dpotrf(shifted.toarray(order="F"), lower=1, overwrite_a=1)
        if not failed:
            return LinearOperator((n, n), matvec=partial(_solve_factored, factor), dtype=np.float64)
    settings = {"diag_pivot_thresh": _PIVOT, "options": {"SymmetricMode": True}}
    if shifted.nnz <= _SOON_ORDERED:
        factors = splu(shifted, "MMD_AT_PLUS_A", **settings)
        return LinearOperator((n, n), matvec=factors.solve, dtype=np.float64)
    order = order_unknowns(shifted)
    entries, place = shifted.tocoo(), np.empty(n, np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    moved = coo_array((entries.data, (place[entries.row], place[entries.col])), shape=(n, n)).tocsc()
    factors = splu(moved, "NATURAL", **settings)

    def solve(right: Array) -> Array:
        solution = np.empty(n)
        solution[order] = factors.solve(right[order])
        return solution

    return LinearOperator((n, n), matvec=solve, dtype=np.float64)


def _solve_factored(factor: Array, right: Array) -> Array:
    """Return the solution of L L^T x = `right`, by two triangular solves."""
    return dtrsv(factor, dtrsv(factor, right.ravel(), lower=1), lower=1, trans=1)


def order_unknowns(matrix: Rows, piece: int = _PIECE) -> Array:
    """Return an order in which few zeros of a symmetric matrix fill in, by approximate minimum degree.

    Parameters
    ----------
    matrix : sparse array of shape (n, n)
        Only the places of its entries matter; where only one of two mirrored entries is stored, both count.
    piece : int, default=2^20
        Entries that one native call reads.
    """
    n = matrix.shape[0]
    entries = matrix.tocoo()
    beside = entries.row != entries.col
    rows, columns = entries.row[beside], entries.col[beside]
    both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    # Conversion adds up entries of one place, so that each neighbour is listed once.
    graph = coo_array((np.ones(len(both[0]), np.int8), both), shape=(n, n)).tocsr()
    order = np.empty(n, np.int32)
    state = _start_elimination(graph.indptr, graph.indices, order)
    while not elimination_order.eliminate(state, piece):
        check_dropped()
    return order


def _start_elimination(starts: Array, neighbours: Array, order: Array) -> elimination_order.Elimination:
    """Return the state before the first elimination; `neighbours` lists those of each unknown from ``starts`` on."""
    n, m = len(starts) - 1, len(neighbours)
    lengths = np.diff(starts)
    places = np.empty(3 * m + 2 * n, np.int32)
    places[:m] = neighbours
    table = np.zeros((17, n), np.int32)
    # Rows as the native module lists them: where the list begins, its length, the weight, the degree.
    table[0], table[1], table[4], table[5] = starts[:-1], lengths, 1, lengths
    # Chains end with -1, and each unknown is the last of its own.
    table[6:9], table[12], table[13], table[15] = -1, -1, np.arange(n), -1
    return elimination_order.Elimination(places, table, order, m)


@plain
@dataclass(frozen=True)
class EigenMapState:
    """Coordinates of the rows, the eigenvalues that belong to them, and the largest residual of the eigenvectors."""

    embedding: Array
    values: Array
    residual: float
    extra: Array = None


class EigenMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Base of maps whose coordinates are eigenvectors of one matrix."""

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_components: int = parameter(Integer(1), default=2, doc="Coordinates of a row.")

    _objective_moves: ClassVar[str | None] = None
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "a matrix of all pairs of rows is decomposed; its size is forecast before it is taken"
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "embedding_": floats("rows, components"),
        "eigenvalues_": floats("components"),
    }

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit the map, and return the coordinates of its rows.

        Parameters
        ----------
        X : array-like
            As ``fit`` takes it.
        """
        return self.fit(X).embedding_  # type: ignore[attr-defined]


def solve_at_once(
    find: Callable[[], EigenMapState], objective: Callable[[EigenMapState], float], statement: str, n_rows: int
) -> Any:
    """Return a function from a state to resume from to a solver of one step, for maps of `n_rows` rows."""

    def solver(start: EigenMapState | None) -> Solver:
        state = (yield Dense(find, n_rows > HEAVY_SPECTRUM)) if start is None else start
        certificate = Certificate.of("residual", state.residual, 1e-6, statement)
        if start is None:
            yield Step(objective(state), state, certificate)
        return Solution(state, True, certificate)

    return solver


def fix_signs(vectors: Array) -> Array:
    """Return columns with the signs by which the entry of largest magnitude is positive."""
    if vectors.size == 0:
        return vectors
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)


def centre_squares(distances: Array) -> tuple[Array, Array]:
    """Return B = -(1 / 2) J D^2 J, the inner products of centred points, and the mean of each column of D^2.

    J = I - 1 1^T / n takes the means away. All steps are in place: each temporary would be as large as the distances.
    """
    B = distances**2
    means = B.mean(axis=0)
    B -= means
    B -= means[:, None]
    B += means.mean()
    B *= -0.5
    return B, means


def largest_eigenvectors(matrix: Array, k: int, *, solver: str = "auto", tol: float = 0.0, max_iter: Any = None) -> Any:
    """Return the k largest eigenvalues of a dense symmetric matrix, falling, their vectors, and the residual."""
    n = len(matrix)
    k = min(k, n)
    # For small matrices, or many vectors, a dense decomposition is faster than iterations.
    if solver == "dense" or k >= n or (solver == "auto" and (n < _crossovers.PRODUCTS or k > 10)):
        values, vectors = find_eigenpairs(matrix, n - k)
    else:
        values, vectors = eigsh(matrix, k, which="LA", tol=tol, maxiter=max_iter, v0=_start(n))
    order = np.argsort(-values, kind="stable")
    values, vectors = values[order], fix_signs(vectors[:, order])
    return values, vectors, measure_residual(matrix, values, vectors)


def smallest_eigenvectors(
    matrix: Rows,
    k: int,
    *,
    solver: str = "auto",
    tol: float = 0.0,
    max_iter: Any = None,
    shift: float = 0.0,
    may_be_separate: bool = False,
) -> Any:
    """Return the k smallest eigenvalues of a positive semidefinite matrix, rising, their vectors, and the residual.

    Sparse matrices are factored about `shift`, near which the eigenvalues are looked for. Where the eigenvalues
    `may_be_separate`, far apart beside the largest one, products with a matrix that is rather full are tried first: its
    factors would be full.
    """
    n = matrix.shape[0]
    k = min(k, n)
    if solver == "dense" or k >= n - 1 or (solver == "auto" and (n < _crossovers.SPARSE_FACTORS or k > 10)):
        dense = matrix.toarray() if is_sparse_matrix(matrix) else matrix
        values, vectors = find_eigenpairs(dense, last=k - 1)
    else:
        found = _multiply_only(matrix, k, tol) if may_be_separate else None
        values, vectors = _invert_and_iterate(matrix, k, tol, max_iter, shift) if found is None else found
    order = np.argsort(values, kind="stable")
    values, vectors = values[order], fix_signs(vectors[:, order])
    return values, vectors, measure_residual(matrix, values, vectors)


def _multiply_only(matrix: Rows, k: int, tol: float) -> tuple[Array, Array] | None:
    """Return the k smallest eigenpairs by products with a rather full matrix; None if it would take too many."""
    if is_sparse_matrix(matrix) and matrix.nnz < _FULL * matrix.shape[0] ** 2:
        return None
    try:
        return eigsh(_multiply_half(matrix), k, which="SA", tol=tol, maxiter=_RESTARTS, v0=_start(matrix.shape[0]))
    except ArpackNoConvergence:
        return None


def _multiply_half(matrix: Rows) -> Any:
    """Return the product with a symmetric matrix; of a dense one, half of the entries is read."""
    if is_sparse_matrix(matrix):
        return matrix
    # The transpose of an array in C order is in the order that the BLAS reads.
    table = matrix if matrix.flags.f_contiguous else np.ascontiguousarray(matrix).T
    return LinearOperator(matrix.shape, matvec=lambda vector: dsymv(1.0, table, vector.ravel()), dtype=np.float64)


def _invert_and_iterate(matrix: Rows, k: int, tol: float, max_iter: Any, shift: float) -> tuple[Array, Array]:
    """Return the k eigenpairs nearest to `shift`: their values are the largest of (M - shift I)^-1."""
    options = {"tol": tol, "maxiter": max_iter, "v0": _start(matrix.shape[0])}
    if is_sparse_matrix(matrix):
        options["OPinv"] = invert_sparse(matrix, shift)
    return eigsh(matrix, k, sigma=shift, which="LM", **options)


def measure_residual(matrix: Rows, values: Array, vectors: Array) -> float:
    """Return the largest |A v - lambda v|, relative to the largest entry of A (or 1)."""
    gaps = np.linalg.norm(matrix @ vectors - values * vectors, axis=0)
    entries = matrix.data if is_sparse_matrix(matrix) else matrix
    # Without a copy of all entries, as their magnitudes would be.
    largest = float(max(entries.max(initial=0.0), -entries.min(initial=0.0)))
    return float(gaps.max(initial=0.0)) / (largest or 1.0)


def _start(n: int) -> Array:
    """Return a fixed first vector for iterative methods, so that results are the same in every call."""
    return np.random.default_rng(0).uniform(-1.0, 1.0, n)
