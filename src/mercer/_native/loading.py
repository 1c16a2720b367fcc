"""Load the native modules that were compiled for this CPU."""

import importlib
import os
import sys
from functools import cache
from types import ModuleType

from mercer._native.level import choose_level
from mercer.errors import CpuLevelError


@cache
def level() -> str:
    """Return which build of the native modules is in use: "v2", "v3", "v4", "plain" or "interpreted"."""
    if os.environ.get("MERCER_INTERPRET", "0") not in ("", "0"):
        return _require_cython()
    return choose_level(os.environ.get("MERCER_CPU", ""))


def _require_cython() -> str:
    """Return the level of uncompiled native code; raise if Cython, which it needs, is not installed."""
    try:
        importlib.import_module("cython")
    except ImportError as error:
        raise CpuLevelError(
            "MERCER_INTERPRET: running native code uncompiled needs Cython; install it, or unset the variable."
        ) from error
    return "interpreted"


def load_module(room: str, name: str) -> ModuleType:
    """Return the native module ``name`` of a room, compiled for this CPU.

    Rooms call this from their ``__getattr__``. Compiled modules of all rooms lie side by side in
    ``mercer._native.LEVEL``, so the name of a native module is unique in the whole of ``_native``.
    """
    # Python asks modules for private names such as __path__; they are never native modules.
    if name.startswith("_"):
        raise AttributeError(f"module {room!r} has no attribute {name!r}")
    qualified = f"mercer._native.{level()}.{name}"
    try:
        module = importlib.import_module(qualified)
    except ModuleNotFoundError as error:
        # The module exists but one of its own imports does not: that error says more.
        if error.name != qualified:
            raise
        raise AttributeError(f"module {room!r} has no native module {name!r}") from error
    # The next access finds the attribute and does not come here again.
    setattr(sys.modules[room], name, module)
    return module
