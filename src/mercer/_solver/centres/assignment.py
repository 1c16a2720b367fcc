"""The statistics of k-means: sums over the rows of each centre, and the rows farthest from their centre."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from mercer._solver.centres import _crossovers
from mercer._solver.centres.centres import Centres
from mercer._source import Source
from mercer._source.block import Block
from mercer._source.file.local_table import LocalTable
from mercer._source.namespace import to_numpy
from mercer._statistic import Statistic, Sums
from mercer._statistic.statistic import fold_sums
from mercer._types import Array

_NONE = np.empty(0)
# Most values in the sums of a run of blocks (8 MiB); with more, each native call gets one block.
_LARGEST_TABLE = 2**20
# The distances between k centres cost k^2 d once per pass; up to this k that is little beside the n k d of the rows.
_MOST_GAPS = 512
# Multiplications: a search of so few takes some 40 us, as long as the moves and gaps of the centres for its bounds.
_FEW = 2**20
# If a pass with bounds still searched more than this share of the rows, the next pass searches all rows without bounds.
_WORTHLESS = 0.75


@dataclass(frozen=True)
class AssignmentSums(Sums):
    """Per centre: the weight of its rows, weighted sum and weighted squared distances; the number of rows searched."""

    weights: Array
    sums: Array
    costs: Array
    searched: int = 0

    @property
    def cost(self) -> float:
        """The inertia: the weighted sum of all squared distances."""
        return float(np.add.reduce(self.costs))

    @property
    def leaves_none_empty(self) -> bool:
        """Whether every centre has rows of some weight."""
        return bool(np.minimum.reduce(self.weights) > 0)

    def means(self, otherwise: Array) -> Array:
        """Return the weighted mean of each centre's rows, (k, d), in the type of `otherwise`; its line for no rows."""
        if self.leaves_none_empty:
            # Divided in float64 and rounded once, without a table of float64 in between.
            means = np.empty(otherwise.shape, otherwise.dtype)
            return np.divide(self.sums, self.weights[:, None], out=means, dtype=np.float64, casting="same_kind")
        taken, means = self.weights > 0, otherwise.astype(np.float64)
        means[taken] = self.sums[taken] / self.weights[taken, None]
        return means.astype(otherwise.dtype)


@dataclass(frozen=True, eq=False)
class RowMemory:
    """Per row: its centre, the squared distance to it, and a lower bound on the distance to any other centre.

    Array operations (devices) keep labels only.
    """

    labels: Array
    distances: Array = None
    lower: Array = None

    @property
    def has_bounds(self) -> bool:
        """Whether distances and bounds are kept, not only labels."""
        return self.lower is not None

    def of(self, block: Block, number: int) -> tuple[tuple[Array, Array, Array], bool]:
        """Return the labels, distances and bounds that pass `number` left for a block, and whether it left any."""
        rows = slice(block.start, block.start + block.n)
        return (self.labels[rows], self.distances[rows], self.lower[rows]), True

    def complete(self, block: Block, number: int) -> None:
        """Record that pass `number` has written all rows of a block."""


@dataclass(frozen=True, eq=False)
class LocalRowMemory:
    """As `RowMemory` for rows on a cluster, in tables of the worker processes; any part of it may get lost."""

    table: LocalTable
    has_bounds: ClassVar[bool] = True

    def of(self, block: Block, number: int) -> tuple[tuple[Array, ...], bool]:
        entry = self.table.entry(block)
        known = entry.stamp == number
        # A pass that is interrupted half-way must not be taken for a complete one.
        entry.stamp = 0
        return entry.columns, known

    def complete(self, block: Block, number: int) -> None:
        self.table.entry(block).stamp = number


class Memory:
    """Labels and bounds (Hamerly, 2010) that one pass leaves for the next, so that it can skip rows.

    It saves work and changes no result: labels are those of a full search to the last bit. So it is no part of a
    solver's state, and a resumed fit starts with an empty one. With `always`, bounds are used whether they pay or not.
    """

    def __init__(self, rows: "RowMemory | LocalRowMemory | None", n_rows: int, always: bool = False) -> None:
        self.rows = rows
        self.n_rows = n_rows
        self.always = always
        self.centres: Array = None
        self.sums: AssignmentSums | None = None
        self.useful = False
        self.passes = 0

    @classmethod
    def of(cls, source: Source, always: bool = False) -> "Memory":
        """Return an empty memory for the rows of `source`; if it cannot keep values per row, it keeps sums only."""
        return cls(_row_memory(source), source.n_rows, always)

    def holds(self, centres: Array) -> bool:
        """Return whether the last pass was made with `centres`."""
        return self.centres is not None and np.array_equal(self.centres, centres)

    def needs_no_bounds(self, centres: Array) -> bool:
        """Return whether a pass with `centres` is too short for bounds to save time."""
        return not self.always and (centres.size < _crossovers.BOUNDED_VALUES or self.n_rows * centres.size <= _FEW)

    def assignment(self, centres: Array) -> "Assignment":
        """Return the statistic of a pass with `centres`, with bounds if those of the pass before are worth using."""
        drift = half_gap = None
        bounded = self.rows is not None and self.rows.has_bounds and not self.needs_no_bounds(centres)
        # Bounds hold only between passes over the same k centres: their drift is the distance from the old centres to
        # the new.
        if bounded and self.useful and self.centres is not None and len(self.centres) == len(centres):
            drift, half_gap = _largest_other_move(self.centres, centres), _half_gaps(centres)
        self.centres = centres
        self.passes += 1
        return Assignment(Centres(centres), self.rows, drift, half_gap, self.passes, bounded)

    def learn(self, sums: AssignmentSums) -> AssignmentSums:
        """Decide from the sums of a pass whether the next one uses bounds; return the sums."""
        self.sums = sums
        # A pass without bounds (not useful) renews them all, so the next one may try them again.
        self.useful = self.always or not self.useful or sums.searched <= _WORTHLESS * self.n_rows
        return sums


def _row_memory(source: Source) -> "RowMemory | LocalRowMemory | None":
    kinds = (np.int32, np.float64, np.float64) if source.xp is np else (np.int32,)
    tables = [source.row_table(0, kind) for kind in kinds]
    if not any(table is None for table in tables):
        return RowMemory(*tables)
    local = None if source.is_sparse else source.local_table(*((0, kind) for kind in kinds))
    return None if local is None else LocalRowMemory(local)


def _largest_other_move(before: Array, after: Array) -> Array:
    """Return, for each centre, the largest move of any other centre, (k,), rounded up so that bounds stay valid."""
    step = after.astype(np.float64) - before
    moves = np.sqrt(np.einsum("ij,ij->i", step, step)) * (1.0 + 1e-12)
    if len(moves) == 1:
        return np.zeros(1)
    # Only the centre that moved most has another largest: the second.
    second, most = np.argpartition(moves, -2)[-2:]
    others = np.full(len(moves), moves[most])
    others[most] = moves[second]
    return others


def _half_gaps(centres: Array) -> Array:
    """Return half the distance from each centre to its nearest other centre, (k,), rounded down; zero if k is large."""
    k = len(centres)
    if not 1 < k <= _MOST_GAPS:
        return np.zeros(k)
    gaps = cdist(centres.astype(np.float64), centres.astype(np.float64))
    np.fill_diagonal(gaps, np.inf)
    return 0.5 * (1.0 - 1e-12) * gaps.min(axis=1)


@dataclass(frozen=True)
class Assignment(Statistic):
    """Give each row to its nearest centre (among equals the lowest); sum the rows, the weights and the cost.

    `bounded` says whether the memory gets bounds for the next pass.
    """

    centres: Centres
    memory: RowMemory | LocalRowMemory | None = None
    drift: Array = None
    half_gap: Array = None
    number: int = 0
    bounded: bool = False

    def of(self, block: Block) -> AssignmentSums:
        xp = block.xp
        labels, costs = self.centres.search_by_array(block)
        if isinstance(self.memory, RowMemory):
            self.memory.labels[block.start : block.start + block.n] = xp.astype(labels, xp.int32, copy=False)
        groups = block.group(labels, self.centres.k)
        weights = groups.counts(block.wide) if block.weight is None else groups.sums(block.weight, block.wide)
        sums = groups.sums(block.weigh(block.X), block.wide)
        return AssignmentSums(weights, sums, groups.sums(block.weigh(costs), block.wide), block.n)

    def native_run(self, block: Block, unit: int) -> AssignmentSums:
        centres, n_blocks = self.centres, -(-block.n // unit)
        k, d = centres.centres.shape
        # A table of sums for each block: many blocks of many centres are summed part by part, to bound the memory.
        if n_blocks > 1 and n_blocks * k * (d + 2) > _LARGEST_TABLE:
            return self._by_parts(block, unit, self.native)
        rows: tuple[Array, ...] = np.empty(block.n, np.int32), np.empty(block.n), _NONE
        drift, half_gap, table = self.drift, self.half_gap, np.zeros((n_blocks, k, d + 2))
        if self.memory is not None:
            # Labels and bounds of the last pass, if the source has kept them for this block.
            rows, known = self.memory.of(block, self.number - 1)
            drift, half_gap = (drift, half_gap) if known else (None, None)
            rows = rows if self.bounded else (*rows[:2], _NONE)
        searched = centres.assign(block.X, unit, block.weight, drift, half_gap, rows, table)
        if self.memory is not None:
            self.memory.complete(block, self.number)
        total = fold_sums(table)
        # The columns of the table: sums of rows, their weight, their cost.
        return AssignmentSums(total[:, d], total[:, :d], total[:, d + 1], searched)

    def on(self, block: Block) -> AssignmentSums:
        return self._sparse(block) if block.is_sparse else super().on(block)

    def _sparse(self, block: Block) -> AssignmentSums:
        labels, distances = self.centres.find_nearest(block)
        if isinstance(self.memory, RowMemory):
            self.memory.labels[block.start : block.start + block.n] = labels
            self.memory.distances[block.start : block.start + block.n] = distances
        weight = np.ones(block.n) if block.weight is None else block.weight
        # A row of `members` has its weight in the column of its centre: members' X gives the sums in one sparse
        # product.
        members = csr_array((weight, labels, np.arange(block.n + 1)), shape=(block.n, self.centres.k))
        sums = (members.T.tocsr() @ block.X).toarray().astype(np.float64, copy=False)
        weights = np.bincount(labels, weight, minlength=self.centres.k)
        costs = np.bincount(labels, weight * distances, minlength=self.centres.k)
        return AssignmentSums(weights, sums, costs, block.n)


@dataclass(frozen=True, eq=False)
class FarthestRows:
    """Rows with their squared distances, labels, weights and indices, farthest first; adding keeps the farthest."""

    count: int
    distances: Array
    labels: Array
    weights: Array
    numbers: Array
    rows: Array

    def __add__(self, other: "FarthestRows") -> "FarthestRows":
        parts = [np.concatenate(pair) for pair in zip(self._parts(), other._parts(), strict=True)]
        order = np.argsort(-parts[0], stable=True)[: self.count]
        return FarthestRows(self.count, *(part[order] for part in parts))

    def _parts(self) -> tuple[Array, ...]:
        return self.distances, self.labels, self.weights, self.numbers, self.rows


@dataclass(frozen=True, eq=False)
class Farthest(Statistic):
    """The rows of positive weight that lie farthest from their nearest centre; among equals the first.

    With `within`, only the rows of that centre count.
    """

    centres: Centres
    count: int
    within: int | None = None

    def of(self, block: Block) -> FarthestRows:
        xp = block.xp
        labels, distances = self.centres.find_nearest(block)
        weight = xp.ones_like(distances) if block.weight is None else block.weight
        # A row of weight zero must not become a centre.
        eligible = weight > 0
        if self.within is not None:
            eligible = eligible & (labels == self.within)
        # Rows that do not count sort last, since their key 1 is above every -distance.
        places = xp.argsort(xp.where(eligible, -distances, xp.ones_like(distances)), stable=True)
        places = places[: min(self.count, block.n)]
        places = xp.take(places, xp.nonzero(xp.take(eligible, places))[0])
        rows = block.X[places].toarray() if block.is_sparse else xp.take(block.X, places, axis=0)
        parts = [xp.take(part, places) for part in (distances, labels, weight)]
        return FarthestRows(self.count, *map(to_numpy, (*parts, places + block.start, rows)))
