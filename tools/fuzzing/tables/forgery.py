"""Make hostile files: valid tables of every format with damaged bytes, and files that are hostile as a whole."""

import gzip
import io
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas
import pyarrow
from pyarrow import feather, parquet

_ROWS = 40
# What means something to a reader.
_TOKENS = (b"1e999", b"-", b'"', b"\n", b"\xff\xfe", b"9" * 50, b"[", b"{", b",", b"null", b"'")


@cache
def _frame() -> pandas.DataFrame:
    random = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "size": random.normal(size=_ROWS).round(3),
            "wood": np.array(["ash", "birch", "çedar, red"])[np.arange(_ROWS) % 3],
            "cut": pandas.date_range("2020-01-01", periods=_ROWS).astype(str),
            "count": np.arange(_ROWS),
            "ill": np.arange(_ROWS) % 2 == 0,
        }
    )


@cache
def _originals() -> dict[str, bytes]:
    """Return the bytes of a valid file for each ending."""
    frame = _frame()
    table = pyarrow.Table.from_pandas(frame)
    book, columns, batches = io.BytesIO(), io.BytesIO(), io.BytesIO()
    frame.to_excel(book, index=False)
    parquet.write_table(table, columns)
    feather.write_feather(table, batches)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.sqlite")
        with sqlite3.connect(path) as connection:
            frame.to_sql("woods", connection, index=False)
        connection.close()
        database = path.read_bytes()
    text = frame.to_csv(index=False)
    lines = frame.to_json(orient="records", lines=True)
    toml = 'target = "wood"\nbudget = "5m"\ncolumns = ["size", "wood"]\nmax_rows = 100\n[costs]\nash = 3\n'
    return {
        ".csv": text.encode(),
        ".tsv": frame.to_csv(index=False, sep="\t").encode(),
        ".csv.gz": gzip.compress(text.encode(), mtime=0),
        ".xlsx": book.getvalue(),
        ".jsonl": lines.encode(),
        ".json": frame.to_json(orient="records").encode(),
        ".sqlite": database,
        ".parquet": columns.getvalue(),
        ".feather": batches.getvalue(),
        ".toml": toml.encode(),
    }


def _make_bomb() -> bytes:
    """Return a gzip file of 200 kB that unpacks to 200 MB."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
        for _ in range(200):
            file.write(b"0" * 10**6)
    return packed.getvalue()


def _make_workbook_bomb() -> bytes:
    """Return a workbook of 200 kB whose sheet unpacks to 200 MB."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        with archive.open("xl/worksheets/sheet1.xml", "w") as member:
            for _ in range(200):
                member.write(b" " * 10**6)
    return packed.getvalue()


_WHOLE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "gzip bomb": (".csv.gz", _make_bomb),
    "workbook bomb": (".xlsx", _make_workbook_bomb),
    "JSON nested deeply": (".json", lambda: b'[{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]"),
    "JSON lines nested deeply": (".jsonl", lambda: b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"),
    "JSON of numbers": (".json", lambda: b"[ 1, 2, 3]"),
    "JSON of two kinds": (".json", lambda: b'[{"a": 1}, {"a": "x"}, {"a": [1]}, {"a": {"b": 2}}]'),
    "JSON of a huge integer": (".json", lambda: b'[{"a": ' + b"9" * 6000 + b"}]"),
    "JSON lines of a huge integer": (".jsonl", lambda: b'{"a": ' + b"9" * 400 + b', "b": 1e999}\n' * 30),
    "JSON with NaN": (".json", lambda: b'[{"a": NaN, "b": Infinity}, {"a": 1, "b": -Infinity}]'),
    "JSON without columns": (".json", lambda: b"[{}, {}]"),
    "JSON with equal names": (".jsonl", lambda: b'{"a": 1, "a": 2}\n' * 30),
    "CSV of huge numbers": (".csv", lambda: b"a,b\n" + b"1e400,9" + b"9" * 400 + b"\n" + b"1,2\n" * 30),
    "CSV of one long cell": (".csv", lambda: b"a,b\n" + b"x" * 10**6 + b",1\n" + b"1,2\n" * 30),
    "CSV with an open quote": (".csv", lambda: b'a,b\n"1,2\n' + b"1,2\n" * 30),
    "CSV with carriage returns": (".csv", lambda: b"a,b\r" + b"1,2\r" * 30),
    "CSV with NUL bytes": (".csv", lambda: b"a,b\n" + b"1,2\n" * 2000 + b"\x00,1\n" * 10 + b"1,2\n" * 30),
    "CSV of equal names": (".csv", lambda: b"a,a,a,\n" + b"1,2,3,4\n" * 30),
    "CSV of one column": (".csv", lambda: b"a\n" + b"1\n" * 30),
    "CSV of dates far away": (".csv", lambda: b"d,y\n" + b"9999-12-31,1\n0001-01-01,2\n" * 20),
    "CSV of nothing but commas": (".csv", lambda: b",,,\n" * 40),
    "CSV of 500 columns": (".csv", lambda: (",".join(map(str, range(500))) + "\n").encode() * 3),
    "CSV in UTF-16": (".csv", lambda: _originals()[".csv"].decode().encode("utf-16")),
    "CSV in UTF-32": (".csv", lambda: _originals()[".csv"].decode().encode("utf-32")),
    "CSV in Latin-1": (".csv", lambda: _originals()[".csv"].decode().encode("latin-1")),
    "CSV in EBCDIC": (".csv", lambda: _originals()[".csv"].decode().encode("cp500")),
    "TOML nested deeply": (".toml", lambda: b"a = " + b"[" * 50_000 + b"]" * 50_000),
    "TOML of other types": (".toml", lambda: b"target = 3\nbudget = []\ncolumns = {a = 1}\n"),
    "TOML of a huge integer": (".toml", lambda: b"max_rows = " + b"9" * 5000),
    "zip without a workbook": (".xlsx", lambda: b"PK\x05\x06" + bytes(18)),
    "empty": (".csv", lambda: b""),
    "one byte": (".csv", lambda: b"\xff"),
}


def make_file(number: int) -> tuple[str, str, bytes]:
    """Return the name, the ending and the bytes of file `number`: first whole ones, then valid ones with damage."""
    if number < len(_WHOLE):
        name = list(_WHOLE)[number]
        ending, make = _WHOLE[name]
        return name, ending, make()
    random = np.random.default_rng(number)
    ending = list(_originals())[number % len(_originals())]
    content, change = _damage(_originals()[ending], random)
    return f"{ending} with {change}", ending, content


def _damage(content: bytes, random: np.random.Generator) -> tuple[bytes, str]:
    """Return other bytes, and what was changed."""
    kind, place = int(random.integers(7)), int(random.integers(len(content)))
    other = bytearray(content)
    if kind == 0:
        return content[:place], f"{place} bytes alone"
    if kind == 1:
        other[place : place + 1] = b"\x00" * int(random.integers(1, 20))
        return bytes(other), f"NUL bytes at {place}"
    if kind == 2:
        values = random.integers(0, 256, int(random.integers(1, 30)), dtype=np.uint8).tobytes()
        other[place:place] = values
        return bytes(other), f"{len(values)} bytes more at {place}"
    if kind == 3:
        length = int(random.integers(1, 200))
        del other[place : place + length]
        return bytes(other), f"{length} bytes less at {place}"
    if kind == 4:
        token = _TOKENS[random.integers(len(_TOKENS))]
        other[place:place] = token
        return bytes(other), f"{token!r} at {place}"
    if kind == 5:
        end = min(len(other), place + int(random.integers(1, 100)))
        other[place:place] = other[place:end]
        return bytes(other), f"bytes {place} to {end} twice"
    for _ in range(int(random.integers(1, 10))):
        other[random.integers(len(other))] = int(random.integers(256))
    return bytes(other), "some bytes changed"
