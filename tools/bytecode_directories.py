#!/usr/bin/env python3
"""Print, one per line, where Python would keep bytecode inside a source tree, for the build to leave out."""

import os
import sys
from pathlib import Path


def list_bytecode_directories(root):
    """Return the ``__pycache__`` path of every directory under `root`, relative to it."""
    directories = (Path(path).relative_to(root) for path, _, _ in os.walk(root))
    return sorted((path / "__pycache__").as_posix() for path in directories if path.name != "__pycache__")


if __name__ == "__main__":
    print("\n".join(list_bytecode_directories(sys.argv[1])))
