"""Spectral biclustering: rows and columns clustered at once, by the singular vectors of a scaled table."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BiclusterMixin

from mercer._base import LimitedEstimator, fitting, seed_sequence
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Pair, Seed, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._source.namespace import is_sparse_matrix
from mercer._stored import Stored, flags, integers
from mercer._types import Array, Rows
from mercer.cluster._centres.k_means import KMeans
from mercer.cluster._centres.mini_batch_k_means import MiniBatchKMeans
from mercer.decomposition import TruncatedSVD
from mercer.errors import DataError, ParameterError

_ROUNDED = Certificate.none("Labels are singular vectors rounded by k-means; nothing bounds a better biclustering.")
# The most rescalings to equal sums, and the change of the table that ends them: those of scikit-learn.
_RESCALINGS = 1000
_EVEN = 1e-5


@plain
@dataclass(frozen=True, eq=False)
class BiclusterState:
    """The cluster of each row and of each column."""

    rows: Array
    columns: Array
    objective: float


def _invert_roots(sums: Any) -> Array:
    """Return one over the roots of sums; zero for rows and columns of zeros, which have no direction."""
    sums = np.asarray(sums, dtype=np.float64).ravel()
    return np.where(sums > 0, 1.0 / np.sqrt(np.where(sums > 0, sums, 1.0)), 0.0)


def scale(X: Rows) -> tuple[Array, Array]:
    """Return the factors of rows and columns that divide a table by the roots of both sums."""
    return _invert_roots(X.sum(axis=1)), _invert_roots(X.sum(axis=0))


def even_out(X: Rows) -> tuple[Array, Array]:
    """Return the factors of rows and columns with which all rows have one sum, and all columns (Sinkhorn, 1964).

    The table itself is scaled once, at the end: sums and changes are products of it and of its squares with factors.
    """
    squares = X.multiply(X) if is_sparse_matrix(X) else X * X
    rows, columns = np.ones(X.shape[0]), np.ones(X.shape[1])
    for _ in range(_RESCALINGS):
        left, right = _invert_roots(rows * (X @ columns)), _invert_roots(columns * (X.T @ rows))
        heavy, light = rows**2, columns**2
        # The sum of squares of X' (1 - l r), by its three terms.
        change = sum(
            factor * float((heavy * left**power) @ (squares @ (light * right**power)))
            for power, factor in ((0, 1.0), (1, -2.0), (2, 1.0))
        )
        rows, columns = rows * left, columns * right
        if change < _EVEN**2:
            break
    return rows, columns


def _apply(X: Rows, rows: Array, columns: Array) -> Rows:
    if is_sparse_matrix(X):
        return X.multiply(rows[:, None]).multiply(columns).tocsr()
    return rows[:, None] * X * columns


class _SpectralBiclusters(BiclusterMixin, LimitedEstimator):
    """What both classes share: singular vectors, k-means, and how clusters are stored."""

    _needs_rows: ClassVar[str] = "its factors have an entry for each row"

    n_clusters: Any = parameter(Integer(1), default=3, kw_only=False)
    svd_method: str = parameter(
        Choice("randomized", "arpack"), default="randomized", doc="How singular vectors are found."
    )
    n_svd_vecs: int | None = parameter(
        Integer(0) | Nothing(), default=None, doc="Extra random vectors of ``'randomized'``; None takes ten."
    )
    mini_batch: bool = parameter(Boolean(), default=False, doc="Whether k-means reads batches of rows.")
    init: Any = parameter(
        Choice("k-means++", "random") | ArrayRule(), default="k-means++", doc="The first centres of k-means."
    )
    n_init: int = parameter(Integer(1), default=10, doc="Runs of k-means; the best is kept.")
    random_state: Any = parameter(Seed(), default=None, doc="Seed of k-means and of random vectors.")

    _objective_moves: ClassVar[str | None] = None
    _takes_sparse = True
    _depends_on_units = ("columns",)
    _stored: ClassVar[dict[str, Stored]] = {
        "row_labels_": integers("rows", low=0),
        "column_labels_": integers("columns", low=0),
        "rows_": flags("biclusters, rows"),
        "columns_": flags("biclusters, columns"),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the scaled table is a copy of the rows, whose singular vectors are found",
        "row order": "k-means starts from rows drawn by index",
    }

    @fitting
    def fit(self, X: Any, y: Any = None) -> "_SpectralBiclusters":
        """Find the clusters of rows and columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A table of amounts; negative ones are moved up to zero.
        """
        source = self._open(X, accept_sparse="csr")
        rows = source.whole().astype(np.float64)
        self._check_clusters(*rows.shape)
        outcome = self._drive(lambda start: self._solve(rows), source, fitted=self._read, max_steps=1)
        if outcome.interrupt is None:
            # What has one step is complete after it, even if a watch asked to stop there.
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        self._conclude(outcome)
        return self

    def _solve(self, X: Rows) -> Solver[BiclusterState]:
        state = yield Dense(partial(self._find, X), heavy=X.shape[0] * X.shape[1] > 2**14)
        yield Step(state.objective, state, _ROUNDED)
        return Solution(state, True, _ROUNDED)

    def _check_clusters(self, n: int, d: int) -> None:
        raise NotImplementedError  # each class has its own numbers of clusters

    def _find(self, X: Rows) -> BiclusterState:
        raise NotImplementedError  # each class finds its own

    def _read(self, state: BiclusterState) -> dict[str, Any]:
        raise NotImplementedError

    def _seed(self) -> int:
        """Return a seed, the same in each call."""
        return int(seed_sequence(self.random_state).generate_state(1)[0] >> 1)

    def _shift(self, X: Rows, least: float = 0.0) -> Rows:
        """Return a table whose values are at least `least`."""
        low = float(X.min())
        if low >= least:
            return X
        if is_sparse_matrix(X):
            raise DataError(
                f"{type(self).__name__}: Cannot make the data matrix nonnegative because it is sparse. Adding a value "
                f"to every entry would make it no longer sparse; got {low:g}. Shift dense rows instead."
            )
        return X + (least - low)

    def _find_vectors(self, X: Rows, count: int, seed: int) -> tuple[Array, Array]:
        """Return the left and right singular vectors of the largest singular values, as columns."""
        most = min(X.shape)
        exact = count >= most
        options: dict[str, Any] = {"random_state": seed, "n_jobs": self.n_jobs}
        if self.n_svd_vecs:
            options["n_oversamples"] = self.n_svd_vecs
        if exact or most <= 32:
            left, values, right = np.linalg.svd(X.toarray() if is_sparse_matrix(X) else X, full_matrices=False)
            return left[:, :count], right[:count].T
        model = TruncatedSVD(count, algorithm=self.svd_method, **options)
        scores = model.fit_transform(X)
        values = model.singular_values_
        return scores / np.where(values > 0, values, 1.0), model.components_.T

    def _cluster(self, points: Array, k: int, seed: int) -> Any:
        """Return k-means fitted to points."""
        kind = MiniBatchKMeans if self.mini_batch else KMeans
        model = kind(k, init=self.init, n_init=self.n_init, random_state=seed, n_jobs=self.n_jobs)
        return model.fit(np.ascontiguousarray(points))


class SpectralCoclustering(_SpectralBiclusters):
    r"""Spectral co-clustering: rows and columns in common clusters, each row and column in one.

    A table X is a graph between rows and columns. With degrees R and C, the sums of both, the singular vectors of
    :math:`R^{-1/2} X C^{-1/2}` after the first, :math:`\lceil \log_2 k \rceil` of them, divided by the roots of the
    degrees, are coordinates of rows and columns; k-means of all of these finds clusters that little weight crosses.

    Attributes
    ----------
    row_labels_, column_labels_ : ndarray of shape (n,) and (d,)
        The cluster of each row and each column.
    rows_, columns_ : ndarray of bool of shape (n_clusters, n) and (n_clusters, d)
        Which rows and columns are in each.
    biclusters_ : tuple of both
    history_, converged_, n_iter_, certificate_
        One step, whose objective is the inertia of k-means; nothing bounds a better biclustering.

    See Also
    --------
    SpectralBiclustering : A checkerboard: each row is in as many biclusters as there are clusters of columns.

    Notes
    -----
    Costs the singular vectors and k-means of n + d points. Rows in memory, dense or sparse.

    References
    ----------
    I. Dhillon, Co-clustering documents and words using bipartite spectral graph partitioning, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import SpectralCoclustering
    >>> X = np.kron(np.eye(2), np.ones((3, 2))) + 0.1
    >>> model = SpectralCoclustering(2, random_state=0).fit(X)
    >>> model.get_shape(0), model.get_shape(1)
    ((3, 2), (3, 2))
    """

    n_clusters: int = parameter(Integer(1), default=3, kw_only=False, doc="The number of clusters, k.")

    def _check_clusters(self, n: int, d: int) -> None:
        if self.n_clusters > n:
            raise DataError(
                f"SpectralCoclustering: n_clusters should be <= n_samples={n}. Got {self.n_clusters} instead."
            )

    def _find(self, X: Rows) -> BiclusterState:
        X, seed = self._shift(X), self._seed()
        rows, columns = scale(X)
        count = 1 + math.ceil(math.log2(self.n_clusters))
        left, right = self._find_vectors(_apply(X, rows, columns), count, seed)
        # The first pair is the same for every table: the roots of the degrees.
        points = np.vstack([rows[:, None] * left[:, 1:], columns[:, None] * right[:, 1:]])
        if not points.shape[1]:
            points = np.zeros((len(points), 1))
        model = self._cluster(points, self.n_clusters, seed)
        return BiclusterState(model.labels_[: len(rows)], model.labels_[len(rows) :], float(model.inertia_))

    def _read(self, state: BiclusterState) -> dict[str, Any]:
        numbers = np.arange(self.n_clusters)[:, None]
        return {
            "row_labels_": state.rows,
            "column_labels_": state.columns,
            "rows_": state.rows == numbers,
            "columns_": state.columns == numbers,
        }


class SpectralBiclustering(_SpectralBiclusters):
    r"""Spectral biclustering: rows and columns whose clusters make a checkerboard.

    The singular vectors of a checkerboard are constant on the clusters of its rows and columns. Those of the scaled
    table that k-means in one dimension approximates best span a space in which rows, and columns, are clustered.

    Attributes
    ----------
    row_labels_, column_labels_ : ndarray of shape (n,) and (d,)
        The cluster of each row and each column.
    rows_, columns_ : ndarray of bool of shape (n_row_clusters * n_column_clusters, n), and so on
        Which rows and columns are in each bicluster: those of the first cluster of rows first.
    biclusters_ : tuple of both
    history_, converged_, n_iter_, certificate_
        One step, whose objective is the sum of both inertias; nothing bounds a better biclustering.

    See Also
    --------
    SpectralCoclustering : Each row and each column is in one bicluster.

    Notes
    -----
    Rescaling to equal sums needs products of the table with vectors alone; it is written once. Rows in memory, dense or
    sparse.

    References
    ----------
    Y. Kluger, R. Basri, J. Chang and M. Gerstein, Spectral biclustering of microarray data, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import SpectralBiclustering
    >>> X = np.kron(np.array([[1.0, 5.0], [7.0, 2.0]]), np.ones((3, 4)))
    >>> model = SpectralBiclustering(2, random_state=0).fit(X)
    >>> sorted(np.bincount(model.row_labels_).tolist()), sorted(np.bincount(model.column_labels_).tolist())
    ([3, 3], [4, 4])
    """

    n_clusters: Any = parameter(
        Integer(1) | Pair(), default=3, kw_only=False, doc="Clusters of rows and of columns: one number, or a pair."
    )
    method: str = parameter(
        Choice("bistochastic", "scale", "log"),
        default="bistochastic",
        doc="The scaling: to equal sums, by the roots of sums, or logarithms without the means of rows and columns.",
    )
    n_components: int = parameter(Integer(1), default=6, doc="Singular vectors that are looked at.")
    n_best: int = parameter(Integer(1), default=3, doc="Singular vectors that are kept.")

    @property
    def _counts(self) -> tuple[int, int]:
        both = self.n_clusters
        return (int(both[0]), int(both[1])) if isinstance(both, tuple | list) else (int(both), int(both))

    def _check_clusters(self, n: int, d: int) -> None:
        given = self.n_clusters
        whole = isinstance(given, tuple | list) and all(isinstance(one, int | np.integer) for one in given)
        if isinstance(given, tuple | list):
            if not whole or len(given) != 2 or not all(1 <= one <= n for one in given):
                raise ParameterError(
                    f"SpectralBiclustering: Incorrect parameter n_clusters has value: {given}. It should either be a "
                    f"single integer or an iterable with two integers: (n_row_clusters, n_column_clusters), from 1 to "
                    f"{n}."
                )
        elif given > n:
            raise DataError(f"SpectralBiclustering: n_clusters should be <= n_samples={n}. Got {given} instead.")
        if self._counts[1] > d:
            raise DataError(
                f"SpectralBiclustering: clusters of columns must be <= n_features={d}. Got {self._counts[1]} instead."
            )
        if self.n_best > self.n_components:
            raise ParameterError(
                f"SpectralBiclustering: n_best={self.n_best} must be <= n_components={self.n_components}."
            )

    def _find(self, X: Rows) -> BiclusterState:
        seed, (k, m) = self._seed(), self._counts
        # The first pair of a scaled table is the same for every table.
        dropped = 0 if self.method == "log" else 1
        left, right = self._find_vectors(self._normalise(X), self.n_components + dropped, seed)
        best_right = self._choose(right[:, dropped:], k, seed)
        best_left = self._choose(left[:, dropped:], m, seed)
        rows = self._cluster(X @ best_right, k, seed)
        columns = self._cluster(X.T @ best_left, m, seed)
        return BiclusterState(rows.labels_, columns.labels_, float(rows.inertia_ + columns.inertia_))

    def _normalise(self, X: Rows) -> Rows:
        """Return the scaled table."""
        if self.method == "log":
            if is_sparse_matrix(X):
                raise DataError(
                    "SpectralBiclustering: Cannot compute log of a sparse matrix, because log(x) diverges to -infinity "
                    "as x goes to 0. Take another method, or dense rows."
                )
            L = np.log(self._shift(X, 1.0))
            return L - L.mean(axis=1)[:, None] - L.mean(axis=0) + L.mean()
        X = self._shift(X)
        return _apply(X, *(scale(X) if self.method == "scale" else even_out(X)))

    def _choose(self, vectors: Array, k: int, seed: int) -> Array:
        """Return the vectors that are nearest to k values each."""
        if not vectors.shape[1]:
            # A table of one row or column has no pair but the first.
            return np.zeros((len(vectors), 1))
        gaps = [self._cluster(vector[:, None], k, seed).inertia_ for vector in vectors.T]
        return vectors[:, np.argsort(gaps, kind="stable")[: self.n_best]]

    def _read(self, state: BiclusterState) -> dict[str, Any]:
        k, m = self._counts
        return {
            "row_labels_": state.rows,
            "column_labels_": state.columns,
            "rows_": state.rows == np.repeat(np.arange(k), m)[:, None],
            "columns_": state.columns == np.tile(np.arange(m), k)[:, None],
        }
