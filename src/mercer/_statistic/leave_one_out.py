"""Errors of ridge regression on each row under the model fitted without it, for every penalty, in one pass.

With S = X_c^T W X_c = V diag(l) V^T, a row x of residual r, taken out once, is missed by r / (1 - q h) where
h = sum_j (V^T x_c)_j^2 / (l_j + alpha) + 1 / sum(w), the last term for the intercept, and q is the weight taken out:
one of the copies that a weight stands for, or all of a weight below one.
"""

from dataclasses import dataclass
from typing import Any

from mercer._source import Block
from mercer._statistic.moments import targets
from mercer._statistic.statistic import Statistic

__all__ = ["LeaveOneOut", "LeaveOneOutErrors"]

Array = Any
# Columns of errors held at once for the rows of a block.
_WIDEST = 256


@dataclass(frozen=True, eq=False)
class LeaveOneOutErrors:
    """The errors of the rows of a block, (n, a k) for a penalties and k targets, penalties slowest.

    Parameters
    ----------
    directions : array of shape (d, r)
        V.
    inverse : array of shape (r, a)
        1 / (l + alpha).
    shrunk : array of shape (r, a k)
        Coefficients along the directions.
    mean, y_mean : array
        Of the rows and targets; zero without an intercept.
    share : float
        1 / sum(w), or zero without an intercept.
    """

    directions: Array
    inverse: Array
    shrunk: Array
    mean: Array
    y_mean: Array
    share: float

    def __call__(self, block: Block) -> Array:
        xp, k = block.xp, self.y_mean.shape[0]
        rows, y = self._along(block), targets(block) - self.y_mean
        leverage = (rows * rows) @ self.inverse + self.share
        if block.weight is not None:
            leverage = leverage * xp.minimum(block.weight, xp.ones_like(block.weight))[:, None]
        # A row that alone determines its fit has nothing left: its residual is zero, and stays so.
        left = xp.maximum(1.0 - leverage, xp.full_like(leverage, 1e-300))
        residual = xp.tile(y, (1, leverage.shape[1])) - rows @ self.shrunk
        return residual / xp.repeat(left, k, axis=1)

    def _along(self, block: Block) -> Array:
        if block.is_sparse:
            return block.matmul(self.directions) - self.mean @ self.directions
        return block.centred(self.mean) @ self.directions


@dataclass(frozen=True, eq=False)
class LeaveOneOut(Statistic):
    """The weighted sum of squared errors for each penalty and target, of shape (a k,)."""

    errors: LeaveOneOutErrors

    def of(self, block: Block) -> Array:
        xp, errors = block.xp, self.errors
        k, n_penalties = errors.y_mean.shape[0], errors.inverse.shape[1]
        size = max(1, _WIDEST // k)
        sums = []
        for start in range(0, n_penalties, size):
            stop = min(start + size, n_penalties)
            inverse, shrunk = errors.inverse[:, start:stop], errors.shrunk[:, start * k : stop * k]
            some = LeaveOneOutErrors(errors.directions, inverse, shrunk, errors.mean, errors.y_mean, errors.share)
            found = some(block)
            sums.append(xp.sum(block.weighted(found * found), axis=0))
        return sums[0] if len(sums) == 1 else xp.concat(sums)
