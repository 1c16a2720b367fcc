"""Write a record as JSON, and read it back; what is read is checked against the dataclasses."""

import json
import math
import types
import typing
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, Union

from mercer._written_file import write_whole
from mercer.app.study.record import Record
from mercer.errors import DataError

NAME = "run.json"


def write_record(record: Record, folder: Path) -> Path:
    """Write the record into `folder`, whole or not at all."""
    path = folder / NAME
    write_whole(path, json.dumps(_replace_infinite(asdict(record)), allow_nan=False, ensure_ascii=False))
    return path


def _replace_infinite(value: Any) -> Any:
    """Return the content with None for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _replace_infinite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_replace_infinite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_record(path: Path) -> Record:
    """Read the record at `path`, or in the folder `path`."""
    place = path / NAME if path.is_dir() else path
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(
            f"{place}: there is no record. Give the folder that `mercer run` wrote, which holds {NAME}."
        ) from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise DataError(
            f"{place}: this is not the record of a study. Give the folder that `mercer run` wrote, which holds {NAME}."
        ) from None
    if not isinstance(content, dict) or content.get("format") != Record.format:
        held = content.get("format") if isinstance(content, dict) else type(content).__name__
        raise DataError(f"{place}: format must be {Record.format}; got {held}. Run the study again with this version.")
    try:
        return _build(Record, content)
    except (KeyError, TypeError, ValueError, OverflowError) as wrong:
        raise DataError(f"{place}: the record is damaged ({wrong}). Run the study again.") from None


def _build(kind: Any, value: Any, where: str = "the record") -> Any:
    """Return `value`, as JSON holds it, as an instance of the annotation `kind`; TypeError if it is none."""
    if is_dataclass(kind):
        assert isinstance(kind, type)
        if not isinstance(value, dict):
            raise TypeError(f"{where} must be an object")
        hints = typing.get_type_hints(kind)
        known = [field.name for field in fields(kind)]
        return kind(**{name: _build(hints[name], value[name], name) for name in known if name in value})
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        others = [argument for argument in arguments if argument is not type(None)]
        return None if value is None else _build(others[0], value, where)
    if origin is list:
        if not isinstance(value, list):
            raise TypeError(f"{where} must be a list")
        return [_build(arguments[0], item, where) for item in value]
    if origin is dict:
        if not isinstance(value, dict):
            raise TypeError(f"{where} must be an object")
        return {name: _build(arguments[1], item, where) for name, item in value.items()}
    return _check_plain(kind, value, where)


def _check_plain(kind: Any, value: Any, where: str) -> Any:
    """Return a text, a number or a truth value; TypeError if it is of another type."""
    # NaN and infinity were written as null.
    if kind is Any or (kind is float and value is None):
        return value
    fits = isinstance(value, int | float if kind is float else kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{where} must be of type {kind.__name__}; it is {type(value).__name__}")
    if kind is float:
        float(value)  # OverflowError beyond the range of floats
    return value
