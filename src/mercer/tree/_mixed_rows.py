"""Columns of words or numbers as one table of floats: categories become codes, missing values are NaN."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mercer._base.validation import FLOATS, inspect_rows
from mercer._solver.tree.categories import find_codes, find_missing, is_frame
from mercer._types import Array
from mercer.errors import DataError, ParameterError


def learn_mixed_rows(estimator: Any, X: Any) -> tuple[Array, list[Array | None]]:
    """Read the rows of a fit as floats (n, d), and learn the sorted categories of each column; None if it is numeric.

    The categories of columns that are not numeric are strings.
    """
    chosen = estimator.categorical_features
    # An array has one type; without a list of columns none of them holds categories.
    if not is_frame(X) and (chosen is None or isinstance(chosen, str)):
        values = _read_array(estimator, X, reset=True)
        return values, [None] * values.shape[1]
    columns = _read_columns(estimator, X, reset=True)
    marked = _mark_columns(estimator, X, columns)
    categories = [
        np.unique(_take_present(column)) if mark else None for column, mark in zip(columns, marked, strict=True)
    ]
    return _encode(estimator, columns, categories), categories


def read_mixed_rows(estimator: Any, X: Any, categories: list[Array | None]) -> Array:
    """Read rows for a fitted model as floats (n, d); unknown categories get a code that no branch has."""
    if all(known is None for known in categories) and not is_frame(X):
        return _read_array(estimator, X, reset=False)
    return _encode(estimator, _read_columns(estimator, X, reset=False), categories)


def _read_array(estimator: Any, X: Any, reset: bool) -> Array:
    return inspect_rows(estimator, X, reset=reset, dtype=list(FLOATS), order="C", ensure_all_finite="allow-nan")


def _read_columns(estimator: Any, X: Any, reset: bool) -> list[Array]:
    """Return the columns: of a numeric type, or of objects."""
    if is_frame(X):
        import narwhals

        validate_data(estimator, X, reset=reset, skip_check_array=True)
        columns = [column.to_numpy() for column in narwhals.from_native(X, eager_only=True).iter_columns()]
    else:
        columns = list(inspect_rows(estimator, X, reset=reset, dtype=None, ensure_all_finite=False).T)
    # Columns that are not numeric become objects of Python, so texts of any width compare alike.
    return [column if column.dtype.kind in "iufb" else np.array(column.tolist(), dtype=object) for column in columns]


def _mark_columns(estimator: Any, X: Any, columns: list[Array]) -> list[bool]:
    """Return which columns hold categories: those named, or else those that are not numeric.

    Unlike `mark_categorical`, negative indices count from the last column, and indices and names may be mixed.
    """
    chosen = estimator.categorical_features
    if isinstance(chosen, str) or chosen is None:
        return [column.dtype.kind == "O" for column in columns]
    names = [str(name) for name in X.columns] if is_frame(X) else []
    marked = [False] * len(columns)
    given = list(chosen)
    # A list of truth values, one for each column, is a mask; any other list has names and indices.
    if len(given) == len(columns) and all(isinstance(mark, bool | np.bool_) for mark in given):
        return [bool(mark) for mark in given]
    for name in given:
        index = names.index(name) if isinstance(name, str) and name in names else name
        if isinstance(index, str) or not -len(columns) <= index < len(columns):
            raise ParameterError(
                f"{type(estimator).__name__}: categorical_features must name columns of X; got {name!r} for "
                f"{len(columns)} columns."
            )
        marked[index] = True
    return marked


def _encode(estimator: Any, columns: list[Array], categories: list[Array | None]) -> Array:
    table = np.empty((len(columns[0]), len(columns)))
    for j, (column, known) in enumerate(zip(columns, categories, strict=True)):
        table[:, j] = _read_numbers(estimator, column, j) if known is None else _encode_column(column, known)
    if np.isinf(table).any():
        raise DataError(f"{type(estimator).__name__}: Input X contains infinity. Drop or replace those values.")
    return table


def _read_numbers(estimator: Any, column: Array, j: int) -> Array:
    try:
        return np.where(find_missing(column), np.nan, column).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{type(estimator).__name__}: could not convert string to float in column {j}. Name it in "
            f"categorical_features, or give a frame and categorical_features='from_dtype'."
        ) from error


def _take_present(column: Array) -> Array:
    """Return the values that are not missing, as strings unless they are numeric."""
    present = column[~find_missing(column)]
    return np.array([str(value) for value in present]) if column.dtype.kind == "O" else present


def _encode_column(column: Array, known: Array) -> Array:
    codes = np.full(len(column), np.nan)
    present = _take_present(column)
    if len(known) and len(present):
        present = present.astype(str) if known.dtype.kind == "U" else present
        codes[~find_missing(column)] = find_codes(present, known, len(known))
    return codes
