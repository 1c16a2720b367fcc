"""The places of names in scikit-learn's public modules, and in modules that have imported them already.

A module of scikit-learn's gets a class of its own, on which each replaced name is a property: it gives the stand-in to
programs and the module's own object to scikit-learn and mercer, whose code so runs as it was written. What functions of
the module find as their globals stays. Modules that are imported later get their class as they are loaded.
"""

import importlib
import importlib.abc
import importlib.machinery
import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache, partial
from types import ModuleType
from typing import Any

from mercer.app.switch.differences import REPLACED

_OWN = ("sklearn", "mercer")
Find = Callable[[ModuleType, str, Any], Any]


@cache
def list_names() -> dict[str, dict[str, str]]:
    """Return, for each public module of scikit-learn, the replaced names and the family of mercer that has each."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for address, names in REPLACED.items():
        family, *rest = address.split(".")
        public = [".".join((family, *rest))] if not any(part.startswith("_") for part in rest) else []
        for place in {family, *public}:
            found[f"sklearn.{place}"].update(dict.fromkeys(names, family))
    return dict(found)


def is_own(thing: Any, name: str) -> bool:
    """Return whether an object is scikit-learn's class or function of that name, and not what a program put there."""
    home = getattr(thing, "__module__", None) or ""
    kind = inspect.isclass(thing) or inspect.isfunction(thing)
    return kind and thing.__name__ == name and home.split(".")[0] == "sklearn"


class _Place:
    """A replaced name of a module: what programs read, what scikit-learn reads, and what is assigned to it."""

    def __init__(self, name: str, find: Find) -> None:
        self._name = name
        self._find = find

    def __get__(self, module: ModuleType | None, kind: type) -> Any:
        if module is None:
            return self
        if self._name not in vars(module):
            raise AttributeError(f"module {module.__name__!r} has no attribute {self._name!r}")
        value = vars(module)[self._name]
        asking = sys._getframe(1).f_globals.get("__name__") or ""
        if asking.split(".")[0] in _OWN or not is_own(value, self._name):
            return value
        return self._find(module, self._name, value)

    def __set__(self, module: ModuleType, value: Any) -> None:
        vars(module)[self._name] = value

    def __delete__(self, module: ModuleType) -> None:
        del vars(module)[self._name]


class Places(importlib.abc.MetaPathFinder):
    """The modules whose names are replaced, from :meth:`open` to :meth:`close`."""

    def __init__(self, find: Find, opened: Callable[[ModuleType], None]) -> None:
        self._find = find
        self._opened = opened
        self._classes: dict[str, type] = {}

    def open(self) -> None:
        """Replace names in modules that are loaded, and in those that will be."""
        sys.meta_path.insert(0, self)
        for address in list_names():
            if address in sys.modules:
                self._open_module(sys.modules[address])

    def close(self) -> None:
        """Give the modules their own class again."""
        sys.meta_path.remove(self)
        for address, kind in self._classes.items():
            if address in sys.modules:
                sys.modules[address].__class__ = kind
        self._classes.clear()

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """Return how a module of scikit-learn's is loaded whose names are to be replaced; None for all others."""
        if name not in list_names():
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader.exec_module = partial(self._execute, spec.loader.exec_module)  # type: ignore[method-assign]
                return spec
        return None

    def _execute(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        execute(module)
        if self in sys.meta_path:
            self._open_module(module)

    def _open_module(self, module: ModuleType) -> None:
        kind = self._classes[module.__name__] = type(module)
        names: dict[str, Any] = {name: _Place(name, self._find) for name in list_names()[module.__name__]}
        module.__class__ = type(kind.__name__, (kind,), names)
        self._opened(module)


def replace_elsewhere(exchange: Callable[[Any], Any]) -> list[tuple[ModuleType, str, Any, Any]]:
    """Replace what modules of programs and other libraries have imported already.

    `exchange` returns the stand-in of an object, or the object itself. Returned are the module, the name, what was
    there and what is there now.
    """
    replaced = []
    for title, module in list(sys.modules.items()):
        if title.split(".")[0] in _OWN or not isinstance(module, ModuleType):
            continue
        for name, value in list(vars(module).items()):
            stand_in = exchange(value) if inspect.isclass(value) or inspect.isfunction(value) else value
            if stand_in is not value:
                setattr(module, name, stand_in)
                replaced.append((module, name, value, stand_in))
    return replaced
