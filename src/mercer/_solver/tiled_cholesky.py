"""Cholesky factors of large matrices in fixed tiles: all threads work, and their number does not change a bit.

A threaded LAPACK splits its sums by the number of its threads. Here every tile is one product of one BLAS thread, of a
shape that the size of the matrix alone decides, and mercer's threads share out the tiles. All but small triangles is
products of NumPy's, which run side by side; SciPy's triangular solvers hold the interpreter's lock.
"""

from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer._source.threads import run_numbered

__all__ = [
    "TILE",
    "factor", "factorise", "forward", "inverse_diagonal", "inverse_factor", "inverse_tile", "lower_tiles",
    "multiply_upper", "restore", "solve", "tile_bounds",
]  # fmt: skip

Array = Any
# Rows of a tile: products of 256 reach nine tenths of the speed of long ones, and 3000 rows make 78 tiles to share out.
TILE = 256
# Rows above which more columns are taken at a time: the rest of the matrix is read less often, and tiles are many.
_LARGE = 5000
# The size of the triangles that are inverted: larger ones cost digits.
_TRIANGLE = 64


def tile_bounds(n: int, number: int) -> slice:
    """The rows of a tile."""
    return slice(number * TILE, min((number + 1) * TILE, n))


def lower_tiles(n: int) -> list[tuple[slice, slice]]:
    """The tiles on and below the diagonal of an n x n matrix."""
    count = -(-n // TILE)
    return [(tile_bounds(n, i), tile_bounds(n, j)) for i in range(count) for j in range(i + 1)]


def _cuts(start: int, stop: int, size: int) -> list[slice]:
    return [slice(begin, min(begin + size, stop)) for begin in range(start, stop, size)]


def factorise(A: Array, threads: int = 1) -> int:
    """Put the lower Cholesky factor of `A`, C-ordered, in the place of its lower triangle.

    What is above the diagonal is neither read nor written. Returns 0, or the order of the first leading minor that is
    not positive. The columns of a panel are finished and taken from all that is right of them (Golub and Van Loan,
    4.2.5), so that a step waits for small triangles alone.
    """
    n = len(A)
    # Of the widths tried, the fastest on one thread (3000 and 5500 rows); still 36 tiles to share out at 3000.
    width, size = (256, 384) if n <= _LARGE else (384, 512)
    for start in range(0, n, width):
        panel = slice(start, min(start + width, n))
        corner = A[panel, panel]
        try:
            lower = np.linalg.cholesky(corner)
        except np.linalg.LinAlgError:
            return start + int(lapack.dpotrf(corner.astype(np.float64), lower=1)[1])
        np.copyto(corner, lower, where=np.tri(len(lower), dtype=bool))
        cuts = _cuts(panel.stop, n, size)
        inverses = [_inverse(lower[at, at]) for at in _cuts(0, len(lower), _TRIANGLE)]
        run_numbered(partial(_divide, A, panel, cuts, lower, inverses), len(cuts), threads)
        pairs = [(i, j) for j in range(len(cuts)) for i in range(j, len(cuts))]
        run_numbered(partial(_take_off, A, panel, cuts, pairs), len(pairs), threads)
    return 0


def factor(A: Array, threads: int = 1) -> None:
    """As `factorise`, for matrices that have a factor: raises ``numpy.linalg.LinAlgError`` where there is none."""
    if failed := factorise(A, threads):
        message = f"the matrix is not positive definite: its leading minor of order {failed} is not positive."
        raise np.linalg.LinAlgError(message)


def _inverse(triangle: Array) -> Array:
    trtri = lapack.dtrtri if triangle.dtype == np.float64 else lapack.strtri
    return trtri(triangle, lower=1)[0]


def _divide(A: Array, panel: slice, cuts: list[slice], lower: Array, inverses: list[Array], number: int) -> None:
    """Overwrite some rows P of a panel by P L^-T, by products alone: only small triangles are inverted."""
    P, at = A[cuts[number], panel], 0
    for inverse in inverses:
        here, rest = slice(at, at + len(inverse)), slice(at + len(inverse), len(lower))
        P[:, here] = P[:, here] @ inverse.T
        if rest.start < len(lower):
            P[:, rest] -= P[:, here] @ lower[rest, here].T
        at = here.stop


def _take_off(A: Array, panel: slice, cuts: list[slice], pairs: list[tuple[int, int]], number: int) -> None:
    """Subtract a panel's products from one tile right of it, on and below the diagonal."""
    i, j = pairs[number]
    product, tile = A[cuts[i], panel] @ A[cuts[j], panel].T, A[cuts[i], cuts[j]]
    np.subtract(tile, product, out=tile, where=np.tri(len(tile), dtype=bool) if i == j else True)


def solve(L: Array, B: Array) -> Array:
    """The solution of L L^T X = B, with L in a lower triangle; block by block, in a new array."""
    X = forward(L, B)
    for cut in reversed(_cuts(0, len(L), TILE)):
        right = X[cut] - L[cut.stop :, cut].T @ X[cut.stop :]
        X[cut] = solve_triangular(L[cut, cut], right, lower=True, trans="T", check_finite=False)
    return X


def forward(L: Array, B: Array) -> Array:
    """The solution of L Z = B; a new array. Most of the work is products, which let other threads run."""
    Z = np.array(B, dtype=L.dtype, order="C")
    for cut in _cuts(0, len(L), TILE):
        right = Z[cut] - L[cut, : cut.start] @ Z[: cut.start]
        Z[cut] = solve_triangular(L[cut, cut], right, lower=True, check_finite=False)
    return Z


def inverse_factor(L: Array, threads: int = 1) -> Array:
    """The inverse of a lower factor, whose own upper triangle is not read; some columns at a time."""
    n = len(L)
    # A part of a tile: the first columns are 3 width / n of all work, which must be little where threads are many.
    V, columns, rows = np.zeros_like(L), _cuts(0, n, 64 if n <= _LARGE else 128), _cuts(0, n, TILE)
    corners: list[Array] = []
    run_numbered(lambda number: np.tril(_inverse(L[rows[number], rows[number]])), len(rows), threads, corners.append)

    def fill(number: int) -> None:
        here = columns[number]
        first = here.start // TILE
        at = rows[first].start
        V[rows[first], here] = corners[first][:, here.start - at : here.stop - at]
        for cut, corner in zip(rows[first + 1 :], corners[first + 1 :]):
            known = slice(here.start, cut.start)
            V[cut, here] = -corner @ (L[cut, known] @ V[known, here])

    run_numbered(fill, len(columns), threads)
    return V


def inverse_tile(V: Array, rows: slice, columns: slice) -> Array:
    """A tile of V^T V on or below its diagonal: of the inverse matrix, for the inverse V of a lower factor."""
    return V[rows.start :, rows].T @ V[rows.start :, columns]


def inverse_diagonal(L: Array, threads: int = 1) -> Array:
    """The diagonal of (L L^T)^-1: squared columns of the inverse of L, some at a time."""
    n = len(L)
    found = np.empty(n, dtype=L.dtype)

    def of_columns(number: int) -> None:
        here = tile_bounds(n, number)
        columns = np.zeros((n - here.start, here.stop - here.start), dtype=L.dtype)
        np.fill_diagonal(columns, 1.0)
        columns = forward(L[here.start :, here.start :], columns)
        found[here] = np.einsum("ij,ij->j", columns, columns)

    run_numbered(of_columns, -(-n // TILE), threads)
    return found


def multiply_upper(A: Array, diagonal: Array, X: Array, threads: int = 1) -> Array:
    """The product of the symmetric matrix in the strict upper triangle of `A`, and a diagonal, with `X`."""
    out, cuts = diagonal[:, None] * X, _cuts(0, len(A), 2 * TILE)

    def products(number: int) -> tuple[slice, Array, Array]:
        cut = cuts[number]
        corner, beyond = np.triu(A[cut, cut], 1), A[cut, cut.stop :]
        return cut, corner @ X[cut] + corner.T @ X[cut] + beyond @ X[cut.stop :], beyond.T @ X[cut]

    def add(found: tuple[slice, Array, Array]) -> None:
        cut, here, below = found
        out[cut] += here
        out[cut.stop :] += below

    run_numbered(products, len(cuts), threads, add)
    return out


def restore(A: Array, diagonal: Array) -> None:
    """Undo `factorise`: copy the upper triangle to the lower, and put the diagonal back."""
    for cut in _cuts(0, len(A), 2 * TILE):
        A[cut.stop :, cut] = A[cut, cut.stop :].T
        corner = np.triu(A[cut, cut], 1)
        A[cut, cut] = corner + corner.T
    np.fill_diagonal(A, diagonal)
