"""Errors of ridge regression on each row under the model fitted without it, for every penalty, in one pass.

With S = X_c^T W X_c = V diag(l) V^T, a row x of residual r, taken out once, is missed by r / (1 - q h) where
h = sum_j (V^T x_c)_j^2 / (l_j + alpha) + 1 / sum(w), the last term for the intercept, and q is the weight taken out:
one of the copies that a weight stands for, or all of a weight below one.

The shares l_j / (l_j + alpha) that a direction keeps are a smooth function of two numbers, so that to rounding a matrix
of them for many penalties has a low rank q: for a hundred penalties over seven decades, 7 where all l are alike and
about 50 where they span ten decades. Rows meet its thin factors, n r q + n q a multiplications instead of n r a.
"""

from dataclasses import dataclass, replace

import numpy as np

from mercer._native.sums import left_out
from mercer._source import Block
from mercer._statistic.moments import targets
from mercer._statistic.statistic import Statistic
from mercer._types import Array

# Columns of errors held at once for the rows of a block.
_WIDEST = 256


@dataclass(frozen=True, eq=False)
class LeaveOneOutErrors:
    """The errors of the rows of a block, (n, a k) for a penalties and k targets, penalties slowest.

    Parameters
    ----------
    directions : array of shape (d, r)
        V.
    left : array of shape (r, q)
        The left factor of the shares l / (l + alpha), each row over its l.
    right : array of shape (q, a)
        Their right factor.
    shrunk : array of shape (r, k q)
        Targets along the directions times the left factor, targets slowest.
    mean, y_mean : array
        Of the rows and targets; zero without an intercept.
    share : float
        1 / sum(w), or zero without an intercept.
    """

    directions: Array
    left: Array
    right: Array
    shrunk: Array
    mean: Array
    y_mean: Array
    share: float

    def __call__(self, block: Block) -> Array:
        xp, (rank, n_penalties) = block.xp, self.right.shape
        rows, y = self.along(block), targets(block) - self.y_mean
        # h = sum_j (V^T x)_j^2 / (l_j + alpha) for all penalties as a product of two thin matrices.
        leverage = ((rows * rows) @ self.left) @ self.right + self.share
        if block.weight is not None:
            leverage = leverage * xp.minimum(block.weight, xp.ones_like(block.weight))[:, None]
        # A row of leverage one determines its own fit: its residual is zero, and no leave-one-out error exists.
        left = xp.maximum(1.0 - leverage, xp.full_like(leverage, 1e-300))
        # Fits of all targets and penalties, by the same factors.
        fitted = xp.reshape(rows @ self.shrunk, (-1, rank)) @ self.right
        if self.y_mean.shape[0] == 1:
            return (y - fitted) / left
        errors = (y[:, :, None] - xp.reshape(fitted, (block.n, -1, n_penalties))) / left[:, None, :]
        return xp.reshape(xp.permute_dims(errors, (0, 2, 1)), (block.n, -1))

    def along(self, block: Block) -> Array:
        """Return the centred rows along the directions."""
        if block.is_sparse:
            return block.matmul(self.directions) - self.mean @ self.directions
        return block.centre(self.mean) @ self.directions


@dataclass(frozen=True, eq=False)
class LeaveOneOut(Statistic):
    """The weighted sum of squared errors for each penalty and target, of shape (a k,)."""

    errors: LeaveOneOutErrors

    def of(self, block: Block) -> Array:
        xp, errors = block.xp, self.errors
        n_penalties, size = errors.right.shape[1], max(1, _WIDEST // errors.y_mean.shape[0])
        sums = []
        for start in range(0, n_penalties, size):
            part = replace(errors, right=errors.right[:, start : min(start + size, n_penalties)])(block)
            sums.append(xp.sum(block.weigh(part * part), axis=0))
        return sums[0] if len(sums) == 1 else xp.concat(sums)

    def native_run(self, block: Block, unit: int) -> Array:
        """Sum squared errors over a run of blocks, without an array of errors."""
        return self._by_parts(block, unit, self._of_part)

    def _of_part(self, block: Block) -> Array:
        errors = self.errors
        rows = errors.along(block)
        k, n_penalties = errors.y_mean.shape[0], errors.right.shape[1]
        sums = np.zeros((k, n_penalties))
        left_out.add_squared_errors(
            (rows * rows) @ errors.left,
            rows @ errors.shrunk,
            errors.right,
            targets(block) - errors.y_mean,
            np.empty(0) if block.weight is None else block.weight,
            errors.share,
            np.empty((2, n_penalties)),
            sums,
        )
        return sums.T.reshape(-1)
