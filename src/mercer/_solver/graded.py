"""Eigenvectors where columns have units that differ by 1e5 and more, such as nanoseconds beside metres.

LAPACK finds eigenvalues to a share of the largest one, so that those of small columns are rounding. Here columns are
made of length one first, and the units are put back by one-sided Jacobi rotations, which keep small values to full
relative accuracy (Demmel and Veselic 1992, Drmac and Veselic 2008).
"""

import numpy as np
from scipy.linalg import eigvalsh, qr
from scipy.linalg.lapack import dpstrf

from mercer._types import Array

# Ratio of the largest spread of a column to the least from which on units are taken apart. Where they are not, the
# relative error of a small variance is at most the square of this ratio times 2e-16, which is 2e-6. Taking them apart
# costs 5 to 50 times the CPU time of the eigenvectors (50 to 500 columns).
_GRADED = 1e5
_EPSILON = float(np.finfo(np.float64).eps)
# Rounds of rotations of all pairs of columns; after pivoted QR about six reach the rounding.
_SWEEPS = 40


def is_graded(squares: Array) -> bool:
    """Return whether two columns with these sums of squares differ in spread by a factor above _GRADED."""
    squares = squares[squares > 0]
    return squares.size > 1 and bool(squares.max() > _GRADED**2 * squares.min())


def find_graded_eigenpairs(matrix: Array, tiny: float) -> tuple[Array, Array]:
    """Return the eigenvectors, as rows, and the eigenvalues above rounding of a matrix of products, in falling order.

    With D the lengths of the columns, S = D C D and C = P L L^T P^T by Cholesky's method with pivots, S = F F^T with
    F = D P L, whose singular values are the roots of the eigenvalues of S. Eigenvalues of C up to `tiny` times the
    largest are rounding; its last pivots are not as accurate, for small pivots before them magnify the rounding.
    """
    lengths = np.sqrt(np.diagonal(matrix))
    unit = np.where(lengths > 0, lengths, 1.0)
    cosines = matrix / unit[:, None] / unit
    sizes = eigvalsh(cosines)
    triangle, pivots, rank, _ = dpstrf(cosines, tol=tiny, lower=1)
    rank = min(int(rank), int(np.sum(sizes > tiny * sizes[-1])))
    factor = np.zeros((len(matrix), rank))
    factor[pivots - 1] = np.tril(triangle)[:, :rank]
    vectors, values, _ = decompose_rows_of_any_size(factor * unit[:, None])
    return vectors, values**2


def decompose_rows_of_any_size(factor: Array) -> tuple[Array, Array, Array]:
    """Return the left singular vectors of a tall F, as rows, its singular values, and the right ones, as rows.

    Rows of F may differ in size by any ratio: small values are as accurate, relative to themselves, as large ones. QR
    with pivots comes first, F P = Q R. Jacobi's rotations V that make V^T R = diag(s) U^T have orthogonal rows
    are then few, and F = (Q V) diag(s) (P U)^T.
    """
    size = factor.shape[1]
    # Large rows first: Householder's reflections then leave an error in each row that is small beside that row (Cox and
    # Higham 1998).
    falling = np.argsort(-np.abs(factor).max(axis=1, initial=0.0), kind="stable")
    orthonormal = np.empty_like(factor)
    orthonormal[falling], triangle, pivots = qr(factor[falling], mode="economic", pivoting=True)
    # The rows to rotate, and beside them the product of all rotations.
    rows = np.concatenate([triangle, np.eye(size)], axis=1)
    rounds = _pair_rows(size)
    for _ in range(_SWEEPS):
        if max((_rotate_pairs(rows, left, right) for left, right in rounds), default=0.0) <= size * _EPSILON:
            break
    values = np.sqrt((rows[:, :size] ** 2).sum(axis=1))
    order = np.argsort(-values, kind="stable")
    right = np.empty((size, size))
    right[:, pivots] = rows[order, :size] / values[order, None]
    return rows[order, size:] @ orthonormal.T, values[order], right


def _rotate_pairs(rows: Array, left: Array, right: Array) -> float:
    """Make pairs of rows orthogonal in their first half; return the largest cosine between two before that."""
    size = rows.shape[0]
    first, second = rows[left], rows[right]
    squares, others, products = (
        np.einsum("ij,ij->i", one[:, :size], other[:, :size])
        for one, other in ((first, first), (second, second), (first, second))
    )
    lengths = np.sqrt(squares) * np.sqrt(others)
    cosines = np.abs(products) / np.where(lengths > 0, lengths, 1.0)
    turn = cosines > _EPSILON
    largest = float(cosines.max(initial=0.0))
    if not turn.any():
        return largest
    # tan(2 a) = 2 <x, y> / (|y|^2 - |x|^2); the smaller of both angles.
    ratio = (others - squares)[turn] / (2 * products[turn])
    tangent = np.copysign(1.0, ratio) / (np.abs(ratio) + np.hypot(1.0, ratio))
    cosine = (1 / np.hypot(1.0, tangent))[:, None]
    sine = tangent[:, None] * cosine
    first, second = first[turn], second[turn]
    rows[left[turn]] = cosine * first - sine * second
    rows[right[turn]] = sine * first + cosine * second
    return largest


def _pair_rows(size: int) -> list[tuple[Array, Array]]:
    """Return rounds of disjoint pairs in which each row meets each other one once, as in a tournament."""
    places = list(range(size + size % 2))
    rounds = []
    for _ in range(len(places) - 1):
        half = len(places) // 2
        pairs = [pair for pair in zip(places[:half], places[: half - 1 : -1]) if max(pair) < size]
        rounds.append((np.array([left for left, _ in pairs], int), np.array([right for _, right in pairs], int)))
        places = [places[0], places[-1], *places[1:-1]]
    return rounds
