"""Columns that matter to a fitted model."""

from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.estimator import fitting
from mercer._base.member_fits import BagState, GivenTask
from mercer._base.parameter import Boolean, Function, Integer, Nothing, Real, Rule, Text, attribute, parameter
from mercer._base.wrapping import check_wrapped_place, count_given
from mercer._solver import Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._stored import Stored, integers
from mercer._types import Array
from mercer.errors import ParameterError
from mercer.feature_selection._wrapped import (
    IMPORTANCE,
    IMPORTANCE_TEXT,
    LARGE,
    NO_BOUND,
    WrappingSelector,
    fit_copy,
    has_method,
    measure_importances,
    read_importances,
)


class _Order(Rule):
    """The order of a norm."""

    text = "an integer other than 0, or infinity of either sign"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, Integral):
            return value != 0 and not isinstance(value, bool)
        return isinstance(value, float) and np.isinf(value)

    def list_refused(self) -> Iterator[Any]:
        yield from (0, 1.5, "two")


class SelectFromModel(WrappingSelector):
    """Keep the columns that matter to a fitted model: their importance is at least a threshold.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    threshold_ : float
        The threshold.
    max_features_ : int
        The most columns that are kept; only where `max_features` is given.
    n_features_in_, feature_names_in_
        As in the model.
    history_, converged_, n_iter_, certificate_
        As every estimator has them; the fit is one step.

    See Also
    --------
    RFE : Fits again after each elimination.

    Notes
    -----
    Costs one fit. Coefficients measure importance only where the columns have the same scale: standardise them before.
    Rows in memory, as the estimator takes them.

    References
    ----------
    I. Guyon and A. Elisseeff, An introduction to variable and feature selection, Journal of Machine Learning Research
    3, 2003.

    Examples
    --------
    >>> from mercer.feature_selection import SelectFromModel
    >>> from mercer.linear_model import Lasso
    >>> from mercer.preprocessing import StandardScaler
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> selector = SelectFromModel(Lasso(alpha=5.0)).fit(StandardScaler().fit_transform(X), y)
    >>> X.columns[selector.get_support()].tolist()
    ['sex', 'bmi', 'bp', 's3', 's5']
    """

    threshold: Any = parameter(
        Real(-np.inf, squared=False) | Text() | Nothing(),
        default=None,
        doc="The least importance of a column that is kept: a number, 'mean', 'median', or a multiple of them such as "
        "'1.25*mean'. None means 1e-5 for models with an L1 penalty alone, else 'mean'.",
    )
    prefit: bool = parameter(Boolean(), default=False, doc="Whether the estimator is fitted, and is used as it is.")
    norm_order: Any = parameter(
        _Order(),
        default=1,
        doc="The order of the norm over targets, where a model has coefficients for several.",
    )
    max_features: Any = parameter(
        Integer(0) | Function() | Nothing(),
        default=None,
        doc="The most columns to keep, or a function of the rows that gives it; as many are kept with threshold=-inf.",
    )
    importance_getter: Any = parameter(IMPORTANCE, default="auto", doc=IMPORTANCE_TEXT)

    max_features_: int = attribute()

    _documents = {
        "max_time": "Has no effect: one fit ends by itself. Kept so that estimators can be exchanged.",
        "n_jobs": "Has no effect: set that of the estimator. Kept so that estimators can be exchanged.",
    }
    _objective_moves: ClassVar[str | None] = None
    _stored: ClassVar[dict[str, Stored]] = {"max_features_": integers(low=0)}

    @fitting
    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> "SelectFromModel":
        """Fit the estimator, unless it is fitted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets.
        **fit_params : dict
            Metadata for the ``fit`` of the estimator.
        """
        check_wrapped_place(self, X, y)
        attributes = self._read_limit(X)
        if self.prefit:
            check_prefit(self)
            make = partial(deepcopy, self.estimator)
        else:
            routed = self._read_routes("fit", fit_params)
            params = fit_params if routed is None else dict(routed.estimator.fit)
            make = partial(fit_copy, self.estimator, X, y, params)
        heavy = np.size(X) > LARGE if isinstance(X, np.ndarray) else True

        def solve(state: BagState | None) -> Solver[BagState]:
            if state is None:
                state = BagState(((yield Dense(make, heavy=heavy)),))
                yield Step(1.0, state, NO_BOUND)
            return Solution(state, True, NO_BOUND)

        source = GivenTask(X, y, count_given(X), self._threads(), fit_params)
        outcome = self._drive(solve, source, max_steps=1, attributes=attributes)
        if outcome.interrupt is None:
            # The fit is complete after its one step, even if a callback asked to stop there.
            outcome.converged, outcome.reason, self.converged_ = True, "converged", True
        self._note_columns(X)
        self._conclude(outcome)
        return self

    def _fitted(self, state: BagState) -> dict[str, Any]:
        return {"estimator_": state.members[0]}

    def _note_columns(self, X: Any) -> None:
        """Store the number and the names of the columns, as the model found them."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if hasattr(X, "columns") and "feature_names_in_" not in vars(self):
            validate_data(self, X, skip_check_array=True)

    def _read_limit(self, X: Any) -> dict[str, Any]:
        """Return the most columns to keep, as an attribute."""
        if self.max_features is None:
            self.__dict__.pop("max_features_", None)
            return {}
        most = self.max_features(X) if callable(self.max_features) else self.max_features
        if not isinstance(most, Integral) or isinstance(most, bool):
            raise TypeError(
                f"SelectFromModel: max_features must be an instance of int, not {type(most).__name__}. Return an "
                f"integer."
            )
        if most < 0:
            raise ParameterError(f"SelectFromModel: max_features == {most}, must be >= 0. Give another number.")
        return {"max_features_": int(most)}

    @available_if(has_method("partial_fit"))
    @fitting
    def partial_fit(self, X: Any, y: Any = None, **partial_fit_params: Any) -> "SelectFromModel":
        """Go on fitting the estimator with more rows; one that is fitted before stays as it is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, as the estimator takes them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets.
        **partial_fit_params : dict
            Metadata for the ``partial_fit`` of the estimator.
        """
        first = "estimator_" not in vars(self)
        if first:
            for name, value in self._read_limit(X).items():
                setattr(self, name, value)
        if self.prefit:
            if first:
                check_prefit(self)
                self.estimator_ = deepcopy(self.estimator)
            return self
        routed = self._read_routes("partial_fit", partial_fit_params)
        params = partial_fit_params if routed is None else dict(routed.estimator.partial_fit)
        model = clone(self.estimator) if first else self.estimator_
        model.partial_fit(X, y, **params)
        self.estimator_ = model
        self._note_columns(X)
        return self

    @property
    def threshold_(self) -> float:
        """The least importance of a column that is kept."""
        check_is_fitted(self)
        return read_threshold(self.estimator_, self._measure(self.estimator_), self.threshold)

    def _measure(self, model: Any) -> Array:
        return measure_importances(read_importances("SelectFromModel", model, self.importance_getter), self.norm_order)

    def _get_support_mask(self) -> Array:
        if self.prefit:
            check_prefit(self)
        elif "estimator_" not in vars(self):
            check_is_fitted(self)
        model = vars(self).get("estimator_", self.estimator)
        most = vars(self).get("max_features_", self.max_features)
        if callable(most):
            raise NotFittedError(
                "When `prefit=True` and `max_features` is a callable, call `fit` before calling `transform`."
            )
        if most is not None and not isinstance(most, Integral):
            raise ParameterError(
                f"SelectFromModel: `max_features` must be an integer. Got `max_features={most}` instead; give how many "
                f"columns to keep."
            )
        scores = self._measure(model)
        kept = scores >= read_threshold(model, scores, self.threshold)
        if self.max_features is not None:
            best = np.zeros(len(scores), bool)
            best[np.argsort(-scores, kind="stable")[:most]] = True
            kept &= best
        return kept

    def get_metadata_routing(self) -> Any:
        """Return the routes of metadata: to ``fit`` and ``partial_fit`` of the estimator.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="partial_fit", callee="partial_fit").add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)


def check_prefit(selector: Any) -> None:
    """Raise unless the estimator of a selector is fitted."""
    try:
        check_is_fitted(selector.estimator)
    except NotFittedError as error:
        raise NotFittedError("When `prefit=True`, `estimator` is expected to be a fitted estimator.") from error


def read_threshold(model: Any, scores: Array, threshold: Any) -> float:
    """Return the threshold that a number, a text or None stands for."""
    if threshold is None:
        threshold = 1e-5 if has_sparse_penalty(model) else "mean"
    if not isinstance(threshold, str):
        return float(threshold)
    scale, star, reference = threshold.rpartition("*")
    reference = reference.strip()
    if reference not in ("mean", "median"):
        raise ParameterError(
            f"SelectFromModel: Expected threshold='mean' or threshold='median', or a multiple of them; got "
            f"{threshold!r}: Unknown reference: {reference}. Give a number, or a text such as '1.25*mean'."
        )
    value = float(np.mean(scores) if reference == "mean" else np.median(scores))
    return float(scale) * value if star else value


def has_sparse_penalty(model: Any) -> bool:
    """Return whether a model has an L1 penalty alone, which sets coefficients to zero."""
    if getattr(model, "penalty", None) == "l1" or "Lasso" in type(model).__name__:
        return True
    # The ratio of a cross-validated model is chosen in the fit, for each class.
    given = {"ElasticNet": "l1_ratio", "LogisticRegression": "l1_ratio"}
    chosen = {"ElasticNetCV": "l1_ratio_", "LogisticRegressionCV": "l1_ratio_"}
    ratio = getattr(model, (given | chosen).get(type(model).__name__, ""), None)
    return ratio is not None and bool(np.all(np.isclose(np.asarray(ratio, np.float64), 1.0)))
