#!/usr/bin/env python3
"""Translate one native module to C with Cython, and fail where Cython has a warning or a performance hint.

A hint names a place where compiled code would take the interpreter lock or make Python objects. In native code that is
a mistake, so that it ends the build instead of scrolling by.
"""

import argparse
import subprocess
import sys

# Cython says the first of the code it writes itself, to choose among the types of a fused function; a checked build
# asks for what the other two advise against.
EXPECTED = ("local variable 'arg' might be referenced", "Use boundscheck(False)", "Use initializedcheck(False)")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module", nargs="?", help="the native module, a .py file")
    parser.add_argument("--output", help="the C file to write")
    parser.add_argument("--source-root", help="where Cython looks for definition files")
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
    places = ["--include-dir", arguments.source_root, "--output-file", arguments.output]
    return [*cython, "-Wextra", "--depfile", "--shared", arguments.shared, *places, *directives, arguments.module]


def main():
    finished = subprocess.run(build_command(parse_arguments()), capture_output=True, text=True, check=False)
    said = (finished.stdout + finished.stderr).splitlines(keepends=True)
    remarks = "".join(line for line in said if not any(expected in line for expected in EXPECTED))
    sys.stderr.write(remarks)
    refused = "warning:" in remarks or "performance hint:" in remarks
    return finished.returncode or int(refused)


if __name__ == "__main__":
    sys.exit(main())
