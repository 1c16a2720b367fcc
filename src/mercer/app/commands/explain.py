"""``mercer explain``: what each column contributes to the prediction of one row."""

import argparse
import sys
from typing import Any

from mercer.app.commands.arguments import add_reading_options, add_silencers, parse_reading_options

__all__ = ["HELP", "declare", "execute"]

HELP = "take the prediction of one row apart, column by column"
# Rows of the table that stand for the average; more would change little and cost more.
_MOST_ROWS = 20_000


def declare(parser: argparse.ArgumentParser) -> None:
    """The model, the table and the row."""
    parser.add_argument("model", metavar="MODEL", help="model.mercer, or the folder that `mercer run` wrote")
    parser.add_argument("table", metavar="TABLE", help="a table with the row, whose other rows give the average")
    parser.add_argument("--row", type=int, required=True, metavar="N", help="which row, counted from 1")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the draws (%(default)s)")
    add_silencers(parser, "print the contributions as JSON")
    add_reading_options(parser)


def execute(options: Any) -> int:
    """Take the prediction apart and print the shares, largest first."""
    import json
    from dataclasses import asdict

    from mercer.app.attribution import attribute
    from mercer.app.schema import load_model, open_rows

    model, schema = load_model(options.model)
    stream = open_rows(options.table, schema, [], **parse_reading_options(options))
    row, background = _rows(stream, options.row)
    found = attribute(model, row, background, options.seed)
    if options.json:
        sys.stdout.write(json.dumps(asdict(found), ensure_ascii=False) + "\n")
    elif not options.quiet:
        _tell(found, row, options.row)
    return 0


def _rows(stream: Any, number: int) -> tuple[Any, Any]:
    """The row, and the first rows of the table."""
    import pandas

    from mercer.errors import DataError

    row, kept, seen = None, [], 0
    for frame in stream:
        if sum(map(len, kept)) < _MOST_ROWS:
            kept.append(frame)
        if seen < number <= seen + len(frame):
            row = frame.iloc[[number - 1 - seen]].reset_index(drop=True)
        seen += len(frame)
        if row is not None and sum(map(len, kept)) >= _MOST_ROWS:
            break
    if row is None:
        message = f"{stream.place.name}: --row must be from 1 to {seen}; got {number}."
        raise DataError(message)
    return row, pandas.concat(kept, ignore_index=True).iloc[:_MOST_ROWS]


def _tell(found: Any, row: Any, number: int) -> None:
    width = max(map(len, found.shares))
    lines = [
        f"row {number}: {found.prediction}",
        f"{found.scale}: {found.value:.4g} here, {found.average:.4g} for the average row; the difference is made of",
    ]
    for name, share in sorted(found.shares.items(), key=lambda pair: -abs(pair[1])):
        error = "" if found.exact else f" ± {found.errors[name]:.2g}"
        lines.append(f"  {name:<{width}}  {share:+.4g}{error}  ({row[name].iloc[0]})")
    how = "exact" if found.exact else "Shapley values by drawn orders, ± one standard error"
    sys.stdout.write("\n".join([*lines, f"({how})"]) + "\n")
