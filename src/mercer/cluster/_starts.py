"""First centres: where k-means begins.

Each start is a generator in the manner of a solver: it yields requests and returns the centres. Rows are drawn in
proportion to weight and position alone, so that a row of weight two is drawn like two equal rows, and a row of weight
zero never.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._solver import Take
from mercer._source import Source
from mercer._source.block import Block
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
