"""``mercer watch``: whether new rows still look like the training rows, and whether the score holds."""

import argparse
import json
import sys
from typing import Any

from mercer.app.commands.arguments import add_reading_options, add_silencers, parse_reading_options

HELP = "say whether new rows still look like the training rows of a run, and whether its score holds"
# The exit status if something has changed, so that a program can act on it.
_CHANGED = 3


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the run, the new rows and the level."""
    parser.add_argument("run", metavar="RUN", help="folder that `mercer run` wrote")
    parser.add_argument("table", metavar="TABLE", help="new rows; with the target, the score is measured too")
    text = "probability of an alarm where nothing has changed (default: %(default)s)"
    parser.add_argument("--level", type=float, default=0.05, metavar="SHARE", help=text)
    add_silencers(parser, "print what was found as JSON")
    add_reading_options(parser)


def execute(options: Any) -> int:
    """Compare the rows, print what differs, and return 3 if something has changed."""
    from dataclasses import asdict

    from mercer.app.deploy.watching import watch_rows
    from mercer.app.schema import find_record, load_model
    from mercer.errors import DataError

    if not 0 < options.level < 1:
        raise DataError(f"--level must be a probability between 0 and 1; got {options.level:g}.")
    model, schema = load_model(options.run)
    record = find_record(options.run)
    drift = watch_rows(model, schema, record, options.table, options.level, **parse_reading_options(options))
    if options.json:
        sys.stdout.write(json.dumps(asdict(drift), ensure_ascii=False) + "\n")
    elif not options.quiet:
        sys.stdout.write("\n".join(drift.sentences) + "\n")
    return _CHANGED if drift.changed else 0
