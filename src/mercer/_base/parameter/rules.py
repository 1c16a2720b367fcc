"""Rules that say what a parameter may be, such as ``Integer(1)``, ``Choice("a", "b")`` and ``Real(0) | Nothing()``.

A rule makes the error text, the test values and the type line of the documentation.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Number
from operator import is_
from typing import Any, cast

import numpy as np

from mercer.errors import ParameterError

# Names of metrics that scikit-learn's functions of pairs know, and "precomputed".
METRICS = (
    *("euclidean", "l2", "l1", "manhattan", "cityblock", "braycurtis", "canberra", "chebyshev", "correlation"),
    *("cosine", "dice", "hamming", "haversine", "infinity", "jaccard", "mahalanobis", "minkowski", "nan_euclidean"),
    *("p", "precomputed", "rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "sqeuclidean", "yule"),
)

# Types whose values are the same for every rule whenever they are equal.
_PLAIN = frozenset((int, float, str, bool, type(None)))
# Accepted values that are remembered, about 1 MB of them; a search over more values forgets and starts again.
_MOST_REMEMBERED = 8192
# Characters of the longest text that is remembered: names of options are shorter.
_LONGEST_REMEMBERED = 40
_accepted: set[tuple["Rule", type, Any]] = set()
# Classes whose last accepted values are remembered; there are about 200, and a program may make more.
_MOST_CLASSES = 1024
# By the identity of a class's table of rules: the table, which is thereby kept alive, and its last accepted values.
_passed: dict[int, tuple[dict[str, "Rule"], list[Any]]] = {}


class Rule:
    """What a parameter may be."""

    text: str

    def accepts(self, value: Any) -> bool:
        """Return whether `value` keeps the rule."""
        raise NotImplementedError  # each rule below defines its own

    def list_refused(self) -> Iterator[Any]:
        """Yield some values that break the rule, for tests."""
        yield object()

    def __or__(self, other: "Rule") -> "Rule":
        return _Either(self, other)


@dataclass(frozen=True)
class Integer(Rule):
    """An integer in a closed range; booleans do not count."""

    low: float = -math.inf
    high: float = math.inf

    @property
    def text(self) -> str:  # type: ignore[override]
        return f"an integer in {_range(self.low, self.high, 'both')}"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, Integral) or isinstance(value, bool | np.bool_):
            return False
        return self.low <= int(value) <= self.high

    def list_refused(self) -> Iterator[Any]:
        yield from ("text", 1.5)
        if self.low > -math.inf:
            yield int(self.low) - 1
        if self.high < math.inf:
            yield int(self.high) + 1


@dataclass(frozen=True)
class Real(Rule):
    """A number in a range; `closed` says which ends belong to it. NaN never does."""

    low: float = -math.inf
    high: float = math.inf
    closed: str = "both"

    @property
    def text(self) -> str:  # type: ignore[override]
        return f"a number in {_range(self.low, self.high, self.closed)}"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, Number) or isinstance(value, bool | np.bool_ | complex):
            return False
        value = cast(float, value)
        above = value > self.low or (value == self.low and self.closed in ("both", "left"))
        below = value < self.high or (value == self.high and self.closed in ("both", "right"))
        return bool(above and below)

    def list_refused(self) -> Iterator[Any]:
        yield from ("text", math.nan)
        if self.low > -math.inf:
            yield self.low - 1.0 if self.closed in ("both", "left") else self.low
        if self.high < math.inf:
            yield self.high + 1.0 if self.closed in ("both", "right") else self.high


class Choice(Rule):
    """One of some words."""

    def __init__(self, *options: str) -> None:
        self.options = options
        self.text = "one of " + ", ".join(repr(option) for option in options)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options

    def list_refused(self) -> Iterator[Any]:
        yield from ("no such option", 3)


class Boolean(Rule):
    """True or False."""

    text = "a boolean"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_)

    def list_refused(self) -> Iterator[Any]:
        yield from ("True", 2)


class Nothing(Rule):
    """None."""

    text = "None"

    def accepts(self, value: Any) -> bool:
        return value is None


class Text(Rule):
    """Any text."""

    text = "a string"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str)


class Array(Rule):
    """Anything NumPy can read as an array; shape and values are checked against the data."""

    text = "an array-like"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, list | tuple | np.ndarray) or hasattr(value, "__array__") or hasattr(value, "toarray")


class Function(Rule):
    """A callable."""

    text = "a callable"

    def accepts(self, value: Any) -> bool:
        return callable(value)


class MetricName(Rule):
    """The name of a metric that scikit-learn knows."""

    text = "the name of a metric"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, str) or value in METRICS:
            return isinstance(value, str)
        from sklearn.neighbors import BallTree

        return value in BallTree.valid_metrics

    def list_refused(self) -> Iterator[Any]:
        yield from ("no such metric", 3)


class HasFit(Rule):
    """Anything that can be fitted."""

    text = "an object with a method fit"

    def accepts(self, value: Any) -> bool:
        return callable(getattr(value, "fit", None))


class Instance(Rule):
    """An instance of given classes."""

    def __init__(self, *classes: type) -> None:
        self.classes = classes
        self.text = "an instance of " + " or ".join(kind.__name__ for kind in classes)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.classes)


class Seed(Rule):
    """What ``random_state`` may be."""

    text = "None, a non-negative integer, a numpy RandomState or a numpy Generator"

    def accepts(self, value: Any) -> bool:
        if value is None or isinstance(value, np.random.RandomState | np.random.Generator):
            return True
        return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0

    def list_refused(self) -> Iterator[Any]:
        yield from ("seed", -1, 1.5)


class _Either(Rule):
    """Any of several rules."""

    def __init__(self, first: Rule, second: Rule) -> None:
        self.rules: tuple[Rule, ...] = (*(first.rules if isinstance(first, _Either) else (first,)), second)
        self.text = " or ".join(rule.text for rule in self.rules)

    def accepts(self, value: Any) -> bool:
        return any(rule.accepts(value) for rule in self.rules)

    def list_refused(self) -> Iterator[Any]:
        for rule in self.rules:
            yield from (value for value in rule.list_refused() if not self.accepts(value))


def is_accepted(rule: Rule, value: Any) -> bool:
    """Return whether a value keeps a rule.

    Plain values that a rule has accepted are remembered: looking one up takes a tenth of the time of asking the rule.
    """
    kind = type(value)
    # A long text of a model file is not worth its memory.
    plain = kind in _PLAIN and (kind is not str or len(value) <= _LONGEST_REMEMBERED)
    # The kind is part of the key because 1, 1.0 and True are equal and hash alike, but rules tell them apart.
    if plain and (rule, kind, value) in _accepted:
        return True
    if not rule.accepts(value):
        return False
    if plain:
        # Emptying all at once bounds the memory without the bookkeeping of an order of use.
        if len(_accepted) >= _MOST_REMEMBERED:
            _accepted.clear()
        _accepted.add((rule, kind, value))
    return True


def are_plain_values(values: dict[str, Any]) -> bool:
    """Return whether all values are None, numbers, booleans or texts, which never change."""
    return all(map(_PLAIN.__contains__, map(type, values.values())))


def check_parameters(subject: str, rules: dict[str, Rule], values: dict[str, Any]) -> None:
    """Raise ``ParameterError`` for the first value that breaks its rule.

    Most fits of a class have the very values of the fit before, defaults above all: those objects passed then, and a
    plain value never changes.
    """
    known = _passed.get(id(rules))
    given = [values[name] for name in rules]
    if known is not None and known[0] is rules and all(map(is_, given, known[1])):
        return
    for (name, rule), value in zip(rules.items(), given, strict=True):
        if not is_accepted(rule, value):
            raise ParameterError(f"{subject}: {name} must be {rule.text}; got {value!r:.500}.")
    if all(map(_PLAIN.__contains__, map(type, given))):
        if len(_passed) >= _MOST_CLASSES:
            _passed.clear()
        _passed[id(rules)] = rules, given


def _range(low: float, high: float, closed: str) -> str:
    """Write an interval: square brackets for ends that belong to it."""
    left = "[" if closed in ("both", "left") and low > -math.inf else "("
    right = "]" if closed in ("both", "right") and high < math.inf else ")"
    return f"{left}{low:g}, {high:g}{right}"
