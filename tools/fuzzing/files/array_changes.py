"""Changes of one array of a model file: other shapes, other types, other values."""

from collections.abc import Callable
from typing import Any

import numpy as np

# Numbers that are wrong in most places: below, above, at the ends of 32 bits, and far beyond.
_ODD_INTEGERS = (-1, 0, 1, 7, 1000, 2**31 - 1, -(2**31), 2**40)
ODD_FLOATS = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, -1e300, 1e-320)

# Changes of shape that make sense for arrays with rows, each with its name.
_ROWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "one row less": lambda array: array[:-1],
    "half of the rows": lambda array: array[: len(array) // 2],
    "no rows": lambda array: array[:0],
    "one row": lambda array: array[:1],
    "last row twice": lambda array: np.concatenate([array, array[-1:]]),
    "rows backwards": lambda array: array[::-1],
    "every row alike": lambda array: np.repeat(array[:1], len(array), axis=0),
}
# Changes that need two axes.
_COLUMNS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "one column less": lambda array: array[:, :-1],
    "last column twice": lambda array: np.concatenate([array, array[:, -1:]], axis=1),
    "transposed": lambda array: array.T,
    "in order F": np.asfortranarray,
}


def change_array(array: np.ndarray, random: np.random.Generator) -> tuple[str, np.ndarray]:
    """Return what was changed, and another array."""
    kind = int(random.integers(10))
    if kind < 3 and array.ndim and len(array):
        return _apply(_ROWS, array, random)
    if kind == 3 and array.ndim > 1 and array.size:
        return _apply(_COLUMNS, array, random)
    if kind == 4 and array.dtype.kind in "fiu":
        other = {"f": np.int64, "i": np.float64, "u": np.int64}[array.dtype.kind]
        with np.errstate(invalid="ignore"):
            return f"as {other.__name__}", array.astype(other)
    if kind == 5:
        return "flat", np.ascontiguousarray(array.reshape(-1))
    if kind == 6 and array.size:
        return "shuffled", random.permutation(array.reshape(-1)).reshape(array.shape)
    return _change_values(array, random)


def _apply(
    changes: dict[str, Callable[[np.ndarray], np.ndarray]], array: np.ndarray, random: np.random.Generator
) -> tuple[str, np.ndarray]:
    """Make one of the named changes."""
    name = list(changes)[int(random.integers(len(changes)))]
    other = changes[name](array)
    return name, other.copy(order="F") if name == "in order F" else np.ascontiguousarray(other)


def _change_values(array: np.ndarray, random: np.random.Generator) -> tuple[str, np.ndarray]:
    """Return an array with another value in one place, or in every place."""
    if not array.size:
        return "one row more", np.zeros((1, *array.shape[1:]), array.dtype)
    flat, place = array.reshape(-1).copy(), int(random.integers(array.size))
    value = _choose_value(flat, place, random)
    if random.random() < 0.2:
        flat[:] = value
        return f"all {value}", flat.reshape(array.shape)
    flat[place] = value
    return f"[{place}] = {value}", flat.reshape(array.shape)


def _choose_value(flat: np.ndarray, place: int, random: np.random.Generator) -> Any:
    """Return an odd value of the array's kind: far beyond, off by one, or that of another place."""
    if random.random() < 0.2:
        return flat[int(random.integers(len(flat)))]
    if flat.dtype.kind in "iu":
        limits = np.iinfo(flat.dtype)
        odd = int(random.choice(_ODD_INTEGERS))
        if random.random() < 0.4:
            odd = int(flat[place]) + int(random.choice([-1, 1]))
        return min(max(odd, limits.min), limits.max)
    if flat.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return flat.dtype.type(random.choice(ODD_FLOATS))
    return np.zeros(1, flat.dtype)[0]
