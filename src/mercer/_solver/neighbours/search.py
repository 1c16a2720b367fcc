"""Exact search for the nearest rows of rows in memory, by the cheaper of two methods.

Both methods sum (x - y)^2 in float64 in the order of columns and sort by (distance, index), so they give the same bits;
only the time differs. Comparing all pairs takes m n (a d + b) nanoseconds. The tree takes time to build, and then that
of the leaves that a query is compared with; their number depends on the data (on its intrinsic dimension more than on
d), so some groups of queries are searched for, and the leaves they visit are counted.
"""

from functools import cached_property

import numpy as np

from mercer._solver.neighbours.panels import RowPanels, empty_heaps
from mercer._solver.neighbours.space_tree import SpaceTree
from mercer._solver.neighbours.tree_search import TreeSearch
from mercer._types import Array

__all__ = ["RowSearch", "nearest_rows", "rows_within"]

# Nanoseconds of one core at AVX-512, measured on 100 000 rows of 3 to 60 columns; only their ratios matter.
# A pair of a query and a row in a panel: per column.
_PANEL_COLUMN = 0.03
# A pair of a query and a row in a panel: comparison with the limit.
_PANEL_PAIR = 0.15
# A value of a row that is packed into a panel.
_PACK = 1.5
# A pair of a query and a row without panels: per column.
_DIRECT_COLUMN = 0.35
# A pair of a query and a row without panels: comparison with the heap.
_DIRECT_PAIR = 1.0
# A query and a leaf of the tree: per column.
_LEAF_COLUMN = 5.0
# A query and a leaf of the tree: search for rows within the limit.
_LEAF = 15.0
# A value of a row, for each level of the tree that is built.
_BUILD = 1.5
# Columns beyond which no tree is tried: boxes are cut in at most some twenty columns.
_MOST_COLUMNS = 64
# Rows in a leaf of the tree.
_WIDTH = 32


class RowSearch:
    """Rows that can be searched again and again; what a method needs is made when it is first used.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32 or float64, C-contiguous and finite
    method : {'auto', 'brute', 'tree'}, default='auto'
        The answer is the same.
    threads : int, default=1
        Changes no result.
    subject : str
        The name of the estimator, for memory forecasts.
    """

    def __init__(self, rows: Array, *, method: str = "auto", threads: int = 1, subject: str = "nearest_rows") -> None:
        self.rows, self.method, self.threads, self.subject = rows, method, threads, subject
        self.panels = RowPanels(rows, threads, subject)
        self.n, self.d = rows.shape

    @cached_property
    def tree(self) -> TreeSearch:
        """The rows in a tree of boxes."""
        return TreeSearch(SpaceTree(self.rows, self.threads, self.subject))

    def nearest(self, queries: Array, k: int, *, leave_out_self: bool = False) -> tuple[Array, Array]:
        """Return the distances to the k nearest rows of each query, (m, k), and the indices of these rows.

        Neighbours are in the order of rising distance; of equal distances the row with the lower index comes first.
        With `leave_out_self`, query i is row i and is not its own neighbour.
        """
        queries, own = _prepare(queries, leave_out_self)
        distances, indices = empty_heaps(len(queries), k)
        places = self._places(queries, k)
        if places is not None:
            self.tree.nearest(queries, own, places, distances, indices)
        elif self._is_direct(len(queries)):
            self.panels.nearest_of_few(_as_double(queries), own, distances, indices)
        else:
            self.panels.nearest(_as_double(queries), own, distances, indices)
        return np.sqrt(distances, out=distances), indices

    def within(
        self, queries: Array, radius: float, *, leave_out_self: bool = False, by_distance: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return the rows within `radius` of each query as lists one after the other: starts, indices, distances.

        The rows of query i are ``indices[starts[i]:starts[i + 1]]``, in the order of their indices, or by (distance,
        index).
        """
        queries, own = _prepare(queries, leave_out_self)
        search = self.tree if self._places(queries, min(self.n, _WIDTH)) is not None else self.panels
        parts = search.within(queries if search is self.tree else _as_double(queries), own, _square(radius))
        pairs = np.concatenate([pairs for pairs, _ in parts]) if parts else np.empty((0, 2), np.intp)
        squares = np.concatenate([squares for _, squares in parts]) if parts else np.empty(0)
        order = np.lexsort((pairs[:, 1], squares, pairs[:, 0]) if by_distance else (pairs[:, 1], pairs[:, 0]))
        starts = np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=len(queries)))])
        return starts, np.ascontiguousarray(pairs[order, 1]), np.sqrt(squares[order])

    def _is_direct(self, m: int) -> bool:
        """Return whether packing rows into panels would take longer than it saves for `m` queries."""
        if "packed" in self.panels.__dict__:
            return m * _DIRECT_COLUMN < 6 * _PANEL_COLUMN
        direct = m * (self.d * _DIRECT_COLUMN + _DIRECT_PAIR)
        # Queries are compared in groups of six, full or not.
        return direct <= (self.d + 1) * _PACK + max(m, 6) * (self.d * _PANEL_COLUMN + _PANEL_PAIR)

    def _places(self, queries: Array, k: int) -> Array:
        """Return the order in which the tree is asked for queries; None where it would take longer than all pairs."""
        m = len(queries)
        if self.method == "brute" or self.d == 0 or m == 0 or self.n == 0:
            return None
        if self.method == "tree":
            return self.tree.place(queries)
        if self.d > _MOST_COLUMNS:
            return None
        pairs = m * self.n * (self.d * _PANEL_COLUMN + _PANEL_PAIR)
        build = 0.0 if "tree" in self.__dict__ else self.n * self.d * _BUILD * max(1.0, np.log2(self.n / _WIDTH))
        # Even a tree that is searched in no time must not take more than a quarter of the time of all pairs to build.
        if 4.0 * build > pairs:
            return None
        places = self.tree.place(queries)
        leaves = self.tree.visits(queries, places, k)
        return places if m * leaves * (self.d * _LEAF_COLUMN + _LEAF) < pairs else None


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
    distances : ndarray of shape (m, n_neighbors), float64
    indices : ndarray of shape (m, n_neighbors)
    """
    same = queries is rows
    rows = _as_real(rows)
    search = RowSearch(rows, threads=threads)
    return search.nearest(rows if same else _as_real(queries), n_neighbors, leave_out_self=leave_out_self)


def rows_within(
    queries: Array,
    rows: Array,
    radius: float,
    *,
    leave_out_self: bool = False,
    by_distance: bool = False,
    threads: int = 1,
) -> tuple[Array, Array, Array]:
    """Return the rows within a Euclidean distance of each query, as lists one after the other.

    Parameters
    ----------
    queries : ndarray of shape (m, d)
    rows : ndarray of shape (n, d)
    radius : float
        Rows at exactly this distance count.
    leave_out_self : bool, default=False
        Query i is row i, and is not its own neighbour.
    by_distance : bool, default=False
        Whether lists are in the order of distances, and of indices among equals; else in the order of indices.
    threads : int, default=1
        Changes no result.

    Returns
    -------
    starts : ndarray of shape (m + 1,)
        The list of query i is from ``starts[i]`` to ``starts[i + 1]``.
    indices, distances : ndarray of shape (starts[-1],)
    """
    same = queries is rows
    rows = _as_real(rows)
    search = RowSearch(rows, threads=threads)
    queries = rows if same else _as_real(queries)
    return search.within(queries, radius, leave_out_self=leave_out_self, by_distance=by_distance)


def _prepare(queries: Array, leave_out_self: bool) -> tuple[Array, Array]:
    m = len(queries)
    return queries, np.arange(m) if leave_out_self else np.full(m, -1)


def _square(radius: float) -> float:
    """Return the largest number whose square root is at most `radius`, so that squares decide as distances would."""
    square = radius * radius
    while np.sqrt(square) > radius:
        square = float(np.nextafter(square, 0.0))
    while np.sqrt(following := float(np.nextafter(square, np.inf))) <= radius < np.inf:
        square = following
    return square


def _as_double(queries: Array) -> Array:
    return np.ascontiguousarray(queries, np.float64)


def _as_real(rows: Array) -> Array:
    """Return rows as float32 or float64 in the order of C, without a copy where they are that already."""
    rows = np.asarray(rows)
    return np.ascontiguousarray(rows, np.float32 if rows.dtype == np.float32 else np.float64)
