"""Bagging: members fitted to bootstrap samples, parts of the rows, or random subspaces, and their mean."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._base.validation import check_labels, flatten_targets
from mercer._base.wrapping import take_rows
from mercer._stored import Stored, floats, size
from mercer.ensemble._committee.bagging_model import BaggingModel
from mercer.ensemble._reweighting.weak_learner import predict_shares
from mercer.tree import DecisionTreeClassifier, DecisionTreeRegressor


class BaggingClassifier(ClassifierMixin, BaggingModel):
    r"""Bagging of classifiers: the mean of members fitted to bootstrap samples.

    Each of M members is fitted to rows drawn with replacement; predicted is the class of the largest mean probability,
    or of most votes where members give no probabilities. With members of variance :math:`s^2` and correlation
    :math:`\rho` the mean has the variance :math:`\rho s^2 + (1 - \rho) s^2 / M`, see :func:`variance_of_average`.

    Attributes
    ----------
    estimator_ : estimator
        The estimator whose copies are the members.
    estimators_ : list of estimators
        The members; they are fitted to the indices of the classes.
    estimators_samples_, estimators_features_ : list of ndarray
        The rows and the columns that each member was fitted to.
    classes_, n_classes_ : ndarray of shape (n_classes,), int
        The labels, and their number.
    oob_score_, oob_decision_function_ : float, ndarray of shape (n_samples, n_classes)
        Accuracy and mean probabilities from the members that did not see a row; NaN where all did.
    history_, converged_, n_iter_, certificate_ :
        A step for every eight members; the objective is the number of members. There is no certificate.

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

    _numeric_targets = False

    _stored: ClassVar[dict[str, Stored]] = {
        "n_classes_": size("classes"),
        "oob_decision_function_": floats("rows, classes"),
        "oob_score_": floats(),
    }

    def _choose_base(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _encode_targets(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        y = flatten_targets(y)
        check_labels(y)
        classes, indices = np.unique(y, return_inverse=True)
        return indices, {"classes_": classes, "n_classes_": len(classes)}

    def predict_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Return the mean of the members' probabilities, or the shares of their votes.

        Parameters
        ----------
        **params : dict
            Metadata for the members, through scikit-learn's routing.
        """
        return self._average_shares(X, "predict_proba", params)

    def _average_shares(self, X: Any, name: str, params: dict[str, Any]) -> np.ndarray:
        """Return the mean of the members' class shares (n, classes); `name` is the method that was called."""
        check_is_fitted(self)
        params = self._route(name, params)
        total = self._sum_members(X, lambda member, rows: self._predict_shares(member, rows, params))
        return _cast_as_rows(X, total / len(self.estimators_))

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """Return the class of the largest mean probability; the first of equal ones.

        Parameters
        ----------
        **params : dict
            Metadata for the members, through scikit-learn's routing.
        """
        shares = self._average_shares(X, "predict", params)
        return self.classes_[shares.argmax(axis=1)]

    def predict_log_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Return the logarithms of :meth:`predict_proba`, which takes the same arguments."""
        with np.errstate(divide="ignore"):
            return np.log(self._average_shares(X, "predict_log_proba", params))

    @available_if(lambda self: hasattr(self._choose_base(), "decision_function"))
    def decision_function(self, X: Any, **params: Any) -> np.ndarray:
        """Return the mean of the members' scores, where they have such a method.

        Parameters
        ----------
        **params : dict
            Metadata for the members, through scikit-learn's routing.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, k)
        """
        check_is_fitted(self)
        params = self._route("decision_function", params)
        total = self._sum_members(X, lambda member, rows: np.asarray(member.decision_function(rows, **params)))
        return total / len(self.estimators_)

    def _predict_shares(self, member: Any, rows: Any, params: dict[str, Any]) -> np.ndarray:
        """Return the class shares (n, classes) of one member: its probabilities, or 1 for the class it predicts."""
        indices = np.arange(self.n_classes_)
        if hasattr(member, "predict_proba"):
            return predict_shares(member, rows, indices, params)
        return (np.asarray(member.predict(rows, **params))[:, None] == indices).astype(np.float64)

    def _score_left_out(self, rows: Any, y: np.ndarray) -> dict[str, Any]:
        from sklearn.metrics import accuracy_score

        total = np.zeros((len(y), self.n_classes_))
        for member, index, left_out in self._find_left_out(len(y)):
            total[left_out] += self._predict_shares(member, self._take_columns(take_rows(rows, left_out), index), {})
        # A member that votes gives one vote; rows that no member left out have none.
        counts = total.sum(axis=1)
        _warn_of_rows_without_score(counts)
        with np.errstate(invalid="ignore"):
            shares = total / counts[:, None]
        return {"oob_decision_function_": shares, "oob_score_": float(accuracy_score(y, total.argmax(axis=1)))}


class BaggingRegressor(RegressorMixin, BaggingModel):
    r"""Bagging of regressors: the mean of members fitted to bootstrap samples.

    Each of M members is fitted to rows drawn with replacement; the prediction is their mean. With members of
    variance :math:`s^2` and correlation :math:`\rho` it has the variance :math:`\rho s^2 + (1 - \rho) s^2 / M`.

    Attributes
    ----------
    estimator_ : estimator
        The estimator whose copies are the members.
    estimators_ : list of estimators
        The members.
    estimators_samples_, estimators_features_ : list of ndarray
        The rows and the columns that each member was fitted to.
    oob_score_, oob_prediction_ : float, ndarray of shape (n_samples,)
        Coefficient of determination and mean predictions from the members that did not see a row; zero where all did.
    history_, converged_, n_iter_, certificate_ :
        A step for every eight members; the objective is the number of members. There is no certificate.

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

    _numeric_targets = True

    _stored: ClassVar[dict[str, Stored]] = {
        "oob_prediction_": floats("rows | rows, targets"),
        "oob_score_": floats(),
    }

    def _choose_base(self) -> Any:
        return DecisionTreeRegressor() if self.estimator is None else self.estimator

    def _encode_targets(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        return flatten_targets(y) if y.ndim == 1 or y.shape[1] == 1 else y, {}

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """Return the mean of the members' predictions.

        Parameters
        ----------
        **params : dict
            Metadata for the members, through scikit-learn's routing.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        check_is_fitted(self)
        params = self._route("predict", params)
        total = self._sum_members(X, lambda member, rows: np.asarray(member.predict(rows, **params), dtype=np.float64))
        return _cast_as_rows(X, total / len(self.estimators_))

    def _score_left_out(self, rows: Any, y: np.ndarray) -> dict[str, Any]:
        from sklearn.metrics import r2_score

        total, counts = np.zeros(y.shape), np.zeros(len(y))
        for member, index, left_out in self._find_left_out(len(y)):
            total[left_out] += member.predict(self._take_columns(take_rows(rows, left_out), index))
            counts[left_out] += 1
        _warn_of_rows_without_score(counts)
        # Rows without any prediction keep zero; the warning has said so.
        divisor = np.maximum(counts, 1)
        predicted = total / (divisor if y.ndim == 1 else divisor[:, None])
        return {"oob_prediction_": predicted, "oob_score_": float(r2_score(y, predicted))}


def _cast_as_rows(X: Any, predicted: np.ndarray) -> np.ndarray:
    """Return predictions in float32 if the rows are, else as they are."""
    return predicted.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else predicted


def _warn_of_rows_without_score(counts: np.ndarray) -> None:
    """Warn if some rows, with a count of zero, were seen by all members."""
    if (counts == 0).any():
        warnings.warn(
            "Some inputs do not have OOB scores. This probably means too few estimators were used to compute any "
            "reliable oob estimates.",
            UserWarning,
            stacklevel=6,
        )
