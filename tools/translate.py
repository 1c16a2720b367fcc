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
    return [*cython, "-Wextra", "--depfile", "--shared", arguments.shared, *places, *directives, arguments.module]


def make_definitions(arguments):
    """Write the definition files that are made from Python; return the source of each by its path."""
    root, folder = Path(arguments.source_root).resolve(), Path(arguments.definitions).resolve()
    made = {folder / Path(name).with_suffix(".pxd"): root / name for name in arguments.definition}
    for target, source in made.items():
        write_definition(source, target)
        for package in target.relative_to(folder).parents[:-1]:
            (folder / package / "__init__.py").touch()
    return made


def correct_depfile(path, made):
    """Let a module depend on the Python source of a definition file instead of on what was made from it."""
    text = path.read_text(encoding="utf-8")
    for target, source in made.items():
        text = re.sub(rf"\S*{re.escape(str(target))}", str(source), text)
    path.write_text(text, encoding="utf-8")


def main():
    arguments = parse_arguments()
    made = {} if arguments.generate_shared else make_definitions(arguments)
    finished = subprocess.run(build_command(arguments), capture_output=True, text=True, check=False)
    said = (finished.stdout + finished.stderr).splitlines(keepends=True)
    remarks = "".join(line for line in said if not any(expected in line for expected in EXPECTED))
    sys.stderr.write(remarks)
    if finished.returncode == 0 and made:
        correct_depfile(Path(arguments.output + ".dep"), made)
    refused = "warning:" in remarks or "performance hint:" in remarks
    return finished.returncode or int(refused)


if __name__ == "__main__":
    sys.exit(main())
