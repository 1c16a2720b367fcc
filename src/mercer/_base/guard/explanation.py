"""Explain errors of NumPy, SciPy and the interpreter by the input that caused them: its name, the rule, the cure.

Nothing here runs unless a fit or a prediction has failed.
"""

from collections import Counter
from typing import Any, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from mercer._base.guard.inputs import describe_extremes, describe_table_beyond_memory
from mercer.errors import DataError, DataTypeError, MemoryForecastError, MercerError

# What odd inputs raise: wrong types, arithmetic (also numpy.linalg.LinAlgError, a ValueError), sizes beyond memory.
_EXPLAINED = (
    *(ValueError, TypeError, AttributeError, ArithmeticError, IndexError, KeyError, MemoryError, NotImplementedError),
    RecursionError,
)


def explain_error(
    estimator: Any, error: Exception, X: Any, y: Any = None, weight: Any = None, *, extreme: bool
) -> Exception | None:
    """Return an error that names the input at fault, or None where the error speaks for itself or no input is odd.

    `extreme` says that the checks let the inputs pass and noticed very large or very small values among them.
    """
    # Own errors already name the input at fault, and other kinds of error do not come from values.
    if isinstance(error, MercerError | NotFittedError) or not isinstance(error, _EXPLAINED):
        return None
    name = type(estimator).__name__
    if isinstance(error, MemoryError):
        return _explain_memory(name, X)
    # The order is that of likely causes: rows before targets before weights. The first fault found is the one told.
    sentence = (
        _find_bad_rows(X, get_tags(estimator).input_tags.string)
        or (None if y is None else _find_bad_targets(y, not is_regressor(estimator)))
        or (None if weight is None else _find_bad_weights(weight))
    )
    if sentence is None:
        phrases = describe_extremes(X=X, y=y, sample_weight=weight) if extreme else []
        if not phrases:
            return None
        sentence = f"the computation overflows or divides by zero: {' and '.join(phrases)}. {_cure(phrases)}"
    kind = DataTypeError if isinstance(error, TypeError) else DataError
    return kind(f"{name}: {sentence}")


def _explain_memory(name: str, X: Any) -> Exception | None:
    """Return an error that says how large the rows are."""
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        return None
    return MemoryForecastError(describe_table_beyond_memory(name, shape))


def _cure(phrases: list[str]) -> str:
    if phrases[0].startswith("X "):
        return "Scale the columns, for example with StandardScaler, or drop the rows that hold these values."
    if phrases[0].startswith("y "):
        return "Divide y by its largest absolute value, and multiply the predictions by it."
    return "Divide the weights by their mean."


def _find_bad_rows(X: Any, takes_texts: bool) -> str | None:
    """Return what is wrong with rows as a table, of numbers or of texts too."""
    if X is None or isinstance(X, str | bytes | int | float):
        return f"X must be a table of rows; got {X!r}. Give an array, a sparse matrix or a DataFrame."
    if isinstance(X, memoryview):
        return "X must be an array or a table; got a memoryview. Give np.asarray(X)."
    if issparse(X):
        return None
    if hasattr(X, "columns"):
        repeated = [name for name, count in Counter(map(str, X.columns)).items() if count > 1]
        if repeated:
            return f"X must have columns of different names; {repeated[0]!r:.80} comes more than once. Rename them."
        X = np.asarray(X)
    dtype = getattr(X, "dtype", None)
    # Types of other array libraries have no field names.
    if getattr(dtype, "names", None) is not None:
        return (
            f"X must be a matrix of numbers; got a structured array with the fields {', '.join(X.dtype.names)}. Give "
            f"np.column_stack of its fields, or a DataFrame."
        )
    lengths = _list_lengths(X)
    if lengths is not None and len(set(lengths)) > 1:
        other = next(row for row, length in enumerate(lengths) if length != lengths[0])
        return (
            f"X must have rows of equal length; row 0 has {lengths[0]} values, row {other} has {lengths[other]}. Fill "
            f"missing values with NaN, or drop the row."
        )
    if takes_texts:
        return None
    return _find_odd_value("X", X, "Encode texts and dates as numbers, for example with TableEncoder.")


def _list_lengths(X: Any) -> list[int] | None:
    if isinstance(X, list | tuple) and X and all(hasattr(row, "__len__") for row in X):
        return [len(row) for row in X]
    return None


def _find_bad_targets(y: Any, takes_labels: bool) -> str | None:
    """Return what is wrong with targets: numbers for regression, labels of one kind for classes."""
    if issparse(y):
        return f"y must be dense; got a sparse matrix of shape {y.shape}. Give y.toarray()."
    lengths = _list_lengths(y)
    # A text has a length too, but a list of texts is a list of labels and not of rows.
    if lengths is not None and not isinstance(y[0], str) and len(set(lengths)) > 1:
        return "y must have one target, or one row of targets, for each row; got rows of different lengths."
    if isinstance(y, list | tuple) and y and isinstance(y[0], set | frozenset | dict):
        return f"y must hold numbers or labels; got a {type(y[0]).__name__} in place 0. Give one label for each row."
    try:
        values = np.asarray(y)
    except ValueError:
        return "y must be a vector or a matrix; it cannot be converted to an array. Give one target for each row."
    if values.dtype.kind == "O":
        kinds = sorted({type(value).__name__ for value in values.ravel()})
        if len(kinds) > 1:
            return f"y must hold targets of one kind; got {', '.join(kinds)}. Convert them all to numbers or to texts."
    if takes_labels and values.dtype.kind in "OU":
        return None
    return _find_odd_value("y", values, "Give numbers, or use a classifier for labels.")


def _find_bad_weights(weight: Any) -> str | None:
    return _find_odd_value("sample_weight", weight, "Give one non-negative number for each row.")


def _find_odd_value(name: str, given: Any, cure: str) -> str | None:
    """Return a sentence about the first value that is no number; None if all are."""
    try:
        values = np.asarray(given)
    except ValueError:
        return f"{name} must be an array of numbers; it cannot be converted to one. {cure}"
    kind = values.dtype.kind
    if kind in "biuf":
        return None
    if kind in "Mm":
        what = "dates" if kind == "M" else "durations"
        return f"{name} must hold numbers; got {what} ({values.dtype}). Subtract a start and divide by a unit first."
    if kind == "T":
        return f"{name} must hold numbers; got texts of variable width ({values.dtype}). {cure}"
    if kind == "c":
        return f"{name} must hold real numbers; got {values.dtype}: Complex data not supported. Give its real part."
    for place, value in enumerate(values.ravel()):
        if not _reads_as_number(value):
            where = _name_place(place, values.shape)
            # The reasons are worded as those of NumPy and Python, which scikit-learn's users search for.
            if isinstance(value, str):
                reason = "could not convert string to float"
            elif isinstance(value, int):
                reason = "it is too large for a float"
            else:
                reason = "every argument must be a number, or a string that reads as a number"
            held = f"{str(value)[:40]!r}, a {type(value).__name__}"
            return f"{name} must hold numbers; {where} holds {held}: {reason}. {cure}"
    return None


def _reads_as_number(value: Any) -> bool:
    if isinstance(value, float | np.number):
        return True
    try:
        float(cast(Any, value))
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _name_place(place: int, shape: tuple[int, ...]) -> str:
    if len(shape) == 2:
        return f"row {place // shape[1]}, column {place % shape[1]}"
    return f"place {place}"
