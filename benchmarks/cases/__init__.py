"""All cases, by name."""

from importlib import import_module
from pkgutil import iter_modules

from benchmarks.case import Case

__all__ = ["CASES", "select"]

FAMILIES = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
CASES: dict[str, Case] = {case.name: case for family in FAMILIES for case in family.CASES}


def select(name: str) -> list[Case]:
    """Return the case of that name, or all whose names begin with it; ``all`` is every case."""
    if name in CASES:
        return [CASES[name]]
    found = [case for key, case in CASES.items() if name == "all" or key.startswith(f"{name}_")]
    if not found:
        message = f"benchmarks: --case must be all or the name, or first words of the name, of a case; got {name!r}. "
        message += f"The cases are {', '.join(CASES)}."
        raise KeyError(message)
    return found
