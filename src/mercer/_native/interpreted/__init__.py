"""The native modules uncompiled: this package's modules are the Python files of the folder above."""

from pathlib import Path

__path__ = [str(Path(__file__).parents[1])]
