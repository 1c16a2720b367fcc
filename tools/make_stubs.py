#!/usr/bin/env python3
"""Write the stubs of the families that load their names on first use, from the tables in their ``__init__.py``.

    python -m tools.make_stubs           write each __init__.pyi whose table has changed
    python -m tools.make_stubs --check   fail if one is out of date

A table such as ``load_on_use(__name__, {"_svc": ("SVC",)})`` says where a name is; a type checker cannot follow it, and
reads ``from mercer.svm._svc import SVC as SVC`` in the stub. A name that is in no table is then an error in a user's
program, before it runs. Names of scikit-learn that a family passes through are those of the version that is installed
when the stub is written; the check does not compare them.
"""

import argparse
import ast
import sys
from pathlib import Path

from mercer._lazy import list_passed

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"


def read_table(path):
    """Return the table of names of a module and scikit-learn's module, or None where it has no table."""
    text = path.read_text(encoding="utf-8")
    for node in ast.parse(text).body if "load_on_use(" in text else ():
        call = node.value if isinstance(node, ast.Assign) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "load_on_use":
            scikit = [ast.literal_eval(one.value) for one in call.keywords if one.arg == "scikit"]
            return ast.literal_eval(call.args[1]), *(scikit or [""])
    return None


def render_stub(module, table, passed=()):
    """Return the text of a stub: one import for each public name, ours first."""
    lines = [f"# Written by `python -m tools.make_stubs` from the table in {module}."]
    lines += [
        f"from {module}.{home} import {name} as {name}" for home, names in sorted(table.items()) for name in names
    ]
    own = {name for names in table.values() for name in names}
    lines += [f"from {scikit} import {name} as {name}" for scikit, name in passed if name not in own]
    return "\n".join(lines) + "\n"


def find_stubs():
    """Yield the path and the text of every stub."""
    for path in sorted(SOURCE.rglob("*.py")):
        found = read_table(path)
        if found is not None:
            table, scikit = found
            place = path.parent if path.name == "__init__.py" else path.with_suffix("")
            passed = [(scikit, name) for name in list_passed(scikit)] if scikit else []
            yield path.with_suffix(".pyi"), render_stub(".".join(place.relative_to(SOURCE).parts), table, passed)


def list_own(text):
    """Return the lines of a stub that do not depend on the version of scikit-learn."""
    return [line for line in text.splitlines() if not line.startswith("from sklearn")]


def is_current(path, text, check):
    """Return whether the stub has this text; its own names alone, if it is only checked."""
    stored = path.read_text(encoding="utf-8") if path.exists() else ""
    return list_own(stored) == list_own(text) if check else stored == text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if a stub is out of date")
    check = parser.parse_args().check
    old = [(path, text) for path, text in find_stubs() if not is_current(path, text, check)]
    for path, text in old:
        print(f"{path.relative_to(ROOT)}: {'out of date. Run python -m tools.make_stubs.' if check else 'written.'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    return int(check and bool(old))


if __name__ == "__main__":
    sys.exit(main())
