"""``mercer example``: write a bundled table to a file."""

import argparse
from typing import Any

from mercer.app.commands.arguments import add_output

HELP = "write a table that comes with mercer to a file or to standard output"
# The function that draws each table.
EXAMPLES = {"classification": "load_failures", "regression": "load_rents", "clusters": "load_visitors"}


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments: the table, and where to write it."""
    parser.add_argument("name", choices=EXAMPLES, help="which table")
    add_output(parser)
    parser.add_argument("--rows", type=int, metavar="N", help="number of rows to draw")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draw (default: %(default)s)")


def load_example(name: str, rows: int | None = None, seed: int = 0) -> Any:
    """Return the bundled table of that name."""
    from mercer import datasets

    size = {} if rows is None else {"n_samples": rows}
    return getattr(datasets, EXAMPLES[name])(random_state=seed, **size)


def execute(options: Any) -> int:
    """Write the table."""
    import pyarrow

    from mercer.app.table.writing import Writer

    frame = load_example(options.name, options.rows, options.seed).frame
    with Writer.open(options.output) as writer:
        writer.write(pyarrow.Table.from_pandas(frame, preserve_index=False))
    return 0
