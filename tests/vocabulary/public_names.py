"""Every public name of the library, and the parameters that documentation gives a type to."""

import importlib
import inspect
import pkgutil
import re

import mercer

# A line of a numpydoc section "Parameters": names, a colon, a type.
PARAMETER = re.compile(r"^(?P<names>\w+(?:, \w+)*) : (?P<type>.*)$", re.MULTILINE)
# Rooms whose names are not parts of models: the command line, data, pictures of results, errors.
OTHER_ROOMS = ("app", "datasets", "errors")


def list_public_names():
    """Yield (qualified name, object) for every name in the `__all__` of a public room, once per object."""
    seen = set()
    for room in pkgutil.iter_modules(mercer.__path__):
        if room.name.startswith("_") or room.name in OTHER_ROOMS:
            continue
        module = importlib.import_module(f"mercer.{room.name}")
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if id(thing) not in seen:
                seen.add(id(thing))
                yield f"{room.name}.{name}", thing


def list_classes(accepts):
    """Return the public classes that `accepts` answers True for, by qualified name."""
    return {name: thing for name, thing in list_public_names() if isinstance(thing, type) and accepts(thing)}


def list_consumers(pattern, names=()):
    """Return the public callables with a parameter whose documented type matches, or whose name is one of `names`."""
    found = {}
    for name, thing in list_public_names():
        if not callable(thing):
            continue
        text = inspect.getdoc(thing) or ""
        typed = any(re.search(pattern, match["type"]) for match in PARAMETER.finditer(_read_parameters(text)))
        try:
            named = set(names) & set(inspect.signature(thing).parameters)
        except (TypeError, ValueError):
            named = set()
        if typed or named:
            found[name] = thing
    return found


def _read_parameters(text):
    """Return the section of the parameters of a docstring."""
    match = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}|\Z)", text, re.MULTILINE | re.DOTALL)
    return match[1] if match else ""
