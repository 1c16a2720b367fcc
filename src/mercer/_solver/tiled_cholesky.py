"""Cholesky factors of large matrices in fixed tiles: all threads work, and their number does not change a bit.

A threaded LAPACK splits its sums by the number of its threads. Here every tile is one product of one BLAS thread, of a
shape that the size of the matrix alone decides, and mercer's threads share out the tiles.
"""

from typing import Any

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from mercer._source.threads import run_numbered

__all__ = ["TILE", "factorise", "forward", "inverse_factor", "inverse_tile", "lower_tiles", "solve", "tile_bounds"]

Array = Any
# Rows of a tile. Products of 192 reach nine tenths of the speed of long ones, and 1500 rows still make eight tiles.
TILE = 192


def tile_bounds(n: int, number: int) -> slice:
    """The rows of a tile."""
    return slice(number * TILE, min((number + 1) * TILE, n))


def lower_tiles(n: int) -> list[tuple[slice, slice]]:
    """The tiles on and below the diagonal of an n x n matrix."""
    count = -(-n // TILE)
    return [(tile_bounds(n, i), tile_bounds(n, j)) for i in range(count) for j in range(i + 1)]


def factorise(A: Array, threads: int = 1) -> int:
    """Put the lower Cholesky factor of `A`, C-ordered, in the place of its lower triangle.

    Returns 0, or the order of the first leading minor that is not positive; what is above the diagonal tiles is left.
    """
    n = len(A)
    for first in range(0, n, TILE):
        panel = slice(first, min(first + TILE, n))
        done, corner = A[panel, :first], A[panel, panel]
        # The triangle above the diagonal of `A` need not be filled: only the lower one is read.
        lower = np.tril(corner) - done @ done.T
        factor, failed = dpotrf(lower, lower=True, clean=True)
        if failed:
            return first + int(failed)
        corner[...] = factor

        def below(
            number: int, first: int = first, panel: slice = panel, done: Array = done, factor: Array = factor
        ) -> None:
            rows = slice(panel.stop + number * TILE, min(panel.stop + (number + 1) * TILE, n))
            block = A[rows, panel] - A[rows, :first] @ done.T
            A[rows, panel] = dtrsm(1.0, factor, block.T, lower=True).T

        run_numbered(below, -(-(n - panel.stop) // TILE), threads)
    return 0


def solve(L: Array, B: Array) -> Array:
    """The solution of L L^T X = B."""
    return np.ascontiguousarray(dpotrs(L.T, B, lower=False)[0])


def forward(L: Array, B: Array) -> Array:
    """The solution of L Z = B; a new array. Most of the work is products, which let other threads run."""
    Z = np.array(B, dtype=np.float64, order="C")
    for first in range(0, len(L), TILE):
        rows = slice(first, min(first + TILE, len(L)))
        part = Z[rows] - L[rows, :first] @ Z[:first]
        Z[rows] = dtrsm(1.0, np.asfortranarray(L[rows, rows]), part, lower=True)
    return Z


def inverse_factor(L: Array, threads: int = 1) -> Array:
    """The inverse of a lower factor, whose own upper triangle is not read; column tile by column tile."""
    n = len(L)
    V = np.zeros_like(L)

    def column(number: int) -> None:
        columns = tile_bounds(n, number)
        V[columns, columns] = np.tril(dtrtri(np.tril(L[columns, columns]), lower=True)[0])
        for first in range(columns.stop, n, TILE):
            rows = slice(first, min(first + TILE, n))
            part = L[rows, columns.start : first] @ V[columns.start : first, columns]
            V[rows, columns] = dtrsm(-1.0, np.asfortranarray(L[rows, rows]), part, lower=True)

    run_numbered(column, -(-n // TILE), threads)
    return V


def inverse_tile(V: Array, rows: slice, columns: slice) -> Array:
    """A tile of V^T V on or below its diagonal: of the inverse matrix, for the inverse V of a lower factor."""
    return V[rows.start :, rows].T @ V[rows.start :, columns]
