"""What estimators that wrap others share: members are fitted to the rows as given, and pass on what they know."""

import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from mercer._base.opening import check_place
from mercer._base.scikit_learn import open_callback_context
from mercer._solver import Certificate
from mercer._source import place_of
from mercer.errors import DataError


def check_wrapped_place(wrapper: Any, X: Any, y: Any) -> None:
    """Raise unless the rows are in memory: a wrapper needs its members' predictions for all of them."""
    place = place_of(X, y)
    if place != "memory":
        check_place(wrapper, place)


def fit_members(wrapper: Any, members: list[Any], X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Return fitted copies of the members; callbacks of the wrapper see each as a task, and follow it inside."""
    root = open_callback_context(wrapper, max_subtasks=len(members))
    root.call_on_fit_task_begin(estimator=wrapper, X=X, y=y)
    fitted = []
    for member in map(clone, members):
        task = root.subcontext(task_name="fit-member")
        task.call_on_fit_task_begin(estimator=wrapper, X=X, y=y)
        # The member reports to the callbacks of the wrapper, one level below its task.
        with task.propagate_callback_context(member):
            fitted.append(_fit_member(wrapper, member, X, y, sample_weight))
        task.call_on_fit_task_end(estimator=wrapper, X=X, y=y)
    root.call_on_fit_task_end(estimator=wrapper, X=X, y=y)
    return fitted


def _fit_member(wrapper: Any, member: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    if sample_weight is None:
        return member.fit(X, y)
    if not has_fit_parameter(member, "sample_weight"):
        raise DataError(
            f"{type(wrapper).__name__}: {type(member).__name__} takes no sample_weight, so weights would be dropped. "
            f"Repeat the rows, or use another estimator."
        )
    return member.fit(X, y, sample_weight=sample_weight)


def note_columns(wrapper: Any, member: Any) -> None:
    """Number and names of the columns, as a member found them."""
    for name in ("n_features_in_", "feature_names_in_"):
        vars(wrapper).pop(name, None)
        if hasattr(member, name):
            setattr(wrapper, name, getattr(member, name))


def float_type(X: Any) -> type:
    """Return float32 for rows of float32, else float64."""
    return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64


def one_step_record(objective: float, begun: float, statement: str) -> dict[str, Any]:
    """Return the record of a fit that is one step: no iterations, and no bound on the distance to the optimum."""
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
