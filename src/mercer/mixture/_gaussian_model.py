"""A Gaussian mixture for the EM engine: the statistic of its E step, and its M step."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._solver.expectation_maximisation import CollapseError
from mercer._statistic import Moments
from mercer._statistic.expectation import Expectation, ExpectedSums, n_features_of
from mercer._types import Array
from mercer.errors import DataError
from mercer.mixture import _crossovers
from mercer.mixture._components import FORM_OF, GaussianComponents, GaussianMoments, natural
from mercer.mixture._gaussian_expectation import CentredExpectation, MissingExpectation, ObservedCounts

# Scores from features about the mean of all rows lose digits as (spread of the rows / spread of a component)^2: at this
# limit they keep ten digits after the point.
_WIDEST = 1e6


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """The model, and the moments of the rows.

    Parameters
    ----------
    subject : str
    kind : str
        The covariance type.
    floor : float
        Added to every variance.
    hard : bool
        Whether each row belongs to its best component only.
    centre, scatter : (d,) and (d, d), or (d,) for independent columns
        Mean of the rows, and their scatter about it.
    weight : float
        Of all rows.
    missing : bool
        Whether rows have missing entries.
    """

    subject: str
    kind: str
    floor: float
    hard: bool
    centre: Array
    scatter: Array
    weight: float
    missing: bool = False
    # The components that were asked about last, and whether they are apart.
    asked: dict[str, Any] = field(default_factory=dict)

    def expectation(self, components: GaussianComponents) -> Any:
        """Return the request of the E step, about the rows' mean or about each component's own mean."""
        # Missing entries need the covariances themselves:
        # the conditional mean given the entries that are present uses blocks of them.
        if self.missing:
            covariances = components.each_covariance()
            form = FORM_OF[self.kind]
            return MissingExpectation(components.weights, components.means, covariances, form, self.hard)
        # Where the rows spread far in units of a component,
        # moments about their mean would cancel; each has its own centre.
        if self.is_apart(components):
            form = FORM_OF[self.kind]
            offsets, factors = components.offsets(), np.ascontiguousarray(components.each_factor())
            return CentredExpectation(offsets, components.means, factors, form, self.hard)
        return Expectation(natural(components, self.centre, self.form), self.centre, self.form, self.hard)

    @property
    def form(self) -> str:
        """The features summed about the mean of the rows; with one covariance for all, linear ones are enough."""
        return "linear" if self.kind == "tied" else FORM_OF[self.kind]

    @property
    def is_wide(self) -> bool:
        """Whether rows would have too many features."""
        return n_features_of(self.form, len(self.centre)) >= _crossovers.COMPONENT_PRODUCTS

    def is_apart(self, components: GaussianComponents) -> bool:
        """Return whether sums are taken about the components' own means, not about that of all rows."""
        if self.missing or self.is_wide:
            return True
        # Asked several times in an iteration, of the same components.
        if self.asked.get("components") is not components:
            self.asked.update(components=components, apart=self._spreads_far(components))
        return self.asked["apart"]

    def _spreads_far(self, components: GaussianComponents) -> bool:
        """Return whether sums about the mean of the rows would lose digits for some component."""
        # trace(C_k^-1 S) / n is the spread of the rows measured by component k, squared.
        if self.kind in ("full", "tied"):
            spreads = np.einsum("...ij,ij->...", components.precisions(), self.scatter)
        else:
            spreads = np.reshape(components.factors**2, (len(components.means), -1)) @ _columns(self)
        return not bool(np.all(spreads <= _WIDEST * self.weight))

    def _about(self, components: GaussianComponents) -> tuple[str, Array]:
        """Return the form of the sums of an E step, and their reference point or points."""
        if self.is_apart(components):
            return FORM_OF[self.kind], components.means
        return self.form, self.centre

    def _common(self, components: GaussianComponents, form: str) -> float:
        """Return the part of the log-likelihood equal for all components, which the linear form leaves out."""
        if form != "linear":
            return 0.0
        return -0.5 * float(np.sum(components.precisions() * self.scatter))

    def objective(self, expected: ExpectedSums, components: GaussianComponents) -> float:
        """Return the mean log-likelihood; when hard, that of rows and labels together."""
        form, _ = self._about(components)
        return (expected.bound + self._common(components, form)) / expected.weight

    def maximisation(self, expected: ExpectedSums, components: GaussianComponents) -> GaussianComponents:
        """Return the M step: weights, means and covariances of the rows weighted by responsibilities."""
        return self.components(self.moments(expected, components))

    def moments(self, expected: ExpectedSums, components: GaussianComponents) -> GaussianMoments:
        """Return the moments of the M step, before the floor is added to variances."""
        form, reference = self._about(components)
        return GaussianMoments.of(expected.table, form, reference, components, self.scatter)

    def components(self, moments: GaussianMoments) -> GaussianComponents:
        """Return components with these moments; raise a CollapseError with a cure if one has no density."""
        try:
            return moments.with_floor(self.floor)
        except CollapseError as error:
            cure = (
                f"Fitting the mixture model failed because some components have ill-defined empirical covariance (for "
                f"instance caused by singleton or collapsed samples). Try to decrease the number of components, "
                f"increase reg_covar, or scale the input data. (reg_covar is {self.floor:g}.)"
            )
            raise CollapseError(error.component, cure) from error

    def gain(self, expected: ExpectedSums, components: GaussianComponents, better: GaussianComponents) -> float:
        """Return the rise of the expected complete-data log-likelihood to `better`, per unit of weight."""
        form, reference = self._about(components)
        steps = natural(better, reference, form) - natural(components, reference, form)
        gain = float(np.sum(steps * expected.table))
        return (gain + self._common(better, form) - self._common(components, form)) / expected.weight

    def slack(self, components: GaussianComponents, better: GaussianComponents) -> float:
        """Return the most that the floor on variances can lower the objective by.

        The M step maximises the likelihood minus floor / 2 times the trace of the precisions, so it loses no more than
        that.
        """
        return 0.5 * self.floor * float(better.weights @ components.precision_traces())


def _columns(model: GaussianModel) -> Array:
    """Return the scatter of each column for diagonal covariances, or their sum for spherical ones."""
    return model.scatter if model.kind == "diag" else model.scatter.sum(keepdims=True)


def prepare_model(subject: str, kind: str, floor: float, hard: bool) -> Any:
    """Request the moments of the rows, where NaN marks missing entries; return the model. A generator of requests."""
    diagonal = kind in ("diag", "spherical")
    sums = yield Moments(diagonal=diagonal)
    # Finite sums mean that no entry is missing or infinite: the second pass below is spared.
    if np.isfinite(sums.mean).all() and np.isfinite(sums.scatter).all():
        return GaussianModel(subject, kind, floor, hard, np.asarray(sums.mean), sums.scatter, float(sums.weight))
    observed = yield ObservedCounts()
    if observed.n_infinite:
        raise DataError(
            f"{subject}: Input X contains infinity or a value too large for dtype('float64'). Mark missing entries "
            f"by NaN, and correct or drop the {observed.n_infinite} infinite ones."
        )
    # Means are finite and squares are not: entries are too large, and none is missing.
    if np.isfinite(sums.mean).all():
        raise DataError(
            f"{subject}: squares of X must be finite; some column is too large for them. Scale the columns."
        )
    if observed.n_empty:
        raise DataError(
            f"{subject}: every row needs an observed entry; {observed.n_empty} are NaN throughout. Drop them."
        )
    if not np.all(observed.weights > 0):
        column = int(np.argmin(observed.weights))
        raise DataError(f"{subject}: every column needs an observed entry; column {column} is NaN throughout. Drop it.")
    scatter = np.zeros(len(observed.means)) if diagonal else np.zeros((len(observed.means),) * 2)
    return GaussianModel(subject, kind, floor, hard, observed.means, scatter, float(sums.weight), missing=True)
