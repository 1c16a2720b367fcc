"""Files of delimited text as one Arrow table, read block by block.

The way each file is written is found at its head, and the kinds of the columns at the head of the first file: its first
block of some megabytes. A later value that does not have the kind of its column is an error that says where it stands.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

import numpy as np

from mercer._source.arrow_values import make_arrow
from mercer._source.table.delimited import read_batches
from mercer._source.table.dialect import Dialect, find_dialect
from mercer._source.table.format import Place, find_format, find_place, report_damage
from mercer._source.table.numerals import read_numeral
from mercer.errors import DataError

# What a folder is called where the value of its key is missing.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class TextFiles:
    """Files of delimited text with the same columns, as record batches; see `mercer._source.table.source`.

    Parameters
    ----------
    files : list of Path
    root : Path
        The folder below which folders named ``key=value`` give a column each.
    subject : str
        Who reads, for errors.
    labels : list of str
        Columns that keep the type of their values; whole numbers in others are read as floats, since a later row may
        have a fraction.
    columns : list of str or None
        The columns that will be read; None means all.
    encoded : dict of str to str, or None
        Kinds of columns for an encoder, which takes texts too: ``"number"``, ``"date"``, ``"truth"`` (booleans) and
        ``"numeral"`` (categories that are numbers) are read as such, columns of other kinds as texts. None is for
        estimators that take numbers only.

    Attributes
    ----------
    schema : pyarrow.Schema
        Of the record batches: numbers, booleans, times and texts.
    forms : dict
        How numbers are written in columns where that is not plain, as an example such as ``"1,234.5"``.
    kinds : dict
        Columns of texts that an encoder has to read: ``"number 1,234.5"``, ``"date %d.%m.%Y"``.
    """

    restartable = True
    n_rows = None

    def __init__(
        self,
        files: list[Path],
        root: Path,
        subject: str,
        labels: list[str],
        columns: list[str] | None,
        encoded: dict[str, str] | None = None,
    ) -> None:
        self.subject = subject
        self.encoded = encoded
        self.kinds: dict[str, str] = {}
        self.files = [str(file) for file in files]
        self.keys = _find_keys(files, root)
        with _name_reader(self.subject):
            self.texts = self._open(files)
            self.forms: dict[str, str] = {}
            self.schema = self._find_schema(labels, columns)

    def _open(self, files: list[Path]) -> list[tuple[Place, Dialect]]:
        """Find how each file is written; files after the first have its delimiter, decimal mark and columns."""
        texts: list[tuple[Place, Dialect]] = []
        for file in files:
            place = find_place(file)
            kind = find_format(place)
            if kind not in ("delimited", "gzip"):
                raise DataError(f"{file}: the file holds no delimited text but {kind}. Give it the ending of its kind.")
            first = texts[0][1] if texts else None
            delimiter = None if first is None else " " if first.blanks else first.delimiter
            with report_damage(place):
                dialect = find_dialect(place, delimiter, None, kind == "gzip", None if first is None else first.decimal)
            self._check_names(file, dialect, files[0], first)
            texts.append((place, dialect))
        for notice in texts[0][1].notices:
            if notice.level == "warning":
                warnings.warn(f"{self.subject}: {files[0]}: {notice.text}", UserWarning, stacklevel=2)
        return texts

    def _check_names(self, file: Path, dialect: Dialect, head: Path, first: Dialect | None) -> None:
        """Raise unless a file has the columns of the first one."""
        names = dialect.names if first is None else first.names
        if dialect.names != names:
            # If both sets of names are equal, only the order of the columns can differ.
            other = next(iter({*dialect.names} ^ {*names}), "their order")
            raise DataError(
                f"{file} has other columns than {head}: they differ in {other}. Give all files the same columns and "
                f"types."
            )

    def _find_schema(self, labels: list[str], columns: list[str] | None) -> Any:
        """Return the names and types of all columns, keys of folders among them, as the head of the first file has it.

        Columns that will not be read are not converted: their type is that of texts.
        """
        import pyarrow

        place, dialect = self.texts[0]
        wanted = [name for name in dialect.names if columns is None or name in columns or name in labels]
        types = {name: _find_encoded_type(kind) for name, kind in (self.encoded or {}).items() if name in wanted}
        codes = dict.fromkeys(dialect.codes, pyarrow.string()) | types
        head = next(iter(read_batches(place, dialect, codes, wanted)), None)
        fields = []
        for name in dialect.names:
            kind = pyarrow.float64() if name in wanted else pyarrow.string()
            # A file without rows says nothing of its columns.
            if name in wanted and head is not None and head.num_rows:
                kind = types.get(name, head.schema.field(name).type)
                if name not in labels and name not in types:
                    kind = self._find_type(name, kind, head.column(name), dialect)
            fields.append(pyarrow.field(name, kind))
        for name in self.keys[0]:
            values = [keys[name] for keys in self.keys]
            whole = all(value is None or value.lstrip("-").isdigit() for value in values)
            fields.append(pyarrow.field(name, pyarrow.int64() if whole else pyarrow.string()))
        return pyarrow.schema(fields)

    def _find_type(self, name: str, kind: Any, column: Any, dialect: Dialect) -> Any:
        """Return the type of a column of features, from what pyarrow found in the first block."""
        import pyarrow
        from pyarrow import types

        if types.is_integer(kind) or types.is_null(kind):
            return pyarrow.float64()
        if not types.is_string(kind) or name in dialect.codes:
            return kind
        import pandas

        from mercer._source.table.column_type import type_columns

        plain, typing = type_columns(pandas.DataFrame({name: column.to_pylist()}))
        form = typing.forms.get(name, "")
        match plain[name].dtype.kind:
            case "f" | "i" if self.encoded is None or not form:
                self.forms[name] = form
                return pyarrow.float64()
            case "f" | "i":
                self.kinds[name] = f"number {form}"
            case "M" if self.encoded is None:
                return pyarrow.timestamp("s")
            case "M":
                self.kinds[name] = f"date {form}"
        return kind

    def batches(self, names: list[str], threads: bool) -> Iterator[tuple[str, Any]]:
        """Begin a new pass: yield the name of a file and a record batch of the columns `names` of it."""
        import pyarrow

        for file, (place, dialect), keys in zip(self.files, self.texts, self.keys, strict=True):
            stored = [name for name in names if name not in keys]
            types = {name: pyarrow.string() if name in self.forms else self.schema.field(name).type for name in stored}
            reading = read_batches(
                place, dialect, types, stored, mistyped=self._refuse_value(file, place, dialect), threads=threads
            )
            start = 0
            with _name_reader(self.subject), report_damage(place):
                for batch in reading:
                    columns = [self._convert(file, start, name, batch, keys) for name in names]
                    start += batch.num_rows
                    yield file, pyarrow.RecordBatch.from_arrays(columns, names=names)

    def _convert(self, file: str, start: int, name: str, batch: Any, keys: dict[str, str | None]) -> Any:
        """Return a column of a batch whose first row is `start`, with the type of the schema."""
        import pyarrow

        if name in keys:
            kind, value = self.schema.field(name).type, keys[name]
            known = int(value) if value is not None and pyarrow.types.is_integer(kind) else value
            return pyarrow.repeat(pyarrow.scalar(known, kind), batch.num_rows)
        column = batch.column(name)
        if name not in self.forms:
            return column
        numbers, wrong = _read_numbers(column, self.forms[name])
        if wrong is not None:
            self._raise(file, name, "numbers", start + wrong, column[wrong].as_py())
        return numbers

    def _refuse_value(self, file: str, place: Place, dialect: Dialect) -> Callable[[str, str], NoReturn]:
        """Return a function that finds the first value without the type of its column, and raises."""

        def refuse(name: str, reason: str) -> NoReturn:
            import pyarrow

            kind = self.schema.field(name).type
            start = 0
            for batch in read_batches(place, dialect, {name: pyarrow.string()}, [name]):
                for row, text in enumerate(batch.column(0).to_pylist(), start):
                    if text is not None and not _fits(text, kind, dialect.decimal):
                        self._raise(file, name, _NAMES.get(str(kind), str(kind)), row, text)
                start += batch.num_rows
            raise DataError(f"{file}: {reason.splitlines()[0][:160]}. Correct that line.")

        return refuse

    def _raise(self, file: str, name: str, kind: str, row: int, text: str) -> NoReturn:
        """Raise the error that a value contradicts the kind of its column."""
        raise DataError(
            f"{file}: column {name!r} holds {kind}, but row {row} has {text[:60]!r}. Correct it, write NA "
            f"if it is unknown, or encode the column as categories with TableEncoder."
        )


# The kinds of values as errors call them, by Arrow's type.
_NAMES = {"double": "numbers", "int64": "whole numbers", "bool": "booleans"}


@contextmanager
def _name_reader(subject: str) -> Iterator[None]:
    """Put the name of who reads before the message of a DataError."""
    try:
        yield
    except DataError as error:
        if str(error).startswith(f"{subject}: "):
            raise
        raise DataError(f"{subject}: {error}") from None


def _find_encoded_type(kind: str) -> Any:
    """Return the Arrow type as which a column of a known kind is read for an encoder."""
    import pyarrow

    numbers = {"number": pyarrow.float64(), "numeral": pyarrow.float64()}
    return (numbers | {"truth": pyarrow.bool_(), "date": pyarrow.timestamp("us")}).get(kind, pyarrow.string())


def _fits(text: str, kind: Any, decimal: str) -> bool:
    """Return whether a text of a column can be read as the Arrow type `kind`."""
    if str(kind) == "bool":
        return text.strip().lower() in ("true", "false", "0", "1")
    try:
        if str(kind) == "int64":
            int(text)
        elif decimal == "." or "." not in text:
            float(text.replace(decimal, "."))
        else:
            return False
    except ValueError:
        return False
    return "_" not in text


def _read_numbers(column: Any, form: str) -> tuple[Any, int | None]:
    """Return a column of texts as Arrow numbers, and the first row whose text is none, if there is one."""
    coded = column.dictionary_encode()
    texts = coded.dictionary.to_pylist()
    values = np.array([*(read_numeral(text, form) if form else _read_plain(text) for text in texts), np.nan])
    codes = coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(np.isnan(values[codes]) & (codes < len(texts)))
    return make_arrow(values[codes]), int(wrong[0]) if len(wrong) else None


def _read_plain(text: str) -> float:
    """Return the number that a text is, or NaN."""
    return float(text) if _fits(text, "double", ".") else float("nan")


def _find_keys(files: list[Path], root: Path) -> list[dict[str, str | None]]:
    """Return the keys and values in the names of the folders between `root` and each file, such as ``year=2024``."""
    found: list[dict[str, str | None]] = []
    for file in files:
        folders = os.path.relpath(file.parent, root).split(os.sep) if root != file else []
        pairs = [folder.partition("=") for folder in folders if "=" in folder]
        found.append({unquote(key): None if value == _NO_VALUE else unquote(value) for key, _, value in pairs})
    for file, keys in zip(files, found, strict=True):
        if keys.keys() != found[0].keys():
            raise DataError(f"{file} lies in other folders NAME=VALUE than {files[0]}. Give all files the same.")
    return found
