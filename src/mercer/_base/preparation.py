"""Values that a fitted model computes at its first prediction and reuses in later ones."""

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Thing = TypeVar("Thing")
_KNOWN: WeakKeyDictionary[Any, tuple[tuple[Any, ...], Any]] = WeakKeyDictionary()


def prepare_once(model: Any, sources: tuple[Any, ...], make: Callable[[], Thing]) -> Thing:
    """Return what `make` made for this model from these very `sources`; it is dropped with the model."""
    known = _KNOWN.get(model)
    if known is None or any(source is not other for source, other in zip(known[0], sources, strict=True)):
        known = sources, make()
        _KNOWN[model] = known
    return known[1]
