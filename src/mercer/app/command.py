"""The command line: from a table to an honest model, and what to do with it afterwards."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from mercer._version import __version__
from mercer.app.commands import COMMANDS
from mercer.errors import MercerError

__all__ = ["build_parser", "main"]

_FINE, _INTERNAL, _BAD_INPUT, _INTERRUPTED = 0, 1, 2, 130
_EPILOGUE = """\
examples:
  mercer run customers.csv --target churned --budget 5m
  mercer predict report/model.mercer new.csv -o predicted.parquet
  mercer explain report/model.mercer new.csv --row 3
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Without a command the main job is done, on a bundled table unless one is named.
    if not given or (given[0] not in COMMANDS and given[0] not in ("-h", "--help", "--version") and _is_run(given)):
        given = ["run", *given]
    options = build_parser().parse_args(given)
    options.given = given
    command = importlib.import_module(f"mercer.app.commands.{options.command}")
    try:
        return command.execute(options)
    except MercerError as error:
        return _said(options, error, str(error))
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "mercer":
            return _crashed(options, error)
        return _said(options, error, f"this needs {error.name}; install it with: pip install 'mercer[app]'")
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader of our output has seen enough; Python must not complain when it flushes at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _FINE
        subject = f"{error.filename}: " if error.filename else ""
        return _said(options, error, f"{subject}{error.strerror or error}")
    except MemoryError as error:
        return _said(options, error, str(error) or "there is not enough memory; give fewer rows or columns.")
    except KeyboardInterrupt:
        sys.stderr.write("mercer: interrupted\n")
        return _INTERRUPTED
    except Exception as error:
        return _crashed(options, error)


def _is_run(given: list[str]) -> bool:
    """Whether what was typed can only mean ``run``: an option, or a table; else it is a mistyped command."""
    first = given[0]
    return first.startswith("-") or "." in first or "/" in first or os.path.exists(first)


def _said(options: Any, error: BaseException, text: str) -> int:
    """One sentence for a person, or an object for a machine; a traceback only if asked for."""
    if options.debug:
        raise error
    if getattr(options, "json", False):
        import json

        sys.stdout.write(json.dumps({"error": text}) + "\n")
    sys.stderr.write(f"mercer: {text}\n")
    return _BAD_INPUT


def _crashed(options: Any, error: Exception) -> int:
    if options.debug:
        raise error
    sys.stderr.write(
        f"mercer: internal error ({type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}). "
        f"Please report it with the output of the same command and --debug.\n"
    )
    return _INTERNAL


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="mercer",
        description="From a table to an honest model and a report. Without a command: run.",
        epilog=_EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"mercer {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = importlib.import_module(f"mercer.app.commands.{name}")
        one = commands.add_parser(name, help=module.HELP, description=module.HELP, allow_abbrev=False)
        module.declare(one)
        one.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser
