"""Bagging: members fitted to bootstrap samples, parts of the rows, or random subspaces, and their mean."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._base import fitting
from mercer._base.validation import check_labels
from mercer.ensemble._committee.bagging_model import BaggingModel
from mercer.ensemble._reweighting.weak_learner import predict_shares
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["BaggingClassifier", "BaggingRegressor"]

_PARAMETERS = """Parameters
    ----------
    estimator : an object with a method fit or None, default=None
        What members are copies of; None means a decision tree of mercer.
    n_estimators : an integer in [1, inf), default=10
        Number of members.
    max_samples : an integer in [1, inf) or a number in (0, 1] or None, default=None
        Rows drawn for each member: how many, or which share (of the total weight where weights are given); None draws
        as many as there are.
    max_features : an integer in [1, inf) or a number in (0, 1], default=1.0
        Columns drawn for each member: the random subspace method.
    bootstrap : a boolean, default=True
        Whether rows are drawn with replacement.
    bootstrap_features : a boolean, default=False
        Whether columns are drawn with replacement.
    oob_score : a boolean, default=False
        Whether rows are judged by the members that did not see them.
    warm_start : a boolean, default=False
        Whether a further fit adds members up to ``n_estimators``.
    n_jobs : an integer in (-inf, inf) or None, default=None
        Threads over members; None means all cores. Changes no result.
    random_state : None, a non-negative integer, a numpy RandomState or a numpy Generator, default=None
        The seed; each member has a stream of its own.
    verbose : an integer in [0, inf) or a boolean, default=0
        Whether to print a line for each eight members.
    partition : a boolean, default=False
        Whether the rows are dealt out to the members instead, each to one: for tables too large for one member.
    max_time : a number in [0, inf) or None, default=None
        Seconds after which to stop with the members at hand.
    """


class BaggingClassifier(ClassifierMixin, BaggingModel):
    r"""Bagging of classifiers: the mean of members fitted to bootstrap samples.

    Each of M members is fitted to rows drawn with replacement; the answer is the class of the largest mean probability,
    or of most votes where members give no probabilities. With members of variance :math:`s^2` and correlation
    :math:`\rho` the mean has the variance :math:`\rho s^2 + (1 - \rho) s^2 / M`, see :func:`variance_of_average`.

    %s
    Attributes
    ----------
    estimator_ : estimator
        What members are copies of.
    estimators_ : list of estimators
        The members; they are fitted to the numbers of the classes.
    estimators_samples_, estimators_features_ : list of ndarray
        The rows and the columns that each member was fitted to.
    classes_, n_classes_ : ndarray of shape (n_classes,), int
        The labels, and how many there are.
    oob_score_, oob_decision_function_ : float, ndarray of shape (n_samples, n_classes)
        Accuracy and mean probabilities from the members that did not see a row; NaN where all did.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.
    history_, converged_, n_iter_, certificate_ :
        A step for each eight members, whose objective is their number. There is no certificate.

    Notes
    -----
    A bootstrap sample leaves out a share :math:`(1 - 1/n)^n \approx 0.368` of the rows. Members that take weights are
    given the counts of rows, so that no rows are copied. ``sample_weight`` sets the probabilities of the draws. Rows
    must be in memory.

    References
    ----------
    L. Breiman, *Bagging predictors*, 1996; *Pasting small votes for classification in large databases*, 1999. T. K.
    Ho, *The random subspace method for constructing decision forests*, 1998.

    Examples
    --------
    >>> from mercer.ensemble import BaggingClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BaggingClassifier(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.94
    True
    """

    __doc__ = (__doc__ or "") % _PARAMETERS

    def _default(self) -> Any:
        return DecisionTreeClassifier()

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> "BaggingClassifier":
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights: rows are drawn in their proportion.
        **fit_params : dict
            Metadata for the members' ``fit``, through scikit-learn's routing.

        Returns
        -------
        self : BaggingClassifier
        """
        outcome = self._fit_bags(X, y, sample_weight, fit_params, numbers=False)
        self._conclude(outcome)
        return self

    def _targets(self, y: np.ndarray) -> np.ndarray:
        y = column_or_1d(y, warn=True)
        check_labels(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.n_classes_ = len(self.classes_)
        return codes

    def predict_proba(self, X: Any, **params: Any) -> np.ndarray:
        """The mean of the members' probabilities, or shares of their votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        **params : dict
            Metadata for the members, through scikit-learn\'s routing.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._mean_shares(X, "predict_proba", params)

    def _mean_shares(self, X: Any, name: str, params: dict[str, Any]) -> np.ndarray:
        check_is_fitted(self)
        given = self._routed(name, params)
        total = self._sum_over_members(X, lambda member, rows: self._shares(member, rows, given))
        return _like(X, total / len(self.estimators_))

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """The class of the largest mean probability; the first among equals.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        **params : dict
            Metadata for the members, through scikit-learn\'s routing.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        shares = self._mean_shares(X, "predict", params)
        return self.classes_[shares.argmax(axis=1)]

    def predict_log_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        **params : dict
            Metadata for the members, through scikit-learn\'s routing.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self._mean_shares(X, "predict_log_proba", params))

    @available_if(
        lambda self: hasattr(self._default() if self.estimator is None else self.estimator, "decision_function")
    )
    def decision_function(self, X: Any, **params: Any) -> np.ndarray:
        """The mean of the members' scores; there where they have them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        **params : dict
            Metadata for the members, through scikit-learn\'s routing.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, k)
        """
        check_is_fitted(self)
        given = self._routed("decision_function", params)
        total = self._sum_over_members(X, lambda member, rows: np.asarray(member.decision_function(rows, **given)))
        return total / len(self.estimators_)

    def _shares(self, member: Any, rows: Any, params: dict[str, Any]) -> np.ndarray:
        codes = np.arange(self.n_classes_)
        if hasattr(member, "predict_proba"):
            return predict_shares(member, rows, codes, params)
        return (np.asarray(member.predict(rows, **params))[:, None] == codes).astype(np.float64)

    def _judge_left_out(self, rows: Any, y: np.ndarray) -> None:
        total = np.zeros((len(y), self.n_classes_))
        for number, member in enumerate(self.estimators_):
            left_out = np.setdiff1d(np.arange(len(y)), self._draws.rows(number))
            if len(left_out):
                total[left_out] += self._shares(member, self._columns(rows[left_out], number), {})
        judged = total.sum(axis=1)
        _warn_unjudged(judged)
        with np.errstate(invalid="ignore"):
            self.oob_decision_function_ = total / judged[:, None]
        self.oob_score_ = float(accuracy_score(y, total.argmax(axis=1)))


class BaggingRegressor(RegressorMixin, BaggingModel):
    r"""Bagging of regressors: the mean of members fitted to bootstrap samples.

    Each of M members is fitted to rows drawn with replacement, and the answer is the mean of theirs. With members of
    variance :math:`s^2` and correlation :math:`\rho` it has the variance :math:`\rho s^2 + (1 - \rho) s^2 / M`.

    %s
    Attributes
    ----------
    estimator_ : estimator
        What members are copies of.
    estimators_ : list of estimators
        The members.
    estimators_samples_, estimators_features_ : list of ndarray
        The rows and the columns that each member was fitted to.
    oob_score_, oob_prediction_ : float, ndarray of shape (n_samples,)
        Coefficient of determination and mean predictions from the members that did not see a row; zero where all did.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.
    history_, converged_, n_iter_, certificate_ :
        A step for each eight members, whose objective is their number. There is no certificate.

    Notes
    -----
    As :class:`BaggingClassifier`. Targets may have several columns.

    References
    ----------
    L. Breiman, *Bagging predictors*, Machine Learning 24 (1996).

    Examples
    --------
    >>> from mercer.ensemble import BaggingRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggingRegressor(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.35
    True
    """

    __doc__ = (__doc__ or "") % _PARAMETERS

    def _default(self) -> Any:
        return DecisionTreeRegressor()

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> "BaggingRegressor":
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights: rows are drawn in their proportion.
        **fit_params : dict
            Metadata for the members' ``fit``, through scikit-learn's routing.

        Returns
        -------
        self : BaggingRegressor
        """
        outcome = self._fit_bags(X, y, sample_weight, fit_params, numbers=True)
        self._conclude(outcome)
        return self

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return column_or_1d(y, warn=True) if y.ndim == 1 or y.shape[1] == 1 else y

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """The mean of the members' predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        **params : dict
            Metadata for the members, through scikit-learn\'s routing.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        check_is_fitted(self)
        given = self._routed("predict", params)
        total = self._sum_over_members(
            X, lambda member, rows: np.asarray(member.predict(rows, **given), dtype=np.float64)
        )
        return _like(X, total / len(self.estimators_))

    def _judge_left_out(self, rows: Any, y: np.ndarray) -> None:
        total, judged = np.zeros(y.shape), np.zeros(len(y))
        for number, member in enumerate(self.estimators_):
            left_out = np.setdiff1d(np.arange(len(y)), self._draws.rows(number))
            if len(left_out):
                total[left_out] += member.predict(self._columns(rows[left_out], number))
                judged[left_out] += 1
        _warn_unjudged(judged)
        count = np.maximum(judged, 1)
        self.oob_prediction_ = total / (count if y.ndim == 1 else count[:, None])
        self.oob_score_ = float(r2_score(y, self.oob_prediction_))


def _like(X: Any, answer: np.ndarray) -> np.ndarray:
    return answer.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else answer


def _warn_unjudged(judged: np.ndarray) -> None:
    if (judged == 0).any():
        message = (
            "Some inputs do not have OOB scores. This probably means too few estimators were used to compute any "
            "reliable oob estimates."
        )
        warnings.warn(message, UserWarning, stacklevel=6)
