"""Families that load a class when it is first asked for: importing a family then costs next to nothing."""

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def load_on_use(
    family: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the ``__getattr__``, the ``__dir__`` and the ``__all__`` of a family.

    The table is the one place that lists the public names of the family. Type checkers and editors read them in the
    stub beside it, ``__init__.pyi``, which ``python -m tools.make_stubs`` writes from the table.

    Parameters
    ----------
    family : str
        The module, such as "mercer.svm".
    homes : mapping
        From a module of the family, such as "_svc", to the names that the family takes from it.

    Returns
    -------
    find : callable
        From a name to its object, which becomes an attribute of the family.
    list_attributes : callable
        Returns all names of the family, private ones too.
    names : list of str
        The public names.
    """
    places = {name: f"{family}.{home}" for home, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {family!r} has no attribute {name!r}.")
        value = getattr(importlib.import_module(places[name]), name)
        vars(importlib.import_module(family))[name] = value
        return value

    def list_attributes() -> list[str]:
        return sorted({*vars(importlib.import_module(family)), *places})

    return find, list_attributes, sorted(places)
