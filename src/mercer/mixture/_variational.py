"""A Gaussian mixture whose parameters have distributions, for the EM engine: prior, posterior and evidence bound.

The precision of a component has a Wishart distribution with nu degrees of freedom and nu times its scale matrix as the
mean precision, the mean a normal distribution with beta times that precision, and the shares a Dirichlet distribution
or the sticks of a Dirichlet process. One covariance for all components means that the Wishart distributions of the
posterior are equal; diagonal and spherical covariances, that their scale matrices are.

With the expectations of log share and log density in place of their values the E step is that of a Gaussian mixture:
only the offsets of the components differ. The M step is the update of the posterior by the moments of the rows.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaln, digamma, gammaln

from mercer._plain import plain
from mercer._statistic.expectation import ExpectedSums
from mercer._types import Array
from mercer.mixture._components import GaussianComponents, GaussianMoments
from mercer.mixture._gaussian_model import GaussianModel


@plain
@dataclass(frozen=True, eq=False)
class VariationalPrior:
    """The prior of every component.

    Parameters
    ----------
    process : bool
        Whether shares are sticks of a Dirichlet process, not from a Dirichlet distribution.
    concentration, mean_precision, dof : float
    mean : (d,)
    covariance : (d, d), (d,) or ()
        nu times the inverse of the mean precision, shaped by the covariance type.
    """

    process: bool
    concentration: float
    mean_precision: float
    mean: Array
    dof: float
    covariance: Array

    def update(self, moments: GaussianMoments, total: float, floor: float) -> "VariationalComponents":
        """Return the posterior given the moments of rows of weight `total`, `floor` added to each variance."""
        kind, counts = moments.kind, total * moments.weights
        precision = self.mean_precision + counts
        means = (self.mean_precision * self.mean + counts[:, None] * moments.means) / precision[:, None]
        # The scatter of each component about its own mean, and of that mean about the prior's.
        pull = self.mean_precision * counts / precision
        steps = moments.means - self.mean
        dof = self.dof + (np.full(len(counts), total / len(counts)) if kind == "tied" else counts)
        if kind == "full":
            own = counts[:, None, None] * (moments.covariances + floor * np.eye(len(self.mean)))
            scatter = own + np.einsum("k,ki,kj->kij", pull, steps, steps)
            covariances = (self.covariance + scatter) / dof[:, None, None]
        elif kind == "tied":
            own = total * (moments.covariances + floor * np.eye(len(self.mean)))
            scatter = (own + np.einsum("k,ki,kj->ij", pull, steps, steps)) / len(counts)
            covariances = (self.covariance + scatter) / dof[0]
        elif kind == "diag":
            own = counts[:, None] * (moments.covariances + floor)
            covariances = (self.covariance + own + pull[:, None] * steps**2) / dof[:, None]
        else:
            own = counts * (moments.covariances + floor)
            covariances = (self.covariance + own + pull * np.mean(steps**2, axis=1)) / dof
        base = GaussianComponents.of(kind, moments.weights, means, covariances)
        concentration = self._concentrate(counts)
        shares = share_of(concentration, self.process)
        return VariationalComponents(
            kind, shares, means, covariances, base.factors, self, concentration, precision, dof
        )

    def _concentrate(self, counts: Array) -> Array:
        """Return the parameters of the shares: (k,), or (2, k) for the beta distributions of sticks."""
        if not self.process:
            return self.concentration + counts
        # A stick is broken off where a row belongs to its component, and goes on where it belongs to a later one.
        later = np.append(np.cumsum(counts[::-1])[-2::-1], 0.0)
        return np.stack([1.0 + counts, self.concentration + later])


def share_of(concentration: Array, process: bool) -> Array:
    """Return the shares of components, (k,), with each stick or share at its mean."""
    if not process:
        return concentration / concentration.sum()
    first, rest = concentration
    shares = first / (first + rest) * np.append(1.0, np.cumprod((rest / (first + rest))[:-1]))
    return shares / shares.sum()


@plain
@dataclass(frozen=True)
class VariationalComponents(GaussianComponents):
    """Components whose parameters have distributions; means and inverse covariances are the expected ones.

    ``concentration`` is (k,) or (2, k), ``mean_precision`` and ``dof`` (k,).
    """

    prior: VariationalPrior
    concentration: Array
    mean_precision: Array
    dof: Array

    def log_shares(self) -> Array:
        """Return what the expected log joint density has beside the log density at expected parameters, (k,)."""
        d = self.n_columns
        # E log |precision| is below log |E precision|, and the mean is uncertain.
        lost = self._log_determinants() - d * np.log(self.dof) - d / self.mean_precision
        return self._log_weights + 0.5 * lost

    @cached_property
    def _log_weights(self) -> Array:
        """The expected logarithms of the shares, (k,)."""
        if not self.prior.process:
            return digamma(self.concentration) - digamma(self.concentration.sum())
        whole = digamma(self.concentration.sum(axis=0))
        broken, left = digamma(self.concentration) - whole
        return broken + np.append(0.0, np.cumsum(left)[:-1])

    def _log_determinants(self) -> Array:
        """Return E log |precision| less the log determinant of the scale matrix, (k,)."""
        d = self.n_columns
        return d * np.log(2.0) + digamma(0.5 * (self.dof[:, None] - np.arange(d))).sum(axis=1)

    def share_of_rows(self) -> float:
        """Return the share of the rows, beside the prior, in the covariances of all components together."""
        return float(self.weights @ (1.0 - self.prior.dof / self.dof))

    def divergence(self) -> float:
        """Return the Kullback-Leibler divergence of the posterior from the prior."""
        return float(self._share_divergence() + np.sum(self._divergences()))

    def _share_divergence(self) -> float:
        """Return that of the shares."""
        prior, a = self.prior.concentration, self.concentration
        if not self.prior.process:
            k = len(a)
            norms = gammaln(a.sum()) - gammaln(a).sum() - gammaln(k * prior) + k * gammaln(prior)
            return norms + np.sum((a - prior) * self._log_weights)
        first, rest = a
        whole = digamma(first + rest)
        gaps = (first - 1.0) * (digamma(first) - whole) + (rest - prior) * (digamma(rest) - whole)
        return float(np.sum(gaps - betaln(first, rest) + betaln(1.0, prior)))

    def _divergences(self) -> Array:
        """Return those of means and precisions, (k,)."""
        prior, d, dof = self.prior, self.n_columns, self.dof
        factors = self.each_factor()
        steps = self.means - prior.mean
        if factors.ndim == 2:
            diagonals, white = factors, steps * factors
            # A spherical prior has one variance for all columns.
            traces = np.sum(prior.covariance * factors**2, axis=1)
            whole = np.broadcast_to(prior.covariance, (d,))
            log_prior = -np.sum(np.log(whole))
        else:
            diagonals, white = np.einsum("kii->ki", factors), np.einsum("kd,kde->ke", steps, factors)
            traces = np.einsum("kij,ij->k", self._squares(), prior.covariance)
            log_prior = -np.linalg.slogdet(prior.covariance)[1]
        # Log determinants of the scale matrices; factors are those of nu times them.
        logs = 2.0 * np.sum(np.log(diagonals), axis=1) - d * np.log(dof)
        wishart = 0.5 * (dof - prior.dof) * (self._log_determinants() + logs) + 0.5 * (traces - dof * d)
        wishart += log_wishart_norm(dof, logs, d) - log_wishart_norm(np.float64(prior.dof), log_prior, d)
        ratio = prior.mean_precision / self.mean_precision
        normal = d * (ratio - 1.0 - np.log(ratio)) + prior.mean_precision * np.sum(white**2, axis=1)
        return wishart + 0.5 * normal

    def _squares(self) -> Array:
        """Return the expected precisions, (k, d, d)."""
        return np.broadcast_to(self.precisions(), (len(self.means), self.n_columns, self.n_columns))


def log_wishart_norm(dof: Array, log_determinant: Array, d: int) -> Array:
    """Return the logarithm of the factor before a Wishart density whose scale matrix has this log determinant."""
    gammas = gammaln(0.5 * (np.reshape(dof, (-1, 1)) - np.arange(d))).sum(axis=1).reshape(np.shape(dof))
    return -0.5 * dof * (log_determinant + d * np.log(2.0)) - 0.25 * d * (d - 1) * np.log(np.pi) - gammas


@dataclass(frozen=True, eq=False)
class VariationalModel(GaussianModel):
    """The model of a Bayesian mixture; its objective is the lower bound of the log evidence of all rows."""

    prior: VariationalPrior = None  # type: ignore[assignment]

    @classmethod
    def of(cls, model: GaussianModel, prior: VariationalPrior) -> "VariationalModel":
        """Return the model with the same moments of the rows, and a prior."""
        return cls(**{field.name: getattr(model, field.name) for field in fields(model)}, prior=prior)

    def components(self, moments: GaussianMoments) -> VariationalComponents:
        """Return the posterior given the moments of the rows that each component receives."""
        return self.prior.update(moments, self.weight, self.floor)

    def objective(self, expected: ExpectedSums, components: Any) -> float:
        """Return the lower bound: the expected log-likelihood less the divergence of posterior from prior."""
        return super().objective(expected, components) * expected.weight - components.divergence()

    def gain(self, expected: ExpectedSums, components: Any, better: Any) -> float:
        """Return the rise of the lower bound to `better`, with the responsibilities as they are."""
        rise = super().gain(expected, components, better) * expected.weight
        return rise + components.divergence() - better.divergence()

    def slack(self, components: Any, better: Any) -> float:
        """Return the most that the floor on variances can lower the objective by."""
        counts = better.mean_precision - self.prior.mean_precision
        return 0.5 * self.floor * float(counts @ better.precision_traces())
