"""The base of selectors that fit an estimator, and what a fitted model says about its columns."""

from collections.abc import Callable
from copy import deepcopy
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
import sklearn
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.estimator import LimitedEstimator
from mercer._base.guard import are_ordinary
from mercer._base.interface import MetaEstimatorMixin
from mercer._base.parameter import Function, HasFit, Text, attribute, parameter
from mercer._base.validation import are_plain, learn_plain_columns
from mercer._base.wrapping import check_wrapped_place
from mercer._solver import Certificate
from mercer._source import Source
from mercer._stored import Stored, part
from mercer._types import Array
from mercer.errors import DataError, ParameterError

NO_BOUND = Certificate.none("Columns are chosen step by step; another choice may be better.")
# Entries of rows from which a fit runs on a thread of its own: starting one takes 0.1 ms.
LARGE = 2**16

IMPORTANCE = Text() | Function()
IMPORTANCE_TEXT = (
    "What says how much a column matters to a fitted model: 'auto' reads ``coef_`` or ``feature_importances_``; a path "
    "of attributes, such as 'named_steps.last.coef_'; or a function of the model."
)


def has_method(name: str) -> Callable[[Any], bool]:
    """Return the condition under which a selector has a method: the fitted model has it, or what is fitted."""

    def check(selector: Any) -> bool:
        getattr(vars(selector).get("estimator_", selector.estimator), name)
        return True

    return check


class WrappingSelector(SelectorMixin, MetaEstimatorMixin, LimitedEstimator):
    """A selector of columns that fits copies of an estimator."""

    _needs_rows: ClassVar[str] = "it fits its members to rows drawn from all of them"

    estimator: Any = parameter(HasFit(), kw_only=False, doc="What is copied and fitted.")

    estimator_: Any = attribute()

    _stored: ClassVar[dict[str, Stored]] = {"estimator_": part("BaseEstimator")}
    _checks_resumed: ClassVar[bool] = False

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        return source.targets  # type: ignore[attr-defined]

    def _check_table(self, X: Any, y: Any, sparse: str) -> tuple[Any, Any]:
        """Return rows of two columns or more, and targets, as arrays; the estimator checks the rest."""
        check_wrapped_place(self, X, y)
        if y is not None and are_plain(X, y) and are_ordinary(X) and X.shape[1] > 1:
            learn_plain_columns(self, X)
            return X, y
        options = {"accept_sparse": sparse, "ensure_min_features": 2, "ensure_all_finite": False}
        if y is None:
            return validate_data(self, X, **options), None
        return validate_data(self, X, y, multi_output=True, **options)

    def _require_targets(self, X: Any, y: Any) -> None:
        """Check the place of the rows, and raise unless there are targets."""
        check_wrapped_place(self, X, y)
        if y is None:
            raise DataError(
                f"{type(self).__name__}: requires y to be passed, but the target y is None. Give the targets."
            )

    def _read_routes(self, method: str, params: dict[str, Any]) -> Any:
        """Return who is given which metadata; None without scikit-learn's routing."""
        if not sklearn.get_config()["enable_metadata_routing"]:
            return None
        return process_routing(self, method, **params)

    def _refuse_parameters(self, method: str, params: dict[str, Any]) -> None:
        """Raise if there is metadata, without scikit-learn's routing."""
        if params and not sklearn.get_config()["enable_metadata_routing"]:
            raise ValueError(
                f"[{', '.join(params)}] are passed but are not explicitly set as requested or not: passing extra "
                f"keyword arguments to {type(self).__name__}.{method} is only supported if "
                f"enable_metadata_routing=True, which you can set using `sklearn.set_config`."
            )

    @property
    def _depends_on_units(self) -> tuple[str, ...]:  # type: ignore[override]
        # Coefficients are in units of the columns.
        return tuple(dict.fromkeys((*getattr(self.estimator, "_depends_on_units", ()), "columns")))

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("sparse", "allow_nan"):
            setattr(tags.input_tags, name, getattr(inner.input_tags, name))
        tags.target_tags.required = inner.target_tags.required
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class SupportSelector(WrappingSelector):
    """A selector that stores which columns it keeps."""

    support_: Array = attribute()

    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "columns that are kept are copied, since the estimator may be of any kind",
    }

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self.support_


def add_kind_tags(tags: Any, estimator: Any) -> Any:
    """Return tags of a selector that predicts as `estimator` does."""
    inner = get_tags(estimator)
    tags.estimator_type = inner.estimator_type
    for name in ("classifier_tags", "regressor_tags"):
        kind = deepcopy(getattr(inner, name))
        if kind is not None:
            kind.poor_score = True
        setattr(tags, name, kind)
    tags.target_tags.required = True
    tags.target_tags.multi_output = inner.target_tags.multi_output
    return tags


def fit_copy(estimator: Any, X: Any, y: Any, params: dict[str, Any]) -> Any:
    """Return a fitted copy of an estimator."""
    copy = clone(estimator)
    copy.fit(X, y, **params)
    return copy


def read_importances(subject: str, model: Any, getter: Any) -> Any:
    """Return what a fitted model says about its columns: a vector, or a matrix with a row for each target."""
    if callable(getter):
        return getter(model)
    if getter != "auto":
        return attrgetter(getter)(model)
    for name in ("coef_", "feature_importances_"):
        if hasattr(model, name):
            return getattr(model, name)
    raise ParameterError(
        f"{subject}: when `importance_getter=='auto'`, the underlying estimator {type(model).__name__} should have "
        f"`coef_` or `feature_importances_` attribute. Either pass a fitted estimator to feature selector or call fit "
        f"before calling transform, or give another importance_getter."
    )


def measure_importances(importances: Any, order: float) -> Array:
    """Return the norm of the entries of each column, of some order."""
    if importances.ndim == 1:
        return np.abs(importances)
    if issparse(importances):
        from scipy.sparse.linalg import norm

        return norm(importances.tocsr(), axis=0, ord=order)
    return np.linalg.norm(importances, axis=0, ord=order)
