"""Naive Bayes with Gaussian columns."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import xlogy

from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Nothing, Real, parameter
from mercer._base.priors import class_priors
from mercer._plain import plain
from mercer._source import Source
from mercer._source.namespace import to_numpy
from mercer._statistic import Statistic
from mercer._statistic.by_class import ClassMoments, ClassMomentSums
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.naive_bayes._naive_bayes import NaiveBayes
from mercer.naive_bayes._scores import GaussianScores


@plain
@dataclass(frozen=True, eq=False)
class GaussianColumns:
    """Moments by class, and what a model is made of: variances, priors, and what was added to the variances."""

    sums: ClassMomentSums
    variances: Array
    priors: Array
    epsilon: float


class GaussianNB(NaiveBayes):
    """Naive Bayes with Gaussian columns.

    Within class k the columns are independent, x_j ~ N(m_kj, v_kj), so that by Bayes' rule a row belongs to the class
    of largest

        log P_k - sum_j (log(2 pi v_kj) + (x_j - m_kj)^2 / v_kj) / 2

    with P_k the priors (``class_prior_``), m the class means (``theta_``) and v the class variances plus epsilon
    (``var_``, ``epsilon_``).

    Attributes
    ----------
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Mean and variance of each column in each class.
    class_count_, class_prior_ : ndarray of shape (n_classes,)
        Weight of the rows of each class, and its prior.
    epsilon_ : float
        What was added to the variances.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean log-likelihood of rows and labels.

    Notes
    -----
    One pass, two operations a number, O(k d) memory; exact to rounding also for columns far from zero.
    ``partial_fit`` gives the model of one fit to all rows, epsilon included. Rows: NumPy, frames, files, streams (also
    such as can be read only once), Dask, devices. :meth:`from_parameters` makes the classifier of known parameters.

    References
    ----------
    T. F. Chan, G. H. Golub and R. J. LeVeque, Algorithms for computing the sample variance, 1983.

    Examples
    --------
    >>> from mercer.naive_bayes import GaussianNB
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> GaussianNB().fit(X, y).score(X, y)
    0.96
    """

    priors: Any = parameter(
        ArrayRule() | Nothing(),
        default=None,
        doc="P_k in the order of the sorted labels; None means the classes' shares of the rows.",
    )
    var_smoothing: float = parameter(
        Real(0), default=1e-09, doc="epsilon is this share of the largest variance of a column over all rows."
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "class_count_": floats("classes"),
        "class_prior_": floats("classes"),
        "theta_": floats("classes, columns"),
        "var_": floats("classes, columns"),
        "epsilon_": floats(),
    }
    _depends_on_units = ("columns",)

    @classmethod
    def from_parameters(cls, means: Any, variances: Any, priors: Any, classes: Any = None) -> "GaussianNB":
        """Return the optimal classifier of known independent Gaussian columns.

        Parameters
        ----------
        means, variances : array-like of shape (n_classes, n_features)
            Mean and variance of each column in each class.
        priors : array-like of shape (n_classes,)
            Prior probabilities.
        classes : array-like of shape (n_classes,) or None, default=None
            Labels in rising order; None means numbers from 0 on.

        Returns
        -------
        GaussianNB
            As if fitted.
        """
        means, variances = (np.asarray(table, dtype=np.float64) for table in (means, variances))
        model = cls(priors=priors, var_smoothing=0.0)
        model.classes_ = np.arange(len(means)) if classes is None else np.asarray(classes)
        model.class_prior_ = class_priors(cls.__name__, priors, np.ones(len(means)), exact=True)
        model.theta_, model.var_, model.n_features_in_ = means, variances, means.shape[1]
        return model

    def _sum_rows(self, source: Source, additive: bool) -> Statistic:
        return ClassMoments("diagonal")

    def _state(self, sums: ClassMomentSums, source: Source) -> Generator[Any, Any, tuple[GaussianColumns, float]]:
        yield from ()
        weights = np.where(sums.weights > 0, sums.weights, 1.0)
        # Within plus between classes is the scatter of a column about its mean over all rows.
        largest = float(np.max(sums.within() + sums.between())) / sums.weight
        epsilon = self.var_smoothing * largest
        variances = sums.scatter / weights[:, None] + epsilon
        priors = class_priors(type(self).__name__, self.priors, sums.weights, exact=True)
        if not variances[sums.weights > 0].all():
            self._refuse(largest)
        state = GaussianColumns(sums, variances, priors, epsilon)
        return state, _mean_log_likelihood(state)

    def _refuse(self, largest: float) -> None:
        name = type(self).__name__
        if largest == 0:
            message = f"{name}: some column must vary; got rows that are all alike, or one sample only. Add other rows."
        else:
            message = (
                f"{name}: every column must vary within every class; got one that does not, and "
                f"var_smoothing={self.var_smoothing:g}. Raise var_smoothing, or drop the column."
            )
        raise DataError(message)

    def _attributes_of(self, state: GaussianColumns, dtype: str) -> dict[str, Any]:
        return self._list_class_attributes(state.sums, dtype) | {
            "theta_": state.sums.means.astype(dtype),
            "var_": state.variances.astype(dtype),
            "class_count_": state.sums.weights.astype(dtype),
            "class_prior_": state.priors.astype(dtype),
            "epsilon_": state.epsilon,
        }

    def _log_priors(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(to_numpy(self.class_prior_).astype(np.float64))

    def _scorer(self) -> GaussianScores:
        means, variances, priors = (to_numpy(table) for table in (self.theta_, self.var_, self.class_prior_))
        wide = variances.astype(np.float64)
        with np.errstate(divide="ignore"):
            offsets = np.log(priors.astype(np.float64)) - 0.5 * np.sum(np.log(2.0 * math.pi * wide), axis=1)
        # A class without rows has prior zero, and any variance.
        return GaussianScores(means, np.where(wide > 0, wide, 1.0), np.where(priors > 0, offsets, -np.inf))


def _mean_log_likelihood(state: GaussianColumns) -> float:
    """Return the mean log-likelihood of rows and labels.

    The squares of a class about its mean sum to its scatter, so that the rows are not needed again.
    """
    sums, present = state.sums, state.sums.weights > 0
    weights, variances = sums.weights[present, None], state.variances[present]
    total = np.sum(weights * np.log(2.0 * math.pi * variances) + sums.scatter[present] / variances)
    # xlogy: a class of weight zero and prior zero adds zero, not NaN.
    return (float(xlogy(sums.weights, state.priors).sum()) - 0.5 * float(total)) / sums.weight
