"""Check the structure of sparse rows before SciPy or native code follows their indices."""

from typing import Any

import numpy as np

from mercer.errors import DataError, DataTypeError

# Most columns: the index of a column fits into 31 bits.
_MOST_COLUMNS = 2**31 - 1


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
