"""Mean shift: points climb to the densest places around, by steps to the mean of the rows within a bandwidth."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.utils import check_array

from mercer._base import LimitedEstimator, fitting, open_new_rows, seed_sequence
from mercer._base.interface import ClusterMixin
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Integer, Nothing, Real, Seed, attribute, check_parameters, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.centres.centres import Centres
from mercer._solver.neighbours import RowSearch
from mercer._source import Block
from mercer._source.threads import n_threads, run_numbered
from mercer._stored import Stored, floats, integers, numbers
from mercer._types import Array
from mercer.errors import DataError, ModelFileError

# A point has arrived when its next step would be at most this share of the bandwidth: the rule of scikit-learn.
_ARRIVED = 1e-3
# Pairs of a point and a row whose lists are held at once: 64 MiB.
_PAIRS = 2**22
# Rows whose distances to all rows are held at once, for the bandwidth.
_TILE = 256
# Share of the rows within the estimated bandwidth of a row.
_QUANTILE = 0.3
_STATEMENT = "The longest next step of a point, in bandwidths: zero proves that all are means of the rows around them."


@plain
@dataclass(frozen=True, eq=False)
class ShiftState:
    """Points on their way: seeds that each stands for, rows around it, its density, its next step, whether it moves.

    Steps are in bandwidths.
    """

    points: Array
    sizes: Array
    counts: Array
    density: Array
    steps: Array
    moving: Array


@dataclass(frozen=True, eq=False)
class MeanShiftPaths:
    """The solver: move all points to the means of the rows within a bandwidth, until no step is long."""

    search: RowSearch
    bandwidth: float
    max_iter: int

    def start(self, seeds: Array) -> ShiftState:
        """Return the state before the first step; equal seeds are one point."""
        points, sizes = np.unique(seeds, axis=0, return_counts=True)
        none = np.zeros(len(points))
        return ShiftState(points, sizes, none, none, np.full(len(points), np.inf), np.ones(len(points), bool))

    def solve(self, state: ShiftState) -> Solver:
        """Climb from `state` until no point moves, or `max_iter` steps are made."""
        for _ in range(self.max_iter + 1):
            if not state.moving.any():
                break
            known = state
            state = yield Dense(lambda: self.advance(known), len(known.points) > _TILE)  # noqa: B023 (answered at once)
            objective = float(np.average(state.density, weights=state.sizes))
            moving = float(np.count_nonzero(state.moving))
            yield Step(objective, state, self._certify(state), {"moving": moving})
        return Solution(state, not state.moving.any(), self._certify(state))

    def advance(self, state: ShiftState) -> ShiftState:
        """Move every point that is on its way; return the new state, in which points that met are one."""
        moving = np.flatnonzero(state.moving)
        points, counts, density, steps = (
            part.copy() for part in (state.points, state.counts, state.density, state.steps)
        )
        means, width = np.empty((len(moving), points.shape[1])), max(1, _PAIRS // self.search.n)
        for start in range(0, len(moving), width):
            piece = moving[start : start + width]
            means[start : start + width], found, density[piece] = self._look_around(points[piece])
            counts[piece] = np.where(found > 0, found, counts[piece])
        lengths = np.sqrt(np.sum((means - points[moving]) ** 2, axis=1))
        # With a bandwidth of zero, equal rows have a mean that differs by rounding.
        unit = self.bandwidth or max(float(np.abs(points).max()), 1.0)
        steps[moving] = lengths / unit
        still = steps[moving] > _ARRIVED
        points[moving[still]] = means[still]
        on = np.zeros(len(points), bool)
        on[moving[still]] = True
        return _join_equal(ShiftState(points, state.sizes, counts, density, steps, on))

    def _look_around(self, points: Array) -> tuple[Array, Array, Array]:
        """Return the mean of the rows around each point, their number, and the density there; alone, a point stays."""
        starts, indices, distances = self.search.within(points, self.bandwidth)
        shape = (len(points), self.search.n)
        counts = np.diff(starts)
        rows = csr_array((np.ones(len(indices)), indices, starts), shape=shape) @ self.search.rows.astype(np.float64)
        means = np.where(counts[:, None] > 0, rows / np.maximum(counts, 1)[:, None], points)
        # The kernel whose gradient points to the mean within a sphere is one less the squared distance.
        heights = 1.0 - (distances / self.bandwidth) ** 2 if self.bandwidth else np.ones(len(distances))
        density = csr_array((heights, indices, starts), shape=shape).sum(axis=1)
        return means, counts, density / self.search.n

    def _certify(self, state: ShiftState) -> Certificate:
        # Points that no row is near go nowhere.
        return Certificate.of("fixed point", float(state.steps.max()), _ARRIVED, _STATEMENT)


def _join_equal(state: ShiftState) -> ShiftState:
    """Return the state in which points at one place are one: from there on their paths are the same."""
    _, first, groups = np.unique(
        np.column_stack([state.points, state.moving]), axis=0, return_index=True, return_inverse=True
    )
    if len(first) == len(state.points):
        return state
    groups = groups.reshape(-1)
    sizes = np.bincount(groups, state.sizes).astype(state.sizes.dtype)
    # Densities are of the places before the step, which may differ.
    density = np.bincount(groups, state.sizes * state.density) / sizes
    steps = np.zeros(len(first))
    np.maximum.at(steps, groups, state.steps)
    counts = np.zeros(len(first))
    np.maximum.at(counts, groups, state.counts)
    return ShiftState(state.points[first], sizes, counts, density, steps, state.moving[first])


def keep_apart(points: Array, counts: Array, bandwidth: float) -> Array:
    """Return the points with most rows around them, none within a bandwidth of another, the fullest first."""
    order = np.lexsort((*points.T[::-1], counts))[::-1]
    points = np.ascontiguousarray(points[order])
    starts, indices, _ = RowSearch(points).within(points, bandwidth)
    kept = np.ones(len(points), bool)
    for number in range(len(points)):
        if kept[number]:
            kept[indices[starts[number] : starts[number + 1]]] = False
            kept[number] = True
    return points[kept]


@dataclass(frozen=True, eq=False)
class _NearestCentre:
    """The nearest centre of each row of a block; with a bandwidth, -1 for rows farther than that from all."""

    centres: Centres
    bandwidth: float | None = None

    def __call__(self, block: Block) -> Array:
        labels, squares = self.centres.find_nearest(block)
        labels = labels.astype(np.int64)
        if self.bandwidth is not None:
            labels[np.sqrt(squares) > self.bandwidth] = -1
        return labels


class MeanShift(ClusterMixin, LimitedEstimator):
    r"""Mean shift: clusters are the hills of a density.

    Each seed moves to the mean of the rows within the bandwidth h, again and again; each step climbs the density

    .. math:: f(x) = \frac{1}{n} \sum_i \max\big(0, 1 - \lVert x - x_i \rVert^2 / h^2\big) .

    Where it ends is the centre of a cluster, unless a place with more rows around it is within h. Rows belong to the
    nearest centre. The number of clusters follows from h.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, d)
        The one with most rows around it first.
    labels_ : ndarray of shape (n,)
        The cluster of each row; -1 for rows that no centre is near, without `cluster_all`.
    bandwidth_ : float
        h.
    n_iter_ : int
        Steps of the longest path.
    history_ : dict of ndarray
        Per step: ``objective`` (the mean of f where the seeds were before it), ``seconds``, ``moving`` (places that
        go on).
    converged_ : bool
        Whether all seeds arrived.
    certificate_ : Certificate
        ``"fixed point"``: the longest next step, in bandwidths.

    Notes
    -----
    A step costs at most n m d for m places, and less where a tree finds the rows around them; seeds that meet go on as
    one. Memory is bounded. The estimate of h compares all pairs of rows: give h, or estimate it from fewer rows, where
    there are many. :class:`DENCLUE` climbs a smooth density, and finds clusters of any shape.

    References
    ----------
    D. Comaniciu and P. Meer, Mean shift: a robust approach toward feature space analysis, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import MeanShift
    >>> X = np.array([[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]])
    >>> model = MeanShift(bandwidth=2).fit(X)
    >>> model.labels_.tolist()
    [1, 1, 1, 0, 0, 0]
    >>> model.predict([[0, 0], [5, 5]]).tolist()
    [1, 0]
    """

    _needs_rows: ClassVar[str] = "it searches the neighbours of every row among all rows"

    bandwidth: float | None = parameter(
        Real(0, closed="neither") | Nothing(),
        default=None,
        doc="h; None estimates it by :func:`estimate_bandwidth`.",
    )
    seeds: Any = parameter(
        ArrayRule() | Nothing(), default=None, doc="Where paths begin, (m, d); None means at the rows, or at bins."
    )
    bin_seeding: bool = parameter(
        Boolean(), default=False, doc="Whether seeds are the places of a grid of width h near which there are rows."
    )
    min_bin_freq: int = parameter(Integer(1), default=1, doc="Rows that such a place needs.")
    cluster_all: bool = parameter(
        Boolean(), default=True, doc="Whether rows farther than h from all centres belong to the nearest, not to noise."
    )
    max_iter: int = parameter(Integer(0), default=300, doc="Most steps of a path.")
    verbose: int = parameter(Integer(0) | Boolean(), default=0)

    cluster_centers_: Array = attribute()
    _depends_on_units = ("columns",)
    _objective_moves = "up"
    _stored: ClassVar[dict[str, Stored]] = {
        "cluster_centers_": numbers("clusters, columns"),
        "labels_": integers("rows", low=-1, below="clusters"),
        "bandwidth_": floats(low=0),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "every row climbs from its own place, so where they have got to is a copy of the rows"
    }

    def _check_structure(self) -> None:
        if not len(vars(self).get("cluster_centers_", "-")):
            raise ModelFileError("MeanShift.cluster_centers_ must have a row; the file has none.")

    @fitting
    def fit(self, X: Any, y: Any = None) -> "MeanShift":
        """Find the clusters."""
        source = self._open(X)
        rows = source.whole()
        bandwidth = estimate_bandwidth(rows) if self.bandwidth is None else float(self.bandwidth)
        search = RowSearch(rows, threads=self._threads(), subject="MeanShift")
        paths = MeanShiftPaths(search, float(bandwidth), self.max_iter)
        first = paths.start(self._choose_seeds(rows, bandwidth))
        outcome = self._drive(
            lambda state: paths.solve(state or first),
            source,
            fitted=lambda state: {"cluster_centers_": self._find_centres(state, bandwidth).astype(rows.dtype)},
            max_steps=self.max_iter + 1,
            attributes={"bandwidth_": float(bandwidth)},
        )
        self.n_iter_ = max(outcome.n_steps - 1, 0)
        reach = None if self.cluster_all else bandwidth
        self.labels_ = source.map(_NearestCentre(Centres(self.cluster_centers_), reach))
        self._conclude(outcome)
        return self

    def _choose_seeds(self, rows: Array, bandwidth: float) -> Array:
        """Return where the paths begin."""
        if self.seeds is not None:
            seeds = check_array(self.seeds, dtype=np.float64, input_name="seeds", estimator=self)
            if seeds.shape[1] != rows.shape[1]:
                raise DataError(
                    f"MeanShift: seeds must have the {rows.shape[1]} columns of X; got {seeds.shape[1]}. Give a row "
                    f"for each path."
                )
            return seeds
        chosen = get_bin_seeds(rows, bandwidth, self.min_bin_freq) if self.bin_seeding else rows
        return np.asarray(chosen, dtype=np.float64)

    def _find_centres(self, state: ShiftState, bandwidth: float) -> Array:
        """Return the ends of the paths that some row is near, without those near fuller ones."""
        near = state.counts > 0
        if not near.any():
            raise DataError(
                f"MeanShift: No point was within bandwidth={bandwidth:f} of any seed. Try a different seeding strategy "
                f"or increase the bandwidth."
            )
        return keep_apart(state.points[near], state.counts[near], bandwidth)

    def predict(self, X: Any) -> Array:
        """Return the cluster of the nearest centre of each row."""
        source = open_new_rows(self, X)
        return source.map(_NearestCentre(Centres(self.cluster_centers_.astype(source.host_dtype, copy=False))))


def mean_shift(
    X: Any,
    *,
    bandwidth: float | None = None,
    seeds: Any = None,
    bin_seeding: bool = False,
    min_bin_freq: int = 1,
    cluster_all: bool = True,
    max_iter: int = 300,
    n_jobs: int | None = None,
) -> tuple[Array, Array]:
    """Cluster rows by mean shift; the parameters are those of :class:`MeanShift`.

    Returns
    -------
    cluster_centers : ndarray of shape (n_clusters, d)
    labels : ndarray of shape (n,)

    Examples
    --------
    >>> from mercer.cluster import mean_shift
    >>> centres, labels = mean_shift([[1.0], [2.0], [9.0]], bandwidth=2.0)
    >>> centres.ravel().tolist()
    [1.5, 9.0]
    """
    model = MeanShift(
        bandwidth=bandwidth,
        seeds=seeds,
        bin_seeding=bin_seeding,
        min_bin_freq=min_bin_freq,
        cluster_all=cluster_all,
        max_iter=max_iter,
        n_jobs=n_jobs,
    ).fit(X)
    return model.cluster_centers_, model.labels_


def estimate_bandwidth(
    X: Any,
    *,
    quantile: float = _QUANTILE,
    n_samples: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Return the mean distance within which a row has a share of all rows, itself counted.

    Parameters
    ----------
    X : array-like of shape (n, d)
    quantile : a number in [0, 1], default=0.3
        The share.
    n_samples : an integer in [1, inf) or None, default=None
        Rows that are drawn for it; None means all, whose pairs are all compared.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=0
        Seed of the draw.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads; changes no result.

    Returns
    -------
    bandwidth : float

    Examples
    --------
    >>> from mercer.cluster import estimate_bandwidth
    >>> X = [[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]]
    >>> round(float(estimate_bandwidth(X, quantile=0.5)), 2)
    1.62
    """
    rules = {
        "quantile": Real(0, 1),
        "n_samples": Integer(1) | Nothing(),
        "random_state": Seed(),
        "n_jobs": Integer() | Nothing(),
    }
    check_parameters("estimate_bandwidth", rules, locals())
    X = check_array(X, dtype=np.float64, input_name="X")
    if n_samples is not None:
        X = X[np.random.default_rng(seed_sequence(random_state)).permutation(len(X))[:n_samples]]
    k = max(1, int(len(X) * quantile))
    farthest = np.empty(len(X))

    def measure(number: int) -> None:
        tile = slice(number * _TILE, (number + 1) * _TILE)
        farthest[tile] = np.partition(cdist(X[tile], X), k - 1, axis=1)[:, k - 1]

    run_numbered(measure, -(-len(X) // _TILE), n_threads(n_jobs))
    return np.float64(farthest.mean())


def get_bin_seeds(X: Any, bin_size: float, min_bin_freq: int = 1) -> Array:
    """Return the places of a grid that are the nearest of enough rows.

    Parameters
    ----------
    X : array-like of shape (n, d)
    bin_size : float
        The width of the grid. With zero, the rows themselves are returned.
    min_bin_freq : int, default=1
        Rows that a place needs.

    Returns
    -------
    seeds : ndarray of shape (m, d)
        The rows themselves, with a warning, if each has a place of its own.

    Examples
    --------
    >>> from mercer.cluster import get_bin_seeds
    >>> get_bin_seeds([[0.1], [0.2], [3.0]], 1.0).tolist()
    [[0.0], [3.0]]
    """
    if bin_size == 0:
        return X
    rows = np.asarray(X)
    # Adding zero makes both zeros one.
    places, counts = np.unique(np.round(rows / bin_size) + 0.0, axis=0, return_counts=True)
    places = places[counts >= min_bin_freq]
    if len(places) == len(rows):
        warnings.warn(
            f"Binning data failed with provided bin_size={bin_size:f}, using data points as seeds.",
            UserWarning,
            stacklevel=2,
        )
        return rows
    return places * bin_size
