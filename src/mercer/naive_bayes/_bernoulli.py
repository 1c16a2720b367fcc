"""Naive Bayes with binary columns."""

from collections.abc import Generator
from typing import Any, ClassVar

import numpy as np

from mercer._base.parameter import Nothing, Real, parameter
from mercer._source import Source
from mercer._statistic import Statistic
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.naive_bayes._class_totals import ClassTotals, ClassTotalSums
from mercer.naive_bayes._discrete import DiscreteNB, SmoothedCounts, times
from mercer.naive_bayes._scores import LinearScores, finite_logarithms, log_of_rest


class BernoulliNB(DiscreteNB):
    """Naive Bayes with binary columns.

    Within class k column j is 1 with probability q_kj, independently of the others, so that by Bayes' rule a row
    belongs to the class of largest

        log P_k + sum_j x_j log q_kj + (1 - x_j) log(1 - q_kj)

    which is linear in x with weights logit(q_kj). q_kj = (N_kj + alpha) / (N_k + 2 alpha) of N_k rows, N_kj of them
    with a 1: the mean of a Beta(alpha, alpha) posterior. Without smoothing a class that never had a 1 in a column
    cannot have a row that has: its score is minus infinity.

    Attributes
    ----------
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of the rows of each class, and the logarithm of its prior.
    feature_count_ : ndarray of shape (n_classes, n_features)
        N_kj.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log q_kj.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean log-likelihood of rows and labels.

    Notes
    -----
    One pass, one comparison and one addition a number, O(k d) memory; exact. Rows: NumPy, frames, SciPy sparse (never
    made dense), files, streams (also such as can be read only once), Dask, devices. :meth:`from_parameters` makes the
    classifier of known probabilities.

    References
    ----------
    A. McCallum and K. Nigam, A comparison of event models for naive Bayes text classification, 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.naive_bayes import BernoulliNB
    >>> X = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0]])
    >>> model = BernoulliNB().fit(X, ["spam", "spam", "ham", "ham"])
    >>> model.predict_proba([[1, 0, 1]]).round(2)
    array([[0.18, 0.82]])
    """

    binarize: float | None = parameter(
        Real(0) | Nothing(),
        default=0.0,
        after="force_alpha",
        doc="Values above this are 1, others 0; None means that columns are 0 and 1 as they are.",
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "class_count_": floats("classes"),
        "class_log_prior_": floats("classes"),
        "feature_log_prob_": floats("classes, columns"),
        "feature_count_": floats("classes, columns"),
    }
    _counts_rows: ClassVar[bool] = False
    _depends_on_units = ("place",)

    @classmethod
    def from_parameters(cls, probabilities: Any, priors: Any, classes: Any = None) -> "BernoulliNB":
        """Return the optimal classifier of known independent binary columns.

        Parameters
        ----------
        probabilities : array-like of shape (n_classes, n_features)
            Of a 1, in each class and column; 0 and 1 are allowed.
        priors : array-like of shape (n_classes,)
            Prior probabilities.
        classes : array-like of shape (n_classes,) or None, default=None
            Labels in rising order; None means numbers from 0 on.

        Returns
        -------
        BernoulliNB
            As if fitted.
        """
        q = np.asarray(probabilities, dtype=np.float64)
        if not ((q >= 0) & (q <= 1)).all():
            raise DataError(
                f"BernoulliNB: every probability must be a number in [0, 1]; got {q.min():g} to {q.max():g}."
            )
        return cls._from_probabilities(q, priors, classes)

    def _sum_rows(self, source: Source, additive: bool) -> Statistic:
        return ClassTotals(None if self.binarize is None else float(self.binarize))

    def _log_probabilities(self, sums: ClassTotalSums, alpha: Any) -> Array:
        # Twice alpha in the denominator: 0 and 1 each get one pseudo-count of it.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(sums.totals + alpha) - np.log(sums.weights[:, None] + 2.0 * alpha)

    def _state(self, sums: ClassTotalSums, source: Source) -> Generator[Any, Any, tuple[SmoothedCounts, float]]:
        state, likelihood = yield from super()._state(sums, source)
        # So far the columns that are 1 count; those that are 0 add log(1 - q_kj) each.
        rest = times(sums.weights[:, None] - sums.totals, log_of_rest(state.log_probabilities))
        return state, likelihood + rest / float(sums.weights.sum())

    def _scorer(self) -> LinearScores:
        logarithms, prior = self._read_logarithms()
        # log p(x | k) = sum_j x_j (log q_kj - log(1 - q_kj)) + sum_j log(1 - q_kj): linear in a row of zeros and ones.
        ones, no_one = finite_logarithms(logarithms)
        zeros, no_zero = finite_logarithms(log_of_rest(logarithms))
        offsets, threshold = prior + zeros.sum(axis=1), None if self.binarize is None else float(self.binarize)
        if not (no_one.any() or no_zero.any()):
            return LinearScores(ones - zeros, offsets, threshold=threshold)
        # x . barred + offset counts the columns whose value is impossible in class k: ones where q is 0, zeros where 1.
        barred = no_one.astype(np.float64) - no_zero
        return LinearScores(ones - zeros, offsets, barred, no_zero.sum(axis=1).astype(np.float64), threshold)
