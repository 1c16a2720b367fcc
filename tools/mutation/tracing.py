"""A pytest plugin that notes which test executes which line of the sources under mutation."""

import json
import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

_SOURCES = tuple(str(Path(source).resolve()) for source in os.environ["MUTATION_SOURCES"].split(os.pathsep))
_lines: dict[str, set[str]] = defaultdict(set)
_seconds: dict[str, float] = {}
_of_module: dict[str, set[str]] = defaultdict(set)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    """Trace one test with its fixtures."""
    seen: set[tuple[str, int]] = set()

    def follow(frame: FrameType, event: str, argument: Any) -> Any:
        seen.add((frame.f_code.co_filename, frame.f_lineno))
        return follow

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        return follow(frame, event, argument) if frame.f_code.co_filename.startswith(_SOURCES) else None

    start = time.perf_counter()
    sys.settrace(enter)
    yield
    sys.settrace(None)
    _seconds[item.nodeid] = time.perf_counter() - start
    for path, line in seen:
        name = os.path.relpath(path)
        _lines[f"{name}:{line}"].add(item.nodeid)
        _of_module[f"{name}:module"].add(item.nodeid)


def pytest_sessionfinish() -> None:
    """Write what was seen, the quickest test of each line first."""
    merged = {**_lines, **_of_module}
    table = {line: sorted(tests, key=_seconds.__getitem__) for line, tests in merged.items()}
    Path(os.environ["MUTATION_OUT"]).write_text(json.dumps(table))
