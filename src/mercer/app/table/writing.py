"""Write a table block by block, in the format that the ending of the file name asks for."""

import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mercer._written_file import open_aside
from mercer.errors import DataError

_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".jsonl": "json",
    ".ndjson": "json",
}


class Writer:
    """Writes blocks of rows; a complete file replaces an earlier one of the same name."""

    def __init__(self, path: Path | None, kind: str, *, keep_formulas: bool = True) -> None:
        self.path = path
        self.keep_formulas = keep_formulas or kind not in ("csv", "tsv")
        self.escaped = 0  # texts that were marked, so that no spreadsheet runs them as formulas
        self.kind = kind
        self._aside: Any = None
        self._file: Any = None
        self._sink: Any = None

    @classmethod
    def open(
        cls, path: str | Path | None, *, inputs: Sequence[str | Path] = (), keep_formulas: bool = True
    ) -> "Writer":
        """Return a writer to a file, or of CSV to standard output; none of the `inputs` may be that file."""
        if path is None or str(path) == "-":
            return cls(None, "csv", keep_formulas=keep_formulas)
        place = Path(path).expanduser()
        kind = _ENDINGS.get(place.suffix.lower())
        if kind is None:
            raise DataError(f"{place.name}: the ending must be one of {', '.join(_ENDINGS)}. Give -o another name.")
        writer = cls(place, kind, keep_formulas=keep_formulas)
        writer._spare(inputs)
        place.parent.mkdir(parents=True, exist_ok=True)
        return writer

    def _spare(self, inputs: Sequence[str | Path]) -> None:
        """Raise if the file to write is one of those that are read, under this or another name."""
        for given in inputs:
            read = Path(str(given).rpartition("::")[0] or given) if "::" in str(given) else Path(given)
            written = self.path
            if written and written.exists() and read.expanduser().exists() and written.samefile(read.expanduser()):
                raise DataError(f"{written.name}: the output would overwrite the input {given}. Give -o another name.")

    def __enter__(self) -> "Writer":
        self._aside = None if self.path is None else open_aside(self.path)
        self._file = sys.stdout.buffer if self._aside is None else self._aside.__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        with contextlib.ExitStack() as stack:
            if self._aside is not None:
                # An error while the sink is closed drops the file too.
                stack.push(lambda *late: self._aside.__exit__(*(late if late[0] else (kind, error, trace))))
            if self._sink is not None and self.kind != "json":
                # After an error the file is dropped anyway, so that errors while closing it do not matter.
                with contextlib.suppress(Exception) if error is not None else contextlib.nullcontext():
                    self._sink.close()
            if self._aside is None:
                self._file.flush()

    def write(self, table: Any) -> None:
        """Write the rows of an Arrow table; all tables have the same columns."""
        if not self.keep_formulas:
            table, escaped = escape_formulas(table)
            self.escaped += escaped
        if self.kind == "json":
            lines = (json.dumps(row, default=str, ensure_ascii=False) for row in table.to_pylist())
            self._file.write("".join(line + "\n" for line in lines).encode())
            return
        if self._sink is None:
            self._sink = self._open_sink(table.schema)
        self._sink.write_table(table.cast(self._schema))

    def _open_sink(self, schema: Any) -> Any:
        import pyarrow

        self._schema = schema
        if self.kind == "parquet":
            from pyarrow import parquet

            return parquet.ParquetWriter(self._file, schema, compression="zstd")
        if self.kind == "arrow":
            return pyarrow.ipc.new_file(self._file, schema)
        from pyarrow import csv

        delimiter = "\t" if self.kind == "tsv" else ","
        options = csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
        return csv.CSVWriter(self._file, schema, write_options=options)


# Signs that begin a formula in a spreadsheet; a tab or a line end before them does too.
_FORMULA = r"^[\t\r\n]*[=+\-@]"
_NUMBER = r"^[+\-]?(\d+\.?\d*|\.\d+)([eE][+\-]?\d+)?%?$"


def escape_formulas(table: Any) -> tuple[Any, int]:
    """Return an Arrow table whose texts and names are no formulas, and how many of them were changed."""
    from pyarrow import compute, types

    changed = 0
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if types.is_dictionary(field.type):
            column = compute.cast(column, field.type.value_type)
        if not (types.is_string(column.type) or types.is_large_string(column.type)):
            continue
        # Null where the text is null, which then stays null.
        formula = compute.and_not(
            compute.match_substring_regex(column, _FORMULA), compute.match_substring_regex(column, _NUMBER)
        )
        count = compute.sum(formula).as_py() or 0
        if count:
            # replace_substring_regex would meet line ends inside; a join by "" does not.
            marked = compute.binary_join_element_wise("'", column, "")
            table = table.set_column(place, field.name, compute.if_else(formula, marked, column))
            changed += count
    names = ["'" + name if name[:1] in ("=", "+", "-", "@") else name for name in table.column_names]
    return table.rename_columns(names), changed
