"""Affinities of rows: Gaussians whose widths have a given perplexity, and the symmetric matrix made of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer._native.embedding import perplexities
from mercer._solver.neighbours import nearest_rows
from mercer._solver.neighbours.metric import check_function, explain_arguments
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import n_threads, run_numbered
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.metrics import pairwise_distances
from mercer.neighbors import NearestNeighbors

# Rows whose widths one call searches: some 5 ms with 90 neighbours.
_ROWS = 1024
# Neighbours per unit of perplexity: a Gaussian of perplexity u has less than 1e-3 of its weight beyond the 3 u nearest.
_REACH = 3


@dataclass(frozen=True, eq=False)
class Affinities:
    """The affinities of all rows.

    Attributes
    ----------
    joint : csr_array of shape (n, n) or ndarray of shape (n, n)
        p_ij, symmetric, with sum one.
    sigma : ndarray of shape (n, number of perplexities)
        The width of each row's Gaussian.
    error : float
        The largest relative error of a row's perplexity; it is large where more rows than the perplexity are equally
        near, or where a row has fewer neighbours than the perplexity.
    """

    joint: Any
    sigma: Array
    error: float

    @property
    def entropy(self) -> float:
        """The sum of p log p, in nats."""
        values = self.joint.data if is_sparse_matrix(self.joint) else self.joint[self.joint > 0]
        values = values[values > 0]
        return float(np.sum(values * np.log(values)))


def match_perplexity(
    squared_distances: Any, perplexity: float | Sequence[float], *, n_jobs: int | None = None
) -> tuple[Array, Array, Array]:
    r"""Find the width of a Gaussian around each row such that its weights have a given perplexity.

    The weights :math:`p_{j|i} = \exp(-d_{ij}^2 / 2 \sigma_i^2) / \sum_k \exp(-d_{ik}^2 / 2 \sigma_i^2)` of row i have
    the entropy :math:`H_i = -\sum_j p_{j|i} \log_2 p_{j|i}` and the perplexity :math:`2^{H_i}`, a soft count of
    neighbours. It grows with :math:`\sigma_i`, so that a Newton iteration inside a bracket finds the width.

    Parameters
    ----------
    squared_distances : array-like of shape (n, k)
        To the neighbours of each row, without the row itself.
    perplexity : float or sequence of float
        Of several perplexities the mean of the weights is returned.
    n_jobs : int or None, default=None
        Threads; None means all cores. Changes no result.

    Returns
    -------
    weights : ndarray of shape (n, k)
        Each row sums to one.
    sigma : ndarray of shape (n, number of perplexities)
    errors : ndarray of shape (n, number of perplexities)
        The perplexity reached divided by the one asked for, minus one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import match_perplexity
    >>> weights, sigma, errors = match_perplexity([[1.0, 4.0, 9.0, 16.0]], 2.0)
    >>> entropy = -np.sum(weights * np.log2(weights))
    >>> print(f"{2.0 ** entropy:.6f}")
    2.000000
    """
    squares = np.ascontiguousarray(squared_distances, dtype=np.float64)
    if squares.ndim != 2 or squares.shape[1] == 0 or not np.isfinite(squares).all() or (squares < 0).any():
        raise DataError(
            "match_perplexity: squared_distances must be a table of finite non-negative numbers with a column for each "
            f"neighbour; got shape {squares.shape}, minimum {squares.min() if squares.size else np.nan:g}. Square the "
            "distances, and leave out missing ones."
        )
    scales = list_perplexities(perplexity)
    n, k = squares.shape
    weights, part = np.zeros((n, k)), np.empty((n, k))
    betas, gaps = np.empty((len(scales), n)), np.empty((len(scales), n))

    for number, scale in enumerate(scales):
        entropy = float(np.log(scale))

        def search(block: int, number: int = number, entropy: float = entropy) -> None:
            first, last = block * _ROWS, min((block + 1) * _ROWS, n)
            scratch = np.empty(3)
            perplexities.match_perplexity(squares, first, last, entropy, betas[number], gaps[number], part, scratch)

        run_numbered(search, -(-n // _ROWS), n_threads(n_jobs))
        weights += part / len(scales)
    with np.errstate(divide="ignore"):
        return weights, np.sqrt(0.5 / betas).T, np.expm1(gaps).T


def list_perplexities(perplexity: Any) -> list[float]:
    """Return one or several perplexities as a list, checked."""
    scales = [float(scale) for scale in np.atleast_1d(np.asarray(perplexity, dtype=np.float64)).ravel()]
    if not scales or not all(np.isfinite(scale) and scale >= 1 for scale in scales):
        raise ParameterError(
            f"perplexity must be a number of at least 1, or several; got {perplexity!r}. Values from 5 to 50 suit most "
            "data."
        )
    return scales


def count_neighbours(n_rows: int, perplexity: Any) -> int:
    """Return how many neighbours of each row have affinities: three times the largest perplexity."""
    return min(n_rows - 1, int(_REACH * max(list_perplexities(perplexity)) + 1))


def find_distances(subject: str, X: Any, Y: Any, metric: Any, metric_params: dict[str, Any] | None) -> Array:
    """Return the distances between the rows of `X` and `Y` (None: `X`) under a metric, dense, checked."""
    if isinstance(metric, str) and metric == "precomputed":
        distances = X.toarray() if is_sparse_matrix(X) else np.asarray(X)
        if distances.min(initial=0.0) < 0:
            raise DataError(
                f"{subject}: distances with metric='precomputed' must be non-negative; got {distances.min():g}. Pass "
                "distances, not similarities: All distances should be positive."
            )
    else:
        n, m = X.shape[0], X.shape[0] if Y is None else Y.shape[0]
        require_memory(subject, 16.0 * n * m, f"the {n} x {m} distances", "use metric='euclidean'")
        if Y is not None and (is_sparse_matrix(X) or is_sparse_matrix(Y)):
            X, Y = (rows.toarray() if is_sparse_matrix(rows) else rows for rows in (X, Y))
        check_function(metric, X, X if Y is None else Y, metric_params)
        with explain_arguments(metric, metric_params):
            distances = pairwise_distances(X, Y, metric=metric, **(metric_params or {}))
    if (distances < 0).any():
        raise DataError(
            f"{subject}: distances must be non-negative; got {distances.min():g} from the metric. All distances should "
            "be positive, the metric given is not correct. Return distances, not similarities."
        )
    return distances.astype(np.float64, copy=False)


def find_neighbours(distances: Array, k: int, leave_out_self: bool) -> tuple[Array, Array]:
    """Return the `k` smallest distances of each row of a table, and their columns; the lower column of equal ones."""
    if leave_out_self:
        distances = distances.copy()
        np.fill_diagonal(distances, np.inf)
    columns = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, columns, axis=1), columns


def find_stored(subject: str, table: Any, k: int) -> tuple[Array, Array]:
    """Return the `k` smallest stored distances of each row of a sparse table, its own aside, and their columns."""
    table = table.tocsr()
    table.sort_indices()
    distances, columns = np.empty((table.shape[0], k)), np.empty((table.shape[0], k), np.int64)
    by_perplexity = subject != "UMAP"
    reason, cure = (", three times the perplexity", "perplexity") if by_perplexity else ("", "n_neighbors")
    for row in range(table.shape[0]):
        part = slice(table.indptr[row], table.indptr[row + 1])
        others = table.indices[part] != row
        values, ends = table.data[part][others], table.indices[part][others]
        if len(values) < k:
            raise DataError(
                f"{subject}: {k} neighbors per samples are required{reason}; got {len(values)} stored distances in row "
                f"{row}. Store more neighbours, or lower {cure}."
            )
        order = np.argsort(values, kind="stable")[:k]
        distances[row], columns[row] = values[order], ends[order]
    if distances.min() < 0:
        raise DataError(
            f"{subject}: distances with metric='precomputed' must be non-negative; got {distances.min():g}. Pass "
            "distances, not similarities: All distances should be positive."
        )
    return distances, columns


def weigh_neighbours(distances: Array, columns: Array, n_columns: int, perplexity: Any, threads: int) -> Affinities:
    """Return the joint affinities from the distances of each row to its neighbours."""
    n, k = distances.shape
    weights, sigma, errors = match_perplexity(np.square(distances, dtype=np.float64), perplexity, n_jobs=threads)
    table = csr_array((weights.ravel(), columns.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n_columns))
    return Affinities(_symmetrise(table), sigma, float(np.abs(errors).max()))


def _symmetrise(table: Any) -> Any:
    """Return (p_ji + p_ij) / 2n; the division by the actual sum removes its rounding."""
    joint = (table + table.T).tocsr()
    joint.sort_indices()
    joint.data /= joint.data.sum()
    return joint


def weigh_all(distances: Array, perplexity: Any, threads: int) -> Affinities:
    """Return the joint affinities of all pairs of rows, dense, from a square table of distances."""
    n = len(distances)
    others = ~np.eye(n, dtype=bool)
    squares = np.square(distances, dtype=np.float64)[others].reshape(n, n - 1)
    weights, sigma, errors = match_perplexity(squares, perplexity, n_jobs=threads)
    table = np.zeros((n, n))
    table[others] = weights.ravel()
    table += table.T.copy()
    return Affinities(table / table.sum(), sigma, float(np.abs(errors).max()))


def join_affinities(
    X: Any,
    perplexity: float | Sequence[float] = 30.0,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    dense: bool = False,
    n_jobs: int | None = None,
) -> Affinities:
    r"""Compute the joint affinities of rows that t-SNE starts from.

    :math:`p_{ij} = (p_{j|i} + p_{i|j}) / 2n` with the weights :math:`p_{j|i}` of :func:`match_perplexity`; they sum to
    one over all pairs.

    Parameters
    ----------
    X : array-like of shape (n, d), or distances of shape (n, n)
    perplexity : float or sequence of float, default=30.0
        Less than n. Of several perplexities, the mean of the weights is taken: large ones keep the large structure,
        small ones the neighbours.
    metric : str or callable, default="euclidean"
        As in :class:`TSNE`.
    metric_params : dict or None, default=None
    dense : bool, default=False
        Whether all pairs of rows have an affinity, or only rows and their nearest `3 perplexity` neighbours.
    n_jobs : int or None, default=None
        Threads; None means all cores. Changes no result.

    Returns
    -------
    Affinities
        With ``joint`` (p), ``sigma`` (the widths) and ``error`` (of the perplexities).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import join_affinities
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> affinities = join_affinities(X, 10.0)
    >>> print(f"{affinities.joint.sum():.6f}", affinities.error < 1e-5)
    1.000000 True
    """
    threads = n_threads(n_jobs)
    rows = (
        X if is_sparse_matrix(X) else np.asarray(X, dtype=np.float64 if np.asarray(X).dtype.char not in "fd" else None)
    )
    check_perplexity("join_affinities", perplexity, rows.shape[0])
    if dense:
        return weigh_all(find_distances("join_affinities", rows, None, metric, metric_params), perplexity, threads)
    return find_affinities("join_affinities", rows, perplexity, metric, metric_params, threads)


def find_affinities(
    subject: str, rows: Any, perplexity: Any, metric: Any, metric_params: dict[str, Any] | None, threads: int
) -> Affinities:
    """Return the affinities of rows and their nearest neighbours."""
    n = rows.shape[0]
    k = count_neighbours(n, perplexity)
    distances, columns = find_nearest(subject, rows, k, metric, metric_params, threads)
    return weigh_neighbours(distances, columns, n, perplexity, threads)


def find_nearest(
    subject: str, rows: Any, k: int, metric: Any, metric_params: dict[str, Any] | None, threads: int
) -> tuple[Array, Array]:
    """Return the distances of each row to its `k` nearest others, rising, and their indices."""
    if is_euclidean(metric, rows):
        return nearest_rows(rows, rows, k, leave_out_self=True, threads=threads)
    if isinstance(metric, str) and metric == "precomputed" and is_sparse_matrix(rows):
        return find_stored(subject, rows, k)
    if isinstance(metric, str) and metric != "precomputed":
        search = NearestNeighbors(n_neighbors=k, metric=metric, metric_params=metric_params, n_jobs=threads)
        return search.fit(rows).kneighbors()
    table = find_distances(subject, rows, None, metric, metric_params)
    return find_neighbours(table, k, leave_out_self=True)


def find_nearest_known(
    subject: str, rows: Any, known: Any, k: int, metric: Any, metric_params: dict[str, Any] | None, threads: int
) -> tuple[Array, Array]:
    """Return the distances of new rows to the `k` nearest of known ones, rising, and their indices.

    Without known rows, `rows` are distances to them.
    """
    if is_euclidean(metric, rows) and not is_sparse_matrix(known):
        return nearest_rows(rows, known, k, threads=threads)
    table = find_distances(subject, rows, known, metric, metric_params)
    return find_neighbours(table, k, leave_out_self=False)


def widen_rows(rows: Any, metric: Any) -> Any:
    """Return rows in float64, dense for Euclidean distances: descents magnify any difference of roundings."""
    if is_sparse_matrix(rows) and isinstance(metric, str) and metric in ("euclidean", "l2"):
        n, d = rows.shape
        require_memory("TSNE", 8.0 * n * d, f"{n} x {d} dense rows", "reduce the columns first, by PCA")
        rows = rows.toarray()
    return rows.astype(np.float64, copy=False)


def is_euclidean(metric: Any, rows: Any) -> bool:
    """Return whether the neighbours are found without a table of distances."""
    return isinstance(metric, str) and metric in ("euclidean", "l2") and not is_sparse_matrix(rows)


def check_perplexity(subject: str, perplexity: Any, n: int) -> None:
    """Raise if a perplexity is not below the number of rows."""
    for scale in list_perplexities(perplexity):
        if scale >= n:
            text = f"{scale:g}"
            raise ParameterError(
                f"{subject}: perplexity ({text}) must be less than n_samples ({n}): a row has at most {n - 1} "
                f"neighbours. Lower perplexity to about {max(1.0, (n - 1) / 3):.0f}, or give more rows."
            )
