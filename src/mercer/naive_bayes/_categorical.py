"""Naive Bayes with categories in columns."""

from typing import Any, ClassVar

import numpy as np

from mercer._base import Estimator
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Integer, Nothing, Real, parameter
from mercer._base.priors import class_priors
from mercer._source import Source
from mercer._source.memory import count_allowed_bytes
from mercer._statistic import Statistic
from mercer._stored import Stored, floats, integers, members, part
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.naive_bayes._class_totals import CategoryCounts, ClassTotalSums
from mercer.naive_bayes._discrete import DiscreteNB, SmoothedCounts, times
from mercer.naive_bayes._scores import CategoryScores

# Categories of a column at most: float32 rows tell whole numbers apart up to here.
_MOST = 2**24


class CategoricalNB(DiscreteNB):
    """Naive Bayes with categories in columns.

    Within class k column j has category c with probability q_kjc, independently of the others, so that by Bayes' rule
    a row belongs to the class of largest

        log P_k + sum_j log q_kj(x_j)

    with q_kjc = (N_kjc + alpha) / (N_k + alpha m_j), N_kjc of the N_k rows of class k having category c of the m_j
    categories of column j: the mean of a Dirichlet posterior.

    Attributes
    ----------
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Weight of the rows of each class, and the logarithm of its prior.
    category_count_ : list of ndarray of shape (n_classes, n_categories of the column)
        N_kjc, column by column.
    feature_log_prob_ : list of ndarray of shape (n_classes, n_categories of the column)
        log q_kjc, column by column.
    n_categories_ : ndarray of shape (n_features,)
        m_j.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    history_, converged_, n_iter_, certificate_
        How the fit went: one step, whose objective is the mean log-likelihood of rows and labels.

    Notes
    -----
    Columns hold whole numbers from 0 on, as scikit-learn's OrdinalEncoder makes them; anything else is an error, as is
    a category in a prediction that no row of the fit had. One pass, one addition a number, O(k d m) memory for m
    categories. Rows: NumPy, frames, files, streams (also such as can be read only once), Dask, devices.
    :meth:`from_parameters` makes the classifier of known probabilities.

    References
    ----------
    K. P. Murphy, Machine learning: a probabilistic perspective, 2012, section 3.5.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.naive_bayes import CategoricalNB
    >>> X = np.array([[0, 2], [0, 1], [1, 1], [1, 0]])
    >>> model = CategoricalNB().fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict_proba([[1, 2]]).round(2)
    array([[0.4, 0.6]])
    """

    alpha: float = parameter(Real(0), default=1.0, doc="Pseudo-count of each category.")
    min_categories: Any = parameter(
        Integer(1) | ArrayRule("entries") | Nothing(),  # _sizes says what shape and type it must have
        default=None,
        after="class_prior",
        doc="How many categories a column has at least, or each column; None means as many as the rows have.",
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "class_count_": floats("classes"),
        "class_log_prior_": floats("classes"),
        "n_categories_": integers("columns", low=1),
        "category_count_": members(floats("classes, *"), "columns"),
        "feature_log_prob_": members(floats("classes, *"), "columns"),
        "_scores": part("CategoryScores"),
    }
    _takes_sparse = False
    _check_exceptions: ClassVar[dict[str, str]] = Estimator._check_exceptions | dict.fromkeys(
        ("check_sample_weight_equivalence_on_dense_data", "check_classifiers_one_label_sample_weights"),
        "the check gives fractions for categories, which are an error and not cut off",
    )

    @classmethod
    def from_parameters(cls, probabilities: Any, priors: Any, classes: Any = None) -> "CategoricalNB":
        """Return the optimal classifier of known independent categories.

        Parameters
        ----------
        probabilities : list of array-like of shape (n_classes, n_categories of the column)
            Of each category in each class, column by column.
        priors : array-like of shape (n_classes,)
            Prior probabilities.
        classes : array-like of shape (n_classes,) or None, default=None
            Labels in rising order; None means numbers from 0 on.

        Returns
        -------
        CategoricalNB
            As if fitted.
        """
        columns = [np.asarray(table, dtype=np.float64) for table in probabilities]
        model = cls(class_prior=priors)
        k, model.n_features_in_ = len(columns[0]), len(columns)
        model.classes_ = np.arange(k) if classes is None else np.asarray(classes)
        # A probability of zero is allowed; its logarithm, minus infinity, excludes the class.
        with np.errstate(divide="ignore"):
            model.class_log_prior_ = np.log(class_priors(cls.__name__, priors, np.ones(k), exact=True))
            model.feature_log_prob_ = [np.log(table) for table in columns]
        model.n_categories_ = np.array([table.shape[1] for table in columns])
        model._scores = _tabulate(model.feature_log_prob_, model.n_categories_, model.class_log_prior_)
        return model

    def _sum_rows(self, source: Source, additive: bool) -> Statistic:
        return CategoryCounts(min(_MOST, max(2, count_allowed_bytes() // (16 * source.n_features))))

    def _refuse(self, least: float) -> None:
        if least == -1.0:
            super()._refuse(least)
        what = "a category too large to be counted" if least == -np.inf else "a fraction"
        raise DataError(
            f"CategoricalNB: columns must hold categories numbered by whole numbers from 0 on; got {what}. Number them "
            f"with scikit-learn's OrdinalEncoder."
        )

    def _sizes(self, totals: Array) -> Array:
        """Return the number of categories of each column: those in the rows, at least ``min_categories``."""
        # The last category with weight, found from the end, decides the length.
        met = totals.sum(axis=0) > 0
        # One more than the largest category met.
        sizes = np.maximum(met.shape[1] - np.argmax(met[:, ::-1], axis=1), 1)
        if self.min_categories is None:
            return sizes
        try:
            least = np.array(self.min_categories)
        except ValueError:
            raise ParameterError(
                f"CategoricalNB: 'min_categories' should have shape ({len(sizes)},) when an array-like is provided. "
                f"Got lists of different lengths. Give one number for each column."
            ) from None
        if not np.issubdtype(least.dtype, np.signedinteger):
            raise ParameterError(
                f"CategoricalNB: 'min_categories' should have integral type. Got {least.dtype} instead."
            )
        if least.ndim and least.shape != sizes.shape:
            raise ParameterError(
                f"CategoricalNB: 'min_categories' should have shape ({len(sizes)},) when an array-like is provided. "
                f"Got {least.shape} instead."
            )
        return np.maximum(sizes, least)

    def _counts(self, sums: ClassTotalSums) -> list[Array]:
        """Return counts by category, column by column, each as long as its column has categories."""
        sizes = self._sizes(sums.totals)
        longest = max(int(sizes.max()), sums.totals.shape[2])
        totals = np.zeros((*sums.totals.shape[:2], longest))
        totals[:, :, : sums.totals.shape[2]] = sums.totals
        return [totals[:, j, :size].copy() for j, size in enumerate(sizes)]

    def _log_probabilities(self, sums: ClassTotalSums, alpha: Any) -> list[Array]:
        smoothed = [counts + alpha for counts in self._counts(sums)]
        with np.errstate(divide="ignore", invalid="ignore"):
            return [np.log(counts) - np.log(counts.sum(axis=1, keepdims=True)) for counts in smoothed]

    def _log_likelihood(self, state: SmoothedCounts) -> float:
        return sum(map(times, self._counts(state.sums), state.log_probabilities))

    def _attributes_of(self, state: SmoothedCounts, dtype: str) -> dict[str, Any]:
        logarithms = [column.astype(dtype) for column in state.log_probabilities]
        prior, sizes = state.log_prior.astype(dtype), self._sizes(state.sums.totals)
        return self._list_class_attributes(state.sums, dtype) | {
            "class_count_": state.sums.weights,
            "class_log_prior_": prior,
            "category_count_": self._counts(state.sums),
            "feature_log_prob_": logarithms,
            "n_categories_": sizes,
            # Kept, so that one row is scored in microseconds.
            "_scores": _tabulate(logarithms, sizes, prior),
        }

    def _scorer(self) -> CategoryScores:
        return self._scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def _tabulate(columns: list[Array], sizes: Array, prior: Array) -> CategoryScores:
    """Return the columns' tables side by side, (k, d, m); what is beyond a column's end is never looked up."""
    table = np.zeros((len(columns[0]), len(columns), max(column.shape[1] for column in columns)))
    for j, column in enumerate(columns):
        table[:, j, : column.shape[1]] = column
    return CategoryScores(table, sizes, prior.astype(np.float64))
