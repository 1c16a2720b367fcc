"""The native modules uncompiled: this package's modules are the Python files of the rooms beside it."""

from pathlib import Path

__path__ = [str(room.parent) for room in sorted(Path(__file__).parents[1].glob("*/__init__.py"))]
