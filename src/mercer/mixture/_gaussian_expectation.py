"""The E step of a Gaussian mixture where features about one shift would not do.

:class:`CentredExpectation` takes each component's rows about its own mean: as exact for a component that is tiny beside
the data, or far from their middle, as for any other, and BLAS at its best where rows are wide.
:class:`MissingExpectation` does so for rows with missing entries, which it replaces by their conditional expectation
given the others, with the conditional covariance added (missing at random; Ghahramani and Jordan, 1994). Both sum the
features of :class:`~mercer._statistic.expectation.Expectation`, about the means.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from mercer._source import Block
from mercer._statistic.expectation import ExpectedSums, compute_responsibilities, pairs
from mercer._statistic.statistic import Statistic, Sums
from mercer._types import Array

__all__ = ["CentredExpectation", "MissingExpectation", "ObservedCounts", "ObservedSums"]

_LOG_2_PI = math.log(2.0 * math.pi)
# Up to this many numbers, a call for each component costs more than the work.
_FEW = 2**14


@dataclass(frozen=True, eq=False)
class CentredExpectation(Statistic):
    """Features about the components' means, weighed by responsibilities.

    Parameters
    ----------
    offset : (k,): log share of each component plus the log of its density at its mean
    means : (k, d)
    factors : (k, d, d) or, for independent columns, (k, d)
        y = (x - mean) factor has the identity for its covariance.
    form : which features are summed, of FORMS
    hard : whether each row goes to its best component alone
    """

    offset: Array
    means: Array
    factors: Array
    form: str
    hard: bool = False

    def of(self, block: Block) -> ExpectedSums:
        xp, table, bound, (k, d) = block.xp, 0.0, 0.0, self.means.shape
        for part in block.parts(max(1, block.tile_size // (k + 3 * d))):
            shares, densities = compute_responsibilities(self.scores(part), self.hard, xp)
            heavy = part.weigh(shares)
            table = xp.stack([self._features(part, q, heavy[:, q]) for q in range(k)]) + table
            bound = xp.sum(part.weigh(densities)) + bound
        return ExpectedSums(table, float(bound))

    def scores(self, block: Block) -> Array:
        """Return the log share plus the log density of each component at each row, (n, k)."""
        xp, columns = block.xp, []
        if xp is np and block.n * self.means.size <= _FEW:
            return self._few_scores(block.X)
        for q in range(self.means.shape[0]):
            rows, factor = block.centre(self.means[q, :]), self.factors[q, ...]
            white = rows * factor if factor.ndim == 1 else rows @ factor
            columns.append(self.offset[q] - 0.5 * xp.sum(white * white, axis=1))
        return xp.stack(columns, axis=1)

    def _few_scores(self, X: Array) -> Array:
        """Return the scores of a few rows, for all components at once."""
        gaps = X[None, :, :] - self.means[:, None, :]
        white = np.matmul(gaps, self.factors) if self.factors.ndim == 3 else gaps * self.factors[:, None, :]
        return self.offset - 0.5 * np.einsum("qid,qid->iq", white, white)

    def _features(self, block: Block, q: int, heavy: Array) -> Array:
        """Return the summed features of one component."""
        xp, rows = block.xp, block.centre(self.means[q, :])
        # Roots on both factors keep the product symmetric, which lets the BLAS form one triangle only.
        root = xp.sqrt(heavy)[:, None]
        scaled = rows * root
        ends = [xp.reshape(xp.sum(heavy), (1,)), xp.sum(scaled * root, axis=0)]
        if self.form == "full":
            d = rows.shape[1]
            first, second = pairs(d)
            places = xp.asarray(first * d + second, device=block.device)
            return xp.concat([*ends, xp.take(xp.reshape(scaled.T @ scaled, (-1,)), places)])
        squares = xp.sum(scaled * scaled, axis=0)
        return xp.concat([*ends, xp.reshape(xp.sum(squares), (1,)) if self.form == "spherical" else squares])


@dataclass(frozen=True)
class _Conditional:
    """What the observed columns of a pattern say of one component's missing ones."""

    factor: Array
    offset: float
    slope: Array
    covariance: Array


@dataclass(frozen=True, eq=False)
class MissingExpectation(Statistic):
    """Expected features of rows with missing entries (NaN), about the components' means.

    Rows are taken pattern by pattern; a row's density is that of its observed entries. `covariances` is (k, d, d).
    """

    weights: Array
    means: Array
    covariances: Array
    form: str
    hard: bool = False

    def of(self, block: Block) -> ExpectedSums:
        k, d = self.means.shape
        first, moments, scatter = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
        bound = 0.0
        for rows, seen in _patterns(block):
            conditionals = self._conditionals(seen)
            X = block.X[rows].astype(np.float64)
            shares, densities = compute_responsibilities(self._scores(X[:, seen], seen, conditionals), self.hard, np)
            weight = 1.0 if block.weight is None else block.weight[rows][:, None]
            heavy = shares * weight
            bound += float(np.sum(heavy * densities[:, None]))
            for q, given in enumerate(conditionals):
                gaps = np.empty((len(X), d))
                gaps[:, seen] = X[:, seen] - self.means[q, seen]
                gaps[:, ~seen] = gaps[:, seen] @ given.slope.T
                scaled = gaps * np.sqrt(heavy[:, q, None])
                first[q] += (total := heavy[:, q].sum())
                moments[q] += heavy[:, q] @ gaps
                scatter[q] += scaled.T @ scaled
                scatter[q][np.ix_(~seen, ~seen)] += total * given.covariance
        return ExpectedSums(np.column_stack([first, moments, self._squares(scatter)]), bound)

    def scores(self, block: Block) -> Array:
        """Return the log share plus the log density of the observed entries, by component, (n, k)."""
        out = np.empty((block.n, len(self.means)))
        for rows, seen in _patterns(block):
            out[rows] = self._scores(block.X[rows][:, seen].astype(np.float64), seen, self._conditionals(seen))
        return out

    def _squares(self, scatter: Array) -> Array:
        if self.form == "full":
            return scatter[:, *pairs(scatter.shape[1])]
        squares = np.einsum("kii->ki", scatter)
        return squares.sum(axis=1, keepdims=True) if self.form == "spherical" else squares

    def _conditionals(self, seen: Array) -> list[_Conditional]:
        """Return per component the factor of the observed columns' covariance and the regression on them."""
        made = []
        for weight, covariance in zip(self.weights, self.covariances):
            factor = np.linalg.cholesky(covariance[np.ix_(seen, seen)])
            between = covariance[np.ix_(seen, ~seen)]
            slope = cho_solve((factor, True), between).T if between.size else np.zeros((0, int(seen.sum())))
            rest = covariance[np.ix_(~seen, ~seen)] - slope @ between
            with np.errstate(divide="ignore"):
                offset = math.log(weight) if weight > 0 else -math.inf
            offset -= float(np.sum(np.log(np.diagonal(factor)))) + 0.5 * int(seen.sum()) * _LOG_2_PI
            made.append(_Conditional(factor, offset, slope, rest))
        return made

    def _scores(self, observed: Array, seen: Array, conditionals: list[_Conditional]) -> Array:
        columns = []
        for mean, given in zip(self.means, conditionals):
            white = solve_triangular(given.factor, (observed - mean[seen]).T, lower=True)
            columns.append(given.offset - 0.5 * np.einsum("ij,ij->j", white, white))
        return np.stack(columns, axis=1)


def _patterns(block: Block) -> list[tuple[Array, Array]]:
    """Return the rows of each pattern of observed columns, and the pattern."""
    found, numbers = np.unique(~np.isnan(block.X), axis=0, return_inverse=True)
    numbers = numbers.reshape(-1)
    return [(np.flatnonzero(numbers == number), seen) for number, seen in enumerate(found)]


@dataclass(frozen=True)
class ObservedSums(Sums):
    """Per column the weight and the sum of what was observed; how many values are infinite, and rows all missing."""

    weights: Array
    sums: Array
    n_infinite: int
    n_empty: int

    @property
    def means(self) -> Array:
        """The mean of what was observed of each column."""
        return self.sums / np.where(self.weights > 0, self.weights, 1.0)


@dataclass(frozen=True)
class ObservedCounts(Statistic):
    """What of each column was observed."""

    def of(self, block: Block) -> ObservedSums:
        known = np.isfinite(block.X)
        values = np.where(known, block.X, 0.0).astype(np.float64)
        weights, sums = block.weigh(known.astype(np.float64)).sum(axis=0), block.weigh(values).sum(axis=0)
        return ObservedSums(weights, sums, int(np.isinf(block.X).sum()), int((~known.any(axis=1)).sum()))
