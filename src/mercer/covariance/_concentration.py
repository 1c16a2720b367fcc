"""The minimum covariance determinant: concentration steps (C-steps) from many random starts, on nested subsets of rows.

A C-step takes the h rows nearest to a mean in the metric of a covariance, and their mean and covariance. It never
raises the determinant of the covariance (Rousseeuw and Van Driessen, 1999), so that repeated steps end.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincinv

from mercer._plain import plain
from mercer._solver import Certificate, Dense, Solution, Solver, Step
from mercer._solver.request import run_large
from mercer._types import Array

# Random starts in all, as in the paper.
_STARTS = 500
# Starts times columns, and the fewest starts, where all rows are searched at once: some 20 ms for 500 rows.
_STARTS_BY_COLUMNS = 1500
_FEWEST_STARTS = 80
# Rows of a subset in the first stage, and the most subsets.
_SUBSET = 300
_MOST_SUBSETS = 5
# Candidates that are kept after the first stages.
_BEST = 10
# C-steps of a candidate in the first stages: few of them show which candidates are good.
_FIRST_STEPS = 2
# Most C-steps until the determinant stays; 5 to 15 are usual.
_MOST_STEPS = 100
# Values of rows that candidates hold at a time: 16 MiB of float64.
_MOST_VALUES = 2**21
# The least logarithm of a determinant over the product of the diagonal at which a matrix is inverted by elimination.
_REGULAR = -20.0
# Rows from which only the best candidate is followed to its end on all rows.
_MANY_ROWS = 20_000


@plain
@dataclass(frozen=True, eq=False)
class ConcentrationState:
    """The rows of the subset (`support`, a mask), their mean and covariance, and the logarithm of its determinant.

    `n_followed` candidates have been followed to their end.
    """

    location: Array
    covariance: Array
    support: Array
    log_determinant: float
    n_followed: int


def chi_squared_quantile(share: float, d: int) -> float:
    """Return the quantile of the chi-squared distribution with `d` degrees of freedom."""
    return 2.0 * float(gammaincinv(d / 2.0, share))


def consistency_factor(share: float, d: int) -> float:
    """Return the factor that makes the covariance of the central `share` of Gaussian rows that of all rows.

    The rows within the quantile q of squared distances have covariance P(chi2_{d+2} <= q) / share times the whole one
    (Croux and Haesbroeck, 1999).
    """
    within = float(gammainc((d + 2) / 2.0, chi_squared_quantile(share, d) / 2.0))
    return share / within


def shortest_windows(values: Array, h: int) -> tuple[float, float, Array]:
    """Return mean, variance and mask of the `h` of n numbers with the least variance: exact, in O(n log n).

    They are consecutive in the order of values, so that n - h + 1 windows are compared.
    """
    order = np.argsort(values, kind="stable")
    # About the median, so that squares lose no digits where values are far from zero.
    middle = values[order[len(order) // 2]]
    ordered = values[order] - middle
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    squares = np.concatenate([[0.0], np.cumsum(ordered * ordered)])
    means = (sums[h:] - sums[:-h]) / h
    # Variance of every window from running sums, E x^2 - (E x)^2.
    first = int(np.argmin((squares[h:] - squares[:-h]) / h - means * means))
    support = np.zeros(len(values), bool)
    support[order[first : first + h]] = True
    window = ordered[first : first + h]
    return float(window.mean() + middle), float(window.var()), support


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Means (k, d), covariances (k, d, d) and logarithms of determinants (k,) of k subsets of rows."""

    locations: Array
    covariances: Array
    log_determinants: Array

    def best(self, k: int) -> "_Candidates":
        """Return the `k` candidates of least determinant; of equals, the first."""
        chosen = np.argsort(self.log_determinants, kind="stable")[:k]
        return _Candidates(self.locations[chosen], self.covariances[chosen], self.log_determinants[chosen])


@dataclass(frozen=True, eq=False)
class Search:
    """The search for the `h` rows of least determinant among the rows of X.

    Attributes
    ----------
    X : ndarray of shape (n, d), float64
        Rows, scaled to about unit spread; the scale changes no choice of rows.
    h : int
    seed : SeedSequence
    """

    X: Array
    h: int
    seed: Any

    def solve(self, start: ConcentrationState | None) -> Solver:
        """Find candidates on subsets of rows, then follow the best until no C-step changes it."""
        candidates = yield Dense(self._find_candidates, heavy=self.X.size > _MOST_VALUES)
        # For many rows following one candidate costs as much as all earlier stages.
        if self.X.shape[0] >= _MANY_ROWS:
            candidates = candidates.best(1)
        best = start
        for number in range(0 if start is None else start.n_followed, len(candidates.locations)):
            first = candidates.locations[number], candidates.covariances[number]
            state = yield Dense(partial(self._descend, *first))
            # Of equal determinants the first is kept.
            better = state if best is None or state.log_determinant < best.log_determinant else best
            best = replace(better, n_followed=number + 1)
            yield Step(best.log_determinant, best, None, {"candidates": float(number + 1)})
        return (yield from self._follow(best))

    def _follow(self, state: Any) -> Generator[Any, Any, Solution]:
        """Take C-steps until the determinant stays; the certificate is the last step's decrease."""
        # A C-step never raises the determinant, and there are finitely many sets of h rows, so the steps end.
        for _ in range(_MOST_STEPS):
            after, gain = yield Dense(partial(self._try_step, state))
            if gain <= _tolerance(state):
                break
            state = replace(after, n_followed=state.n_followed)
            yield Step(state.log_determinant, state, _certify(gain, state))
        certificate = _certify(gain, state)
        yield Step(state.log_determinant, state, certificate)
        return Solution(state, certificate.satisfied, certificate)

    def _try_step(self, state: ConcentrationState) -> tuple[ConcentrationState, float]:
        """Return the state after one more C-step, and by how much the logarithm of the determinant falls."""
        if math.isinf(state.log_determinant):
            # The h rows lie in a plane: no determinant is smaller.
            return state, 0.0
        after = self._concentrate(state.location, state.covariance)
        gain = state.log_determinant - after.log_determinant
        return after, max(gain, 0.0) if not math.isinf(gain) else math.inf

    def _descend(self, location: Array, covariance: Array) -> ConcentrationState:
        """Return the state after C-steps from a mean and a covariance until the determinant stays."""
        state = self._concentrate(location, covariance)
        for _ in range(_MOST_STEPS):
            after, gain = self._try_step(state)
            if gain <= _tolerance(state):
                break
            state = after
        return state

    def _concentrate(self, location: Array, covariance: Array) -> ConcentrationState:
        """Return the h rows nearest to a mean, in the metric of a covariance."""
        return run_large(lambda: self._take_nearest(location, covariance), self.X.size)

    def _take_nearest(self, location: Array, covariance: Array) -> ConcentrationState:
        distances = measure_distances(self.X, location, invert(covariance)[0])
        support = np.zeros(len(self.X), bool)
        support[_nearest(distances[None], self.h)[0]] = True
        rows = self.X[support]
        mean = rows.mean(axis=0)
        centred = rows - mean
        covariance = centred.T @ centred / self.h
        return ConcentrationState(mean, covariance, support, float(invert(covariance)[1]), 0)

    def _find_candidates(self) -> _Candidates:
        """Return the best candidates: from all rows, or by stages from disjoint subsets, their union, and all rows."""
        n = self.X.shape[0]
        random = np.random.default_rng(self.seed)
        # Few rows: starts on all of them.
        if n < 2 * _SUBSET:
            n_starts = min(max(_STARTS_BY_COLUMNS // self.X.shape[1], _FEWEST_STARTS), _STARTS)
            return self._search(self.X, self.h, n_starts, random).best(_BEST)
        # Many rows: disjoint subsets first, then their union, as Rousseeuw and Van Driessen do.
        n_subsets = min(n // _SUBSET, _MOST_SUBSETS)
        size = min(n // n_subsets, _SUBSET)
        drawn = random.permutation(n)[: n_subsets * size]
        share, parts = self.h / n, []
        for number in range(n_subsets):
            rows = self.X[drawn[number * size : (number + 1) * size]]
            parts.append(self._search(rows, math.ceil(share * size), _STARTS // n_subsets, random).best(_BEST))
        pool = self.X[drawn]
        candidates = _join(parts)
        for _ in range(_FIRST_STEPS):
            candidates = _concentrate_all(pool, candidates, math.ceil(share * len(pool)))
        return candidates.best(_BEST)

    def _search(self, X: Array, h: int, n_starts: int, random: np.random.Generator) -> _Candidates:
        """Return a candidate for each start: d + 1 random rows, then two C-steps."""
        n, d = X.shape
        size = min(d + 1, n)
        # The rows with the smallest random keys: a sample without repetitions for each start.
        keys = random.random((n_starts, n))
        chosen = np.argpartition(keys, size - 1, axis=1)[:, :size] if size < n else np.tile(np.arange(n), (n_starts, 1))
        candidates = _describe(X, np.sort(chosen, axis=1))
        for _ in range(_FIRST_STEPS):
            candidates = _concentrate_all(X, candidates, h)
        return candidates


def _tolerance(state: ConcentrationState) -> float:
    """Return how much of a logarithm of a determinant can be rounding: some eps for each of d pivots."""
    return 64.0 * len(state.location) * float(np.finfo(np.float64).eps)


def _certify(gain: float, state: ConcentrationState) -> Certificate:
    return Certificate.of(
        "fixed point", gain, _tolerance(state), "One more C-step lowers the logarithm of the determinant by this much."
    )


def _join(parts: list[_Candidates]) -> _Candidates:
    return _Candidates(
        np.concatenate([part.locations for part in parts]),
        np.concatenate([part.covariances for part in parts]),
        np.concatenate([part.log_determinants for part in parts]),
    )


def invert(covariances: Array) -> tuple[Array, Array]:
    """Return the inverse of each symmetric matrix (..., d, d) and the logarithm of its determinant.

    A singular matrix has the logarithm -inf, and its pseudo-inverse: distances within its span.
    """
    # By elimination, five times as fast as by eigenvalues for 500 matrices of 10 x 10, where all are far from singular:
    # a determinant is at most the product of the diagonal, and its share of that product shows how far.
    diagonals = np.diagonal(covariances, axis1=-2, axis2=-1)
    if (diagonals > 0).all():
        signs, logarithms = np.linalg.slogdet(covariances)
        # Well-conditioned matrices take the fast way: their determinant is not far below that of the diagonal.
        if (signs > 0).all() and (logarithms > np.log(diagonals).sum(axis=-1) + _REGULAR).all():
            return np.linalg.inv(covariances), logarithms
    values, vectors = np.linalg.eigh(covariances)
    # eigh is accurate to about d eps times the largest eigenvalue.
    limit = values.shape[-1] * np.finfo(np.float64).eps * np.maximum(values[..., -1:], 0.0)
    kept = values > np.maximum(limit, np.finfo(np.float64).tiny)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=kept)
    logarithms = np.log(values, out=np.full_like(values, -np.inf), where=kept).sum(axis=-1)
    return (vectors * inverse[..., None, :]) @ np.swapaxes(vectors, -1, -2), logarithms


def measure_distances(X: Array, location: Array, precision: Array) -> Array:
    """Return the squared distance of each row in the metric of a precision, in blocks that stay in the cache."""
    distances = np.empty(len(X))
    step = max(1, _MOST_VALUES // (16 * X.shape[1]))
    for start in range(0, len(X), step):
        rows = X[start : start + step] - location
        distances[start : start + step] = np.einsum("ij,ij->i", rows @ precision, rows)
    return distances


def _nearest(distances: Array, h: int) -> Array:
    """Return the indices (k, h) of the least entries of each row of `distances` (k, n)."""
    if h >= distances.shape[1]:
        return np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
    return np.argpartition(distances, h - 1, axis=1)[:, :h]


def _concentrate_all(X: Array, candidates: _Candidates, h: int) -> _Candidates:
    """Return all candidates after one C-step."""
    precisions = invert(candidates.covariances)[0]
    step, parts = max(1, _MOST_VALUES // X.size), []
    for start in range(0, len(precisions), step):
        rows = X[None] - candidates.locations[start : start + step, None]
        distances = np.einsum("kij,kij->ki", rows @ precisions[start : start + step], rows)
        parts.append(_describe(X, _nearest(distances, h)))
    return _join(parts)


def _describe(X: Array, chosen: Array) -> _Candidates:
    """Return the mean and covariance of each set of rows `chosen` (k, h)."""
    # The gathered rows are an array (step, h, d); _MOST_VALUES bounds its size.
    step, parts = max(1, _MOST_VALUES // (chosen.shape[1] * X.shape[1])), []
    for start in range(0, len(chosen), step):
        rows = X[chosen[start : start + step]]
        means = rows.mean(axis=1)
        rows -= means[:, None]
        covariances = np.swapaxes(rows, 1, 2) @ rows / chosen.shape[1]
        parts.append(_Candidates(means, covariances, invert(covariances)[1]))
    return _join(parts)
