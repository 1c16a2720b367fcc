"""Constructor parameters, each declared in one line of its class: name, type, rule, default and text.

    class KMeans(Estimator):
        n_clusters: int = parameter(Integer(1), default=8, kw_only=False, doc="The number of centres, k.")
        max_time: float | None = parameter(Real(0) | Nothing(), default=None)
        cluster_centers_: Array = attribute()

The constructor, its signature, the table of rules and the section "Parameters" of the class's docstring are made from
these lines. A line without a text has that of the line it replaces, or else the one that :mod:`documentation` has for
its name; ``_documents = {"tol": "..."}`` in a class states other texts alone. A class has the parameters of its bases
too. Its own come first, each behind the line above it; ``after="tol"`` puts a line behind ``tol`` instead. Parameters
that may be given by position (``kw_only=False``) precede those that may not. A line with the name of an inherited
parameter replaces it, and :func:`attribute` takes it away.

Type checkers read the same lines (:func:`typing.dataclass_transform`) and check calls of the constructor. They would
take every annotated name of a class for a parameter; hence a name that is none is declared with :func:`attribute` or as
a ``ClassVar``.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform, overload

from mercer._base.parameter.documentation import (
    SHARED,
    add_attributes,
    add_parameters,
    complete_methods,
    describe_default,
    describe_parameter,
)
from mercer._base.parameter.rules import Rule, are_plain_values
from mercer._base.scikit_learn import CLONED, NamedParameters, list_parameters

T = TypeVar("T")
# Stands for a default that was not given: None is a default.
_MISSING: Any = inspect.Parameter.empty


@dataclass(slots=True)
class _Parameter:
    """One line: what a parameter may be, its default, how it may be given, the one it follows, and its text."""

    rule: Rule
    default: Any
    kw_only: bool
    after: str | None
    doc: str
    type: Any = _MISSING

    def describe(self, name: str) -> inspect.Parameter:
        """Return the parameter as a signature shows it."""
        kind = inspect.Parameter.KEYWORD_ONLY if self.kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Parameter(name, kind, default=self.default, annotation=self.type)


@dataclass(slots=True)
class _Attribute:
    """A declared name that is no parameter, and its value on the class, if it has one."""

    value: Any


@overload
def parameter(rule: Rule, *, default: T, kw_only: bool = True, after: str | None = None, doc: str = "") -> T: ...
@overload
def parameter(rule: Rule, *, kw_only: bool = True, after: str | None = None, doc: str = "") -> Any: ...
def parameter(
    rule: Rule, *, default: Any = _MISSING, kw_only: bool = True, after: str | None = None, doc: str = ""
) -> Any:
    """Declare a parameter of the constructor.

    Parameters
    ----------
    rule : Rule
        What the parameter may be; ``fit`` checks it.
    default : object
        Without it, the parameter must be given.
    kw_only : bool, default=True
        False for a parameter that may also be given by position.
    after : str or None
        The parameter that precedes this one in the signature; by default that of the line above.
    doc : str
        What the parameter means, for the docstring of the class; a newline begins a paragraph or an item of a list.
    """
    if isinstance(default, list | dict | set):
        raise TypeError(f"the default {default!r} could be changed by one instance for all; take None or a tuple.")
    return _Parameter(rule, default, kw_only, after, doc)


def attribute(default: Any = _MISSING, *, init: Literal[False] = False) -> Any:
    """Declare an attribute that is no parameter: one that ``fit`` sets, or a constant of the class with its value.

    `init` is for type checkers: it says that the constructor does not take this name.
    """
    return _Attribute(default)


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter, attribute))
class Declared:
    """A class whose parameters are declared, one in a line; see the module's text."""

    # The lines of this class alone: a parameter, or None for a name that is none.
    _declared: ClassVar[dict[str, _Parameter | None]] = {}
    # Texts of inherited parameters that mean something else here.
    _documents: ClassVar[dict[str, str]] = {}
    # Whether fits store their record (``history_`` and so on), and the docstring says so.
    _stores_record: ClassVar[bool] = False
    # The rule of each constructor parameter, in the order of the signature.
    _parameters: ClassVar[dict[str, Rule]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._declared = _take_declarations(cls)
        if not _has_own_constructor(cls) and (parameters := _order_parameters(cls)):
            cls._parameters = {name: one.rule for name, one in parameters.items()}
            cls.__init__ = _make_constructor(cls, parameters)  # type: ignore[method-assign]
            # None where Python was started with -OO.
            if (doc := vars(cls).get("__doc__")) is not None:
                cls.__doc__ = add_parameters(doc, _describe_parameters(cls, parameters))
        if (doc := vars(cls).get("__doc__")) is not None and cls._stores_record:
            cls.__doc__ = add_attributes(doc)
        complete_methods(cls)


def _take_declarations(cls: type) -> dict[str, _Parameter | None]:
    """Return the lines of a class, and remove them: an attribute that is not set must not be found on the class."""
    types = inspect.get_annotations(cls)
    declared: dict[str, _Parameter | None] = {}
    for name, line in list(vars(cls).items()):
        if isinstance(line, _Parameter):
            line.type = types.get(name, _MISSING)
            declared[name] = line
            delattr(cls, name)
        elif isinstance(line, _Attribute):
            declared[name] = None
            if line.value is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, line.value)
    return declared


def _has_own_constructor(cls: type) -> bool:
    """Return whether a constructor written by hand serves the class: its own, or an inherited one without new lines."""
    for base in cls.__mro__:
        if "__init__" in vars(base):
            return base is not object and not hasattr(base.__init__, "is_made")  # type: ignore[misc]
        if any(vars(base).get("_declared", {}).values()):
            return False
    return False


def _order_parameters(cls: type) -> dict[str, _Parameter]:
    """Return the parameters of a class and its bases in the order of the signature."""
    order: list[str] = []
    parameters: dict[str, _Parameter] = {}
    for base in reversed(cls.__mro__):
        declared: dict[str, _Parameter | None] = vars(base).get("_declared", {})
        order = [name for name in order if name not in declared]
        place = 0
        for name, one in declared.items():
            if one is None:
                continue
            if one.after is not None:
                if one.after not in order:
                    raise TypeError(
                        f"{base.__name__}: {name} is declared after {one.after!r}, which is no parameter above it."
                    )
                place = order.index(one.after) + 1
            order.insert(place, name)
            parameters[name] = one
            place += 1
    order.sort(key=lambda name: parameters[name].kw_only)
    return {name: parameters[name] for name in order}


def _describe_parameters(cls: type, parameters: dict[str, _Parameter]) -> list[list[str]]:
    """Return the lines about each parameter in the docstring of a class."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        own = vars(base)
        texts |= {name: one.doc for name, one in own.get("_declared", {}).items() if one is not None and one.doc}
        texts |= own.get("_documents", {})
    if unknown := vars(cls).get("_documents", {}).keys() - parameters.keys():
        raise TypeError(f"{cls.__name__}: _documents describes {sorted(unknown)}, which are no parameters of it.")
    return [
        describe_parameter(
            name, one.rule.text, describe_default(one.default, _MISSING), texts.get(name) or SHARED.get(name, "")
        )
        for name, one in parameters.items()
    ]


def _make_constructor(cls: type, parameters: dict[str, _Parameter]) -> Callable[..., None]:
    """Make the constructor: it assigns the parameters and does nothing else."""
    defaults = {name: one.default for name, one in parameters.items()}
    by_position = tuple(name for name, one in parameters.items() if not one.kw_only)
    required = tuple(name for name, one in parameters.items() if one.default is _MISSING)
    n_by_position, n_parameters = len(by_position), len(parameters)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        values = defaults.copy()
        if args:
            values.update(zip(by_position, args))
            if len(args) > n_by_position or not kwargs.keys().isdisjoint(by_position[: len(args)]):
                _refuse_arguments(__init__, args, kwargs)
        values.update(kwargs)
        # A name that is no parameter has made the table longer.
        if len(values) != n_parameters or (required and any(values[name] is _MISSING for name in required)):
            _refuse_arguments(__init__, args, kwargs)
        self.__dict__.update(values)

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    described = [own, *(one.describe(name) for name, one in parameters.items())]
    __init__.is_made = True  # type: ignore[attr-defined]
    __init__.__signature__ = inspect.Signature(described, return_annotation=None)  # type: ignore[attr-defined]
    __init__.__annotations__ = {one.name: one.annotation for one in described[1:]} | {"return": None}
    __init__.__module__ = cls.__module__
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return __init__


def _refuse_arguments(constructor: Callable[..., None], args: Any, kwargs: Any) -> None:
    """Raise TypeError for arguments that do not fit a constructor's signature, and name the constructor."""
    try:
        inspect.signature(constructor).bind(None, *args, **kwargs)
    except TypeError as error:
        words = str(error).replace("multiple values", "got multiple values")
        raise TypeError(f"{constructor.__qualname__}() {words}") from None


class DeclaredEstimator(Declared, NamedParameters):
    """An estimator of scikit-learn whose parameters are declared, and read without the constructor's signature."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of estimators among them, as ``part__name``.

        Returns
        -------
        dict
        """
        state = vars(self)
        try:
            found = {name: state[name] for name in list_parameters(self)}
        except KeyError:
            return super().get_params(deep)
        # Plain values have no parameters of their own: asking each takes most of the time.
        return found if not deep or are_plain_values(found) else super().get_params(deep)

    def __sklearn_clone__(self) -> Any:
        """Return an unfitted copy; plain parameters are handed over as they are, without a deep copy of each."""
        state, found = vars(self), self.get_params(deep=False)
        if are_plain_values(found) and state.keys().isdisjoint(CLONED):
            other = type(self)(**found)
            # A constructor that changes a parameter is refused by scikit-learn, in its own words.
            if all(vars(other).get(name, self) is value for name, value in found.items()):
                return other
        return super().__sklearn_clone__()
