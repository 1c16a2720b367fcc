"""Greedy k-means++: first centres drawn one after the other, far from those before (Arthur and Vassilvitskii, 2007)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native import assignment
from mercer._solver import Take
from mercer._source import Source
from mercer._source.block import Block
from mercer._source.threads import run_numbered
from mercer._statistic import Statistic
from mercer.cluster._centres import Centres
from mercer.cluster._row_draw import WeightedRows

__all__ = ["Potentials", "plus_plus"]

Array = Any
_NONE = np.empty(0)
_WIDTH = 256


@dataclass(frozen=True, eq=False)
class Nearness:
    """Each row's squared distance to the nearest centre so far, with its weighted sum per block.

    The sums per block let a draw look into a few blocks only.
    """

    closest: Array
    totals: Array


@dataclass(frozen=True, eq=False)
class Approach:
    """A request: the nearness once `centre` is one more centre; distances are written over those of `before`."""

    centre: Array
    before: Nearness | None

    def answer(self, source: Source) -> Nearness:
        closest = np.full(source.n_rows, np.inf) if self.before is None else self.before.closest

        def on_block(number: int) -> float:
            block = source.block(number)
            return self._on(block, closest[block.start : block.start + block.n])

        parts: list[float] = []
        run_numbered(on_block, source.n_blocks, source.threads, parts.append)
        return Nearness(closest, np.array(parts))

    def _on(self, block: Block, closest: Array) -> float:
        if block.is_sparse:
            np.minimum(closest, _sparse_distances(block, self.centre[None, :])[:, 0], out=closest)
            return float(np.sum(block.weighted(closest)))
        return assignment.keep_nearest(block.X, _weight(block), self.centre, closest)


@dataclass(frozen=True, eq=False)
class FarRows:
    """A request: rows in proportion to weight times squared distance; `places` are numbers in [0, 1)."""

    near: Nearness
    places: Array

    def answer(self, source: Source) -> Array:
        ends = np.cumsum(self.near.totals)
        wanted = self.places * ends[-1]
        numbers = np.minimum(np.searchsorted(ends, wanted, side="right"), len(ends) - 1)
        return np.array([self._draw(source, number, w, ends) for number, w in zip(numbers, wanted, strict=True)])

    def _draw(self, source: Source, number: int, wanted: float, ends: Array) -> int:
        start, stop = source.bounds(number)
        mass = self.near.closest[start:stop]
        if source.weight is not None:
            mass = mass * source.weight[start:stop]
        place = np.searchsorted(np.cumsum(mass), wanted - (ends[number - 1] if number else 0.0), side="right")
        # Rounding may lead past the last row with any mass, or start on one without.
        possible = np.flatnonzero(mass > 0)
        return start + int(possible[min(int(np.searchsorted(possible, place)), len(possible) - 1)])


def _weight(block: Block) -> Array:
    return _NONE if block.weight is None else block.weight


def _sparse_distances(block: Block, centres: Array) -> Array:
    wide = centres.astype(np.float64)
    squares = block.squared_norms()[:, None] + np.einsum("ij,ij->i", wide, wide)
    return np.maximum(0.0, squares - 2.0 * block.matmul(np.ascontiguousarray(wide.T)))


@dataclass(frozen=True)
class Potentials(Statistic):
    """Per candidate: the weighted sum over the rows of the smaller of `closest` and the squared distance to it."""

    candidates: Array
    closest: Array

    def of(self, block: Block) -> Array:
        xp = block.xp
        closest = xp.asarray(self.closest[block.start : block.start + block.n])
        distances = Centres(self.candidates).distances(block)
        return xp.sum(block.weighted(xp.minimum(closest[:, None], distances)), axis=0)

    def on(self, block: Block) -> Array:
        if not block.is_sparse:
            return super().on(block)
        closest = self.closest[block.start : block.start + block.n]
        distances = np.minimum(closest[:, None], _sparse_distances(block, self.candidates))
        return np.sum(block.weighted(distances), axis=0)

    def native(self, block: Block) -> Array:
        count, n_features = self.candidates.shape
        real = block.X.dtype
        shift = self.candidates[0]
        shifted = self.candidates - shift
        wide = shifted.astype(np.float64)
        totals = np.zeros(count)
        assignment.try_candidates(
            block.X,
            _weight(block),
            shift,
            shifted,
            np.einsum("ij,ij->i", wide, wide),
            self.closest[block.start : block.start + block.n],
            np.arange(block.n, dtype=np.int32),
            np.empty((_WIDTH, n_features), real),
            np.empty((count, _WIDTH), real),
            totals,
        )
        return totals


def plus_plus(k: int, generator: np.random.Generator, n_trials: int | None = None) -> Any:
    """Draw k rows one after the other, each in proportion to weight times squared distance to those before it.

    Of `n_trials` draws for a centre, that which leaves the smallest sum of squared distances is kept (greedily).
    Returns the centres and their row numbers.
    """
    trials = 2 + int(np.log(k)) if n_trials is None else n_trials
    rows = [int((yield WeightedRows(generator.random(1)))[0])]
    centres = [(yield Take(np.array(rows)))[0]]
    near = None
    while len(rows) < k:
        near = yield Approach(centres[-1], near)
        places = generator.random(trials)
        if near.totals.sum() > 0:
            candidates = yield FarRows(near, places)
            tried = np.ascontiguousarray((yield Take(candidates)))
            best = int(np.argmin((yield Potentials(tried, near.closest)))) if trials > 1 else 0
            rows.append(int(candidates[best]))
            centres.append(tried[best].copy())
        else:
            # Every row sits on a centre already: there are fewer positions than centres.
            rows.append(rows[0])
            centres.append(centres[0])
    return np.stack(centres), np.array(rows, dtype=np.int64)
