"""Dense symmetric matrices in fixed tiles on all threads: kernel values and products.

A threaded BLAS gives other bits for other numbers of threads. Here every tile is one product on one thread, and the
tiles depend on the size of the matrix only, so the number of threads changes nothing but the time.
"""

from dataclasses import dataclass

import numpy as np

from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.kernels import Kernel, Prepared

# Rows of a tile: 512 x 512 float64 are 2 MiB, which stay in a second-level cache.
_SIDE = 512
# Bytes of new memory that are written at a time before Ctrl-C is looked for: 8 pages of 2 MiB, at up to 4 ms each.
_NEW = 2**24
# Values between two that are written: none of the smallest pages, of 4 KiB, is left out.
_PAGE = 512
# Rows of a strip: 4000 rows make 16 strips for the threads.
_HEIGHT = 256


def kernel_matrix(kernel: Kernel, rows: Prepared, threads: int = 1) -> Array:
    """Return the values of all pairs of rows, symmetric to the last bit."""
    n = len(rows)
    out = np.empty((n, n), dtype=rows.dtype)
    _touch_memory(out, threads, lower=False)
    cuts = [slice(start, min(start + _SIDE, n)) for start in range(0, n, _SIDE)]
    parts = [rows.take(cut) for cut in cuts]
    # Tiles on and above the diagonal; the others are their mirror images.
    pairs = [(i, j) for j in range(len(cuts)) for i in range(j + 1)]

    def fill(number: int) -> None:
        i, j = pairs[number]
        tile = kernel.between(parts[i], parts[j])
        if i == j:
            # The two triangles of a product may differ in the last bit.
            tile = np.triu(tile) + np.triu(tile, 1).T
        out[cuts[i], cuts[j]] = tile
        if i != j:
            out[cuts[j], cuts[i]] = tile.T

    run_numbered(fill, len(pairs), threads)
    return out


def lower_kernel_matrix(kernel: Kernel, rows: Prepared, threads: int = 1) -> Array:
    """Return the values of all pairs of rows in the tiles on and below the diagonal; other tiles are not set."""
    n = len(rows)
    out = np.empty((n, n), dtype=rows.dtype)
    _touch_memory(out, threads, lower=True)
    cuts, parts, pairs = _lower_pairs(rows)

    def fill(number: int) -> None:
        i, j = pairs[number]
        out[cuts[i], cuts[j]] = kernel.between(parts[i], parts[j])

    run_numbered(fill, len(pairs), threads)
    return out


def _touch_memory(out: Array, threads: int, lower: bool) -> None:
    """Write into new memory some rows at a time: those of a matrix, or of its lower triangle.

    The system gives memory when it is first written, in pages of 2 MiB that hold many rows: the first tile of a matrix
    of 16 000 rows would wait for 64 MB of pages, 0.17 s on a virtual machine, before Ctrl-C is noticed.
    """
    n = len(out)
    if out.nbytes <= _NEW:
        return
    height = max(1, _NEW // out[:1].nbytes)

    def touch(number: int) -> None:
        stop = min((number + 1) * height, n)
        out[number * height : stop, : stop if lower else n : _PAGE] = 0.0

    run_numbered(touch, -(-n // height), threads)


def multiply_off_diagonal(kernel: Kernel, rows: Prepared, X: Array, threads: int = 1) -> Array:
    """Multiply `X` by the kernel matrix without its diagonal; values are computed tile by tile and not kept."""
    cuts, parts, pairs = _lower_pairs(rows)
    out = np.zeros((len(rows), X.shape[1]))

    def products(number: int) -> tuple[slice, slice, Array, Array]:
        i, j = pairs[number]
        tile = kernel.between(parts[i], parts[j])
        if i == j:
            # The diagonal is left out.
            np.fill_diagonal(tile, 0.0)
        return cuts[i], cuts[j], tile @ X[cuts[j]], None if i == j else tile.T @ X[cuts[i]]

    def add(tile: tuple[slice, slice, Array, Array]) -> None:
        here, there, first, second = tile
        out[here] += first
        if second is not None:
            out[there] += second

    run_numbered(products, len(pairs), threads, add)
    return out


def _lower_pairs(rows: Prepared) -> tuple[list[slice], list[Prepared], list[tuple[int, int]]]:
    """Return the row slices of tiles, the rows of each slice, and the pairs of slices on and below the diagonal."""
    cuts = [slice(start, min(start + _SIDE, len(rows))) for start in range(0, len(rows), _SIDE)]
    return cuts, [rows.take(cut) for cut in cuts], [(i, j) for j in range(len(cuts)) for i in range(j, len(cuts))]


@dataclass(frozen=True, eq=False)
class KernelStrips:
    """The values of all pairs of rows, each pair once: strips of rows that begin at the diagonal.

    This takes half the memory of the matrix, and a product reads half as much.
    """

    strips: list[Array]
    cuts: list[slice]

    @classmethod
    def of(cls, kernel: Kernel, rows: Prepared, threads: int = 1) -> "KernelStrips":
        """Compute the values of all strips."""
        n = len(rows)
        strips: list[Array] = []
        cuts = [slice(start, min(start + _HEIGHT, n)) for start in range(0, n, _HEIGHT)]

        def fill(number: int) -> Array:
            return kernel.between(rows.take(cuts[number]), rows.take(slice(cuts[number].start, n)))

        run_numbered(fill, len(cuts), threads, strips.append)
        return cls(strips, cuts)

    def __len__(self) -> int:
        return self.cuts[-1].stop

    def multiply(self, B: Array, threads: int = 1) -> Array:
        """Compute K B. Each strip also counts for its mirror image, and the strips are added in their order."""
        # Products with few rows in the first factor are a quarter faster than with few columns in the second.
        turned = np.ascontiguousarray(B.T)
        out = np.zeros_like(turned)

        def products(number: int) -> tuple[slice, Array, Array]:
            cut, strip = self.cuts[number], self.strips[number]
            # A strip holds K from its own columns on; what lies to the right of the diagonal also counts for the rows
            # below.
            mirrored = turned[:, cut] @ strip[:, cut.stop - cut.start :]
            return cut, turned[:, cut.start :] @ strip.T, mirrored

        def add(tile: tuple[slice, Array, Array]) -> None:
            cut, here, mirrored = tile
            out[:, cut] += here
            out[:, cut.stop :] += mirrored

        run_numbered(products, len(self.cuts), threads, add)
        return np.ascontiguousarray(out.T)


def multiply(A: Array, B: Array, threads: int = 1) -> Array:
    """Compute A B, tile of rows by tile of rows."""
    out = np.empty((len(A), B.shape[1]), dtype=np.result_type(A, B))

    def fill(number: int) -> None:
        cut = slice(number * _SIDE, min((number + 1) * _SIDE, len(A)))
        np.matmul(A[cut], B, out=out[cut])

    run_numbered(fill, -(-len(A) // _SIDE), threads)
    return out


def multiply_triangles(U: Array, threads: int = 1) -> Array:
    """Compute the lower triangle of U U^T, with U upper triangular; do not use what is above it."""
    n = len(U)
    out, cuts = np.zeros_like(U), [slice(start, min(start + _SIDE, n)) for start in range(0, n, _SIDE)]
    pairs = [(cuts[i], cuts[j]) for i in range(len(cuts)) for j in range(i + 1)]

    def fill(number: int) -> None:
        here, there = pairs[number]
        out[here, there] = U[here, here.start :] @ U[there, here.start :].T

    run_numbered(fill, len(pairs), threads)
    return out
