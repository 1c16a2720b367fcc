"""Reading files of older schemas.

The schema is the shape of the header: which fields and node types there are. It is one integer, raised whenever a
reader of the previous one would misread a new file. What changes inside one estimator is that estimator's business: it
raises its ``_file_version`` and gives a classmethod ``_migrate(state, version)``.
"""

from collections.abc import Callable
from typing import Any

from mercer._version import __version__
from mercer.errors import ModelFileError

SCHEMA = 1

# From the header of schema n to that of schema n + 1.
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}

# Classes that have moved: the key in old files, the key now.
MOVED: dict[str, str] = {}


def migrate_header(header: dict[str, Any]) -> dict[str, Any]:
    """Bring a header to the present schema, one step at a time."""
    schema = header.get("schema")
    if type(schema) is not int or schema < 1:
        raise ModelFileError(f"the schema must be an integer in [1, {SCHEMA}]; got {str(schema)[:40]!r}.")
    if schema > SCHEMA:
        raise ModelFileError(
            f"this mercer ({__version__}) reads schemas up to {SCHEMA}; the file has schema {schema}. {_cure(header)}"
        )
    # Step k brings schema k to k + 1, so a new schema needs one function and not one for each older schema.
    while schema < SCHEMA:
        header = MIGRATIONS[schema](header)
        schema += 1
    return header


def _cure(header: dict[str, Any]) -> str:
    written_by = header.get("written_by")
    version = written_by.get("mercer") if isinstance(written_by, dict) else None
    if not isinstance(version, str) or len(version) > 40 or not version.isprintable():
        return "Install a newer mercer."
    return f"Install mercer {version}, which wrote it, or a newer one."


def migrate_state(cls: Any, key: str, state: dict[str, Any], version: Any) -> dict[str, Any]:
    """Bring the state of one object to the class's present version."""
    present = getattr(cls, "_file_version", 1)
    if type(version) is not int or not 1 <= version <= present:
        raise ModelFileError(
            f"{key} has file versions in [1, {present}]; got {str(version)[:40]}. Install a newer mercer."
        )
    if version == present:
        return state
    return cls._migrate(state, version)
