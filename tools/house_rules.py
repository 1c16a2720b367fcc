#!/usr/bin/env python3
"""Check the rules of the house that no general linter knows; print each breach and fail if there is one."""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Sizes that a reader takes in at a glance. They are reported, not enforced: one idea stays in one file.
LONGEST_FILE = 400
MOST_FILES = 25  # in one folder
LONGEST_BODY = 60  # lines of a function without its docstring: one screen
MOST_NATIVE_ARGUMENTS = 12  # arrays that travel together are one record
SOURCE_SUFFIXES = {".py", ".pxd", ".pyi", ".h", ".cu", ".build", ".md"}
NAMELESS = {"utils", "helpers", "common", "misc"}
CLASS_SWAP = re.compile(r"\.__class__\s*=[^=]")
# The subject of this room is to let objects and modules of scikit-learn stand in for each other, by Python's own means.
CLASS_SWAPPERS = ROOT / "src" / "mercer" / "app" / "switch"
GENERATORS = {"default_rng", "RandomState", "Generator"}
# What numpy.random has besides functions that draw from the one generator of the process.
OWN_STATE = {*GENERATORS, "SeedSequence", "BitGenerator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"}
# The first line of a function in a definition file, and its name and arguments.
DEFINITION = re.compile(r"cdef (?:inline )?[^=#]*\w\([^=]*$")
SIGNATURE = re.compile(r"(\w+)\(([^)]*)\)")


def list_breaches(path):
    """Yield a sentence for each rule that a Python file of the package breaks."""
    place = path.relative_to(ROOT)
    lines = path.read_text(encoding="utf-8").splitlines()
    # scikit-learn's tools for users keep their address: mercer.utils holds nothing of ours.
    if NAMELESS & {*path.with_suffix("").parts} and path.parent != ROOT / "src" / "mercer" / "utils":
        yield f"{place}: no room is called {', '.join(sorted(NAMELESS))}. Name what is shared."
    for number, line in enumerate(lines, start=1):
        if CLASS_SWAP.search(line) and path.parent != CLASS_SWAPPERS:
            yield f"{place}:{number}: an object keeps its class; got {line.strip()!r}. Wrap it, or pass a watch."
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from list_function_breaches(node, place)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from list_private_imports(node, place)


def list_private_imports(node, place):
    """Yield a sentence for each private module or name of scikit-learn that a statement imports."""
    origin = getattr(node, "module", None)
    for name in (f"{origin}.{one.name}" if origin else one.name for one in node.names):
        first, *parts = name.split(".")
        if first == "sklearn" and any(part.startswith("_") for part in parts):
            yield f"{place}:{node.lineno}: only public names of scikit-learn are imported; got {name!r}."


def list_definition_breaches(path):
    """Yield a sentence for each function of a definition file of Cython that is too long or takes too many arguments.

    Functions that begin with an underscore may have the arguments of what they wrap, such as the 13 of a BLAS product.
    """
    place = path.relative_to(ROOT)
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [number for number, line in enumerate(lines) if DEFINITION.match(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        text = "\n".join(lines[start:end])
        name, arguments = SIGNATURE.search(text).groups()
        length = len(text.partition(":\n")[2].strip().splitlines())
        if length > LONGEST_BODY:
            yield f"{place}:{start + 1}: {name} has at most {LONGEST_BODY} lines; got {length}. Split it by subject."
        # A memory view such as double[:, ::1] holds commas of its own.
        count = len(re.sub(r"\[[^\]]*\]", "", arguments).split(","))
        if count > MOST_NATIVE_ARGUMENTS and not name.startswith("_"):
            yield (
                f"{place}:{start + 1}: a native function takes at most {MOST_NATIVE_ARGUMENTS} arguments; got "
                f"{count} in {name}. Group arrays that travel together in a record."
            )


def list_shared_draws(tree, place):
    """Yield a sentence for each generator that the tests of a file share: their data would depend on their order."""
    for node in [*tree.body, *(one for top in tree.body if isinstance(top, ast.ClassDef) for one in top.body)]:
        value = getattr(node, "value", None) if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in GENERATORS:
            yield (
                f"{place}:{node.lineno}: each test makes its own random generator; got {ast.unparse(node)!r} for the "
                "whole file. Move it into the tests that draw from it."
            )
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            module, name = ast.unparse(node.func.value), node.func.attr
            if module in ("np.random", "numpy.random") and name not in OWN_STATE:
                yield (
                    f"{place}:{node.lineno}: tests draw from a generator of their own, not from that of the process; "
                    f"got {ast.unparse(node.func)!r}. Use np.random.default_rng(seed)."
                )


def list_function_breaches(node, place):
    """Yield a sentence if a function is too long or, in native code, takes too many arguments."""
    body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
    length = body[-1].end_lineno - body[0].lineno + 1
    if length > LONGEST_BODY:
        yield f"{place}:{node.lineno}: {node.name} has at most {LONGEST_BODY} lines; got {length}. Split it by subject."
    arguments = [
        one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs) if one.arg != "self"
    ]
    if "_native" in place.parts and len(arguments) > MOST_NATIVE_ARGUMENTS:
        yield (
            f"{place}:{node.lineno}: a native function takes at most {MOST_NATIVE_ARGUMENTS} arguments; got "
            f"{len(arguments)} in {node.name}. Group arrays that travel together in a record."
        )


def describe_sizes():
    """Return a sentence that counts the large files and folders of the package."""
    files = [path for path in (ROOT / "src").rglob("*.*") if path.suffix in SOURCE_SUFFIXES and not path.is_symlink()]
    long = [path for path in files if path.suffix == ".py" and len(path.read_bytes().splitlines()) > LONGEST_FILE]
    folders = Counter(path.parent for path in files if path.suffix != ".pyi")
    full = [folder for folder, number in folders.items() if number > MOST_FILES]
    return f"{len(long)} files have more than {LONGEST_FILE} lines, {len(full)} folders more than {MOST_FILES} files."


def main():
    files = sorted((ROOT / "src").rglob("*.py"))
    breaches = [sentence for path in files for sentence in list_breaches(path.resolve())]
    definitions = [path for path in sorted((ROOT / "src").rglob("*.pxd")) if not path.is_symlink()]
    breaches += [sentence for path in definitions for sentence in list_definition_breaches(path)]
    tests = sorted(path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))
    for path in tests:
        breaches += list_shared_draws(ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT))
    n_files = len(files) + len(definitions) + len(tests)
    print("\n".join(breaches) or f"The house rules hold in {n_files} files. {describe_sizes()}")
    return int(bool(breaches))


if __name__ == "__main__":
    sys.exit(main())
