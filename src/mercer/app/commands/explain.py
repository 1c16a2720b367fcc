"""``mercer explain``: what each column contributes to the prediction of one row."""

import argparse
import sys
from typing import Any

from mercer.app.commands.arguments import add_reading_options, add_silencers, parse_reading_options

HELP = "show how much each column contributes to the prediction of one row"
# Rows of the table that form the average row; more would change little and take longer.
_MOST_ROWS = 20_000


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the model, the table and the row."""
    parser.add_argument("model", metavar="MODEL", help="model.mercer, or the folder that `mercer run` wrote")
    parser.add_argument("table", metavar="TABLE", help="table with the row to explain; its other rows give the average")
    parser.add_argument("--row", type=int, required=True, metavar="N", help="row to explain, counted from 1")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the random draws (default: %(default)s)"
    )
    add_silencers(parser, "print the contributions as JSON")
    add_reading_options(parser)


def execute(options: Any) -> int:
    """Print the contribution of each column, the largest first."""
    import json
    from dataclasses import asdict

    from mercer.app.attribution import attribute
    from mercer.app.schema import load_model, open_rows

    model, schema = load_model(options.model)
    stream = open_rows(options.table, schema, [], **parse_reading_options(options))
    row, background = _find_row(stream, options.row)
    attribution = attribute(model, row, background, options.seed)
    if options.json:
        sys.stdout.write(json.dumps(asdict(attribution), ensure_ascii=False) + "\n")
    elif not options.quiet:
        _print_shares(attribution, row, options.row)
    return 0


def _find_row(stream: Any, number: int) -> tuple[Any, Any]:
    """Return the row of that index, counted from 1, and the first `_MOST_ROWS` rows of the table."""
    import pandas

    from mercer.errors import DataError

    row: Any = None
    kept: list[Any] = []
    seen = 0
    for frame in stream:
        if seen < _MOST_ROWS:
            kept.append(frame)
        if seen < number <= seen + len(frame):
            row = frame.iloc[[number - 1 - seen]].reset_index(drop=True)
        seen += len(frame)
        if row is not None and seen >= _MOST_ROWS:
            break
    if row is None:
        raise DataError(f"{stream.place.name}: --row must be from 1 to {seen}; got {number}.")
    return row, pandas.concat(kept, ignore_index=True).iloc[:_MOST_ROWS]


def _print_shares(attribution: Any, row: Any, number: int) -> None:
    """Print the contributions, the largest first."""
    from mercer.app.study.diagnosis import spell_cell
    from mercer.app.study.formatting import spell_amount

    width = max(map(len, attribution.shares))
    value, average = spell_amount(attribution.value, 4), spell_amount(attribution.average, 4)
    # The scale of a number is the number itself, and is written with fewer digits.
    predicted = value if attribution.scale == "predicted value" else attribution.prediction
    lines = [
        f"row {number}: {predicted}",
        f"{attribution.scale}: {value} for this row, {average} on average; contributions of the columns:",
    ]
    for name, share in sorted(attribution.shares.items(), key=lambda pair: -abs(pair[1])):
        error = "" if attribution.exact else f" ± {spell_amount(attribution.errors[name], 2)}"
        sign = "+" if share >= 0 else ""
        lines.append(f"  {name:<{width}}  {sign}{spell_amount(share, 4)}{error}  ({spell_cell(row[name].iloc[0])})")
    how = "They are Shapley values from random orders of the columns, ± one standard error."
    sys.stdout.write("\n".join([*lines, "They are exact." if attribution.exact else how]) + "\n")
