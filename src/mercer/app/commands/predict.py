"""``mercer predict``: predict the rows of a table of any size, block by block."""

import argparse
import sys
from collections import Counter
from typing import Any

from mercer.app.commands.arguments import add_output, add_reading_options, add_silencers, parse_reading_options
from mercer.app.option_kinds import split_names
from mercer.errors import DataError

# New categories of a column that a notice names.
_MOST_NAMED = 3
HELP = "predict the target for every row of a table, with the model of an earlier run"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the model, the rows, and where the predictions go."""
    parser.add_argument("model", metavar="MODEL", help="model.mercer, or the folder that `mercer run` wrote")
    parser.add_argument("table", metavar="TABLE", help="file, file::part, or - for standard input")
    add_output(parser)
    parser.add_argument(
        "--with", dest="others", action="append", metavar="COLUMNS", help="columns to copy to the output"
    )
    text = "of two classes, predict the positive one from this probability on (default: the threshold of the run)"
    parser.add_argument("--threshold", type=float, metavar="SHARE", help=text)
    text = "with --threshold: which class is the positive one (default: guessed as in the run)"
    parser.add_argument("--positive", metavar="CLASS", help=text)
    text = "write texts that begin with =, +, - or @ as they are (default: CSV gets an apostrophe before them)"
    parser.add_argument("--keep-formulas", action="store_true", help=text)
    text = (
        "add an interval (low, high) to predicted numbers, or the set of possible classes, that holds the truth for "
        "this share of new rows, such as 0.9"
    )
    parser.add_argument("--coverage", type=float, metavar="SHARE", help=text)
    add_silencers(parser, "print a summary as JSON (needs -o)")
    add_reading_options(parser)


def execute(options: Any) -> int:
    """Predict block by block: one thread reads ahead, the others predict, and results are written in order."""
    from dataclasses import replace
    from functools import partial

    from mercer.app.start import spare_modules

    if options.json and options.output is None:
        raise DataError("--json prints a summary instead of the predictions. Give -o FILE for the predictions.")
    others = split_names(options.others or [])
    with spare_modules():
        from mercer._source.file.read_ahead import ReadAhead
        from mercer._source.threads import n_threads, run_taken
        from mercer.app.schema import find_record, find_rule, load_models, open_rows
        from mercer.app.table.writing import Writer

        model, schema = load_models(options.model)
    rule = find_rule(model, options.positive, options.threshold)
    record = find_record(options.model) if options.coverage is not None else None
    # Arrow tables where pandas, which takes as long to load as all the rest, is not needed to read the rows.
    stream = replace(open_rows(options.table, schema, others, **parse_reading_options(options)), arrow=True)
    names, count = list(schema.kinds), 0
    new: dict[str, Counter[str]] = {}
    inputs = [options.model, options.table]
    with Writer.open(options.output, inputs=inputs, keep_formulas=options.keep_formulas) as writer:

        def write(result: tuple[Any, dict[str, dict[str, int]]]) -> None:
            nonlocal count
            predictions, found = result
            writer.write(predictions)
            count += len(predictions)
            for name, counts in found.items():
                new.setdefault(name, Counter()).update(counts)

        frames = ReadAhead(frame for frame in stream if len(frame))
        widening = None if record is None else (record, options.coverage)
        predict = partial(_predict_frame, model, names, others, rule, widening)
        run_taken(predict, frames, n_threads(None), write)
        if count == 0:
            raise DataError(f"{stream.place.name}: the table has column names but no rows. Give a table with rows.")
    if writer.escaped and not options.quiet:
        sys.stderr.write(
            f"mercer: note: {writer.escaped} texts begin with =, +, - or @, as formulas do, and were written with an "
            f"apostrophe before them. Give --keep-formulas to write them as they are.\n"
        )
    _print_summary(options, [*stream.notices, *_list_new_categories(new)], count, rule)
    return 0


def _list_new_categories(new: dict[str, "Counter[str]"]) -> list[Any]:
    """Return a notice about each column with categories that no training row had; `new` counts their rows."""
    from mercer._source.table.table import Notice, quote

    notices = []
    for name, counts in new.items():
        rows = sum(counts.values())
        some = quote(*(value for value, _ in counts.most_common(_MOST_NAMED)))
        more = f" and {len(counts) - _MOST_NAMED} more" if len(counts) > _MOST_NAMED else ""
        text = f"{rows} {'row has' if rows == 1 else 'rows have'} a value that no training row had: {some}{more}."
        treated = "it as an unknown value" if len(counts) == 1 else "them as unknown values"
        notices.append(Notice("warning", name, f"{text} The model treats {treated}."))
    return notices


def _predict_frame(
    model: Any, names: list[str], others: list[str], rule: Any, widening: Any, frame: Any
) -> tuple[Any, dict[str, dict[str, int]]]:
    """Return an Arrow table with the predictions for some rows and the columns to copy, and counts of new categories.

    `widening` is the record and the coverage of intervals or sets; None for none.
    """
    import pyarrow

    from mercer._source.arrow_values import make_arrow, make_arrow_table
    from mercer.app.deploy.conformal import widen
    from mercer.app.schema import count_new_categories, predict_columns

    columns = {name: pyarrow.Array.from_pandas(frame[name]) for name in others}
    rows = _take_columns(frame, names)
    predicted = predict_columns(model, rows, rule)
    if widening is not None:
        record, level = widening
        predicted = widen(predicted, record, level, rows)
    for name, values in predicted.items():
        columns[name] = make_arrow(values.astype(str) if values.dtype == object else values)
    return make_arrow_table(columns), count_new_categories(model, rows)


def _take_columns(frame: Any, names: list[str]) -> Any:
    """Return some columns of a frame of pandas or of an Arrow table."""
    return frame.select(names) if hasattr(frame, "select") else frame[names]


def _print_summary(options: Any, notices: list[Any], count: int, rule: Any) -> None:
    """Print how many rows were predicted, and what should be known about the data."""
    import json
    from dataclasses import asdict

    if options.json:
        listed = [asdict(notice) for notice in notices]
        summary = {"rows": count, "output": str(options.output), "notices": listed}
        if rule is not None:
            summary |= {"positive": rule.positive, "threshold": rule.threshold}
        sys.stdout.write(json.dumps(summary) + "\n")
    elif not options.quiet:
        for notice in notices:
            sys.stderr.write(f"mercer: {notice.level}: {notice.subject}: {notice.text}\n")
        if rule is not None and rule.threshold != 0.5:
            least = f"{rule.threshold:.3g}"
            sys.stderr.write(f"mercer: `{rule.positive}` is predicted if its probability is at least {least}.\n")
        if options.output is not None:
            sys.stdout.write(f"{count} rows: {options.output}\n")
