"""What estimators that wrap others share: members are fitted to the rows as given, and pass on what they know."""

import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter, validate_data

from mercer._base.guard import are_ordinary
from mercer._base.opening import check_place
from mercer._base.scikit_learn import open_callback_context
from mercer._base.validation import are_plain, are_plain_rows, inspect_rows, learn_plain_columns
from mercer._solver import Certificate
from mercer._source import place_of
from mercer._source.namespace import is_sparse_matrix
from mercer.errors import DataError


def check_wrapped_place(wrapper: Any, X: Any, y: Any) -> None:
    """Raise unless the rows are in memory: a wrapper needs its members' predictions for all of them."""
    place = place_of(X, y)
    if place != "memory":
        check_place(wrapper, place)


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return the rows of an array, a sparse matrix or a table with these indices."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if type(X).__module__.startswith("pyarrow"):
        return X.take(rows)
    if is_sparse_matrix(X) and X.format != "csr":
        return X.tocsr()[rows].asformat(X.format)
    return X[rows] if hasattr(X, "__array__") or hasattr(X, "shape") else np.asarray(X)[rows]


def count_given(X: Any) -> int:
    """Return the number of rows as the user gave them."""
    if hasattr(X, "shape"):
        return int(X.shape[0])
    return len(X) if hasattr(X, "__len__") else len(np.asarray(X))


def has_text(X: Any) -> bool:
    """Return whether rows are a frame with a column that is not numeric, which members must handle themselves."""
    if not hasattr(X, "columns") or not hasattr(X, "shape"):
        return False
    import narwhals

    frame = narwhals.from_native(X, eager_only=True)
    return not all(kind.is_numeric() or kind == narwhals.Boolean for kind in frame.schema.values())


def check_member_rows(wrapper: Any, estimator: Any, X: Any, *, finite: bool = True) -> Any:
    """Check rows to predict, and return them in the form that the members of a fitted ensemble take."""
    if has_text(X):
        validate_data(wrapper, X, reset=False, skip_check_array=True)
        return X
    return inspect_rows(wrapper, X, reset=False, **_list_rules(estimator, finite))


def check_member_table(
    wrapper: Any, estimator: Any, X: Any, y: Any, *, numbers: bool = False, finite: bool = True
) -> tuple[Any, np.ndarray]:
    """Check rows and targets of a fit, and return them in the form that members take.

    What `estimator` checks itself is not checked here. With `numbers` targets are numeric, else labels.
    """
    name = type(wrapper).__name__
    if y is None:
        raise DataError(f"{name}: requires y to be passed, but the target y is None. Give the targets.")
    # Ordinary arrays skip scikit-learn's inspection, which would give back the same ones.
    if are_plain(X, y) and are_ordinary(X) and (y.dtype.kind != "f" or are_ordinary(y)):
        learn_plain_columns(wrapper, X)
        return X, y
    if has_text(X):
        validate_data(wrapper, X, skip_check_array=True)
        return X, np.asarray(y, dtype=np.float64 if numbers else None)
    X, y = validate_data(wrapper, X, y, y_numeric=numbers, multi_output=numbers, **_list_rules(estimator, finite))
    values = X.data if is_sparse_matrix(X) else X
    if values.dtype.kind == "f" and values.size and np.isnan(values.flat[0]) and np.isnan(values).all():
        raise DataError(f"{name}: X must have a value in some column; got NaN only. Give other columns.")
    return X, y


def _list_rules(estimator: Any, finite: bool) -> dict[str, Any]:
    """Return the options of scikit-learn's ``validate_data`` for rows that `estimator` will check itself."""
    allowed = "allow-nan" if get_tags(estimator).input_tags.allow_nan else True
    return {
        "accept_sparse": ["csr", "csc"],
        "allow_nd": True,
        "dtype": None,
        "ensure_all_finite": allowed if finite else False,
    }


def fit_members(wrapper: Any, members: list[Any], X: Any, y: Any, sample_weight: Any, rows: Any = None) -> list[Any]:
    """Return fitted copies of the members; callbacks of the wrapper see each as a task, and follow it inside.

    `rows` are the indices of the rows of each member; None fits all to all rows.
    """
    root = open_callback_context(wrapper, max_subtasks=len(members))
    root.call_on_fit_task_begin(estimator=wrapper, X=X, y=y)
    fitted = []
    for number, member in enumerate(map(clone, members)):
        task = root.subcontext(task_name="fit-member")
        task.call_on_fit_task_begin(estimator=wrapper, X=X, y=y)
        part, targets, weight = X, y, sample_weight
        if rows is not None:
            part, targets = take_rows(X, rows[number]), y[rows[number]]
            weight = None if weight is None else weight[rows[number]]
        # The member reports to the callbacks of the wrapper, one level below its task.
        with task.propagate_callback_context(member):
            fitted.append(_fit_member(wrapper, member, part, targets, weight))
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


def check_wrapped_rows(wrapper: Any, estimator: Any, X: Any) -> Any:
    """Check the rows of a fit whose targets are checked elsewhere; return them in the form that members take.

    Tables stay tables, whose columns a pipeline may choose by name; what only `estimator` can read stays as it is.
    """
    records = isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], str | dict)
    if records or (isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "OU"):
        return X
    if are_plain_rows(X) and are_ordinary(X):
        learn_plain_columns(wrapper, X)
        return X
    if has_text(X):
        validate_data(wrapper, X, skip_check_array=True)
        return X
    checked = validate_data(wrapper, X, **_list_rules(estimator, finite=False))
    return X if hasattr(X, "columns") else checked
