"""Options from a TOML file: the names are those of the command line."""

import tomllib
from pathlib import Path
from typing import Any

from mercer.errors import DataError

__all__ = ["read_config"]

_TEXTS = (
    "target",
    "task",
    "group",
    "order",
    "weight",
    "cost",
    "metric",
    "output",
    "delimiter",
    "encoding",
    "sheet",
    "query",
)
_NUMBERS = ("folds", "repeats", "reject", "seed", "level", "jobs")
_TRUTHS = ("quick", "keep_leaks")
_LISTS = ("number", "category", "date", "text", "ignore", "keep", "candidates", "columns", "time")
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(_TEXTS, ((str,), "a text")),
    **dict.fromkeys(_NUMBERS, ((int, float), "a number")),
    **dict.fromkeys(_TRUTHS, ((bool,), "true or false")),
    **dict.fromkeys(_LISTS, ((list, str, int, float), "a list of texts")),
    "costs": ((dict,), "a table of actions"),
}


def read_config(path: str) -> dict[str, Any]:
    """The options in the file, each checked; dashes and underscores are the same."""
    place = Path(path).expanduser()
    try:
        found = tomllib.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        message = f"{path}: there is no such file. Give --config the path of a TOML file."
        raise DataError(message) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"{path}: not a TOML file ({error}). Write options as name = value."
        raise DataError(message) from None
    options = {name.replace("-", "_"): value for name, value in found.items()}
    for name, value in options.items():
        if name not in _KINDS:
            message = f"{path}: there is no option `{name}`; there are {', '.join(sorted(_KINDS))}."
            raise DataError(message)
        kinds, words = _KINDS[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            message = f"{path}: {name} must be {words}; got {value!r}."
            raise DataError(message)
    return {name: _as_list(value) if name in _LISTS else value for name, value in options.items()}


def _as_list(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]
