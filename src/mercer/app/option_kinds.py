"""Kinds of option values: how a value is typed on the command line, and what a TOML file or Python may give."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

_DURATION = re.compile(
    r"(\d+(?:\.\d+)?)\s*(?:(s|secs?|seconds?)|(m|mins?|minutes?)|(h|hrs?|hours?)|(d|days?))?", re.IGNORECASE
)
# Seconds of the units, in the order of the groups of the pattern; a number without a unit is in seconds.
_SECONDS = (1, 60, 3600, 86400)


@dataclass(frozen=True)
class Kind:
    """A kind of value.

    Attributes
    ----------
    words : str
        What a value must be, for an error message.
    parse : callable
        Turns what was typed into a value; ValueError if it cannot. It takes a list of texts if `repeats`.
    convert : callable
        Turns a value from a TOML file or from Python into the value that is stored; ValueError if it cannot.
    repeats : bool
        Whether the option may be typed several times.
    """

    words: str
    parse: Callable[[Any], Any]
    convert: Callable[[Any], Any]
    repeats: bool = False


def split_names(texts: Iterable[str], separator: str = ",") -> list[str]:
    """Return the names in `texts`; one text may hold several names with `separator` between them."""
    return [name.strip() for text in texts for name in text.split(separator) if name.strip()]


def looks_like_duration(text: str) -> bool:
    """Return whether `text` is a number with or without a unit, such as ``5m`` or ``2minutes``."""
    return re.fullmatch(r"\d+(\.\d+)?\s*[a-zA-Z]*", text.strip()) is not None


def _require(types: type | tuple[type, ...]) -> Callable[[Any], Any]:
    """Return a function that lets values of `types` pass and raises ValueError for others."""

    def convert(value: Any) -> Any:
        # True and False are integers to Python, but nobody means them as numbers.
        if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
            raise ValueError
        return value

    return convert


def _read_duration(value: Any) -> float:
    """Return the seconds of ``60s``, ``5m``, ``1.5h`` or ``2d``; a plain number is in seconds."""
    if isinstance(value, Real) and not isinstance(value, bool):
        seconds = float(value)
    else:
        match = _DURATION.fullmatch(str(value).strip())
        if match is None:
            raise ValueError
        unit = next((size for size, name in zip(_SECONDS, match.groups()[1:]) if name), 1)
        seconds = float(match.group(1)) * unit
    if not seconds > 0:
        raise ValueError
    return seconds


def _list_names(value: Any) -> list[str]:
    """Return one name or several as a list of texts."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return [str(value)]
    return [str(name) for name in value]


def _parse_costs(text: str) -> dict[str, dict[str, float]]:
    """Return ``{action: {class: cost}}`` for a text such as ``yes/no=1,no/yes=20``."""
    costs: dict[str, dict[str, float]] = {}
    for part in text.split(","):
        pair, _, cost = part.rpartition("=")
        action, slash, name = pair.strip().rpartition("/")
        if not slash:
            raise ValueError
        costs.setdefault(action.strip(), {})[name.strip()] = float(cost)
    return costs


def _convert_costs(value: Any) -> Any:
    """Return costs per action unchanged: a mapping of mappings, or the rows of a matrix."""
    rows = value.values() if isinstance(value, Mapping) else value
    if isinstance(value, str) or not isinstance(rows, Iterable) or any(isinstance(row, (str, Real)) for row in rows):
        raise ValueError
    return value


def _settle_targets(value: Any) -> Any:
    """Return one target as a text, several as a list of texts."""
    texts = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else []
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ValueError
    return texts[0] if len(texts) == 1 else texts


TEXT = Kind("a text", str, _require(str))
INTEGER = Kind("a whole number", int, _require(Integral))
NUMBER = Kind("a number", float, _require(Real))
FLAG = Kind("true or false", bool, _require(bool))
NAMES = Kind("a list of names", split_names, _list_names, repeats=True)
# Commas are read later, when the names of the columns are known.
TARGETS = Kind("the name of a column, or a list of them", _settle_targets, _settle_targets, repeats=True)
# The names of models have commas inside, so that semicolons separate them.
MODELS = Kind("a list of names", lambda texts: split_names(texts, ";"), _list_names, repeats=True)
DURATION = Kind("a duration longer than 0, such as 60s, 5m or 1.5h", _read_duration, _read_duration)
COSTS = Kind("costs per action and class, such as yes/no=1,no/yes=20", _parse_costs, _convert_costs)
