"""The triangular factor of the rows: X = Q R without Q, one block at a time.

Each block is centred on its own mean and reduced to its triangle by Householder reflections; two triangles merge into
that of both stacked, with one more row for the step between their means (TSQR: Demmel, Grigori, Hoemmen and Langou,
2012). Nothing is squared, so singular values 1e-8 of the largest keep half their digits where a covariance matrix keeps
none; memory is that of a few triangles.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgeqrt, dtpqrt

from mercer._source import Block
from mercer._source.namespace import namespace_of
from mercer._statistic.moments import targets
from mercer._statistic.statistic import Statistic
from mercer._types import Array


@dataclass(frozen=True)
class TriangleSums:
    """Weight and mean of the columns [X, y], and a triangular R with R^T R their scatter.

    Fewer rows than columns are kept as they are. Without centring the mean is zero.
    """

    weight: float
    mean: Array
    factor: Array

    def __add__(self, other: "TriangleSums") -> "TriangleSums":
        weight = self.weight + other.weight
        if weight == 0:
            return self
        share = other.weight / weight
        step = other.mean - self.mean
        # The scatter of two groups is the sum of theirs and of this rank-one term between their means.
        between = (self.weight * share) ** 0.5 * step[None, :]
        return TriangleSums(weight, self.mean + share * step, _join(self.factor, other.factor, between))


@dataclass(frozen=True)
class Triangle(Statistic):
    """The R of a QR factorisation of the rows, targets behind them where there are any, along the fixed tree.

    Each row is multiplied by the root of its weight; `centre` says whether means are taken off.
    """

    centre: bool = True

    def of(self, block: Block) -> TriangleSums:
        xp = block.xp
        rows = block.centre(0.0)
        if block.y is not None:
            rows = xp.concat([rows, targets(block)], axis=1)
        weight = block.total_weight()
        mean = xp.zeros(rows.shape[1], dtype=block.wide, device=block.device)
        if self.centre and weight:
            mean = xp.sum(block.weigh(rows), axis=0) / weight
            rows = rows - mean
        if block.weight is not None:
            # With rows sqrt(w) x, R^T R is the weighted scatter.
            rows = rows * xp.sqrt(block.weight)[:, None]
        return TriangleSums(weight, mean, reduce_rows(rows))


def reduce_rows(rows: Array) -> Array:
    """Return the factor R of the rows, or the rows themselves where they are fewer than the columns."""
    if rows.shape[0] < rows.shape[1]:
        return rows
    xp = namespace_of(rows)
    if xp is not np:
        return xp.linalg.qr(rows)[1]
    # Panels of 48 columns: at 1024 x 500 in two thirds of the time of numpy.linalg.qr, which takes 32.
    n_columns = rows.shape[1]
    factored = dgeqrt(min(48, n_columns), np.array(rows, order="F"), overwrite_a=1)[0]
    return np.triu(factored[:n_columns])


def _join(first: Array, second: Array, between: Array) -> Array:
    xp = namespace_of(first)
    n_columns = first.shape[1]
    if xp is not np or not first.shape[0] == second.shape[0] == n_columns:
        return reduce_rows(xp.concat([first, second, between]))
    # A triangle below a triangle: LAPACK skips the zeros of both, five times faster than QR of the stack at d = 500.
    width = min(32, n_columns)
    joined = dtpqrt(n_columns, width, np.asfortranarray(first), np.asfortranarray(second))[0]
    if not between.any():
        return np.triu(joined)
    return np.triu(dtpqrt(0, width, joined, np.asfortranarray(between), overwrite_a=1)[0])
