"""How a file of delimited text is written: its encoding, delimiter, column names, decimal mark and columns of codes."""

import codecs
import csv
import gzip
import io
import re
from dataclasses import dataclass, field, replace
from typing import Any

from mercer._source.file.unpacking import BoundedReader
from mercer._source.table.format import FORMATS, UNPACK, Place, find_wide_encoding
from mercer._source.table.header import (
    NUMBER,
    Header,
    describe_names,
    find_codes,
    find_header,
    holds_values,
    looks_blank_separated,
    name_columns,
    split_blanks,
)
from mercer._source.table.table import MOST_COLUMNS, Notice, quote
from mercer.errors import DataError

# A word, as in "none, mild, severe"; among numbers alone it is a missing value.
NO_NUMBER = "none"
# Spellings of a missing value.
MISSING = [
    "",
    "NA",
    "N/A",
    "n/a",
    "NaN",
    "nan",
    "-nan",
    "NULL",
    "Null",
    "null",
    "None",
    "<NA>",
    "#N/A",
    "#NA",
    "?",
]
_DELIMITERS = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a bar", " ": "blanks"}
_CHARACTERS = (",", "\t", ";", "|")
_NO_DELIMITERS = str.maketrans("", "", "".join(_CHARACTERS))
# Delimiters of a line that is not split any more: its fields would take 60 times its bytes. Quoted texts have some too.
_MOST_FIELDS = 2_000_000
# Bytes from which the dialect is guessed, and bytes of a buffer of unpacked text.
_SAMPLE = 2**18
_BUFFER = 2**20
# Share of lines that must have as many fields as the first one.
_REGULAR = 0.8
# Upper bound of that share for a single column: a text without delimiters is regular, but hardly a table.
_ALONE = 0.5
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


@dataclass(frozen=True)
class Dialect:
    """How a file of delimited text is written."""

    delimiter: str
    encoding: str
    names: list[str]
    skipped: int = 1  # lines above the rows: titles, comments and the names
    blanks: bool = False  # runs of blanks are the delimiter
    decimal: str = "."
    long_values: bool = False  # quoted values with line ends inside
    compressed: bool = False
    codes: dict[str, str] = field(default_factory=dict)  # columns of digits that are no numbers, with an example
    notices: list[Notice] = field(default_factory=list)


def find_dialect(
    place: Place, delimiter: str | None, encoding: str | None, compressed: bool = False, mark: str | None = None
) -> Dialect:
    """Return how a file is written, as its first lines show; `mark` is the decimal mark, if it is known."""
    with open_bytes(place, compressed) as file:
        sample = file.read(_SAMPLE)
        # A header may be longer than any sample: a million names are eight million bytes.
        sample += file.readline(2**26)
    encoding, notices = _find_encoding(place, sample, encoding)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(sample).removeprefix("\ufeff")
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t", "blank": " ", "space": " "}.get(delimiter, delimiter)
    chosen, records, lines = _find_delimiter(place, text, delimiter)
    header = find_header(records)
    usual = "\t" if place.name.lower().removesuffix(".gz").endswith((".tsv", ".tab")) else ","
    if delimiter is None and chosen != usual and len(header.names) > 1:
        remark = f"The columns are separated by {_DELIMITERS[chosen]}, by the look of the first lines."
        notices.append(Notice("note", "the table", remark, "give --delimiter if that is wrong"))
    headed = not holds_values(header, records)
    names = name_columns(place.name, header.names if headed else [""] * len(header.names))
    notices += _describe_header(header, headed, names, records)
    fields_below = [value for record in records[header.place + 1 : header.place + 200] for value in record]
    decimal = mark or "."
    pointed = any("." in field for field in fields_below if NUMBER.fullmatch(field))
    if mark is None and chosen != "," and not pointed and any(map(_DECIMAL_COMMA.fullmatch, fields_below)):
        decimal = ","
        notices.append(Notice("note", "the table", "Numbers are read with a decimal comma."))
    skipped = lines[header.place] if headed else lines[header.place - 1] if header.place else 0
    codes = find_codes(names, records[header.place + 1 :])
    blanks = chosen == " "
    chosen = "\t" if blanks else chosen
    return Dialect(chosen, encoding, names, skipped, blanks, decimal, '"' in text, compressed, codes, notices)


def keep_codes(dialect: Dialect, kinds: dict[str, str]) -> Dialect:
    """Return the dialect in which codes, and columns that were given as categories or texts, stay as written."""
    codes = {name: example for name, example in dialect.codes.items() if name not in kinds}
    notices = [
        Notice(
            "note",
            name,
            f"The digits, such as {quote(example)}, are codes and not numbers. They are read as texts.",
            f"give --number {name} to read them as numbers",
        )
        for name, example in codes.items()
    ]
    given = {name: "" for name, kind in kinds.items() if kind in ("category", "text") and name in dialect.names}
    return replace(dialect, codes=codes | given, notices=[*dialect.notices, *notices])


def _describe_header(header: Header, headed: bool, names: list[str], records: list[list[str]]) -> list[Notice]:
    """Return notices about lines above the column names, and about names that were made up."""
    notices = []
    if header.place:
        above = "line was" if header.place == 1 else f"{header.place} lines were"
        first = " ".join(field.strip() for field in records[0] if field.strip())
        text = f"The first {above} skipped as a title or a comment ({quote(first)})."
        notices.append(Notice("note", "the table", text, "remove the lines if that is wrong"))
    if not headed:
        text = f"The first line holds values instead of names. The columns are called {quote(*names, most=3)}."
        return [*notices, Notice("warning", "the table", text, "write the names into the first line")]
    return notices + describe_names(header.names, names)


def open_bytes(place: Place, compressed: bool) -> Any:
    """Open the file, decompressed."""
    if not compressed:
        return place.open()
    packed = place.open()
    return bound_bytes(place, gzip.open(packed), packed)


def bound_bytes(place: Place, file: Any, packed: Any) -> Any:
    """Return a reader of the unpacked `file` that ends with an error where it unpacks to more than allowed."""

    def reopen() -> Any:
        return gzip.open(place.open())

    bounded = BoundedReader(file, place.name, place.size, place.max_unpacked, UNPACK, packed.tell, reopen)
    return io.BufferedReader(bounded, _BUFFER)


def _find_encoding(place: Place, sample: bytes, encoding: str | None) -> tuple[str, list[Notice]]:
    """Return the encoding, checked or guessed, and notices about it."""
    if encoding is not None:
        try:
            # The incremental decoder accepts a sample that ends inside of a character.
            codecs.getincrementaldecoder(encoding)().decode(sample)
            return codecs.lookup(encoding).name, []
        except LookupError:
            raise DataError(
                f"{place.name}: --encoding must be an encoding that Python knows; got {encoding!r}. Try utf-8."
            ) from None
        except UnicodeDecodeError:
            raise DataError(
                f"{place.name}: the file is not encoded in {encoding}. Leave out --encoding to have it guessed."
            ) from None
    if (wide := find_wide_encoding(sample[:4096])) is not None:
        return wide, [Notice("note", "the table", f"The file is encoded in {wide[:6].upper()}.")]
    # Text in another encoding is rarely valid UTF-8, so the attempt is a test.
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return guess_old_encoding(sample)
    return "utf-8", []


def guess_old_encoding(sample: bytes) -> tuple[str, list[Notice]]:
    """Return the encoding of bytes that are not UTF-8, and a notice."""
    # Five bytes are undefined in cp1252; latin-1 defines all of them.
    encoding = "latin-1" if any(byte in sample for byte in b"\x81\x8d\x8f\x90\x9d") else "cp1252"
    text = f"The file is not encoded in UTF-8. It is read as {encoding}."
    return encoding, [Notice("warning", "the table", text, "give --encoding if letters look wrong")]


def _read_records(text: str, delimiter: str) -> tuple[list[list[str]], list[int]]:
    """Return the first records without the last one, inside which the sample may end, and the lines they end on."""
    if delimiter == " ":
        records = split_blanks(text)
        # The rewritten file has one line per record.
        lines = list(range(1, len(records) + 1))
    else:
        csv.field_size_limit(2**27)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        pairs = [(record, reader.line_num) for record in reader if record]
        records, lines = [record for record, _ in pairs], [line for _, line in pairs]
    return (records, lines) if len(records) < 3 else (records[:-1], lines[:-1])


def _find_delimiter(place: Place, text: str, given: str | None) -> tuple[str, list[list[str]], list[int]]:
    """Return the delimiter that gives the most regular lines with the most fields, and the first records."""
    if given is not None and len(given) != 1:
        raise DataError(
            f"{place.name}: --delimiter must be one character; got {given!r}. Leave it out to have it guessed."
        )
    widest = max(len(line) - len(line.translate(_NO_DELIMITERS)) for line in text.split("\n"))
    if widest > _MOST_FIELDS:
        raise DataError(
            f"{place.name}: a table may have at most {MOST_COLUMNS} columns; a line has {widest} delimiters. Write one "
            f"row a line, with rows and columns exchanged if need be."
        )
    tried = {}
    for delimiter in _CHARACTERS if given is None else dict.fromkeys([given, *_CHARACTERS]):
        try:
            tried[delimiter] = _read_records(text, delimiter)
        except csv.Error:
            continue
    scores = {delimiter: _measure_regularity(records) for delimiter, (records, _) in tried.items()}
    best = max(scores, key=lambda delimiter: scores[delimiter], default=",")
    if best == ",":
        # Decimal commas split every line as regularly, and into more fields, than the delimiter does.
        others = (other for other in scores if other != "," and scores[other] >= (_REGULAR, 2))
        best = next((other for other in others if _has_decimal_commas(tried[other][0])), best)
    if given is not None:
        if given in tried and scores[given][1] == 1 and scores[best][0] > 0.9 and scores[best][1] > 1:
            raise DataError(
                f"{place.name}: the delimiter {given!r} gives one column; {best!r} would give {scores[best][1]}. "
                f"Give --delimiter {best!r}, or leave it out."
            )
        best = given
    elif not (best in scores and scores[best][0] >= _REGULAR and scores[best][1] > 1):
        blank = _read_records(text, " ")
        if looks_blank_separated(blank[0]):
            return " ", *blank
    if best not in tried or not tried[best][0]:
        raise _refuse(place)
    # A single column is a table only if no delimiter stands in most of its lines.
    split = any(sum(len(record) > 1 for record in records) > len(records) / 2 for records, _ in tried.values())
    if scores[best][0] < (_REGULAR if scores[best][1] > 1 or (split and given is None) else _ALONE):
        raise _refuse(place)
    return best, *tried[best]


def _has_decimal_commas(records: list[list[str]]) -> bool:
    """Return whether commas occur in the fields, and only inside of numbers such as 1,5."""
    fields = [value for record in records for value in record if "," in value]
    return bool(fields) and all(map(_DECIMAL_COMMA.fullmatch, fields))


def _measure_regularity(records: list[list[str]]) -> tuple[float, int]:
    """Return the share of lines below the header that have as many fields as it has names, and that number."""
    if not records:
        return (0.0, 0)
    header = find_header(records)
    width = len(header.names)
    below = records[header.place + int(header.narrow) :]
    # A file of column names alone is regular too.
    share = sum(len(record) == width for record in below) / len(below) if below else 1.0
    # A text without delimiters is regular under every delimiter it does not hold.
    return (round(share, 1), width) if width > 1 else (min(share, _ALONE), width)


def _refuse(place: Place) -> DataError:
    """Return the error that the file is not a table."""
    message = (
        f"{place.name}: this is not a table: no delimiter splits all lines into the same number of fields. "
        f"Give --delimiter, or a table as {FORMATS}."
    )
    return DataError(message)
