"""First centres: where k-means begins.

Each start is a generator in the manner of a solver: it yields requests and returns the centres. Rows are drawn in
proportion to weight and position alone, so that a row of weight two is drawn like two equal rows, and a row of weight
zero never.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._native import assignment
from mercer._solver import Take
from mercer._source import Source
from mercer._source.block import Block
from mercer._source.threads import run_numbered
from mercer._statistic import Moments, Statistic, Sums
from mercer.cluster._centres import Centres

__all__ = ["PlusPlus", "RowDraw", "around_the_mean", "column_moments", "in_the_box", "plus_plus", "random_rows"]

Array = Any
_NONE = np.empty(0)
_WIDTH = 256


@dataclass(frozen=True)
class ColumnSums(Sums):
    """Weight, sum and sum of squares of each column."""

    weight: float
    first: Array
    second: Array


@dataclass(frozen=True)
class SparseMoments(Statistic):
    """Column sums of sparse rows, which are not centred because that would fill them."""

    def of(self, block: Block) -> ColumnSums:
        weight = np.ones(block.n) if block.weight is None else block.weight
        squares = block.X.multiply(block.X)
        return ColumnSums(block.total_weight(), block.column_sums(), np.asarray(squares.T @ weight, dtype=np.float64))


def column_moments(source: Source) -> Any:
    """Weighted mean and variance of each column."""
    if not issparse(source.whole()):
        sums = yield Moments(diagonal=True)
        return sums.mean, sums.scatter / sums.weight
    sums = yield SparseMoments()
    mean = sums.first / sums.weight
    return mean, np.maximum(0.0, sums.second / sums.weight - mean * mean)


def around_the_mean(k: int, generator: np.random.Generator, source: Source) -> Any:
    """Normal positions with the data's mean and the spread of its columns."""
    mean, variance = yield from column_moments(source)
    return (mean + np.sqrt(variance) * generator.standard_normal((k, len(mean)))).astype(source.dtype)


@dataclass(frozen=True)
class BoxCorners:
    """Least and largest value of each column."""

    low: Array
    high: Array

    def __add__(self, other: "BoxCorners") -> "BoxCorners":
        return BoxCorners(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


@dataclass(frozen=True)
class Box(Statistic):
    """The smallest box around the rows of positive weight."""

    def of(self, block: Block) -> BoxCorners:
        X = block.X if block.weight is None else block.X[np.flatnonzero(block.weight > 0)]
        if X.shape[0] == 0:
            return BoxCorners(np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf))
        low, high = X.min(axis=0), X.max(axis=0)
        return BoxCorners(low.toarray().ravel(), high.toarray().ravel()) if block.is_sparse else BoxCorners(low, high)


def in_the_box(k: int, generator: np.random.Generator, dtype: Any) -> Any:
    """Positions drawn evenly from the bounding box of the data."""
    box = yield Box()
    return (box.low + (box.high - box.low) * generator.random((k, len(box.low)))).astype(dtype)


@dataclass(frozen=True)
class Drawn:
    """Row numbers in an order drawn without replacement, each next one in proportion to its weight.

    The row with the least of independent exponential times, of rate its weight, comes next; equal rows together have
    the rate of their summed weight, which is why a weight stands for repetitions.
    """

    generator: np.random.Generator

    def answer(self, source: Source) -> Array:
        times = self.generator.standard_exponential(source.n_rows)
        if source.weight is None:
            return np.argsort(times)
        positive = np.flatnonzero(source.weight > 0)
        return positive[np.argsort(times[positive] / source.weight[positive])]


def random_rows(k: int, generator: np.random.Generator) -> Any:
    """Rows drawn in proportion to their weights, at k different positions if there are so many."""
    order = yield Drawn(generator)
    taken = min(len(order), 2 * k + 16)
    while True:
        rows = yield Take(order[:taken])
        _, first = np.unique(rows, axis=0, return_index=True)
        if len(first) >= k or taken == len(order):
            break
        taken = min(len(order), 8 * taken)
    others = np.setdiff1d(np.arange(taken), first)
    chosen = np.concatenate([np.sort(first), others])[:k]
    chosen = np.resize(chosen, k)
    return np.ascontiguousarray(rows[chosen])


class RowDraw:
    """Draws rows with replacement, in proportion to their weights."""

    def __init__(self, source: Source) -> None:
        self.n_rows = source.n_rows
        self.ends = None if source.weight is None else np.cumsum(source.weight)

    def rows(self, generator: np.random.Generator, count: int) -> Array:
        """Row numbers; unit weights draw the same ones as no weights."""
        places = generator.random(count)
        if self.ends is None:
            return np.minimum((places * self.n_rows).astype(np.int64), self.n_rows - 1)
        # Searching to the right passes over rows of weight zero; rounding may lead past the last other one.
        found = np.searchsorted(self.ends, places * self.ends[-1], side="right")
        return np.minimum(found, np.searchsorted(self.ends, self.ends[-1]))


class Nearness:
    """Each row's squared distance to the nearest centre so far, with its weighted sum per block.

    The sums per block let a draw look into a few blocks only.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.closest = np.full(source.n_rows, np.inf)
        self.totals = np.zeros(source.n_blocks)

    def keep(self, centre: Array) -> None:
        """Take up a new centre."""

        def on_block(number: int) -> float:
            block = self.source.block(number)
            closest = self.closest[block.start : block.start + block.n]
            if block.is_sparse:
                np.minimum(closest, _sparse_distances(block, centre[None, :])[:, 0], out=closest)
                return float(np.sum(block.weighted(closest)))
            return assignment.keep_nearest(block.X, _weight(block), centre, closest)

        parts: list[float] = []
        run_numbered(on_block, self.source.n_blocks, self.source.threads, parts.append)
        self.totals = np.array(parts)

    def draw(self, places: Array) -> Array:
        """Rows in proportion to weight times squared distance; `places` are numbers in [0, 1)."""
        ends = np.cumsum(self.totals)
        wanted = places * ends[-1]
        numbers = np.minimum(np.searchsorted(ends, wanted, side="right"), len(ends) - 1)
        return np.array([self._draw_from(number, w, ends) for number, w in zip(numbers, wanted, strict=True)])

    def _draw_from(self, number: int, wanted: float, ends: Array) -> int:
        start, stop = self.source.bounds(number)
        mass = self.closest[start:stop]
        if self.source.weight is not None:
            mass = mass * self.source.weight[start:stop]
        place = np.searchsorted(np.cumsum(mass), wanted - (ends[number - 1] if number else 0.0), side="right")
        # Rounding may lead past the last row with any mass, or start on one without.
        possible = np.flatnonzero(mass > 0)
        return start + int(possible[min(int(np.searchsorted(possible, place)), len(possible) - 1)])

    def potentials(self, candidates: Array) -> Array:
        """Per candidate: the weighted sum of squared distances that it would leave as the next centre."""
        return self.source.reduce(Potentials(candidates, self.closest))


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


@dataclass(frozen=True)
class PlusPlus:
    """Draw k rows one after the other, each in proportion to weight times squared distance to those before it.

    Of `n_trials` draws for a centre, that which leaves the smallest sum of squared distances is kept (greedily).
    """

    k: int
    generator: np.random.Generator
    n_trials: int | None = None

    def answer(self, source: Source) -> tuple[Array, Array]:
        """The centres and their row numbers."""
        trials = 2 + int(np.log(self.k)) if self.n_trials is None else self.n_trials
        rows = np.empty(self.k, dtype=np.int64)
        rows[0] = RowDraw(source).rows(self.generator, 1)[0]
        centres = np.empty((self.k, source.n_features), dtype=source.dtype)
        centres[0] = source.take(rows[:1])[0]
        near = Nearness(source)
        for number in range(1, self.k):
            near.keep(centres[number - 1])
            places = self.generator.random(trials)
            if near.totals.sum() > 0:
                candidates = near.draw(places)
                best = 0
                if trials > 1:
                    best = int(np.argmin(near.potentials(np.ascontiguousarray(source.take(candidates)))))
                rows[number] = candidates[best]
            else:
                # Every row sits on a centre already: there are fewer positions than centres.
                rows[number] = rows[0]
            centres[number] = source.take(rows[number : number + 1])[0]
        return centres, rows


def plus_plus(k: int, generator: np.random.Generator) -> Any:
    """Greedy k-means++ (Arthur and Vassilvitskii, 2007)."""
    centres, _ = yield PlusPlus(k, generator)
    return centres
