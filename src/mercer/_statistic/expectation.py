"""The E step of a mixture, summed: what the rows are expected to have given to each component.

The log densities of Gaussian and Bernoulli components, with the log of their shares, are linear in a few features of a
row x, taken about a shift c: one, x - c, and its squares or products of pairs. A row's responsibilities are the
softmax of these scores, and all that an M step needs is the features summed by responsibility: k numbers a feature,
whatever the number of rows. Two matrix products do both.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from mercer._native.sums import expectation
from mercer._source import Block
from mercer._source.namespace import find_row_largest, sum_rows
from mercer._statistic.statistic import Statistic, Sums, fold_sums
from mercer._types import Array

_NONE = np.empty(0)
# What follows one and the row among the features: nothing, its squared length, its squares, its products of pairs.
FORMS = ("linear", "spherical", "diagonal", "full")
# Numbers in the features of the rows that a device holds at once, 256 MiB: with a quarter of them, starting operations
# took an H200 longer than doing them.
_FEATURES_HELD = 2**25
# Numbers in the features of a tile of rows: a quarter of a second-level cache. A pass over 100,000 x 16 with 20 full
# covariances takes 38 ms of a Zen 4 core (32 GFLOP/s) with 128 rows a tile, 40 with 64 or 256.
_TILE = 2**15
# Numbers in the sums of a run of blocks at most; beyond, a block takes so long that runs gain nothing.
_LARGEST_TABLE = 2**20
# Products of a row's features with components in one call at most, some 20 ms: beyond, Ctrl-C would wait for it.
_LONGEST_CALL = 2**27


@dataclass(frozen=True)
class ExpectedSums(Sums):
    """Per component the features weighed by responsibility and weight (k, p), and the weighted sum of log densities.

    With hard responsibilities the latter is of the best component's alone.
    """

    table: Array
    bound: float

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(np.sum(self.table[:, 0]))


def n_features_of(form: str, d: int) -> int:
    """Return how many features a row of d columns has."""
    return 1 + d + {"linear": 0, "spherical": 1, "diagonal": d, "full": d * (d + 1) // 2}[form]


@lru_cache(maxsize=16)
def pairs(d: int) -> tuple[Array, Array]:
    """Return the two columns of each pair, in the order of the features: the first not after the second.

    The arrays are read-only, because all callers share them: every step of EM asks for them several times.
    """
    first, second = np.triu_indices(d)
    first.flags.writeable = second.flags.writeable = False
    return first, second


def pairs_beside(block: Block) -> tuple[Array, Array]:
    """Return the two columns of :func:`pairs` as arrays where the rows of `block` are."""
    first, second = pairs(block.X.shape[1])
    return block.xp.asarray(first, device=block.device), block.xp.asarray(second, device=block.device)


def features(block: Block, rows: Array, form: str, columns: tuple[Array, Array] | None = None) -> Array:
    """Return the features (n, p) of wide rows, less the shift already; `columns` are the pairs, if known."""
    xp = block.xp
    ones = xp.ones((rows.shape[0], 1), dtype=block.wide, device=block.device)
    if form == "linear":
        return xp.concat([ones, rows], axis=1)
    if form == "full":
        # Of the symmetric products x_i x_j only the pairs i <= j are features.
        first, second = columns or pairs_beside(block)
        squares = xp.take(rows, first, axis=1) * xp.take(rows, second, axis=1)
    else:
        squares = rows * rows
        squares = xp.sum(squares, axis=1, keepdims=True) if form == "spherical" else squares
    return xp.concat([ones, rows, squares], axis=1)


def compute_responsibilities(scores: Array, hard: bool, xp: Any) -> tuple[Array, Array]:
    """Return responsibilities (n, k) from scores, and the log density of each row; when hard, the largest score."""
    most = find_row_largest(scores, xp)
    if hard:
        best = xp.argmax(scores, axis=1)[:, None]
        numbers = xp.arange(scores.shape[1], dtype=best.dtype, device=None if xp is np else scores.device)[None, :]
        return xp.astype(numbers == best, scores.dtype), most[:, 0]
    shares = xp.exp(scores - most)
    total = sum_rows(shares, xp)
    return shares / total, (most + xp.log(total))[:, 0]


@dataclass(frozen=True, eq=False)
class Expectation(Statistic):
    """Features weighed by the responsibilities of components with scores ``theta @ features(x - shift)``.

    Parameters
    ----------
    theta : (k, p)
    shift : (d,) or None, which stands for zero and keeps sparse rows sparse (for the linear form alone)
    form : one of FORMS
    hard : whether each row goes to its best component alone, among equals the first
    """

    theta: Array
    shift: Array
    form: str
    hard: bool = False

    def of(self, block: Block) -> ExpectedSums:
        if self.form == "linear" and self.shift is None:
            return self._of_plain_rows(block)
        xp = block.xp
        table: Array = 0.0
        bound: Array = 0.0
        columns = pairs_beside(block) if self.form == "full" else None
        for part in block.parts(max(1, max(block.tile_size, _FEATURES_HELD) // self.theta.shape[1])):
            known = features(part, part.centre(self.shift), self.form, columns)
            shares, densities = compute_responsibilities(known @ self.theta.T, self.hard, xp)
            table = part.weigh(shares).T @ known + table
            bound = xp.sum(part.weigh(densities)) + bound
        # A number is fetched once a block: a device would have to finish for each.
        return ExpectedSums(table, float(bound))

    def _of_plain_rows(self, block: Block) -> ExpectedSums:
        """Compute :meth:`of` where the features are the rows themselves, which may be sparse."""
        xp = block.xp
        scores = block.matmul(self.theta[:, 1:].T) + self.theta[:, 0][None, :]
        shares, densities = compute_responsibilities(scores, self.hard, xp)
        heavy = block.weigh(shares)
        table = xp.concat([xp.sum(heavy, axis=0)[:, None], block.transpose_matmul(heavy).T], axis=1)
        return ExpectedSums(table, float(xp.sum(block.weigh(densities))))

    def native_run(self, block: Block, unit: int) -> ExpectedSums:
        n_blocks, (k, p) = -(-block.n // unit), self.theta.shape
        # Long runs go by parts: tables of sums stay small, and a call without the interpreter lock stays short.
        if n_blocks > 1 and (n_blocks * k * p > _LARGEST_TABLE or block.n * k * p > _LONGEST_CALL):
            return self._by_parts(block, unit, self.native)
        tile = tile_rows(p, unit)
        sums, bounds = np.zeros((n_blocks, k, p)), np.zeros(n_blocks)
        expectation.expect_run(
            block.X,
            unit,
            _NONE if block.weight is None else block.weight,
            self._theta,
            self._shift(block),
            FORMS.index(self.form),
            self.hard,
            np.empty((p, tile)),
            np.empty((k, tile)),
            # Workspaces: the features of a tile transposed, the scores of a tile, and three numbers per row.
            np.empty((3, tile)),
            sums,
            bounds,
        )
        return ExpectedSums(fold_sums(sums).copy() if n_blocks > 1 else sums[0], float(fold_sums(bounds)))

    def scores(self, block: Block) -> Array:
        """Return the score of each row for each component, (n, k), in the wide type."""
        if not block.is_native:
            if self.form == "linear" and self.shift is None:
                # Without a shift, sparse and device rows are multiplied as they are; no features are formed.
                return block.matmul(self.theta[:, 1:].T) + self.theta[:, 0][None, :]
            return features(block, block.centre(self.shift), self.form) @ self.theta.T
        k, p = self.theta.shape
        tile = tile_rows(p, max(1, block.n))
        out = np.empty((block.n, k))
        form = FORMS.index(self.form)
        workspace = np.empty((p, tile)), np.empty((k, tile))
        expectation.score_rows(block.X, self._theta, self._shift(block), form, *workspace, out)
        return out

    @cached_property
    def _theta(self) -> Array:
        return np.ascontiguousarray(self.theta)

    def _shift(self, block: Block) -> Array:
        return np.zeros(block.X.shape[1]) if self.shift is None else self.shift


def tile_rows(p: int, unit: int) -> int:
    """Return the rows in a tile: a power of two, which divides the rows of a block."""
    rows = max(16, min(256, _TILE // max(1, p)))
    return min(2 ** (rows.bit_length() - 1), 2 ** max(0, (unit - 1).bit_length()))
