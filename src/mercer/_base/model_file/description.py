"""What a model file contains, and what was checked in it: the content of ``mercer verify``."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer._base.model_file import StrPath, load
from mercer._base.model_file.archive import read_members
from mercer._base.model_file.container import Limits, read_container, read_signature
from mercer._base.model_file.signature import Key, split_signature

# What loading has checked when it succeeds, in the order in which it does.
_CHECKS = (
    "container: stored members that do not overlap and lie in the file",
    "checksums of the header and of every array (SHA-256)",
    "classes, records and functions: all are in mercer's registry",
    "parameters: all are in their declared ranges",
    "attributes: all are declared, with their types, shapes and ranges",
    "trees, linkages and other structures of indices: every index lies inside",
)


@dataclass(frozen=True)
class FileDescription:
    """A model file that was loaded without complaint.

    Attributes
    ----------
    path : str
    model : str
        The key of the model's class.
    schema : int
        The version of the format.
    written_by : dict of str
        The versions of mercer and of the libraries that wrote it, as the file says.
    size, n_arrays, array_bytes : int
        Bytes of the file, number of arrays, and their bytes.
    objects : dict of int
        How many objects of each class and records of each kind it holds.
    checks : tuple of str
        What was checked.
    key_id : str or None
        The id of the key that signed it; None for a file without signature.
    is_signature_checked : bool
        Whether a key was given that verified the signature.
    """

    path: str
    model: str
    schema: int
    written_by: dict[str, str]
    size: int
    n_arrays: int
    array_bytes: int
    objects: dict[str, int]
    checks: tuple[str, ...]
    key_id: str | None
    is_signature_checked: bool


def describe_file(path: StrPath, key: Key | None = None, max_bytes: int | None = None) -> FileDescription:
    """Load a model file with all checks, and return what it contains; raise ModelFileError if it is not sound."""
    # Loading runs every check, also those of the classes; what follows reads a file that is known to be sound.
    load(path, key=key, max_bytes=max_bytes)
    header, reader = read_container(Path(path), Limits(max_bytes=max_bytes))
    reader.__exit__()
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        signature = read_signature(file, read_members(file, size))
    checks = (*_CHECKS, "signature: HMAC-SHA256 with the key given") if key is not None else _CHECKS
    return FileDescription(
        path=os.fspath(path),
        model=header["class"],
        schema=header["schema"],
        # The header is text of a stranger, so names and versions are cut to 40 characters before they are printed.
        written_by={str(name)[:40]: str(version)[:40] for name, version in header["written_by"].items()},
        size=size,
        n_arrays=len(header["arrays"]),
        array_bytes=sum(entry["bytes"] for entry in header["arrays"]),
        objects=dict(sorted(Counter(_list_objects(header["model"])).items())),
        checks=checks,
        key_id=None if signature is None else split_signature(signature)[0],
        is_signature_checked=key is not None,
    )


def _list_objects(node: Any) -> Iterator[str]:
    """Yield the class of each object and record inside a node."""
    if isinstance(node, dict):
        if node.get("type") in ("object", "record"):
            yield node["class"]
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            yield from _list_objects(part)
