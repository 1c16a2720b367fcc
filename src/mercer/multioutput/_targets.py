"""Estimators of one target, copied for each of several."""

from typing import Any, ClassVar, Self

import numpy as np
import sklearn
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from mercer._base import fitting
from mercer._base.copies import CopiesModel
from mercer._base.guard import are_ordinary
from mercer._base.parameter import attribute
from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._base.wrapping import check_wrapped_rows
from mercer._stored import Stored, labels, members
from mercer.errors import DataError


def _all_have(name: str) -> Any:
    """Return the condition under which a model has a method: all copies have it, or what is copied."""

    def check(model: Any) -> bool:
        for copy in vars(model).get("estimators_") or [model.estimator]:
            getattr(copy, name)
        return True

    return check


class TargetsModel(CopiesModel):
    """Copies of one estimator, one for each target."""

    _needs_rows = "it fits its members to rows drawn from all of them"

    # Whether targets are labels.
    _labelled: ClassVar[bool] = False
    # A model that lacks some of its targets answers nothing.
    _all_at_once: ClassVar[bool] = True

    def _fit_targets(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> None:
        """Check the targets, and fit a copy to each of them."""
        routed = self._begin_targets("fit", X, y, sample_weight, params)
        X = check_wrapped_rows(self, self.estimator, X)
        y = self._check_targets(y)
        self._drive_copies(X, y, lambda number: self._fit_copy(X, y[:, number], routed), y.shape[1], {})

    def _begin_targets(self, method: str, X: Any, y: Any, weight: Any, params: dict[str, Any]) -> dict[str, Any]:
        """Return the metadata for a method of the copies; weights reach copies that take them."""
        if sklearn.get_config()["enable_metadata_routing"]:
            given = params if weight is None else params | {"sample_weight": weight}
            self._begin(method, X, y, {})
            return dict(getattr(process_routing(self, method, **given).estimator, method)) if given else {}
        self._begin(method, X, y, {})
        if weight is None:
            return params
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise DataError(
                f"{type(self).__name__}: Underlying estimator does not support sample weights; "
                f"{type(self.estimator).__name__} would drop them. Leave them out."
            )
        return params | {"sample_weight": weight}

    def _check_targets(self, y: Any) -> np.ndarray:
        """Return the targets, a column for each."""
        # Integers skip scikit-learn's inspection, which would give back the same ones, and floats most of it.
        if type(y) is np.ndarray and y.ndim == 2 and y.size:
            kind = y.dtype.kind
            if kind in "iu" or (kind == "f" and not self._labelled and are_ordinary(y)):
                return y
        y = np.asarray(validate_data(self, X="no_validation", y=y, multi_output=True))
        if self._labelled:
            check_classification_targets(y)
        if y.ndim == 1:
            raise DataError(
                f"{type(self).__name__}: y must have at least two dimensions for multi-output regression but has only "
                f"one. Give a column for each target."
            )
        return y

    def predict(self, X: Any) -> np.ndarray:
        """Predict each target by its own copy."""
        check_is_fitted(self)
        if not hasattr(self.estimators_[0], "predict"):
            raise ValueError("The base estimator should implement a predict method. Take another one.")
        return np.stack([copy.predict(X) for copy in self.estimators_], axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags

    def _go_on(self, X: Any, y: Any, classes: Any, weight: Any, params: dict[str, Any]) -> None:
        """Call ``partial_fit`` of each copy."""
        if params and not sklearn.get_config()["enable_metadata_routing"]:
            self._begin("partial_fit", X, y, params)
        routed = self._begin_targets("partial_fit", X, y, weight, params)
        y = self._check_targets(y)
        first = "estimators_" not in vars(self)
        copies = [self._copy_estimator() for _ in range(y.shape[1])] if first else list(self.estimators_)
        for number, copy in enumerate(copies):
            known = {} if classes is None else {"classes": classes[number]}
            copy.partial_fit(X, y[:, number], **known, **routed)
        self.estimators_ = copies
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(copies[0], name):
                setattr(self, name, getattr(copies[0], name))


class MultiOutputRegressor(RegressorMixin, TargetsModel):
    """A regressor of several targets by a copy of a regressor of one for each of them.

    Attributes
    ----------
    estimators_ : list of estimators
        One for each target.
    n_features_in_, feature_names_in_
        As in the first copy.
    history_, converged_, n_iter_, certificate_
        A step for each target; the objective is the number of copies. There is no certificate.

    Notes
    -----
    Costs a fit for each target; they run beside each other on threads, with the same result for any number. Regressors
    of several targets, such as ``Ridge`` and forests, share work between them and are quicker. Rows in memory, as the
    estimator takes them.

    References
    ----------
    H. Borchani, G. Varando, C. Bielza and P. Larranaga, *A survey on multi-output regression*, WIREs Data Mining and
    Knowledge Discovery 5 (2015).

    Examples
    --------
    >>> from mercer.multioutput import MultiOutputRegressor
    >>> from mercer.svm import SVR
    >>> from sklearn.datasets import load_linnerud
    >>> X, y = load_linnerud(return_X_y=True)
    >>> MultiOutputRegressor(SVR()).fit(X, y).predict(X[:2]).shape
    (2, 3)

    See Also
    --------
    MultiOutputClassifier : The same for labels.
    """

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit a copy of the estimator to each target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, if the estimator takes them.
        **fit_params : dict
            Metadata for the ``fit`` of the copies.
        """
        self._fit_targets(X, y, sample_weight, fit_params)
        return self

    @available_if(_all_have("partial_fit"))
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, **partial_fit_params: Any) -> Self:
        """Go on fitting with more rows."""
        self._go_on(X, y, None, sample_weight, partial_fit_params)
        return self


class MultiOutputClassifier(ClassifierMixin, TargetsModel):
    """A classifier of several columns of labels by a copy of a classifier of one for each of them.

    Attributes
    ----------
    estimators_ : list of estimators
        One for each column.
    classes_ : list of ndarray
        The labels of each column.
    n_features_in_, feature_names_in_
        As in the first copy.
    history_, converged_, n_iter_, certificate_
        A step for each column; the objective is the number of copies. There is no certificate.

    Notes
    -----
    Costs a fit for each column; they run beside each other on threads, with the same result for any number. Rows in
    memory, as the estimator takes them.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes and E. Frank, *Classifier chains for multi-label classification*, Machine Learning
    85 (2011), which calls it binary relevance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import LogisticRegression
    >>> from mercer.multioutput import MultiOutputClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> labels = np.stack([y, y == 0], axis=1)
    >>> bool(MultiOutputClassifier(LogisticRegression()).fit(X, labels).score(X, labels) > 0.95)
    True

    See Also
    --------
    MultiOutputRegressor : The same for numbers.
    """

    classes_: Any = attribute()

    _labelled = True
    _stored: ClassVar[dict[str, Stored]] = {"classes_": members(labels("*"))}

    @fitting
    def fit(self, X: Any, Y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit a copy of the estimator to each column of labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        Y : array-like of shape (n_samples, n_outputs)
            Labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights, if the estimator takes them.
        **fit_params : dict
            Metadata for the ``fit`` of the copies.
        """
        self._fit_targets(X, Y, sample_weight, fit_params)
        return self

    def _fitted(self, state: Any) -> dict[str, Any]:
        return super()._fitted(state) | {"classes_": [copy.classes_ for copy in state.members]}

    @available_if(_all_have("partial_fit"))
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, **partial_fit_params: Any
    ) -> Self:
        """Go on fitting with more rows; the first call gives the labels of each column as a list of arrays."""
        self._go_on(X, y, classes, sample_weight, partial_fit_params)
        return self

    @available_if(_all_have("predict_proba"))
    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """Predict the probabilities of the labels of each column: a list with an array for each."""
        check_is_fitted(self)
        return [copy.predict_proba(X) for copy in self.estimators_]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose labels are all right.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples, n_outputs)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        y, outputs = np.asarray(y), len(self.estimators_)
        if y.ndim == 1:
            raise ValueError(
                "y must have at least two dimensions for multi target classification but has only one. Give a column "
                "for each."
            )
        if y.shape[1] != outputs:
            raise ValueError(
                f"The number of outputs of Y for fit {outputs} and score {y.shape[1]} should be same. Give as many."
            )
        return float(np.average((y == self.predict(X)).all(axis=1), weights=sample_weight))
