"""The command line: ``mercer run`` fits, compares and plots on the bundled table, and writes one HTML page."""

import argparse
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

import mercer

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    if options.command == "versions":
        mercer.show_versions()
        return 0
    try:
        from mercer.app.page import write_page
        from mercer.app.tour import take_tour
    except ModuleNotFoundError as missing:
        sys.stderr.write(f"mercer: the report needs {missing.name}; install it with: pip install 'mercer[app]'\n")
        return 2
    path = Path(options.output)
    sections = take_tour(tell=lambda line: sys.stdout.write(line + "\n"))
    write_page(sections, path)
    sys.stdout.write(f"report: {path.resolve()}\n")
    if options.open and sys.stdout.isatty():
        webbrowser.open(path.resolve().as_uri())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mercer", description="Classical machine learning that shows its work.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"mercer {mercer.__version__}")
    parser.set_defaults(command="run", output="report/index.html", open=True)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    run = commands.add_parser("run", help="fit, compare and plot on the bundled table; the default")
    run.add_argument("--output", default="report/index.html", metavar="FILE", help="where the page goes (%(default)s)")
    run.add_argument("--no-open", dest="open", action="store_false", help="do not open the page in a browser")
    commands.add_parser("versions", help="print versions, CPU level and threads")
    return parser
