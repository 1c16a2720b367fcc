"""The problem of nonnegative matrix factorisation: loss, penalties, the state of a solver, and its extrapolation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._source import Block
from mercer._statistic import Statistic
from mercer._statistic.statistic import Sums
from mercer._types import Array
from mercer.errors import DataError

# The first length, as a share of the last move; this and the factors below are those of the paper for exact updates.
_FIRST = 0.5
# Growth of the length after a round that lowered the objective.
_GROWTH = 1.05
# Growth of the bound of the length after such a round.
_GROWTH_OF_BOUND = 1.01
# Divisor of the length after a round that was dropped.
_SHRINKAGE = 1.5


@plain
@dataclass(frozen=True, eq=False)
class Extrapolation:
    """The factors of the round before the last, how far to go on from them, and the objective not to be exceeded.

    ``length`` is that of the next round, ``following`` the one after it, ``bound`` the largest that is tried.
    """

    W: Array
    T: Array
    length: float = 0.0
    following: float = _FIRST
    bound: float = 1.0
    objective: float = np.inf

    def grow(self, W: Array, T: Array, objective: float) -> "Extrapolation":
        """Return what follows a round that moved from `W` and `T` and lowered the objective to `objective`."""
        length = min(self.bound, self.following)
        bound = min(1.0, _GROWTH_OF_BOUND * self.bound)
        return Extrapolation(W, T, length, min(self.bound, _GROWTH * length), bound, objective)

    def shrink(self) -> "Extrapolation":
        """Return what follows a round that was dropped: one without extrapolation."""
        return Extrapolation(self.W, self.T, 0.0, self.length / _SHRINKAGE, self.length, self.objective)


def extrapolate(now: Array, before: Array, length: float, out: Array) -> None:
    """Write the point beyond `now` on the line from `before`, without its negative entries, to `out`."""
    if length == 0:
        out[...] = now
        return
    np.subtract(now, before, out=out)
    out *= length
    out += now
    np.maximum(out, 0.0, out=out)


_BETAS = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}


def read_beta(loss: Any) -> float:
    """Return the number beta of a loss given by name or number."""
    return _BETAS[loss] if isinstance(loss, str) else float(loss)


@plain
@dataclass(frozen=True, eq=False)
class Factors:
    """The factors of X = W H and how well they fit.

    ``W`` is (n, k), ``T`` is H transposed, (d, k). ``residual`` is the relative projected gradient (NaN where unknown),
    ``divergence`` the loss without penalties (NaN where unknown), ``first`` and ``last`` the roots of twice
    the divergence that the rule to stop compares, ``move`` what coordinate descent extrapolates with.
    """

    W: Array
    T: Array
    step: int = 0
    residual: float = np.nan
    divergence: float = np.nan
    first: float = np.nan
    last: float = np.nan
    stopped: bool = False
    move: Extrapolation | None = None


@dataclass(frozen=True)
class Penalties:
    """l1 |w| + l2 |w|^2 / 2 on the entries of W, and the same on those of H."""

    l1_rows: float
    l1_parts: float
    l2_rows: float
    l2_parts: float

    @classmethod
    def of(cls, estimator: Any, n_rows: int, n_features: int) -> "Penalties":
        """Return the penalties that scikit-learn's parameters mean: W's grow with the columns, H's with the rows."""
        on_rows, on_columns = estimator.alpha_W, estimator.alpha_H
        on_columns = on_rows if on_columns == "same" else on_columns
        share = estimator.l1_ratio
        # As in scikit-learn: the penalty of W is multiplied by the columns, that of H by the rows.
        return cls(
            n_features * on_rows * share,
            n_rows * on_columns * share,
            n_features * on_rows * (1.0 - share),
            n_rows * on_columns * (1.0 - share),
        )

    def value(self, W: Array, T: Array) -> float:
        """Return the penalty of two factors."""
        on_rows = (
            self.l1_rows * float(W.sum()) + self.l2_rows / 2 * float((W * W).sum())
            if self.l1_rows or self.l2_rows
            else 0.0
        )
        if not (self.l1_parts or self.l2_parts):
            return on_rows
        return on_rows + self.l1_parts * float(T.sum()) + self.l2_parts / 2 * float((T * T).sum())


@dataclass(frozen=True)
class ExtentSums(Sums):
    """Sum and sum of squares of all entries, how many are negative, zero or stored."""

    total: float
    squares: float
    n_negative: float
    n_positive: float


@dataclass(frozen=True)
class Extent(Statistic):
    """What a factorisation must know of the entries before it starts."""

    def of(self, block: Block) -> ExtentSums:
        values = block.X.data if block.is_sparse else block.X
        total = float(np.sum(values, dtype=np.float64))
        flat = values.ravel()
        squares = float(np.einsum("i,i->", flat, flat, dtype=np.float64))
        return ExtentSums(total, squares, float((values < 0).sum()), float((values > 0).sum()))

    @staticmethod
    def check(sums: ExtentSums, subject: str, beta: float, size: float) -> None:
        """Raise for negative entries, and for zeros where the loss is infinite there."""
        if sums.n_negative:
            raise DataError(
                f"Negative values in data passed to {subject} (input X): {sums.n_negative:.0f} entries are negative, "
                f"and factors without negative entries cannot make them. Shift or clip the rows, or use PCA."
            )
        if beta <= 0 and sums.n_positive < size:
            raise DataError(
                f"{subject}: When beta_loss <= 0 and X contains zeros, the solver may diverge. Please add small values "
                f"to X, or use a positive beta_loss."
            )
