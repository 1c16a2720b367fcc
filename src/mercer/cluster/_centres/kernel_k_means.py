"""Kernel k-means: k-means in the feature space of a Mercer kernel."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import Estimator, LimitedEstimator, check_new_rows, fitting, seed_sequence
from mercer._base.interface import ClusterMixin
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Function, Integer, Nothing, Real, Seed, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import run_large
from mercer._solver.restarts import Restarts, keep_best_run
from mercer._solver.tiled_matrix import kernel_matrix
from mercer._source.memory import require_memory
from mercer._stored import Stored, floats, integers, numbers
from mercer._types import Array
from mercer.cluster._centres.init_rules import check_enough_rows
from mercer.cluster._numbering import order_by_first_rows
from mercer.cluster._pairwise.annealing import Field
from mercer.cluster._pairwise.energy import DistanceMatrix, SquaredDistances
from mercer.errors import DataError, ModelFileError
from mercer.kernels import Kernel, Linear, as_kernel, warn_of_scale

_STATEMENT = (
    "Share of the weight that one more iteration would move to another cluster: zero at a local optimum of the "
    "inertia, where every row has its nearest mean. It bounds nothing globally."
)
# Runs whose inertias differ by less than this relative amount ended in the same optimum: the first is kept.
_EQUAL = 1e-9
# Rows predicted at a time: 512 n kernel values fit into memory where the n^2 of a fit did.
_ROWS = 512


@plain
@dataclass(frozen=True, eq=False)
class KernelRun:
    """One run: means are those of the clusters ``labels``; ``following`` is each row's nearest mean.

    ``offsets`` are the squared lengths of the means, which predictions need. ``moving`` is the share of the weight
    whose label changes.
    """

    iteration: int
    labels: Array
    following: Array
    offsets: Array
    inertia: float = np.inf
    moving: float = np.inf

    def improves_on(self, other: "KernelRun") -> bool:
        """Return whether the inertia is lower than that of `other` by more than rounding."""
        return self.inertia < other.inertia * (1.0 - _EQUAL)


@dataclass(frozen=True)
class KernelLloyd:
    """The solver and its settings; `distances` are squared distances of features, `diagonal` holds k(x_i, x_i)."""

    distances: DistanceMatrix | SquaredDistances
    diagonal: Array
    weight: Array
    n_clusters: int
    start: Any
    n_init: int
    max_iter: int
    seed: Array

    def solve(self, state: Restarts | None = None) -> Solver:
        """Run all restarts, from the beginning or from `state`."""
        state = yield from keep_best_run(self._begin, self._descend, self.n_init, self.seed, state)
        certificate = Certificate.of("fixed point", state.best.moving, 0.0, _STATEMENT)
        return Solution(state, certificate.satisfied, certificate)

    def _begin(self, seed: np.random.SeedSequence, restart: int) -> Any:
        """Return a run at its first labels; a generator, like every start, but without requests."""
        labels = self._draw_labels(np.random.default_rng(seed))
        return KernelRun(0, labels, labels, np.zeros(self.n_clusters))
        yield

    def _descend(self, run: KernelRun) -> Any:
        """Iterate one run until no row changes its cluster."""
        while run.moving > 0 and run.iteration < self.max_iter:
            labels = run.following
            squares, offsets = yield from self._squares(labels)
            own = squares[np.arange(len(squares)), labels]
            # A row as near to its own mean as to the nearest, up to rounding, stays: otherwise rounding could move it
            # for ever.
            stays = own <= squares.min(axis=1) * (1.0 + 1e-12)
            following = self._fill_empty(np.where(stays, labels, squares.argmin(axis=1)), squares)
            moving = float(self.weight @ (following != labels)) / float(self.weight.sum())
            run = KernelRun(run.iteration + 1, labels, following, offsets, float(self.weight @ own), moving)
            yield Step(run.inertia, run, Certificate.of("fixed point", moving, 0.0, _STATEMENT), {"moving": moving})
        return run

    def _squares(self, labels: Array) -> Any:
        """Return the squared distances of all rows to the cluster means, (n, k), and the means' squared lengths."""
        members = np.eye(self.n_clusters)[labels]
        field, _, spread = yield Field(self.distances, members, self.weight, None)
        sizes = self.weight @ members
        # |m|^2 = sum_i w_i k(x_i, x_i) / n_q - spread, spread being the mean squared distance to the mean.
        lengths = (self.weight * self.diagonal) @ members / np.where(sizes > 0, sizes, 1.0) - spread
        return np.maximum(0.5 * self.n_clusters * field, 0.0), np.where(sizes > 0, lengths, np.inf)

    def _fill_empty(self, labels: Array, squares: Array) -> Array:
        """Give each empty cluster the row farthest from the mean of its own cluster; return the labels."""
        counts = np.bincount(labels[self.weight > 0], minlength=self.n_clusters)
        for empty in np.flatnonzero(counts == 0):
            # Taking the only row of a cluster would empty that one.
            far = np.where((self.weight > 0) & (counts[labels] > 1), squares[np.arange(len(labels)), labels], -1.0)
            row = int(np.argmax(far))
            if far[row] <= 0:
                break
            counts[labels[row]] -= 1
            labels[row], counts[empty] = empty, 1
        return labels

    def _draw_labels(self, generator: np.random.Generator) -> Array:
        """Return the first labels: those given, random ones, or the nearest of k rows drawn by k-means++."""
        if not isinstance(self.start, str):
            return self.start
        if self.start == "random":
            return generator.integers(self.n_clusters, size=len(self.weight))
        drawn = [_draw(generator, self.weight)]
        closest = self.distances.towards(drawn)[:, 0]
        while len(drawn) < self.n_clusters:
            # k-means++: chances in proportion to weight times squared distance in feature space.
            chances = self.weight * np.maximum(closest, 0.0)
            drawn.append(_draw(generator, chances if chances.sum() > 0 else self.weight))
            closest = np.minimum(closest, self.distances.towards(drawn[-1:])[:, 0])
        return self.distances.towards(drawn).argmin(axis=1)


def _draw(generator: np.random.Generator, chances: Array) -> int:
    """Return the index of a row drawn in proportion to `chances`."""
    cumulative = np.cumsum(chances)
    return int(np.searchsorted(cumulative, generator.random() * cumulative[-1], side="right").clip(0, len(chances) - 1))


class KernelKMeans(ClusterMixin, LimitedEstimator):
    r"""k-means in the feature space of a kernel, which separates what no straight border does.

    Minimises :math:`\sum_i w_i \lVert \Phi(x_i) - m_{a(i)} \rVert^2` over labels a, with :math:`m_q` the mean of the
    features of cluster q. Only kernels are needed:

    .. math:: \lVert \Phi(x) - m_q \rVert^2 = k(x, x) - \frac{2}{n_q} \sum_{j \in q} w_j k(x, x_j)
              + \frac{1}{n_q^2} \sum_{i, j \in q} w_i w_j k(x_i, x_j)

    with :math:`n_q` the weight of cluster q. Each row goes to the nearest mean until none moves.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        The cluster of each row, in the order of their first rows.
    inertia_ : float
        The objective at the labels.
    offsets_ : ndarray of shape (k,)
        Squared length of each mean in feature space.
    training_rows_ : ndarray of shape (n, d) or None
        The rows, which predictions take kernels with; None where kernels were given.
    training_weight_ : ndarray of shape (n,)
    history_ : dict of ndarray
        Per iteration: ``objective``, ``restart``, ``moving`` (the share that changed clusters), ``seconds``.
    converged_ : bool
        Whether no row of the best run would move.
    certificate_ : Certificate
        ``"fixed point"``: the share of the weight that one more iteration would move. Zero proves a local optimum.

    Notes
    -----
    An iteration costs n^2 k, and memory is n^2 numbers for the kernels; with the linear kernel n d k and none. In
    memory only. Weights are repetitions. An empty cluster takes the row that is farthest from its mean.

    References
    ----------
    B. Scholkopf, A. Smola and K.-R. Muller, Nonlinear component analysis as a kernel eigenvalue problem, 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import KernelKMeans
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)]) * np.tile([1.0, 5.0], 30)[:, None]
    >>> model = KernelKMeans(2, gamma=0.1, random_state=0).fit(X)
    >>> bool(np.all(model.labels_ == np.tile([0, 1], 30)))
    True
    """

    _needs_rows: ClassVar[str] = "it compares every pair of rows"

    n_clusters: int = parameter(Integer(1), default=8, kw_only=False, doc="The number of clusters, k.")
    kernel: Any = parameter(
        Choice("rbf", "linear", "poly", "laplacian", "cosine", "precomputed") | Function(),
        default="rbf",
        doc="The kernel k by name, as an object of :mod:`mercer.kernels`, or a function of two matrices of rows; "
        "``'precomputed'`` means that X holds the kernels themselves, symmetric.",
    )
    gamma: float | None = parameter(
        Real(0, closed="neither") | Nothing(), default=None, doc="Of rbf, poly and laplacian; None means 1 / d."
    )
    degree: int = parameter(Integer(1), default=3, doc="Of poly.")
    coef0: float = parameter(Real(0), default=1, doc="Of poly.")
    start: Any = parameter(
        Choice("k-means++", "random") | ArrayRule(),
        default="k-means++",
        doc="The first labels: of the nearest of rows drawn by k-means++ in feature space, at random, or given, one "
        "a row.",
    )
    n_init: int = parameter(Integer(1), default=5, doc="Runs; the best is kept. Given labels make one.")
    max_iter: int = parameter(Integer(1), default=300, doc="Most iterations of a run.")
    random_state: Any = parameter(Seed(), default=None, doc="Seed of the first labels.")
    verbose: int = parameter(Integer(0) | Boolean(), default=0)

    # The runs of several restarts follow one another, and each begins higher than the last ended.
    _objective_moves = None
    _stored: ClassVar[dict[str, Stored]] = {
        "training_rows_": numbers("training, columns", finite=True),
        "training_weight_": floats("training"),
        "labels_": integers("training", low=0),
        "offsets_": floats("clusters"),
        "inertia_": floats(),
    }
    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "distances of every row to every cluster and a centred copy of the rows are kept: n (d + k) numbers"
    }
    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        "check_sample_weight_equivalence_on_dense_data": (
            "first rows are drawn at random in proportion to the weights: weights are repetitions in distribution"
        )
    }
    _depends_on_units = ("columns", "place")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelKMeans":
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) with ``kernel="precomputed"``
        """
        source = self._open(X, None, sample_weight)
        rows = source.whole()
        check_enough_rows(self, len(rows))
        weight = np.ones(len(rows)) if source.weight is None else source.weight
        distances, diagonal = self._distances(rows)
        start = self._check_start(len(rows))
        # A given start leaves nothing to chance, so one run is all there is.
        n_init = int(self.n_init) if isinstance(start, str) else 1
        seed = seed_sequence(self.random_state).generate_state(8)
        solver = KernelLloyd(distances, diagonal, weight, self.n_clusters, start, n_init, self.max_iter, seed)
        # New rows are compared with those of the fit; given kernels have no rows to keep.
        known = {"training_rows_": None if self.kernel == "precomputed" else rows, "training_weight_": weight}
        outcome = self._drive(solver.solve, source, max_steps=n_init * self.max_iter, attributes=known)
        self._conclude(outcome, cure="raise max_iter")
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit to `X` and return the cluster of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster whose mean is nearest in feature space.

        Parameters
        ----------
        X : array-like of shape (m, d), or with ``kernel="precomputed"`` (m, n), the kernels with the rows of the fit
        """
        rows = check_new_rows(self, X)
        return self._nearest(rows, np.eye(self.n_clusters)[self.labels_] * self.training_weight_[:, None])

    def _check_structure(self) -> None:
        labels, offsets = vars(self).get("labels_"), vars(self).get("offsets_", ())
        wanted = vars(self).get("n_clusters", len(offsets))
        if labels is not None and (len(offsets) != wanted or labels.max(initial=0) >= len(offsets)):
            raise ModelFileError(
                f"{type(self).__name__}: offsets_ and labels_ must be of {wanted} clusters; the file's are not."
            )

    def _nearest(self, rows: Any, shares: Any) -> np.ndarray:
        """Return the nearest cluster mean of each row; cluster q has share ``shares[i, q]`` of training row i."""
        sizes = shares.sum(axis=0)
        shares = shares / np.where(sizes > 0, sizes, 1.0)
        labels = []
        for begin in range(0, len(rows), _ROWS):
            part = rows[begin : begin + _ROWS].astype(np.float64)
            kernels = part if self.kernel == "precomputed" else self._kernels(part, self.training_rows_)
            # k(x, x) is equal for all means and is left out.
            labels.append((self.offsets_ - 2.0 * (kernels @ shares)).argmin(axis=1))
        return np.concatenate(labels).astype(np.int32)

    def _kernel(self, rows: Any) -> Kernel:
        return as_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, rows=rows)

    def _kernels(self, rows: Any, others: Any) -> Any:
        return self._kernel(others)(rows, others.astype(np.float64, copy=False))

    def _distances(self, rows: Any) -> tuple[DistanceMatrix | SquaredDistances, Any]:
        """Return the squared distances in feature space, and k(x_i, x_i) of each row, (n,)."""
        n = len(rows)
        if type(self.kernel) is Linear or (isinstance(self.kernel, str) and self.kernel == "linear"):
            shifted, norms, own = run_large(partial(_shift_rows, rows), rows.size)
            return SquaredDistances(shifted, norms, self._threads()), own
        cure = "use kernel='linear', or cluster fewer rows and predict the others"
        require_memory(type(self).__name__, 16.0 * n * n, f"the {n} x {n} kernels", cure)
        if self.kernel == "precomputed":
            matrix = _check_kernels(type(self).__name__, rows)
        else:
            kernel = self._kernel(rows)
            warn_of_scale(type(self).__name__, kernel, rows)
            matrix = kernel_matrix(kernel, kernel.prepare(rows.astype(np.float64)), self._threads())
        diagonal = matrix.diagonal().copy()
        # In place: |Phi(x) - Phi(y)|^2 = k(x, x) - 2 k(x, y) + k(y, y).
        matrix *= -2.0
        matrix += diagonal[:, None]
        matrix += diagonal
        return DistanceMatrix(matrix, None, self._threads()), diagonal

    def _check_start(self, n_rows: int) -> Any:
        if isinstance(self.start, str):
            return self.start
        labels = np.asarray(self.start)
        if labels.shape != (n_rows,) or labels.dtype.kind not in "iu" or not set(labels) <= set(range(self.n_clusters)):
            raise DataError(
                f"{type(self).__name__}: start must hold a label from 0 to {self.n_clusters - 1} for each of the "
                f"{n_rows} rows; got an array of shape {labels.shape}."
            )
        return labels.astype(np.int64)

    def _fitted(self, state: Restarts) -> dict[str, Any]:
        run = state.choose()[0]
        order = order_by_first_rows(run.labels, self.n_clusters)
        places = np.empty(self.n_clusters, dtype=np.int32)
        places[order] = np.arange(self.n_clusters, dtype=np.int32)
        return {"labels_": places[run.labels], "offsets_": run.offsets[order], "inertia_": run.inertia}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _check_kernels(subject: str, matrix: Any) -> Any:
    """Return a copy of a matrix of kernels; raise if it is not symmetric with a non-negative diagonal."""
    if matrix.shape != (len(matrix), len(matrix)):
        raise DataError(
            f"{subject}: kernels must be a square matrix; got shape {matrix.shape}. Give k(x, y) of all pairs."
        )
    scale = float(np.abs(matrix).max())
    # 1e-6 of the largest entry allows for kernels that were computed in float32.
    if np.abs(matrix - matrix.T).max() > 1e-6 * scale or matrix.diagonal().min() < 0:
        raise DataError(
            f"{subject}: kernels must be symmetric with a non-negative diagonal; got others. Check the kernel."
        )
    return matrix.astype(np.float64)


def _shift_rows(rows: Any) -> tuple[Any, Any, Any]:
    """Return rows about their mean, the squares of their lengths, and those of the rows as they are."""
    # Rows about their mean have the same distances, and fewer digits cancel.
    shifted = rows - rows.mean(axis=0, dtype=np.float64)
    lengths = np.einsum("ij,ij->i", shifted, shifted)
    return shifted, lengths, np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
