#!/usr/bin/env python3
"""Write the table of rooms in docs/architecture.md from the source: what each folder is for and what it imports.

``python -m tools.room_map`` rewrites the table; ``--check`` fails if the page is out of date, and a test does the same.
"""

import ast
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN = "<!-- rooms: written by tools/room_map.py -->"
END = "<!-- end of rooms -->"
# Folders that hold builds of native modules, not source.
BUILDS = {"v2", "v3", "v4", "plain", "interpreted"}


def read_modules():
    """Return the path of every module of the package by its dotted name."""
    modules = {}
    for path in sorted((SOURCE / "mercer").rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        modules[name.removesuffix(".__init__")] = path
    return modules


def read_imports():
    """Return, for each module, the modules of the package that it imports anywhere in its text."""
    modules = read_modules()
    imports = {}
    for name, path in modules.items():
        imports[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                source = node.module.removeprefix("cython.cimports.")
                if source.split(".")[0] == "mercer":
                    names = {f"{source}.{alias.name}" for alias in node.names}
                    imports[name] |= {one if one in modules else source for one in names}
    return imports


def list_layers():
    """Return the layers of the import contract, highest first, each as a list of rooms."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    return [
        [room.strip(" ()").removeprefix("mercer.") for room in layer.split(":")] for layer in contracts[0]["layers"]
    ]


def room_of(module):
    """Return the top-level folder or file that a module belongs to."""
    return module.split(".")[1] if "." in module else "mercer"


def count_imports():
    """Return how often modules of one room import modules of another, by pair of rooms."""
    pairs = Counter()
    for importer, imported in read_imports().items():
        for module in imported:
            if room_of(importer) != room_of(module):
                pairs[room_of(importer), room_of(module)] += 1
    return pairs


def describe(folder):
    """Return the first sentence or line of a package's docstring, as one line."""
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split()).replace(":mod:", "").removesuffix(".")


def list_rooms():
    """Return the folders of the package, each before its sub-folders."""
    found = sorted(path.parent for path in (SOURCE / "mercer").rglob("__init__.py"))
    return [path for path in found if path != SOURCE / "mercer" and not BUILDS & {*path.parts}]


def write_table():
    """Return the lines of the table: one row per room, with its lines of Python and the rooms it imports."""
    pairs = count_imports()
    lines = ["| room | files | what it is for | imports |", "|---|---|---|---|"]
    for folder in list_rooms():
        name = folder.relative_to(SOURCE / "mercer").as_posix()
        files = sum(path.is_file() and path.suffix in {".py", ".pxd", ".h", ".cu"} for path in folder.iterdir())
        imported = sorted(
            room for importer, room in pairs if importer == name and room.startswith(("_", "kernels", "watch"))
        )
        lines.append(f"| `{name}` | {files} | {describe(folder)} | {', '.join(imported)} |")
    return lines


def rewrite_page(text):
    """Return the page with the table of rooms between its two marks."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n" + "\n".join(write_table()) + f"\n\n{END}{after}"


def main():
    text = PAGE.read_text(encoding="utf-8")
    new = rewrite_page(text)
    if "--check" in sys.argv:
        print("docs/architecture.md is up to date." if new == text else "Run python -m tools.room_map: a room changed.")
        return int(new != text)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
