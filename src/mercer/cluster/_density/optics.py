"""OPTICS: rows in the order in which they are reached, and the clusters that show as valleys of the distances."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from joblib import Memory
from scipy.spatial.distance import cdist
from sklearn.exceptions import DataConversionWarning, EfficiencyWarning
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS
from sklearn.utils import check_array
from sklearn.utils.validation import check_memory

from mercer._base import LimitedEstimator, fitting
from mercer._base.interface import ClusterMixin
from mercer._base.parameter import (
    Boolean,
    Choice,
    Function,
    Instance,
    Integer,
    MetricName,
    Nothing,
    Options,
    Real,
    Share,
    Text,
    attribute,
    parameter,
)
from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.neighbours.metric import Metric
from mercer._source.namespace import is_sparse_matrix
from mercer._stored import Stored, floats, integers
from mercer._types import Array, Rows
from mercer.cluster._density.optics_valleys import cluster_optics_dbscan, cluster_optics_xi, read_size
from mercer.errors import DataError
from mercer.neighbors import NearestNeighbors

# Distances of a step: their computation takes some 20 ms, as long as Ctrl-C may wait.
_STEP = 2**22
_EXACT = Certificate.none("The order is exact for the rows as they are given; nothing is optimised.")


@plain
@dataclass(frozen=True, eq=False)
class ReachState:
    """The rows in the order so far, the distance at which each row is reached, and the row it is reached from."""

    order: Array
    reachability: Array
    predecessor: Array


@dataclass(frozen=True, eq=False)
class ReachOrder:
    """The solver: take the row that is nearest to those before, and see which rows it is nearer to than they were.

    ``distances`` gives those of one row, by its index, to some; ``core`` holds the distance of each row to its m-th
    nearest, and infinity where that is beyond ``max_eps``.
    """

    distances: Callable[[int, Array], Array]
    core: Array
    max_eps: float

    def start(self) -> ReachState:
        """Return the state before the first row."""
        n = len(self.core)
        return ReachState(np.empty(0, np.int64), np.full(n, np.inf), np.full(n, -1, np.int64))

    def solve(self, state: ReachState) -> Solver:
        """Order the rows from `state` on."""
        n = len(self.core)
        while len(state.order) < n:
            known = state
            state = yield Dense(lambda: self.advance(known, max(1, _STEP // n)))  # noqa: B023 (answered at once)
            yield Step(float(n - len(state.order)), state, _EXACT)
        return Solution(state, True, _EXACT)

    def advance(self, state: ReachState, count: int) -> ReachState:
        """Take `count` rows, or those that are left."""
        n = len(self.core)
        reachability, predecessor = state.reachability.copy(), state.predecessor.copy()
        waiting = np.ones(n, bool)
        waiting[state.order] = False
        # Rows that wait, in the order of their indices, are kept together, and cut down when half of them are taken.
        left = np.flatnonzero(waiting)
        reach, fresh = reachability[left], np.ones(len(left), bool)
        taken: list[int] = []
        while len(taken) < min(count, n - len(state.order)):
            place = int(np.where(fresh, reach, np.inf).argmin())
            if not fresh[place]:
                # No waiting row is reached: the first one begins anew.
                place = int(fresh.argmax())
            row = int(left[place])
            fresh[place] = False
            taken.append(row)
            reachability[row] = reach[place]
            if self.core[row] < np.inf:
                gaps = self.distances(row, left)
                found = np.maximum(gaps, self.core[row])
                nearer = fresh & (found < reach) & (gaps <= self.max_eps)
                reach[nearer] = found[nearer]
                predecessor[left[nearer]] = row
            if np.count_nonzero(fresh) * 2 < len(left):
                left, reach = left[fresh], reach[fresh]
                fresh = np.ones(len(left), bool)
        reachability[left[fresh]] = reach[fresh]
        return ReachState(np.concatenate([state.order, taken]).astype(np.int64), reachability, predecessor)


def measure_from(X: Rows, metric: Any, p: float | None, parameters: dict[str, Any] | None) -> Any:
    """Return the function from a row's index and other indices to the distances between them."""
    if metric == "precomputed":
        if is_sparse_matrix(X):
            return lambda row, others: _read_stored(X, row)[others]
        return lambda row, others: X[row, others]
    measure = Metric(metric, parameters, p)
    if measure.name == "euclidean" and not measure.arguments and not is_sparse_matrix(X):
        # Without the checks that names of metrics need, a row takes a tenth of the time.
        return lambda row, others: cdist(X[row : row + 1], X[others])[0]
    return lambda row, others: measure.distances(X[[row]], X[others])[0]


def _read_stored(D: Rows, row: int) -> Array:
    """Return the distances of a row; those that are not stored are infinite."""
    distances = np.full(D.shape[1], np.inf)
    stored = slice(D.indptr[row], D.indptr[row + 1])
    distances[D.indices[stored]] = D.data[stored]
    return distances


def find_core_distances(
    X: Rows, min_samples: int, max_eps: float, threads: int | None, search: dict[str, Any]
) -> Array:
    """Return the distance of each row to its m-th nearest, itself counted; infinity where it is beyond `max_eps`."""
    with warnings.catch_warnings():
        # The rows were made what the metric takes, with a warning of their own; given distances may be in any order.
        warnings.simplefilter("ignore", DataConversionWarning)
        warnings.simplefilter("ignore", EfficiencyWarning)
        near = NearestNeighbors(n_neighbors=min_samples, n_jobs=threads, **search).fit(X)
        core = near.kneighbors(X, min_samples)[0][:, -1].astype(np.float64)
    core[core > max_eps] = np.inf
    return core


class OPTICS(ClusterMixin, LimitedEstimator):
    r"""OPTICS: the order in which rows are reached, from dense places to sparse ones.

    A row is core at distance c, that to its m-th nearest row. From each row on, the next one in the order is that of
    least reachability: the least, over the rows before it, of the larger of their core distance and the distance to
    it. In this order clusters are valleys of the reachability, of whatever density; they are taken out by their steep
    sides, one in another, or all at one level, which are the clusters of :class:`DBSCAN`.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int64
        The cluster of each row, -1 for noise; of clusters in one another the innermost.
    ordering_ : ndarray of shape (n,), int64
        The rows in their order.
    reachability_ : ndarray of shape (n,)
        By row; infinite where a row is reached from none.
    core_distances_ : ndarray of shape (n,)
        By row; infinite beyond `max_eps`.
    predecessor_ : ndarray of shape (n,), int64
        The row that each is reached from, -1 for none.
    cluster_hierarchy_ : ndarray of shape (n_clusters, 2)
        With ``cluster_method="xi"``: first and last place in the order of each cluster, those inside another before it.
    history_, converged_, n_iter_, certificate_
        As every estimator has them: the objective is the number of rows left to order, and nothing is optimised.

    Notes
    -----
    The order compares all pairs of rows, in O(n) memory. A sparse matrix of given distances has only those stored.

    References
    ----------
    M. Ankerst, M. Breunig, H.-P. Kriegel and J. Sander, OPTICS: ordering points to identify the clustering structure,
    1999. E. Schubert and M. Gertz, Improving the cluster structure extracted from OPTICS plots, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import OPTICS
    >>> X = np.array([[1, 2], [2, 5], [3, 6], [8, 7], [8, 8], [7, 3]])
    >>> OPTICS(min_samples=2).fit(X).labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    _needs_rows: ClassVar[str] = "it searches the neighbours of every row among all rows"

    min_samples: float = parameter(
        Integer(2) | Share(0, 1),
        default=5,
        doc="Rows within the core distance, itself counted; a number below one is a share of the rows.",
    )
    max_eps: float = parameter(Real(0), default=np.inf, doc="Rows farther apart do not reach each other.")
    metric: Any = parameter(
        MetricName() | Function(),
        default="minkowski",
        doc="Any metric of scikit-learn's ``pairwise_distances``, a function of two rows, or ``'precomputed'``.",
    )
    p: float = parameter(Real(1), default=2, doc="The power of ``metric='minkowski'``.")
    metric_params: dict[str, Any] | None = parameter(
        Options() | Nothing(), default=None, doc="More arguments of the metric."
    )
    cluster_method: str = parameter(
        Choice("xi", "dbscan"), default="xi", doc="Valleys by their steep sides, or all below the level `eps`."
    )
    eps: float | None = parameter(Real(0) | Nothing(), default=None, doc="That level; None means `max_eps`.")
    xi: float = parameter(
        Real(0, 1), default=0.05, doc="The share by which reachability falls or rises at a steep place."
    )
    predecessor_correction: bool = parameter(
        Boolean(), default=True, doc="Whether a cluster ends with the last row that is reached from inside it."
    )
    min_cluster_size: float | None = parameter(
        Integer(2) | Share(0, 1) | Nothing(),
        default=None,
        doc="Rows of the smallest cluster, or a share of the rows; None means `min_samples`.",
    )
    algorithm: str = parameter(
        Choice("auto", "ball_tree", "kd_tree", "brute"), default="auto", doc="How core distances are found."
    )
    leaf_size: int = parameter(Integer(1), default=30, doc="The rows in a leaf of scikit-learn's trees.")
    memory: Any = parameter(
        Text() | Instance(Memory) | Nothing(),
        default=None,
        doc="A folder, or a joblib memory, where the order is kept for the next fit to the same rows.",
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "labels_": integers("rows", low=-1),
        "ordering_": integers("rows", low=0, below="rows"),
        "reachability_": floats("rows"),
        "core_distances_": floats("rows"),
        "predecessor_": integers("rows", low=-1, below="rows"),
        "cluster_hierarchy_": integers("*, 2 | 0", low=0, below="rows"),
    }
    _takes_sparse = True
    _depends_on_units = ("columns",)
    _law_exceptions: ClassVar[dict[str, str]] = {"memory": "the search tree keeps the rows in its own order"}

    labels_: Array = attribute()

    @fitting
    def fit(self, X: Any, y: Any = None) -> "OPTICS":
        """Order the rows, and find their clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), or (n, n) with metric='precomputed'
        """
        boolean = self.metric in PAIRWISE_BOOLEAN_FUNCTIONS if isinstance(self.metric, str) else False
        if boolean and np.dtype(getattr(X, "dtype", float)).kind != "b":
            warnings.warn(
                f"OPTICS: Data will be converted to boolean for metric {self.metric}, to avoid this warning, you may "
                f"convert the data prior to calling fit.",
                DataConversionWarning,
                stacklevel=4,
            )
        source = self._open(X, accept_sparse="csr")
        rows = source.whole()
        if boolean:
            rows = np.asarray(rows) != 0
        m = read_size("OPTICS", "min_samples", self.min_samples, rows.shape[0])
        if self.cluster_method == "dbscan" and self.eps is not None and self.eps > self.max_eps:
            raise DataError(
                f"OPTICS: Specify an epsilon smaller than {self.max_eps}. Got {self.eps}. Lower eps, or raise max_eps."
            )
        self.__dict__.pop("cluster_hierarchy_", None)
        solver, core = self._make_solver(rows, m)
        first = solver.start()
        outcome = self._drive(
            lambda state: solver.solve(state or first),
            source,
            fitted=self._read_order,
            attributes={"core_distances_": core},
        )
        state = outcome.state
        if np.isinf(state.reachability).all():
            warnings.warn(
                "OPTICS: All reachability values are inf. Set a larger max_eps or all data will be considered "
                "outliers.",
                UserWarning,
                stacklevel=4,
            )
        self._store_labels(state, m)
        self._conclude(outcome, cure="raise max_time")
        return self

    def _make_solver(self, rows: Rows, m: int) -> tuple[ReachOrder, Array]:
        """Return the solver and the core distances; given distances have their diagonal stored."""
        if self.metric == "precomputed" and is_sparse_matrix(rows):
            rows = rows.copy()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows.setdiag(rows.diagonal())
        search = {
            "algorithm": self.algorithm,
            "leaf_size": self.leaf_size,
            "metric": self.metric,
            "metric_params": self.metric_params,
            "p": self.p,
        }
        find = find_core_distances
        if self.memory is not None:
            find = check_memory(self.memory).cache(find_core_distances, ignore=["threads"])
        core = find(rows, m, self.max_eps, self.n_jobs, search)
        wide = rows if is_sparse_matrix(rows) or rows.dtype == bool else rows.astype(np.float64, copy=False)
        distances = measure_from(wide, self.metric, self.p, self.metric_params)
        return ReachOrder(distances, core, self.max_eps), core

    def _read_order(self, state: ReachState) -> dict[str, Any]:
        # After an interrupt the rows that were not reached come last.
        rest = np.setdiff1d(np.arange(len(state.reachability)), state.order)
        return {
            "ordering_": np.concatenate([state.order, rest]),
            "reachability_": state.reachability,
            "predecessor_": state.predecessor,
        }

    def _store_labels(self, state: ReachState, m: int) -> None:
        if self.cluster_method == "dbscan":
            self.labels_ = cluster_optics_dbscan(
                reachability=state.reachability,
                core_distances=self.core_distances_,
                ordering=self.ordering_,
                eps=self.max_eps if self.eps is None else self.eps,
            )
            return
        self.labels_, self.cluster_hierarchy_ = cluster_optics_xi(
            reachability=state.reachability,
            predecessor=state.predecessor,
            ordering=self.ordering_,
            min_samples=m,
            min_cluster_size=self.min_cluster_size,
            xi=self.xi,
            predecessor_correction=self.predecessor_correction,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def compute_optics_graph(
    X: Any,
    *,
    min_samples: float,
    max_eps: float,
    metric: Any,
    p: float,
    metric_params: dict[str, Any] | None,
    algorithm: str,
    leaf_size: int,
    n_jobs: int | None,
) -> tuple[Array, Array, Array, Array]:
    """Order rows as :class:`OPTICS` does; the parameters are its own.

    Returns
    -------
    ordering : ndarray of shape (n,)
    core_distances, reachability : ndarrays of shape (n,)
    predecessor : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import compute_optics_graph
    >>> options = {"p": 2, "metric_params": None, "algorithm": "auto", "leaf_size": 30, "n_jobs": None}
    >>> order, core, reach, before = compute_optics_graph(
    ...     np.array([[0.0], [5.0], [1.0]]), min_samples=2, max_eps=np.inf, metric="minkowski", **options
    ... )
    >>> order.tolist(), reach.tolist()
    ([0, 2, 1], [inf, 4.0, 1.0])
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32, bool])
    m = read_size("compute_optics_graph", "min_samples", min_samples, X.shape[0])
    search = {
        "algorithm": algorithm,
        "leaf_size": leaf_size,
        "metric": metric,
        "metric_params": metric_params,
        "p": p,
    }
    core = find_core_distances(X, m, max_eps, n_jobs, search)
    solver = ReachOrder(measure_from(X, metric, p, metric_params), core, max_eps)
    state = solver.advance(solver.start(), X.shape[0])
    return state.order, core, state.reachability, state.predecessor
