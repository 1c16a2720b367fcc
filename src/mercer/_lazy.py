"""Families that load a class when it is first asked for: importing a family then costs next to nothing.

A name that a family does not have, and that scikit-learn's module of the same name has, is scikit-learn's own object:
``mercer.metrics.accuracy_score is sklearn.metrics.accuracy_score``. One import then serves a whole program. Such names
are passed through when they are asked for; they are not in the family's ``__all__`` nor in the reference, and
:data:`NOT_PASSED` says which are left out, and why.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from opcode import opmap
from types import FrameType, ModuleType
from typing import Any

from mercer._families import FAMILIES

_DOWNLOADS = "it downloads a file, and mercer downloads nothing"
# Public names of scikit-learn that mercer does not pass through, with the reason.
NOT_PASSED = {
    f"sklearn.datasets.{name}": _DOWNLOADS
    for name in (
        "fetch_20newsgroups",
        "fetch_20newsgroups_vectorized",
        "fetch_california_housing",
        "fetch_covtype",
        "fetch_file",
        "fetch_kddcup99",
        "fetch_lfw_pairs",
        "fetch_lfw_people",
        "fetch_olivetti_faces",
        "fetch_openml",
        "fetch_rcv1",
        "fetch_species_distributions",
    )
}

# What scikit-learn loads only after a module that switches it on.
_SWITCH = "sklearn.experimental.enable_halving_search_cv"
_SWITCHED = {"HalvingGridSearchCV": _SWITCH, "HalvingRandomSearchCV": _SWITCH}


def load_on_use(
    family: str, homes: Mapping[str, Sequence[str]], scikit: str = ""
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
    scikit : str, default=""
        The module of scikit-learn whose other public names are passed through, such as "sklearn.svm".

    Returns
    -------
    find : callable
        From a name to its object, which becomes an attribute of the family.
    list_attributes : callable
        Returns all names of the family, private ones too, and those that are passed through.
    names : list of str
        The public names.
    """
    places = {name: f"{family}.{home}" for home, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name in places:
            value = getattr(importlib.import_module(places[name]), name)
        elif scikit and not name.startswith("_") and name in list_passed(scikit):
            if name in _SWITCHED:
                importlib.import_module(_SWITCHED[name])
            value = getattr(importlib.import_module(scikit), name)
            if isinstance(value, ModuleType) and importlib.util.find_spec(f"{family}.{name}") is not None:
                # A module of scikit-learn's for which the family has its own, as `mercer.feature_extraction.text`.
                value = importlib.import_module(f"{family}.{name}")
        else:
            # A module that is being imported is found by Python itself after an AttributeError.
            told = f"{family}.{name}" not in sys.modules and _is_import(sys._getframe(1))
            kind = ImportError if told else AttributeError
            raise kind(f"module {family!r} has no attribute {name!r}{_advise(name, places, scikit)}.")
        vars(importlib.import_module(family))[name] = value
        return value

    def list_attributes() -> list[str]:
        return sorted({*vars(importlib.import_module(family)), *places, *(list_passed(scikit) if scikit else ())})

    return find, list_attributes, sorted(places)


def _is_import(frame: FrameType) -> bool:
    """Return whether a frame is at ``from family import name``, where Python replaces the words of AttributeError."""
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


def list_passed(scikit: str) -> list[str]:
    """Return the names of a module of scikit-learn that a family may pass through.

    A module without ``__all__``, such as ``sklearn.base``, gives the classes and functions that it defines itself.
    """
    module = importlib.import_module(scikit)
    names = getattr(module, "__all__", None)
    if names is None:
        names = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == scikit]
    return sorted(name for name in names if not name.startswith("_") and f"{scikit}.{name}" not in NOT_PASSED)


def _advise(name: str, places: Mapping[str, str], scikit: str) -> str:
    """Return where a name is that a family does not have: left out for a reason, or spelled otherwise."""
    if name.startswith("_"):
        return ""
    reason = NOT_PASSED.get(f"{scikit}.{name}")
    if reason:
        return f": {reason}. Import it from {scikit}"
    homes = _find_homes(name)
    if homes:
        return f"; {' and '.join(homes)} {'has' if len(homes) == 1 else 'have'} it"
    near = get_close_matches(name, [*places, *(list_passed(scikit) if scikit else ())], n=1)
    return f"; the nearest name is {near[0]!r}" if near else ""


def _find_homes(name: str) -> list[str]:
    """Return the families that have a public name of their own."""
    families = [importlib.import_module(f"mercer.{family}") for family in FAMILIES]
    return [family.__name__ for family in families if name in getattr(family, "__all__", ())]
