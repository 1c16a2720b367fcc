"""Change the container of a model file: its bytes, the records of the archive, its members, the text of the header.

What an accident does needs no checksum; what an enemy does has right ones, so that only the checks behind them help.
"""

import copy
import hashlib
import io
import json
import random as seeds
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mercer._base.model_file.codec import _READ
from mercer._base.model_file.container import write_container
from tools.fuzzing.files.forgery import Original

Members = list[tuple[str, bytes]]

# Numbers that are wrong in a record of an archive: nothing, one, the ends of 16 and 32 bits.
_SIZES = (0, 1, 64, 2**15, 2**16 - 1, 2**31, 2**32 - 1)
# Marks of the records of an archive: a local header, an entry of the directory, the end, and those of large files.
_MARKS = (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07")
_TYPES = (*("<f8", "<f4", "<i8", "<i4", "|b1", "<U1", "<U99999", "|O", "V8", ">f8", "<M8[ns]", "<c16", "|S0"), 8, None)
_SHAPES: tuple[Any, ...] = (
    *([], [0], [1], [-1], [2**48], [2**48, 2**48, 0], [1] * 33, [True], "1", None, [1.5], [2**31, 2]),
)
_JUNK: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**53, 2**40, "", "x", "os.system", "sklearn.pipeline.Pipeline", [], [[]], {}, [0, 1]),
    *({"type": "array", "index": 0}, {"type": "same", "id": 0}, {"type": "tuple", "items": [1]}),
    *({"type": "int", "hex": "0x" + "f" * 3571}, {"type": "float", "hex": "nan"}, {"type": "dict", "items": []}),
    {"type": "range", "start": 0, "stop": 2**40, "step": 1},
)
# Levels of pairs that share their parts, such as unfold to a million values or to more than any memory.
_LEVELS = (10, 20, 40, 60)


def write_forgery(original: Original, seed: int, path: Path) -> str:
    """Write the file of a model with the change that `seed` decides, and return the change in words."""
    random = seeds.Random(seed)
    write_container(path, original.header, original.arrays)
    change = random.choices(list(_CHANGES), list(_CHANGES.values()))[0]
    return f"{change.__name__.removeprefix('_').replace('_', ' ')}: {change(path, random)}"


def _read_members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def _write_members(path: Path, members: Members, packed: str = "") -> None:
    """Write members; one named `packed` is compressed."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members:
            kind = zipfile.ZIP_DEFLATED if name == packed else zipfile.ZIP_STORED
            archive.writestr(zipfile.ZipInfo(name), data, kind)


def _damage_bytes(path: Path, random: seeds.Random) -> str:
    """Change some bytes of the file."""
    content, kind = bytearray(path.read_bytes()), random.randrange(5)
    place = random.randrange(len(content))
    end = min(len(content), place + random.randint(1, 200))
    if kind == 0:
        del content[place:]
    elif kind == 1:
        del content[place:end]
    elif kind == 2:
        content[place:place] = content[place:end]
    elif kind == 3:
        content[place:place] = random.randbytes(random.randint(1, 100))
    else:
        for _ in range(random.randint(1, 8)):
            content[random.randrange(len(content))] = random.randrange(256)
    path.write_bytes(content)
    return f"kind {kind} from {place} to {end}"


def _change_records(path: Path, random: seeds.Random) -> str:
    """Write odd numbers into the records of the archive."""
    content = bytearray(path.read_bytes())
    words = []
    for _ in range(random.randint(1, 3)):
        mark = random.choice(_MARKS)
        places = [place for place in range(len(content)) if content.startswith(mark, place)]
        if not places:
            continue
        place = random.choice(places) + random.randrange(4, 46)
        value = random.choice((*_SIZES, len(content), len(content) - 22))
        size, letter = random.choice(((2, "<H"), (4, "<L")))
        if place + size <= len(content):
            content[place : place + size] = struct.pack(letter, value % 2 ** (8 * size))
            words.append(f"{value} at {place}")
    path.write_bytes(content)
    return ", ".join(words)


def _change_members(path: Path, random: seeds.Random) -> str:
    """Leave members out, double, rename, reorder or compress them, or add others."""
    members, kind = _read_members(path), random.randrange(7)
    place, other = random.randrange(len(members)), random.randrange(len(members))
    packed = ""
    if kind == 0:
        del members[place]
    elif kind == 1:
        members.append((f"arrays/{len(members):04d}.bin", members[place][1]))
    elif kind == 2:
        members[place] = (random.choice(("../evil", "/etc/passwd", "arrays/9999.bin", "é", "")), members[place][1])
    elif kind == 3:
        members[place], members[other] = members[other], members[place]
    elif kind == 4:
        first, second = members[place], members[other]
        members[place], members[other] = (first[0], second[1]), (second[0], first[1])
    elif kind == 5:
        packed = members[place][0]
    else:
        members[place] = (members[place][0], random.randbytes(random.randint(0, 1000)))
    _write_members(path, members, packed)
    return f"kind {kind} of {members[place % len(members)][0] if members else ''!r}"


def _rewrite_header(path: Path, change: Callable[[bytes, Members], bytes]) -> None:
    """Replace the text of the header; its checksum is made right."""
    members = _read_members(path)
    text = change(dict(members)["header.json"], members)
    ends = {"header.json": text, "header.sha256": hashlib.sha256(text).hexdigest().encode()}
    _write_members(path, [(name, ends.get(name, data)) for name, data in members])


def _damage_text(path: Path, random: seeds.Random) -> str:
    """Change the text of the header: what is no JSON, or JSON that is nested, repeated or long."""
    kind = random.randrange(6)

    def change(text: bytes, members: Members) -> bytes:
        place = random.randrange(len(text))
        if kind == 0:
            return text[:place] + random.choice((b"[", b"]", b"{", b'"', b"\\", b"1.5", b"NaN", b"\xff")) + text[place:]
        if kind == 1:
            return text[:place] + text[place + random.randint(1, 30) :]
        if kind == 2:
            return b"[" * random.choice((100, 499, 501, 100_000)) + text
        if kind == 3:
            return text[:-1] + b"," + text[1:]
        if kind == 4:
            return text.replace(b":0", b":" + b"9" * random.choice((16, 18, 5000)), 1)
        return text.replace(b'"', b'"' + b"\\u0000" * random.randint(1, 9), random.randint(1, 3))

    _rewrite_header(path, change)
    return f"kind {kind}"


def _change_entries(path: Path, random: seeds.Random) -> str:
    """Describe an array as something else than it is, with the checksum of what is there."""
    words: list[str] = []

    def change(text: bytes, members: Members) -> bytes:
        header = json.loads(text)
        if header["arrays"]:
            index = random.randrange(len(header["arrays"]))
            entry = header["arrays"][index]
            field = random.choice(("dtype", "shape", "order", "bytes", "sha256"))
            odd: dict[str, tuple[Any, ...]] = {"dtype": _TYPES, "shape": _SHAPES, "order": ("C", "F", "K", 0, None)}
            entry[field] = random.choice(odd.get(field, (*_SIZES, True, None, "0" * 64)))
            if random.random() < 0.3:
                # As many bytes as the new description wants.
                data = bytes(random.choice((0, 1, 8, 64, 4096)))
                entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                members[index] = (members[index][0], data)
            words.append(f"array {index}: {field} = {entry[field]!r}"[:80])
        return json.dumps(header).encode()

    _rewrite_header(path, change)
    return "".join(words)


def _list_places(node: Any) -> list[tuple[Any, Any]]:
    """Return (container, key) of each part of a JSON tree."""
    places: list[tuple[Any, Any]] = []
    left = [node]
    while left:
        inner = left.pop()
        for key, item in inner.items() if isinstance(inner, dict) else enumerate(inner):
            places.append((inner, key))
            if isinstance(item, dict | list):
                left.append(item)
    return places


def _change_grammar(path: Path, random: seeds.Random) -> str:
    """Replace types, classes, versions, fields or whole parts of the header by others of the same file or by junk."""
    words: list[str] = []

    def change(text: bytes, members: Members) -> bytes:
        header = json.loads(text)
        for _ in range(random.randint(1, 3)):
            places = _list_places(header)
            container, key = random.choice(places)
            kind = random.randrange(5)
            if kind == 0:
                container[key] = copy.deepcopy(random.choice(_JUNK))
            elif kind == 1:
                del container[key]
            elif kind == 2:
                other, place = random.choice(places)
                container[key] = copy.deepcopy(other[place])
            elif kind == 3:
                typed = [inner for inner, name in places if name == "type"]
                inner = random.choice(typed) if typed else header
                inner["type"] = random.choice(sorted(_READ))
            else:
                container[key] = _share(container[key], random.choice(_LEVELS), random.random() < 0.3)
            words.append(f"kind {kind} at {key!r}")
        return json.dumps(header).encode()

    _rewrite_header(path, change)
    return ", ".join(words)


def _share(node: Any, levels: int, in_set: bool) -> Any:
    """Return pairs whose two parts are one, so many levels deep, around a node; or a set with them."""
    shared = {"type": "tuple", "items": [node if isinstance(node, str | int | None) else 1], "id": 10**6}
    for level in range(levels):
        items = [shared, {"type": "same", "id": 10**6 + level}]
        shared = {"type": "tuple", "items": items, "id": 10**6 + level + 1}
    return {"type": "frozenset", "items": [shared]} if in_set else shared


def _overlap_members(path: Path, random: seeds.Random) -> str:
    """Let two entries of the directory name the same bytes."""
    members = _read_members(path)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data)
        first, second = random.choice(archive.filelist), random.choice(archive.filelist)
        first.header_offset = second.header_offset + random.choice((0, 0, 30, 64))
    path.write_bytes(packed.getvalue())
    return f"{first.filename} at {second.filename}"


# Each change with its share.
_CHANGES: dict[Callable[[Path, seeds.Random], str], float] = {
    _damage_bytes: 0.15,
    _change_records: 0.15,
    _change_members: 0.15,
    _damage_text: 0.1,
    _change_entries: 0.15,
    _change_grammar: 0.25,
    _overlap_members: 0.05,
}
