"""Check loaded objects before anything uses them: parameters, declared arrays, and structures of indices.

A checksum proves that a file arrived whole, not who wrote it. Native code reads arrays without checking indices, so
each object is compared with what its class declares (:mod:`mercer._stored`) when it is loaded.
"""

from typing import Any

from mercer._stored import Stored, check_stored
from mercer.errors import ModelFileError

__all__ = ["check_estimator", "check_record"]

# Most columns of a table: the index of a column fits into 31 bits.
_MOST_COLUMNS = 2**31 - 1


def check_record(record: Any) -> None:
    """Check the fields of a record that declares them, or that has ``check_fields``."""
    cls = type(record)
    if hasattr(cls, "_stored"):
        check_stored(cls.__name__, vars(record), cls._stored, {})
    if hasattr(cls, "check_fields"):
        record.check_fields()


def check_estimator(model: Any) -> None:
    """Check the parameters and the fitted attributes of an estimator of mercer."""
    values, name = vars(model), type(model).__name__
    for parameter, rule in type(model)._parameters.items():
        if parameter in values and not rule.accepts(values[parameter]):
            message = f"{name}.{parameter} must be {rule.text}; the file has {str(values[parameter])[:80]}."
            raise ModelFileError(message)
    sizes: dict[str, int] = {}
    columns = values.get("n_features_in_")
    if columns is not None:
        if type(columns) is not int or not 0 <= columns <= _MOST_COLUMNS:
            message = f"{name}.n_features_in_ must be an integer in [0, {_MOST_COLUMNS}]; the file has {columns!r:.80}."
            raise ModelFileError(message)
        sizes["columns"] = columns
    check_stored(name, values, _collect(type(model)), sizes)
    model._check_structure()


def _collect(cls: type) -> dict[str, Stored]:
    """Return what a class and its bases declare; a class has the last word."""
    declared: dict[str, Stored] = {}
    for base in reversed(cls.__mro__):
        declared |= vars(base).get("_stored", {})
    return declared
