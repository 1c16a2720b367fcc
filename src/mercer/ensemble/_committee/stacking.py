"""Stacking of classifiers and of regressors: one more is fitted to their predictions of rows that they did not see."""

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from mercer._base.parameter import Choice, parameter
from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._base.validation import check_labels, flatten_targets, name_targets
from mercer._source import Source
from mercer.ensemble._committee.stacking_model import StackingModel, final_has
from mercer.errors import ModelFileError
from mercer.linear_model import LogisticRegression, RidgeCV


class StackingClassifier(ClassifierMixin, StackingModel):
    r"""Stacking of classifiers: one more classifier is fitted to the predictions of the others.

    Members :math:`h_1, \ldots, h_M` are fitted to all rows. The final classifier is fitted to the rows
    :math:`z_i = (h_1^{(-i)}(x_i), \ldots, h_M^{(-i)}(x_i))`, where :math:`h^{(-i)}` was fitted without the fold that
    row i is in. So it learns how reliable the members are on new rows.

    Attributes
    ----------
    estimators_ : list of estimators
        The members, fitted to all rows and to the indices of the classes.
    named_estimators_ : Bunch
        The fitted members by their names.
    final_estimator_ : classifier
        The final estimator, fitted.
    stack_method_ : list of str
        The method whose output stands for each member.
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        The labels; those of each column where targets are indicators of several labels.
    n_features_in_, feature_names_in_ :
        As in the first member.
    history_, converged_, n_iter_, certificate_ :
        A step for each member and one for the final estimator; the objective counts them. There is no certificate.

    Notes
    -----
    Costs k + 1 fits of each member for k folds; as many members are fitted at a time as there are threads. Of the
    probabilities of two classes only the second is kept. Rows are in memory, and a fold is a copy of its rows.

    References
    ----------
    D. H. Wolpert, *Stacked generalization*, Neural Networks 5 (1992).

    Examples
    --------
    >>> from mercer.ensemble import StackingClassifier
    >>> from mercer.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from mercer.tree import DecisionTreeClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> members = [("lda", LinearDiscriminantAnalysis()), ("tree", DecisionTreeClassifier(max_depth=3))]
    >>> model = StackingClassifier(members).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:]) >= model.named_estimators_.tree.score(X[400:], y[400:])
    True
    """

    stack_method: str = parameter(
        Choice("auto", "predict_proba", "decision_function", "predict"),
        default="auto",
        after="cv",
        doc='The method whose output stands for a member; ``"auto"`` takes the first of the others that a member has.',
    )

    _documents = {
        "estimators": (
            'Pairs of a name and a classifier, or a regressor for the indices of ordered classes; ``"drop"`` in its '
            "place leaves one out."
        ),
        "final_estimator": "The classifier over the members; None means mercer's logistic regression.",
    }

    # A regressor may predict the indices of ordered classes.
    _member_kind = None
    _final_kind = "classifier"
    _depends_on_units = ("columns",)

    def _choose_final(self) -> Any:
        return LogisticRegression() if self.final_estimator is None else self.final_estimator

    def _encode_targets(self, y: Any) -> tuple[np.ndarray, dict[str, Any]]:
        check_labels(y)
        if name_targets(y) != "multilabel-indicator":
            classes, indices = np.unique(flatten_targets(y), return_inverse=True)
            return indices, {"classes_": classes}
        columns = [np.unique(column, return_inverse=True) for column in np.asarray(y).T]
        return np.column_stack([indices for _, indices in columns]), {"classes_": [classes for classes, _ in columns]}

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        return _decode(source.y, given["classes_"])

    def _check_structure(self) -> None:
        super()._check_structure()
        codes: Any = getattr(vars(self).get("final_estimator_"), "classes_", None)
        classes: Any = vars(self).get("classes_")
        if not isinstance(codes, np.ndarray) or not isinstance(classes, np.ndarray):
            return
        # The final estimator predicts indices into the classes.
        if not np.array_equal(codes, np.arange(len(classes))):
            raise ModelFileError(
                f"StackingClassifier.final_estimator_ must predict {len(classes)} indices; the file's does not."
            )

    @available_if(final_has("predict"))
    def predict(self, X: Any, **predict_params: Any) -> np.ndarray:
        """Return the labels that the final estimator predicts.

        Parameters
        ----------
        **predict_params : dict
            For the final estimator's ``predict``; through scikit-learn's routing where that is on.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
        """
        return _decode(self._predict_final(X, predict_params), self.classes_)

    @available_if(final_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the final estimator, where it has them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_labels)
            For indicators, the probability of each label.
        """
        shares = self._call_final("predict_proba", X)
        return np.column_stack([label[:, -1] for label in shares]) if isinstance(shares, list) else shares

    @available_if(final_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of the final estimator, where it has them.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, k)
        """
        return self._call_final("decision_function", X)


def _decode(indices: np.ndarray, classes: Any) -> np.ndarray:
    """Return the labels with these indices; column by column for several labels."""
    if not isinstance(classes, list):
        return classes[indices]
    return np.column_stack([labels[column] for labels, column in zip(classes, np.asarray(indices).T, strict=True)])


class StackingRegressor(RegressorMixin, StackingModel):
    r"""Stacking of regressors: one more regressor is fitted to the predictions of the others.

    Members :math:`f_1, \ldots, f_M` are fitted to all rows. The final regressor is fitted to the rows
    :math:`z_i = (f_1^{(-i)}(x_i), \ldots, f_M^{(-i)}(x_i))`, where :math:`f^{(-i)}` was fitted without the fold that
    row i is in.

    Attributes
    ----------
    estimators_ : list of regressors
        The members, fitted to all rows.
    named_estimators_ : Bunch
        The fitted members by their names.
    final_estimator_ : regressor
        The final estimator, fitted.
    stack_method_ : list of str
        ``"predict"`` for each member.
    n_features_in_, feature_names_in_ :
        As in the first member.
    history_, converged_, n_iter_, certificate_ :
        A step for each member and one for the final estimator; the objective counts them. There is no certificate.

    Notes
    -----
    Costs k + 1 fits of each member for k folds; as many members are fitted at a time as there are threads. Rows are in
    memory, and a fold is a copy of its rows.

    References
    ----------
    L. Breiman, *Stacked regressions*, Machine Learning 24 (1996).

    Examples
    --------
    >>> from mercer.ensemble import StackingRegressor
    >>> from mercer.linear_model import Ridge
    >>> from mercer.tree import DecisionTreeRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [("ridge", Ridge(alpha=0.1)), ("tree", DecisionTreeRegressor(max_depth=3, random_state=0))]
    >>> model = StackingRegressor(members).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > 0.4
    True
    """

    _documents = {
        "final_estimator": (
            "The regressor over the members; None means mercer's ridge regression with a penalty by cross-validation."
        ),
    }

    _member_kind = "regressor"
    _final_kind = "regressor"
    _depends_on_units = ("columns", "scale", "target")

    def _choose_final(self) -> Any:
        return RidgeCV() if self.final_estimator is None else self.final_estimator

    def _encode_targets(self, y: Any) -> tuple[np.ndarray, dict[str, Any]]:
        return column_or_1d(y, warn=True), {}

    @available_if(final_has("predict"))
    def predict(self, X: Any, **predict_params: Any) -> Any:
        """Return the predictions of the final estimator.

        Parameters
        ----------
        **predict_params : dict
            For the final estimator's ``predict``; through scikit-learn's routing where that is on.
        """
        return self._predict_final(X, predict_params)
