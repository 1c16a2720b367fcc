"""Headers of all native rooms lie on one include path, so a name may occur only once."""

from collections import Counter
from pathlib import Path

import mercer._native


def test_no_two_headers_have_one_name():
    rooms = Path(mercer._native.__file__).parent
    names = Counter(path.name for path in rooms.rglob("*.h"))
    assert [name for name, count in names.items() if count > 1] == []
