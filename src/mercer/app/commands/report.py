"""``mercer report``: make the report of an earlier run again."""

import argparse
import sys
from pathlib import Path
from typing import Any

from mercer.app.commands.arguments import add_silencers

HELP = "make the report of an earlier run again"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the run, and where to write the report."""
    parser.add_argument("run", metavar="RUN", help="folder that `mercer run` wrote, or its run.json")
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (default: report.html beside run.json)")
    add_silencers(parser, "print the whole record as JSON and write no report")


def execute(options: Any) -> int:
    """Read the record and write the page."""
    from mercer.app.study.record import read_record

    given = Path(options.run).expanduser()
    record = read_record(given)
    if options.json:
        import json
        from dataclasses import asdict

        sys.stdout.write(json.dumps(asdict(record), ensure_ascii=False, allow_nan=False) + "\n")
        return 0
    from mercer.app.report.pages import write_report

    folder = given if given.is_dir() else given.parent
    page = Path(options.output).expanduser() if options.output else folder / "report.html"
    write_report(record, page)
    if not options.quiet:
        sys.stdout.write(f"report: {page.resolve()}\n")
    return 0
