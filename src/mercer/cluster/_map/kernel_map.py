"""Self-organising maps in the feature space of a Mercer kernel."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer._base import Estimator, check_new_rows, fitting
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, attribute, parameter
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source.threads import one_blas_thread
from mercer._stored import Stored, floats, integers, numbers
from mercer.cluster._centres.kernel_k_means import KernelKMeans
from mercer.cluster._map.batch import Narrowing
from mercer.cluster._map.grid import Grid
from mercer.cluster._pairwise.annealing import Field
from mercer.errors import ModelFileError

_STATEMENT = (
    "Share of the weight that one more epoch at the last sigma would move to another unit: zero where every row is at "
    "the unit of its nearest prototype. A map has no cost function whose optimum this would bound."
)


@plain
@dataclass(frozen=True)
class KernelMapState:
    """Labels of the rows, labels of the nearest prototypes, the width, and the squared lengths of the prototypes."""

    labels: Any
    following: Any
    offsets: Any
    epoch: int
    sigma: float
    inertia: float
    moving: float
    settled: bool


@dataclass(frozen=True)
class KernelBatchMap:
    """The solver: prototypes are sums of features weighted by the neighbourhood of their units, never computed."""

    distances: Any
    diagonal: Any
    weight: Any
    grid: Grid
    sigma: Narrowing
    max_iter: int

    def solve(self, state: KernelMapState | None = None) -> Solver:
        """Narrow the neighbourhood, then iterate until no row moves; from the beginning or from `state`."""
        if state is None:
            labels = self._first()
            none = np.zeros(self.grid.n_units)
            state = KernelMapState(labels, labels, none, 0, self.sigma.first, np.inf, np.inf, False)
        while not state.settled and state.epoch < self.max_iter:
            state = yield from self._iterate(state)
        at_end = state.epoch >= self.sigma.length
        certificate = Certificate.of("fixed point", state.moving if at_end else 1.0, 0.0, _STATEMENT)
        return Solution(state, state.settled, certificate)

    def _iterate(self, state: KernelMapState) -> Any:
        labels, sigma = state.following, self.sigma.at(state.epoch)
        # The share of row i in prototype q is h_qp, p its unit; the mean field of pairwise clustering gives |Phi(x) -
        # w_q|^2.
        shares = self.grid.neighbourhood(sigma)[labels]
        field, _, spread = yield Field(self.distances, shares, self.weight, None)
        squares = np.maximum(0.5 * self.grid.n_units * field, 0.0)
        own = squares[np.arange(len(squares)), labels]
        best = squares.min(axis=1)
        # A row as near to its own prototype as to the nearest, up to rounding, stays.
        following = np.where(own <= best * (1.0 + 1e-12), labels, squares.argmin(axis=1))
        moving = float(self.weight @ (following != labels)) / float(self.weight.sum())
        sizes = self.weight @ shares
        lengths = (self.weight * self.diagonal) @ shares / np.where(sizes > 0, sizes, 1.0) - spread
        state = replace(
            state,
            labels=labels,
            following=following,
            offsets=np.where(sizes > 0, lengths, np.inf),
            epoch=state.epoch + 1,
            sigma=sigma,
            inertia=float(self.weight @ best),
            moving=moving,
            settled=moving == 0 and state.epoch + 1 >= self.sigma.length,
        )
        certificate = Certificate.of("fixed point", moving, 0.0, _STATEMENT)
        yield Step(state.inertia, state, certificate, {"sigma": sigma, "moving": moving})
        return state

    def _first(self) -> Any:
        """Label rows by two coordinates in feature space, along lines through two far rows (FastMap, 1995)."""
        with one_blas_thread():
            sizes = np.array([self.weight.sum()])
            from_mean = self.distances.means(self.weight[:, None], sizes)[:, 0]
            lines: list[Any] = []
            for _ in range(2):
                # A line through two rows that are far apart in feature space.
                first = self._farthest(from_mean)
                second = self._farthest(self._gaps(first, lines))
                near, far = self._gaps(first, lines), self._gaps(second, lines)
                length = float(near[second])
                # The law of cosines gives the coordinate along the line from the first to the second row.
                lines.append((near + length - far) / (2.0 * np.sqrt(length)) if length > 1e-300 else 0.0 * near)
        sides = [self.grid.n_columns, self.grid.n_rows]
        longer = int(sides[1] > sides[0])
        column, row = (_cells(lines[side != longer], sides[side]) for side in (0, 1))
        return row * self.grid.n_columns + column

    def _gaps(self, row: int, lines: list[Any]) -> Any:
        """Return the squared distances to row `row`, minus the part that the coordinates in `lines` explain."""
        gaps = self.distances.towards([row])[:, 0]
        return np.maximum(gaps - sum((line - line[row]) ** 2 for line in lines), 0.0)

    def _farthest(self, gaps: Any) -> int:
        """Return the row of positive weight with the largest value; the first among equals."""
        return int(np.argmax(np.where(self.weight > 0, gaps, -1.0)))


def _cells(values: Any, count: int) -> Any:
    """Return for each value in which of `count` equal intervals of the range it lies."""
    width = float(np.ptp(values)) or 1.0
    return np.minimum((count * (values - values.min()) / width).astype(np.int64), count - 1)


class KernelSelfOrganizingMap(KernelKMeans):
    r"""Self-organising map of the features of a kernel.

    The prototype of unit q is :math:`w_q = \sum_i h_{q p(i)} \Phi(x_i) / \sum_i h_{q p(i)}`, with :math:`p(i)` the
    winner of row i and h the neighbourhood on the grid, as in :class:`SelfOrganizingMap`; distances to it need kernels
    only. With the linear kernel this is the batch map.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        The unit whose neighbourhood each row counts in; after convergence its winner.
    positions_ : ndarray of shape (n_rows * n_columns, 2)
        The place of each unit on the map, across and up.
    sigma_ : float
        The last width used.
    inertia_ : float
        Weighted sum of squared distances to the nearest prototypes, in feature space.
    offsets_, training_rows_, training_weight_, n_iter_, n_features_in_, feature_names_in_ :
        As in :class:`KernelKMeans`.
    history_ : dict of ndarray
        Per epoch: ``objective`` (the inertia), ``sigma``, ``moving``, ``seconds``.
    converged_ : bool
        Whether the annealing ended and no row moved any more.
    certificate_ : Certificate
        ``"fixed point"``: the share of the weight that one more epoch at the last width would move.

    Notes
    -----
    Cost and memory as in :class:`KernelKMeans`. Nothing is drawn: rows begin in the units of two coordinates in feature
    space. Weights are repetitions.

    References
    ----------
    R. Boulet, B. Jouve, F. Rossi and N. Villa, Batch kernel SOM and related Laplacian methods, 2008.

    Examples
    --------
    >>> from mercer.cluster import KernelSelfOrganizingMap
    >>> from sklearn.datasets import load_iris
    >>> model = KernelSelfOrganizingMap(3, 4, gamma=0.5).fit(load_iris().data)
    >>> model.positions_[model.labels_].shape
    (150, 2)
    """

    n_rows: int = parameter(Integer(1), default=5, kw_only=False, doc="Rows of the grid.")
    n_columns: int = parameter(Integer(1), default=5, kw_only=False, doc="Columns of the grid.")
    topology: str = parameter(
        Choice("rectangular", "hexagonal"), default="rectangular", doc="As in :class:`SelfOrganizingMap`."
    )
    torus: bool = parameter(Boolean(), default=False, doc="The grid, as in :class:`SelfOrganizingMap`.")
    sigma: float | None = parameter(
        Real(0, closed="neither") | Nothing(),
        default=None,
        after="coef0",
        doc="The first width; None means a quarter of the longer side, and at least `sigma_end`.",
    )
    sigma_end: float = parameter(Real(0, closed="neither"), default=0.5, doc="The last width.")
    decay: str = parameter(Choice("exponential", "linear"), default="exponential", doc="How the width falls.")
    annealing_iter: int = parameter(Integer(1), default=15, doc="Epochs in which it falls.")
    max_iter: int = parameter(Integer(1), default=100, doc="Most epochs.")

    _documents = {
        "coef0": "The kernel, as in :class:`KernelKMeans`.",
        "verbose": "Whether to print each epoch.",
    }

    n_clusters: Any = attribute()
    n_init: Any = attribute()
    random_state: Any = attribute()
    start: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {
        "training_rows_": numbers("training, columns", finite=True),
        "training_weight_": floats("training"),
        "labels_": integers("training", low=0),
        "positions_": floats("clusters, *"),
        "sigma_": floats(),
    }
    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | {
        "check_clustering": "a map has more units than the data have groups; its labels cut groups into cells",
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelSelfOrganizingMap":
        """Unfold the map among the rows.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) with ``kernel="precomputed"``
        """
        grid = self._grid
        grid.check(type(self).__name__)
        source = self._open(X, None, sample_weight)
        rows = source.whole()
        weight = np.ones(len(rows)) if source.weight is None else source.weight
        distances, diagonal = self._distances(rows)
        widest = max(self.sigma_end, 0.25 * max(grid.n_rows, grid.n_columns)) if self.sigma is None else self.sigma
        sigma = Narrowing(widest, self.sigma_end, self.annealing_iter, self.decay)
        solver = KernelBatchMap(distances, diagonal, weight, grid, sigma, self.max_iter)
        given = {"training_rows_": None if self.kernel == "precomputed" else rows, "training_weight_": weight}
        given["positions_"] = grid.positions.astype(source.host_dtype)
        outcome = self._drive(solver.solve, source, max_steps=self.max_iter, attributes=given)
        self._conclude(outcome, cure="raise max_iter")
        return self

    def _check_structure(self) -> None:
        super()._check_structure()
        if vars(self).get("labels_", np.zeros(1)).max(initial=0) >= self.n_rows * self.n_columns:
            raise ModelFileError(
                f"KernelSelfOrganizingMap.labels_ must be below n_rows * n_columns = {self.n_rows * self.n_columns}; "
                f"the file's are not."
            )

    def predict(self, X: Any) -> np.ndarray:
        """Return the unit whose prototype is nearest in feature space.

        Parameters
        ----------
        X : array-like of shape (m, d), or with ``kernel="precomputed"`` (m, n), the kernels with the rows of the fit
        """
        rows = check_new_rows(self, X)
        shares = self._grid.neighbourhood(self.sigma_)[self.labels_] * self.training_weight_[:, None]
        return self._nearest(rows, shares)

    @property
    def _grid(self) -> Grid:
        return Grid(self.n_rows, self.n_columns, self.topology, self.torus)

    def _fitted(self, state: KernelMapState) -> dict[str, Any]:  # type: ignore[override]
        labels = state.labels.astype(np.int32)
        return {"labels_": labels, "offsets_": state.offsets, "inertia_": state.inertia, "sigma_": state.sigma}
