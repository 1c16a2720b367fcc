"""Make commands start sooner: load scikit-learn and models without modules that predictions do not use."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

# Modules that others import for functions which predictions do not call, and the names that are imported from each.
# scikit-learn imports scipy.stats in many places, BSpline for splines, and pandas for one of its versions; SciPy takes
# every name of NumPy, and so its compiler for Fortran. Loading them takes most of the time in which scikit-learn loads.
_SPARED: dict[str, tuple[str, ...]] = {
    "scipy.stats": (),
    "scipy.interpolate": ("BSpline",),
    "numpy.f2py": (),
    "pandas": (),
}
# Modules that others do without if they are not installed: scikit-learn shows progress bars with rich, and joblib
# counts the memory of its processes with psutil. Predictions have neither.
_HIDDEN = ("rich.progress", "psutil")


class _Placeholder(ModuleType):
    """Stands for a module that is not loaded yet; the first attribute that somebody asks for loads it."""

    def __getattr__(self, name: str) -> Any:
        # The import system asks for names such as __path__ and __spec__, which need no real module.
        if name.startswith("__"):
            raise AttributeError(name)
        spared = self.__name__
        if sys.modules.get(spared) is self:
            if name in _SPARED[spared]:
                return _Name(spared, name)
            _restore(self)
        # Python's import lock makes this safe where several threads ask at once.
        return getattr(importlib.import_module(spared), name)


class _Name:
    """Stands for a class of a module that is not loaded yet: a call, or an attribute, loads the module."""

    def __init__(self, module: str, name: str) -> None:
        self._place = module, name

    def _load(self) -> Any:
        module, name = self._place
        return getattr(importlib.import_module(module), name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._load()(*given, **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._load(), name)


def _restore(placeholder: _Placeholder) -> None:
    """Let later imports find the real module."""
    name = placeholder.__name__
    if sys.modules.get(name) is placeholder:
        del sys.modules[name]
    package, _, last = name.rpartition(".")
    parent = sys.modules.get(package)
    if parent is not None and vars(parent).get(last) is placeholder:
        # The package's own attribute is found anew, as the real module, when it is next asked for.
        delattr(parent, last)


@contextmanager
def spare_modules() -> Iterator[None]:
    """Leave some modules unloaded while the block imports others, until one of their functions is used.

    A module that was imported in the block may keep a placeholder, which then passes every name on to the real module.
    After the block, imports find the real modules.
    """
    import numpy

    placeholders = [_Placeholder(name) for name in _SPARED if name not in sys.modules]
    for placeholder in placeholders:
        sys.modules[placeholder.__name__] = placeholder
        if placeholder.__name__ == "numpy.f2py":
            # NumPy imports it when it is asked for it, and expects to have it as an attribute then.
            numpy.f2py = placeholder  # type: ignore[assignment]
    hidden = [name for name in _HIDDEN if name not in sys.modules]
    # An import finds None here and raises ImportError, as if the module were not installed.
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for placeholder in placeholders:
            _restore(placeholder)
        for name in hidden:
            if sys.modules.get(name, ...) is None:
                del sys.modules[name]
