"""Columns as states: read frames, arrays and dictionaries, find the states of columns, and code rows by them."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._types import Array
from mercer.bayesnet._learning.coded_rows import MISSING, MOST_STATES
from mercer.errors import DataError

# Different fractions that a discrete variable may well have, such as grades in steps of a quarter.
_MOST_FRACTIONS = 20


@plain
@dataclass(frozen=True, eq=False)
class ColumnStates:
    """The states of one column: its distinct values in order, or bins between edges.

    Attributes
    ----------
    states : list
        Values of the column; for bins their names.
    edges : ndarray or None
        Value x is in the bin of index "number of edges below x"; None where states are values.
    declared : bool
        Whether the table itself lists the states, so that one without rows is a state too.
    """

    states: list[Any]
    edges: Array = None
    declared: bool = False


def is_frame(X: Any) -> bool:
    """Return whether `X` is a frame of pandas, polars or Arrow."""
    return hasattr(X, "columns") and (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__"))


def read_columns(subject: str, X: Any) -> dict[str, Any]:
    """Return the columns of a frame, a dictionary or an array by name; columns of an array are x0, x1 and so on."""
    if is_frame(X):
        import narwhals

        frame = narwhals.from_native(X, eager_only=True)
        return {str(name): frame[:, index] for index, name in enumerate(frame.columns)}
    if isinstance(X, Mapping):
        columns = {str(name): np.asarray(column, dtype=_find_type(column)) for name, column in X.items()}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(
                f"{subject}: the columns of X must have one length; got {lengths}. Give every row every column."
            )
        return columns
    rows = X if isinstance(X, np.ndarray) else _make_array(X)
    if rows.ndim != 2:
        raise DataError(
            f"{subject}: X must be a table of rows and columns; got an array of {rows.ndim} dimensions. "
            f"Reshape your data."
        )
    return {f"x{index}": rows[:, index] for index in range(rows.shape[1])}


def _find_type(column: Any) -> Any:
    """Return the type of a list's array: objects if it holds texts or gaps, else what NumPy finds."""
    return object if any(isinstance(value, str) or value is None for value in column) else None


def _make_array(X: Any) -> Array:
    """Return rows as an array; of objects if they hold texts, which NumPy would else make of all numbers."""
    flat = [value for row in X if isinstance(row, Sequence) for value in row] if isinstance(X, Sequence) else []
    mixed = any(isinstance(value, str) or value is None for value in flat)
    return np.array(X, dtype=object) if mixed else np.asarray(X)


def _read_values(column: Any) -> tuple[Array, list[Any] | None]:
    """Return the values of a column as an array, and its declared states if it has a categorical type."""
    declared = None
    if not isinstance(column, np.ndarray):
        import narwhals

        native = column.to_native()
        if column.dtype == narwhals.Enum:
            declared = list(column.dtype.categories)
        elif column.dtype == narwhals.Categorical and hasattr(getattr(native, "cat", None), "categories"):
            # pandas keeps the declared categories; polars' and Arrow's lists are those of the values.
            declared = native.cat.categories.tolist()
        column = column.to_numpy()
    return column, declared


def _split_missing(values: Array) -> tuple[Array, Array]:
    """Return which values are missing, and the others: numbers as float64, anything else as objects."""
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        return missing, values[~missing]
    if values.dtype.kind in "iub":
        return np.zeros(len(values), bool), values
    missing = np.array([_is_missing(value) for value in values], dtype=bool)
    present = values[~missing]
    # Objects that are all numbers become numbers.
    if values.dtype.kind == "O" and len(present) and not any(isinstance(value, str) for value in present):
        try:
            return missing, np.array(present.tolist())
        except ValueError:
            return missing, present
    return missing, present


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    same = value == value
    # Comparing pandas' NA with itself gives NA, not a boolean.
    return not same if isinstance(same, bool | np.bool_) else True


def _name_states(present: Array) -> tuple[list[Any], Array]:
    """Return the distinct values in order as Python values, and the index of each value among them."""
    if present.dtype.kind in "fiub":
        distinct, places = np.unique(present, return_inverse=True)
        whole = distinct.dtype.kind == "f" and bool(np.all(distinct == np.floor(distinct)))
        # Whole numbers have one name as integer and as float: a gap elsewhere turns integers into floats.
        small = whole and bool(np.all(np.abs(distinct) < 2**53))
        return [int(value) for value in distinct] if small else distinct.tolist(), places
    distinct, places = np.unique(np.array([str(value) for value in present], dtype=object), return_inverse=True)
    return list(distinct), places


def find_states(subject: str, name: str, column: Any, given: Any = None, most: int = MOST_STATES) -> ColumnStates:
    """Return the states of a column: those `given`, those its type declares, or its distinct values."""
    values, declared = _read_values(column)
    if given is not None:
        states = list(given)
        declared = states
    else:
        _, present = _split_missing(values)
        if present.dtype.kind == "f" and np.isinf(present).any():
            raise DataError(f"{subject}: column {name!r} contains infinity. Mark missing values by NaN.")
        states = declared or _name_states(present)[0]
    if len(states) > most:
        raise DataError(
            f"{subject}: column {name!r} must have at most {most} states; got {len(states)}. Cut numbers into bins, or "
            f"join rare states."
        )
    return ColumnStates(states, None, declared is not None)


def find_all_states(subject: str, columns: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[ColumnStates, ...]:
    """Return the states of all columns; warn once if some are measurements, each number a state of its own."""
    known = tuple(find_states(subject, name, column, given.get(name)) for name, column in columns.items())
    counts = {
        name: len(one.states)
        for (name, column), one in zip(columns.items(), known, strict=True)
        if given.get(name) is None and not one.declared and _holds_measurements(column, len(one.states))
    }
    if counts:
        name, n_states = next(iter(counts.items()))
        others = [repr(other) for other in list(counts)[1:]]
        # A table can have thousands of columns: the message names the first ten.
        more = f" and {len(others) - 9} others" if len(others) > 9 else ""
        too = f"; so do columns {', '.join(others[:9])}{more}" if others else ""
        warnings.warn(
            f"{subject}: column {name!r} holds {n_states} different numbers in {len(columns[name])} rows, each taken "
            f"for a state of its own{too}. Cut measurements into bins, or use BayesNetClassifier, which does so.",
            UserWarning,
            stacklevel=4,
        )
    return known


def _holds_measurements(column: Any, n_states: int) -> bool:
    """Return whether a column holds fractions that are nearly all different."""
    if n_states <= _MOST_FRACTIONS:
        return False
    _, present = _split_missing(_read_values(column)[0])
    return present.dtype.kind == "f" and n_states > len(present) // 2


def code_column(subject: str, name: str, column: Any, known: ColumnStates, unknown: str = "error") -> Array:
    """Return the index of each value among the known states, uint8; 255 for a missing value.

    A value that is no state is an error, or missing if `unknown` is ``"missing"``.
    """
    values, _ = _read_values(column)
    missing, present = _split_missing(values)
    codes = np.full(len(values), MISSING, np.uint8)
    if known.edges is not None:
        try:
            numbers = present.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(f"{subject}: column {name!r} must hold numbers, as in fit; got {present[0]!r}.") from None
        codes[~missing] = np.searchsorted(known.edges, numbers)
        return codes
    distinct, places = _name_states(present)
    # States that come from a file are texts, also where rows hold numbers.
    texts = present.dtype.kind not in "fiub" or all(isinstance(state, str) for state in known.states)
    distinct = [str(value) for value in distinct] if texts else distinct
    index = {(str(state) if texts else state): code for code, state in enumerate(known.states)}
    strange = [value for value in distinct if value not in index]
    if strange and unknown == "error":
        shown = ", ".join(map(repr, known.states[:8])) + (", ..." if len(known.states) > 8 else "")
        raise DataError(
            f"{subject}: column {name!r} must hold one of its states {shown}; got {strange[0]!r}, an unknown state. "
            f"Replace it, or mark it as missing."
        )
    table = np.array([index.get(value, MISSING) for value in distinct], dtype=np.uint8)
    codes[~missing] = table[places] if len(table) else 0
    return codes
