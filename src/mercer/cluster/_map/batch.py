"""The batch solver of a self-organising map: every unit becomes the mean of all rows, weighted by its neighbourhood."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.centres.assignment import Assignment, AssignmentSums, Memory
from mercer._solver.centres.centres import Centres
from mercer._solver.centres.lloyd import measure_shift
from mercer._source import Block, Source
from mercer._statistic import Moments, Statistic, Sums
from mercer._types import Array
from mercer.cluster._centres.centre_model import Lengths
from mercer.cluster._map.grid import Grid

_STATEMENT = (
    "Sum of the squared moves that the units would make in one more batch step at the last sigma: zero where each unit "
    "is the mean of all rows, weighted by its neighbourhood. A map has no cost function whose optimum this would bound."
)


@plain
@dataclass(frozen=True)
class MapState:
    """The units, the number of epochs they have seen, and whether they have converged.

    An online map keeps its units in float64, whatever the type of the rows; `single` says that this is float32.
    """

    seed: Array
    centres: Array
    epoch: int
    settled: bool
    single: bool

    def units(self) -> Array:
        """Return the units in the type of the rows, (k, d)."""
        return self.centres.astype(np.float32 if self.single else np.float64, copy=False)


@dataclass(frozen=True)
class Narrowing:
    """A value that goes from `first` to `last` within `length` epochs, linearly or geometrically, and stays there."""

    first: float
    last: float
    length: int
    decay: str

    def at(self, epoch: float) -> float:
        """Return the value at `epoch`, counted from zero; fractions are allowed."""
        share = min(1.0, epoch / (self.length - 1)) if self.length > 1 else 1.0
        if self.decay == "linear":
            return self.first + share * (self.last - self.first)
        return self.first * (self.last / self.first) ** share


def smooth(sums: AssignmentSums, neighbourhood: Array, centres: Array) -> Array:
    """Return sum_p h_qp s_p / sum_p h_qp n_p for each unit q, (k, d); a unit that no row reaches keeps its place."""
    weights = neighbourhood @ sums.weights
    # Below this, the weights of rows far away on the grid have underflowed.
    reached = weights > 1e-300
    means = centres.astype(np.float64)
    means[reached] = (neighbourhood[reached] @ sums.sums) / weights[reached, None]
    return means.astype(centres.dtype)


def principal_plane(grid: Grid, reach: float = 2.0) -> Any:
    """Place units evenly on the plane of the two leading principal axes, `reach` standard deviations to each side.

    The longer side of the grid lies along the first axis. The largest entry of an axis is made positive.
    """
    sums = yield Moments()
    values, vectors = np.linalg.eigh(sums.scatter / sums.weight)
    centres = np.tile(sums.mean, (grid.n_units, 1))
    positions = grid.positions
    # The longer side of the grid along the first axis.
    for rank, side in enumerate(np.argsort(-np.ptp(positions, axis=0), stable=True)):
        width = np.ptp(positions[:, side])
        if rank >= len(values) or width == 0:
            continue
        axis = vectors[:, -1 - rank]
        axis = axis * np.sign(axis[np.argmax(np.abs(axis))])
        # From -1 to 1 along the side.
        places = 2.0 * (positions[:, side] - positions[:, side].min()) / width - 1.0
        centres += reach * np.sqrt(max(values[-1 - rank], 0.0)) * places[:, None] * axis
    return centres, float(np.trace(sums.scatter)) / (sums.weight * len(values))


@dataclass(frozen=True, eq=False)
class Sampling:
    """A request: a source of a sample of the rows."""

    draw: Callable[[Array], Source]
    seed: Array

    def answer(self, source: Source) -> Source:
        return self.draw(self.seed)


@dataclass(frozen=True, eq=False)
class Among:
    """A request: the sum of a statistic over the rows of another source."""

    statistic: Assignment
    rows: Source

    def answer(self, source: Source) -> Any:
        return self.rows.reduce(self.statistic)


@dataclass(frozen=True)
class BatchMap:
    """The solver of a batch map and its settings.

    Parameters
    ----------
    grid : Grid
    start : callable
        A generator that returns the first units and the mean variance of the columns.
    sigma : Narrowing
        The width of the neighbourhood, epoch by epoch.
    max_iter, tol
        As in ``SelfOrganizingMap``.
    memory : Memory
        Labels and bounds that one pass leaves for the next.
    seed : ndarray
        Kept in the state, so that a resumed fit draws what the first one would have drawn.
    sample : callable or None
        From the seed to a source of a sample of the rows, for all epochs of the annealing but the last.
    """

    grid: Grid
    start: Callable[[], Any]
    sigma: Narrowing
    max_iter: int
    tol: float
    memory: Memory
    seed: Array
    dtype: Any
    sample: Callable[[Array], Source] | None = None

    def solve(self, state: MapState | None = None) -> Solver:
        """Narrow the neighbourhood, then iterate until the units converge; from the beginning or from `state`."""
        centres, variance = yield from self.start()
        tolerance = self.tol * variance
        if state is None:
            state = MapState(self.seed, centres.astype(self.dtype), 0, False, self.dtype == np.float32)
        neighbourhood = self.grid.neighbourhood(self.sigma.last)
        # A sample of the rows serves while the neighbourhood is wide; from its last width on all rows count.
        few = None
        if self.sample is not None and state.epoch + 1 < self.sigma.length:
            few = yield Sampling(self.sample, state.seed)
        while not state.settled and state.epoch < self.max_iter:
            state = yield from self._iterate(state, tolerance, few if state.epoch + 1 < self.sigma.length else None)
        # One more pass over all rows measures how far the units would still move.
        sums = self.memory.learn((yield self.memory.assignment(state.centres)))
        shift = measure_shift(smooth(sums, neighbourhood, state.centres), state.centres)
        return Solution(state, state.settled, _certify(shift, tolerance))

    def _iterate(self, state: MapState, tolerance: float, few: Source | None) -> Any:
        sigma = self.sigma.at(state.epoch)
        if few is None:
            sums = self.memory.learn((yield self.memory.assignment(state.centres)))
        else:
            sums = yield Among(Assignment(Centres(state.centres)), few)
        # Convergence counts only once the neighbourhood has its last width.
        centres = smooth(sums, self.grid.neighbourhood(sigma), state.centres)
        shift = measure_shift(centres, state.centres)
        narrow = state.epoch + 1 >= self.sigma.length
        state = MapState(state.seed, centres, state.epoch + 1, narrow and shift <= tolerance, state.single)
        yield Step(sums.cost, state, _certify(shift, tolerance), {"sigma": sigma, "shift": float(np.sqrt(shift))})
        return state


def _certify(shift: float, tolerance: float) -> Certificate:
    return Certificate.of("fixed point", shift, tolerance, _STATEMENT)


@dataclass(frozen=True)
class MapErrorSums(Sums):
    """Weight of the rows, weight of those whose two nearest units are no neighbours, sum of distances to winners."""

    weight: Any
    torn: Any
    distance: Any


@dataclass(frozen=True)
class MapErrors(Statistic):
    """Per row, the distance to its winner, and whether the second nearest unit is a neighbour of it."""

    centres: Centres
    neighbours: Array

    def of(self, block: Block) -> MapErrorSums:
        xp = block.xp
        lengths = Lengths(self.centres)(block)
        k = lengths.shape[1]
        first = xp.argmin(lengths, axis=1)
        nearest = xp.min(lengths, axis=1)
        # The second-best unit: the winner is set to infinity first.
        others = xp.where(xp.arange(k, device=block.device)[None, :] == first[:, None], xp.inf, lengths)
        second = xp.argmin(others, axis=1)
        together = xp.take(xp.reshape(self.neighbours, (-1,)), first * k + second)
        torn = xp.astype(xp.logical_not(together), block.wide)
        distance = xp.astype(nearest, block.wide)
        return MapErrorSums(block.total_weight(), xp.sum(block.weigh(torn)), xp.sum(block.weigh(distance)))
