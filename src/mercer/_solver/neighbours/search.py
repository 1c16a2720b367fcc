"""Exact search for the nearest rows of rows in memory, by the cheapest of some methods.

All methods sum (x - y)^2 in float64 in the order of columns and sort by (distance, index), so they give the same bits;
only the time differs. Comparing all pairs takes m n (a d + b) nanoseconds, in float32 or rounded to bytes. Bytes are
faster where the CPU multiplies them, but more rows are measured again. The tree takes time to build, and then that of
the leaves that a query is compared with. How many rows and leaves these are depends on the data (on its intrinsic
dimension more than on d), so some queries are searched for, and they are counted.
"""

from functools import cached_property

import numpy as np

from mercer._native.nearest import pair_lists
from mercer._solver.neighbours import _crossovers
from mercer._solver.neighbours.byte_panels import BytePanels, are_bytes_fast
from mercer._solver.neighbours.panels import RowPanels, empty_heaps
from mercer._solver.neighbours.space_tree import SpaceTree
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array, Rows

# Nanoseconds of one core at AVX-512, measured on 100 000 rows of 3 to 60 columns; only their ratios matter.
# A pair of a query and a row in a panel: per column.
_PANEL_COLUMN = 0.03
# A pair of a query and a row in a panel: comparison with the limit.
_PANEL_PAIR = 0.15
# A pair of a query and a row rounded to bytes: per column.
_BYTE_COLUMN = 0.008
# A pair of a query and a row rounded to bytes: comparison with the limit.
_BYTE_PAIR = 0.1
# A row that is measured again: per column.
_MEASURE_COLUMN = 0.35
# A row that is measured again: the way to it, and a place in the heap.
_MEASURE = 25.0
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
    squares : bool, default=False
        Whether distances are squared.
    """

    def __init__(
        self, rows: Array, *, method: str = "auto", threads: int = 1, subject: str = "nearest_rows",
        squares: bool = False,
    ) -> None:  # fmt: skip
        self.rows, self.method, self.threads, self.subject = rows, method, threads, subject
        self.squares = squares
        self.panels = RowPanels(rows, threads, subject)
        self.bytes = BytePanels(rows, threads, subject, self._order)
        self.n, self.d = rows.shape

    @cached_property
    def tree(self) -> SpaceTree:
        """The rows in a tree of boxes."""
        return SpaceTree(self.rows, self.threads, self.subject)

    def nearest(self, queries: Rows, k: int, *, leave_out_self: bool = False) -> tuple[Array, Array]:
        """Return the distances to the k nearest rows of each query, (m, k), and the indices of these rows.

        Neighbours are in the order of rising distance; of equal distances the row with the lower index comes first.
        With `leave_out_self`, query i is row i and is not its own neighbour.
        """
        queries, own = _prepare(queries, leave_out_self)
        distances, indices = empty_heaps(len(queries), k)
        if k == 0:
            # Native code looks at the farthest neighbour so far, and there is none.
            return distances, indices
        places = self._places(queries, k)
        # The tree is asked where it was estimated to be faster.
        if places is not None:
            self.tree.nearest(queries, own, places, distances, indices)
        elif self._is_direct(len(queries)):
            self.panels.nearest_of_few(_as_double(queries), own, distances, indices)
        else:
            self._compare_all(queries, own, distances, indices)
        np.sqrt(distances, out=distances)
        return distances**2 if self.squares else distances, indices

    def within(
        self, queries: Rows, radius: float, *, leave_out_self: bool = False, by_distance: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return the rows within `radius` of each query as lists one after the other: starts, indices, distances.

        The rows of query i are ``indices[starts[i]:starts[i + 1]]``, in the order of their indices, or by (distance,
        index).
        """
        queries, own = _prepare(queries, leave_out_self)
        radius = float(np.sqrt(radius)) if self.squares else radius
        search = self.tree if self._places(queries, min(self.n, _WIDTH)) is not None else self.panels
        lists = PairLists(self.subject)
        search.within(queries if search is self.tree else _as_double(queries), own, _square(radius), lists.append)
        starts, indices, squares = lists.join(len(queries), by_distance)
        distances = np.sqrt(squares)
        return starts, indices, distances**2 if self.squares else distances

    def _is_direct(self, m: int) -> bool:
        """Return whether packing rows into panels would take longer than it saves for `m` queries."""
        if "packed" in self.panels.__dict__:
            return m * _DIRECT_COLUMN < 6 * _PANEL_COLUMN
        direct = m * (self.d * _DIRECT_COLUMN + _DIRECT_PAIR)
        # Queries are compared in groups of six, full or not.
        return direct <= (self.d + 1) * _PACK + max(m, 6) * (self.d * _PANEL_COLUMN + _PANEL_PAIR)

    def _order(self) -> Array:
        """Return the rows in the order of a tree, (n,) of int32: neighbours side by side."""
        tree = self.tree if "tree" in self.__dict__ else SpaceTree(self.rows, self.threads, "", pack=False)
        return tree.order

    def _compare_all(self, queries: Array, own: Array, distances: Array, indices: Array) -> None:
        """Write the k nearest rows of each query and their squared distances, by comparing all pairs."""
        m, k = distances.shape
        if are_bytes_fast() and m * self.n >= _crossovers.BYTE_PAIRS and self.bytes.is_possible:
            places = self.bytes.place(queries)
            if self._is_rounded(queries, places, k):
                self.bytes.nearest(queries, own, places, distances, indices)
                return
        self.panels.nearest(_as_double(queries), own, distances, indices)

    def _pairs_time(self, m: int) -> float:
        """Return the nanoseconds in which `m` queries are compared with all rows in float32."""
        return m * self.n * (self.d * _PANEL_COLUMN + _PANEL_PAIR)

    def _is_rounded(self, queries: Array, places: Array, k: int) -> bool:
        """Return whether rows rounded to bytes take less time than in float32, with what is measured again."""
        # In float32, the rows that change the heap are measured: k (1 + log(n / k)) if rows come in random order.
        needed = k * (1.0 + np.log(max(1.0, self.n / k)))
        more = self.bytes.count_measured(queries, places, k) - needed
        m = len(queries)
        return self._bytes_time(m) + m * more * (self.d * _MEASURE_COLUMN + _MEASURE) < self._pairs_time(m)

    def _bytes_time(self, m: int) -> float:
        """Return the nanoseconds in which `m` queries are compared with all rows in bytes."""
        return m * self.n * (self.d * _BYTE_COLUMN + _BYTE_PAIR)

    def _places(self, queries: Array, k: int) -> Array:
        """Return the order in which the tree is asked for queries; None where it would take longer than all pairs."""
        m = len(queries)
        if self.method == "brute" or self.d == 0 or m == 0 or self.n == 0:
            return None
        if self.method == "tree":
            return self.tree.place(queries)
        if self.d > _MOST_COLUMNS:
            return None
        # Nanoseconds, by constants measured for a column and for a pair.
        pairs = self._bytes_time(m) if are_bytes_fast() and self.bytes.is_possible else self._pairs_time(m)
        build = 0.0 if "tree" in self.__dict__ else self.n * self.d * _BUILD * max(1.0, np.log2(self.n / _WIDTH))
        # Even a tree that is searched in no time must not take more than a quarter of the time of all pairs to build.
        if 4.0 * build > pairs:
            return None
        places = self.tree.place(queries)
        # A sample of the queries is searched for, and the leaves that they visit are counted.
        most = pairs / (m * (self.d * _LEAF_COLUMN + _LEAF))
        return places if self.tree.visits(queries, places, k, most) < most else None


class PairLists:
    """Pairs of a query and a row, and their distances, as they are found; their memory is forecast as they grow.

    Parameters
    ----------
    subject : str
        The name of the estimator, for the memory forecast.
    """

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.parts: list[tuple[Array, Array]] = []
        self.count = self.checked = 0

    def append(self, part: tuple[Array, Array]) -> None:
        """Add pairs, (c, 2), with their distances, (c,); raise if all together would not fit into memory."""
        self.parts.append(part)
        self.count += len(part[1])
        if self.count > 2 * self.checked:
            # Sorting and joining take three more copies of what is held already.
            purpose = f"lists of more than {self.count} neighbours"
            require_memory(self.subject, 72.0 * self.count, purpose, "lower the radius or ask for fewer rows at a time")
            self.checked = self.count

    def join(self, m: int, by_distance: bool) -> tuple[Array, Array, Array]:
        """Return lists of rows for each of m queries: starts, indices, distances."""
        pairs = np.concatenate([pairs for pairs, _ in self.parts]) if self.parts else np.empty((0, 2), np.intp)
        distances = np.concatenate([distances for _, distances in self.parts]) if self.parts else np.empty(0)
        starts = np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=m))])
        if not by_distance and distances.dtype == np.float64 and pairs.dtype == np.intp:
            indices, ordered = np.empty(len(pairs), np.intp), np.empty(len(pairs))
            # A search through all rows finds those of a query in their order: then no pairs are compared.
            if pair_lists.place_pairs(np.ascontiguousarray(pairs), distances, starts[:-1].copy(), indices, ordered):
                return starts, indices, ordered
        order = np.lexsort((pairs[:, 1], distances, pairs[:, 0]) if by_distance else (pairs[:, 1], pairs[:, 0]))
        return starts, np.ascontiguousarray(pairs[order, 1]), distances[order]


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


def densify(rows: Rows) -> Array:
    """Return rows as a dense array."""
    return rows.toarray() if is_sparse_matrix(rows) else rows


def _prepare(queries: Rows, leave_out_self: bool) -> tuple[Array, Array]:
    queries = densify(queries)
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
