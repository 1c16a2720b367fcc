"""What estimators share that wrap others: members fitted to rows as they are, and the facts that members know."""

import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from mercer._base.opening import check_place
from mercer._solver import Certificate
from mercer._source import place_of
from mercer.errors import DataError

__all__ = ["check_wrapped_place", "fit_member", "float_type", "note_columns", "one_step_record"]


def check_wrapped_place(wrapper: Any, X: Any, y: Any) -> None:
    """Raise unless the rows are in memory: a wrapper looks at its members' answers for all of them."""
    place = place_of(X, y)
    if place != "memory":
        check_place(wrapper, place)


def fit_member(wrapper: Any, member: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """A fitted copy of a member."""
    fitted = clone(member)
    if sample_weight is None:
        return fitted.fit(X, y)
    if not has_fit_parameter(fitted, "sample_weight"):
        message = (
            f"{type(wrapper).__name__}: {type(member).__name__} takes no sample_weight, so weights would be dropped. "
            f"Repeat the rows, or use another estimator."
        )
        raise DataError(message)
    return fitted.fit(X, y, sample_weight=sample_weight)


def note_columns(wrapper: Any, member: Any) -> None:
    """Number and names of the columns, as a member found them."""
    for name in ("n_features_in_", "feature_names_in_"):
        vars(wrapper).pop(name, None)
        if hasattr(member, name):
            setattr(wrapper, name, getattr(member, name))


def float_type(X: Any) -> type:
    """float32 for rows of float32, else float64."""
    return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64


def one_step_record(objective: float, begun: float, statement: str) -> dict[str, Any]:
    """The record of a fit that is one step: no iterations of its own, and no bound on what it misses."""
    return {
        "history_": {
            "step": np.array([0]),
            "objective": np.array([objective]),
            "seconds": np.array([time.perf_counter() - begun]),
        },
        "converged_": True,
        "n_iter_": 1,
        "certificate_": Certificate.none(statement),
    }
