"""What a class stores, declared beside the class: kinds, shapes and ranges of its arrays.

Native code trusts the arrays of a fitted model. A model file may have been written by an enemy, so its arrays are
compared with these declarations before anything uses them:

    _stored = {"cluster_centers_": floats("clusters, columns"), "labels_": integers("rows", low=-1, below="clusters")}

A word is a size: wherever it occurs in one object it must stand for the same number. ``columns`` is the number of input
columns and ``classes`` the number of classes. Alternatives are separated by ``|``.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from mercer.errors import ModelFileError

__all__ = ["Stored", "check_stored", "flags", "floats", "integers", "numbers", "texts"]


class Stored(NamedTuple):
    """A declared array.

    Attributes
    ----------
    kinds : str
        The letters of the NumPy kinds that it may have, as in ``dtype.kind``.
    shapes : tuple of tuple of str
        The shapes that it may have: each axis is a number, or the name of a size.
    low : int or None
        The lowest integer that it may hold.
    below : str or None
        The size that all its integers are below: they are indices.
    """

    kinds: str
    shapes: tuple[tuple[str, ...], ...]
    low: int | None = None
    below: str | None = None


def _parse(shapes: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(word.strip() for word in shape.split(",") if word.strip()) for shape in shapes.split("|"))


def floats(shapes: str) -> Stored:
    """Declare an array of floats."""
    return Stored("f", _parse(shapes))


def numbers(shapes: str) -> Stored:
    """Declare an array of floats or integers."""
    return Stored("fiu", _parse(shapes))


def integers(shapes: str, low: int | None = None, below: str | None = None) -> Stored:
    """Declare an array of integers, with the lowest value and the size that all are below, if any."""
    return Stored("iu", _parse(shapes), low, below)


def flags(shapes: str) -> Stored:
    """Declare an array of truth values, or of bytes that stand for them."""
    return Stored("bu", _parse(shapes))


def texts(shapes: str) -> Stored:
    """Declare an array of texts."""
    return Stored("UO", _parse(shapes))


def check_stored(
    subject: str, values: Mapping[str, Any], declared: Mapping[str, Stored], sizes: dict[str, int]
) -> None:
    """Compare arrays with their declarations; raise ModelFileError for the first that differs.

    Values that are absent, None or single numbers are left alone. `sizes` holds what is known before, and gains the
    sizes that the arrays show.
    """
    for name, rule in declared.items():
        value = values.get(name)
        if isinstance(value, np.ndarray) or issparse(value):
            _check_array(f"{subject}.{name}", value, rule, sizes)


def _check_array(place: str, array: Any, rule: Stored, sizes: dict[str, int]) -> None:
    if array.dtype.kind not in rule.kinds:
        message = f"{place} must be of kind {' or '.join(rule.kinds)}; the file has {array.dtype}."
        raise ModelFileError(message)
    learnt = next((known for shape in rule.shapes if (known := _match(array.shape, shape, sizes)) is not None), None)
    if learnt is None:
        wanted = " or ".join(f"({', '.join(_spell(axis, sizes) for axis in shape)})" for shape in rule.shapes)
        message = f"{place} must have the shape {wanted}; the file has {array.shape}."
        raise ModelFileError(message)
    sizes.update(learnt)
    if issparse(array) or not array.size or (rule.low is None and rule.below is None):
        return
    lowest, highest = int(array.min()), int(array.max())
    end = sizes.get(rule.below) if rule.below else None
    if (rule.low is not None and lowest < rule.low) or (end is not None and highest >= end):
        message = f"{place} must hold integers in [{rule.low}, {end}); the file has {lowest} to {highest}."
        raise ModelFileError(message)


def _match(shape: tuple[int, ...], wanted: tuple[str, ...], sizes: dict[str, int]) -> dict[str, int] | None:
    """Return the sizes that a shape shows, or None if it does not match."""
    if len(shape) != len(wanted):
        return None
    learnt: dict[str, int] = {}
    for length, axis in zip(shape, wanted, strict=True):
        known = int(axis) if axis.isdigit() else sizes.get(axis, learnt.get(axis))
        if known is None:
            learnt[axis] = length
        elif known != length:
            return None
    return learnt


def _spell(axis: str, sizes: dict[str, int]) -> str:
    return f"{axis} = {sizes[axis]}" if axis in sizes else axis
