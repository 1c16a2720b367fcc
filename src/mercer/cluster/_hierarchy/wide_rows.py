"""Distances between few rows of many columns, by a matrix product."""

import numpy as np

from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.cluster import _crossovers
from mercer.cluster._distances import square_matrix

# Columns of one product, whose sums are added in the order of the columns: some 10 ms for 300 rows.
_COLUMNS = 2048
# Squares of distances below this share of the squared lengths are sums of differences: a product leaves them fewer
# than 12 digits.
_CLOSE = 1e-3
# Where more than this share of the pairs is so close, all are measured by differences.
_MANY_CLOSE = 1 / 16
# Values of the differences that are held at a time: 2 MiB.
_DIFFERENCES = 2**18


def are_wide(X: Array) -> bool:
    """Return whether the distances of all pairs of rows take no more memory than the rows."""
    return X.shape[0] <= X.shape[1]


def measure_wide(subject: str, X: Array, threads: int) -> Array:
    """Return the Euclidean distance of each pair of rows, (n, n), up to a relative rounding of about 1e-12.

    The square is |x|^2 + |y|^2 - 2 x y. Rows far from the origin are moved to their mean first, which changes no
    distance and keeps digits of it.
    """
    if len(X) * X.size < _crossovers.PRODUCT_VALUES:
        return square_matrix(subject, X, "euclidean", threads)
    lengths = np.einsum("ij,ij->i", X, X)
    centred = X - X.mean(axis=0)
    moved = np.einsum("ij,ij->i", centred, centred)
    # By the median: one long row moves the mean, and the others then lie far from it.
    if np.median(moved) < 0.5 * np.median(lengths):
        X = centred
    squares = _find_squares(X, threads)
    sizes = np.diagonal(squares).copy()
    reach = sizes[:, None] + sizes
    squares *= -2.0
    squares += reach
    close = np.argwhere(np.triu(squares <= _CLOSE * reach, 1))
    if len(close) > _MANY_CLOSE * squares.size / 2:
        return square_matrix(subject, X, "euclidean", threads)
    step = max(1, _DIFFERENCES // X.shape[1])
    for first in range(0, len(close), step):
        left, right = close[first : first + step].T
        gaps = X[left] - X[right]
        squares[left, right] = squares[right, left] = np.einsum("ij,ij->i", gaps, gaps)
    np.fill_diagonal(squares, 0.0)
    return np.sqrt(squares, out=squares)


def _find_squares(X: Array, threads: int) -> Array:
    """Return the products of all pairs of rows: sums over runs of columns, added in their order."""
    runs = [X[:, first : first + _COLUMNS] for first in range(0, X.shape[1], _COLUMNS)]
    total = np.zeros((len(X), len(X)))
    for first in range(0, len(runs), threads):
        parts: list[Array] = [total] * len(runs[first : first + threads])

        def multiply(number: int, first: int = first, parts: list[Array] = parts) -> None:
            parts[number] = runs[first + number] @ runs[first + number].T

        run_numbered(multiply, len(parts), threads)
        for part in parts:
            total += part
    return total
