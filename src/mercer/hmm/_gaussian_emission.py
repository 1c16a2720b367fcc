"""Gaussian states: a mean each, and covariances of four types."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._native.sequence import gaussian_values
from mercer._plain import plain
from mercer._solver.expectation_maximisation import CollapseError
from mercer._types import Array
from mercer.hmm import _crossovers
from mercer.hmm._chain import count_lanes, pad_lanes
from mercer.hmm._emission import AddedSums, find_missing

_LOG_TWO_PI = float(np.log(2.0 * np.pi))
# A state that takes less than this weight in all steps has no moments of its own: it keeps its parameters.
_LIGHT = 1e-10
_CURE = "Raise covars_prior, lower n_components, or use covariance_type='diag'."


@plain
@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """The priors of means and covariances, in hmmlearn's terms.

    The log prior of a state is -((w - 1) log|S| + tr(S^-1 P) + m (mu - mu_0)^T S^-1 (mu - mu_0)) / 2 with
    P = ``covars``, w = ``covars_weight``, m = ``means_weight`` and mu_0 = ``means``.
    """

    means: Array
    means_weight: Array
    covars: Array
    covars_weight: float


@plain
@dataclass(frozen=True, eq=False)
class GaussianSums(AddedSums):
    """Per state and column, over the entries that are present: weight, and moments about the state's mean.

    ``second`` holds squares, (k, d), or all products, (k, d, d).
    """

    mass: Array
    first: Array
    second: Array

    def recentre(self, old: "GaussianEmission", new: "GaussianEmission") -> "GaussianSums":
        """Return the moments about the means of `new`, in place of those of `old`."""
        first = self.first - self.mass * (new.means - old.means)
        return GaussianSums(self.mass, first, old.scatter_about(self, new.means))


@plain
@dataclass(frozen=True, eq=False)
class GaussianEmission:
    """Means (k, d) and covariances: (k,) spherical, (k, d) diag, (k, d, d) full, (d, d) tied."""

    kind: str
    means: Array
    covars: Array

    subject = "GaussianHMM"

    @property
    def n_columns(self) -> int:
        """The number of columns of a row."""
        return self.means.shape[1]

    @property
    def is_square(self) -> bool:
        """Whether columns depend on each other within a state."""
        return self.kind in ("full", "tied")

    @cached_property
    def each(self) -> Array:
        """The covariance of each state: variances (k, d), or matrices (k, d, d)."""
        k, d = self.means.shape
        if self.kind == "spherical":
            return np.repeat(self.covars[:, None], d, axis=1)
        return np.broadcast_to(self.covars, (k, d, d)) if self.kind == "tied" else self.covars

    @cached_property
    def roots(self) -> tuple[Array, Array]:
        """Inverse standard deviations or inverse Cholesky factors of each state, and half log determinants, (k,)."""
        if not self.is_square:
            if not np.all(self.each > 0):
                raise CollapseError(int(np.argmax((self.each <= 0).any(axis=1))), _CURE)
            return 1.0 / np.sqrt(self.each), 0.5 * np.log(self.each).sum(axis=1)
        factors = []
        for state, covariance in enumerate(self.each):
            try:
                factors.append(np.linalg.cholesky(covariance))
            except np.linalg.LinAlgError as error:
                raise CollapseError(state, _CURE) from error
            # One covariance for all states is factorised once.
            if self.kind == "tied":
                factors *= len(self.means)
                break
        lower = np.array(factors)
        inverses = np.linalg.inv(lower)
        # log|S| / 2 is the sum of the logarithms of the factor's diagonal.
        return inverses, np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)

    @cached_property
    def tables(self) -> tuple[Array, Array, Array]:
        """Means, factors and offsets as ``gaussian_values`` needs them, a lane per state."""
        factors, half_logs = self.roots
        k, d = self.means.shape
        offsets = np.full((d + 1, count_lanes(k)), 0.0)
        # log N(x) = -|L^-1 (x - m)|^2 / 2 - log|L| - d log(2 pi) / 2.
        offsets[0, :k] = -half_logs - 0.5 * d * _LOG_TWO_PI
        offsets[0, k:] = -np.inf
        if self.is_square:
            # The lower triangle of each inverse factor, entry by entry, a lane per state.
            rows, columns = np.tril_indices(d)
            return pad_lanes(self.means.T), pad_lanes(factors[:, rows, columns].T), offsets
        offsets[1:, :k] = (0.5 * _LOG_TWO_PI - np.log(factors)).T
        return pad_lanes(self.means.T), pad_lanes(factors.T), offsets

    def scores(self, X: Array, out: Array) -> None:
        missing = find_missing(X, self.subject)
        X = np.ascontiguousarray(X, dtype=np.float64)
        # With missing entries, or many columns, products by state are faster than lanes.
        if self.is_square and (missing is not None or X.shape[1] >= _crossovers.STATE_PRODUCTS):
            self._score_by_state(X, missing, out)
            return
        means, factors, offsets = self.tables
        gaussian_values.score_gaussians(X, means, factors, offsets, self.is_square, np.empty((X.shape[1], 8)), out)
        if missing is not None:
            out[missing, : len(self.means)] = 0.0

    def _score_by_state(self, X: Array, missing: Array, out: Array) -> None:
        k, d = self.means.shape
        out[:, k:] = -np.inf
        factors, half_logs = self.roots
        if missing is None:
            for state in range(k):
                along = (X - self.means[state]) @ factors[state].T
                out[:, state] = -0.5 * np.einsum("ij,ij->i", along, along) - half_logs[state] - 0.5 * d * _LOG_TWO_PI
            return
        # Rows with the same entries missing share one marginal Gaussian.
        for rows, seen in _find_patterns(X):
            part = GaussianEmission("full", self.means[:, seen], self.each[:, seen][:, :, seen])
            table = np.zeros((len(rows), k))
            if len(seen):
                part._score_by_state(X[rows][:, seen], None, table)
            out[rows, :k] = table

    def sums(self, X: Array, shares: Array) -> GaussianSums:
        missing = find_missing(X, self.subject)
        X = np.ascontiguousarray(X, dtype=np.float64)
        if self.is_square and (missing is not None or X.shape[1] >= _crossovers.STATE_PRODUCTS):
            return self._sum_by_state(X, missing, shares)
        k, d = self.means.shape
        means = self.tables[0]
        mass, first, squares = np.zeros((3, *means.shape))
        products = np.zeros((d * (d - 1) // 2 if self.is_square else 0, means.shape[1]))
        gaussian_values.sum_gaussians(X, shares, means, self.is_square, mass, first, squares, products)
        second = squares[:, :k].T
        if self.is_square:
            # Products of pairs fill the symmetric matrix off its diagonal.
            rows, columns = np.tril_indices(d, -1)
            second = np.zeros((k, d, d))
            second[:, rows, columns] = second[:, columns, rows] = products[:, :k].T
            second[:, np.arange(d), np.arange(d)] = squares[:, :k].T
        return GaussianSums(mass[:, :k].T, first[:, :k].T, second)

    def _sum_by_state(self, X: Array, missing: Array, shares: Array) -> GaussianSums:
        k, d = self.means.shape
        mass, first, second = np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d, d))
        if missing is None:
            for state in range(k):
                steps = X - self.means[state]
                heavy = shares[:, state, None] * steps
                mass[state], first[state], second[state] = shares[:, state].sum(), heavy.sum(axis=0), heavy.T @ steps
            return GaussianSums(mass, first, second)
        for rows, seen in _find_patterns(X):
            if not len(seen):
                continue
            hidden = np.setdiff1d(np.arange(d), seen)
            for state in range(k):
                share, steps = shares[rows, state], np.zeros((len(rows), d))
                steps[:, seen] = X[rows][:, seen] - self.means[state, seen]
                covariance = self.each[state]
                if len(hidden):
                    # The expectation of the hidden entries given the seen ones, and what is left of their covariance.
                    slope = np.linalg.solve(covariance[np.ix_(seen, seen)], covariance[np.ix_(seen, hidden)])
                    steps[:, hidden] = steps[:, seen] @ slope
                    rest = covariance[np.ix_(hidden, hidden)] - covariance[np.ix_(hidden, seen)] @ slope
                    second[state][np.ix_(hidden, hidden)] += share.sum() * rest
                heavy = share[:, None] * steps
                mass[state] += share.sum()
                first[state] += heavy.sum(axis=0)
                second[state] += heavy.T @ steps
        return GaussianSums(mass, first, second)

    def maximise(self, sums: GaussianSums, params: str, prior: GaussianPrior) -> "GaussianEmission":
        means = self.means
        # A state that takes next to no step keeps its parameters.
        light = sums.mass < _LIGHT
        if "m" in params:
            weight = np.where(light, 1.0, sums.mass + prior.means_weight)
            # The prior counts as means_weight steps at its mean; moments are about the old mean.
            pull = prior.means_weight * (prior.means - self.means)
            means = self.means + np.where(light, 0.0, (sums.first + pull) / weight)
        covars = self.covars
        if "c" in params:
            # A state with a light column keeps its covariance as a whole.
            kept = light.any(axis=1)
            covars = self._maximise_covariances(sums, means, prior)
            if kept.any() and self.kind != "tied":
                covars = np.where(kept.reshape(-1, *(1,) * (covars.ndim - 1)), self.covars, covars)
        better = type(self)(self.kind, means, covars)
        _ = better.roots  # a covariance without an inverse is found here, in the M step
        return better

    def scatter_about(self, sums: GaussianSums, means: Array) -> Array:
        """Return the second moments about other means."""
        step = means - self.means
        if not self.is_square:
            return sums.second - 2.0 * step * sums.first + sums.mass * step * step
        cross = sums.first[:, :, None] * step[:, None, :]
        outer = step[:, :, None] * step[:, None, :]
        return sums.second - cross - np.swapaxes(cross, 1, 2) + sums.mass[:, :1, None] * outer

    def _maximise_covariances(self, sums: GaussianSums, means: Array, prior: GaussianPrior) -> Array:
        scatter, away, d = self.scatter_about(sums, means), means - prior.means, self.means.shape[1]
        if not self.is_square:
            # Prior plus scatter plus the pull of the means' prior, over the weight: the mode of the posterior.
            total = prior.covars + scatter + prior.means_weight * away * away
            weight = np.maximum(sums.mass + max(prior.covars_weight - 1.0, 0.0), 1e-300)
            if self.kind == "diag":
                return total / weight
            return total.sum(axis=1) / weight.sum(axis=1)
        pull = prior.means_weight * np.ones_like(away)
        scatter = scatter + (pull * away)[:, :, None] * away[:, None, :]
        # The excess of the prior's weight over the number of columns counts as steps.
        extra = max(prior.covars_weight - d, 0.0)
        ridge = prior.covars if np.ndim(prior.covars) >= 2 else prior.covars * np.eye(d)
        if self.kind == "tied":
            return (ridge + scatter.sum(axis=0)) / max(extra + sums.mass[:, 0].sum(), 1e-300)
        return (ridge + scatter) / np.maximum(extra + sums.mass[:, :1, None], 1e-300)

    def take_expected(self, sums: GaussianSums, reference: "GaussianEmission") -> float:
        scatter = reference.scatter_about(sums, self.means)
        factors, half_logs = self.roots
        if not self.is_square:
            logs = np.log(self.each) + _LOG_TWO_PI
            return float(-0.5 * np.sum(sums.mass * logs + scatter * factors * factors))
        precision = np.swapaxes(factors, 1, 2) @ factors
        logs = 2.0 * half_logs + self.means.shape[1] * _LOG_TWO_PI
        return float(-0.5 * (np.sum(sums.mass[:, 0] * logs) + np.sum(scatter * precision)))

    def log_prior(self, prior: GaussianPrior) -> float:
        factors, half_logs = self.roots
        away, d = self.means - prior.means, self.means.shape[1]
        if not self.is_square:
            # log prior up to constants: -(extra log|S| + tr(S^-1 (ridge + pull))) / 2.
            extra, precision = max(prior.covars_weight - 1.0, 0.0), factors * factors
            inner = (prior.covars + prior.means_weight * away * away) * precision
            return float(-0.5 * (2.0 * extra * half_logs.sum() + inner.sum()))
        extra, precision = max(prior.covars_weight - d, 0.0), np.swapaxes(factors, 1, 2) @ factors
        ridge = prior.covars if np.ndim(prior.covars) >= 2 else prior.covars * np.eye(d)
        pull = (prior.means_weight * np.ones_like(away) * away)[:, :, None] * away[:, None, :]
        if self.kind == "tied":
            # One covariance for all states has one prior.
            inner = np.sum(ridge * precision[0]) + np.sum(pull * precision)
            return float(-0.5 * (2.0 * extra * half_logs[0] + inner))
        return float(-0.5 * (2.0 * extra * half_logs.sum() + np.sum((ridge + pull) * precision)))

    def draw(self, states: Array, generator: np.random.Generator) -> Array:
        noise = generator.standard_normal((len(states), self.means.shape[1]))
        if not self.is_square:
            return self.means[states] + noise * np.sqrt(self.each)[states]
        roots = np.linalg.cholesky(self.each)
        return self.means[states] + np.einsum("nij,nj->ni", roots[states], noise)

    def count_parameters(self) -> int:
        k, d = self.means.shape
        return (
            k * d + {"spherical": k, "diag": k * d, "full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2}[self.kind]
        )


def _find_patterns(X: Array) -> Iterator[tuple[Array, Any]]:
    """Yield the rows that have the same entries present, and the columns of these entries."""
    seen = ~np.isnan(X)
    patterns, members = np.unique(seen, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield np.flatnonzero(members.reshape(-1) == number), np.flatnonzero(pattern)
