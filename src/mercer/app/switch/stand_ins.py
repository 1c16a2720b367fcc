"""What stands in the place of a class or function of scikit-learn's.

A stand-in of a class makes mercer's objects, takes objects of both libraries for its own in ``isinstance``, and gives a
class that derives from it one of the two as its base. It loads mercer's class when it is first called. Under its own
name it is pickled as scikit-learn's class; objects are pickled as what they are.
"""

import copyreg
import importlib
import inspect
import types
from abc import ABC, ABCMeta
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any

from sklearn.base import BaseEstimator

from mercer.app.switch.record import Record
from mercer.app.switch.watched import Watch
from mercer.errors import ParameterError


@dataclass
class Pair:
    """A name that both libraries have, and what the switch knows of it."""

    family: str
    name: str
    theirs: Any
    watch: Watch

    @property
    def title(self) -> str:
        """The family and the name, as reports print them."""
        return f"{self.family}.{self.name}"

    @cached_property
    def ours(self) -> Any:
        """Mercer's class or function, loaded now."""
        found = getattr(importlib.import_module(f"mercer.{self.family}"), self.name)
        if inspect.isclass(found):
            self.watch.watch(self.title, found, self.theirs)
        return found

    @property
    def record(self) -> Record | None:
        """The record of the switch that is on; None if none is."""
        return self.watch.records[-1] if self.watch.records else None


class StandIn(ABCMeta):
    """The class of stand-ins. A stand-in has no objects of its own: its calls make mercer's or scikit-learn's."""

    mercer_pair: Pair

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any) -> Any:
        """Make a stand-in; or a class that a program derives from one, which is no stand-in."""
        if "mercer_pair" in body:
            return super().__new__(cls, name, bases, body)
        chosen = tuple(_choose_base(base, name, body) for base in bases)
        kind: type = type
        for base in chosen:
            kind = type(base) if issubclass(type(base), kind) else kind
        return kind(name, chosen, body, **options)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an object: mercer's, or scikit-learn's where mercer's takes other arguments."""
        pair = cls.mercer_pair
        if pair.record is None:
            return pair.theirs(*args, **kwargs)
        try:
            model = pair.ours(*args, **kwargs)
        except TypeError as error:
            model = pair.theirs(*args, **kwargs)
            pair.record.count_fallback(pair.title, str(error))
            return model
        pair.record.count_made(pair.title)
        return model

    def __instancecheck__(cls, thing: Any) -> bool:
        """Return whether an object is of either library's class."""
        return cls.__subclasscheck__(type(thing))

    def __subclasscheck__(cls, other: Any) -> bool:
        """Return whether a class derives from either library's class."""
        lines = getattr(other, "__mro__", ())
        if cls.mercer_pair.theirs in lines or other is cls:
            return True
        # Nothing is loaded to answer this: what derives from mercer's class has it loaded.
        near = any(line.__name__ == cls.mercer_pair.name and line.__module__.startswith("mercer.") for line in lines)
        return near and cls.mercer_pair.ours in lines

    def __getattribute__(cls, name: str) -> Any:
        """Return an attribute of scikit-learn's class; a method that is called with mercer's object is mercer's."""
        if name in _ITS_OWN or (name.startswith("__") and name != "__init__"):
            return super().__getattribute__(name)
        value = getattr(cls.mercer_pair.theirs, name)
        return _share(value, name, cls.mercer_pair) if isinstance(value, types.FunctionType) else value


# What a stand-in has itself, with what Python keeps on an abstract class.
_ITS_OWN = ("mercer_pair", *(name for name in vars(ABC) if name.startswith("_abc")))


def _share(method: Any, name: str, pair: Pair) -> Any:
    """Return a method that is mercer's for mercer's objects, as in ``Ridge.__init__(self)`` of a derived class."""

    @wraps(method)
    def call(model: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = method if isinstance(model, pair.theirs) else getattr(pair.ours, name, method)
        return chosen(model, *args, **kwargs)

    return call


def _choose_base(base: type, name: str, body: dict[str, Any]) -> Any:
    """Return the class that a derived class gets for a stand-in: scikit-learn's if it uses private names of that."""
    if not isinstance(base, StandIn):
        return base
    pair = base.mercer_pair
    if pair.record is None:
        return pair.theirs
    private = sorted(
        word
        for word in _list_words(body)
        if word.startswith("_") and not word.startswith("__") and hasattr(pair.theirs, word)
        if not hasattr(pair.ours, word)
    )
    if not private:
        return pair.ours
    reason = f"class {name} uses what is private to scikit-learn's class: {', '.join(private)}"
    pair.record.count_fallback(pair.title, reason)
    return pair.theirs


def _list_words(body: dict[str, Any]) -> set[str]:
    """Return the names that a class defines and those that its methods use."""
    words = set(body)
    queue: list[Any] = []
    for value in body.values():
        functions = (getattr(value, part, None) for part in ("__code__", "__func__", "fget", "__wrapped__"))
        queue += [
            getattr(function, "__code__", function)
            for function in (inspect.unwrap(value) if callable(value) else value, *functions)
        ]
    while queue:
        code = queue.pop()
        if isinstance(code, types.CodeType):
            words.update(code.co_names)
            queue += code.co_consts
    return words


def make_stand_in(pair: Pair, home: str) -> Any:
    """Return the stand-in of a class or function, which is found in the module `home` of scikit-learn."""
    if not inspect.isclass(pair.theirs):
        return _make_function(pair, home)
    theirs = pair.theirs

    def make_plain(cls: type) -> Any:
        # Only pickle calls this, for objects of scikit-learn's class.
        return object.__new__(theirs)

    def set_state(model: Any, state: Any) -> None:
        model.__class__ = theirs
        model.__setstate__(state)

    body = {
        "mercer_pair": pair,
        "__module__": home,
        "__qualname__": pair.name,
        "__doc__": theirs.__doc__,
        "__signature__": inspect.signature(theirs),
        "__new__": make_plain,
        "__setstate__": set_state,
    }
    # Not from scikit-learn's class itself: an abstract class asks those that derive from it which objects are its own.
    # scikit-learn's code would then take mercer's objects for its own, and read private attributes.
    bases = tuple(base for base in theirs.__mro__[1:-1] if type(base) is type)
    return StandIn(pair.name, bases, body)


def _make_function(pair: Pair, home: str) -> Any:
    """Return a function that calls mercer's, or scikit-learn's where mercer's refuses an option."""
    theirs = pair.theirs

    @wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        record = pair.record
        if record is None or _holds_theirs([*args, *kwargs.values()]):
            return theirs(*args, **kwargs)
        try:
            inspect.signature(pair.ours).bind(*args, **kwargs)
            with record.time_call(pair.title):
                return pair.ours(*args, **kwargs)
        except (ParameterError, TypeError) as error:
            if (
                isinstance(error, TypeError)
                and not isinstance(error, ParameterError)
                and _binds(pair.ours, args, kwargs)
            ):
                raise
            answer = theirs(*args, **kwargs)
            record.count_fallback(pair.title, str(error))
            return answer

    call.__module__ = home
    return call


def _binds(function: Any, args: Any, kwargs: Any) -> bool:
    """Return whether a function takes these arguments."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _holds_theirs(things: Iterable[Any]) -> bool:
    """Return whether an argument is a model of scikit-learn's, which mercer's functions may not read."""
    return any(isinstance(thing, BaseEstimator) and type(thing).__module__.startswith("sklearn.") for thing in things)


def reduce_by_name(model: Any, protocol: Any, stand_in: Any, theirs: type) -> Any:
    """Return how an object is pickled whose class is not found under its name, because a stand-in is there.

    The pickle names the class, and so is read with and without the switch.
    """
    reduced = object.__reduce_ex__(model, protocol)
    if type(model) is not theirs or reduced[0] is not copyreg.__newobj__:  # type: ignore[attr-defined]
        return reduced
    return (copyreg._reconstructor, (stand_in, object, None), *reduced[2:])  # type: ignore[attr-defined]
