"""Cholesky factors of large matrices in fixed tiles: all threads work, and their number does not change a bit.

A threaded LAPACK splits its sums by the number of its threads. Here every tile is one product of one thread, of a
shape that depends on the size of the matrix only, and mercer's threads take tiles one by one. Native code writes them
in place without the interpreter's lock, which SciPy's triangular solvers hold.
"""

from functools import partial

import numpy as np
from scipy.linalg.lapack import dtrtrs, strtrs

from mercer._native.shared import triangles
from mercer._source.threads import run_numbered
from mercer._types import Array

# Rows of a tile: products of 256 reach nine tenths of the speed of long ones, and 3000 rows make 78 tiles.
TILE = 256
# Rows above which tiles are larger: there are enough of them for all threads.
_LARGE = 5000


def tile_bounds(n: int, number: int) -> slice:
    """Return the rows of tile `number` of `n` rows."""
    return slice(number * TILE, min((number + 1) * TILE, n))


def lower_tiles(n: int) -> list[tuple[slice, slice]]:
    """Return the tiles on and below the diagonal of an n x n matrix."""
    count = -(-n // TILE)
    return [(tile_bounds(n, i), tile_bounds(n, j)) for i in range(count) for j in range(i + 1)]


def _cut(start: int, stop: int, size: int) -> list[slice]:
    """Return slices of `size` rows that cover the range from `start` to `stop`."""
    return [slice(begin, min(begin + size, stop)) for begin in range(start, stop, size)]


def factorise(A: Array, threads: int = 1) -> int:
    """Put the lower Cholesky factor of `A`, C-ordered, in the place of its lower triangle.

    Elements above the diagonal are neither read nor written. Returns 0, or the order of the first leading minor that is
    not positive. This is the right-looking algorithm (Golub and Van Loan, 4.2.5) on two levels: a stripe of columns is
    factored, panel by panel, and the products of the whole stripe are then subtracted from all columns to its right,
    which are thus read and written once a stripe. Only the small triangle of a panel is sequential.
    """
    n = len(A)
    # On one thread, narrow panels of one level took 1.10 times as long with 6000 rows; SciPy's LAPACK took 1.4, 1.5
    # and 1.55 times as long with 1500, 3000 and 6000 rows. 3000 rows still make 66 tiles for the threads.
    stripe, width, size = (384, 192, 240) if n <= _LARGE else (768, 192, 480)
    for first in range(0, n, stripe):
        last = min(first + stripe, n)
        if failed := _factor_stripe(A, first, last, width, size, threads):
            return failed
        cuts = _cut(last, n, size)
        pairs = [(i, j) for j in range(len(cuts)) for i in range(j, len(cuts))]
        run_numbered(partial(_take_off, A, first, last, cuts, pairs), len(pairs), threads)
    return 0


def _factor_stripe(A: Array, first: int, last: int, width: int, size: int, threads: int) -> int:
    """Factor the columns from `first` to `last`, from which all products to their left are subtracted already."""
    for start in range(first, last, width):
        stop = min(start + width, last)
        if failed := triangles.factor_corner(A, start, stop):
            return start + failed
        # The columns of the stripe that are left are one tile wide; the first tile is on the diagonal.
        cuts = [*_cut(stop, last, last - first), *_cut(last, len(A), size)]
        run_numbered(partial(_divide, A, start, stop, cuts), len(cuts), threads)
        if stop < last:
            pairs = [(i, 0) for i in range(len(cuts))]
            run_numbered(partial(_take_off, A, start, stop, cuts, pairs), len(pairs), threads)
    return 0


def factor(A: Array, threads: int = 1) -> None:
    """Factorise `A` as `factorise` does; raise ``numpy.linalg.LinAlgError`` if it is not positive definite."""
    if failed := factorise(A, threads):
        raise np.linalg.LinAlgError(
            f"the matrix is not positive definite: its leading minor of order {failed} is not positive."
        )


def _divide(A: Array, start: int, stop: int, cuts: list[slice], number: int) -> None:
    """Overwrite some rows P of a panel by P L^-T."""
    triangles.divide_rows(A, start, stop, cuts[number].start, cuts[number].stop)


def _take_off(A: Array, start: int, stop: int, cuts: list[slice], pairs: list[tuple[int, int]], number: int) -> None:
    """Subtract a panel's products from one tile right of it, on and below the diagonal."""
    here, there = cuts[pairs[number][0]], cuts[pairs[number][1]]
    scratch = np.empty(triangles.count_scratch())
    triangles.subtract_products(A, start, stop, here.start, here.stop, there.start, there.stop, scratch)


def solve(L: Array, B: Array) -> Array:
    """Solve L L^T X = B, with L in a lower triangle, block by block; return a new array."""
    X = forward(L, B)
    for cut in reversed(_cut(0, len(L), TILE)):
        right = X[cut] - L[cut.stop :, cut].T @ X[cut.stop :]
        X[cut] = _solve_corner(L[cut, cut], right, True)
    return X


def forward(L: Array, B: Array) -> Array:
    """Solve L Z = B; return a new array. Most of the work is products, which do not hold the interpreter's lock."""
    Z = np.array(B, dtype=L.dtype, order="C")
    for cut in _cut(0, len(L), TILE):
        right = Z[cut] - L[cut, : cut.start] @ Z[: cut.start]
        Z[cut] = _solve_corner(L[cut, cut], right, False)
    return Z


def _solve_corner(L: Array, right: Array, transposed: bool) -> Array:
    """Solve L X = right or, if `transposed`, L^T X = right, by LAPACK.

    SciPy's `solve_triangular` calls the same function, after checks that take longer than 50 rows.
    """
    trtrs = dtrtrs if L.dtype == np.float64 else strtrs
    # LAPACK reads columns: for it the C-ordered lower triangle is an upper one.
    X, singular = trtrs(L.T, right, lower=0, trans=0 if transposed else 1)
    if singular:
        raise np.linalg.LinAlgError(f"the triangle is singular: its diagonal is zero in row {singular}.")
    return X


def inverse_factor(L: Array, threads: int = 1, out: Array = None) -> Array:
    """Return the inverse of a lower factor, computed some columns at a time; the upper triangle of `L` is not read.

    It is written to `out`, if given.
    """
    n = len(L)
    # Narrower than a tile: the first columns are 3 width / n of all work, which one thread does alone.
    V, columns = np.empty_like(L) if out is None else out, _cut(0, n, 64 if n <= _LARGE else 128)
    V[...] = 0.0
    np.fill_diagonal(V, 1.0)

    def fill(number: int) -> None:
        here = columns[number]
        for cut in _cut(here.start, n, TILE):
            triangles.invert_columns(L, V, here.start, here.stop, cut.start, cut.stop)

    run_numbered(fill, len(columns), threads)
    return V


def inverse_tile(V: Array, rows: slice, columns: slice) -> Array:
    """Return a tile of V^T V on or below its diagonal: of the inverse matrix, where V inverts the lower factor."""
    return V[rows.start :, rows].T @ V[rows.start :, columns]


def inverse_diagonal(L: Array, threads: int = 1) -> Array:
    """Return the diagonal of (L L^T)^-1: the squared lengths of the columns of L^-1, computed some at a time."""
    n = len(L)
    squares = np.empty(n, dtype=L.dtype)

    def of_columns(number: int) -> None:
        here = tile_bounds(n, number)
        # Column j of L^-1 is zero above row j.
        columns = np.zeros((n - here.start, here.stop - here.start), dtype=L.dtype)
        np.fill_diagonal(columns, 1.0)
        columns = forward(L[here.start :, here.start :], columns)
        squares[here] = np.einsum("ij,ij->j", columns, columns)

    run_numbered(of_columns, -(-n // TILE), threads)
    return squares


def multiply_upper(A: Array, diagonal: Array, X: Array, threads: int = 1) -> Array:
    """Multiply `X` by the symmetric matrix with the strict upper triangle of `A` and the given `diagonal`."""
    out, cuts = diagonal[:, None] * X, _cut(0, len(A), 2 * TILE)

    def products(number: int) -> tuple[slice, Array, Array]:
        cut = cuts[number]
        corner, beyond = np.triu(A[cut, cut], 1), A[cut, cut.stop :]
        # A tile of the upper triangle counts twice: for its own rows and, transposed, for those below.
        return cut, corner @ X[cut] + corner.T @ X[cut] + beyond @ X[cut.stop :], beyond.T @ X[cut]

    def add(tile: tuple[slice, Array, Array]) -> None:
        cut, here, below = tile
        out[cut] += here
        out[cut.stop :] += below

    run_numbered(products, len(cuts), threads, add)
    return out


def restore(A: Array, diagonal: Array) -> None:
    """Undo `factorise`: copy the upper triangle to the lower, and put the diagonal back."""
    for cut in _cut(0, len(A), 2 * TILE):
        A[cut.stop :, cut] = A[cut, cut.stop :].T
        corner = np.triu(A[cut, cut], 1)
        A[cut, cut] = corner + corner.T
    np.fill_diagonal(A, diagonal)
