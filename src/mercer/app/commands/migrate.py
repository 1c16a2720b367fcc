"""``mercer migrate``: rewrite the imports of programs that use scikit-learn."""

import argparse
import sys
from difflib import unified_diff
from pathlib import Path
from typing import Any

from mercer.errors import DataError

HELP = "rewrite imports of scikit-learn so that they import mercer, and list what will differ"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command to its parser."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="Python files, or folders of them")
    parser.add_argument("--check", action="store_true", help="print what would change as a diff, and write nothing")


def execute(options: Any) -> int:
    """Rewrite the files, or show how; the status is 0."""
    from mercer.app.switch.migration import migrate_source
    from mercer.app.switch.subjects import list_differences

    used: set[str] = set()
    left: list[str] = []
    for path in _list_files(options.paths):
        with open(path, encoding="utf-8", newline="") as file:
            source = file.read()
        found = migrate_source(source, str(path))
        used |= found.used
        left += [f"{path}:{line}: {text}" for line, text in found.left]
        if found.source == source:
            continue
        if options.check:
            lines = source.splitlines(keepends=True), found.source.splitlines(keepends=True)
            sys.stdout.writelines(unified_diff(*lines, str(path), str(path)))
        else:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(found.source)
            sys.stdout.write(f"{path}: rewritten\n")
    if left:
        sys.stdout.write("\nLeft as it is:\n" + "".join(f"  {line}\n" for line in left))
    for name in sorted(used):
        reasons = list_differences(name)
        sys.stdout.write(f"\n{name}:{'' if reasons else ' no known difference'}\n")
        sys.stdout.writelines(f"  - {reason}\n" for reason in reasons)
    return 0


def _list_files(paths: list[str]) -> list[Path]:
    """Return the Python files that are named, and those in the folders that are."""
    files: list[Path] = []
    for word in paths:
        path = Path(word)
        if not path.exists():
            raise DataError(f"migrate: there is no file or folder {word!r}.")
        files += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return files
