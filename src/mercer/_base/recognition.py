"""Let ``isinstance`` take models of mercer for those of scikit-learn's class of the same name.

Tools such as :func:`sklearn.tree.plot_tree`, :func:`sklearn.inspection.partial_dependence` and the package shap ask
for scikit-learn's own classes of trees before they read attributes that mercer's have too. Nothing is imported for
this: a class is registered when it is asked about, if scikit-learn's module has been imported by then.
"""

import sys
from abc import ABCMeta
from typing import Any

# Classes that have been registered with scikit-learn's.
_KNOWN: set[type] = set()
_CLASS: Any = object.__dict__["__class__"]


class Recognised:
    """A class that is a virtual subclass of scikit-learn's class of the same name and family."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # type: ignore[override]
        """The class itself. ``isinstance`` asks for it when an object is of no class derived from the one asked."""
        kind = type(self)
        if kind not in _KNOWN:
            register_class(kind)
        return kind

    @__class__.setter
    def __class__(self, kind: type) -> None:
        _CLASS.__set__(self, kind)


def register_class(kind: type) -> None:
    """Register a class, and those that it derives from, with scikit-learn's classes that have been imported."""
    complete = True
    for one in kind.__mro__:
        parts = one.__module__.split(".")
        if parts[0] != "mercer" or one.__name__.startswith("_") or one in _KNOWN:
            continue
        module = sys.modules.get(f"sklearn.{parts[1]}")
        theirs = getattr(module, one.__name__, None) if module is not None else None
        if isinstance(theirs, ABCMeta) and theirs.__module__.startswith("sklearn."):
            theirs.register(one)
            _KNOWN.add(one)
        elif one is kind and module is None:
            complete = False
    if complete:
        _KNOWN.add(kind)
