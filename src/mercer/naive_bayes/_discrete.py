"""Naive Bayes with counted columns: smoothing, priors and what they share."""

import warnings
from collections.abc import Generator
from dataclasses import dataclass
from numbers import Real as Number
from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Boolean, Nothing, Real, attribute, parameter
from mercer._base.priors import class_priors
from mercer._plain import plain
from mercer._source import Source
from mercer._source.namespace import to_numpy
from mercer._statistic import Statistic
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.naive_bayes._class_totals import ClassTotals, ClassTotalSums
from mercer.naive_bayes._naive_bayes import NaiveBayes

# The smallest pseudo-count without ``force_alpha``, as in scikit-learn: its logarithm, -23, is still finite.
_LEAST_ALPHA = 1e-10


@plain
@dataclass(frozen=True, eq=False)
class SmoothedCounts:
    """Counts by class, and what a model is made of: logarithms of priors and of smoothed probabilities.

    Logarithms are computed once, for the objective and for the model: tables of text are large.
    """

    sums: ClassTotalSums
    log_prior: Array
    log_probabilities: Any


class DiscreteNB(NaiveBayes):
    """A naive Bayes classifier made of counts, smoothed by alpha."""

    alpha: Any = parameter(Real(0) | ArrayRule(), default=1.0, doc="Pseudo-count, or one for each column.")
    force_alpha: bool = parameter(
        Boolean(),
        default=True,
        doc="Whether alpha may be as small as it is given; otherwise it is 1e-10 at least, with a warning.",
    )
    fit_prior: bool = parameter(
        Boolean(), default=True, doc="Whether priors are the classes' shares of the rows; otherwise they are equal."
    )
    class_prior: Any = parameter(
        ArrayRule() | Nothing(),
        default=None,
        doc="Priors in the order of the sorted labels; None leaves it to `fit_prior`.",
    )

    _takes_sparse = True
    class_log_prior_: Any = attribute()
    feature_log_prob_: Any = attribute()
    # Whether columns are counts, which cannot be negative.
    _counts_rows: ClassVar[bool] = True

    @classmethod
    def _from_probabilities(cls, q: Any, priors: Any, classes: Any) -> Any:
        """Return the classifier of known probabilities q of shape (n_classes, n_features), as if fitted."""
        model = cls(class_prior=priors)
        model.classes_ = np.arange(len(q)) if classes is None else np.asarray(classes)
        # The logarithm of an impossible value is minus infinity; the scorers count such values apart.
        with np.errstate(divide="ignore"):
            model.class_log_prior_ = np.log(class_priors(cls.__name__, priors, np.ones(len(q)), exact=True))
            model.feature_log_prob_ = np.log(q)
        model.n_features_in_ = q.shape[1]
        return model

    def _sum_rows(self, source: Source, additive: bool) -> Statistic:
        return ClassTotals()

    def _log_probabilities(self, sums: ClassTotalSums, alpha: Any) -> Any:
        """Return the logarithms of the probabilities, from the counts smoothed by `alpha`."""
        raise NotImplementedError  # each model smooths its own

    def _smoothing(self, n_features: int) -> Any:
        """Check alpha and return it, raised to the smallest value allowed unless ``force_alpha`` is set."""
        name, alpha = type(self).__name__, self.alpha
        if not isinstance(alpha, Number):
            alpha = np.asarray(alpha, dtype=np.float64)
            if alpha.shape != (n_features,):
                raise ParameterError(
                    f"{name}: When alpha is an array, it should contains `n_features`. Got {alpha.size} elements "
                    f"instead of {n_features}."
                )
            if alpha.min() < 0:
                raise ParameterError(f"{name}: All values in alpha must be greater than 0; got {alpha.min():g}.")
        # Without smoothing, a count of zero has the logarithm minus infinity and decides alone against its class.
        if np.min(alpha) < _LEAST_ALPHA and not self.force_alpha:
            warnings.warn(
                f"{name}: alpha too small will result in numeric errors, setting alpha = {_LEAST_ALPHA:.1e}. Use "
                f"`force_alpha=True` to keep alpha unchanged.",
                stacklevel=8,
            )
            return np.maximum(alpha, _LEAST_ALPHA)
        return alpha

    def _log_prior(self, weights: Array) -> Array:
        if self.class_prior is None and not self.fit_prior:
            return np.full(len(weights), -np.log(len(weights)))
        # Smoothing gives a class its density before it has rows, so that a prior given for it counts.
        sizes = weights if self.class_prior is None else np.ones(len(weights))
        priors = class_priors(type(self).__name__, self.class_prior, sizes)
        with np.errstate(divide="ignore"):
            return np.log(priors)

    def _state(self, sums: ClassTotalSums, source: Source) -> Generator[Any, Any, tuple[SmoothedCounts, float]]:
        yield from ()
        if self._counts_rows and sums.least < 0:
            self._refuse(sums.least)
        alpha = self._smoothing(source.n_features)
        state = SmoothedCounts(sums, self._log_prior(sums.weights), self._log_probabilities(sums, alpha))
        likelihood = times(sums.weights, state.log_prior) + self._log_likelihood(state)
        return state, likelihood / float(sums.weights.sum())

    def _refuse(self, least: float) -> None:
        name = type(self).__name__
        raise DataError(
            f"{name}: Negative values in data passed to {name} (input X); columns are counts, and the least is "
            f"{least:g}. Shift or drop such columns."
        )

    def _log_likelihood(self, state: SmoothedCounts) -> float:
        """Return the log-likelihood of the rows given their labels: sum_kj N_kj log q_kj."""
        return times(state.sums.totals, state.log_probabilities)

    def _read_logarithms(self) -> tuple[Array, Array]:
        """Return the logarithms of probabilities and priors in float64, from wherever the fitted model is."""
        tables = (self.feature_log_prob_, self.class_log_prior_)
        return tuple(to_numpy(table).astype(np.float64) for table in tables)

    def _attributes_of(self, state: SmoothedCounts, dtype: str) -> dict[str, Any]:
        return self._list_class_attributes(state.sums, dtype) | {
            "class_count_": state.sums.weights,
            "feature_count_": state.sums.totals,
            "class_log_prior_": state.log_prior.astype(dtype),
            "feature_log_prob_": state.log_probabilities.astype(dtype, copy=False),
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self._counts_rows
        tags.classifier_tags.poor_score = True
        return tags


def times(counts: Array, logarithms: Array) -> float:
    """Return the sum of counts times logarithms, where a count of zero contributes zero even for log 0."""
    total = float(np.einsum("i,i->", counts.ravel(), logarithms.ravel()))
    # Zero times minus infinity is no number; only then the table is gone through again, with care.
    return total if np.isfinite(total) else float(np.sum(counts * np.where(counts > 0, logarithms, 0.0)))
