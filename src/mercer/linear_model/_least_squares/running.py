"""Least squares of rows that come in batches: the moments of X and y add up over time, and are all it needs."""

from typing import Any, ClassVar

from sklearn.utils.metaestimators import available_if

from mercer._base import fitting
from mercer._base.batches import open_batch
from mercer._base.linear.prediction import LinearRegressor
from mercer._base.parameter import Boolean, parameter
from mercer._solver import Outcome
from mercer._source import Source


def _works_from_sums(estimator: Any) -> bool:
    estimator._check_sums_suffice()
    return True


class RunningRegressor(LinearRegressor):
    """A linear regressor that can also be fitted batch by batch."""

    fit_intercept: bool = parameter(Boolean(), default=True, doc="Whether to fit b; otherwise it is zero.")
    copy_X: bool = parameter(
        Boolean(),
        default=True,
        doc="Has no effect: rows are neither copied nor overwritten. Kept so that scikit-learn's calls run.",
    )

    # The advice in the warning about a fit that ended early.
    _cure: ClassVar[str] = "raise max_iter or tol"

    @available_if(_works_from_sums)
    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "RunningRegressor":
        """Fit to these rows and to all that earlier calls were given.

        The moments of X and y add up over time, so the model is that of one ``fit`` to all rows together, to rounding;
        a batch is read once and not kept. Parameters may change between calls. Sums alone cannot be corrected by the
        residuals of the data as ``fit`` does: with columns of condition number K the coefficients keep about
        16 - 2 log10 K digits, and singular values below some 1e-7 of the largest count as zero. ``fit`` forgets
        all batches, and keeps nothing that a later batch could be added to.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets, of the same shape in all calls.

        Returns
        -------
        self
            The fitted estimator, with the total weight of all rows so far in ``n_samples_seen_``.
        """
        source = open_batch(
            self, X, y, sample_weight, centre=self.fit_intercept, targets="numbers", accept_sparse="csr"
        )
        outcome = self._learn(source)
        self._describe(outcome.state, source)
        self._conclude(outcome, self._cure)
        return self

    def _check_sums_suffice(self) -> None:
        """Raise ParameterError where the parameters ask for a method that needs the rows themselves."""

    def _learn(self, source: Source) -> Outcome:
        """Choose the solver, drive it, and store the fitted attributes."""
        raise NotImplementedError  # each regressor defines its own

    def _describe(self, state: Any, source: Source) -> None:
        """Store further attributes of the solution, such as its rank, and warn if it is not unique."""
        raise NotImplementedError  # each regressor defines its own
