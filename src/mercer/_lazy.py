"""Families that load a class when it is first asked for: importing a family then costs next to nothing."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["load_on_use"]


def load_on_use(
    family: str, homes: Mapping[str, Sequence[str]], otherwise: Callable[[str], Any] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a family.

    Parameters
    ----------
    family : str
        The module, such as "mercer.svm".
    homes : mapping
        From a module of the family, such as "_svc", to the names that the family takes from it.
    otherwise : callable or None
        What to ask for a name that no module has; it raises AttributeError where it does not know the name either.

    Returns
    -------
    find : callable
        From a name to its object, which becomes an attribute of the family.
    list_names : callable
        Returns all names of the family.
    """
    places = {name: f"{family}.{home}" for home, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name in places:
            value = getattr(importlib.import_module(places[name]), name)
            vars(importlib.import_module(family))[name] = value
            return value
        if otherwise is not None:
            return otherwise(name)
        message = f"module {family!r} has no attribute {name!r}."
        raise AttributeError(message)

    def list_names() -> list[str]:
        return sorted({*vars(importlib.import_module(family)), *places})

    return find, list_names
