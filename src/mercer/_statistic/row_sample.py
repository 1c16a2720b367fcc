"""A random sample of the rows, drawn in one pass over rows in any place."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from mercer._source import Block
from mercer._statistic.statistic import Statistic
from mercer._types import Array, Rows


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """The rows with the least keys, at most ``size`` of them, their weights, and the number of all rows."""

    size: int
    keys: Array
    rows: Rows
    n_rows: int
    weight: Array = None

    def __add__(self, other: "DrawnRows") -> "DrawnRows":
        keys = np.concatenate([self.keys, other.keys])
        near = np.arange(len(keys))
        if len(keys) > self.size:
            near = np.flatnonzero(keys <= np.partition(keys, self.size - 1)[self.size - 1])
        split = np.searchsorted(near, len(self.keys))
        kept = near[:split], near[split:] - len(self.keys)
        if issparse(self.rows):
            rows: Any = vstack([self.rows[kept[0]], other.rows[kept[1]]], format="csr")
        else:
            # Written in place: a sample takes as much memory as many a block, and is not copied more often than once.
            rows = np.empty((len(near), self.rows.shape[1]), self.rows.dtype)
            np.take(self.rows, kept[0], axis=0, out=rows[:split], mode="clip")
            np.take(other.rows, kept[1], axis=0, out=rows[split:], mode="clip")
        weight = None if self.weight is None else np.concatenate([self.weight, other.weight])[near]
        return DrawnRows(self.size, keys[near], rows, self.n_rows + other.n_rows, weight)

    def in_order(self) -> Rows:
        """Return the rows in the order of their keys."""
        return self.rows[np.argsort(self.keys)]


@dataclass(frozen=True)
class RowSample(Statistic):
    """A sample without replacement of `size` rows: each row has a random key, and those with the least keys are drawn.

    Keys depend on the seed and on the index of the row, so that a sample does not depend on threads or places. Where
    the number of rows is known, `share` is a bound that the keys of drawn rows keep with near certainty: rows above it
    need not travel.
    """

    size: int
    seed: int
    share: float = 1.0

    @classmethod
    def of_source(cls, size: int, seed: int, n_rows: int | None) -> "RowSample":
        """Return a sample of the rows; `n_rows` is their number, or None where it is not known."""
        # Ten deviations of a Poisson count above its mean: fewer keys below the bound than `size` are never seen.
        return cls(size, seed, 1.0 if n_rows is None else min(1.0, (size + 10.0 * size**0.5 + 100.0) / n_rows))

    def of(self, block: Block) -> DrawnRows:
        # One draw of 64 bits for each row of the source, whichever block it is in.
        stream = np.random.PCG64(self.seed).advance(block.start)
        keys = np.random.Generator(stream).random(block.n)
        near = np.flatnonzero(keys < self.share)
        if len(near) > self.size:
            near = near[np.argpartition(keys[near], self.size - 1)[: self.size]]
        weight = None if block.weight is None else block.weight[near]
        return DrawnRows(self.size, keys[near], block.X[near], block.n, weight)
