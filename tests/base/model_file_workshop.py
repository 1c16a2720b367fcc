"""Tools for the tests of model files: comparing two objects, and rewriting a saved file as an enemy would."""

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np


def assert_same(left: Any, right: Any, path: str = "value") -> None:
    """Fail unless two objects have equal types and, all the way down, equal bits."""
    assert type(left) is type(right), f"{path}: {type(left)} against {type(right)}"
    if isinstance(left, np.ma.MaskedArray):
        assert_same(np.ma.getmaskarray(left), np.ma.getmaskarray(right), f"{path}.mask")
        assert_same(left.data, right.data, f"{path}.data")
    elif isinstance(left, np.ndarray):
        assert (left.dtype, left.shape) == (right.dtype, right.shape), path
        if left.dtype == object:
            assert_same(left.ravel().tolist(), right.ravel().tolist(), path)
        else:
            assert left.tobytes() == right.tobytes(), path
            if right.flags.forc:
                assert left.flags.f_contiguous == right.flags.f_contiguous, path
    elif isinstance(left, dict):
        assert_same(list(left), list(right), f"{path} keys")
        for key in left:
            assert_same(left[key], right[key], f"{path}[{key!r}]")
    elif isinstance(left, list | tuple):
        assert len(left) == len(right), path
        for position, (one, other) in enumerate(zip(left, right, strict=True)):
            assert_same(one, other, f"{path}[{position}]")
    elif isinstance(left, float | complex | np.generic):
        assert np.asarray(left).dtype == np.asarray(right).dtype, path
        assert np.asarray(left).tobytes() == np.asarray(right).tobytes(), path
    elif hasattr(left, "__dict__") and not callable(left):
        assert_same(dict(sorted(vars(left).items())), dict(sorted(vars(right).items())), path)
    elif type(left).__eq__ is not object.__eq__:
        assert left == right, path


def forge(path: Path, members: list[tuple[str, bytes]]) -> None:
    """Write a zip archive of any members whatever."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data)


def rewrite_header(path: Path, change: Any) -> None:
    """Change a file's header, with a checksum that fits: what an enemy can do and an accident cannot.

    `change` gets the header and changes it in place, or is the text to put in its stead.
    """
    with zipfile.ZipFile(path) as archive:
        arrays = [(name, archive.read(name)) for name in archive.namelist() if name.startswith("arrays/")]
        text = archive.read("header.json")
    if callable(change):
        header = json.loads(text)
        change(header)
        text = json.dumps(header).encode()
    else:
        text = change
    digest = hashlib.sha256(text).hexdigest().encode()
    forge(path, [*arrays, ("header.json", text), ("header.sha256", digest)])
