"""The online solver of a self-organising map: row after row, in random order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.space import map_steps
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.centres.assignment import Assignment
from mercer._solver.centres.centres import Centres
from mercer._solver.restarts import child_seed
from mercer._source import Source
from mercer._types import Array
from mercer.cluster._map.batch import MapState, Narrowing
from mercer.cluster._map.grid import Grid

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
