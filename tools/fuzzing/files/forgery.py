"""Forge model files: change one thing in a valid file, and make its checksums right again."""

import copy
from pathlib import Path
from typing import Any

import numpy as np

from mercer._base.model_file import _describe_file
from mercer._base.model_file.codec import Encoder
from mercer._base.model_file.container import write_container

__all__ = ["Original", "forge"]

# Numbers that are wrong in most places: below, above, at the ends of 32 bits, and far beyond.
_ODD_INTEGERS = (-1, 0, 1, 7, 1000, 2**31 - 1, -(2**31), 2**40)
_ODD_FLOATS = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, -1e300, 1e-320)
_ODD_SCALARS = (None, True, -1, 0, 3, 2**40, "", "ash", [], [1, 2])


class Original:
    """A valid model as the header and the arrays of its file."""

    def __init__(self, model: Any) -> None:
        encoder = Encoder()
        node = encoder.encode(model, type(model).__name__)
        self.header = _describe_file(model, node)
        self.arrays = [np.array(array) for array in encoder.arrays]


def forge(original: Original, seed: int, path: Path) -> str:
    """Write the file with one change that `seed` decides, and return the change in words."""
    random = np.random.default_rng(seed)
    header, arrays = copy.deepcopy(original.header), [array.copy() for array in original.arrays]
    if arrays and random.random() < 0.75:
        index = int(random.integers(len(arrays)))
        change, arrays[index] = _change_array(arrays[index], random)
        change = f"array {index} {original.arrays[index].dtype}{original.arrays[index].shape}: {change}"
    else:
        change = _change_scalar(header["model"], len(arrays), random)
    write_container(path, header, arrays)
    return change


def _change_array(array: np.ndarray, random: np.random.Generator) -> tuple[str, np.ndarray]:
    """Return another array, and what was changed."""
    kind = int(random.integers(10))
    if kind == 0 and array.ndim:
        return "one row less", np.ascontiguousarray(array[:-1])
    if kind == 1 and array.ndim:
        return "half of the rows", np.ascontiguousarray(array[: len(array) // 2])
    if kind == 2 and array.ndim and len(array):
        return "last row twice", np.concatenate([array, array[-1:]])
    if kind == 3 and array.ndim > 1:
        return "one column less", np.ascontiguousarray(array[:, :-1])
    if kind == 4 and array.dtype.kind in "fiu":
        other = {"f": np.int64, "i": np.float64, "u": np.int64}[array.dtype.kind]
        with np.errstate(invalid="ignore"):
            return f"as {other.__name__}", array.astype(other)
    if kind == 5:
        return "flat", np.ascontiguousarray(array.reshape(-1))
    if kind == 6 and array.ndim:
        return "no rows", array[:0].copy()
    if kind == 7 and array.size:
        return "shuffled", random.permutation(array.reshape(-1)).reshape(array.shape)
    return _change_values(array, random)


def _change_values(array: np.ndarray, random: np.random.Generator) -> tuple[str, np.ndarray]:
    """Return an array with another value in one place, or in every place."""
    if not array.size:
        return "one row more", np.zeros((1, *array.shape[1:]), array.dtype)
    flat, place = array.reshape(-1).copy(), int(random.integers(array.size))
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        value: Any = int(np.clip(random.choice(_ODD_INTEGERS), limits.min, limits.max))
    elif array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            value = array.dtype.type(random.choice(_ODD_FLOATS))
    else:
        value = np.zeros(1, array.dtype)[0]
    if random.random() < 0.2:
        flat[:] = value
        return f"all {value}", flat.reshape(array.shape)
    flat[place] = value
    return f"[{place}] = {value}", flat.reshape(array.shape)


def _list_leaves(node: Any, place: str = "") -> list[tuple[Any, Any, str]]:
    """Return (container, key, path) of each value of the header that is no container."""
    if not isinstance(node, dict | list):
        return []
    leaves: list[tuple[Any, Any, str]] = []
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        here = f"{place}.{key}"
        # The type and the class of a node are the grammar of the file; other tests attack it.
        if key in ("type", "class", "version"):
            continue
        if not isinstance(value, dict | list) or not value:
            leaves.append((node, key, here))
        else:
            leaves += _list_leaves(value, here)
    return leaves


def _change_scalar(node: Any, n_arrays: int, random: np.random.Generator) -> str:
    """Change one number, text or reference of the header in place."""
    leaves = _list_leaves(node)
    container, key, place = leaves[int(random.integers(len(leaves)))]
    if key == "index" and isinstance(container, dict) and container.get("type") == "array":
        container[key] = int(random.integers(n_arrays))
    elif key == "hex":
        container[key] = float(random.choice(_ODD_FLOATS)).hex()
    elif random.random() < 0.1 and isinstance(container, dict):
        del container[key]
        return f"without {place}"
    else:
        container[key] = copy.copy(_ODD_SCALARS[int(random.integers(len(_ODD_SCALARS)))])
    return f"{place} = {container[key]!r}"
