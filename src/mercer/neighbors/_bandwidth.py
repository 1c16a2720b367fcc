"""Bandwidths by rule, and by the likelihood of rows left out."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._types import Array
from mercer.errors import DataError
from mercer.neighbors._row_tree import RowTree

# Golden-section search tries this fraction of the wider of two gaps next.
_GOLDEN = (3 - math.sqrt(5)) / 2
_GIVEN = "The bandwidth was given, or follows from a rule; nothing was searched for."
_BRACKET = (
    "The leave-one-out likelihood is lower at bandwidths that are smaller and larger by no more than this (in log h): "
    "a local maximum is as near."
)


def rule_factor(rule: str, n: float, d: int) -> float:
    """Return Scott's or Silverman's bandwidth for n rows with unit variances in d columns."""
    if rule == "scott":
        return float(n ** (-1 / (d + 4)))
    return float((n * (d + 2) / 4) ** (-1 / (d + 4)))


def reference_bandwidth(tree: RowTree) -> float:
    """Return Silverman's bandwidth times the root mean variance of the columns; zero if all rows are equal."""
    variances = compute_variances(tree.data, tree.weight if len(tree.weight) else None)
    return rule_factor("silverman", tree.total, tree.data.shape[1]) * math.sqrt(float(np.mean(variances)))


def compute_variances(X: Array, weight: Array | None) -> Array:
    """Return the weighted variance of each column, about its mean; a weight of two is the row twice."""
    # Column by column: a copy of all rows in float64 might not fit.
    columns = (column.astype(np.float64) for column in X.T)
    return np.array(
        [np.average((column - np.average(column, weights=weight)) ** 2, weights=weight) for column in columns]
    )


def compute_normal_reference(X: Array, weight: Array | None) -> Array:
    """Return s_j (W (d + 2) / 4)^(-1 / (d + 4)) for each column: the best bandwidths if all rows were Gaussian."""
    variances = compute_variances(X, weight)
    if not variances.any():
        got = "n_samples=1" if len(X) == 1 else "one row, repeated"
        raise DataError(
            f"KernelDensity: bandwidth='normal_reference' needs two different rows; got {got}. Give a number."
        )
    # A constant column has no scale of its own, and any bandwidth there multiplies all densities by the same number.
    variances = np.where(variances > 0, variances, variances.mean())
    total = float(len(X) if weight is None else np.sum(weight))
    return rule_factor("silverman", total, X.shape[1]) * np.sqrt(variances)


@plain
@dataclass(frozen=True)
class BandwidthState:
    """All bandwidths tried, one per row or one per row and column, and the mean log-likelihood at each."""

    tried: Array
    scores: Array

    @property
    def best(self) -> Any:
        """The best bandwidth so far: a float, or one for each column."""
        best = self.tried[int(np.argmax(self.scores))]
        return float(best) if best.ndim == 0 else best


@dataclass(frozen=True, eq=False)
class BandwidthSearch:
    """The search for the bandwidth that maximises the leave-one-out likelihood.

    From its start it doubles or halves the bandwidth while that helps, then closes in by golden sections. What to try
    next follows from what was tried, so that the state holds nothing else.

    Parameters
    ----------
    score : callable
        From a logarithm of a bandwidth to the mean log-likelihood.
    start : float
        The logarithm to begin with.
    tol : float
        Ends once the maximum is bracketed to this in the logarithm.
    max_iter : int
    """

    score: Callable[[float], float]
    start: float
    tol: float
    max_iter: int

    def solve(self, state: BandwidthState | None) -> Solver:
        """Yield a step for each bandwidth tried, from the beginning or from `state`."""
        state = state or BandwidthState(np.empty(0), np.empty(0))
        gap, wanted = math.inf, self.start
        while len(state.tried) < self.max_iter:
            if len(state.tried):
                gap, wanted = _look(state)
                if gap <= self.tol:
                    return Solution(state, True, self._certificate(gap))
            score = yield Dense(partial(self.score, wanted))
            # The search is over the logarithm: bandwidths are positive.
            state = BandwidthState(np.append(state.tried, math.exp(wanted)), np.append(state.scores, score))
            if np.isfinite(state.scores.max()):
                extra = {"bandwidth": math.exp(wanted), "score": float(score)}
                yield Step(float(state.scores.max()), state, extra=extra)
        gap = _look(state)[0]
        return Solution(state, gap <= self.tol, self._certificate(gap))

    def _certificate(self, gap: float) -> Certificate:
        return Certificate.of("bracket", gap, self.tol, _BRACKET)


def _look(state: BandwidthState) -> tuple[float, float]:
    """Return the wider of the gaps, in log h, from the best bandwidth to its tried neighbours, and what to try next."""
    order = np.argsort(state.tried, kind="stable")
    tried, scores = np.log(state.tried[order]), state.scores[order]
    best = int(np.argmax(scores))
    # Kernels of bounded support give rows without neighbours a likelihood of zero: a larger bandwidth reaches some.
    if best == len(tried) - 1 or scores[best] == -np.inf:
        return math.inf, float(tried[-1] + math.log(2))
    if best == 0:
        return math.inf, float(tried[0] - math.log(2))
    below, above = tried[best] - tried[best - 1], tried[best + 1] - tried[best]
    wanted = tried[best] + (_GOLDEN * above if above > below else -_GOLDEN * below)
    return float(max(below, above)), float(wanted)


def read_bandwidth(bandwidth: Any) -> Solver:
    """Return a solver for a given bandwidth, which searches for nothing: one step, of objective zero."""
    state = BandwidthState(np.array([bandwidth], dtype=np.float64), np.zeros(1))
    yield Step(0.0, state)
    return Solution(state, True, Certificate.none(_GIVEN))
