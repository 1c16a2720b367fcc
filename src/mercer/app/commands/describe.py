"""``mercer describe``: what is in a table."""

import argparse
import sys
from typing import Any

from mercer.app.commands.arguments import add_reading_options, add_silencers, parse_reading_options

HELP = "show what is in a table: kinds, gaps, shapes, associations, duplicates and outliers"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the table and the column to predict."""
    parser.add_argument("table", metavar="TABLE", help="table to describe: a file that `mercer run` reads")
    parser.add_argument("--target", metavar="COLUMN", help="column that is to be predicted")
    parser.add_argument("-o", "--output", metavar="FILE", help="HTML page to write")
    add_silencers(parser, "print the description as JSON")
    add_reading_options(parser)


def execute(options: Any) -> int:
    """Print the description, or write it as a page."""
    import json
    from pathlib import Path

    from mercer.app.table.overview import describe

    found = describe(options.table, options.target, **parse_reading_options(options))
    if options.output:
        page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{_escape(found.name)}</title>'
        Path(options.output).write_text(f"{page}{found._repr_html_()}</html>\n", encoding="utf-8")
    elif options.json:
        sys.stdout.write(json.dumps(found.as_dict(), ensure_ascii=False, default=str) + "\n")
    elif not options.quiet:
        sys.stdout.write(f"{found}\n")
    return 0


def _escape(text: str) -> str:
    from html import escape

    return escape(text)
