"""First centres: where k-means begins.

Each start is a generator in the manner of a solver: it yields requests and returns the centres. Rows are drawn in
proportion to weight and position alone, so that a row of weight two is drawn like two equal rows, and a row of weight
zero never.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source.block import Block, rows_per_block
from mercer._source.namespace import namespace_of, to_numpy
from mercer._statistic import Moments, Statistic

__all__ = ["around_the_mean", "column_moments", "in_the_box", "random_rows"]

Array = Any


def column_moments() -> Any:
    """Weighted mean and variance of each column."""
    sums = yield Moments(diagonal=True)
    return sums.mean, sums.scatter / sums.weight


def around_the_mean(k: int, generator: np.random.Generator, dtype: Any) -> Any:
    """Normal positions with the data's mean and the spread of its columns."""
    mean, variance = yield from column_moments()
    return (mean + np.sqrt(variance) * generator.standard_normal((k, len(mean)))).astype(dtype)


@dataclass(frozen=True)
class BoxCorners:
    """Least and largest value of each column."""

    low: Array
    high: Array

    def __add__(self, other: "BoxCorners") -> "BoxCorners":
        xp = namespace_of(self.low)
        return BoxCorners(xp.minimum(self.low, other.low), xp.maximum(self.high, other.high))


@dataclass(frozen=True)
class Box(Statistic):
    """The smallest box around the rows of positive weight."""

    def of(self, block: Block) -> BoxCorners:
        xp, X = block.xp, block.X
        if block.weight is not None:
            heavy = xp.nonzero(block.weight > 0)[0]
            X = X[heavy] if block.is_sparse else xp.take(X, heavy, axis=0)
        if X.shape[0] == 0:
            low = xp.full((X.shape[1],), np.inf, dtype=X.dtype, device=block.device)
            return BoxCorners(low, -low)
        if block.is_sparse:
            return BoxCorners(X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel())
        return BoxCorners(xp.min(X, axis=0), xp.max(X, axis=0))


def in_the_box(k: int, generator: np.random.Generator, dtype: Any) -> Any:
    """Positions drawn evenly from the bounding box of the data."""
    box = yield Box()
    return (box.low + (box.high - box.low) * generator.random((k, len(box.low)))).astype(dtype)


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

    The row with the least of independent exponential times, of rate its weight, comes next; equal rows together have
    the rate of their summed weight, which is why a weight stands for repetitions. Each block draws from a stream of
    its own, so that blocks may be anywhere.
    """

    seed: tuple[int, ...]
    count: int

    def of(self, block: Block) -> FirstRows:
        xp = block.xp
        times = xp.asarray(self._times(block), dtype=block.wide, device=block.device)
        if block.weight is not None:
            with np.errstate(divide="ignore"):
                times = times / block.weight
        order = xp.argsort(times, stable=True)[: min(self.count, block.n)]
        first = xp.take(times, order)
        order = xp.take(order, xp.nonzero(xp.isfinite(first))[0])
        rows = block.X[order].toarray() if block.is_sparse else to_numpy(xp.take(block.X, order, axis=0))
        first, numbers = to_numpy(first)[: len(rows)], to_numpy(order) + block.start
        return FirstRows(self.count, first.astype(np.float64, copy=False), numbers, rows)

    def _times(self, block: Block) -> Array:
        """Drawn for each block that an array in memory would have, so that larger blocks draw the same."""
        size = block.n if block.is_sparse else rows_per_block(block.X.shape[1])
        parts = []
        for start in range(0, block.n, size):
            seed = np.random.SeedSequence(self.seed, spawn_key=(block.start + start,))
            parts.append(np.random.default_rng(seed).standard_exponential(min(size, block.n - start)))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def random_rows(k: int, generator: np.random.Generator) -> Any:
    """Rows drawn in proportion to their weights, at k different positions if there are so many."""
    seed, taken = tuple(generator.integers(2**32, size=4).tolist()), 2 * k + 16
    while True:
        rows = (yield Race(seed, taken)).rows
        _, first = np.unique(rows, axis=0, return_index=True)
        if len(first) >= k or len(rows) < taken:
            break
        taken *= 8
    others = np.setdiff1d(np.arange(len(rows)), first)
    chosen = np.concatenate([np.sort(first), others])[:k]
    chosen = np.resize(chosen, k)
    return np.ascontiguousarray(rows[chosen])
