"""What a class stores, declared beside the class: the type, shape and range of every fitted attribute.

Native code trusts the arrays of a fitted model. A model file may have been written by an enemy, so its attributes are
compared with these declarations before anything uses them, and attributes that are not declared are refused:

    _stored = {"cluster_centers_": floats("clusters, columns"), "labels_": integers("rows", low=-1, below="clusters")}

A word is a size: wherever it occurs in one object it must stand for the same number. ``columns`` is the number of input
columns and ``classes`` the number of classes; ``*`` is any length and ``...`` any shape. Alternatives are separated by
``|``; an empty one is a single value, and ``none`` allows None. The documentation of the file format is made from the
declarations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse

from mercer.errors import ModelFileError

# NumPy's kind of the single values that Python has.
_SCALAR_KINDS = {bool: "b", int: "i", float: "f", complex: "c", str: "U"}
# Sizes that are at least 1 in every model.
_NEVER_EMPTY = ("classes", "states", "centres")
NONE = ("none",)
_ANY = ("...",)
# What has a shape and a type. A tuple, made once: ``np.ndarray | np.generic`` takes longer than the check itself.
ARRAYS = (np.ndarray, np.generic)
# An axis is the name of a size, ``*``, or a number.
Axis: TypeAlias = str | int
# The letters of ``dtype.kind`` in words, in the order in which they are listed.
_KINDS = {
    "f": "float",
    "i": "integer",
    "u": "integer",
    "b": "boolean",
    "c": "complex",
    "U": "text",
    "O": "object",
    "S": "bytes",
    "M": "date",
}
# Groups of kinds that have a name of their own.
_GROUPS = {"UO": "text", "bu": "boolean", "fiu": "number", "biufUOSM": "label"}
# Sizes that mean the same in a model and in its parts.
_SHARED = ("columns", "classes")
# Types of whole numbers, as a tuple: a union of types would be made anew in every call.
_WHOLE = (int, np.integer)


def parse(shapes: str) -> tuple[tuple[Axis, ...], ...]:
    """Return the shapes that a declaration allows, each as its axes."""
    return tuple(tuple(_parse_axis(word) for word in shape.split(",") if word.strip()) for shape in shapes.split("|"))


def _parse_axis(word: str) -> Axis:
    word = word.strip()
    return int(word) if word.isdigit() else word


def read_form(value: Any) -> tuple[tuple[Any, ...] | None, str, bool]:
    """Return the shape and the kind of an array or single value, None for anything else; and whether it is sparse."""
    # Most values are arrays: the other questions are asked of the others only.
    if isinstance(value, ARRAYS):
        return value.shape, value.dtype.kind, False
    if value is None:
        return NONE, "", False
    kind = _SCALAR_KINDS.get(type(value))
    if kind is not None:
        return (), kind, False
    return (value.shape, value.dtype.kind, True) if issparse(value) else (None, "", False)


def match(shape: tuple[Any, ...], wanted: tuple[Axis, ...], sizes: dict[str, int]) -> dict[str, int] | None:
    """Return the sizes that a shape shows, or None if it does not match."""
    if shape == NONE or wanted == NONE:
        return {} if shape == wanted else None
    if wanted == _ANY:
        return {}
    if len(shape) != len(wanted):
        return None
    learnt: dict[str, int] = {}
    for length, axis in zip(shape, wanted):
        if axis == "*":
            continue
        if isinstance(axis, int):
            known: int | None = axis
        elif length == 0 and axis in _NEVER_EMPTY:
            return None
        else:
            known = sizes.get(axis, learnt.get(axis))
        if known is None:
            learnt[axis] = length  # type: ignore[index]
        elif known != length:
            return None
    return learnt


def spell_axis(axis: Any, sizes: dict[str, int]) -> str:
    """Return an axis in words, with its size where that is known."""
    return f"{axis} = {sizes[axis]}" if axis in sizes else str(axis)


def spell_shape(shape: tuple[Any, ...], sizes: dict[str, int]) -> str:
    """Return a shape in words, for errors."""
    return "None" if shape == NONE else f"({', '.join(spell_axis(axis, sizes) for axis in shape)})"


def spell_form(kind: str, shape: tuple[Axis, ...]) -> str:
    """Return a declared kind and shape in words, for the documentation."""
    if shape == NONE:
        return "None"
    return f"{kind} array ({', '.join(map(str, shape))})" if shape else f"a single {kind}"


class Stored:
    """A rule for one stored value."""

    def check(self, place: str, value: Any, sizes: dict[str, int]) -> None:
        """Raise ModelFileError if a value breaks the rule; `sizes` gains the sizes that it shows."""
        raise NotImplementedError  # each rule below defines its own

    def describe(self) -> str:
        """Return the rule in words, for errors and for the documentation."""
        raise NotImplementedError

    def __or__(self, other: "Stored") -> "Stored":
        return _Either((self, other))


@dataclass(frozen=True)
class _Values(Stored):
    """An array or a single value of some kinds.

    ``kinds`` are letters as in ``dtype.kind``. Each axis of a shape is a number, the name of a size or ``*``.
    ``low`` is the lowest integer, and all integers are below the size ``below``: they are indices into that axis.
    """

    kinds: str
    shapes: tuple[tuple[Axis, ...], ...]
    low: int | None = None
    below: str | None = None
    sparse: bool = False
    finite: bool = False
    dtype: np.dtype[Any] | None = None

    def check(self, place: str, value: Any, sizes: dict[str, int]) -> None:
        shape, kind, sparse = read_form(value)
        if shape is None or (sparse and not self.sparse):
            raise _refusal(place, self.describe(), type(value).__name__)
        for wanted in self.shapes:
            learnt = match(shape, wanted, sizes)
            if learnt is not None:
                break
        else:
            forms = " or ".join(spell_shape(one, sizes) for one in self.shapes)
            raise _refusal(place, f"have the shape {forms}", spell_shape(shape, {}), be="")
        if learnt:
            sizes.update(learnt)
        if shape == NONE:
            return
        if kind not in self.kinds and not (kind == "i" and "f" in self.kinds and not shape):
            raise _refusal(place, self.describe(), getattr(value, "dtype", type(value).__name__))
        if self.dtype is not None and getattr(value, "dtype", None) != self.dtype:
            raise _refusal(place, f"of {self.dtype}", getattr(value, "dtype", type(value).__name__))
        if (self.low is not None or self.below) and not sparse:
            self._check_range(place, value, sizes)
        if self.finite and not np.isfinite(value.data if sparse else value).all():
            raise _refusal(place, "finite", "NaN or infinity")

    def _check_range(self, place: str, value: Any, sizes: dict[str, int]) -> None:
        is_array = isinstance(value, ARRAYS)
        end = sizes.get(self.below) if self.below else None
        if is_array and not value.size:
            return
        # The methods of the array: np.min finds them by a way that takes longer than a short array itself. The
        # comparisons are written so that NaN is refused too.
        inside = self.low is None or (value.min() if is_array else value) >= self.low
        if not inside or not (end is None or (value.max() if is_array else value) < end):
            raise _refusal(place, f"hold numbers in [{self.low}, {end})", f"{np.min(value)} to {np.max(value)}", be="")

    def describe(self) -> str:
        letters = (letter for letter in _KINDS if letter in self.kinds)
        kind = _GROUPS.get(self.kinds) or " or ".join(dict.fromkeys(_KINDS[letter] for letter in letters))
        forms = [form for form in (spell_form(kind, shape) for shape in self.shapes) if form]
        words = " or ".join(forms) + (", dense or sparse" if self.sparse else "")
        if self.low is not None and self.below is None:
            words += f", at least {self.low}"
        return words + (f", in [{self.low if self.low is not None else '-inf'}, {self.below})" if self.below else "")


@dataclass(frozen=True)
class _Choice(Stored):
    """One of some words."""

    options: tuple[str, ...]

    def check(self, place: str, value: Any, sizes: dict[str, int]) -> None:
        if not isinstance(value, str) or value not in self.options:
            raise _refusal(place, self.describe(), repr(value))

    def describe(self) -> str:
        return "one of " + ", ".join(repr(option) for option in self.options)


@dataclass(frozen=True)
class _Size(Stored):
    """An integer that is a size."""

    word: str

    def check(self, place: str, value: Any, sizes: dict[str, int]) -> None:
        known = sizes.setdefault(self.word, value) if _is_count(value) else -1
        if not _is_count(value) or known != value:
            rule = self.describe() + (f" = {known}" if known != -1 else "")
            raise _refusal(place, rule, str(value)[:40])

    def describe(self) -> str:
        return f"the number of {self.word}"


@dataclass(frozen=True)
class _Part(Stored):
    """An object of a class that is found by its name, or of one derived from it; ``none`` allows None."""

    names: tuple[str, ...]

    def check(self, place: str, value: Any, sizes: dict[str, int]) -> None:
        if value is None and "none" in self.names:
            return
        if not any(base.__name__ in self.names for base in type(value).__mro__[:-1]):
            raise _refusal(place, self.describe(), type(value).__name__)
        cls: type = type(value)
        if hasattr(cls, "_stored") and not hasattr(value, "fit") and _has_shared_sizes(cls):
            # Columns and classes are the same in a model and its parts; other sizes are their own, and were checked
            # when the part was made.
            known = {word: sizes[word] for word in _SHARED if word in sizes}
            check_stored(f"{place}", vars(value), type(value)._stored, known)

    def describe(self) -> str:
        return " or ".join("None" if name == "none" else f"`{name}`" for name in self.names)


@dataclass(frozen=True)
class _Members(Stored):
    """A list, tuple or object array of values that keep one rule."""

    rule: Stored
    length: str = "*"

    def check(self, place: str, value: Any, sizes: dict[str, int]) -> None:
        is_objects = isinstance(value, np.ndarray) and value.dtype == object
        if type(value) not in (list, tuple) and not is_objects:
            raise _refusal(place, self.describe(), type(value).__name__)
        if (learnt := match((len(value),), (self.length,), sizes)) is None:
            raise _refusal(place, f"have {spell_axis(self.length, sizes)} members", len(value), be="")
        sizes.update(learnt or {})
        for number, member in enumerate(value.reshape(-1) if is_objects else value):
            self.rule.check(f"{place}[{number}]", member, sizes)

    def describe(self) -> str:
        return f"a list ({self.length}) of: {self.rule.describe()}"


@dataclass(frozen=True)
class _Mapping(Stored):
    """A dictionary from text to values that keep one rule."""

    rule: Stored

    def check(self, place: str, value: Any, sizes: dict[str, int]) -> None:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise _refusal(place, self.describe(), type(value).__name__)
        for key, member in value.items():
            self.rule.check(f"{place}[{key!r:.40}]", member, sizes)

    def describe(self) -> str:
        return f"a dictionary from text to: {self.rule.describe()}"


@dataclass(frozen=True)
class _Anything(Stored):
    """Plain data that no code walks without checking it."""

    why: str

    def check(self, place: str, value: Any, sizes: dict[str, int]) -> None:
        return

    def describe(self) -> str:
        return f"plain data: {self.why}"


@dataclass(frozen=True)
class _Either(Stored):
    """A value that keeps one of several rules."""

    rules: tuple[Stored, ...]

    def check(self, place: str, value: Any, sizes: dict[str, int]) -> None:
        for rule in self.rules:
            learnt = dict(sizes)
            try:
                rule.check(place, value, learnt)
            except ModelFileError as error:
                last = error
            else:
                sizes.update(learnt)
                return
        raise last

    def describe(self) -> str:
        return "; or ".join(rule.describe() for rule in self.rules)


def floats(
    shapes: str = "", sparse: bool = False, finite: bool = False, low: int | None = None, dtype: str | None = None
) -> Stored:
    """Declare an array of floats, or a single one; NaN and infinity are refused where they must be `finite`."""
    kind = None if dtype is None else np.dtype(dtype)
    return _Values("f", parse(shapes), low, sparse=sparse, finite=finite, dtype=kind)


def numbers(shapes: str = "", sparse: bool = False, finite: bool = False) -> Stored:
    """Declare an array of floats or integers, or a single one."""
    return _Values("fiu", parse(shapes), sparse=sparse, finite=finite)


def integers(shapes: str = "", low: int | None = None, below: str | None = None, dtype: str | None = None) -> Stored:
    """Declare an array of integers, with the lowest value and the size that all are below, if any."""
    return _Values("iu", parse(shapes), low, below, dtype=None if dtype is None else np.dtype(dtype))


def flags(shapes: str = "") -> Stored:
    """Declare an array of truth values, or of bytes that stand for them."""
    return _Values("bu", parse(shapes))


def texts(shapes: str = "") -> Stored:
    """Declare an array of texts, or a single text."""
    return _Values("UO", parse(shapes))


def choice(*options: str) -> Stored:
    """Declare a text that is one of some words."""
    return _Choice(options)


def labels(shapes: str) -> Stored:
    """Declare an array of class labels of any kind."""
    return _Values("biufUOSM", parse(shapes))


def size(word: str) -> Stored:
    """Declare an integer that is a size of other attributes."""
    return _Size(word)


def part(*names: str) -> Stored:
    """Declare an object of a named class, or of one derived from it; ``"none"`` allows None."""
    return _Part(names)


def members(rule: Stored, length: str = "*") -> Stored:
    """Declare a list, tuple or object array of values that keep `rule`."""
    return _Members(rule, length)


def mapping(rule: Stored) -> Stored:
    """Declare a dictionary from text to values that keep `rule`."""
    return _Mapping(rule)


def anything(why: str) -> Stored:
    """Declare plain data of any shape, and why none is declared."""
    return _Anything(why)


def alike(rule: Stored, *names: str) -> dict[str, Stored]:
    """Declare several attributes that keep the same rule."""
    return dict.fromkeys(names, rule)


@cache
def collect_stored(cls: type) -> dict[str, Stored]:
    """Return what a class and its bases declare; a class has the last word."""
    declared: dict[str, Stored] = {}
    for base in reversed(cls.__mro__):
        declared |= vars(base).get("_stored", {})
    return declared


@cache
def _has_shared_sizes(cls: type) -> bool:
    """Return whether a part declares sizes that it has in common with its model, or parts of its own."""
    rules: Any = collect_stored(cls).values()
    return any(isinstance(rule, _Part) or any(word in rule.describe() for word in (*_SHARED, "`")) for rule in rules)


def check_stored(
    subject: str, values: Mapping[str, Any], declared: Mapping[str, Stored], sizes: dict[str, int]
) -> None:
    """Compare attributes with their declarations; raise ModelFileError for the first that differs.

    Absent attributes are left alone. `sizes` holds what is known before, and gains the sizes that the values show.
    """
    for name, rule in declared.items():
        if name in values:
            rule.check(f"{subject}.{name}", values[name], sizes)


def _refusal(place: str, rule: str, got: Any, be: str = "be ") -> ModelFileError:
    return ModelFileError(f"{place} must {be}{rule}; the file has {str(got)[:80]}.")


def _is_count(value: Any) -> bool:
    return isinstance(value, _WHOLE) and not isinstance(value, bool) and bool(value >= 0)
