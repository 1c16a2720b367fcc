"""EM for probabilistic principal components of rows with missing entries (Tipping and Bishop, 1999, appendix B)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._source import Block
from mercer._statistic import Statistic
from mercer._statistic.statistic import Sums
from mercer._types import Array

# Smallest noise variance, as a share of the mean variance of the columns: without noise there is no density.
_LEAST = 1e-10


@plain
@dataclass(frozen=True, eq=False)
class LatentParameters:
    """Loadings with the mean as last column, (d, k + 1), and the noise variance."""

    loadings: Array
    noise: float


@dataclass(frozen=True)
class LatentSums(Sums):
    """For each column over its observed entries: weight, x^2, x (z, 1) and (z, 1)(z, 1)^T; the log-likelihood."""

    weight: float
    likelihood: float
    count: Array
    squares: Array
    cross: Array
    second: Array


def complete_factors(X: Array, parameters: LatentParameters) -> tuple[Array, Array, Array, Array]:
    """Return posterior means (n, k) and covariances (n, k, k) of the factors, and log-densities of observed entries.

    Also returns which entries are observed. With W_o the loadings of a row's observed columns, the posterior has the
    covariance s^2 (s^2 I + W_o^T W_o)^-1.
    """
    W, mean, noise = parameters.loadings[:, :-1], parameters.loadings[:, -1], parameters.noise
    observed = ~np.isnan(X)
    seen = observed.astype(np.float64)
    # Missing entries are zero, hence in no sum.
    gaps = np.where(observed, X - mean, 0.0)
    k = W.shape[1]
    products = (W[:, :, None] * W[:, None, :]).reshape(len(W), k * k)
    # M = W_o^T W_o + s^2 I for each row, with its observed columns.
    M = (seen @ products).reshape(len(X), k, k) + noise * np.eye(k)
    projected = gaps @ W
    means = np.linalg.solve(M, projected[:, :, None])[:, :, 0]
    counts = seen.sum(axis=1)
    # By Woodbury: (|x|^2 - x^T W M^-1 W^T x) / s^2.
    squares = ((gaps**2).sum(axis=1) - (projected * means).sum(axis=1)) / noise
    logs = (counts - k) * math.log(noise) + np.linalg.slogdet(M)[1] + counts * math.log(2 * math.pi)
    return means, noise * np.linalg.inv(M), -0.5 * (squares + logs), seen


@dataclass(frozen=True, eq=False)
class LatentExpectation(Statistic):
    """The E step over a block."""

    parameters: LatentParameters

    def of(self, block: Block) -> LatentSums:
        X = block.X.astype(np.float64, copy=False)
        means, covariances, logs, seen = complete_factors(X, self.parameters)
        weight = np.ones(block.n) if block.weight is None else block.weight
        seen = seen * weight[:, None]
        # The factors and a one, so that the mean is one more column of the loadings.
        z = np.column_stack([means, np.ones(block.n)])
        k = z.shape[1]
        # E[z z^T] is the outer product of the means plus the posterior covariance.
        second = z[:, :, None] * z[:, None, :]
        second[:, :-1, :-1] += covariances
        values = np.where(np.isnan(X), 0.0, X)
        return LatentSums(
            float(weight.sum()),
            float(weight @ logs),
            seen.sum(axis=0),
            (seen * values**2).sum(axis=0),
            (seen * values).T @ z,
            (seen.T @ second.reshape(block.n, k * k)).reshape(-1, k, k),
        )


class MissingModel:
    """The model that the engine of EM climbs."""

    def expectation(self, parameters: LatentParameters) -> LatentExpectation:
        """Return the request of the E step."""
        return LatentExpectation(parameters)

    def maximisation(self, expected: LatentSums, parameters: LatentParameters) -> LatentParameters:
        """Return the M step: a least-squares problem for each column, and the mean of what is left as noise."""
        loadings = np.linalg.solve(expected.second, expected.cross[:, :, None])[:, :, 0]
        left = float((expected.squares - (loadings * expected.cross).sum(axis=1)).sum())
        scale = float(expected.squares.sum() / expected.count.sum())
        return LatentParameters(loadings, max(left / float(expected.count.sum()), _LEAST * scale, 1e-300))

    def objective(self, expected: LatentSums, parameters: LatentParameters) -> float:
        """Return the mean log-likelihood of the observed entries of a row."""
        return expected.likelihood / expected.weight

    def gain(self, expected: LatentSums, parameters: LatentParameters, better: LatentParameters) -> float:
        """Return the rise of the expected complete-data log-likelihood in one more M step, per row."""
        return (_complete_value(expected, better) - _complete_value(expected, parameters)) / expected.weight

    def slack(self, parameters: LatentParameters, better: LatentParameters) -> float:
        """Return how much the floor on the noise can lower the objective: nothing above it, anything on it."""
        return 0.0 if better.noise < parameters.noise or better.noise > 1e-290 else math.inf


def _complete_value(expected: LatentSums, parameters: LatentParameters) -> float:
    """Return the expected log-likelihood of observed entries and factors, without what does not depend on theta."""
    A = parameters.loadings
    left = expected.squares - 2 * (A * expected.cross).sum(axis=1)
    left = left + np.einsum("ja,jab,jb->j", A, expected.second, A)
    return -0.5 * float(expected.count.sum() * math.log(parameters.noise) + left.sum() / parameters.noise)


def first_loadings(mean: Array, variances: Array, count: int, seed: Any) -> LatentParameters:
    """Return random loadings of the size of the columns' standard deviations."""
    random = np.random.default_rng(seed)
    W = random.standard_normal((len(mean), count)) * np.sqrt(variances / max(count, 1))[:, None]
    return LatentParameters(np.column_stack([W, mean]), float(variances.mean()) or 1.0)
