#!/usr/bin/env python3
"""Measure the shape of the code: files per folder, bodies, arguments, comments, constants, private imports, ``Any``.

``python tools/measure.py [SRC]`` prints one table, to compare before and after a change of structure.
"""

import ast
import re
import statistics
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUFFIXES = {".py", ".pxd", ".pyi", ".h", ".cu"}
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*$")
# Words of time and memory: not the possessive "'s", "ten times", "at a time", "no longer" nor what comes second.
COST = re.compile(
    r"seconds|\ba second\b|\d m?s\b|(?<!at a )\btime\b|quick|\bfast|\bsoon|slow|cheap|\bcosts?\b|costly|memory|bytes"
    r"|MiB|\bMB\b|GB|cache|pays|worth|(?<!no )longer",
    re.IGNORECASE,
)
COLLECTIONS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Lambda)


def count_lines(files):
    """Return the lines of Python by kind: code, docstrings, comments, blank."""
    kinds = Counter()
    for _, tree, lines in files:
        docstrings = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
                docstrings |= set(range(node.body[0].lineno - 1, node.body[0].end_lineno))
        for number, line in enumerate(lines):
            stripped = line.strip()
            kind = "docstring" if number in docstrings else "blank" if not stripped else "code"
            kinds["comment" if kind == "code" and stripped.startswith("#") else kind] += 1
    return kinds


def list_bodies(files):
    """Return for each function its place, the lines of its body without the docstring, and its arguments."""
    found = []
    for path, tree, _ in files:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
                length = body[-1].end_lineno - body[0].lineno + 1
                arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                names = [one.arg for one in arguments if one.arg not in ("self", "cls")]
                found.append((path, node.name, length, len(names)))
    return found


def list_constants(files):
    """Return the numeric constants at module level: place, name, and the comment above or beside."""
    found = []
    for path, tree, lines in files:
        for node in tree.body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if not (isinstance(target, ast.Name) and CONSTANT.match(target.id) and is_number(node.value)):
                continue
            above = node.lineno - 2
            while above >= 0 and lines[above].startswith("#"):
                above -= 1
            beside = lines[node.end_lineno - 1].partition("#")[2]
            found.append((path, target.id, " ".join([*lines[above + 1 : node.lineno - 1], beside])))
    return found


def is_number(node):
    """Return whether an expression holds numbers alone, such as ``2**20`` or ``16 * float(np.finfo(float).eps)``."""
    parts = [] if node is None else list(ast.walk(node))
    constants = [part.value for part in parts if isinstance(part, ast.Constant)]
    numbers = [value for value in constants if isinstance(value, int | float) and not isinstance(value, bool)]
    return bool(numbers) and len(numbers) == len(constants) and not any(isinstance(part, COLLECTIONS) for part in parts)


def list_crossovers(constants, files):
    """Return the constants that choose between two ways to compute: those of tables, and others that look like one.

    One looks like a crossover if it is compared with something in its module and its comment speaks of time or memory.
    Two kinds choose nothing and do not count: limits, beyond which there is an error, and lengths of runs, into which
    work is cut: what they are compared with asks whether one run is enough.
    """
    compared = {(path, name) for path, tree, _ in files for name in list_choices(tree)}
    return [
        (path, name)
        for path, name, comment in constants
        if path.name == "_crossovers.py" or ((path, name) in compared and COST.search(comment))
    ]


def list_choices(tree):
    """Return the names that a module compares with something, but for limits and lengths of runs."""
    limits = {id(part) for node in ast.walk(tree) if is_refusal(node) for part in ast.walk(node.test)}
    runs = {name for node in ast.walk(tree) for name in list_runs(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and id(node) not in limits:
            yield from (name.id for name in ast.walk(node) if isinstance(name, ast.Name) and name.id not in runs)


def is_refusal(node):
    """Return whether a statement does nothing but raise an error if something holds."""
    return isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Raise)


def list_runs(node):
    """Return the names by which a part of a module divides work into runs: steps of ranges, and divisors."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "range" and len(node.args) == 3:
        return [part.id for part in ast.walk(node.args[2]) if isinstance(part, ast.Name)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        # `NAME // n` is how many of n make a run, `n // NAME` how many runs there are.
        return [side.id for side in (node.left, node.right) if isinstance(side, ast.Name)]
    return []


def list_private_imports(files, source):
    """Return the imports of a private module of one family by another family."""
    found = []
    for path, tree, _ in files:
        family = path.relative_to(source).parts[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mercer."):
                parts = node.module.split(".")[1:]
                private = any(part.startswith("_") for part in parts[1:])
                if parts[0] != family and not parts[0].startswith("_") and private:
                    found.append((path, node.module))
    return found


def measure(source):
    """Yield the rows of the table, each a name and a value."""
    paths = [path for path in source.rglob("*") if path.suffix in SUFFIXES and path.is_file()]
    files = [(path, ast.parse(text := path.read_text()), text.splitlines()) for path in paths if path.suffix == ".py"]
    folders = Counter(path.parent for path in paths)
    kinds, bodies = count_lines(files), list_bodies(files)
    is_native = {path for path, _, _ in files if "_native" in path.parts}
    yield "source files", len(paths)
    yield "lines, all source", sum(len(path.read_text().splitlines()) for path in paths)
    yield (
        "lines of Python: code, docstring, comment, blank",
        [kinds[one] for one in ("code", "docstring", "comment", "blank")],
    )
    yield "comment lines per 100 of code", round(100 * kinds["comment"] / kinds["code"], 1)
    fullest = [f"{folder.relative_to(source)} {count}" for folder, count in folders.most_common(4)]
    yield "fullest folders", fullest
    yield "folders with more than 25 files", sum(count > 25 for count in folders.values())
    lengths = sorted(length for _, _, length, _ in bodies)
    yield "body: median, 90 %, longest", [statistics.median(lengths), lengths[len(lengths) * 9 // 10], lengths[-1]]
    yield "bodies over 60 lines", sum(length > 60 for length in lengths)
    yield "native functions with more than 12 arguments", sum(n > 12 for path, _, _, n in bodies if path in is_native)
    yield "most arguments of a native function", max(n for path, _, _, n in bodies if path in is_native)
    constants = list_constants([file for file in files if file[0] not in is_native])
    crossovers = list_crossovers(constants, files)
    yield "numeric constants at module level, native code apart", len(constants)
    yield (
        "crossovers: in tables, elsewhere",
        [sum((path.name == "_crossovers.py") is is_table for path, _ in crossovers) for is_table in (True, False)],
    )
    yield "private imports across families", len(list_private_imports(files, source))
    text = "\n".join("\n".join(lines) for _, _, lines in files)
    yield "`Array = Any` aliases", len(re.findall(r"^Array = Any$", text, re.MULTILINE))
    yield "annotations with Any", len(re.findall(r"\bAny\b", text)) - len(re.findall(r"import .*\bAny\b", text))
    yield "`for one in`", len(re.findall(r"\bfor one in\b", text))
    yield "`found =`", len(re.findall(r"\bfound = ", text))


def main():
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src" / "mercer"
    for name, value in measure(source):
        print(f"{name}: {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
