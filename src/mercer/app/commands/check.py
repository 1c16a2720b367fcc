"""``mercer check``: test the model of a run on rows that it has not seen, before it is used."""

import argparse
import json
import sys
from typing import Any

from mercer.app.commands.arguments import add_reading_options, add_silencers, parse_reading_options

HELP = "test the model of a run before it is used: leaks, dependence, drift, units, groups and slices"
# The exit status if a test has failed, so that a program can act on it.
_FAILED = 3


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the run, rows with the target, new rows, groups, and the page."""
    parser.add_argument("run", metavar="RUN", help="folder that `mercer run` wrote")
    parser.add_argument("table", metavar="TABLE", help="rows with the target that the run has not seen")
    parser.add_argument("--new", metavar="TABLE", help="rows that the model will be asked about, to look for drift")
    text = "column whose groups must be served alike; give it again for more columns"
    parser.add_argument("--group", action="append", default=[], metavar="COLUMN", help=text)
    text = "probability that a test fails where nothing is wrong (default: %(default)s)"
    parser.add_argument("--level", type=float, default=0.05, metavar="SHARE", help=text)
    parser.add_argument("-o", "--output", metavar="FILE", help="HTML page to write, with a picture of each test")
    add_silencers(parser, "print what was found as JSON")
    add_reading_options(parser)


def execute(options: Any) -> int:
    """Test the model, print what was found, write the page, and return 3 if a test has failed."""
    import pandas

    from mercer.app.check.checking import check
    from mercer.app.schema import find_record, load_model, open_rows
    from mercer.errors import DataError

    model, schema = load_model(options.run)
    target = find_record(options.run).question.target
    if target is None:
        raise DataError(f"{options.run}: check needs the model of a target; this run has none. Run it with --target.")
    reading = parse_reading_options(options)
    others = [name for name in dict.fromkeys(options.group) if name not in schema.kinds]

    def read(table: str, extra: list[str]) -> Any:
        """Return the columns of the model, and others, of all rows of a table."""
        return pandas.concat(list(open_rows(table, schema, extra, **reading)), ignore_index=True)

    rows = read(options.table, [target, *others])
    rows = rows[rows[target].notna()].reset_index(drop=True)
    names = list(schema.kinds)
    found = check(
        model,
        rows[names],
        rows[target].to_numpy(),
        X_new=None if options.new is None else read(options.new, [])[names],
        groups={name: rows[name].to_numpy() for name in dict.fromkeys(options.group)} or None,
        level=options.level,
    )
    if options.output:
        found.save(options.output)
    if options.json:
        sys.stdout.write(json.dumps(found.as_dict(), ensure_ascii=False) + "\n")
    elif not options.quiet:
        sys.stdout.write(f"{found}\n")
    return 0 if found.passed else _FAILED
