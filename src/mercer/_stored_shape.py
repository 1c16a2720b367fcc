"""Shapes in declarations of stored attributes: how they are written, compared with arrays, and put into words."""

from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse

# NumPy's kind of the single values that Python has.
_SCALAR_KINDS = {bool: "b", int: "i", float: "f", complex: "c", str: "U"}
# Sizes that are at least 1 in every model.
_NEVER_EMPTY = ("classes", "states", "centres")
NONE = ("none",)
_ANY = ("...",)
# What has a shape and a type. A tuple, made once: ``np.ndarray | np.generic`` takes longer than the check itself.
ARRAYS = (np.ndarray, np.generic)
# An axis is the name of a size, ``*``, or a number.
Axis: TypeAlias = str | int


def parse(shapes: str) -> tuple[tuple[Axis, ...], ...]:
    """Return the shapes that a declaration allows, each as its axes."""
    return tuple(tuple(_parse_axis(word) for word in shape.split(",") if word.strip()) for shape in shapes.split("|"))


def _parse_axis(word: str) -> Axis:
    word = word.strip()
    return int(word) if word.isdigit() else word


def read_form(value: Any) -> tuple[tuple[Any, ...] | None, str, bool]:
    """Return the shape and the kind of an array or single value, None for anything else; and whether it is sparse."""
    # Most values are arrays: the other questions are asked of the others only.
    if isinstance(value, ARRAYS):
        return value.shape, value.dtype.kind, False
    if value is None:
        return NONE, "", False
    kind = _SCALAR_KINDS.get(type(value))
    if kind is not None:
        return (), kind, False
    return (value.shape, value.dtype.kind, True) if issparse(value) else (None, "", False)


def match(shape: tuple[Any, ...], wanted: tuple[Axis, ...], sizes: dict[str, int]) -> dict[str, int] | None:
    """Return the sizes that a shape shows, or None if it does not match."""
    if shape == NONE or wanted == NONE:
        return {} if shape == wanted else None
    if wanted == _ANY:
        return {}
    if len(shape) != len(wanted):
        return None
    learnt: dict[str, int] = {}
    for length, axis in zip(shape, wanted):
        if axis == "*":
            continue
        if isinstance(axis, int):
            known: int | None = axis
        elif length == 0 and axis in _NEVER_EMPTY:
            return None
        else:
            known = sizes.get(axis, learnt.get(axis))
        if known is None:
            learnt[axis] = length  # type: ignore[index]
        elif known != length:
            return None
    return learnt


def spell_axis(axis: Any, sizes: dict[str, int]) -> str:
    """Return an axis in words, with its size where that is known."""
    return f"{axis} = {sizes[axis]}" if axis in sizes else str(axis)


def spell_shape(shape: tuple[Any, ...], sizes: dict[str, int]) -> str:
    """Return a shape in words, for errors."""
    return "None" if shape == NONE else f"({', '.join(spell_axis(axis, sizes) for axis in shape)})"


def spell_form(kind: str, shape: tuple[Axis, ...]) -> str:
    """Return a declared kind and shape in words, for the documentation."""
    if shape == NONE:
        return "None"
    return f"{kind} array ({', '.join(map(str, shape))})" if shape else f"a single {kind}"
