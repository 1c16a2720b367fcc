"""Draw rows in proportion to a mass that each row has: its weight, or weight times squared distance."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer._source import Source
from mercer._source.block import Block, rows_per_block
from mercer._source.namespace import namespace_of, to_numpy
from mercer._statistic import Statistic
from mercer._types import Array


@dataclass(frozen=True, eq=False)
class BlockTotals:
    """A row of totals for each block, in the order of blocks; adding puts one below the other."""

    table: Array

    def __add__(self, other: "BlockTotals") -> "BlockTotals":
        return BlockTotals(namespace_of(self.table).concat([self.table, other.table]))


@dataclass(frozen=True, eq=False)
class BlockWeights(Statistic):
    """The weight of each block."""

    reads_rows: ClassVar[bool] = False

    def of(self, block: Block) -> BlockTotals:
        return BlockTotals(block.xp.asarray([[block.total_weight()]], dtype=block.wide, device=block.device))


@dataclass(frozen=True, eq=False)
class _Draw:
    """The rows of one block at `places` along its cumulated masses: their indices and, dense, the rows themselves."""

    mass: Any
    places: Array

    def __call__(self, block: Block) -> tuple[Array, Array]:
        xp = block.xp
        mass = self.mass(block)
        ends = xp.cumulative_sum(xp.astype(mass, block.wide, copy=False))
        drawn = xp.searchsorted(ends, xp.astype(self.places, block.wide, copy=False), side="right")
        chosen = drawn if block.is_native and _all_positive(mass, drawn) else _take_possible(xp, mass, drawn)
        rows = block.X[chosen].toarray() if block.is_sparse else xp.take(block.X, chosen, axis=0)
        return chosen + block.start, rows


def _all_positive(mass: Array, drawn: Array) -> bool:
    """Return whether all indices are those of rows with a mass; asking takes less time than to look for such rows."""
    return bool(np.maximum.reduce(drawn) < len(mass) and np.minimum.reduce(mass[drawn]) > 0)


def _take_possible(xp: Any, mass: Array, drawn: Array) -> Array:
    """Return the next row of positive mass: rounding may lead past the last one, or to a row without mass."""
    possible = xp.nonzero(mass > 0)[0]
    places = xp.searchsorted(possible, xp.astype(drawn, possible.dtype, copy=False))
    return xp.take(possible, xp.clip(places, None, possible.shape[0] - 1))


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """A request: rows at `places` in [0, 1) along their masses, given the total of each block; indices and rows.

    The totals tell which blocks to search; only these compute the masses of their rows, where the rows are.
    """

    mass: Any
    totals: Array
    places: Array

    def answer(self, source: Source) -> tuple[Array, Array]:
        if len(self.totals) == 1:
            # Rows of one block: no block has to be found, which takes half of the time of a draw from 150 rows.
            chosen, rows = source.on_blocks({0: _Draw(self.mass, self.places * self.totals[0])})[0]
            return np.asarray(chosen, dtype=np.int64), np.asarray(rows, dtype=source.host_dtype)
        ends = np.cumsum(self.totals)
        wanted = self.places * ends[-1]
        # Rounding must not lead past the last block of positive mass.
        blocks = np.minimum(np.searchsorted(ends, wanted, side="right"), np.searchsorted(ends, ends[-1]))
        begins = np.append(0.0, ends)
        work: dict[int, Any] = {
            int(block): _Draw(self.mass, wanted[blocks == block] - begins[block]) for block in np.unique(blocks)
        }
        chosen = np.empty(len(self.places), dtype=np.int64)
        rows = np.empty((len(self.places), source.n_features), dtype=source.host_dtype)
        for block, (indices, dense) in source.on_blocks(work).items():
            chosen[blocks == block], rows[blocks == block] = indices, dense
        return chosen, rows


@dataclass(frozen=True, eq=False)
class FirstRows:
    """Rows with their times, earliest first; adding keeps the `count` earliest."""

    count: int
    times: Array
    numbers: Array
    rows: Array

    def __add__(self, other: "FirstRows") -> "FirstRows":
        mine, others = (self.times, self.numbers, self.rows), (other.times, other.numbers, other.rows)
        parts = [np.concatenate(pair) for pair in zip(mine, others, strict=True)]
        order = np.argsort(parts[0], stable=True)[: self.count]
        return FirstRows(self.count, *(part[order] for part in parts))


@dataclass(frozen=True, eq=False)
class Race(Statistic):
    """The first `count` rows drawn without replacement, each next one in proportion to its weight.

    The row with the least of independent exponential times, with its weight as rate, comes next. Equal rows together
    have the rate of their summed weight, so a weight stands for repetitions. Each block draws from a random stream of
    its own, so that blocks may be anywhere.
    """

    seed: tuple[int, ...]
    count: int

    def of(self, block: Block) -> FirstRows:
        xp = block.xp
        # Times of exponential clocks of rate one; divided by the weight, the first to ring are drawn in proportion to
        # it.
        times = xp.asarray(self._times(block), dtype=block.wide, device=block.device)
        if block.weight is not None:
            # A row of weight zero has an infinite time and never comes.
            with np.errstate(divide="ignore"):
                times = times / block.weight
        order = xp.argsort(times, stable=True)[: min(self.count, block.n)]
        first = xp.take(times, order)
        order = xp.take(order, xp.nonzero(xp.isfinite(first))[0])
        rows = block.X[order].toarray() if block.is_sparse else to_numpy(xp.take(block.X, order, axis=0))
        first, numbers = to_numpy(first)[: len(rows)], to_numpy(order) + block.start
        return FirstRows(self.count, first.astype(np.float64, copy=False), numbers, rows)

    def _times(self, block: Block) -> Array:
        """Draw a time per row, from one stream for each block that an array in memory would have."""
        size = block.n if block.is_sparse else rows_per_block(block.X.shape[1])
        parts = []
        for start in range(0, block.n, size):
            seed = np.random.SeedSequence(self.seed, spawn_key=(block.start + start,))
            parts.append(np.random.default_rng(seed).standard_exponential(min(size, block.n - start)))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class _Weight:
    """The mass of a row is its weight."""

    def __call__(self, block: Block) -> Array:
        return block.weight


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """A request: the rows at `places` in [0, 1) along the cumulated weights; indices and rows."""

    places: Array

    def answer(self, source: Source) -> tuple[Array, Array]:
        if source.has_weight:
            totals = source.reduce(BlockWeights()).table[:, 0]
            return DrawnRows(_Weight(), totals, self.places).answer(source)
        rows = np.minimum((self.places * source.n_rows).astype(np.int64), source.n_rows - 1)
        return rows, source.take(rows)


class RowDraw:
    """Draws rows with replacement, in proportion to their weights, from rows that can be reached in any order."""

    def __init__(self, source: Source) -> None:
        self.n_rows = source.n_rows
        self.source = source
        # The cumulated weights stay where the weights are; places are sent there and row indices come back.
        weight = source.row_weights()
        self.ends = None if weight is None else source.xp.cumulative_sum(weight)

    def rows(self, generator: np.random.Generator, count: int) -> Array:
        """Return `count` row indices, drawn with replacement; unit weights draw the same rows as no weights."""
        places = generator.random(count)
        if self.ends is None:
            return np.minimum((places * self.n_rows).astype(np.int64), self.n_rows - 1)
        # Searching to the right skips rows of weight zero; rounding may lead past the last row of positive weight.
        xp, ends = self.source.xp, self.ends
        drawn = xp.searchsorted(ends, self.source.send(places) * ends[-1], side="right")
        return self.source.fetch(xp.minimum(drawn, xp.searchsorted(ends, ends[-1:])))
