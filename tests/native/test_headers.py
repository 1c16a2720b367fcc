"""Headers of all native rooms lie on one include path, and uncompiled modules in one package: names are unique."""

from collections import Counter
from pathlib import Path

import mercer._native

ROOMS = [path.parent for path in Path(mercer._native.__file__).parent.glob("*/__init__.py")]


def test_no_two_headers_have_one_name():
    rooms = Path(mercer._native.__file__).parent
    names = Counter(path.name for path in rooms.rglob("*.h"))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_two_modules_or_definitions_have_one_name():
    names = Counter(path.name for room in ROOMS for kind in ("*.py", "*.pxd") for path in room.glob(kind))
    assert [name for name, count in names.items() if count > 1 and name != "__init__.py"] == []
