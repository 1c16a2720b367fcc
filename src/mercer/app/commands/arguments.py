"""Arguments that several commands share."""

import argparse
from collections.abc import Iterable
from typing import Any

from mercer.app.option_kinds import FLAG
from mercer.app.options import Option, list_options, parse_options


def add_options(parser: Any, options: Iterable[Option]) -> None:
    """Add `options` to a parser or a group of it. Values are left as they are typed, and None means not given."""
    for option in options:
        default = option.default_text.replace("%", "%%")
        text = f"{option.text} (default: {default})" if default else option.text
        if option.kind is FLAG:
            parser.add_argument(*option.spellings, dest=option.name, action="store_true", default=None, help=text)
            continue
        action = "append" if option.kind.repeats else "store"
        metavar = "|".join(option.choices) or option.metavar
        parser.add_argument(*option.spellings, dest=option.name, action=action, metavar=metavar, help=text)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the table to write."""
    text = "file to write: CSV, TSV, Parquet, Arrow or JSON lines (default: CSV to standard output)"
    parser.add_argument("-o", "--output", metavar="FILE", help=text)


def add_silencers(parser: argparse.ArgumentParser, json_text: str) -> None:
    """Add the options for programs that call mercer; `json_text` says what is printed as JSON."""
    parser.add_argument("--json", action="store_true", help=json_text)
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def _list_reading_options() -> list[Option]:
    """Return the options for reading a table whose columns the model already names."""
    return [option for option in list_options("reading the table") if option.name != "columns"]


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how to read a table."""
    add_options(parser.add_argument_group("reading the table"), _list_reading_options())


def parse_reading_options(typed: argparse.Namespace) -> dict[str, Any]:
    """Return the values of the options of `add_reading_options` that were typed."""
    return parse_options(vars(typed), _list_reading_options())
