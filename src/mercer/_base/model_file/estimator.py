"""How estimators, splitters and small records are written and read.

An object is its class key, its constructor parameters and the rest of its attributes. It is rebuilt without calling
its constructor: a new instance is given its attributes, once the class is found in the registry and the names agree
with it.
"""

import dataclasses
import inspect
import re
from functools import cache
from typing import Any

import numpy as np
import sklearn
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from mercer._base.guard.soundness import check_estimator, check_record
from mercer._base.model_file.codec import Decoder, Encoder, decodes, encodes_where
from mercer._base.model_file.migration import migrate_state
from mercer._base.model_file.registry import class_of, key_of_class
from mercer._base.scikit_learn import CALLBACK_MARKS, REQUESTS, SHOWN, VERSION, add_requests
from mercer._plain import PLAIN
from mercer._stored import collect_stored
from mercer.errors import ModelFileError

# Parameters that are lists of (name, part, ...).
_LISTS = ("estimators", "steps", "transformers", "transformer_list")
# Lists that hold nothing but such tuples, whatever the class.
_STRICT = ("steps", "transformers", "transformer_list")
# Columns for which names are made in less than a second, whatever else a file holds.
_FEW_COLUMNS = 2**20
# Characters of a name: far more than a table of parameters shows.
_LONGEST = 200
# Letters, digits and signs that are neither quotes nor markup. A plus repeats the letter before it and nothing longer.
_HARMLESS = re.compile(r"(?:[\w ,.:;=/@#%&~!$^|()-]|(?<=[\w ])\+)*")


def check_part_names(attributes: dict[str, Any], where: str) -> None:
    """Raise ModelFileError if the name of a part could be more than text in a notebook, or a part is none."""
    for parameter in _LISTS:
        pairs = attributes.get(parameter)
        if type(pairs) is not list and type(pairs) is not tuple:
            continue
        for pair in pairs:
            if parameter in _STRICT and not _is_named(pair):
                raise ModelFileError(
                    f"{where}.{parameter}: each part must come after its name; got {str(pair)[:40]!r}."
                )
            name = pair[0] if isinstance(pair, tuple | list) and pair else None
            if isinstance(name, str) and not _is_harmless(name):
                raise ModelFileError(
                    f"{where}.{parameter}: the name of a part must have at most {_LONGEST} letters, digits, spaces and "
                    f"signs such as - . : = ( ), without quotes, brackets, repetitions; got {name[:40]!r}. Rename it."
                )
            if isinstance(pair, tuple | list) and len(pair) > 1 and not _is_part(pair[1]):
                raise ModelFileError(
                    f"{where}.{parameter}: a part must be an estimator, a word such as 'drop', or None; got "
                    f"{type(pair[1]).__name__}."
                )


def check_column_counts(model: Any, where: str) -> None:
    """Raise ModelFileError if a model names more columns than anything in it has: a notebook would list them."""
    for name in ("n_features_in_", "_n_features_out"):
        count = vars(model).get(name)
        if isinstance(count, int | float | np.number) and count > _FEW_COLUMNS and count not in _list_sizes(model):
            raise ModelFileError(f"{where}.{name} must be the length of one of its arrays; got {str(count)[:40]}.")


def _list_sizes(model: Any) -> set[Any]:
    """Return the lengths of all arrays of a model, and the columns of its parts, which were checked before."""
    sizes: set[Any] = set()
    values = list(vars(model).values())
    while values:
        value = values.pop()
        if isinstance(value, np.ndarray) or issparse(value):
            sizes.update(value.shape)
        elif isinstance(value, list | tuple):
            values.extend(value)
        elif hasattr(value, "n_features_in_"):
            sizes.add(value.n_features_in_)
    return sizes


def _is_named(pair: Any) -> bool:
    return isinstance(pair, tuple | list) and len(pair) > 1 and isinstance(pair[0], str)


def _is_part(value: Any) -> bool:
    return value is None or isinstance(value, str) or hasattr(value, "get_params")


def _is_harmless(name: str) -> bool:
    if len(name) > _LONGEST or not _HARMLESS.fullmatch(name):
        return False
    try:
        re.compile(name)
    except re.error:
        # Such as a parenthesis that is not closed.
        return False
    return True


# A tuple: a union of types is made anew, and takes longer to compare with, in every call.
_SEQUENCES = (list, tuple)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_ROUTED = (
    *("fit", "partial_fit", "predict", "predict_proba", "predict_log_proba", "decision_function", "score"),
    *("split", "transform", "inverse_transform"),
)
_ISOTONIC = "sklearn.isotonic.IsotonicRegression"


def is_registered(value: Any) -> bool:
    """Return whether a value is an instance of a class in the registry."""
    return not isinstance(value, type | tuple) and key_of_class(type(value)) is not None


@encodes_where(is_registered)
def _write_object(value: Any, encoder: Encoder, path: str) -> Any:
    return encoder.share(value, lambda: _describe(value, encoder, path))


def _describe(value: Any, encoder: Encoder, path: str) -> dict[str, Any]:
    hidden = CALLBACK_MARKS | {REQUESTS}
    key = key_of_class(type(value))
    if key == _ISOTONIC:
        hidden = hidden | {"f_"}  # an interpolating function, made again from X_thresholds_ and y_thresholds_
    attributes = {name: item for name, item in vars(value).items() if name not in hidden}
    for name in attributes:
        _check_name(name, type(value), f"save: {path}")
    _check_memory(attributes, f"save: {path}")
    check_part_names(attributes, f"save: {path}")
    nodes = {name: encoder.encode(item, f"{path}.{name}") for name, item in attributes.items()}
    cls: Any = type(value)
    parameters = _parameters(cls).keys()
    return {
        "type": "object",
        "class": key,
        "version": getattr(type(value), "_file_version", 1),
        "params": {name: node for name, node in nodes.items() if name in parameters},
        "state": {name: node for name, node in nodes.items() if name not in parameters},
        "requests": write_requests(vars(value).get(REQUESTS), encoder, path),
    }


@cache
def _parameters(cls: Any) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
    return {name: item for name, item in parameters.items() if name != "self" and item.kind not in _VARIADIC}


def _check_name(name: Any, cls: type, where: str) -> None:
    if name in _list_harmless(cls):
        return
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
        raise ModelFileError(f"{where}: an attribute's name must be an identifier; got {str(name)[:40]!r}.")
    if _hides(name, cls):
        raise ModelFileError(
            f"{where}: an attribute may not hide a method or property; {cls.__name__}.{name[:40]} does."
        )


def _hides(name: str, cls: type) -> bool:
    """Return whether an attribute of this name would hide a method or a property, or be shown as markup."""
    # Text of a file must not become markup in a notebook.
    # `inspect.getattr_static` finds the same in 50 times as long: it also looks for what no registered class has.
    known = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    return inspect.isroutine(known) or isinstance(known, property) or name.startswith(SHOWN)


@cache
def _list_harmless(cls: type) -> frozenset[str]:
    """Return the declared attributes and parameters of a class that may be set.

    Made once for each class, because most attributes of a file are among them.
    """
    names = collect_stored(cls).keys() | _parameters(cls).keys()
    return frozenset(
        name for name in names if name.isidentifier() and not name.startswith("__") and not _hides(name, cls)
    )


def _check_memory(attributes: dict[str, Any], where: str) -> None:
    """Refuse a cache folder: a later fit would unpickle, and so execute, whatever an enemy has put there."""
    if attributes.get("memory") is not None:
        raise ModelFileError(
            f"{where}.memory must be None; a cache is not part of a model. Call set_params(memory=None) first."
        )
    for name, value in attributes.items():
        # A search sets parameters of its estimator when it is fitted again.
        for grid in value if isinstance(value, _SEQUENCES) else (value,):
            if isinstance(grid, dict) and any(_names_folder(*item) for item in grid.items()):
                raise ModelFileError(
                    f"{where}.{name} may not set `memory`; a cache is not part of a model. Take it out."
                )


def _names_folder(key: Any, values: Any) -> bool:
    if not isinstance(key, str) or key.rpartition("__")[2] != "memory":
        return False
    return any(value is not None for value in (values if isinstance(values, list | tuple) else (values,)))


@decodes("object", "class", "version", "params", "state", "requests")
def _read_object(node: dict[str, Any], decoder: Decoder) -> Any:
    key = node["class"]
    cls = class_of(key)
    params, state, requests = (node[name] for name in ("params", "state", "requests"))
    if not all(isinstance(part, dict) for part in (params, state, requests)) or params.keys() & state.keys():
        raise ModelFileError(f"{key} must have disjoint parameters and attributes; it has not.")
    # Old attributes are migrated before they are checked, so the checks know the present version only.
    attributes = {name: decoder.decode(item) for name, item in {**params, **state}.items()}
    attributes = migrate_state(cls, key, attributes, node["version"])
    for name in attributes:
        _check_name(name, cls, key)
    _check_memory(attributes, key)
    check_part_names(attributes, key)
    if issubclass(cls, BaseEstimator):
        # A file of an older version may have parameters that the migration
        # renamed or dropped, so these are not compared.
        if node["version"] == getattr(cls, "_file_version", 1):
            _check_parameters(cls, params)
        # A parameter that is newer than the file gets its default.
        attributes = {**_defaults(cls, key, attributes), **attributes}
    decoder.charge(4 * sum(getattr(item, "nbytes", 0) for item in attributes.values()) if key == _ISOTONIC else 0)
    instance = _build(cls, attributes, key)
    if hasattr(cls, "get_feature_names_out"):
        check_column_counts(instance, key)
    if hasattr(cls, "_stored"):
        check_estimator(instance)
    read_requests(instance, requests, decoder)
    return instance


def _check_parameters(cls: type, params: dict[str, Any]) -> None:
    strangers = params.keys() - _parameters(cls).keys()
    if strangers:
        raise ModelFileError(
            f"{cls.__name__} has parameters {', '.join(_parameters(cls))}; the file also has {min(strangers)[:40]}. "
            f"Install the versions that wrote it, which its header lists."
        )


def _defaults(cls: type, key: str, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the defaults of parameters that a class has gained since the file was written.

    scikit-learn gives a new parameter the default that keeps the old behaviour; mercer's classes migrate instead.
    """
    missing = {name: item for name, item in _parameters(cls).items() if name not in attributes}
    lost = [name for name, item in missing.items() if item.default is item.empty or key.startswith("mercer.")]
    if lost:
        raise ModelFileError(f"{key} must have the parameter {lost[0]}; the file has no value for it.")
    return {name: item.default for name, item in missing.items()}


def _build(cls: Any, attributes: dict[str, Any], key: str) -> Any:
    instance = cls.__new__(cls)
    if key == _ISOTONIC:
        instance.__setstate__({**attributes, VERSION: sklearn.__version__})
    else:
        vars(instance).update(attributes)
    return instance


def write_requests(requests: Any, encoder: Encoder, path: str) -> dict[str, Any]:
    """Return what ``set_fit_request`` and the other ``set_*_request`` methods were given, per method."""
    if requests is None:
        return {}
    told = {method: dict(getattr(requests, method).requests) for method in _ROUTED if hasattr(requests, method)}
    return {method: encoder.encode(given, f"{path}.{method}") for method, given in told.items() if given}


def read_requests(instance: Any, requests: dict[str, Any], decoder: Decoder) -> None:
    """Set the metadata requests of an instance as they were when it was saved."""
    if not requests:
        return
    if not requests.keys() <= set(_ROUTED):
        raise ModelFileError(f"metadata is requested for {', '.join(_ROUTED)}; got {min(requests)[:40]!r}.")
    # The charge is for objects that scikit-learn makes for the requests, which the size of the node does not show.
    decoder.charge(2**14)
    for method, node in requests.items():
        add_requests(instance, method, decoder.decode_as(node, dict))


@encodes_where(lambda value: PLAIN.get(type(value).__name__) is type(value) or _is_triplet(value))
def _write_record(value: Any, encoder: Encoder, path: str) -> dict[str, Any]:
    cls: Any = type(value)
    name = cls.__name__
    key = name if PLAIN.get(name) is cls else key_of_class(cls)
    fields = {name: encoder.encode(getattr(value, name), f"{path}.{name}") for name in _fields(cls)}
    return {"type": "record", "class": key, "fields": fields}


def _is_triplet(value: Any) -> bool:
    return isinstance(value, tuple) and key_of_class(type(value)) is not None


@cache
def _fields(cls: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls))
    return tuple(getattr(cls, "_fields", ()))


@cache
def _find_defaults(cls: type) -> dict[str, Any]:
    """Return the fields of a record class that have a default, with their defaults."""
    if not dataclasses.is_dataclass(cls):
        return {}
    fields = dataclasses.fields(cls)
    return {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}


@decodes("record", "class", "fields")
def _read_record(node: dict[str, Any], decoder: Decoder) -> Any:
    key, nodes = node["class"], node["fields"]
    cls: Any = PLAIN[key] if isinstance(key, str) and key in PLAIN else class_of(key)
    names = _fields(cls)
    known = names or dataclasses.is_dataclass(cls)
    defaults = _find_defaults(cls)
    if not known or not isinstance(nodes, dict) or not set(names) - defaults.keys() <= nodes.keys() <= set(names):
        raise ModelFileError(f"the record {str(key)[:40]} has the fields {', '.join(names)}; the file has others.")
    # A field that was added to the class after the file was written has its default.
    values = {name: decoder.decode(nodes[name]) if name in nodes else defaults[name] for name in names}
    if issubclass(cls, tuple):
        instance = cls._make(values[name] for name in names)
    else:
        instance = cls.__new__(cls)
        for name, value in values.items():
            object.__setattr__(instance, name, value)  # records are frozen
    check_record(instance, values)
    return instance
