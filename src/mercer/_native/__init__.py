"""Compiled functions, one module per subject, in the build that suits this CPU.

``from mercer._native import elementary`` gives the module compiled for the level that :func:`level` names. Every native
module is a plain Python file in this folder, translated by Cython and compiled once per level; with
``MERCER_INTERPRET=1`` the file itself is run instead, as the oracle of its compiled forms.

Native functions use one thread, work on one block of rows and release the interpreter lock: threads are the business of
``mercer._source``. They check nothing; shapes and types are the caller's business.
"""

import importlib
import os
from functools import cache

from mercer._native.level import choose_level
from mercer.errors import CpuLevelError

__all__ = ["level"]


@cache
def level() -> str:
    """Return which build of the native modules is in use: "v2", "v3", "v4", "plain" or "interpreted"."""
    if os.environ.get("MERCER_INTERPRET", "0") not in ("", "0"):
        return _interpreted()
    return choose_level(os.environ.get("MERCER_CPU", ""))


def _interpreted() -> str:
    try:
        importlib.import_module("cython")
    except ImportError as error:
        message = "MERCER_INTERPRET: running native code uncompiled needs Cython; install it, or unset the variable."
        raise CpuLevelError(message) from error
    return "interpreted"


def __getattr__(name: str):
    if name.startswith("_"):
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    qualified = f"{__name__}.{level()}.{name}"
    try:
        module = importlib.import_module(qualified)
    except ModuleNotFoundError as error:
        if error.name != qualified:
            raise
        message = f"module {__name__!r} has no native module {name!r}"
        raise AttributeError(message) from error
    globals()[name] = module
    return module
