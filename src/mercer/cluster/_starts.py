"""First centres: where k-means begins.

Each start is a generator in the manner of a solver: it yields requests and returns the centres. Rows are drawn in
proportion to weight and position alone, so that a row of weight two is drawn like two equal rows, and a row of weight
zero never.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source.block import Block
from mercer._source.namespace import to_numpy
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
        seed = np.random.SeedSequence(self.seed, spawn_key=(block.start,))
        times = np.random.default_rng(seed).standard_exponential(block.n)
        if block.weight is not None:
            with np.errstate(divide="ignore"):
                times = times / to_numpy(block.weight)
        order = np.argsort(times, stable=True)[: self.count]
        order = order[np.isfinite(times[order])]
        chosen = xp.asarray(order, device=block.device)
        rows = block.X[chosen].toarray() if block.is_sparse else to_numpy(xp.take(block.X, chosen, axis=0))
        return FirstRows(self.count, times[order], order + block.start, rows)


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
