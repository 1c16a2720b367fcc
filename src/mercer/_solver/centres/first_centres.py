"""Choose first centres: where k-means begins.

Each rule is a generator in the manner of a solver: it yields requests and returns the centres. Rows are drawn in
proportion to weight and position alone, so that a row of weight two is drawn like two equal rows, and a row of weight
zero never.

Greedy k-means++ draws one centre after the other, far from the centres before it (Arthur and Vassilvitskii, 2007). Each
further centre costs one pass: it updates each row's distance to the nearest centre with the centre chosen last, and
adds up what each candidate for the next centre would leave. The totals per block and candidate then tell in which
blocks to draw.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._native.space import seeding
from mercer._solver.centres.centres import Centres
from mercer._solver.centres.row_draw import BlockTotals, DrawnRows, Race, WeightedRows
from mercer._source import Source
from mercer._source.block import Block
from mercer._source.file.local_table import LocalTable
from mercer._statistic import Moments, Statistic
from mercer._statistic.extent import Extent
from mercer._types import Array

_NONE = np.empty(0)
# Rows in a tile whose products with all candidates stay in the second-level cache.
_WIDTH = 256


def column_moments() -> Any:
    """Request the moments of the rows; return the weighted mean and variance of each column."""
    sums = yield Moments(diagonal=True)
    return sums.mean, sums.scatter / sums.weight


def around_the_mean(k: int, generator: np.random.Generator, dtype: Any) -> Any:
    """Draw k positions from the normal distribution with the mean and the variance of each column."""
    mean, variance = yield from column_moments()
    return (mean + np.sqrt(variance) * generator.standard_normal((k, len(mean)))).astype(dtype)


def in_the_box(k: int, generator: np.random.Generator, dtype: Any) -> Any:
    """Draw k positions evenly from the bounding box of the rows; return them as `dtype`, the type of the rows."""
    box = yield Extent()
    # The range is subtracted in the rows' own type, which fixes the bits of the positions.
    low, high = box.low.astype(dtype), box.high.astype(dtype)
    return (low + (high - low) * generator.random((k, len(low)))).astype(dtype)


def random_rows(k: int, generator: np.random.Generator) -> Any:
    """Draw k rows in proportion to their weights, at different positions as long as there are any."""
    seed, taken = tuple(generator.integers(2**32, size=4).tolist()), 2 * k + 16
    # Equal rows may be drawn; take more of the same draw until k differ or no row is left.
    while True:
        rows = (yield Race(seed, taken)).rows
        # Adding zero makes both zeros one. To compare all rows that were taken would need them sorted.
        if len({row.tobytes() for row in rows[:k] + rows.dtype.type(0)}) == k:
            return np.ascontiguousarray(rows[:k])
        _, first = np.unique(rows, axis=0, return_index=True)
        if len(first) >= k or len(rows) < taken:
            break
        taken *= 8
    # With fewer than k different positions, repeated rows fill up, in the order of the draw.
    others = np.setdiff1d(np.arange(len(rows)), first)
    chosen = np.concatenate([np.sort(first), others])[:k]
    chosen = np.resize(chosen, k)
    return np.ascontiguousarray(rows[chosen])


@dataclass(frozen=True, eq=False)
class Nearness:
    """The squared distance of each row to the nearest of some centres.

    ``table`` holds it for all rows and for the first `done` centres, if the source can keep a value per row; it saves
    work and changes no result. A local table knows for each block how many centres it has seen. Without a table, all
    centres are measured anew.
    """

    centres: Array
    table: Any = None
    done: int = 0

    def of(self, block: Block) -> Array:
        """Return the squared distances of the rows of one block, (n,), in its wide type."""
        xp = block.xp
        closest, first = self.begin(block)
        # The centres before `first` are already in `closest`.
        if block.is_sparse:
            distances = _sparse_distances(block, self.centres[first:])
            np.minimum(closest, distances.min(axis=1, initial=np.inf), out=closest)
        elif block.is_native:
            seeding.keep_nearest(block.X, max(1, block.n), _weight(block), self.centres[first:], closest, np.empty(1))
        else:
            for index in range(first, self.centres.shape[0]):
                closest = xp.minimum(closest, block.gaps(self.centres[index, :]))
            if self.table is not None:
                self.table[block.start : block.start + block.n] = closest
        self.complete(block)
        return closest

    def begin(self, block: Block) -> tuple[Array, int]:
        """Return the table's entries for the rows of a block, to be overwritten, and how many centres they know."""
        if self.table is None:
            return block.xp.full(block.n, np.inf, dtype=block.wide, device=block.device), 0
        if isinstance(self.table, LocalTable):
            entry = self.table.entry(block)
            return entry.columns[0], entry.stamp
        return self.table[block.start : block.start + block.n], self.done

    def complete(self, block: Block) -> None:
        """Record that the table knows all centres for the rows of a block."""
        if isinstance(self.table, LocalTable):
            self.table.entry(block).stamp = self.centres.shape[0]

    def mass(self, block: Block) -> Array:
        """Return w_i times the squared distance of each row i."""
        return block.weigh(self.of(block))


@dataclass(frozen=True, eq=False)
class _Mass:
    near: Nearness

    def __call__(self, block: Block) -> Array:
        return self.near.mass(block)


@dataclass(frozen=True, eq=False)
class Table:
    """A request: a table with an entry per row for the distances; None if the source cannot keep one."""

    def answer(self, source: Source) -> Array:
        table = source.row_table(np.inf)
        return source.local_table((np.inf, np.float64)) if table is None else table


def _weight(block: Block) -> Array:
    return _NONE if block.weight is None else block.weight


def _sparse_distances(block: Block, centres: Array) -> Array:
    wide = centres.astype(np.float64)
    squares = block.sum_squares()[:, None] + np.einsum("ij,ij->i", wide, wide)
    return np.maximum(0.0, squares - 2.0 * block.matmul(np.ascontiguousarray(wide.T)))


@dataclass(frozen=True, eq=False)
class Potentials(Statistic):
    """Per block and candidate c, sum_i w_i min(nearness_i, |x_i - c|^2); without candidates, sum_i w_i nearness_i."""

    near: Nearness
    candidates: Array = field(default_factory=lambda: np.empty((0, 0)))

    def of(self, block: Block) -> BlockTotals:
        xp = block.xp
        closest = self.near.of(block)
        if self.candidates.shape[0] == 0:
            return BlockTotals(xp.reshape(xp.sum(block.weigh(closest)), (1, 1)))
        distances = Centres(self.candidates).distances(block)
        return BlockTotals(xp.sum(block.weigh(xp.minimum(closest[:, None], distances)), axis=0)[None, :])

    def on(self, block: Block) -> BlockTotals:
        if not block.is_sparse or self.candidates.shape[0] == 0:
            return super().on(block)
        distances = np.minimum(self.near.of(block)[:, None], _sparse_distances(block, self.candidates))
        return BlockTotals(np.sum(block.weigh(distances), axis=0)[None, :])

    def native_run(self, block: Block, unit: int) -> BlockTotals:
        n_blocks, count = -(-block.n // unit), self.candidates.shape[0]
        closest, first = self.near.begin(block)
        totals = np.empty(n_blocks)
        seeding.keep_nearest(block.X, unit, _weight(block), self.near.centres[first:], closest, totals)
        self.near.complete(block)
        # Without candidates only the totals of the distances are wanted.
        if count == 0:
            return BlockTotals(totals[:, None])
        real = block.X.dtype
        # Any point near the data serves as the shift; norms and products about it do not cancel.
        shift = self.candidates[0]
        shifted = self.candidates - shift
        table = np.zeros((n_blocks, count))
        seeding.try_candidates(
            block.X,
            unit,
            _weight(block),
            shift,
            shifted,
            np.empty(count),
            closest,
            np.empty((_WIDTH, block.X.shape[1]), real),
            np.empty((count, _WIDTH), real),
            table,
        )
        return BlockTotals(table)


def plus_plus(k: int, generator: np.random.Generator, n_trials: int | None = None) -> Any:
    """Draw k rows one after the other, each in proportion to weight times squared distance to those before it.

    Each centre is the best of `n_trials` draws (2 + log k by default): the one that leaves the least sum of squared
    distances. Returns the centres and their row indices.
    """
    trials = 2 + int(np.log(k)) if n_trials is None else n_trials
    numbers, centres = yield WeightedRows(generator.random(1))
    if k == 1:
        return centres, numbers
    # All places at once, from the same stream as one after the other.
    all_places = generator.random((k - 1, trials))
    table = yield Table()
    totals = (yield Potentials(Nearness(centres, table))).table[:, 0]
    while len(centres) < k:
        # The centre chosen last enters the table in the pass that judges the candidates for the next one.
        near, places = Nearness(centres, table, max(1, len(centres) - 1)), all_places[len(centres) - 1]
        if totals.sum() > 0:
            drawn, tried = yield DrawnRows(_Mass(near), totals, places)
        else:
            # Every row sits on a centre already: there are fewer positions than centres.
            drawn, tried = numbers[:1], centres[:1]
        left = yield Potentials(near, tried)
        best = int(np.argmin(left.table.sum(axis=0)))
        totals = left.table[:, best]
        numbers, centres = np.append(numbers, drawn[best]), np.concatenate([centres, tried[best : best + 1]])
    return np.ascontiguousarray(centres), numbers
