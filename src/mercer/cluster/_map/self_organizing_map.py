"""Self-organising maps: prototypes on a grid, neighbours on the grid near each other among the rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base import few_rows, fitting, open_new_rows, seed_sequence
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, Seed, parameter
from mercer._native.space import map_steps
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.centres.assignment import Assignment, Memory
from mercer._solver.centres.centres import Centres
from mercer._solver.centres.first_centres import around_the_mean, column_moments
from mercer._solver.centres.row_draw import RowDraw, WeightedRows
from mercer._solver.restarts import child_seed
from mercer._source import ArraySource, Block, Source
from mercer._source.block import DenseBlock
from mercer._source.memory import require_memory
from mercer._source.namespace import namespace_of, to_numpy
from mercer._stored import Stored, floats, integers, numbers
from mercer._types import Array
from mercer.cluster._centres.centre_model import CentreModel
from mercer.cluster._map.batch import BatchMap, MapErrors, MapErrorSums, MapState, Narrowing, principal_plane
from mercer.cluster._map.grid import Grid
from mercer.errors import DataError

_NONE = np.empty(0)
# The neighbourhood and the rate are lowered this often in an epoch; a piece is also short enough for Ctrl-C.
_PIECES = 256
_HEURISTIC = (
    "Nothing bounds how far an online map is from a fixed point: its units follow the rows at the last learning rate."
)


@dataclass(frozen=True, eq=False)
class Presentation:
    """A request for one epoch: show each row once to the units; the answer is the moved units."""

    grid: Grid
    centres: Array
    order: Array
    sigma: Narrowing
    rate: Narrowing
    epoch: int

    def answer(self, source: Source) -> Array:
        centres = self.centres.copy()
        weight = _NONE if source.weight is None else source.weight
        point = np.empty(source.n_features)
        # Width and rate fall within an epoch too, from piece to piece.
        for index, piece in enumerate(np.array_split(self.order, min(_PIECES, len(self.order)))):
            time = self.epoch + index / _PIECES
            factors = self.grid.factors(self.sigma.at(time))
            rate = self.rate.at(time)
            map_steps.follow_rows(source.whole(), piece, weight, *factors, *self.grid.places, rate, point, centres)
        return centres


@dataclass(frozen=True)
class OnlineMap:
    """The solver of an online map and its settings; see :class:`mercer.cluster._map.batch.BatchMap`."""

    grid: Grid
    start: Callable[[], Any]
    sigma: Narrowing
    rate: Narrowing
    n_epochs: int
    max_iter: int
    seed: Array
    n_rows: int
    dtype: Any

    def solve(self, state: MapState | None = None) -> Solver:
        """Show all rows, epoch after epoch, while neighbourhood and learning rate fall; resume from `state`."""
        if state is None:
            centres, _ = yield from self.start()
            state = MapState(self.seed, centres.astype(np.float64), 0, False, self.dtype == np.float32)
        while state.epoch < min(self.n_epochs, self.max_iter):
            # The order of an epoch depends on the seed and its number alone, so a resumed fit shows the rows alike.
            generator = np.random.default_rng(child_seed(state.seed, state.epoch + 1))
            order = generator.permutation(self.n_rows)
            centres = yield Presentation(self.grid, state.centres, order, self.sigma, self.rate, state.epoch)
            epoch = state.epoch + 1
            state = MapState(state.seed, centres, epoch, epoch >= self.n_epochs, state.single)
            sums = yield Assignment(Centres(state.units()))
            measures = {"sigma": self.sigma.at(state.epoch), "learning_rate": self.rate.at(state.epoch)}
            yield Step(sums.cost, state, Certificate.none(_HEURISTIC), measures)
        return Solution(state, state.settled, Certificate.none(_HEURISTIC))


class SelfOrganizingMap(CentreModel):
    r"""Self-organising map: prototypes on a grid that unfolds among the rows.

    Unit q of the grid has a prototype :math:`w_q`. A row x has as winner p the unit of the nearest prototype, and draws
    all prototypes closer, the less the farther they are from p on the grid:

    .. math:: \Delta w_q = \epsilon \, h_{qp} \, (x - w_q), \qquad
              h_{qp} = \exp\left(-\frac{\lVert r_q - r_p \rVert^2}{2 \sigma^2}\right)

    with :math:`r_q` the place of unit q, in units of the grid. The width :math:`\sigma` falls from `sigma` to
    `sigma_end`, so that the map first orders itself and then follows the rows. The batch solver sets each prototype to
    the mean of all rows weighted by :math:`h_{qp}`, where the steps above, summed over the rows, are zero. With
    :math:`\sigma \to 0` this is k-means.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_rows * n_columns, d)
        The prototypes, row by row of the grid.
    positions_ : ndarray of shape (n_rows * n_columns, 2)
        The place of each unit on the map, across and up.
    labels_ : ndarray of shape (n,), int32
        The winner of each row; among equals the lowest.
    inertia_ : float
        Weighted sum of squared distances to the winners.
    n_iter_ : int
        Epochs.
    history_ : dict of ndarray
        Per epoch: ``objective`` (the inertia), ``sigma``, ``seconds``, and ``shift`` or ``learning_rate``.
    converged_ : bool
        Whether the annealing ended, and, of the batch solver, the prototypes rest.
    certificate_ : Certificate
        Batch: ``"fixed point"``, the summed squared moves of one more epoch at the last width. Online: none.

    Notes
    -----
    An epoch costs n k d for k units; memory is 20 bytes a row and k d numbers a thread, and k^2 for the grid; the
    principal components take d^2 numbers once. Batch maps run over rows in any place. Weights are repetitions; in the
    online solver a row of weight w is shown w times in succession.

    References
    ----------
    T. Kohonen, Self-Organizing Maps, 2001.

    Examples
    --------
    >>> from mercer.cluster import SelfOrganizingMap
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = SelfOrganizingMap(6, 4).fit(X)
    >>> model.transform(X).shape, model.u_matrix().shape
    ((150, 2), (6, 4))
    >>> round(model.quantization_error(X), 2)
    0.32
    """

    n_rows: int = parameter(
        Integer(1), default=10, kw_only=False, doc="Rows of the grid; 1 makes a one-dimensional map."
    )
    n_columns: int = parameter(Integer(1), default=10, kw_only=False, doc="Columns of the grid.")
    topology: str = parameter(
        Choice("rectangular", "hexagonal"),
        default="rectangular",
        doc="Neighbours of a unit: the eight around it, or, with every other row shifted by a half, six at one "
        "distance.",
    )
    torus: bool = parameter(Boolean(), default=False, doc="Whether the first row and column follow the last.")
    init: Any = parameter(
        Choice("pca", "random") | ArrayRule(),
        default="pca",
        doc="The first prototypes: in the plane of the two leading principal components; at random with mean and "
        "spread of the columns; or given, one row a unit, row by row of the grid.",
    )
    solver: str = parameter(
        Choice("batch", "online"),
        default="batch",
        doc="Passes over all rows in any place, or row after row in random order, in memory.",
    )
    sigma: float | None = parameter(
        Real(0, closed="neither") | Nothing(),
        default=None,
        doc="The first width; None means a quarter of the longer side, and at least `sigma_end`.",
    )
    sigma_end: float = parameter(Real(0, closed="neither"), default=0.5, doc="The last width.")
    decay: str = parameter(
        Choice("exponential", "linear"), default="exponential", doc="How the width (and the learning rate) falls."
    )
    annealing_iter: int = parameter(Integer(1), default=15, doc="Epochs in which the width falls.")
    subsample: int | None = parameter(
        Integer(1) | Nothing(),
        default=None,
        doc="Rows drawn, in proportion to their weights, for all epochs of the annealing but the last; None means "
        "all rows. Some rows a unit order a map as well as all do, at a fraction of the cost. The batch solver "
        "alone asks.",
    )
    max_iter: int = parameter(
        Integer(1),
        default=100,
        doc="Most epochs. The batch solver goes on at the last width until the prototypes rest; the online one ends "
        "with the annealing.",
    )
    learning_rate: float = parameter(
        Real(0, 1, closed="right"), default=0.5, after="tol", doc=r"The first :math:`\epsilon` of the online solver."
    )
    learning_rate_end: float = parameter(Real(0, 1, closed="right"), default=0.01, doc="Its last.")
    random_state: Any = parameter(
        Seed(), default=None, doc="Seed of random prototypes and of the order of rows in the online solver."
    )

    _documents = {
        "tol": (
            "The batch solver ends when the squared moves of all prototypes sum to at most `tol` times the mean "
            "variance of the columns."
        ),
        "verbose": "Whether to print each epoch.",
    }

    _objective_moves = None
    _stored: ClassVar[dict[str, Stored]] = {
        "cluster_centers_": numbers("clusters, columns"),
        "labels_": integers("rows"),
        "positions_": floats("clusters, *"),
    }
    _check_exceptions: ClassVar[dict[str, str]] = CentreModel._check_exceptions | {
        "check_clustering": "a map has more units than the data have groups; its labels cut groups into cells",
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "SelfOrganizingMap":
        """Unfold the map among the rows."""
        grid = self._grid
        grid.check(type(self).__name__)
        source = self._open(X, None, sample_weight, accept_sparse="csr")
        memory = Memory.of(source) if self.solver == "batch" else None
        solver = self._solver(source, grid, memory)
        # The online solver ends with its annealing; the batch solver iterates on at the last width until it converges.
        most = self.max_iter if memory is not None else min(self.max_iter, self.annealing_iter)
        positions = grid.positions.astype(source.host_dtype)
        outcome = self._drive(solver.solve, source, max_steps=most, attributes={"positions_": positions})
        self._store_labels(source, self.cluster_centers_, memory)
        self._conclude(outcome)
        return self

    def _solver(self, source: Source, grid: Grid, memory: Memory | None) -> BatchMap | OnlineMap:
        k, d, name = grid.n_units, source.n_features, type(self).__name__
        require_memory(name, 24.0 * k * k, f"the {k} x {k} neighbourhood of the units", "take fewer rows or columns")
        if isinstance(self.init, str) and self.init == "pca":
            require_memory(name, 16.0 * d * d, f"the {d} x {d} covariance of the columns", "use init='random'")
        seed = seed_sequence(self.random_state).generate_state(8)
        # A quarter of the longer side is the usual first width.
        widest = max(self.sigma_end, 0.25 * max(grid.n_rows, grid.n_columns)) if self.sigma is None else self.sigma
        # A batch epoch has one width, the last epoch the last width; online, the width falls within each epoch too.
        length = self.annealing_iter + (memory is None)
        sigma = Narrowing(widest, self.sigma_end, length, self.decay)

        def start() -> Any:
            return self._first_units(source, grid, seed)

        if memory is not None:
            few = self.subsample
            some = None if few is None or few >= source.n_rows else self._some_rows(source, few)
            return BatchMap(grid, start, sigma, self.max_iter, self.tol, memory, seed, source.host_dtype, some)
        self._needs_memory(source, "solver='online'", "use solver='batch'")
        if source.is_sparse:
            raise DataError(
                f"{name}: solver='online' needs dense rows; got sparse ones. Use solver='batch', or X.toarray()."
            )
        rate = Narrowing(self.learning_rate, self.learning_rate_end, length, self.decay)
        epochs = self.annealing_iter
        return OnlineMap(grid, start, sigma, rate, epochs, self.max_iter, seed, source.n_rows, source.host_dtype)

    def _some_rows(self, source: Source, size: int) -> Callable[[Any], Source]:
        """Return a function from a seed to a source of `size` rows drawn in proportion to their weights."""

        def draw(seed: Any) -> Source:
            generator = np.random.default_rng(child_seed(seed, 1))
            if source.random_access:
                return source.part(RowDraw(source).rows(generator, size))
            return ArraySource(WeightedRows(generator.random(size)).answer(source)[1], threads=source.threads)

        return draw

    def _first_units(self, source: Source, grid: Grid, seed: Any) -> Any:
        """Choose the first prototypes; return them and the mean variance of the columns. A generator of requests."""
        if isinstance(self.init, str) and self.init == "pca":
            return (yield from principal_plane(grid))
        _, variance = yield from column_moments()
        if isinstance(self.init, str):
            generator = np.random.default_rng(child_seed(seed, 0))
            centres = yield from around_the_mean(grid.n_units, generator, np.float64)
        else:
            centres = check_array(to_numpy(self.init), dtype=np.float64, input_name="init", estimator=self)
            if centres.shape != (grid.n_units, source.n_features):
                raise DataError(
                    f"{type(self).__name__}: init must have a row for each of the {grid.n_units} units and "
                    f"{source.n_features} columns; got shape {centres.shape}."
                )
        return centres, float(np.mean(variance))

    @property
    def _grid(self) -> Grid:
        return Grid(self.n_rows, self.n_columns, self.topology, self.torus)

    def _fitted(self, state: MapState) -> dict[str, Any]:
        return {"cluster_centers_": state.units()}

    def transform(self, X: Any) -> Any:
        """Return the place on the map of the winner of each row.

        Returns
        -------
        places : array of shape (n, 2)
            Across and up, in units of the grid; where the rows are.
        """
        if (rows := few_rows(self, X)) is not None:
            labels, _ = self._ready(rows.dtype).find_nearest(DenseBlock(rows, 0))
            return self.positions_[labels].astype(rows.dtype, copy=False)
        source = open_new_rows(self, X, accept_sparse="csr")
        centres = self._ready(source.dtype)
        positions = self.positions_
        if positions.dtype != source.dtype:
            positions = namespace_of(positions).astype(positions, source.dtype)
        return source.map(_Places(centres, positions))

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to `X` and return the place on the map of the winner of each row."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def quantization_error(self, X: Any, sample_weight: Any = None) -> float:
        """Return the mean distance of rows to their winners."""
        sums = self._errors(X, sample_weight)
        return float(sums.distance / sums.weight)

    def topographic_error(self, X: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose two nearest prototypes are no neighbours on the grid."""
        sums = self._errors(X, sample_weight)
        return float(sums.torn / sums.weight)

    def _errors(self, X: Any, sample_weight: Any) -> MapErrorSums:
        check_is_fitted(self)
        source = self._open(X, None, sample_weight, accept_sparse="csr", reset=False)
        return source.reduce(MapErrors(self._ready(source.dtype), self._grid.neighbours))

    def u_matrix(self) -> np.ndarray:
        """Return the mean distance of each prototype to those of its neighbours, as the grid lies: (n_rows, n_columns).

        Ridges of large values part regions of the map that hold rows of different kinds.
        """
        check_is_fitted(self)
        neighbours = self._grid.neighbours
        lengths = Centres(to_numpy(self.cluster_centers_)).lengths(to_numpy(self.cluster_centers_)).astype(np.float64)
        count = np.maximum(neighbours.sum(axis=1), 1)
        return (np.where(neighbours, lengths, 0.0).sum(axis=1) / count).reshape(self.n_rows, self.n_columns)

    def hit_map(self, X: Any) -> np.ndarray:
        """Return how many of the rows each unit wins, as the grid lies: (n_rows, n_columns)."""
        labels = np.asarray(to_numpy(self.predict(X)))
        return np.bincount(labels, minlength=self.n_rows * self.n_columns).reshape(self.n_rows, self.n_columns)

    def component_planes(self) -> np.ndarray:
        """Return each column's value at each prototype, as the grid lies: (d, n_rows, n_columns)."""
        check_is_fitted(self)
        return to_numpy(self.cluster_centers_).T.reshape(-1, self.n_rows, self.n_columns)

    @property
    def _n_features_out(self) -> int:
        return 2


@dataclass(frozen=True, eq=False)
class _Places:
    """The position on the map of each row's winner."""

    centres: Centres
    positions: Any

    def __call__(self, block: Block) -> Any:
        labels, _ = self.centres.find_nearest(block)
        return block.xp.take(self.positions, labels, axis=0)
