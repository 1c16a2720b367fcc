"""Mini-batch k-means: running means over batches of drawn rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step, Take
from mercer._solver.centres.assignment import Assignment, AssignmentSums
from mercer._solver.centres.centres import Centres
from mercer._solver.centres.lloyd import measure_shift
from mercer._solver.centres.row_draw import RowDraw
from mercer._solver.restarts import child_seed
from mercer._source import ArraySource, Block, Source
from mercer._statistic import Statistic
from mercer._types import Array

_STATEMENT = (
    "Mini-batch k-means draws its rows at random; its last centres are near a local optimum, by no known bound."
)


@plain
@dataclass(frozen=True)
class MiniBatchState:
    """Centres as running means in float64, the weight that each has seen, and the values that stopping rules use.

    ``mean_cost`` is the last batch's cost per unit of weight, ``smoothed`` its moving average, ``least`` the smallest
    of those averages, and ``stale`` the number of batches since then. ``unmoved`` counts the rows since light centres
    were last replaced; ``real`` names the precision of the model's centres.
    """

    real: str
    seed: Array
    step: int
    centres: Array
    counts: Array
    unmoved: int
    mean_cost: float = np.inf
    smoothed: float = np.nan
    least: float = np.inf
    stale: int = 0
    stopped: bool = False

    @classmethod
    def begin(cls, seed: Array, centres: Array) -> "MiniBatchState":
        """Return the state before the first batch, whose seed words are `seed`."""
        return cls(centres.dtype.name, seed, 0, centres.astype(np.float64), np.zeros(len(centres)), 0)

    def model_centres(self) -> Array:
        """Return the centres in the precision of the data, (k, d)."""
        return self.centres.astype(self.real)


@dataclass(frozen=True, eq=False)
class Batch:
    """A statistic of some rows only: those at the indices `rows`, a slice of rows, or all rows if None."""

    statistic: Statistic
    rows: Array = None

    def answer(self, source: Source) -> Any:
        if self.rows is None:
            return source.reduce(self.statistic)
        if isinstance(self.rows, slice):
            return source.on_rows(self.rows.start, self.rows.stop, _Summed(source.send(self.statistic)))
        return source.part(self.rows).reduce(self.statistic)


@dataclass(frozen=True, eq=False)
class _Summed:
    """A statistic of a block that may be longer than the usual ones: it is summed in blocks of the usual length."""

    statistic: Statistic

    def __call__(self, block: Block) -> Any:
        return ArraySource(block.X, block.y, block.weight).reduce(self.statistic)


class BatchDraw:
    """The rows of each batch: drawn by weight if the source has random access, else the next rows in order."""

    def __init__(self, source: Source, size: int) -> None:
        self.n_rows = source.n_rows
        self.size = size
        self.draw = RowDraw(source) if source.random_access else None

    def rows(self, generator: np.random.Generator, step: int) -> Any:
        """Return the row indices of batch `step`, or a slice of rows."""
        if self.draw is not None:
            return self.draw.rows(generator, self.size)
        # Whole batches only: a last batch of a few rows would move the centres at random.
        start = step % max(1, self.n_rows // self.size) * self.size
        return slice(start, min(start + self.size, self.n_rows))


@dataclass(frozen=True)
class MiniBatch:
    """The solver and its settings; parameters as in ``MiniBatchKMeans``."""

    start: Any
    draw: BatchDraw
    batch_size: int
    n_steps: int
    tolerance: float
    max_no_improvement: int | None
    reassignment_ratio: float
    seed: np.random.SeedSequence
    rate: float | None = None
    decay: float = 0.0

    def solve(self, state: MiniBatchState | None = None) -> Solver:
        """Take a step per batch, from the first centres or from `state`."""
        if state is None:
            seed = self.seed.generate_state(8)
            state = MiniBatchState.begin(seed, self.start(child_seed(seed, 0)))
        while not state.stopped and state.step < self.n_steps:
            # The seed of a step depends on its number alone, so a resumed fit draws the same batches.
            generator = np.random.default_rng(child_seed(state.seed, state.step + 1))
            state = yield from self.step(state, generator, self.draw.rows(generator, state.step))
            yield Step(state.mean_cost, state, Certificate.none(_STATEMENT), {"smoothed": state.smoothed})
        # Without a stopping rule the number of steps is the plan, and its end is no failure.
        ruled = self.tolerance > 0 or self.max_no_improvement is not None
        return Solution(state, state.stopped or not ruled, Certificate.none(_STATEMENT))

    def step(self, state: MiniBatchState, generator: np.random.Generator, rows: Array) -> Any:
        """Move each centre towards the rows of the batch that it has won."""
        sums = yield Batch(Assignment(Centres(state.model_centres())), rows)
        # The weight that a centre has won so far makes each centre a running mean.
        counts = state.counts + sums.weights
        centres = self._move(state, sums, counts)
        shift = measure_shift(centres, state.centres)
        size = sums.searched
        unmoved = state.unmoved + size
        # As in scikit-learn: light centres are looked for every 10 k rows, and at once while a centre has no rows.
        if self.reassignment_ratio > 0 and (unmoved >= 10 * len(counts) or (counts == 0).any()):
            centres, counts = yield from self._replace_light(centres, counts, generator, rows, size)
            unmoved = 0
        moved = MiniBatchState(state.real, state.seed, state.step + 1, centres, counts, unmoved)
        return self._apply_stopping_rules(state, moved, sums, shift)

    def _move(self, state: MiniBatchState, sums: AssignmentSums, counts: Array) -> Array:
        """Return the centres after a batch; `counts` are the rows that each has won, those of the batch among them."""
        if self.rate is None:
            # The mean of all rows won so far: c += (sum - weight c) / count.
            divisor = np.where(counts > 0, counts, 1.0)[:, None]
            return state.centres + (sums.sums - sums.weights[:, None] * state.centres) / divisor
        rate = self.rate * (1.0 + state.step) ** -self.decay
        # Each of w wins leaves the share 1 - rate of the way to their mean: together (1 - rate)^w.
        won = sums.weights > 0
        means = sums.sums / np.where(won, sums.weights, 1.0)[:, None]
        share = np.where(won, 1.0 - (1.0 - rate) ** sums.weights, 0.0)[:, None]
        return state.centres + share * (means - state.centres)

    def _replace_light(
        self, centres: Array, counts: Array, generator: np.random.Generator, rows: Array, size: int
    ) -> Any:
        """Move centres of little weight to random rows of the batch, at most half as many as it has rows."""
        light = np.flatnonzero(counts < self.reassignment_ratio * counts.max())
        if len(light) == 0:
            return centres, counts
        # The lightest first, and at most half of the batch.
        light = np.sort(light[np.argsort(counts[light], stable=True)][: size // 2])
        # With a ratio above one all may be light; then none is better than another.
        if len(light) in (0, len(counts)):
            return centres, counts
        order = generator.permutation(size)[: len(light)]
        if isinstance(rows, slice):
            order = order + rows.start
        chosen = yield Take(rows[order] if isinstance(rows, np.ndarray) else order)
        centres, counts = centres.copy(), counts.copy()
        centres[light] = chosen
        # They get the count of the lightest other centre, so that they are not replaced again at once.
        counts[light] = np.delete(counts, light).min()
        return centres, counts

    def _apply_stopping_rules(
        self, state: MiniBatchState, moved: MiniBatchState, sums: AssignmentSums, shift: float
    ) -> MiniBatchState:
        """Return the state `moved` to by a batch from `state`, with what the stopping rules know.

        The first batch only measures the first centres.
        """
        mean_cost = sums.cost / float(sums.weights.sum())
        # No average yet: the first batch was assigned to centres that no batch had moved.
        if moved.step == 1:
            return replace(moved, mean_cost=mean_cost)
        # The smoothing constant of an exponential average over about one pass through the rows, as in scikit-learn.
        share = min(1.0, 2.0 * self.batch_size / (self.draw.n_rows + 1))
        smoothed = mean_cost if np.isnan(state.smoothed) else state.smoothed * (1 - share) + mean_cost * share
        stale = 0 if smoothed < state.least else state.stale + 1
        tired = self.max_no_improvement is not None and stale >= self.max_no_improvement
        small = self.tolerance > 0 and shift <= self.tolerance
        return replace(
            moved,
            mean_cost=mean_cost,
            smoothed=smoothed,
            least=min(smoothed, state.least),
            stale=stale,
            stopped=bool(tired or small),
        )
