"""The components of a Gaussian mixture: their parameters, the scores that follow from them, and the M step."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dtrtri

from mercer._plain import plain
from mercer._solver.expectation_maximisation import CollapseError
from mercer._statistic.expectation import n_features_of, pairs
from mercer._types import Array

# The features that the M step of each covariance type needs.
FORM_OF = {"full": "full", "tied": "full", "diag": "diagonal", "spherical": "spherical"}
_LOG_2_PI = math.log(2.0 * math.pi)
# A component with no more than this share of the weight keeps its old mean and covariance: its sums are rounding.
_EMPTY = 1e-14


@plain
@dataclass(frozen=True)
class GaussianComponents:
    """Weights, means, covariances and factors of their inverses, shaped by `kind` as in scikit-learn.

    ``factors`` are ``precisions_cholesky_``: for a full covariance an upper triangle P with P P^T its inverse; for
    independent columns the roots of the inverse variances.
    """

    kind: str
    weights: Array
    means: Array
    covariances: Array
    factors: Array

    @classmethod
    def of(cls, kind: str, weights: Array, means: Array, covariances: Array) -> "GaussianComponents":
        """Return components with these covariances, which must be positive definite."""
        return cls(kind, weights, means, covariances, _inverse_factors(kind, covariances))

    @classmethod
    def from_factors(cls, kind: str, weights: Array, means: Array, factors: Array) -> "GaussianComponents":
        """Return components with these factors of the inverse covariances."""
        if kind in ("full", "tied"):
            # Precision = P P^T, so covariance = P^-T P^-1.
            inverses = np.linalg.inv(factors)
            return cls(kind, weights, means, np.swapaxes(inverses, -1, -2) @ inverses, factors)
        return cls(kind, weights, means, 1.0 / factors**2, factors)

    @property
    def n_columns(self) -> int:
        return self.means.shape[1]

    def precisions(self) -> Array:
        """Return the inverse covariances, shaped by `kind`; nobody may write to them."""
        return self._precisions

    @cached_property
    def _precisions(self) -> Array:
        if self.kind in ("full", "tied"):
            return self.factors @ np.swapaxes(self.factors, -1, -2)
        return self.factors**2

    def each_factor(self) -> Array:
        """Return a factor per component: (k, d, d), or (k, d) for independent columns."""
        k, d = self.means.shape
        if self.kind == "tied":
            return np.broadcast_to(self.factors, (k, d, d))
        return np.repeat(self.factors[:, None], d, axis=1) if self.kind == "spherical" else self.factors

    def each_covariance(self) -> Array:
        """Return a full covariance per component, (k, d, d)."""
        k, d = self.means.shape
        if self.kind == "full":
            return self.covariances
        if self.kind == "tied":
            return np.broadcast_to(self.covariances, (k, d, d))
        # Variances (k,) or (k, d) become (k, 1, 1) or (k, d, 1), and the identity puts them on the diagonals.
        return np.reshape(self.covariances, (k, -1, 1)) * np.eye(d)

    def precision_traces(self) -> Array:
        """Return the trace of each inverse covariance, (k,)."""
        factors = self.each_factor()
        return np.sum(factors**2, axis=tuple(range(1, factors.ndim)))

    def find_collapsed(self, floor: float) -> Array:
        """Return the components whose least variance is at most twice `floor`, unless the rows have as little."""
        each = self.each_covariance()
        narrow = np.linalg.eigvalsh(each)[:, 0] <= 2.0 * floor
        if not narrow.any():
            return np.empty(0, dtype=np.int64)
        middle = self.weights @ self.means
        steps = self.means - middle
        # Law of total covariance: the mean of the covariances plus the covariance of the means.
        whole = np.einsum("k,kij->ij", self.weights, each) + np.einsum("k,ki,kj->ij", self.weights, steps, steps)
        if np.linalg.eigvalsh(whole)[0] <= 10.0 * floor:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(narrow)

    def find_narrowest(self) -> tuple[int, float]:
        """Return the column of the least variance over all components, and that variance."""
        steps = self.means - self.weights @ self.means
        own = np.diagonal(self.each_covariance(), axis1=1, axis2=2)
        whole = self.weights @ (own + steps**2)
        return int(whole.argmin()), float(whole.min())

    def log_shares(self) -> Array:
        """Return the logarithms of the weights, (k,); a weight of zero counts as the least positive number."""
        return np.log(np.maximum(self.weights, np.finfo(np.float64).tiny))

    def offsets(self) -> Array:
        """Return log weight + log density at the mean, (k,): log w + log |P| - d/2 log 2 pi, P the inverse's factor."""
        factors = self.each_factor()
        # The determinant of a triangular factor is the product of its diagonal.
        diagonals = np.einsum("kii->ki", factors) if factors.ndim == 3 else factors
        return self.log_shares() + np.sum(np.log(diagonals), axis=1) - 0.5 * self.n_columns * _LOG_2_PI


def _inverse_factors(kind: str, covariances: Array) -> Array:
    if kind in ("diag", "spherical"):
        # A variance of zero, or NaN, has no density.
        smallest = covariances.min(axis=1) if kind == "diag" else covariances
        if not np.all(smallest > 0):
            raise CollapseError(int(np.flatnonzero(~(smallest > 0))[0]))
        return 1.0 / np.sqrt(covariances)
    stack = covariances[None] if kind == "tied" else covariances
    factors = np.empty_like(stack)
    for component, covariance in enumerate(stack):
        try:
            lower = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError as error:
            raise CollapseError(component) from error
        if not np.isfinite(lower).all():
            raise CollapseError(component)
        # With C = L L^T, P = L^-T is upper triangular and P P^T = C^-1. Above the diagonal, dtrtri leaves the zeros.
        factors[component] = dtrtri(lower, lower=1)[0].T
    return factors[0] if kind == "tied" else factors


def natural(components: GaussianComponents, reference: Array, form: str) -> Array:
    """Return theta, (k, p), such that theta times the features about `reference` gives log weight + log density.

    `reference` is (d,) or one per component. The linear form is for components with one covariance: it leaves out the
    part of the scores that is equal for all of them.
    """
    k, d = components.means.shape
    steps = components.means - reference
    factors = components.each_factor()
    # With s = mean - reference: constant -|s P|^2 / 2, linear s P P^T, and quadratic -P P^T / 2 terms.
    white = steps * factors if factors.ndim == 2 else np.einsum("kd,kde->ke", steps, factors)
    theta = np.empty((k, n_features_of(form, d)))
    theta[:, 0] = components.offsets() - 0.5 * np.sum(white * white, axis=1)
    theta[:, 1 : d + 1] = white * factors if factors.ndim == 2 else np.einsum("ke,kde->kd", white, factors)
    if form == "full":
        first, second = pairs(d)
        # Features hold each pair of columns once, so entries off the diagonal count twice. A tied precision serves all.
        theta[:, d + 1 :] = components.precisions()[..., first, second] * np.where(first == second, -0.5, -1.0)
    elif form != "linear":
        theta[:, d + 1 :] = np.reshape(-0.5 * components.factors**2, (k, -1))
    return theta


def _unfold(packed: Array, d: int) -> Array:
    """Return symmetric matrices, (k, d, d), from their packed upper triangles, row by row."""
    first, second = pairs(d)
    full = np.empty((len(packed), d, d))
    full[:, first, second] = packed
    full[:, second, first] = packed
    return full


@dataclass(frozen=True)
class GaussianMoments:
    """Weights, means and covariances of the rows weighted by responsibilities: an M step before any inverse."""

    kind: str
    weights: Array
    means: Array
    covariances: Array

    @classmethod
    def of(
        cls, table: Array, form: str, reference: Array, previous: GaussianComponents, scatter: Array = None
    ) -> "GaussianMoments":
        """Return the M step's moments from features summed by responsibility.

        Parameters
        ----------
        table : (k, p): sums of the features about `reference`
        form : the name of these features
        reference : (d,) or (k, d)
        previous : GaussianComponents
            Gives the kind; a component without rows keeps its mean and covariance.
        scatter : (d, d)
            For tied covariances from the linear form: the scatter of all rows about `reference`.
        """
        kind, d = previous.kind, previous.n_columns
        total = table[:, 0].sum()
        lost = table[:, 0] <= _EMPTY * total
        counts = np.where(lost, 1.0, table[:, 0])
        # mean_k = reference + sum r (x - reference) / n_k; covariance_k = sum r (x - reference)^2 / n_k - step^2.
        steps = np.where(lost[:, None], previous.means - reference, table[:, 1 : d + 1] / counts[:, None])
        # A share is never zero, so that its logarithm stays finite.
        weights = np.maximum(table[:, 0] / total, np.finfo(np.float64).tiny)
        squares = table[:, d + 1 :]
        if kind == "tied":
            # Tied: scatter of all rows about the reference minus that of the means, over all weight.
            inner = np.einsum("k,ki,kj->ij", table[:, 0], steps, steps)
            outer = scatter if form == "linear" else _unfold(squares.sum(axis=0)[None], d)[0]
            return cls(kind, weights, reference + steps, (outer - inner) / total)
        if kind == "full":
            covariances = _unfold(squares / counts[:, None], d) - steps[:, :, None] * steps[:, None, :]
        elif kind == "diag":
            covariances = squares / counts[:, None] - steps**2
        else:
            covariances = (squares[:, 0] / counts - np.sum(steps**2, axis=1)) / d
        if lost.any():
            covariances[lost] = previous.covariances[lost]
        return cls(kind, weights, reference + steps, covariances)

    def with_floor(self, floor: float) -> GaussianComponents:
        """Return components with `floor` (``reg_covar``) added to every variance."""
        ridge = floor * np.eye(self.means.shape[1]) if self.kind in ("full", "tied") else floor
        return GaussianComponents.of(self.kind, self.weights, self.means, self.covariances + ridge)

    def blend(self, other: "GaussianMoments", share: float) -> "GaussianMoments":
        """Return the moments of these rows and of `other` rows together; the others have `share` of the weight."""
        weights = (1.0 - share) * self.weights + share * other.weights
        # The share of the other rows within each component.
        parts = share * other.weights / weights
        steps = other.means - self.means
        # Pooling two groups: the covariance of the union adds the scatter between their means, p (1 - p) step^2.
        means = self.means + parts[:, None] * steps
        between = parts * (1.0 - parts)
        if self.kind == "tied":
            apart = np.einsum("k,ki,kj->ij", weights * between, steps, steps)
            return type(self)(
                "tied", weights, means, (1 - share) * self.covariances + share * other.covariances + apart
            )
        apart = {
            "full": lambda: steps[:, :, None] * steps[:, None, :],
            "diag": lambda: steps**2,
            "spherical": lambda: np.mean(steps**2, axis=1),
        }[self.kind]()
        shape = (-1,) + (1,) * (self.covariances.ndim - 1)
        parts, between = parts.reshape(shape), between.reshape(shape)
        covariances = (1.0 - parts) * self.covariances + parts * other.covariances + between * apart
        return type(self)(self.kind, weights, means, covariances)
