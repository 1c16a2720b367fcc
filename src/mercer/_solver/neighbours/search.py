"""Exact search for the nearest rows of rows in memory."""

import numpy as np

from mercer._types import Array

__all__ = ["nearest_rows"]

# Distances held at a time: 32 MiB of float64.
_TILE = 2**22


def nearest_rows(
    queries: Array, rows: Array, n_neighbors: int, *, leave_out_self: bool = False, threads: int = 1
) -> tuple[Array, Array]:
    """Return the Euclidean distances to the nearest rows of each query, and the indices of these rows.

    Neighbours are in the order of rising distance; of equal distances the row with the lower index comes first.

    Parameters
    ----------
    queries : ndarray of shape (m, d)
    rows : ndarray of shape (n, d)
    n_neighbors : int
        At most n, and at most n - 1 if `leave_out_self` is True.
    leave_out_self : bool, default=False
        Query i is row i, and is not its own neighbour.
    threads : int, default=1
        Changes no result.

    Returns
    -------
    distances : ndarray of shape (m, n_neighbors)
    indices : ndarray of shape (m, n_neighbors)
    """
    distances = np.empty((len(queries), n_neighbors))
    indices = np.empty((len(queries), n_neighbors), np.int64)
    tile = max(1, _TILE // (len(rows) * rows.shape[1]))
    for start in range(0, len(queries), tile):
        stop = min(start + tile, len(queries))
        squares = np.square(queries[start:stop, None] - rows[None]).sum(axis=2)
        if leave_out_self:
            squares[np.arange(stop - start), np.arange(start, stop)] = np.inf
        # A stable sort puts the lower of two indices at equal distances first.
        order = np.argsort(squares, axis=1, kind="stable")[:, :n_neighbors]
        indices[start:stop] = order
        distances[start:stop] = np.sqrt(np.take_along_axis(squares, order, axis=1))
    return distances, indices
