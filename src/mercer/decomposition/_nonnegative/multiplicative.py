"""Multiplicative updates for nonnegative factorisation under any beta-divergence (Lee and Seung, Fevotte and Idier)."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Block
from mercer._statistic import Statistic
from mercer._statistic.statistic import Sums
from mercer._types import Array
from mercer.decomposition._nonnegative.divergence import (
    EPSILON,
    measure_divergence,
    parts_in_columns,
    parts_in_rows,
)
from mercer.decomposition._nonnegative.problem import Factors, Penalties

# Iterations between two looks at the divergence; scikit-learn's number.
_EVERY = 10
# Updates of a factor for each product with X under squared error (Gillis and Glineur, 2012).
_REPEATS = 4
# Entries below this are set to zero where small numbers would make the divergence unstable.
_TINY = float(np.finfo(np.float64).eps)
_CERTIFICATE = Certificate.none(
    "Multiplicative updates approach zeros but never reach them, so that the gradient says little of what is left; "
    "history_ has the relative projected gradient."
)


def exponent(beta: float) -> float:
    """Return the power of the update that makes the divergence fall (Fevotte and Idier, 2011)."""
    return 1.0 / (2.0 - beta) if beta < 1 else 1.0 / (beta - 1.0) if beta > 2 else 1.0


def divide_parts(subtracted: Array, added: Array, factor: Array, l1: float, l2: float, gamma: float) -> Array:
    """Return the factor times (subtracted / added)^gamma, the penalties in the divisor."""
    divisor = added + l1 + l2 * factor if l1 or l2 else added
    if not divisor.all():
        divisor = np.where(divisor == 0, EPSILON, divisor)
    ratio = subtracted / divisor
    if gamma != 1:
        ratio **= gamma
    ratio *= factor
    return ratio


def clear_small(factor: Array, wanted: bool) -> Array:
    """Return the factor with numbers of the size of rounding set to zero, if that is wanted."""
    return np.where(factor < _TINY, 0.0, factor) if wanted else factor


@dataclass(frozen=True)
class UpdateSums(Sums):
    """Both parts of the gradient in H."""

    subtracted: Array
    added: Array


@dataclass(frozen=True, eq=False)
class RowUpdate(Statistic):
    """Update the rows of W that belong to a block, which are written to `out`, and sum what H needs."""

    W: Array
    T: Array
    beta: float
    penalties: Penalties
    out: Array
    repeats: int = 1

    def of(self, block: Block) -> UpdateSums:
        rows = slice(block.start, block.start + block.n)
        l1, l2, gamma = self.penalties.l1_rows, self.penalties.l2_rows, exponent(self.beta)
        minus, plus = parts_in_rows(block.X, self.W[rows], self.T, self.beta)
        W = divide_parts(minus, plus, self.W[rows], l1, l2, gamma)
        if self.repeats > 1:
            # The product with H H^T replaces the pass over X.
            gram = self.T.T @ self.T
            for _ in range(self.repeats - 1):
                W = divide_parts(minus, W @ gram, W, l1, l2, gamma)
        W = clear_small(W, self.beta < 1)
        self.out[rows] = W
        return UpdateSums(*parts_in_columns(block.X, W, self.T, self.beta))


@dataclass(frozen=True)
class MeasureSums(Sums):
    """Parts of the gradient in H, the divergence, squares of the gradient in W and of its subtracted part."""

    subtracted: Array
    added: Array
    divergence: float
    gradient: float
    size: float


@dataclass(frozen=True, eq=False)
class Measure(Statistic):
    """The divergence of two factors, and how far they are from a stationary point."""

    W: Array
    T: Array
    beta: float
    penalties: Penalties

    def of(self, block: Block) -> MeasureSums:
        W = self.W[block.start : block.start + block.n]
        minus, plus = parts_in_rows(block.X, W, self.T, self.beta)
        slope = _project(W, plus - minus + self.penalties.l1_rows + self.penalties.l2_rows * W)
        parts = parts_in_columns(block.X, W, self.T, self.beta)
        divergence = measure_divergence(block.X, W, self.T, self.beta)
        return MeasureSums(*parts, divergence, float((slope**2).sum()), float((minus**2).sum()))


def multiply(start: Factors, beta: float, penalties: Penalties, tol: float, max_iter: int) -> Solver:
    """Update W and H in turn until the divergence falls by less than `tol` of its first value in ten iterations.

    A step is ten iterations, since measuring the divergence costs about as much as an iteration.
    """
    state, gamma = start, exponent(beta)
    # Under squared error X H^T and W^T X stay as they are while one factor changes: each is used for several updates.
    repeats = _REPEATS if beta == 2 else 1
    if np.isnan(state.first):
        measured = yield Measure(state.W, state.T, beta, penalties)
        # scikit-learn's measure: the root of twice the divergence.
        root = float(np.sqrt(2 * max(measured.divergence, 0.0)))
        state = replace(state, first=root, last=root)
    while not state.stopped and state.step < max_iter:
        W, T, count = state.W, state.T, min(_EVERY, max_iter - state.step)
        for _ in range(count):
            out = np.empty_like(W)
            sums = yield RowUpdate(W, T, beta, penalties, out, repeats)
            for _ in range(repeats):
                added = T @ sums.added if beta == 2 else sums.added
                # T <- T (subtracted / (added + penalties))^gamma; the exponent makes the divergence fall for every
                # beta.
                T = divide_parts(sums.subtracted, added, T, penalties.l1_parts, penalties.l2_parts, gamma)
            W, T = out, clear_small(T, beta <= 1)
        measured = yield Measure(W, T, beta, penalties)
        root = float(np.sqrt(2 * max(measured.divergence, 0.0)))
        # Judged only after ten iterations, as in scikit-learn.
        stopped = bool(tol > 0 and count == _EVERY and state.last - root <= tol * state.first)
        residual = _find_residual(T, measured, beta, penalties)
        state = Factors(W, T, state.step + count, residual, max(measured.divergence, 0.0), state.first, root, stopped)
        objective = measured.divergence + penalties.value(W, T)
        yield Step(objective, state, _CERTIFICATE, {"projected_gradient": residual})
    # Without a tolerance all iterations were asked for.
    reason = "converged" if state.stopped else "max_iter" if tol > 0 else "iterations"
    return Solution(state, state.stopped, _CERTIFICATE, reason)


def _project(factor: Array, gradient: Array) -> Array:
    """Leave out entries of the gradient that would make a zero negative."""
    return np.where(factor > 0, gradient, np.minimum(gradient, 0.0))


def _find_residual(T: Array, sums: MeasureSums, beta: float, penalties: Penalties) -> float:
    """Return the relative projected gradient in W and H, whichever is larger."""
    added = T @ sums.added if beta == 2 else sums.added
    slope = _project(T, added - sums.subtracted + penalties.l1_parts + penalties.l2_parts * T)
    pairs = ((sums.gradient, sums.size), (float((slope**2).sum()), float((sums.subtracted**2).sum())))
    return max(float(np.sqrt(part / whole)) if whole > 0 else 0.0 for part, whole in pairs)


def solve_rows_multiplicatively(
    X: Any, T: Array, beta: float, penalties: Penalties, tol: float, max_iter: int
) -> Array:
    """Return rows of W for fixed H: updates from equal weights until a row moves by no more than `tol` of its length.

    Rows end one by one, so that a row does not depend on those beside it.
    """
    means = np.asarray(X.mean(axis=1), dtype=np.float64).reshape(-1, 1)
    # Equal weights whose product has about the mean of the row.
    W = np.repeat(np.sqrt(np.maximum(means, 0.0) / T.shape[1]), T.shape[1], axis=1)
    moving, gamma = np.arange(len(W)), exponent(beta)
    for _ in range(max_iter):
        if not len(moving):
            break
        rows, before = X[moving], W[moving]
        minus, plus = parts_in_rows(rows, before, T, beta)
        after = divide_parts(minus, plus, before, penalties.l1_rows, penalties.l2_rows, gamma)
        W[moving] = after
        moved = np.linalg.norm(after - before, axis=1) > tol * np.linalg.norm(after, axis=1)
        moving = moving[moved] if tol > 0 else moving
    return W
