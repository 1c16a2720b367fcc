"""Bandwidths by rule and by the likelihood of rows left out."""

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
from mercer.neighbors._row_tree import RowTree

__all__ = ["BandwidthSearch", "BandwidthState", "read_bandwidth", "reference_bandwidth", "rule_factor"]

# The share of a gap at which golden-section search looks next.
_GOLDEN = (3 - math.sqrt(5)) / 2
_GIVEN = "The bandwidth was given, or follows from a rule; nothing was searched for."
_BRACKET = (
    "The leave-one-out likelihood is lower at bandwidths that are smaller and larger by no more than this (in log h): "
    "a local maximum is as near."
)


def rule_factor(rule: str, n: float, d: int) -> float:
    """Return Scott's or Silverman's bandwidth for n rows with unit variances."""
    if rule == "scott":
        return float(n ** (-1 / (d + 4)))
    return float((n * (d + 2) / 4) ** (-1 / (d + 4)))


def reference_bandwidth(tree: RowTree) -> float:
    """Return Silverman's bandwidth times the root mean variance of the columns; zero when all rows are equal."""
    weight = tree.weight if len(tree.weight) else None
    variances = []
    for column in tree.data.T:
        column = column.astype(np.float64)
        variances.append(np.average((column - np.average(column, weights=weight)) ** 2, weights=weight))
    return rule_factor("silverman", tree.total, tree.data.shape[1]) * math.sqrt(float(np.mean(variances)))


@plain
@dataclass(frozen=True)
class BandwidthState:
    """All bandwidths tried so far, numbers or rows of one for each column, and the mean log-likelihood at each."""

    tried: Array
    scores: Array

    @property
    def best(self) -> Any:
        """The best bandwidth so far: a number, or one for each column."""
        best = self.tried[int(np.argmax(self.scores))]
        return float(best) if best.ndim == 0 else best


@dataclass(frozen=True, eq=False)
class BandwidthSearch:
    """Finds the bandwidth at which rows that are left out are most likely.

    From where it starts it doubles or halves the bandwidth while that helps, then closes in by golden sections: what to
    try next follows from what was tried, so that the state is no more than that.

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
        """Return the solver."""
        state = state or BandwidthState(np.empty(0), np.empty(0))
        gap, wanted = math.inf, self.start
        while len(state.tried) < self.max_iter:
            if len(state.tried):
                gap, wanted = _look(state)
                if gap <= self.tol:
                    return Solution(state, True, self._certificate(gap))
            found = yield Dense(partial(self.score, wanted))
            state = BandwidthState(np.append(state.tried, math.exp(wanted)), np.append(state.scores, found))
            if np.isfinite(state.scores.max()):
                extra = {"bandwidth": math.exp(wanted), "score": float(found)}
                yield Step(float(state.scores.max()), state, extra=extra)
        gap = _look(state)[0]
        return Solution(state, gap <= self.tol, self._certificate(gap))

    def _certificate(self, gap: float) -> Certificate:
        return Certificate.of("bracket", gap, self.tol, _BRACKET)


def _look(state: BandwidthState) -> tuple[float, float]:
    """Return how far the nearest tried bandwidths around the best are, and what to try next."""
    order = np.argsort(state.tried, kind="stable")
    tried, scores = np.log(state.tried[order]), state.scores[order]
    best = int(np.argmax(scores))
    if best == len(tried) - 1 or scores[best] == -np.inf:
        return math.inf, float(tried[-1] + math.log(2))
    if best == 0:
        return math.inf, float(tried[0] - math.log(2))
    below, above = tried[best] - tried[best - 1], tried[best + 1] - tried[best]
    wanted = tried[best] + (_GOLDEN * above if above > below else -_GOLDEN * below)
    return float(max(below, above)), float(wanted)


def read_bandwidth(bandwidth: Any) -> Solver:
    """Return the solver where there is nothing to search for: one step, of objective zero."""
    state = BandwidthState(np.array([bandwidth], dtype=np.float64), np.zeros(1))
    yield Step(0.0, state)
    return Solution(state, True, Certificate.none(_GIVEN))
