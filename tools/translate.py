#!/usr/bin/env python3
"""Translate one native module to C with Cython, and fail where Cython has a warning or a performance hint.

A hint names a place where compiled code would take the interpreter lock or make Python objects. In native code that is
a mistake, so that it ends the build instead of scrolling by.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from make_definitions import write_definition

# Cython says the first of the code it writes itself, to choose among the types of a fused function; a checked build
# asks for what the other two advise against.
EXPECTED = ("local variable 'arg' might be referenced", "Use boundscheck(False)", "Use initializedcheck(False)")

# Imports of definitions: in a native module (`from cython.cimports.mercer... import`), in a module whose definition
# file is made (`from mercer... import`) and in a definition file (`from mercer... cimport`).
# The names may stand in parentheses, over several lines.
CIMPORT = re.compile(
    r"^ *from (?:cython\.cimports\.)?(mercer\._native\.[\w.]+) c?import (\([^)]*\)|[^(\n]+)$", re.MULTILINE
)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", nargs="?", help="the native module, a .py file")
    parser.add_argument("--output", help="the C file to write")
    parser.add_argument("--source-root", help="where Cython looks for definition files")
    parser.add_argument("--definition", action="append", default=[], help="Python file to make a definition file of")
    parser.add_argument("--definitions", help="folder for the definition files that are made")
    parser.add_argument("--shared", help="qualified name of the module of shared utility code")
    parser.add_argument("--directive", action="append", default=[], help="compiler directive, NAME=VALUE")
    parser.add_argument("--generate-shared", metavar="FILE", help="write the module of shared utility code instead")
    return parser.parse_args()


def build_command(arguments):
    """Return the Cython command line for these arguments."""
    cython = [sys.executable, "-m", "cython", "-3"]
    if arguments.generate_shared:
        return [*cython, "--generate-shared", arguments.generate_shared]
    directives = [word for directive in arguments.directive for word in ("--directive", directive)]
    places = ["--include-dir", arguments.source_root, "--include-dir", arguments.definitions]
    places += ["--output-file", arguments.output]
    return [*cython, "-Wextra", "--shared", arguments.shared, *places, *directives, arguments.module]


def make_definitions(arguments):
    """Write the definition files that are made from Python; return the source of each by its place under the root."""
    root, folder = Path(arguments.source_root).resolve(), Path(arguments.definitions).resolve()
    made = {Path(name).with_suffix(".pxd"): root / name for name in arguments.definition}
    for place, source in made.items():
        write_definition(source, folder / place)
        for package in place.parents[:-1]:
            (folder / package / "__init__.py").touch()
    return made


def list_definitions(path, root, made):
    """Return the files that a native module takes definitions from, directly or through others.

    Cython's own depfile misses cimports inside ``if cython.compiled``. A file that is made counts as its source. The
    definition file beside the module, which declares its classes, belongs to them too.
    """
    own = path.with_suffix(".pxd")
    files = {own} if own.exists() else set()
    queue = [path, *files]
    while queue:
        for package, names in CIMPORT.findall(queue.pop().read_text(encoding="utf-8")):
            folder = Path(*package.split("."))
            words = [name.split()[0] for name in names.strip("()").split(",") if name.strip()]
            for place in (folder.with_suffix(".pxd"), *(folder / f"{word}.pxd" for word in words)):
                file = made.get(place, root / place)
                if file.exists() and file not in files:
                    files.add(file)
                    queue.append(file)
    return files


def main():
    arguments = parse_arguments()
    made = {} if arguments.generate_shared else make_definitions(arguments)
    finished = subprocess.run(build_command(arguments), capture_output=True, text=True, check=False)
    said = (finished.stdout + finished.stderr).splitlines(keepends=True)
    remarks = "".join(line for line in said if not any(expected in line for expected in EXPECTED))
    sys.stderr.write(remarks)
    if finished.returncode == 0 and not arguments.generate_shared:
        module, root = Path(arguments.module).resolve(), Path(arguments.source_root).resolve()
        files = sorted(str(file).replace(" ", r"\ ") for file in {module, *list_definitions(module, root, made)})
        Path(arguments.output + ".dep").write_text(f"{arguments.output}: {' '.join(files)}\n", encoding="utf-8")
    refused = "warning:" in remarks or "performance hint:" in remarks
    return finished.returncode or int(refused)


if __name__ == "__main__":
    sys.exit(main())
