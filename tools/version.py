#!/usr/bin/env python3
"""Print the version that src/mercer/_version.py states, for the build to read."""

import re
from pathlib import Path

TEXT = (Path(__file__).parents[1] / "src" / "mercer" / "_version.py").read_text(encoding="utf-8")

if __name__ == "__main__":
    print(re.search(r'^__version__ = "(.+)"$', TEXT, re.MULTILINE).group(1))
