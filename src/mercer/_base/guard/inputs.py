"""What users give, made readable for native code, and whether its numbers are so large or small that results overflow.

Native code needs this machine's byte order, aligned arrays, no masks, and sparse matrices whose indices lie inside.

Squares of very large values overflow, and those of very small ones vanish. The sum of squares of an input tells, at the
price of the look for NaN that every input passes anyway: it is NaN or infinite if a value is, overflows if squares do,
and is zero if all squares underflow. Ordinary inputs pay for that sum alone. For others the thread notes that its input
is extreme: then the results of the fit or of the prediction are checked too.
"""

import math
import threading
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._native.sums import squares
from mercer._source.memory import is_allowed
from mercer._source.threads import run_numbered
from mercer.errors import DataError, DataTypeError, MemoryForecastError

# Most columns: the index of a column fits into 31 bits. An array with a stride of zero may have more.
_MOST_COLUMNS = 2**31 - 1
# For each floating type the sums of squares that leave room for products of two of them, or for a division.
_ORDINARY = {"d": (1e-140, 1e140), "f": (1e-18, 1e18)}
# The same bounds as sizes of single values, for messages: one value beyond them makes its input extreme.
_LARGE = {"d": 1e70, "f": 1e9}
_SMALL = {"d": 1e-70, "f": 1e-9}
# Values that a thread looks at in one call: some hundred microseconds, above the time to wake it.
_RUN = 2**18
# What errors about answers that are not finite say.
OVERFLOWS = "the answer overflows"


def clean_arguments(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a fit; plain arrays cost a tenth of a microsecond each."""
    if any(map(_needs_care, args)) or any(map(_needs_care, kwargs.values())):
        args = tuple(clean_input(name, value) for value in args)
        kwargs = {key: clean_input(name, value) for key, value in kwargs.items()}
    return args, kwargs


def describe_table_beyond_memory(name: str, shape: tuple[int, ...]) -> str:
    """Return the words about rows that do not fit into memory: how large they are, and what to do."""
    return (
        f"{name}: a table of {shape[0]} rows and {shape[1]} columns needs more memory than there is: "
        f"{8 * math.prod(shape) / 2**30:.3g} GiB as float64. Give fewer rows or columns, or rows in blocks of a file."
    )


def _needs_care(value: Any) -> bool:
    if type(value) is np.ndarray:
        # Fields of a packed record lie at any address; C may read a number only at a multiple of its size.
        return not (value.dtype.isnative and value.flags.aligned) or value.size > _MOST_COLUMNS
    return value is not None and (issparse(value) or isinstance(value, np.ma.MaskedArray))


def clean_input(name: str, value: Any) -> Any:
    """Return an array or a sparse matrix as native code can read it; anything else as it is. Errors name `name`."""
    if not _needs_care(value):
        return value
    if isinstance(value, np.ma.MaskedArray):
        hidden = int(np.ma.count_masked(value))
        if hidden:
            # NumPy's conversion would use the values under the mask.
            raise DataError(
                f"{name}: arrays may not hide values under a mask; {hidden} of {value.size} are masked. Drop these "
                f"rows, or give array.filled(numpy.nan) where missing values are allowed."
            )
        value = value.data
    if isinstance(value, np.ndarray):
        if value.ndim == 2 and value.shape[1] > _MOST_COLUMNS:
            raise DataError(f"{name}: an array may have {_MOST_COLUMNS} columns; got {value.shape[1]}. Give fewer.")
        # Rows that are one row, shown many times, take no memory until something copies them; some systems promise any
        # amount of it, and end the process where it is used.
        if value.ndim == 2 and 0 in value.strides and not is_allowed(8.0 * value.size):
            raise MemoryForecastError(describe_table_beyond_memory(name, value.shape))
        # A copy lies at an aligned address.
        readable = value.dtype.isnative and value.flags.aligned
        return value if readable else value.astype(value.dtype.newbyteorder("="))
    return check_sparse_rows(name, value) if issparse(value) else value


def check_sparse_rows(name: str, X: Any) -> Any:
    """Return sparse rows whose places are inside the matrix, each value stored once and columns in rising order.

    SciPy's constructors do not look at values of indices, and its conversions read and write where indices point.
    """
    if X.shape[-1] > _MOST_COLUMNS:
        raise DataError(
            f"{name}: a sparse matrix may have {_MOST_COLUMNS} columns; got {X.shape[-1]}. Hash the columns to fewer, "
            f"for example with sklearn.feature_extraction.FeatureHasher."
        )
    try:
        X = _check_places(X)
    except (ValueError, IndexError) as error:
        reason = str(error).rstrip(".")
        raise DataError(
            f"{name}: a sparse matrix must hold indices inside its shape, in order; it does not ({reason}). Build it "
            f"again from its values: scipy.sparse.coo_array((values, (rows, columns)), shape=...)."
        ) from None
    if X.data.dtype.kind not in "biufc":
        raise DataTypeError(f"{name}: a sparse matrix must hold numbers; got {X.data.dtype}. Give X.astype(float).")
    if X.data.dtype.char in "eg":
        # SciPy computes with neither half nor extended precision everywhere.
        with np.errstate(over="ignore"):
            X = X.astype(np.float64)
    # Duplicates are summed in place, and the matrix belongs to the user: a copy keeps it as it is.
    if X.format in ("csr", "csc") and not _is_canonical(X):
        X = X.copy()
        X.has_canonical_format = X.has_sorted_indices = False
        X.sum_duplicates()
    return X


def _check_places(X: Any) -> Any:
    if X.format == "coo":
        for places, size in zip(X.coords, X.shape, strict=True):
            if len(places) != len(X.data):
                raise ValueError(f"{len(places)} indices for {len(X.data)} values")
            if len(places) and (places.min() < 0 or places.max() >= size):
                raise ValueError(f"index {places.min() if places.min() < 0 else places.max()} in an axis of {size}")
        return X
    if X.format not in ("csr", "csc", "bsr"):
        # Lists, dictionaries and diagonals: SciPy's conversion to rows checks what they hold.
        X = X.tocsr()
    if not all(_is_readable(part) for part in (X.data, X.indices, X.indptr)):
        parts = (np.array(part, part.dtype.newbyteorder("="), order="C") for part in (X.data, X.indices, X.indptr))
        X = type(X)(tuple(parts), shape=X.shape)
    X.check_format(full_check=True)
    if (X.indptr[1:] < X.indptr[:-1]).any():
        raise ValueError("indptr falls")
    return X


def _is_readable(part: np.ndarray) -> bool:
    """Return whether native code can read an array as it lies."""
    return part.dtype.isnative and part.flags.c_contiguous and part.flags.aligned


def _is_canonical(X: Any) -> bool:
    """Return whether each value is stored once and in order; SciPy's own note may be older than the indices."""
    if "_has_canonical_format" not in vars(X):
        return bool(X.has_canonical_format)
    rises = X.indices[1:] > X.indices[:-1]
    # The last value of a row and the first one of the next are not compared.
    ends = X.indptr[1:-1]
    rises[ends[(ends > 0) & (ends < len(X.indices))] - 1] = True
    return bool(rises.all())


class _Noted(threading.local):
    """What the checks of this thread's current fit or prediction have noticed."""

    extreme = False


NOTED = _Noted()


def are_ordinary(values: np.ndarray, threads: int = 1) -> bool:
    """Return whether all values are finite and their squares neither overflow nor vanish; some microseconds."""
    low, high = _ORDINARY.get(values.dtype.char, (1.0, 0.0))
    if low > high or not values.dtype.isnative:
        return False
    # In the order of memory: a matrix in Fortran order is not copied.
    flat = values.ravel(order="K")
    if threads == 1 or len(flat) <= _RUN:
        return low < squares.sum_squares(flat) < high
    sums: list[float] = []
    runs = range(0, len(flat), _RUN)
    run_numbered(
        lambda number: squares.sum_squares(flat[runs[number] : runs[number] + _RUN]), len(runs), threads, sums.append
    )
    return low < sum(sums) < high


def note_extreme(values: Any) -> None:
    """Record that this thread has met an extreme input, unless it is all zeros."""
    if values.any():
        NOTED.extreme = True


def describe_extremes(**inputs: Any) -> list[str]:
    """Return a phrase about each input that has very large or very small values: its name, and the values."""
    phrases = []
    for name, given in inputs.items():
        values = _read_sizes(given)
        if values is None or not values.size:
            continue
        kind = values.dtype.char
        largest, smallest = values.max(), values.min()
        # Within the limits a fourth power is at most 1e280 in float64 and 1e36 in float32: neither overflows.
        if largest > _LARGE[kind]:
            phrases.append(f"{name} holds values as large as {largest:.3g}")
        elif largest < _SMALL[kind]:
            phrases.append(f"{name} holds no value larger than {largest:.3g}")
        elif smallest < _SMALL[kind]:
            phrases.append(f"{name} holds values as small as {smallest:.3g} beside others as large as {largest:.3g}")
    return phrases


def _read_sizes(given: Any) -> np.ndarray | None:
    """Return the sizes of all values that are not zero, as float32 or float64; None if they are no finite numbers."""
    try:
        values = np.asarray(given.tocoo().data if issparse(given) else given)
        if values.dtype != np.float32:
            values = values.astype(np.float64)
    except (TypeError, ValueError):
        return None
    # Zeros say nothing about the scale of an input, so they do not count as small values.
    sizes = np.abs(values[values != 0])
    return sizes if np.isfinite(sizes).all() else None


def is_finite(answer: Any, infinite: bool = False) -> bool:
    """Return whether an answer, an array or a tuple of some, holds neither NaN nor, unless `infinite`, infinity.

    The logarithm of a density of zero is minus infinity, a proper answer.
    """
    if isinstance(answer, tuple | list):
        return all(is_finite(part, infinite) for part in answer)
    values = np.asarray(answer.data if issparse(answer) else answer)
    if values.dtype.kind != "f":
        return True
    return not np.isnan(values).any() if infinite else bool(np.isfinite(values).all())
