#!/usr/bin/env python3
"""Write the stubs of the families that load their names on first use, from the tables in their ``__init__.py``.

    python -m tools.make_stubs           write each __init__.pyi whose table has changed
    python -m tools.make_stubs --check   fail if one is out of date

A table such as ``load_on_use(__name__, {"_svc": ("SVC",)})`` says where a name is; a type checker cannot follow it, and
reads ``from mercer.svm._svc import SVC as SVC`` in the stub. A name that is in no table is then an error in a user's
program, before it runs.
"""

import argparse
import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"


def read_table(path):
    """Return the table of names of a family's ``__init__.py``, or None where it has none."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        call = node.value if isinstance(node, ast.Assign) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "load_on_use":
            return ast.literal_eval(call.args[1])
    return None


def render_stub(family, table):
    """Return the text of a stub: one import for each public name."""
    lines = [f"# Written by `python -m tools.make_stubs` from the table in {family.replace('.', '/')}/__init__.py."]
    lines += [
        f"from {family}.{home} import {name} as {name}" for home, names in sorted(table.items()) for name in names
    ]
    return "\n".join(lines) + "\n"


def find_stubs():
    """Yield the path and the text of every stub."""
    for path in sorted(SOURCE.rglob("__init__.py")):
        table = read_table(path)
        if table is not None:
            yield path.with_suffix(".pyi"), render_stub(".".join(path.parent.relative_to(SOURCE).parts), table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a stub is out of date")
    check = parser.parse_args().check
    old = [(path, text) for path, text in find_stubs() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path, text in old:
        print(f"{path.relative_to(ROOT)}: {'out of date. Run python -m tools.make_stubs.' if check else 'written.'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    return int(check and bool(old))


if __name__ == "__main__":
    sys.exit(main())
