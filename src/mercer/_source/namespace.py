"""The array-API namespace of an array: NumPy itself, or another library's through array-api-compat."""

from typing import Any

import numpy as np

__all__ = ["namespace_of", "to_numpy"]


def namespace_of(array: Any) -> Any:
    """The module whose functions work on `array`."""
    if isinstance(array, np.ndarray | np.generic):
        return np
    from array_api_compat import array_namespace

    return array_namespace(array)


def to_numpy(array: Any) -> np.ndarray:
    """A copy of `array` in the host's memory; NumPy arrays as they are."""
    if isinstance(array, np.ndarray | np.generic):
        return array
    if hasattr(array, "detach"):
        return array.detach().cpu().numpy()
    return array.get() if hasattr(array, "get") else np.asarray(array)
