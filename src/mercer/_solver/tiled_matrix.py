"""Dense symmetric matrices by fixed tiles on all threads: kernels, Cholesky factors, products.

A threaded BLAS gives other bits for other numbers of threads. Here every tile is one product on one thread, and which
tiles there are depends on the size of the matrix alone, so that the threads change nothing but the time.
"""

from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from mercer._source.threads import run_numbered
from mercer.kernels import Kernel, Prepared

__all__ = ["factor", "inverse_diagonal", "kernel_matrix", "multiply", "multiply_upper", "restore", "solve_factored"]

Array = Any
# Tiles of 512 x 512 numbers, 2 MiB, stay in a second-level cache.
_SIDE = 512
# Columns of a panel of the factor, rows of a chunk of it, and the size of the triangles that are inverted.
_WIDTH = 256
_CHUNK = 512
_TRIANGLE = 64


def kernel_matrix(kernel: Kernel, rows: Prepared, threads: int = 1) -> Array:
    """The values of all pairs of rows, symmetric to the last bit."""
    n = len(rows)
    out = np.empty((n, n), dtype=rows.dtype)
    cuts = [slice(start, min(start + _SIDE, n)) for start in range(0, n, _SIDE)]
    parts = [rows.take(cut) for cut in cuts]
    pairs = [(i, j) for j in range(len(cuts)) for i in range(j + 1)]

    def fill(number: int) -> None:
        i, j = pairs[number]
        tile = kernel.between(parts[i], parts[j])
        if i == j:
            # A product's two triangles may differ in the last bit.
            tile = np.triu(tile) + np.triu(tile, 1).T
        out[cuts[i], cuts[j]] = tile
        if i != j:
            out[cuts[j], cuts[i]] = tile.T

    run_numbered(fill, len(pairs), threads)
    return out


def factor(A: Array, threads: int = 1) -> None:
    """Overwrite the lower triangle of `A` by its Cholesky factor; the strict upper triangle keeps the matrix.

    Raises ``numpy.linalg.LinAlgError`` where the matrix is not positive definite.
    """
    n = len(A)
    for start in range(0, n, _WIDTH):
        stop = min(start + _WIDTH, n)
        chunks = [slice(begin, min(begin + _CHUNK, n)) for begin in range(stop, n, _CHUNK)]
        corner = A[start:stop, start:stop]
        square = np.tril(corner) + np.tril(corner, -1).T
        if start:
            square -= A[start:stop, :start] @ A[start:stop, :start].T
        lower = np.linalg.cholesky(square)
        corner[np.tril_indices(stop - start)] = lower[np.tril_indices(stop - start)]
        inverses = [_inverse(lower[at : at + _TRIANGLE, at : at + _TRIANGLE]) for at in range(0, len(lower), _TRIANGLE)]

        def finish(
            number: int,
            chunks: Any = chunks,
            start: int = start,
            stop: int = stop,
            lower: Array = lower,
            inverses: Any = inverses,
        ) -> None:
            panel = A[chunks[number], start:stop]
            if start:
                panel -= A[chunks[number], :start] @ A[start:stop, :start].T
            _divide(panel, lower, inverses)

        run_numbered(finish, len(chunks), threads)


def _inverse(triangle: Array) -> Array:
    trtri = lapack.dtrtri if triangle.dtype == np.float64 else lapack.strtri
    return trtri(triangle, lower=1)[0]


def _divide(panel: Array, lower: Array, inverses: list[Array]) -> None:
    """Overwrite the panel P by P L^-T, by products alone: only small triangles are inverted."""
    for number, inverse in enumerate(inverses):
        here = slice(number * _TRIANGLE, number * _TRIANGLE + len(inverse))
        panel[:, here] = panel[:, here] @ inverse.T
        if here.stop < len(lower):
            panel[:, here.stop :] -= panel[:, here] @ lower[here.stop :, here].T


def solve_factored(A: Array, B: Array) -> Array:
    """Solve L L^T X = B, with L the lower triangle of `A`, block by block."""
    n, X = len(A), np.array(B, dtype=A.dtype, order="C", copy=True)
    cuts = [slice(start, min(start + _WIDTH, n)) for start in range(0, n, _WIDTH)]
    for cut in cuts:
        right = X[cut] - A[cut, : cut.start] @ X[: cut.start]
        X[cut] = solve_triangular(A[cut, cut], right, lower=True, check_finite=False)
    for cut in reversed(cuts):
        right = X[cut] - A[cut.stop :, cut].T @ X[cut.stop :]
        X[cut] = solve_triangular(A[cut, cut], right, lower=True, trans="T", check_finite=False)
    return X


def inverse_diagonal(A: Array, threads: int = 1) -> Array:
    """The diagonal of (L L^T)^-1, with L the lower triangle of `A`: squared columns of L^-1, some at a time."""
    n = len(A)
    found = np.empty(n, dtype=A.dtype)

    def of_columns(number: int) -> None:
        first, last = number * _WIDTH, min((number + 1) * _WIDTH, n)
        columns = np.zeros((n - first, last - first), dtype=A.dtype)
        np.fill_diagonal(columns, 1.0)
        for start in range(first, n, _WIDTH):
            stop = min(start + _WIDTH, n)
            here = slice(start - first, stop - first)
            if start > first:
                columns[here] -= A[start:stop, first:start] @ columns[: start - first]
            columns[here] = solve_triangular(A[start:stop, start:stop], columns[here], lower=True, check_finite=False)
        found[first:last] = np.einsum("ij,ij->j", columns, columns)

    run_numbered(of_columns, -(-n // _WIDTH), threads)
    return found


def multiply(A: Array, B: Array, threads: int = 1) -> Array:
    """A B by rows of tiles."""
    out = np.empty((len(A), B.shape[1]), dtype=np.result_type(A, B))

    def fill(number: int) -> None:
        cut = slice(number * _CHUNK, min((number + 1) * _CHUNK, len(A)))
        np.matmul(A[cut], B, out=out[cut])

    run_numbered(fill, -(-len(A) // _CHUNK), threads)
    return out


def multiply_upper(A: Array, diagonal: Array, X: Array) -> Array:
    """The product of the symmetric matrix in the strict upper triangle of `A`, and a diagonal, with `X`."""
    out = diagonal[:, None] * X
    for start in range(0, len(A), _CHUNK):
        stop = min(start + _CHUNK, len(A))
        corner = np.triu(A[start:stop, start:stop], 1)
        out[start:stop] += corner @ X[start:stop] + corner.T @ X[start:stop] + A[start:stop, stop:] @ X[stop:]
        out[stop:] += A[start:stop, stop:].T @ X[start:stop]
    return out


def restore(A: Array, diagonal: Array) -> None:
    """Undo `factor`: copy the upper triangle to the lower, and put the diagonal back."""
    for start in range(0, len(A), _CHUNK):
        stop = min(start + _CHUNK, len(A))
        A[stop:, start:stop] = A[start:stop, stop:].T
        corner = np.triu(A[start:stop, start:stop], 1)
        A[start:stop, start:stop] = corner + corner.T
    np.fill_diagonal(A, diagonal)
