"""The E step of a Gaussian mixture where features about one shift are not exact enough.

:class:`CentredExpectation` sums features about each component's own mean: as exact for a component that is tiny beside
the data, or far from their mean, as for any other, and fast where rows are wide. :class:`MissingExpectation` does so
for rows with missing entries, which it replaces by their conditional expectation given the observed ones, with the
conditional covariance added (missing at random; Ghahramani and Jordan, 1994). Both sum the features of
:class:`~mercer._statistic.expectation.Expectation`, about the means.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from mercer._base import _crossovers
from mercer._source import Block
from mercer._source.namespace import multiply_within_rows
from mercer._statistic.expectation import ExpectedSums, compute_responsibilities, pairs
from mercer._statistic.statistic import Statistic, Sums
from mercer._types import Array

_LOG_2_PI = math.log(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class CentredExpectation(Statistic):
    """Features about the components' means, weighted by responsibilities.

    Parameters
    ----------
    offset : (k,): log weight of each component plus the log of its density at its mean
    means : (k, d)
    factors : (k, d, d) or, for independent columns, (k, d)
        y = (x - mean) factor has the identity for its covariance.
    form : which features are summed, of FORMS
    hard : whether each row belongs to its best component only
    """

    offset: Array
    means: Array
    factors: Array
    form: str
    hard: bool = False

    def of(self, block: Block) -> ExpectedSums:
        xp, table, bound, (k, d) = block.xp, 0.0, 0.0, self.means.shape
        # A part holds k responsibilities and about three copies of its d
        # columns for each row; tile_size bounds the total.
        for part in block.parts(max(1, block.tile_size // (k + 3 * d))):
            shares, densities = compute_responsibilities(self.scores(part), self.hard, xp)
            heavy = part.weigh(shares)
            table = xp.stack([self._features(part, q, heavy[:, q]) for q in range(k)]) + table
            bound = xp.sum(part.weigh(densities)) + bound
        return ExpectedSums(table, float(bound))

    def scores(self, block: Block) -> Array:
        """Return log weight + log density of each component at each row, (n, k)."""
        xp, columns = block.xp, []
        if xp is np and block.n * self.means.size < _crossovers.SPLIT_SCORES:
            return self._few_scores(block.X)
        for q in range(self.means.shape[0]):
            rows, factor = block.centre(self.means[q, :]), self.factors[q, ...]
            white = rows * factor if factor.ndim == 1 else rows @ factor
            # log pi_q + log N(x | mu_q, Sigma_q) = offset_q - |(x - mu_q)^T F_q|^2 / 2,
            # where F_q F_q^T is the precision.
            columns.append(self.offset[q] - 0.5 * multiply_within_rows(white, white, xp))
        return xp.stack(columns, axis=1)

    def _few_scores(self, X: Array) -> Array:
        """Return the scores of a few rows for all components at once, (n, k)."""
        gaps = X[None, :, :] - self.means[:, None, :]
        white = np.matmul(gaps, self.factors) if self.factors.ndim == 3 else gaps * self.factors[:, None, :]
        # The sum over d of white^2, for each component q and row i, in the layout (i, q).
        return self.offset - 0.5 * np.einsum("qid,qid->iq", white, white)

    def _features(self, block: Block, q: int, heavy: Array) -> Array:
        """Return the features of component `q` summed with the weights `heavy`, (p,)."""
        xp, rows = block.xp, block.centre(self.means[q, :])
        # The root of the weight on both factors keeps the product symmetric: the BLAS then computes one triangle only.
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
    """The distribution of one component's missing columns, given the observed columns of a pattern."""

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
                # Conditional mean of the missing columns: slope (x_o - mean_o), slope = C_mo C_oo^-1.
                gaps[:, ~seen] = gaps[:, seen] @ given.slope.T
                scaled = gaps * np.sqrt(heavy[:, q, None])
                first[q] += (total := heavy[:, q].sum())
                moments[q] += heavy[:, q] @ gaps
                scatter[q] += scaled.T @ scaled
                # E[x x^T] of the missing columns is the square of their mean plus the conditional covariance.
                scatter[q][np.ix_(~seen, ~seen)] += total * given.covariance
        return ExpectedSums(np.column_stack([first, moments, self._squares(scatter)]), bound)

    def scores(self, block: Block) -> Array:
        """Return log weight + log density of the observed entries, by component, (n, k)."""
        out = np.empty((block.n, len(self.means)))
        for rows, seen in _patterns(block):
            # Only the observed columns count: log N of the marginal density, whose covariance is a block of the whole.
            out[rows] = self._scores(block.X[rows][:, seen].astype(np.float64), seen, self._conditionals(seen))
        return out

    def _squares(self, scatter: Array) -> Array:
        if self.form == "full":
            return scatter[:, *pairs(scatter.shape[1])]
        squares = np.einsum("kii->ki", scatter)
        return squares.sum(axis=1, keepdims=True) if self.form == "spherical" else squares

    def _conditionals(self, seen: Array) -> list[_Conditional]:
        """Return, per component, the regression of the missing columns on those `seen`, and the factor of C_oo."""
        made = []
        for weight, covariance in zip(self.weights, self.covariances):
            factor = np.linalg.cholesky(covariance[np.ix_(seen, seen)])
            between = covariance[np.ix_(seen, ~seen)]
            # Conditional covariance C_mm - C_mo C_oo^-1 C_om.
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
            # If L L^T = Sigma_oo, then |L^-1 (x - mu)|^2 is the squared Mahalanobis distance.
            white = solve_triangular(given.factor, (observed - mean[seen]).T, lower=True)
            columns.append(given.offset - 0.5 * np.einsum("ij,ij->j", white, white))
        return np.stack(columns, axis=1)


def _patterns(block: Block) -> list[tuple[Array, Array]]:
    """Return, for each pattern of observed columns, the indices of its rows and the pattern, (d,)."""
    # Rows with the same gaps share the factors of their block, so each pattern is factored once.
    patterns, of_row = np.unique(~np.isnan(block.X), axis=0, return_inverse=True)
    of_row = of_row.reshape(-1)
    return [(np.flatnonzero(of_row == index), seen) for index, seen in enumerate(patterns)]


@dataclass(frozen=True)
class ObservedSums(Sums):
    """Per column the weight and sum of observed values; the number of infinite values, and of rows without a value."""

    weights: Array
    sums: Array
    n_infinite: int
    n_empty: int

    @property
    def means(self) -> Array:
        """The mean of the observed values of each column, (d,)."""
        return self.sums / np.where(self.weights > 0, self.weights, 1.0)


@dataclass(frozen=True)
class ObservedCounts(Statistic):
    """Weights and sums of the observed values of each column."""

    def of(self, block: Block) -> ObservedSums:
        known = np.isfinite(block.X)
        values = np.where(known, block.X, 0.0).astype(np.float64)
        weights, sums = block.weigh(known.astype(np.float64)).sum(axis=0), block.weigh(values).sum(axis=0)
        return ObservedSums(weights, sums, int(np.isinf(block.X).sum()), int((~known.any(axis=1)).sum()))
