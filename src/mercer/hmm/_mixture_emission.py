"""States whose density is a Gaussian mixture of their own."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import xlogy

from mercer._native.shared import elementary
from mercer._plain import plain
from mercer._types import Array
from mercer.hmm._chain import count_lanes, pad_lanes
from mercer.hmm._emission import AddedSums, normalise_counts, take_log_prior
from mercer.hmm._gaussian_emission import GaussianEmission, GaussianPrior, GaussianSums


@plain
@dataclass(frozen=True, eq=False)
class MixturePrior:
    """The Dirichlet prior of shares, and that of the components."""

    weights: Array
    gaussian: GaussianPrior


@plain
@dataclass(frozen=True, eq=False)
class MixtureSums(AddedSums):
    """The weight that each component of each state takes, and the moments of its rows."""

    mass: Array
    gaussian: GaussianSums

    def recentre(self, old: "MixtureEmission", new: "MixtureEmission") -> "MixtureSums":
        """Return the moments about the means of `new`, in place of those of `old`."""
        return MixtureSums(self.mass, self.gaussian.recentre(old.gaussian, new.gaussian))


@plain
@dataclass(frozen=True, eq=False)
class MixtureEmission:
    """Shares (k, m), and components: (k, m, d) means; covariances (k, m) spherical, (k, m, d) diag, (k, m, d, d) full,
    or (k, d, d), one for the components of a state, tied.
    """

    kind: str
    weights: Array
    means: Array
    covars: Array

    @property
    def n_columns(self) -> int:
        """The number of columns of a row."""
        return self.means.shape[2]

    @cached_property
    def gaussian(self) -> GaussianEmission:
        """All components as if they were states, one state's after the other's."""
        k, m, d = self.means.shape
        covars = self.covars
        if self.kind == "tied":
            covars = np.repeat(covars[:, None], m, axis=1)
        kind = "full" if self.kind == "tied" else self.kind
        return GaussianEmission(kind, self.means.reshape(k * m, d), covars.reshape(k * m, *covars.shape[2:]))

    def _score_components(self, X: Array) -> tuple[Array, Array]:
        """Return log share + log density of the components, (n, k, m), and the log density of the states, (n, k)."""
        k, m, _ = self.means.shape
        table = np.empty((len(X), count_lanes(k * m)))
        self.gaussian.scores(X, table)
        with np.errstate(divide="ignore"):
            joint = table[:, : k * m].reshape(len(X) * k, m) + np.tile(np.log(self.weights), (len(X), 1))
        totals = np.empty(len(joint))
        elementary.logsumexp(joint, totals)
        return joint.reshape(len(X), k, m), totals.reshape(len(X), k)

    def scores(self, X: Array, out: Array) -> None:
        k = len(self.weights)
        out[:, k:] = -np.inf
        out[:, :k] = self._score_components(X)[1]

    def sums(self, X: Array, shares: Array) -> MixtureSums:
        k, m = self.weights.shape
        joint, totals = self._score_components(X)
        # A row that no component of a state can have made has a share of zero in that state.
        parts = np.exp(joint - np.where(np.isfinite(totals), totals, 0.0)[:, :, None]) * shares[:, :k, None]
        gaussian = self.gaussian.sums(X, pad_lanes(parts.reshape(len(X), k * m)))
        return MixtureSums(parts.sum(axis=0), gaussian)

    def maximise(self, sums: MixtureSums, params: str, prior: MixturePrior) -> "MixtureEmission":
        k, m, d = self.means.shape
        weights = normalise_counts(sums.mass, prior.weights, self.weights) if "w" in params else self.weights
        # All components of all states are one set of Gaussians; tied covariances are joined by state below.
        inner = "".join(letter for letter in params if letter in "mc" and (letter == "m" or self.kind != "tied"))
        better = self.gaussian.maximise(sums.gaussian, inner, prior.gaussian)
        covars = better.covars.reshape(k, m, *better.covars.shape[1:])
        if self.kind == "tied":
            covars = self._tie(sums, better.means, prior.gaussian) if "c" in params else self.covars
        mixture = MixtureEmission(self.kind, weights, better.means.reshape(k, m, d), covars)
        # A covariance without an inverse is found here.
        _ = mixture.gaussian.roots
        return mixture

    def _tie(self, sums: MixtureSums, means: Array, prior: GaussianPrior) -> Array:
        """Return one covariance for the components of each state."""
        k, m, d = self.means.shape
        away = means - prior.means
        scatter = self.gaussian.scatter_about(sums.gaussian, means)
        scatter = scatter + (prior.means_weight * away)[:, :, None] * away[:, None, :]
        # Each component brings its own prior, as it does in `log_prior`.
        weight = sums.mass.sum(axis=1) + m * max(prior.covars_weight - d, 0.0)
        ridge = m * prior.covars * np.eye(d)
        total = ridge + scatter.reshape(k, m, d, d).sum(axis=1)
        light = (weight < 1e-10)[:, None, None]
        return np.where(light, self.covars, total / np.maximum(weight, 1e-300)[:, None, None])

    def take_expected(self, sums: MixtureSums, reference: "MixtureEmission") -> float:
        shares = float(np.sum(xlogy(sums.mass, self.weights)))
        return shares + self.gaussian.take_expected(sums.gaussian, reference.gaussian)

    def log_prior(self, prior: MixturePrior) -> float:
        return take_log_prior(self.weights, prior.weights) + self.gaussian.log_prior(prior.gaussian)

    def draw(self, states: Array, generator: np.random.Generator) -> Array:
        m = self.weights.shape[1]
        cumulated = np.cumsum(self.weights, axis=1)
        below = cumulated[states, :-1] / cumulated[states, -1:] <= generator.random(len(states))[:, None]
        return self.gaussian.draw(states * m + below.sum(axis=1), generator)

    def count_parameters(self) -> int:
        k, m, d = self.means.shape
        free = {"spherical": k * m, "diag": k * m * d, "full": k * m * d * (d + 1) // 2, "tied": k * d * (d + 1) // 2}
        return k * (m - 1) + k * m * d + free[self.kind]


def spread_components(kind: str, k: int, m: int, variances: Array) -> Any:
    """Return first covariances: the variances of all rows, for every component."""
    d = len(variances)
    return {
        "spherical": np.full((k, m), float(variances.mean())),
        "diag": np.broadcast_to(variances, (k, m, d)).copy(),
        "full": np.broadcast_to(np.diag(variances), (k, m, d, d)).copy(),
        "tied": np.broadcast_to(np.diag(variances), (k, d, d)).copy(),
    }[kind]
