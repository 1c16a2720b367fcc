#!/usr/bin/env python3
"""Print the catalogue rows that no test proves, and fail if a test names a row that does not exist."""

import ast
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"


def read_catalogue():
    """Return the rows as a dictionary from identifier to title."""
    lines = (TESTS / "catalogue.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if line.strip())


def is_mark(node):
    """Whether a syntax node is a call of ``pytest.mark.catalogue``."""
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.catalogue"


def list_proven(path):
    """Return the identifiers that the marks in one file name."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    marks = (node for node in ast.walk(tree) if is_mark(node))
    return {argument.value for mark in marks for argument in mark.args if isinstance(argument, ast.Constant)}


def main():
    catalogue = read_catalogue()
    proven = set().union(*(list_proven(path) for path in TESTS.rglob("*.py")))
    for row, title in catalogue.items():
        if row not in proven:
            print(row, title)
    unknown = sorted(proven - set(catalogue))
    print(f"{len(proven & set(catalogue))} of {len(catalogue)} rows have a proving test.")
    if unknown:
        print(f"Tests name rows that are not in tests/catalogue.txt: {', '.join(unknown)}.", file=sys.stderr)
    return int(bool(unknown))


if __name__ == "__main__":
    sys.exit(main())
