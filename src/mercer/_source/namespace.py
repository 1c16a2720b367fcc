"""The array-API namespace of an array: NumPy itself, or another library's through array-api-compat."""

from functools import reduce
from typing import Any

import numpy as np
from scipy.sparse import issparse

# The libraries besides NumPy whose arrays are rows on a device.
DEVICE_LIBRARIES = ("torch", "cupy", "array_api_strict")
# Up to this number of columns NumPy adds a row in the order of its values, as a loop over columns does.
_NARROW = 7


def is_sparse_matrix(thing: Any) -> bool:
    """Return whether `thing` is a sparse matrix or array of SciPy; of NumPy's arrays it is known at once."""
    return type(thing) is not np.ndarray and issparse(thing)


def library_of(thing: Any) -> str:
    """Return the name of the library that `thing` belongs to."""
    return type(thing).__module__.split(".")[0]


def namespace_of(array: Any) -> Any:
    """Return the module whose functions work on `array`."""
    if isinstance(array, np.ndarray | np.generic):
        return np
    try:
        # The package is needed for device arrays alone, so NumPy's rows do not depend on it.
        from array_api_compat import array_namespace
    except ImportError as error:
        raise ImportError(
            f"arrays of {library_of(array)} need the package array-api-compat, which is not installed: "
            f'pip install "mercer[gpu]".'
        ) from error
    return array_namespace(array)


def to_numpy(array: Any) -> Any:
    """Return a copy of `array` in the host's memory; a NumPy array is returned as it is."""
    if type(array) is np.ndarray:
        return array
    library = library_of(array)
    if library == "torch":
        return array.detach().cpu().numpy()
    if library == "cupy":
        return array.get()
    if library == "array_api_strict":
        import array_api_strict

        return np.asarray(array.to_device(array_api_strict.Device("CPU_DEVICE")))
    return array


def find_row_largest(values: Any, xp: Any) -> Any:
    """Return the largest value of each row of a matrix, as a column.

    NumPy takes 25 ns for each row of few values, and a tenth of that by columns.
    """
    if xp is not np or not 1 <= values.shape[1] <= _NARROW:
        return xp.max(values, axis=1, keepdims=True)
    return reduce(np.maximum, values.T)[:, None]


def sum_rows(values: Any, xp: Any) -> Any:
    """Return the sum of each row of a matrix, as a column, with the bits that NumPy's sum has."""
    if xp is not np or not 2 <= values.shape[1] <= _NARROW:
        return xp.sum(values, axis=1, keepdims=True)
    return reduce(np.add, values.T)[:, None]


def multiply_within_rows(first: Any, second: Any, xp: Any) -> Any:
    """Return the sum of products of each row of one matrix with the same row of another."""
    return np.einsum("ij,ij->i", first, second) if xp is np else xp.sum(first * second, axis=1)
