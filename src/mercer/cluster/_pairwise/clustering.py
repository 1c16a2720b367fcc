"""Clustering from distances between objects alone, by annealing."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import coo_array, csr_array
from sklearn.utils import check_array

from mercer._base import Estimator, LimitedEstimator, check_new_rows, fitting, seed_sequence
from mercer._base.interface import ClusterMixin
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, Seed, parameter
from mercer._source.memory import require_memory
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats, integers, numbers
from mercer._types import Array
from mercer.cluster._numbering import order_by_first_rows
from mercer.cluster._pairwise.annealing import MeanFieldAnnealing, PairwiseState, SimulatedAnnealing
from mercer.cluster._pairwise.energy import DistanceMatrix, SquaredDistances, mean_field
from mercer.errors import DataError

_METRICS = ("sqeuclidean", "precomputed", "euclidean", "manhattan", "chebyshev", "cosine")
# Rows measured or checked at a time, which bounds temporary arrays to 512 n values.
_ROWS = 512


def draw_distances(
    measure: Callable[[slice], Array], n: int, share: float, generator: np.random.Generator, n_rows: int
) -> tuple[csr_array, csr_array]:
    """Draw pairs of objects and return their distances, symmetric and sparse, and a matrix of ones where they are.

    Parameters
    ----------
    measure : callable
        From a slice of objects to their distances to all objects, (m, n); NaN where a distance is missing.
    n : int
        Objects.
    share : float in (0, 1]
        The probability of a pair; each object is a pair with itself with the same probability, so that means over the
        drawn distances estimate those over all.
    generator : Generator
    n_rows : int
        Objects measured at a time, which bounds temporary arrays.
    """
    # A ring through all objects in random order is always kept: every object has two distances at least.
    ring = generator.permutation(n)
    after = np.empty(n, dtype=np.intp)
    after[ring] = np.roll(ring, -1)
    firsts, seconds, values = [], [], []
    for start in range(0, n, n_rows):
        part = slice(start, min(start + n_rows, n))
        chosen = generator.random((part.stop - start, n)) < share
        # Each pair is decided once, in the row of the smaller index.
        chosen &= np.arange(n)[None, :] >= np.arange(start, part.stop)[:, None]
        for here, there in ((np.arange(start, part.stop), after[part]), (after[part], np.arange(start, part.stop))):
            inside = (here >= start) & (here < part.stop) & (there >= here)
            chosen[here[inside] - start, there[inside]] = True
        distances = measure(part)
        chosen &= ~np.isnan(distances)
        rows, columns = np.nonzero(chosen)
        firsts.append(rows + start)
        seconds.append(columns)
        values.append(distances[rows, columns])
    first, second, value = (np.concatenate(parts) for parts in (firsts, seconds, values))
    # The pairs are those of the upper triangle; their mirror images complete the matrix.
    off = first != second
    first, second, value = (
        np.concatenate([first, second[off]]),
        np.concatenate([second, first[off]]),
        np.concatenate([value, value[off]]),
    )
    present = coo_array((np.ones(len(value)), (first, second)), shape=(n, n)).tocsr()
    return coo_array((value, (first, second)), shape=(n, n)).tocsr(), present


class PairwiseClustering(ClusterMixin, LimitedEstimator):
    r"""Clusters of objects that are known by their distances alone, by mean-field or simulated annealing.

    Minimises, over memberships :math:`m_{qa}` of object a in one of M clusters,

    .. math:: E = \frac{1}{M} \sum_q \frac{\sum_{ab} m_{qa} m_{qb} d_{ab}}{\sum_a m_{qa}} .

    Mean-field annealing takes memberships as probabilities at the inverse temperature :math:`\beta`,
    :math:`m_{qa} \propto \exp(-\beta e_{qa})` in the mean field :math:`e_{qa} = \partial E / \partial m_{qa}`, and
    raises :math:`\beta` until each object has its cluster; clusters split one after the other on the way. Simulated
    annealing offers objects other clusters at random. With squared Euclidean distances E is 2 / M times the inertia of
    k-means, and the mean field is soft k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        The cluster of each object. Clusters are numbered by their first objects; with a `neighbourhood`, cluster i is
        the one of row i of it, since there the numbers are positions on a map.
    memberships_ : ndarray of shape (n, M)
        Probabilities at the last beta; columns as in `labels_`, float64.
    beta_ : float
        The last inverse temperature.
    cost_ : float
        E at the labels.
    spread_ : ndarray of shape (M,)
        Half the mean distance within each cluster.
    n_distances_ : int
        How many of the n^2 distances were used.
    training_rows_ : ndarray of shape (n, d) or None
        The rows, which predictions measure distances to; None where distances were given.
    training_weight_ : ndarray of shape (n,)
    history_ : dict of ndarray
        Per iteration: ``objective`` (the free energy E - H / beta; E itself for simulated annealing), ``beta``,
        ``energy``, ``seconds``; ``n_distinct``, how many clusters differ, or ``accepted``.
    converged_ : bool
        Whether memberships became labels, or a long walk found no better ones.
    certificate_ : Certificate
        Mean field: ``"fixed point"``, how far one more iteration moves a membership. Simulated annealing: none.

    Notes
    -----
    An iteration costs n^2 M, and the distances n^2 numbers, twice where some are missing; squared Euclidean distances
    of rows are never formed, and an iteration costs n d M. Memory otherwise n (d + M). Weights are repetitions. In
    memory only.

    References
    ----------
    T. Hofmann and J. Buhmann, Pairwise data clustering by deterministic annealing, 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import PairwiseClustering
    >>> x = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 30.0])
    >>> model = PairwiseClustering(3, metric="precomputed", random_state=0).fit(np.abs(x[:, None] - x[None]))
    >>> model.labels_
    array([0, 0, 0, 1, 1, 2], dtype=int32)
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_clusters: int = parameter(
        Integer(1),
        default=8,
        kw_only=False,
        doc="M. At a given beta fewer may differ; see ``n_distinct`` in ``history_``.",
    )
    metric: str = parameter(
        Choice(*_METRICS),
        default="sqeuclidean",
        doc="The distance between rows; ``'precomputed'`` means that X holds the distances themselves, symmetric "
        "with a zero diagonal, where NaN means that a distance is missing.",
    )
    solver: str = parameter(
        Choice("mean_field", "annealing"),
        default="mean_field",
        doc="Mean-field or simulated annealing. The latter needs all distances.",
    )
    neighbourhood: Any = parameter(
        Nothing() | ArrayRule(),
        default=None,
        doc=r"h of shape (M, M): the cost is that of :math:`\sum_r h_{qr} m_{ra}`, a map of the objects; see "
        ":func:`grid_neighbourhood`. For the mean field.",
    )
    subsample: float | None = parameter(
        Nothing() | Real(0, 1, "right"),
        default=None,
        doc="The share of the distances to use, drawn at random; mean distances to clusters are then means over "
        "those. An iteration costs this share of n^2 M, and memory 24 bytes for each distance. None uses all. "
        "For the mean field.",
    )
    beta: float | None = parameter(
        Nothing() | Real(0, closed="neither"),
        default=None,
        doc="The first inverse temperature; None means M / (4 d) with d the mean distance, below any split.",
    )
    beta_end: float | None = parameter(
        Nothing() | Real(0, closed="neither"),
        default=None,
        doc="The last; None goes on until memberships are as good as labels.",
    )
    factor: float = parameter(
        Real(1, closed="neither"), default=1.25, doc="beta is multiplied by this from level to level."
    )
    max_iter: int = parameter(Integer(1), default=2000, doc="Most iterations (sweeps) in all.")
    tol: float = parameter(Real(0), default=1e-3, doc="A level ends when no membership moved by more.")
    random_state: Any = parameter(
        Seed(), default=None, doc="Seed of the small shakes that let equal clusters part, or of the random walk."
    )
    verbose: int = parameter(Integer(0) | Boolean(), default=0)

    _objective_moves = None
    _stored: ClassVar[dict[str, Stored]] = {
        "training_rows_": numbers("training, columns", finite=True),
        "training_weight_": floats("training"),
        "labels_": integers("rows"),
        "n_distances_": integers(low=0),
        "memberships_": floats("rows, clusters"),
        "beta_": floats(),
        "spread_": floats("clusters"),
        "cost_": floats(),
    }
    # Version 2 has subsample and n_distances_; version 1 used all distances that were not missing.
    _file_version: ClassVar[int] = 2
    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        "check_sample_weight_equivalence_on_dense_data": (
            "the shakes that part clusters come from objects drawn at random: weights are repetitions in distribution"
        )
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the membership of every object in every cluster is the model; with a centred copy, n (d + M) numbers"
    }
    _depends_on_units = ("columns",)

    @classmethod
    def _migrate(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        n = len(state["memberships_"]) if "memberships_" in state else None
        return {"subsample": None} | ({} if n is None else {"n_distances_": n * n}) | state

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "PairwiseClustering":
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) with ``metric="precomputed"``
        """
        given = self.metric == "precomputed"
        source = self._open(X, None, sample_weight, ensure_all_finite=not given)
        rows = source.whole()
        if given:
            _check_distances(type(self).__name__, rows)
        weight = np.ones(len(rows)) if source.weight is None else source.weight
        distances = self._distances(rows)
        solver = self._solver(distances, weight)
        known = {"training_rows_": None if given else rows, "training_weight_": weight}
        known["n_distances_"] = _count_distances(distances, len(rows))
        outcome = self._drive(solver.solve, source, max_steps=self.max_iter, attributes=known)
        labels = np.eye(self.n_clusters)[self.labels_]
        self.cost_ = mean_field(distances, labels, weight, self._check_neighbourhood())[1]
        self._conclude(outcome, cure="raise max_iter or factor")
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit to `X` and return the cluster of each object."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster whose mean field is least at each new object.

        Parameters
        ----------
        X : array-like of shape (m, d), or with ``metric="precomputed"`` (m, n), the distances to the objects of the fit
        """
        rows = check_new_rows(self, X)
        shares = self.memberships_ * self.training_weight_[:, None]
        h = self._check_neighbourhood()
        shares = shares if h is None else shares @ h.T
        sizes = shares.sum(axis=0)
        shares = shares / np.where(sizes > 0, sizes, 1.0)
        parts = [self._field_at(rows[start : start + _ROWS], shares) for start in range(0, len(rows), _ROWS)]
        # An empty cluster attracts no object; its place on a map of clusters may still win by its neighbours.
        field = np.where(sizes > 0, np.concatenate(parts), np.inf if h is None else 0.0)
        return (field if h is None else field @ h).argmin(axis=1).astype(np.int32)

    def _field_at(self, rows: Any, shares: Any) -> Any:
        """Return the mean distance of each row to each cluster, minus half the mean distance within it, (m, M)."""
        from sklearn.metrics import pairwise_distances

        if self.metric == "precomputed":
            return rows @ shares - self.spread_
        if self.metric == "sqeuclidean":
            # For squared distances that difference is the squared distance to the cluster's mean.
            centres = shares.T @ self.training_rows_
            return pairwise_distances(rows.astype(np.float64), centres, metric="sqeuclidean", n_jobs=1)
        known = self.training_rows_.astype(np.float64, copy=False)
        return pairwise_distances(rows.astype(np.float64), known, metric=self.metric, n_jobs=1) @ shares - self.spread_

    def _distances(self, rows: Any) -> DistanceMatrix | SquaredDistances:
        from sklearn.metrics import pairwise_distances

        name, n, threads = type(self).__name__, len(rows), self._threads()
        cure = "use metric='sqeuclidean' with solver='mean_field', or fewer objects"
        if self.subsample is not None:
            return self._draw_distances(rows, self.subsample)
        if self.metric == "precomputed":
            if not any(np.isnan(rows[start : start + _ROWS]).any() for start in range(0, n, _ROWS)):
                if rows.dtype != np.float64:
                    require_memory(name, 8.0 * n * n, f"the {n} x {n} distances in float64", cure)
                return DistanceMatrix(rows.astype(np.float64, copy=False), None, threads)
            require_memory(name, 17.0 * n * n, f"the {n} x {n} distances and which are missing", cure)
            missing = np.isnan(rows)
            return DistanceMatrix(np.where(missing, 0.0, rows), (~missing).astype(np.float64), threads)
        if self.metric == "sqeuclidean" and self.solver == "mean_field":
            # Rows about their mean have the same distances, and fewer digits cancel.
            shifted = rows - rows.mean(axis=0, dtype=np.float64)
            return SquaredDistances(shifted, np.einsum("ij,ij->i", shifted, shifted), threads)
        require_memory(name, 16.0 * n * n, f"the {n} x {n} distances", cure)
        matrix = np.empty((n, n))
        for start in range(0, n, _ROWS):
            part = slice(start, start + _ROWS)
            matrix[part] = pairwise_distances(rows[part].astype(np.float64), rows, metric=self.metric, n_jobs=1)
        np.fill_diagonal(matrix, 0.0)
        return DistanceMatrix(matrix, None, threads)

    def _draw_distances(self, rows: Any, share: float) -> DistanceMatrix:
        """Return a random part of the distances, sparse."""
        from sklearn.metrics import pairwise_distances

        n = len(rows)
        # A distance and its presence take a number and an index each, while they are put in order twice that.
        needed = 48.0 * share * n * n + 16.0 * _ROWS * n
        require_memory(type(self).__name__, needed, f"{share:g} of {n} x {n} distances", "lower subsample")

        def measure(part: slice) -> Any:
            if self.metric == "precomputed":
                return np.asarray(rows[part], dtype=np.float64)
            distances = pairwise_distances(rows[part].astype(np.float64), rows, metric=self.metric, n_jobs=1)
            distances[np.arange(len(distances)), np.arange(n)[part]] = 0.0
            return distances

        # A stream of its own: the shakes draw from the seed's words.
        generator = np.random.default_rng(seed_sequence(self.random_state).spawn(1)[0])
        distances, present = draw_distances(measure, n, share, generator, _ROWS)
        return DistanceMatrix(distances, present, self._threads())

    def _solver(self, distances: Any, weight: Any) -> MeanFieldAnnealing | SimulatedAnnealing:
        name, seed = type(self).__name__, seed_sequence(self.random_state).generate_state(8)
        if self.n_clusters > len(weight):
            raise DataError(
                f"{name}: n_samples={len(weight)} should be >= n_clusters={self.n_clusters}. Lower n_clusters."
            )
        sizes = np.array([weight.sum()])
        with one_blas_thread():
            mean = float(weight @ distances.means(weight[:, None], sizes)[:, 0] / sizes[0])
        beta = self.beta or self.n_clusters / (4.0 * mean if mean > 0 else 1.0)
        # A hundred thousand times the first beta separates groups whose distances are that much smaller than the mean.
        end = max(self.beta_end or 1e5 * beta, beta)
        if self.solver == "mean_field":
            h = self._check_neighbourhood()
            k, top = self.n_clusters, self.max_iter
            return MeanFieldAnnealing(distances, weight, k, h, beta, end, self.factor, top, self.tol, seed)
        if self.neighbourhood is not None or self.subsample is not None or distances.present is not None:
            what = "missing distances" if self.subsample is None else "subsample"
            what = "a neighbourhood" if self.neighbourhood is not None else what
            message = f"{name}: solver='annealing' takes no {what}; use solver='mean_field'."
            raise DataError(message.replace("no a ", "no "))
        return SimulatedAnnealing(distances, weight, self.n_clusters, beta, end, self.factor, self.max_iter, seed)

    def _check_neighbourhood(self) -> Any:
        if self.neighbourhood is None:
            return None
        h = check_array(self.neighbourhood, dtype=np.float64, input_name="neighbourhood", estimator=self)
        if h.shape != (self.n_clusters, self.n_clusters) or h.min() < 0 or not h.diagonal().all():
            raise DataError(
                f"{type(self).__name__}: neighbourhood must be non-negative with a positive diagonal and a row and a "
                f"column for each of the {self.n_clusters} clusters; got shape {h.shape}, least entry {h.min():g}."
            )
        return h

    def _fitted(self, state: PairwiseState) -> dict[str, Any]:
        order = order_by_first_rows(state.memberships.argmax(axis=1), self.n_clusters)
        # On a map the indices of clusters are their positions, and stay.
        order = np.arange(self.n_clusters) if self.neighbourhood is not None else order
        memberships = state.memberships[:, order]
        labels = memberships.argmax(axis=1).astype(np.int32)
        return {"labels_": labels, "memberships_": memberships, "beta_": state.beta, "spread_": state.spread[order]}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.allow_nan = self.metric == "precomputed"
        return tags


def _count_distances(distances: DistanceMatrix | SquaredDistances, n: int) -> int:
    """Return how many distances are used."""
    present = getattr(distances, "present", None)
    return n * n if present is None else int(present.sum())


def _check_distances(subject: str, matrix: Any) -> None:
    """Raise a DataError unless `matrix` holds distances; it is read in parts, so that no copy of all is made."""
    n = len(matrix)
    cure = "Give non-negative distances d[a, b] = d[b, a] with d[a, a] = 0, and NaN where one is missing."
    if matrix.shape != (n, n):
        raise DataError(f"{subject}: distances must be a square matrix; got shape {matrix.shape}. {cure}")
    parts = [slice(start, start + _ROWS) for start in range(0, n, _ROWS)]
    extremes = [np.array([np.nanmin(matrix[part], initial=0), np.nanmax(matrix[part], initial=0)]) for part in parts]
    low, scale = np.min(extremes), np.max(extremes)
    if not np.isfinite(scale) or low < 0:
        raise DataError(f"{subject}: distances must be finite and non-negative; got others. {cure}")
    if not all(_agree(matrix[part], matrix[:, part].T, 1e-6 * scale) for part in parts):
        raise DataError(f"{subject}: distances must be symmetric; got others. {cure} (X + X.T) / 2 is symmetric.")
    if np.any(np.abs(matrix.diagonal()) > 1e-6 * scale):
        raise DataError(f"{subject}: distances must be zero on the diagonal; got others. {cure}")
    known = np.concatenate([n - np.isnan(matrix[part]).sum(axis=1) for part in parts]) - ~np.isnan(matrix.diagonal())
    if n > 1 and known.min() < 1:
        raise DataError(
            f"{subject}: every object needs a distance to another; object {known.argmin()} has none. Leave it out."
        )


def _agree(rows: Any, columns: Any, tolerance: float) -> bool:
    """Return whether two parts of a matrix are equal up to `tolerance`, and missing in the same places."""
    gaps = np.abs(rows - columns)
    return bool(np.all((gaps <= tolerance) | (np.isnan(rows) & np.isnan(columns))))
