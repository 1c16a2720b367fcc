#!/usr/bin/env python3
"""Write what is promised of each stable name: parameters, defaults, methods, fitted attributes, options of commands.

    python -m tools.make_interfaces           write tests/golden/stable_names.txt
    python -m tools.make_interfaces --check   print what differs from it; fail if anything does

A line that disappears or changes is a breaking change. The page *Stability* says how to make one: the old form works
with a ``FutureWarning`` for two minor versions first.
"""

import argparse
import difflib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mercer._base.estimator import Estimator
from mercer.app.commands import COMMANDS
from mercer.app.commands.completion import list_flags
from tools.stable_names import is_stable, list_public

PAGE = Path(__file__).parents[1] / "tests" / "golden" / "stable_names.txt"
HEAD = "# Written by `python -m tools.make_interfaces`: the interface of every stable name. See docs/stability.md.\n"
# Objects of these modules are handed to estimators as parameters: how solvers call them is not promised.
HANDED_OVER = ("mercer.kernels", "mercer.objectives", "mercer.optim", "mercer.watch")
# What every estimator has; of the other attributes that all may store, those count that a class documents.
OF_ALL = {"certificate_", "converged_", "feature_names_in_", "history_", "n_features_in_", "n_iter_"}
# Values whose ``repr`` is the same in every version of Python.
PLAIN = (type(None), bool, int, float, str, bytes, tuple, list, dict, frozenset)


def describe_all() -> str:
    """Return the interface of every stable name and command."""
    things = sorted((f"{module}.{name}", thing) for module, name, thing in list_public() if is_stable(module, name))
    lines = [line for address, thing in things for line in describe(address, thing)]
    lines += [f"$ mercer {name} {' '.join(sorted(list_flags(name)))}".rstrip() for name in sorted(COMMANDS)]
    return HEAD + "\n".join(lines) + "\n"


def describe(address: str, thing: Any) -> Iterator[str]:
    """Yield the lines of one name; those below the first are indented."""
    if isinstance(thing, type) and issubclass(thing, BaseException):
        yield f"{address} is a {', '.join(base.__name__ for base in thing.__mro__[1:-2])}"
    elif isinstance(thing, type):
        yield f"{address}{describe_signature(thing)}"
        attributes = list_attributes(thing)
        if attributes:
            yield f"    {thing.__name__} has {', '.join(attributes)}"
        for name, method in () if address.startswith(HANDED_OVER) else list_methods(thing):
            yield f"    {thing.__name__}.{name}{describe_signature(method)}"
    elif callable(thing):
        yield f"{address}{describe_signature(thing)}"
    else:
        yield f"{address} is a {type(thing).__name__}"


def describe_signature(function: Any) -> str:
    """Return a signature without its annotations."""
    signature = inspect.signature(function)
    parameters = [
        one.replace(annotation=inspect.Parameter.empty, default=_Spelled.of(one.default))
        for one in signature.parameters.values()
        if one.name not in ("self", "cls")
    ]
    return str(inspect.Signature(parameters))


class _Spelled(str):
    """A default as the file spells it: plain values by ``repr``, classes and functions by name, others by type."""

    __slots__ = ()

    @classmethod
    def of(cls, default: Any) -> Any:
        """Return the spelling of a default; the mark of an absent one as it is."""
        if default is inspect.Parameter.empty:
            return default
        if isinstance(default, PLAIN):
            return cls(repr(default))
        if type(default).__name__ == "_HAS_DEFAULT_FACTORY_CLASS":
            return cls("<made anew>")
        return cls(getattr(default, "__qualname__", f"{type(default).__name__}()"))

    def __repr__(self) -> str:
        return str(self)


def list_attributes(cls: type) -> list[str]:
    """Return the public attributes of a class: those that a fit stores, and its properties."""
    promised = {name for name, value in _list_own(cls) if isinstance(value, property)}
    if issubclass(cls, Estimator):
        documented = re.findall(r"^(?:\w+, )*\w+(?= :)", inspect.getdoc(cls) or "", re.MULTILINE)
        promised |= OF_ALL | set(Estimator._stored) & set(", ".join(documented).split(", "))
        promised |= {name for base in cls.__mro__ if base is not Estimator for name in vars(base).get("_stored", ())}
    return sorted(name for name in promised if not name.startswith("_"))


def list_methods(cls: type) -> list[tuple[str, Any]]:
    """Return the public methods that mercer defines, by name; scikit-learn's own are scikit-learn's to promise."""
    found = [(name, getattr(cls, name)) for name, value in _list_own(cls) if not isinstance(value, property)]
    kinds = (types.FunctionType, types.MethodType)
    return [(name, value) for name, value in found if isinstance(value, kinds) and _is_ours(value)]


def _list_own(cls: type) -> list[tuple[str, Any]]:
    """Return the public attributes of a class and its bases in mercer, as they are stored."""
    names = sorted({name for base in cls.__mro__ if _is_ours(base) for name in vars(base) if not name.startswith("_")})
    return [(name, inspect.getattr_static(cls, name)) for name in names]


def _is_ours(thing: Any) -> bool:
    return str(thing.__module__).partition(".")[0] == "mercer"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; print what differs and fail")
    text = describe_all()
    if not parser.parse_args().check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    stored = PAGE.read_text(encoding="utf-8")
    sys.stdout.writelines(difflib.unified_diff(stored.splitlines(True), text.splitlines(True), "stored", "now", n=0))
    return int(stored != text)


if __name__ == "__main__":
    sys.exit(main())
