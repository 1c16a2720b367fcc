"""Rows of discrete variables: columns by name, their states, and how often each combination occurs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.bayesnet._tables.variables import Variables, list_some, read_variables
from mercer.errors import DataError

# What marks a missing value in coded rows.
MISSING = -1


def read_columns(subject: str, rows: Any, names: Sequence[Any] | None = None) -> dict[Any, np.ndarray]:
    """Read the columns of a DataFrame (pandas, polars), a mapping, a list of dicts or a structured array by name."""
    if isinstance(rows, Sequence) and rows and isinstance(rows[0], Mapping):
        rows = {name: [row.get(name) for row in rows] for name in (names or rows[0])}
    if isinstance(rows, Mapping):
        columns = dict(rows)
    elif getattr(getattr(rows, "dtype", None), "names", None):
        columns = {name: rows[name] for name in rows.dtype.names}
    elif hasattr(rows, "columns"):
        columns = {name: rows[name] for name in rows.columns}
    else:
        raise DataError(
            f"{subject}: `rows` must have named columns; got {type(rows).__name__}. "
            "Pass a DataFrame or a dict from names to columns."
        )
    missing = [name for name in names or () if name not in columns]
    if missing:
        raise DataError(f"{subject}: `rows` must have a column for each variable; {list_some(missing)} are missing.")
    chosen = {name: np.asarray(columns[name]) for name in (names if names is not None else columns)}
    lengths = {column.shape for column in chosen.values()}
    if len(lengths) > 1 or any(len(length) != 1 for length in lengths):
        raise DataError(
            f"{subject}: the columns of `rows` must be one-dimensional and of one length; got {sorted(lengths)}."
        )
    return chosen


def find_variables(subject: str, rows: Any, variables: Mapping[Any, Sequence[Any]] | None = None) -> Variables:
    """Return the states of each variable: those given, else the sorted values of its column without missing ones."""
    if variables is not None:
        return read_variables(subject, variables)
    found: dict[Any, list[Any]] = {}
    for name, column in read_columns(subject, rows).items():
        values = {value for value in column.tolist() if not _is_missing(value)}
        try:
            found[name] = sorted(values)
        except TypeError:
            # States of several types have no order of their own: their type and then their text give one.
            found[name] = sorted(values, key=lambda value: (type(value).__name__, str(value)))
    return read_variables(subject, found)


def code_rows(subject: str, rows: Any, variables: Variables, *, missing: bool = False) -> np.ndarray:
    """Return the rows as codes, shape (n, number of variables); -1 marks a missing value where these are allowed."""
    columns = read_columns(subject, rows, list(variables))
    n = len(next(iter(columns.values()))) if columns else 0
    codes = np.empty((n, len(columns)), dtype=np.int32)
    for position, (name, column) in enumerate(columns.items()):
        codes[:, position] = _code_column(subject, name, column, variables[name], missing)
    return codes


def _code_column(subject: str, name: Any, column: np.ndarray, states: tuple[Any, ...], missing: bool) -> np.ndarray:
    """Return the positions of a column's values among the states."""
    code = {state: number for number, state in enumerate(states)}
    if column.dtype.kind in "iub" and all(type(state) in (int, bool) for state in states):
        # Few distinct integers: look each one up once.
        values, inverse = np.unique(column, return_inverse=True)
        plain: list[Any] = values.tolist()
    else:
        plain = column.tolist()
        inverse = None
    try:
        codes = np.array([code.get(value, -2) for value in plain], dtype=np.int32)
    except TypeError:
        codes = np.full(len(plain), -2, dtype=np.int32)
    for place in np.flatnonzero(codes == -2):
        if not (missing and _is_missing(plain[place])):
            message = f"{subject}: {name!r} has the states {list_some(states)}; row {place} holds {plain[place]!r}."
            if _is_missing(plain[place]):
                message += " Fill in or drop rows with missing values."
            raise DataError(message)
        codes[place] = MISSING
    return codes if inverse is None else codes[inverse.reshape(-1)]


def _is_missing(value: Any) -> bool:
    """Return whether a value marks a missing one: None, NaN, or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and math.isnan(value)


def count_rows(subject: str, rows: Any, variables: Variables, sample_weight: Any = None) -> np.ndarray:
    """Return how often each combination of states occurs, flat, weighted where weights are given."""
    codes = code_rows(subject, rows, variables)
    shape = tuple(len(states) for states in variables.values())
    index = np.zeros(len(codes), dtype=np.int64)
    for position, length in enumerate(shape):
        index = index * length + codes[:, position]
    weight = None
    if sample_weight is not None:
        weight = np.asarray(sample_weight, dtype=np.float64)
        if weight.shape != (len(codes),) or not (weight >= 0).all():
            raise DataError(
                f"{subject}: `sample_weight` must be {len(codes)} numbers of at least 0, one per row; got shape "
                f"{weight.shape}."
            )
    return np.bincount(index, weights=weight, minlength=math.prod(shape)).astype(np.float64)
