"""Nearest rows by any metric: norms down the box tree, directions as rows of length one, others by all distances."""

from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse import diags_array as diagonal

from mercer._native.nearest import row_scan
from mercer._solver.neighbours.metric import Metric, refuse_distances
from mercer._solver.neighbours.panels import empty_heaps
from mercer._solver.neighbours.search import PairLists, RowSearch, densify
from mercer._solver.neighbours.space_tree import SpaceTree
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows
from mercer.errors import DataError

# Distances held at a time on each thread: 16 MiB of float64.
_TABLE = 2**21
# How much less than the bound on a norm counts, for rounding.
_ROUNDING = 1.0 - 1e-9
# Scores held at a time on each thread: 16 MiB of float64.
_SCORES = 2**21
# Twice the rounding of one operation in float64.
_EPSILON = 2.0**-52


class SparseSearch:
    """Euclidean rows in CSR form.

    |x|^2 - 2 x . y + |y|^2 finds candidates: those within its rounding of the k-th. The distances of these are computed
    again from differences, so that neither ties nor small distances suffer.

    Parameters
    ----------
    rows : CSR matrix of shape (n, d)
    method : str
        Not used: there is one method.
    threads : int
    subject : str
        The name of the estimator, for memory forecasts.
    squares : bool, default=False
        Whether distances are squared.
    """

    def __init__(self, rows: Rows, method: str, threads: int, subject: str, squares: bool = False) -> None:
        self.rows = _as_csr(rows)
        self.transposed = self.rows.T.tocsr()
        self.norms = _measure_squares(self.rows)
        self.threads, self.subject, self.squares = threads, subject, squares
        most = int(np.diff(self.rows.indptr).max(initial=0))
        self.rounding = 2.0 * (most + 8.0) * _EPSILON

    def nearest(self, queries: Rows, k: int, *, leave_out_self: bool = False) -> tuple[Array, Array]:
        """Return the distances to the k nearest rows of each query, (m, k), and the indices of these rows."""
        distances, indices = np.empty((queries.shape[0], k)), np.empty((queries.shape[0], k), np.intp)

        def search(part: slice) -> None:
            points = _as_csr(queries[part])
            scores, slack = self._score(points, part, leave_out_self)
            # Every row whose rounded score may be below the k-th exact distance is a candidate.
            limits = np.partition(scores, k - 1, axis=1)[:, k - 1] + slack
            # Squares of values beyond 1e154 overflow.
            if not np.isfinite(limits).all():
                raise DataError(
                    f"{self.subject}: distances must be finite; those of a query overflow. Scale the columns."
                )
            query, row = np.nonzero(scores <= limits[:, None])
            squares = self._measure(points, query, row)
            # By query, then exact distance, then index.
            order = np.lexsort((row, squares, query))
            starts = np.searchsorted(query, np.arange(points.shape[0]))
            chosen = order[starts[:, None] + np.arange(k)]
            distances[part], indices[part] = squares[chosen], row[chosen]

        self._each(queries.shape[0], search)
        return distances if self.squares else np.sqrt(distances), indices

    def within(
        self, queries: Rows, radius: float, *, leave_out_self: bool = False, by_distance: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return the rows within `radius` of each query as lists one after the other: starts, indices, distances."""
        lists = PairLists(self.subject)

        def search(part: slice) -> tuple[Array, Array]:
            points = _as_csr(queries[part])
            scores, slack = self._score(points, part, leave_out_self)
            most = radius if self.squares else radius * radius
            query, row = np.nonzero((scores <= (most + slack)[:, None]) & (scores < np.inf))
            distances = self._measure(points, query, row)
            distances = distances if self.squares else np.sqrt(distances)
            near = distances <= radius
            return np.column_stack([part.start + query[near], row[near]]), distances[near]

        self._each(queries.shape[0], search, lists.append)
        return lists.join(queries.shape[0], by_distance)

    def _each(self, m: int, work: object, receive: object = None) -> None:
        size = max(1, _SCORES // max(1, self.rows.shape[0]))
        run_numbered(
            lambda item: work(slice(item * size, min((item + 1) * size, m))),  # type: ignore[operator]
            -(-m // size),
            self.threads,
            receive,  # type: ignore[arg-type]
        )

    def _score(self, points: Rows, part: slice, leave_out_self: bool) -> tuple[Array, Array]:
        """Return rounded squared distances, (b, n), and twice a bound on their rounding, (b,)."""
        own = _measure_squares(points)
        # Rounded squared distances by one sparse product.
        scores = (points @ self.transposed).toarray()
        scores *= -2.0
        scores += own[:, None]
        scores += self.norms
        # The bound grows with the entries of a row that are added up.
        most = max(self.rounding, 2.0 * (int(np.diff(points.indptr).max(initial=0)) + 8.0) * _EPSILON)
        if leave_out_self:
            places = np.arange(points.shape[0])
            scores[places, part.start + places] = np.inf
        return scores, 2.0 * most * (own + self.norms.max(initial=0.0))

    def _measure(self, points: Rows, query: Array, row: Array) -> Array:
        """Return the squared distances of pairs of a point and a row, from their differences."""
        squares, step = np.empty(len(query)), max(1, _SCORES // max(1, 2 * self.rows.shape[1]))
        for start in range(0, len(query), max(step, 4096)):
            part = slice(start, start + max(step, 4096))
            squares[part] = _measure_squares(csr_array(points[query[part]] - self.rows[row[part]]))
        return squares


def _as_csr(rows: Rows) -> csr_array:
    """Return rows as float64 in CSR form, with sorted indices."""
    rows = csr_array(rows) if not is_sparse_matrix(rows) else csr_array(rows.tocsr())
    rows = rows.astype(np.float64)
    rows.sort_indices()
    return rows


def _measure_squares(rows: csr_array) -> Array:
    """Return the sum of squares of each row."""
    return np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel()


class Search(Protocol):
    """Rows that can be searched."""

    def nearest(self, queries: Rows, k: int, *, leave_out_self: bool = False) -> tuple[Array, Array]:
        """Return the distances to the k nearest rows of each query, (m, k), and the indices of these rows."""

    def within(
        self, queries: Rows, radius: float, *, leave_out_self: bool = False, by_distance: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return the rows within `radius` of each query as lists one after the other: starts, indices, distances."""


def open_search(
    rows: Rows, metric: Metric, *, method: str = "auto", threads: int = 1, subject: str = "nearest_rows"
) -> Search:
    """Return the search for rows by a metric that takes the least time.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
    metric : Metric
        Scales that depend on the rows are settled already.
    method : {'auto', 'brute', 'tree'}
        How Euclidean rows and norms are searched; the answer is the same.
    threads : int
    subject : str
        The name of the estimator, for errors and memory forecasts.
    """
    squares = metric.name == "sqeuclidean" and not metric.arguments
    if metric.is_euclidean or squares:
        make = SparseSearch if is_sparse_matrix(rows) else RowSearch
        return make(rows, method=method, threads=threads, subject=subject, squares=squares)
    if metric.name == "cosine" and not metric.arguments:
        lengths = _measure_lengths(rows)
        # A zero row has no direction.
        if lengths.all():
            return DirectionSearch(rows, lengths, method, threads, subject)
    # Norms with a power go down the box tree, since the gap to a box bounds every coordinate.
    power = _read_power(metric)
    if power is not None and not is_sparse_matrix(rows) and method != "brute":
        return NormSearch(rows, metric, power, threads, subject)
    return TableSearch(rows, metric, threads, subject)


class DirectionSearch:
    """Rows by the angle between them: the cosine distance is half the squared distance of rows of length one."""

    def __init__(self, rows: Rows, lengths: Array, method: str, threads: int, subject: str) -> None:
        make = SparseSearch if is_sparse_matrix(rows) else RowSearch
        self.unit = make(_divide(rows, lengths), method=method, threads=threads, subject=subject)
        self.tables = TableSearch(rows, Metric("cosine", None), threads, subject)
        self.rows = rows

    def nearest(self, queries: Rows, k: int, *, leave_out_self: bool = False) -> tuple[Array, Array]:
        lengths = _measure_lengths(queries)
        if not lengths.all():
            # A row of zeros has no direction: it is at distance one from every row.
            return self.tables.nearest(queries, k, leave_out_self=leave_out_self)
        distances, indices = self.unit.nearest(_divide(queries, lengths), k, leave_out_self=leave_out_self)
        return 0.5 * distances**2, indices

    def within(
        self, queries: Rows, radius: float, *, leave_out_self: bool = False, by_distance: bool = False
    ) -> tuple[Array, Array, Array]:
        options = {"leave_out_self": leave_out_self, "by_distance": by_distance}
        lengths = _measure_lengths(queries)
        if not lengths.all():
            return self.tables.within(queries, radius, **options)
        starts, indices, distances = self.unit.within(_divide(queries, lengths), float(np.sqrt(2 * radius)), **options)
        return starts, indices, 0.5 * distances**2


class TableSearch:
    """Rows by any metric: all distances, a table of some queries at a time."""

    def __init__(self, rows: Rows, metric: Metric, threads: int, subject: str) -> None:
        self.rows, self.metric, self.threads, self.subject = rows, metric, threads, subject
        self.n = rows.shape[0]

    def nearest(self, queries: Rows, k: int, *, leave_out_self: bool = False) -> tuple[Array, Array]:
        m = queries.shape[0]
        own = np.arange(m) if leave_out_self else np.full(m, -1)
        distances, indices = empty_heaps(m, k)

        def search(part: slice) -> None:
            row_scan.search_table(self.measure(queries[part]), 0, own[part], distances[part], indices[part])
            row_scan.sort_heaps(distances[part], indices[part])

        self._each(m, search)
        return distances, indices

    def within(
        self, queries: Rows, radius: float, *, leave_out_self: bool = False, by_distance: bool = False
    ) -> tuple[Array, Array, Array]:
        lists = PairLists(self.subject)

        def search(part: slice) -> tuple[Array, Array]:
            table = self.measure(queries[part])
            near = table <= radius
            if leave_out_self:
                places = np.arange(table.shape[0])
                # Query i is row i.
                near[places, part.start + places] = False
            query, row = np.nonzero(near)
            return np.column_stack([part.start + query, row]), table[near]

        self._each(queries.shape[0], search, lists.append)
        return lists.join(queries.shape[0], by_distance)

    def _each(self, m: int, work: Any, receive: Any = None) -> None:
        """Call `work` for each of some fixed parts of m queries, on all threads."""
        size = max(1, _TABLE // max(1, self.n))
        run_numbered(
            lambda item: work(slice(item * size, min((item + 1) * size, m))), -(-m // size), self.threads, receive
        )

    def measure(self, queries: Rows) -> Array:
        """Return the distances from some queries to all rows, (b, n), checked."""
        if is_sparse_matrix(queries) != is_sparse_matrix(self.rows):
            queries = csr_array(queries) if is_sparse_matrix(self.rows) else queries.toarray()
        table = self.metric.distances(queries, self.rows)
        if self.metric.name == "nan_euclidean":
            # Rows without a column in common have no distance: they are as far away as can be.
            table = np.where(np.isnan(table), np.inf, table)
        least = table.min(initial=np.inf)
        if not least >= 0.0:
            # Rounding of expanded formulas; anything lower is a wrong metric.
            if least > -1e-9:
                return np.maximum(table, 0.0)
            raise refuse_distances(self.subject, least)
        return table


class NormSearch(TableSearch):
    """Rows by a p-norm, in a tree of boxes."""

    def __init__(self, rows: Array, metric: Metric, power: float, threads: int, subject: str) -> None:
        super().__init__(rows, metric, threads, subject)
        d = rows.shape[1]
        # The p-norm is at least d^(1/p - 1/2) times the Euclidean norm for p > 2, and at least as large for p <= 2.
        inverse = 0.0 if np.isinf(power) else 1.0 / power
        factor = _ROUNDING * (d ** (2.0 * inverse - 1.0) if power > 2 else 1.0)
        weight = metric.arguments.get("w")
        # sum w |x - y|^p is the norm of columns times w^(1/p).
        self.scale = None if weight is None else np.asarray(weight, np.float64) ** inverse
        self.tree = SpaceTree(self._scale_columns(rows), threads, subject, power=power, factor=factor)

    def _scale_columns(self, rows: Array) -> Array:
        return rows if self.scale is None else np.ascontiguousarray(rows * self.scale)

    def nearest(self, queries: Rows, k: int, *, leave_out_self: bool = False) -> tuple[Array, Array]:
        points = self._scale_columns(densify(queries))
        own = np.arange(len(points)) if leave_out_self else np.full(len(points), -1)
        distances, indices = empty_heaps(len(points), k)
        self.tree.nearest(points, own, self.tree.place(points), distances, indices)
        return distances, indices


def _read_power(metric: Metric) -> float | None:
    """Return p where the metric is a p-norm with p of at least one, else None."""
    names = {"manhattan": 1.0, "chebyshev": np.inf}
    if isinstance(metric.name, str) and metric.name in names and not metric.arguments:
        return names[metric.name]
    if metric.name == "minkowski" and metric.arguments.keys() <= {"p", "w"} and metric.arguments["p"] >= 1:
        power = float(metric.arguments["p"])
        return None if np.isinf(power) and metric.arguments.get("w") is not None else power
    return None


def _measure_lengths(rows: Rows) -> Array:
    """Return the Euclidean length of each row."""
    if is_sparse_matrix(rows):
        return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel())
    return np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


def _divide(rows: Rows, lengths: Array) -> Rows:
    """Return rows divided by their lengths, as float64."""
    if is_sparse_matrix(rows):
        return csr_array(diagonal(1.0 / lengths) @ rows.astype(np.float64))
    return rows.astype(np.float64) / lengths[:, None]
