"""Rules on the scores of single columns: the best, a share of them, and bounds on false discoveries."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.parameter import Choice, Integer, Real, parameter
from mercer._types import Array
from mercer.feature_selection._univariate import UnivariateSelector


class SelectKBest(UnivariateSelector):
    """Keep the k columns of highest scores.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The score of each column.
    pvalues_ : ndarray of shape (n_features,) or None
        The p-value of each score, where the function gives any.

    See Also
    --------
    SelectPercentile : A share of the columns.
    SelectFdr : A bound on the share of false discoveries.

    Notes
    -----
    One pass with O(d) memory, O(k d) for k classes. Sums are centred block by block, so that columns far from zero keep
    their digits. Of equal scores the later columns are kept, as in scikit-learn; NaN is the lowest score.

    Examples
    --------
    >>> from mercer.feature_selection import SelectKBest
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = SelectKBest(k=2).fit(X, y)
    >>> selector.get_support().tolist(), selector.scores_.round(1).tolist()
    ([False, False, True, True], [119.3, 49.2, 1180.2, 960.0])
    """

    k: Any = parameter(Integer(0) | Choice("all"), default=10, doc='How many columns are kept; "all" keeps them all.')

    def _check_scores(self, width: int) -> None:
        warn_of_few(type(self).__name__, self.k, width)

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return keep_best(self.scores_, self.k)


class SelectPercentile(UnivariateSelector):
    """Keep a share of the columns, those of highest scores.

    Attributes
    ----------
    scores_, pvalues_
        As :class:`SelectKBest` has them.

    See Also
    --------
    SelectKBest : A number of columns.

    Notes
    -----
    As for :class:`SelectKBest`; of equal scores the earlier columns are kept, as in scikit-learn.

    Examples
    --------
    >>> from mercer.feature_selection import SelectPercentile
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> SelectPercentile(percentile=25).fit(X, y).get_support(indices=True).tolist()
    [2]
    """

    percentile: float = parameter(Real(0, 100), default=10, doc="The share of the columns that is kept, in percent.")

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return keep_share(self.scores_, self.percentile)


class SelectFpr(UnivariateSelector):
    """Keep the columns whose p-value is below a level: of columns without effect that share is kept.

    Attributes
    ----------
    scores_, pvalues_
        As :class:`SelectKBest` has them.

    See Also
    --------
    SelectFdr : A bound on the share of false discoveries among those kept.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.feature_selection import SelectFpr
    >>> rows = np.random.default_rng(0).normal(size=(300, 1000))
    >>> int(SelectFpr(alpha=0.05).fit(rows, np.arange(300) % 2).get_support().sum())
    55
    """

    alpha: float = parameter(Real(0, 1), default=0.05, doc="The level: p-values below it are kept.")

    def _get_support_mask(self) -> Array:
        return self._p_values() < self.alpha


class SelectFdr(UnivariateSelector):
    r"""Keep columns so that the share of false discoveries among them is bounded (Benjamini and Hochberg).

    The columns of p-values up to the largest :math:`p_{(i)} \le \alpha i / d`, of the sorted ones, are kept.

    Attributes
    ----------
    scores_, pvalues_
        As :class:`SelectKBest` has them.

    See Also
    --------
    SelectFwe : A bound on the chance of any false discovery.

    References
    ----------
    .. [1] Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical
       Society B 57, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.feature_selection import SelectFdr
    >>> rows = np.random.default_rng(0).normal(size=(300, 1000))
    >>> rows[:, :5] += np.arange(300)[:, None] % 2
    >>> SelectFdr(alpha=0.05).fit(rows, np.arange(300) % 2).get_support(indices=True).tolist()
    [0, 1, 2, 3, 4]
    """

    alpha: float = parameter(Real(0, 1), default=0.05, doc="The bound on the expected share of false discoveries.")

    def _get_support_mask(self) -> Array:
        return keep_discoveries(self._p_values(), self.alpha)


class SelectFwe(UnivariateSelector):
    """Keep columns so that the chance of any false discovery is bounded: p-values below the level over their number.

    Attributes
    ----------
    scores_, pvalues_
        As :class:`SelectKBest` has them.

    See Also
    --------
    SelectFpr : A level for each column by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.feature_selection import SelectFwe
    >>> rows = np.random.default_rng(0).normal(size=(300, 1000))
    >>> int(SelectFwe(alpha=0.05).fit(rows, np.arange(300) % 2).get_support().sum())
    0
    """

    alpha: float = parameter(Real(0, 1), default=0.05, doc="The bound on the chance of any false discovery.")

    def _get_support_mask(self) -> Array:
        p_values = self._p_values()
        return p_values < self.alpha / len(p_values)


class GenericUnivariateSelect(UnivariateSelector):
    """Keep columns by their scores, by a rule that is a parameter.

    Attributes
    ----------
    scores_, pvalues_
        As :class:`SelectKBest` has them.

    See Also
    --------
    SelectKBest : One of the rules.

    Examples
    --------
    >>> from mercer.feature_selection import GenericUnivariateSelect
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> GenericUnivariateSelect(mode="k_best", param=3).fit(X, y).get_support(indices=True).tolist()
    [0, 2, 3]
    """

    mode: str = parameter(
        Choice("percentile", "k_best", "fpr", "fdr", "fwe"),
        default="percentile",
        doc="The rule: those of SelectPercentile, SelectKBest, SelectFpr, SelectFdr and SelectFwe.",
    )
    param: Any = parameter(
        Real(0) | Choice("all"), default=1e-5, doc="The parameter of the rule: percentile, k or alpha."
    )

    def _check_scores(self, width: int) -> None:
        if self.mode == "k_best":
            warn_of_few(type(self).__name__, self.param, width)

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        if self.mode == "percentile":
            return keep_share(self.scores_, self.param)
        if self.mode == "k_best":
            return keep_best(self.scores_, self.param)
        p_values = self._p_values()
        if self.mode == "fdr":
            return keep_discoveries(p_values, self.param)
        return p_values < (self.param if self.mode == "fpr" else self.param / len(p_values))


def warn_of_few(subject: str, k: Any, width: int) -> None:
    """Warn if more columns are asked for than there are."""
    if not isinstance(k, str) and k > width:
        warnings.warn(
            f"{subject}: k={k} is greater than n_features={width}. All the features will be returned.",
            UserWarning,
            stacklevel=5,
        )


def _order(scores: Array) -> Array:
    """Return scores in which NaN is the lowest."""
    return np.where(np.isnan(scores), np.finfo(np.float64).min, scores)


def keep_best(scores: Array, k: Any) -> Array:
    """Return which scores are among the k best; of equal ones the later are."""
    kept = np.zeros(len(scores), bool)
    number = len(scores) if isinstance(k, str) else min(int(k), len(scores))
    kept[np.argsort(_order(scores), kind="stable")[len(scores) - number :]] = True
    return kept


def keep_share(scores: Array, percentile: float) -> Array:
    """Return which scores are above a percentile; of those equal to it, the first as far as the share allows."""
    if percentile in (0, 100):
        return np.full(len(scores), percentile == 100)
    scores = _order(scores)
    bound = np.percentile(scores, 100 - percentile)
    kept = scores > bound
    more = int(len(scores) * percentile / 100) - int(kept.sum())
    kept[np.flatnonzero(scores == bound)[:more]] = True
    return kept


def keep_discoveries(p_values: Array, alpha: float) -> Array:
    """Return which p-values are at most the largest that Benjamini and Hochberg's line admits."""
    ordered = np.sort(p_values)
    admitted = ordered[ordered <= alpha / len(ordered) * np.arange(1, len(ordered) + 1)]
    return p_values <= (admitted.max() if len(admitted) else -1.0)
