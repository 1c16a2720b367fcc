"""``mercer accelerate``: run a program that imports scikit-learn with mercer's classes."""

import argparse
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from typing import Any

from mercer.errors import DataError

HELP = "run a Python program that imports scikit-learn with mercer's classes in their places"
_USAGE = "mercer accelerate [--report] [--only NAMES] (PROGRAM.py | -m MODULE) [ARGUMENTS...]"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments, for the help. Words are read by hand, because the program's own follow."""
    parser.usage = _USAGE
    parser.add_argument("--report", action="store_true", help="print at the end what was used, how often and how long")
    parser.add_argument(
        "--only", metavar="NAMES", help="families, classes and functions to replace, with commas between"
    )
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module, as python -m does")
    parser.add_argument("program", nargs="*", metavar="PROGRAM", help="a Python file, and its arguments")


def execute(options: Any) -> int:
    """Run the words that were given."""
    return prepare(options.given[1:])()


def prepare(words: Sequence[str]) -> Callable[[], int]:
    """Switch on and return the function that runs the program; its errors and its exit status are its own."""
    from mercer.app.switch.switching import accelerate

    report, only, program = _read_words(list(words))
    switch = accelerate(*only)

    def run() -> int:
        try:
            _run(program)
        finally:
            if report and switch is not None:
                sys.stdout.flush()
                sys.stderr.write(f"{switch.record}\n")
            accelerate(False)
        return 0

    return run


def _read_words(words: list[str]) -> tuple[bool, list[str], list[str]]:
    """Return whether to report, the names to replace, and the words of the program."""
    report, only = False, []
    while words and words[0].startswith("-") and words[0] != "-m":
        word, _, value = words.pop(0).partition("=")
        if word == "--report":
            report = True
        elif word == "--only" and (value or words):
            only = [name.strip() for name in (value or words.pop(0)).split(",")]
        else:
            raise DataError(f"accelerate has no option {word}. Usage: {_USAGE}")
    if not words or words == ["-m"]:
        raise DataError(f"accelerate needs a program. Usage: {_USAGE}")
    if words[0] != "-m" and not os.path.exists(words[0]):
        raise DataError(f"accelerate: there is no file {words[0]!r}. Usage: {_USAGE}")
    return report, only, words


def _run(program: list[str]) -> None:
    """Run a file or a module as Python would, with its arguments in ``sys.argv``."""
    if program[0] == "-m":
        sys.argv = program[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = program
    sys.path.insert(0, os.path.dirname(os.path.abspath(program[0])))
    runpy.run_path(program[0], run_name="__main__")
