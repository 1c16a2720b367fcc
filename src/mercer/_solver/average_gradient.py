"""Ridge by stochastic average gradients: SAG (Schmidt, Le Roux and Bach, 2017) and SAGA (Defazio and others, 2014).

A step of the solver is an epoch: as many visits to rows, drawn with replacement, as there are rows. The means are taken
off by algebra, so the intercept needs no coordinate of its own, and the table of slopes starts at its true values for
coefficients of zero.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._native import average_gradient as native
from mercer._plain import plain
from mercer._solver.driver import Solver
from mercer._solver.linear_state import gradient_certificate
from mercer._solver.request import Dense, Map
from mercer._solver.step import Solution, Step
from mercer._statistic import MomentSums
from mercer._statistic.products import LeanMoments, Residual

__all__ = ["AverageState", "by_average_gradient"]

Array = Any
# Numbers touched in one native call: some 10 ms of work, after which Ctrl-C is heard.
_CHUNK = 2**22


@plain
@dataclass(frozen=True)
class AverageState:
    """The model, each row's last slope, the sum of slopes times rows, epochs done, and the seed of the draws.

    Arrays have one row per target.
    """

    coef: Array
    intercept: Array
    table: Array
    total: Array
    steps: Array
    seed: Array
    method: str


def by_average_gradient(
    X: Array,
    y: Array,
    weight: Array,
    alpha: Array,
    centre: bool,
    tolerance: float,
    max_iter: int,
    method: str,
    seed: Array,
    start: AverageState | None = None,
) -> Solver:
    """Minimise until the gradient of each target is `tolerance` times what it was at zero; `method` is sag or saga."""
    moments = yield LeanMoments(centre, diagonal=True)
    goal = np.maximum(tolerance * np.linalg.norm(moments.cross, axis=0), _rounding(moments))
    largest = float((yield Map(partial(_lengths, mean=moments.mean))).max())
    weight = np.ones(y.shape[0]) if weight is None else weight
    visits = _Visits(X, np.ascontiguousarray((y - moments.y_mean).T), weight, moments.mean, alpha, largest, method)
    state = start or _start(visits, moments, seed, method)
    sums = yield Residual(state.coef, moments.mean, moments.y_mean)
    while True:
        gradient = sums.product - alpha * state.coef
        active = np.linalg.norm(gradient, axis=0) > goal
        certificate = gradient_certificate(gradient, moments.scatter.sum(), moments.y_scatter.sum(), tolerance)
        spent = int(state.steps.max(initial=0)) >= max_iter
        if spent or not active.any():
            return Solution(state, not active.any(), certificate)
        state = yield from _epoch(state, visits, active, moments)
        sums = yield Residual(state.coef, moments.mean, moments.y_mean)
        objective = float(np.sum(sums.squares) + np.sum(alpha * state.coef**2))
        reached = sums.product - alpha * state.coef
        certificate = gradient_certificate(reached, moments.scatter.sum(), moments.y_scatter.sum(), tolerance)
        yield Step(objective, state, certificate)


class _Visits:
    """Everything a native call needs that does not change."""

    def __init__(
        self, X: Array, y: Array, weight: Array, mean: Array, alpha: Array, largest: float, method: str
    ) -> None:
        self.X, self.y, self.weight, self.mean = X, y, weight, mean
        self.unbiased = method == "saga"
        n_rows = y.shape[1]
        # The largest curvature of one summand bounds the rate: 1/L for SAG, 1/(2L + min(2 alpha, L)) for SAGA.
        steepest = largest + alpha / n_rows
        divisor = 2 * steepest + np.minimum(2 * alpha, steepest) if self.unbiased else steepest
        self.rate = np.divide(1.0, divisor, out=np.zeros_like(divisor), where=divisor > 0)
        self.decay = self.rate * alpha / n_rows
        self.scratch = np.empty((2, mean.shape[0]))

    def run(self, order: Array, target: int, table: Array, total: Array, coef: Array) -> None:
        shared = (self.mean, self.y[target], self.weight, order, table, total, coef)
        steps = (self.rate[target], self.decay[target], self.unbiased)
        if not issparse(self.X):
            native.visit_dense(self.X, *shared, *steps, self.scratch)
        else:
            native.visit_sparse(self.X.data, self.X.indices, self.X.indptr, *shared, *steps, self.scratch)


def _lengths(block: Any, mean: Array) -> Array:
    """The curvature of each summand, w_i |x_i - m|^2."""
    if block.is_sparse:
        lengths = block.squared_norms() - 2 * block.matmul(mean) + mean @ mean
    else:
        lengths = np.sum(block.centred(mean) ** 2, axis=1)
    return block.weighted(lengths)


def _start(visits: _Visits, moments: MomentSums, seed: Array, method: str) -> AverageState:
    table = -visits.weight * visits.y
    # Dense totals are of centred rows, sparse ones of rows as stored; for centred targets both are minus the cross
    # moment, and the native code keeps each up in its own way.
    total = -moments.cross.T.copy()
    coef = np.zeros_like(moments.cross)
    steps = np.zeros(coef.shape[1], dtype=np.int64)
    return AverageState(coef, moments.y_mean, table, total, steps, seed, method)


def _epoch(
    state: AverageState, visits: _Visits, active: Array, moments: MomentSums
) -> Generator[Any, Any, AverageState]:
    """One epoch for each active target, in native calls short enough for Ctrl-C."""
    number = int(state.steps.max(initial=0))
    draws = np.random.default_rng([*state.seed.tolist(), number])
    n_rows, width = visits.y.shape[1], max(1, visits.mean.shape[0])
    order = draws.integers(0, n_rows, size=n_rows, dtype=np.int64)
    table, total, coef = state.table.copy(), state.total.copy(), state.coef.T.copy()
    length = max(1, _CHUNK // width)
    for target in np.flatnonzero(active).tolist():
        for first in range(0, n_rows, length):
            chunk = order[first : first + length]
            yield Dense(partial(visits.run, chunk, target, table[target], total[target], coef[target]))
    intercept = moments.y_mean - moments.mean @ coef.T
    return replace(state, coef=coef.T.copy(), intercept=intercept, table=table, total=total, steps=state.steps + active)


def _rounding(moments: MomentSums) -> Array:
    return 4 * np.finfo(np.float64).eps * np.sqrt(moments.scatter.sum() * moments.y_scatter)
