"""A study: from a table to an honest model. What it finds is a :class:`~mercer.app.study.record.Record`."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.app.study.clock import ProgressEvent
    from mercer.app.study.engine import study
    from mercer.app.study.result import Study

__all__ = ["ProgressEvent", "Study", "study"]

_HOMES = {"ProgressEvent": "clock", "Study": "result", "study": "engine"}


def __getattr__(name: str) -> Any:
    # A record is read and shown without what made it.
    if name in _HOMES:
        return getattr(importlib.import_module(f"mercer.app.study.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'mercer.app.study' has no attribute {name!r}")
