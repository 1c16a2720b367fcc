"""Recursive elimination: fit, drop the columns that matter least, and fit again."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._base.estimator import fitting
from mercer._base.member_fits import GivenTask
from mercer._base.parameter import Boolean, Integer, Nothing, Real, attribute, parameter
from mercer._plain import plain
from mercer._solver import Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._stored import Stored, flags, integers
from mercer._types import Array
from mercer.feature_selection._wrapped import (
    IMPORTANCE,
    IMPORTANCE_TEXT,
    LARGE,
    NO_BOUND,
    SupportSelector,
    add_kind_tags,
    fit_copy,
    has_method,
    read_importances,
)


@plain
@dataclass(frozen=True)
class Survivors:
    """The columns that are left, the rounds in which others went, and a model of those that are left."""

    support: Any
    ranking: Any
    model: Any


@dataclass(frozen=True, eq=False)
class Elimination:
    """Fits a copy of an estimator, drops `step` columns that matter least, and so on until `wanted` are left."""

    subject: str
    estimator: Any
    X: Any
    y: Any
    params: dict[str, Any]
    getter: Any
    step: int
    wanted: int

    def fit(self, support: Array) -> Any:
        """Return a copy of the estimator, fitted to some columns."""
        rows = self.X if support.all() else self.X[:, np.flatnonzero(support)]
        return fit_copy(self.estimator, rows, self.y, self.params)

    def drop(self, state: Survivors) -> tuple[Array, Array]:
        """Return which columns are left after the next elimination, and the ranking so far."""
        importances = read_importances(self.subject, state.model, self.getter)
        if issparse(importances):
            importances = importances.toarray()
        squares = np.asarray(importances) ** 2
        squares = squares if squares.ndim == 1 else squares.sum(axis=0)
        columns = np.flatnonzero(state.support)
        number = min(self.step, len(columns) - self.wanted)
        support = state.support.copy()
        support[columns[np.argsort(squares, kind="stable")][:number]] = False
        return support, state.ranking + ~support

    def solve(self, state: Survivors | None) -> Solver[Survivors]:
        """Eliminate from the columns that `state` has left; each fit is a step."""
        heavy = not isinstance(self.X, np.ndarray) or self.X.size > LARGE
        while state is None or state.support.sum() > self.wanted:
            support, ranking = self._begin() if state is None else self.drop(state)
            model = yield Dense(partial(self.fit, support), heavy=heavy)
            state = Survivors(support, ranking, model)
            yield Step(float(support.sum()), state, NO_BOUND)
        return Solution(state, True, NO_BOUND)

    def list_states(self) -> Iterator[Survivors]:
        """Yield the columns after each fit, on the calling thread."""
        support, ranking = self._begin()
        while True:
            state = Survivors(support, ranking, self.fit(support))
            yield state
            if support.sum() <= self.wanted:
                return
            support, ranking = self.drop(state)

    def _begin(self) -> tuple[Array, Array]:
        width = self.X.shape[1]
        return np.ones(width, bool), np.ones(width, np.int64)

    def count_fits(self) -> int:
        """Return the number of fits."""
        return 1 + -(-max(0, self.X.shape[1] - self.wanted) // self.step)


class EliminationSelector(SupportSelector):
    """A selector by recursive elimination, which predicts by the model of the columns that are left."""

    step: Any = parameter(
        Integer(1) | Real(0, 1, closed="neither"),
        default=1,
        doc="How many columns are dropped after each fit; a number below 1 is a share of all columns, rounded down.",
    )
    importance_getter: Any = parameter(IMPORTANCE, default="auto", doc=IMPORTANCE_TEXT)
    verbose: int | bool = parameter(Integer(0) | Boolean(), default=0)

    ranking_: Array = attribute()
    n_features_: int = attribute()

    _objective_moves: ClassVar[str | None] = None
    _stored: ClassVar[dict[str, Stored]] = {
        "support_": flags("columns"),
        "ranking_": integers("columns", low=1),
        "n_features_": integers(low=0),
    }

    def _plan(self, X: Any, y: Any, params: dict[str, Any], wanted: int) -> Elimination:
        width = X.shape[1]
        step = int(max(1, self.step * width)) if self.step < 1 else int(self.step)
        name = type(self).__name__
        return Elimination(name, self.estimator, X, y, params, self.importance_getter, step, wanted)

    def _fitted(self, state: Survivors) -> dict[str, Any]:
        return {
            "support_": state.support,
            "ranking_": state.ranking,
            "n_features_": int(state.support.sum()),
            "estimator_": state.model,
        }

    @property
    def classes_(self) -> Any:
        """The labels that the model knows."""
        return self.estimator_.classes_

    @available_if(has_method("predict"))
    def predict(self, X: Any, **predict_params: Any) -> Any:
        """Predict by the model of the columns that are left.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        **predict_params : dict
            Metadata for the ``predict`` of the model, with scikit-learn's routing.

        Returns
        -------
        ndarray
            Predictions.
        """
        self._refuse_parameters("predict", predict_params)
        check_is_fitted(self)
        routed = self._read_routes("predict", predict_params)
        return self.estimator_.predict(self.transform(X), **({} if routed is None else routed.estimator.predict))

    @available_if(has_method("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """Return the scores of the classes by the model of the columns that are left."""
        check_is_fitted(self)
        return self.estimator_.decision_function(self.transform(X))

    @available_if(has_method("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class by the model of the columns that are left."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(self.transform(X))

    @available_if(has_method("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class by the model of the columns that are left."""
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(self.transform(X))

    def __sklearn_tags__(self) -> Any:
        return add_kind_tags(super().__sklearn_tags__(), self.estimator)


class RFE(EliminationSelector):
    """Eliminate columns recursively: fit, drop those that matter least to the model, and fit again.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Which columns are kept.
    ranking_ : ndarray of int of shape (n_features,)
        1 for columns that are kept, 2 for those dropped last, and so on.
    n_features_ : int
        How many columns are kept.
    estimator_ : estimator
        The model of the columns that are kept.
    classes_ : ndarray
        The labels, where the estimator is a classifier.
    history_, converged_, n_iter_, certificate_
        How the fit went: a step for each fit of the estimator, whose objective is the number of columns.

    See Also
    --------
    RFECV : Chooses the number of columns by cross-validation.
    SelectFromModel : Fits once.

    Notes
    -----
    Costs ``1 + (n_features - n_features_to_select) / step`` fits, one after the other. Importance is the squared
    coefficient, summed over targets, or the model's ``feature_importances_``; standardise the columns of linear models.
    ``max_time`` and Ctrl-C keep the columns that are left by then, and their model. Rows in memory.

    References
    ----------
    I. Guyon, J. Weston, S. Barnhill and V. Vapnik, Gene selection for cancer classification using support vector
    machines, Machine Learning 46, 2002.

    Examples
    --------
    >>> from mercer.feature_selection import RFE
    >>> from mercer.linear_model import LinearRegression
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(200, 8, n_informative=3, noise=1.0, random_state=0)
    >>> RFE(LinearRegression(), n_features_to_select=3).fit(X, y).ranking_.tolist()
    [1, 6, 1, 2, 3, 1, 4, 5]
    """

    n_features_to_select: Any = parameter(
        Integer(1) | Real(0, 1, closed="right") | Nothing(),
        default=None,
        doc="How many columns to keep; a number up to 1 that is no integer is a share of them. None means half.",
    )

    _documents = {
        "max_time": "Seconds after which no more columns are dropped.",
        "n_jobs": "Has no effect: each fit depends on the one before. Set that of the estimator.",
    }

    @fitting
    def fit(self, X: Any, y: Any, **fit_params: Any) -> "RFE":
        """Eliminate columns, and fit the estimator to those that are left.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        **fit_params : dict
            Metadata for the ``fit`` of the estimator.
        """
        self._require_targets(X, y)
        routed = self._read_routes("fit", fit_params)
        params = fit_params if routed is None else dict(routed.estimator.fit)
        X, y = self._check_table(X, y, "csc")
        width, wanted = X.shape[1], self.n_features_to_select
        if wanted is None:
            wanted = width // 2
        elif isinstance(wanted, Integral):
            if wanted > width:
                warnings.warn(
                    f"Found n_features_to_select={wanted} > n_features={width}. There will be no feature selection and "
                    f"all features will be kept.",
                    UserWarning,
                    stacklevel=4,
                )
        else:
            wanted = int(width * wanted)
        plan = self._plan(X, y, params, wanted)
        source = GivenTask(X, y, X.shape[0], self._threads(), params)
        outcome = self._drive(plan.solve, source, max_steps=plan.count_fits())
        self._conclude(outcome, "raise max_time")
        return self

    @available_if(has_method("score"))
    def score(self, X: Any, y: Any, **score_params: Any) -> float:
        """Return the score of the model of the columns that are left.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        **score_params : dict
            Metadata for the ``score`` of the model.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        routed = self._read_routes("score", score_params)
        return self.estimator_.score(
            self.transform(X), y, **(score_params if routed is None else routed.estimator.score)
        )

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata: to the methods of the same names of the estimator.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping()
        for name in ("fit", "predict", "score"):
            mapping = mapping.add(caller=name, callee=name)
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)
