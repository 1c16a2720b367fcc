"""Search for nearest rows among sparse ones: products block by block, and exact distances of the candidates."""

import numpy as np
from scipy.sparse import csr_array

from mercer._solver.neighbours.search import PairLists
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_numbered
from mercer._types import Array, Rows

# Scores held at a time on each thread: 16 MiB of float64.
_TABLE = 2**21
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
        size = max(1, _TABLE // max(1, self.rows.shape[0]))
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
        squares, step = np.empty(len(query)), max(1, _TABLE // max(1, 2 * self.rows.shape[1]))
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
