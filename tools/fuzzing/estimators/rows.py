"""Hostile rows: every type, order and stride, extreme values, degenerate shapes, and sparse matrices with faults."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

Change = Callable[[np.ndarray, np.random.Generator], Any]


def _as_type(dtype: Any) -> Change:
    def convert(X: np.ndarray, random: np.random.Generator) -> Any:
        with np.errstate(all="ignore"):
            return X.astype(dtype)

    return convert


def _scaled(factor: float, dtype: Any = np.float64) -> Change:
    def scale(X: np.ndarray, random: np.random.Generator) -> Any:
        with np.errstate(all="ignore"):
            return (X * factor).astype(dtype)

    return scale


def _with_value(value: float, dtype: Any = np.float64) -> Change:
    """Put `value` into one random place."""

    def place(X: np.ndarray, random: np.random.Generator) -> Any:
        with np.errstate(all="ignore"):
            other = X.astype(dtype)
            other[random.integers(X.shape[0]), random.integers(X.shape[1])] = value
        return other

    return place


def _one_column_scaled(factor: float) -> Change:
    """Scale one column, so that columns differ by many orders of magnitude."""

    def scale(X: np.ndarray, random: np.random.Generator) -> Any:
        other = X.copy()
        other[:, random.integers(X.shape[1])] *= factor
        return other

    return scale


def _read_only(X: np.ndarray) -> np.ndarray:
    other = X.copy()
    other.flags.writeable = False
    return other


def _interleaved(X: np.ndarray) -> np.ndarray:
    """Return the same values as every second row and column of a larger array."""
    larger = np.zeros((2 * X.shape[0], 2 * X.shape[1]), X.dtype)
    larger[::2, ::2] = X
    return larger[::2, ::2]


def _unaligned(X: np.ndarray) -> np.ndarray:
    """Return the same values at an address that is no multiple of eight."""
    buffer = np.zeros(X.nbytes + 1, np.uint8)
    other = buffer[1:].view(X.dtype).reshape(X.shape)
    other[:] = X
    return other


def _structured(X: np.ndarray) -> np.ndarray:
    """Return a structured array, one field for each column."""
    other = np.zeros(X.shape[0], [(f"c{column}", float) for column in range(X.shape[1])])
    for column in range(X.shape[1]):
        other[f"c{column}"] = X[:, column]
    return other


def _mixed_objects(X: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return objects: numbers, one text and one None."""
    other = X.astype(object)
    other[0, 0], other[1, 0] = "ash", None
    return other


def _dates(X: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return (np.abs(X) * 1000).astype(np.int64).astype("datetime64[D]")


def _spoilt(part: str, value: Any) -> Change:
    """Return a CSR matrix with another value at the end of one of its three arrays."""

    def spoil(X: np.ndarray, random: np.random.Generator) -> Any:
        matrix = csr_array(X)
        getattr(matrix, part)[-1] = value
        return matrix

    return spoil


def _doubled(X: np.ndarray, random: np.random.Generator) -> Any:
    """Return a CSR matrix that stores each value in two halves."""
    matrix = csr_array(X)
    indices, data = np.repeat(matrix.indices, 2), np.repeat(matrix.data / 2, 2)
    return csr_array((data, indices, matrix.indptr * 2), shape=X.shape)


def _unsorted(X: np.ndarray, random: np.random.Generator) -> Any:
    """Return a CSR matrix whose columns are stored from last to first."""
    matrix = csr_array(X)
    for row in range(X.shape[0]):
        begin, end = matrix.indptr[row], matrix.indptr[row + 1]
        matrix.indices[begin:end] = matrix.indices[begin:end][::-1].copy()
        matrix.data[begin:end] = matrix.data[begin:end][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


def _falling_indptr(X: np.ndarray, random: np.random.Generator) -> Any:
    matrix = csr_array(X)
    matrix.indptr[len(matrix.indptr) // 2] = 0
    return matrix


def _wide(X: np.ndarray, random: np.random.Generator) -> Any:
    """Return a CSR matrix with places of 64 bits."""
    matrix = csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def _big_endian(X: np.ndarray, random: np.random.Generator) -> Any:
    """Return a CSR matrix with values of the other byte order, which SciPy itself does not make."""
    matrix = csr_array(X)
    matrix.data = matrix.data.astype(">f8")
    return matrix


_TYPES = {
    f"type {name}": _as_type(name)
    for name in (
        *("bool", "int8", "uint8", "int16", "int32", "int64", "uint64", "float16", "float32", "longdouble"),
        *(">f8", ">f4", ">i4", ">i8", "complex128", "object", "U20", "S20"),
    )
}
_SCALES = {
    "rows 1e-310": _scaled(1e-310),
    "rows 1e-160": _scaled(1e-160),
    "rows 1e-40 in float32": _scaled(1e-40, np.float32),
    "rows 1e-20 in float32": _scaled(1e-20, np.float32),
    "rows 1e19 in float32": _scaled(1e19, np.float32),
    "rows 1e37 in float32": _scaled(1e37, np.float32),
    "rows 1e100": _scaled(1e100),
    "rows 1e155": _scaled(1e155),
    "rows 1e300": _scaled(1e300),
    "one value 1e155": _with_value(1e155),
    "one value 1e308": _with_value(1e308),
    "one value -1e300": _with_value(-1e300),
    "one value 1e38 in float32": _with_value(1e38, np.float32),
    "one value 5e-324": _with_value(5e-324),
    "one value NaN": _with_value(np.nan),
    "one value infinity": _with_value(np.inf),
    "one value -infinity in float32": _with_value(-np.inf, np.float32),
    "one column 1e150": _one_column_scaled(1e150),
    "one column 1e-150": _one_column_scaled(1e-150),
    "far from zero": lambda X, random: X + 1e12,
    "64-bit ids as float32": lambda X, random: random.integers(0, 2**63 - 1, X.shape).astype(np.float32),
    "64-bit ids": lambda X, random: random.integers(0, 2**63 - 1, X.shape),
    "all NaN": lambda X, random: np.full_like(X, np.nan),
    "one column NaN": lambda X, random: np.where(np.arange(X.shape[1]) == 1, np.nan, X),
}
_LAYOUTS = {
    "Fortran order": lambda X, random: np.asfortranarray(X),
    "rows backwards": lambda X, random: X[::-1],
    "columns backwards": lambda X, random: X[:, ::-1],
    "every second value": lambda X, random: _interleaved(X),
    "one row broadcast": lambda X, random: np.broadcast_to(X[0], X.shape),
    "one column broadcast": lambda X, random: np.broadcast_to(X[:, :1], X.shape),
    "read-only": lambda X, random: _read_only(X),
    "read-only float32": lambda X, random: _read_only(X.astype(np.float32)),
    "read-only big-endian": lambda X, random: _read_only(X.astype(">f8")),
    "unaligned": lambda X, random: _unaligned(X),
    "transposed view": lambda X, random: X.T.copy().T,
    "np.matrix": lambda X, random: np.asmatrix(X),
    "masked array": lambda X, random: np.ma.masked_greater(X, float(np.median(X))),
    "list of lists": lambda X, random: X.tolist(),
    "list of tuples": lambda X, random: [tuple(row) for row in X.tolist()],
    "structured array": lambda X, random: _structured(X),
    "memory view": lambda X, random: memoryview(X.copy()),
}
_SHAPES = {
    "no rows": lambda X, random: X[:0],
    "no columns": lambda X, random: X[:, :0],
    "one row": lambda X, random: X[:1],
    "two rows": lambda X, random: X[:2],
    "one column": lambda X, random: X[:, :1],
    "one value": lambda X, random: X[:1, :1],
    "a vector": lambda X, random: X[:, 0],
    "three axes": lambda X, random: X[:, :, None],
    "a number": lambda X, random: 3.0,
    "None": lambda X, random: None,
    "text": lambda X, random: "",
    "ragged lists": lambda X, random: [[1.0, 2.0], [3.0]] * 20,
    "constant": lambda X, random: np.full_like(X, 3.0),
    "zeros": lambda X, random: np.zeros_like(X),
    "minus zeros": lambda X, random: -np.zeros_like(X),
    "one column constant": lambda X, random: np.where(np.arange(X.shape[1]) == 0, 1.0, X),
    "columns equal": lambda X, random: np.repeat(X[:, :1], X.shape[1], axis=1),
    "rows twice": lambda X, random: np.repeat(X[: len(X) // 2], 2, axis=0),
    "two different rows": lambda X, random: X[np.arange(len(X)) % 2],
    "more columns than rows": lambda X, random: np.tile(X, (1, 20)),
    "dates": _dates,
    "durations": lambda X, random: (np.abs(X) * 1000).astype("timedelta64[s]"),
    "mixed objects": _mixed_objects,
    "texts": lambda X, random: np.full(X.shape, "ash"),
    "bytes": lambda X, random: np.full(X.shape, b"1.5"),
}
_SPARSE = {
    "CSR": lambda X, random: csr_array(X),
    "CSR matrix": lambda X, random: csr_matrix(X),
    "CSC": lambda X, random: csc_array(X),
    "COO": lambda X, random: coo_array(X),
    "CSR of float32": lambda X, random: csr_array(X.astype(np.float32)),
    "CSR of integers": lambda X, random: csr_array(X.astype(np.int64)),
    "CSR big-endian": _big_endian,
    "CSR of complex numbers": lambda X, random: csr_array(X.astype(complex)),
    "CSR 64-bit places": _wide,
    "CSR doubled places": _doubled,
    "CSR unsorted": _unsorted,
    "CSR column too large": _spoilt("indices", 1000),
    "CSR column negative": _spoilt("indices", -3),
    "CSR indptr too large": _spoilt("indptr", 10**6),
    "CSR indptr falls": _falling_indptr,
    "CSR with NaN": _spoilt("data", np.nan),
    "CSR with infinity": _spoilt("data", np.inf),
    "CSR with 1e300": _spoilt("data", 1e300),
    "CSR of zeros": lambda X, random: csr_array(X.shape),
    "CSR without rows": lambda X, random: csr_array((0, X.shape[1])),
    "CSR 1e155": lambda X, random: csr_array(X * 1e155),
}
ROWS: dict[str, Change] = _TYPES | _SCALES | _LAYOUTS | _SHAPES | _SPARSE
