"""The command line: study a table, and use the model that comes out of it."""

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from mercer._version import __version__
from mercer.app.commands import COMMANDS
from mercer.app.commands.completion import list_flags
from mercer.errors import DataError, MercerError

# Exit statuses. 130 is what shells report for a program that was ended by Ctrl-C.
_FINE = 0
_INTERNAL = 1
_BAD_INPUT = 2
_INTERRUPTED = 130
# Words that people type for a command.
_SYNONYMS = {
    "train": "run",
    "fit": "run",
    "study": "run",
    "learn": "run",
    "analyse": "run",
    "analyze": "run",
    "apply": "predict",
    "score": "predict",
    "why": "explain",
    "show": "report",
    "diff": "compare",
    "demo": "example",
    "test": "check",
    "version": "versions",
    "help": "--help",
}
_EPILOGUE = """\
examples:
  mercer run customers.csv --target churned --budget 5m
  mercer predict report/model.mercer new.csv -o predicted.parquet
  mercer explain report/model.mercer new.csv --row 3
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Without a command, run: on a bundled table, or on the table that is named.
    if not given or (given[0] not in COMMANDS and given[0] not in ("-h", "--help", "--version") and _is_run(given)):
        given = ["run", *given]
    if given[0] not in (*COMMANDS, "-h", "--help", "--version"):
        sys.stderr.write(f"mercer: {_suggest_command(given[0])}\n")
        return _BAD_INPUT
    if given[0] == "accelerate" and given[1:2] not in (["-h"], ["--help"]):
        return _accelerate(given[1:])
    options, unknown = build_parser().parse_known_args(given)
    options.given = given
    # A program that calls this function has begun long before the command.
    options.whole_process = arguments is None
    command = importlib.import_module(f"mercer.app.commands.{options.command}")
    try:
        _refuse_unknown(options.command, unknown)
        return command.execute(options)
    except MercerError as error:
        return _report_error(options, error, str(error))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "mercer":
            return _report_crash(options, error)
        return _report_error(options, error, f"this needs {error.name}. Install it with: pip install 'mercer[app]'")
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The program that reads our output has ended. Python must not complain when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _FINE
        subject = f"{error.filename}: " if error.filename else ""
        return _report_error(options, error, f"{subject}{error.strerror or error}")
    except MemoryError as error:
        return _report_error(options, error, str(error) or "there is not enough memory. Give fewer rows or columns.")
    except KeyboardInterrupt:
        sys.stderr.write("mercer: interrupted\n")
        return _INTERRUPTED
    except Exception as error:
        return _report_crash(options, error)


def _accelerate(words: list[str]) -> int:
    """Run a program whose words are its own, and whose errors are not caught: Python prints them."""
    from mercer.app.commands.accelerate import prepare

    try:
        run = prepare(words)
    except MercerError as error:
        sys.stderr.write(f"mercer: {error}\n")
        return _BAD_INPUT
    return run()


def _is_run(given: list[str]) -> bool:
    """Return whether the words mean ``run``: they begin with an option or a table, not with a mistyped command."""
    first = given[0]
    return first.startswith("-") or "." in first or "/" in first or os.path.exists(first)


def _suggest_command(word: str) -> str:
    """Return the sentence that there is no such command, with the one that was probably meant."""
    near = difflib.get_close_matches(word, [*COMMANDS, *_SYNONYMS], n=1)
    meant = _SYNONYMS.get(near[0], near[0]) if near else None
    cure = f"Did you mean: mercer {meant}" if meant else f"The commands are {', '.join(COMMANDS)}"
    return f"there is no command {word!r}, and no file of that name. {cure}{'?' if meant else '.'}"


def _refuse_unknown(command: str, words: list[str]) -> None:
    """Raise DataError if the parser did not know some of the words; name the nearest option."""
    if not words:
        return
    if not words[0].startswith("-") and command == "run" and "." not in words[0] and not os.path.exists(words[0]):
        raise DataError(f"run takes one table; got {words[0]!r} too. To predict that column, give --target {words[0]}.")
    if not words[0].startswith("-"):
        raise DataError(f"{command} takes no further argument; got {words[0]!r}. See: mercer {command} --help")
    name = words[0].split("=")[0]
    nearest = difflib.get_close_matches(name, list_flags(command), n=1)
    cure = f"Did you mean {nearest[0]}?" if nearest else f"See: mercer {command} --help"
    raise DataError(f"{command} has no option {name}. {cure}")


def _report_error(options: Any, error: BaseException, text: str) -> int:
    """Print an error as one sentence, and as JSON if asked for; with ``--debug`` raise it."""
    if options.debug:
        raise error
    if getattr(options, "json", False):
        import json

        sys.stdout.write(json.dumps({"error": text}) + "\n")
    sys.stderr.write(f"mercer: {text}\n")
    return _BAD_INPUT


def _report_crash(options: Any, error: Exception) -> int:
    """Print an error of mercer itself; with ``--debug`` raise it."""
    if options.debug:
        raise error
    sys.stderr.write(
        f"mercer: internal error ({type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}). "
        f"Please report it with the output of the same command and --debug.\n"
    )
    return _INTERNAL


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="mercer",
        description="Study a table: find what can be predicted from it, and write a report. Without a command: run.",
        epilog=_EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"mercer {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = importlib.import_module(f"mercer.app.commands.{name}")
        command = commands.add_parser(name, help=module.HELP, description=module.HELP, allow_abbrev=False)
        module.declare(command)
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser
