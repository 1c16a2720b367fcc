"""Forge model files: change one thing in a valid file, or several that belong together; the checksums are made right.

A change of one array alone is refused wherever shapes are declared. So some forgeries change every array of one length,
or every copy of one number, together: their shapes agree, and only checks of values and structures can refuse them.
"""

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer._base.model_file import _describe_file
from mercer._base.model_file.codec import Encoder
from mercer._base.model_file.container import write_container
from tools.fuzzing.files.array_changes import ODD_FLOATS, change_array

_ODD_SCALARS = (None, True, -1, 0, 3, 2**40, "", "ash", [], [1, 2])
# The share of forgeries that change arrays, where there are any; the others change the header.
_ARRAYS = 0.75
# The share of changes that are made alike in everything that agreed before.
_TOGETHER = 0.25
# The share of forgeries that change a second thing.
_SECOND = 0.15


@dataclass
class Forgery:
    """A forged file before it is written: the change in words, the header and the arrays."""

    change: str
    header: dict[str, Any]
    arrays: list[np.ndarray]


class Original:
    """A valid model as the header and the arrays of its file."""

    def __init__(self, model: Any) -> None:
        encoder = Encoder()
        node = encoder.encode(model, type(model).__name__)
        self.header = _describe_file(model, node)
        self.arrays = [np.array(array) for array in encoder.arrays]
        # The path of each value of the header that is no container: a forgery copies only what lies along one path.
        self.leaves = _list_leaves(node, ())


def forge(original: Original, seed: int, path: Path) -> str:
    """Write the file with the change that `seed` decides, and return the change in words."""
    forgery = make_forgery(original, seed)
    write_container(path, forgery.header, forgery.arrays)
    return forgery.change


def make_forgery(original: Original, seed: int) -> Forgery:
    """Return the forgery that `seed` decides; it shares with the original what it does not change."""
    random = np.random.default_rng(seed)
    forgery = Forgery("", original.header, list(original.arrays))
    changes = []
    for _ in range(2 if random.random() < _SECOND else 1):
        if forgery.arrays and random.random() < _ARRAYS:
            changes.append(_change_arrays(forgery, random))
        elif original.leaves:
            changes.append(_change_header(forgery, original.leaves, random))
    forgery.change = " and ".join(changes)
    return forgery


def _change_arrays(forgery: Forgery, random: np.random.Generator) -> str:
    """Change one array, or all arrays of its length in the same way; return the change in words."""
    arrays = forgery.arrays
    index = int(random.integers(len(arrays)))
    before = arrays[index]
    alike = [index]
    if before.ndim and random.random() < _TOGETHER:
        alike = [place for place, array in enumerate(arrays) if array.ndim and len(array) == len(before)]
    seed = int(random.integers(2**32))
    for place in alike:
        change, arrays[place] = change_array(arrays[place], np.random.default_rng(seed))
    also = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
    return f"array {index}{also} {before.dtype}{before.shape}: {change}"


def _list_leaves(node: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return the path of each value of the header that is no container."""
    if not isinstance(node, dict | list):
        return []
    leaves: list[tuple[Any, ...]] = []
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        # The type and the class of a node are the grammar of the file; other tests attack it.
        if key in ("type", "class", "version"):
            continue
        if not isinstance(value, dict | list) or not value:
            leaves.append((*path, key))
        else:
            leaves += _list_leaves(value, (*path, key))
    return leaves


def _change_header(forgery: Forgery, leaves: list[tuple[Any, ...]], random: np.random.Generator) -> str:
    """Change one number, text or reference of the header, or all copies of one number; return the change in words."""
    path = leaves[int(random.integers(len(leaves)))]
    before = _find(forgery.header["model"], path)
    together = type(before) is int and path[-1] != "index" and random.random() < _TOGETHER
    paths = [path]
    if together:
        model = forgery.header["model"]
        paths = [one for one in leaves if one[-1] != "index" and _is_copy(_find(model, one), before)]
    value = _choose_value(path, before, len(forgery.arrays), random)
    for one in paths:
        forgery.header = {**forgery.header, "model": replace_leaf(forgery.header["model"], one, value)}
    place = ".".join(str(key) for key in path) + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    return f"without {place}" if value is _NOTHING else f"{place} = {value!r}"


# Takes a place of the header away, where a value would replace it.
_NOTHING = object()


def _is_copy(value: Any, number: int) -> bool:
    return type(value) is int and value == number


def _choose_value(path: tuple[Any, ...], before: Any, n_arrays: int, random: np.random.Generator) -> Any:
    """Return another value for one place of the header; `_NOTHING` takes the place away."""
    if path[-1] == "index" and n_arrays:
        return int(random.integers(n_arrays))
    if path[-1] == "hex":
        return float(random.choice(ODD_FLOATS)).hex()
    if random.random() < 0.1:
        return _NOTHING
    if type(before) is int and random.random() < 0.5:
        # Off by one: the most likely mistake of a check.
        return before + int(random.choice([-1, 1]))
    return copy.copy(_ODD_SCALARS[int(random.integers(len(_ODD_SCALARS)))])


def _find(node: Any, path: tuple[Any, ...]) -> Any:
    """Return the value at a path, or None where an earlier change has taken it away."""
    for key in path:
        try:
            node = node[key]
        except (KeyError, IndexError, TypeError):
            return None
    return node


def replace_leaf(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of a node with another value at a path; what lies beside the path is shared."""
    if not path:
        return value
    other = copy.copy(node)
    try:
        if len(path) == 1 and value is _NOTHING:
            del other[path[0]]
        else:
            other[path[0]] = replace_leaf(node[path[0]], path[1:], value)
    except (KeyError, IndexError, TypeError):
        return node
    return other
