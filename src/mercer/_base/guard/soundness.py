"""Check models where they come in: parameters, declared attributes, and structures of indices.

A checksum proves that a file arrived whole, not who wrote it. Native code reads arrays without checking indices, so
each object is compared with what its class declares (:mod:`mercer._stored`) when it is loaded from a file or a pickle,
and when a user assigns a declared attribute. What a fit stores is sound, and no answer checks it again. Attributes that
are not declared are refused in a file: no prediction needs them.
"""

import types
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import NotFittedError

from mercer._base.guard.inputs import check_sparse_rows
from mercer._base.scikit_learn import list_parameters
from mercer._stored import check_stored, collect_stored
from mercer._types import Array
from mercer.errors import MercerError, ModelFileError

# Most columns of a table: the index of a column fits into 31 bits.
_MOST_COLUMNS = 2**31 - 1
# What a field may hold that is annotated with a type of single values: NumPy's types count as Python's.
_SINGLE: dict[Any, tuple[type, ...]] = {
    bool: (bool, np.bool_),
    int: (int, np.integer),
    float: (int, float, np.integer, np.floating),
    complex: (int, float, complex, np.number),
    str: (str,),
}
# Types of truth values, as a tuple: a union of types would be made anew in every call.
_TRUTHS = (bool, np.bool_)
# What a field may hold that is annotated as an array: a single number is an array of no dimension.
_ARRAYS = (np.ndarray, np.generic, int, float, complex, type(None))

Accepts = Callable[[Any], bool]


def check_record(record: Any, values: dict[str, Any]) -> None:
    """Check the fields of a record: against their annotations, what the class declares, and ``check_fields``."""
    cls: Any = type(record)
    # Types come first, because the declared checks and check_fields compute with the values.
    for name, (accepts, words) in _read_annotations(cls).items():
        if name in values and not accepts(values[name]):
            raise ModelFileError(f"{cls.__name__}.{name} must be {words}; the file has {type(values[name]).__name__}.")
    if hasattr(cls, "_stored"):
        check_stored(cls.__name__, values, cls._stored, {})
    if hasattr(cls, "check_fields"):
        record.check_fields()
        # Indices that were checked stay as they are.
        for value in values.values():
            if type(value) is np.ndarray and value.dtype.kind in "iu":
                value.flags.writeable = False


def check_estimator(model: Any) -> None:
    """Check the parameters and the fitted attributes of an estimator of mercer."""
    cls: Any = type(model)
    values = vars(model)
    for parameter, rule in cls._parameters.items():
        if parameter in values and not rule.accepts(values[parameter]):
            raise ModelFileError(
                f"{cls.__name__}.{parameter} must be {rule.text}; the file has {str(values[parameter])[:80]}."
            )
    # An attribute that is not declared has no check, so it must not enter by a file.
    if not values.keys() <= _list_known(cls):
        strangers = sorted(values.keys() - _list_known(cls))
        raise ModelFileError(
            f"{cls.__name__} stores only what it declares; the file also has {', '.join(strangers)[:120]}. Install the "
            f"version that wrote it, which its header names, if the file is older than this mercer."
        )
    check_state(model)


def check_state(model: Any) -> None:
    """Check the fitted attributes that an estimator declares; others are left alone."""
    cls: Any = type(model)
    values = vars(model)
    columns = values.get("n_features_in_")
    if columns is not None and (type(columns) is not int or not 0 <= columns <= _MOST_COLUMNS):
        raise ModelFileError(
            f"{cls.__name__}.n_features_in_ must be an integer in [0, {_MOST_COLUMNS}]; the file has {columns!r:.80}."
        )
    # Shapes may refer to n_features_in_, which is why its range is checked above.
    check_stored(cls.__name__, values, collect_stored(cls), {})
    model._check_structure()


def check_parts(values: Iterable[Any]) -> None:
    """Check records and sparse matrices among some values, and in lists, tuples and fields, before what holds them."""
    for value in values:
        if type(value) in (list, tuple):
            check_parts(value)
        elif hasattr(type(value), "_stored") and not hasattr(value, "fit"):
            check_parts(vars(value).values())
            check_record(value, vars(value))
        elif issparse(value):
            check_sparse_rows("a stored matrix", value)


def view_arrays(state: dict[str, Any]) -> dict[str, Any]:
    """Return attributes with views in the place of arrays that own their memory, which anybody could resize."""
    return {
        name: value.view() if type(value) is np.ndarray and value.base is None else value
        for name, value in state.items()
    }


def check_restored(model: Any) -> None:
    """Check a model that a pickle or a copy has restored; raise ModelFileError if its parts do not fit together."""
    _check_parts_of(model, "unpickled")


def assign(model: Any, name: str, value: Any) -> None:
    """Assign a declared attribute; if it does not fit the others, keep the model as it was and raise ModelFileError."""
    state = vars(model)
    was_there, before = name in state, state.get(name)
    object.__setattr__(model, name, value)
    try:
        _check_parts_of(model, "assigned")
    except ModelFileError:
        if was_there:
            state[name] = before
        else:
            state.pop(name, None)
        raise


def _check_parts_of(model: Any, how: str) -> None:
    # Arrays on a device are not read by native code. Some models are meant to be made by hand, and check their
    # parameters themselves before each answer.
    if "_placement" in vars(model) or model._checks_assigned:
        return
    try:
        check_parts(vars(model).values())
        check_state(model)
    except NotFittedError:
        # A model that is put together by hand is not complete yet: the last of its parts is compared with all others.
        return
    except MercerError as error:
        rule = str(error).replace("the file", "this model")
        raise ModelFileError(f"{rule} It was {how}: fit the model again.") from None
    except Exception as error:
        raise ModelFileError(
            f"{type(model).__name__}: attributes that were {how} do not fit together "
            f"({type(error).__name__}: {str(error)[:200]}). Fit the model again."
        ) from error


@cache
def list_assigned(cls: Any) -> frozenset[str]:
    """Return the attributes of a class that are checked when they are assigned outside a fit.

    A class that a user derived, with a ``fit`` of its own, assigns them one by one there: none is checked.
    """
    marked = hasattr(cls.fit, "is_fitting") if hasattr(cls, "fit") else True
    return frozenset(collect_stored(cls)) if marked else frozenset()


@cache
def _list_known(cls: Any) -> frozenset[str]:
    """Return the names of what a class declares and of its parameters."""
    return frozenset(collect_stored(cls).keys() | set(list_parameters(cls)))


@cache
def _read_annotations(cls: type) -> dict[str, tuple[Accepts, str]]:
    """Return a test and its words for each field whose annotation says what it may hold."""
    try:
        hints = get_type_hints(cls)
    except NameError:  # a name that only type checkers import
        return {}
    tests = {name: (_compile(hint), getattr(hint, "__name__", str(hint))) for name, hint in hints.items()}
    return {name: (test, words) for name, (test, words) in tests.items() if test is not None}


def _compile(hint: Any) -> Accepts | None:
    """Return a test for an annotation, or None where it says nothing that can be tested."""
    if hint == Array:
        return lambda value: isinstance(value, _ARRAYS) or issparse(value)
    if hint is None or hint is type(None):
        return lambda value: value is None
    if hint in _SINGLE:
        kinds, is_truth = _SINGLE[hint], hint is bool
        return lambda value: isinstance(value, kinds) and (is_truth or not isinstance(value, _TRUTHS))
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        tests = [_compile(argument) for argument in get_args(hint)]
        return None if None in tests else lambda value: any(test is not None and test(value) for test in tests)
    if origin is Literal:
        return lambda value: value in get_args(hint)
    kind = origin or hint
    if not isinstance(kind, type) or kind in (object, Any, type) or getattr(kind, "_is_protocol", False):
        return None
    # Sequences, mappings and the like are tested by their own class; their items are read by code that checks them.
    return lambda value: isinstance(value, kind)
