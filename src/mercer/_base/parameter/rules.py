"""Rules that say what a parameter may be, such as ``Integer(1)``, ``Choice("a", "b")`` and ``Real(0) | Nothing()``.

A rule makes the error text, the test values and the type line of the documentation.
"""

import math
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from mercer.errors import ParameterError

# Names of metrics that scikit-learn's functions of pairs know, and "precomputed".
METRICS = (
    *("euclidean", "l2", "l1", "manhattan", "cityblock", "braycurtis", "canberra", "chebyshev", "correlation"),
    *("cosine", "dice", "hamming", "haversine", "infinity", "jaccard", "mahalanobis", "minkowski", "nan_euclidean"),
    *("p", "precomputed", "rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "sqeuclidean", "yule"),
)

# Native code counts in 64 bits; larger integers would end in errors of Python's conversion, far from the parameter.
_MOST = 2**63 - 1
# Squares of smaller and larger numbers vanish and overflow, and formulas square tolerances, widths and penalties.
_LEAST = 1e-150
_LARGEST = 1e150
# scikit-learn's splits and NumPy's older generators take no larger seed.
_LARGEST_SEED = 2**32 - 1
# Characters of a refused value that an error shows, and levels of what is in each other: a value that holds itself, or
# shares its parts, has no end.
_SHOWN = 500
_writer = reprlib.Repr()
_writer.maxstring = _writer.maxother = _writer.maxlong = _SHOWN
_writer.maxlist = _writer.maxtuple = _writer.maxdict = _writer.maxset = 20

# Types whose values are the same for every rule whenever they are equal.
_PLAIN = frozenset((int, float, str, bool, type(None)))


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
        # Most values are Python's own: asking an abstract class takes longer than all the rest.
        if type(value) is not int and (not isinstance(value, Integral) or isinstance(value, bool | np.bool_)):
            return False
        return self.low <= int(value) <= self.high and -_MOST <= int(value) <= _MOST

    def list_refused(self) -> Iterator[Any]:
        yield from ("text", 1.5)
        if self.low > -math.inf:
            yield int(self.low) - 1
        if self.high < math.inf:
            yield int(self.high) + 1


@dataclass(frozen=True)
class Real(Rule):
    """A number in a range; `closed` says which ends belong to it. NaN never does.

    Formulas square most parameters, so that numbers without a square are refused too, unless `squared` is False: a
    penalty is in units of the data, whose squares it may hold, and nothing squares it again.
    """

    low: float = -math.inf
    high: float = math.inf
    closed: str = "both"
    squared: bool = True

    @property
    def text(self) -> str:  # type: ignore[override]
        return f"a number in {_range(self.low, self.high, self.closed)}"

    def accepts(self, value: Any) -> bool:
        kind = type(value)
        if kind is not float:
            # Decimals and fractions do not mix with arrays; no code takes doubles that are longer than Python's.
            known = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
            # NumPy makes objects of integers beyond 64 bits, not numbers.
            if isinstance(value, int) and abs(value) > _MOST:
                return False
            if not known or (isinstance(value, np.longdouble) and kind is not np.float64):
                return False
            value = float(value)
        if self.squared and _has_no_square(value):
            return False
        if self.low < value < self.high:
            return True
        above = value > self.low or (value == self.low and self.closed in ("both", "left"))
        below = value < self.high or (value == self.high and self.closed in ("both", "right"))
        return bool(above and below)

    def list_refused(self) -> Iterator[Any]:
        yield from ("text", math.nan)
        if self.low > -math.inf:
            yield self.low - 1.0 if self.closed in ("both", "left") else self.low
        if self.high < math.inf:
            yield self.high + 1.0 if self.closed in ("both", "right") else self.high


@dataclass(frozen=True)
class Share(Real):
    """A number in a range that is not written as an integer: 1.0 means all rows, 1 one row."""

    def accepts(self, value: Any) -> bool:
        return super().accepts(value) and not isinstance(value, Integral)


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
    """Anything NumPy can read as an array of numbers; shape and values are checked against the data.

    Parameters
    ----------
    content : {"numbers", "integers", "entries", "anything"}
        What it must hold; "entries" is for names, pairs and whatever else its reader checks one by one, and "anything"
        also for lists of unequal lengths.
    flat : bool, default=False
        Whether numbers must have one axis.
    """

    text = "an array-like"

    def __init__(self, content: str = "numbers", *, flat: bool = False) -> None:
        self.content = content
        self.flat = flat

    def accepts(self, value: Any) -> bool:
        plain = isinstance(value, list | tuple | np.ndarray)
        if not plain and not hasattr(value, "__array__") and not hasattr(value, "toarray"):
            return False
        # NumPy's numbers can become arrays too, but have no entries.
        if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
            return False
        # What lies on a device is not fetched.
        elsewhere = not plain and hasattr(value, "device")
        if self.content == "anything" or elsewhere:
            return True
        return self._holds_entries(value) if self.content == "entries" else self._holds_numbers(value)

    def _holds_entries(self, value: Any) -> bool:
        """Return whether NumPy makes an array with one axis or more of it: ragged lists have no shape."""
        try:
            values = np.asarray(value)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return False
        return bool(values.ndim > 0 and values.dtype.names is None)

    def _holds_numbers(self, value: Any) -> bool:
        """Return whether NumPy reads numbers that its usual types hold; ragged lists have no shape."""
        try:
            values = np.asarray(value)
            if values.dtype == object:
                # One by one: NumPy would make NaN of None.
                values = np.array([float(entry) for entry in values.ravel()])
        except (TypeError, ValueError, OverflowError, RecursionError):
            return False
        if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8 or values.ndim == 0:
            return False
        if self.flat and values.ndim != 1:
            return False
        if self.content == "numbers":
            return values.size > 0
        return values.ndim == 1 and bool(np.all(np.isfinite(values)) and np.all(values == np.floor(values)))


class Pair(Rule):
    """A tuple of two numbers."""

    text = "a tuple of two numbers"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, tuple) and len(value) == 2 and all(map(Real().accepts, value))


class Options(Rule):
    """Keyword arguments of a function of another library."""

    text = "an instance of dict"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, dict) and all(isinstance(name, str) for name in value)


class Anything(Rule):
    """Any value; what it is given to says whether it suits."""

    text = "any value"

    def accepts(self, value: Any) -> bool:
        return True

    def list_refused(self) -> Iterator[Any]:
        yield from ()


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

    text = "None, a non-negative integer of 32 bits, a numpy RandomState or a numpy Generator"

    def accepts(self, value: Any) -> bool:
        if value is None or isinstance(value, np.random.RandomState | np.random.Generator):
            return True
        return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) <= _LARGEST_SEED

    def list_refused(self) -> Iterator[Any]:
        yield from ("seed", -1, 1.5, _LARGEST_SEED + 1)


class _Either(Rule):
    """Any of several rules."""

    def __init__(self, first: Rule, second: Rule) -> None:
        self.rules: tuple[Rule, ...] = (*(first.rules if isinstance(first, _Either) else (first,)), second)
        self.text = " or ".join(rule.text for rule in self.rules)

    def accepts(self, value: Any) -> bool:
        for rule in self.rules:  # noqa: SIM110 (any() with a generator takes twice as long)
            if rule.accepts(value):
                return True
        return False

    def list_refused(self) -> Iterator[Any]:
        for rule in self.rules:
            yield from (value for value in rule.list_refused() if not self.accepts(value))


def are_plain_values(values: dict[str, Any]) -> bool:
    """Return whether all values are None, numbers, booleans or texts, which never change."""
    return all(map(_PLAIN.__contains__, map(type, values.values())))


def check_parameters(subject: str, rules: dict[str, Rule], values: dict[str, Any]) -> None:
    """Raise ``ParameterError`` for the first value that breaks its rule."""
    for name, rule in rules.items():
        if not rule.accepts(values[name]):
            raise ParameterError(f"{subject}: {name} must be {rule.text}; got {describe_value(values[name])}.")


def describe_value(value: Any) -> str:
    """Return a value as an error shows it: its start where it is long, and why a number or a list is none here."""
    if isinstance(value, int) and abs(value) > _MOST:
        return f"an integer of {value.bit_length()} bits, where 63 are the most"
    if isinstance(value, float | np.floating) and _has_no_square(float(value)):
        return f"{value!r}, whose square {'overflows' if abs(float(value)) > 1 else 'vanishes'}"
    try:
        written = _writer.repr(value)
    except (TypeError, ValueError, RecursionError):
        written = f"a {type(value).__name__}"
    return written if len(written) <= _SHOWN else written[:_SHOWN]


def _has_no_square(value: float) -> bool:
    """Return whether a number is too large or too small to be squared; zero, infinity and NaN are not."""
    size = abs(value)
    return _LARGEST < size < math.inf or 0.0 < size < _LEAST


def _range(low: float, high: float, closed: str) -> str:
    """Write an interval: square brackets for ends that belong to it."""
    left = "[" if closed in ("both", "left") and low > -math.inf else "("
    right = "]" if closed in ("both", "right") and high < math.inf else ")"
    return f"{left}{low:g}, {high:g}{right}"
