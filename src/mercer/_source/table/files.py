"""The table files of a folder, in the order of their names, opened as one Arrow dataset."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from mercer._source.file.opening import KINDS, kind_of
from mercer.errors import DataError

_NAMES = {"Parquet": "parquet", "Arrow": "ipc", "CSV": "csv", "TSV": "csv"}


class TableFiles:
    """The files of a table, all of one kind, with the same columns.

    Attributes
    ----------
    kind : {"Parquet", "Arrow", "CSV", "TSV"}
    files : list of Path
        In the order of their names.
    description : str
        For errors.
    """

    def __init__(self, path: Path, subject: str) -> None:
        self.path = path
        self.subject = subject
        self.files = list(self._find()) if path.is_dir() else [path]
        self.kind = self._one_kind()
        self.description = f"the {self.kind} {'folder' if path.is_dir() else 'file'} {path}"

    def _find(self) -> Iterator[Path]:
        """Yield the files in a folder and below it; names that begin with a dot or an underscore are not data."""
        for folder, folders, files in os.walk(self.path):
            folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
            yield from (Path(folder, name) for name in sorted(files) if not name.startswith((".", "_")))

    def _one_kind(self) -> str:
        """Return the kind of table that all files are; raise if there are none or several kinds."""
        tables = [end for end, kind in KINDS.items() if kind in _NAMES]
        known = [file for file in self.files if file.name.lower().endswith(tuple(tables))]
        kinds = Counter(kind_of(file, self.subject) for file in known)
        if not kinds:
            self._refuse(f"the folder {self.path} has no files that end in {', '.join(tables)}. Check its name.")
        # A file of unknown ending may hold rows that are meant, so it is not passed over in silence.
        if len(kinds) > 1 or len(known) < len(self.files):
            others = sorted({file.suffix for file in self.files})
            self._refuse(
                f"the folder {self.path} must hold files of one kind of table; got {', '.join(others)}. Give a folder "
                f"for each, or a pyarrow dataset of the files that are meant."
            )
        return next(iter(kinds))

    def open(self, labels: Any = ()) -> Any:
        """Open an Arrow dataset; integers in text files are read as floats, except in the columns `labels`."""
        import pyarrow

        try:
            data = self._dataset(None)
            self._check_schemas(data)
            # Integers of text files become floats, since a later row may have a fraction.
            if _NAMES[self.kind] == "csv":
                data = self._dataset(_with_floats(data.schema, labels))
            return data
        except (pyarrow.ArrowException, OSError) as error:
            self._refuse(f"{self.description} cannot be read ({error}).")

    def _dataset(self, schema: Any) -> Any:
        """Make the Arrow dataset of all files, with hive partitioning in folders."""
        from pyarrow import csv, dataset

        form: Any = _NAMES[self.kind]
        if self.kind == "TSV":
            form = dataset.CsvFileFormat(parse_options=csv.ParseOptions(delimiter="\t"))
        folder = {"partitioning": "hive", "partition_base_dir": str(self.path)} if self.path.is_dir() else {}
        return dataset.dataset([str(file) for file in self.files], format=form, schema=schema, **folder)

    def _check_schemas(self, data: Any) -> None:
        """Raise unless every file has the columns and types of the first; of text files, check the names only."""
        first = None
        for fragment in data.get_fragments():
            schema = fragment.physical_schema
            # Types of text files are guessed from the first values of each file, and may differ between files.
            fields = schema.names if _NAMES[self.kind] == "csv" else [(field.name, str(field.type)) for field in schema]
            first = fields if first is None else first
            if fields != first:
                # If both sets of names are equal, only the order of the columns can differ.
                other = next(iter({*map(str, fields)} ^ {*map(str, first)}), "their order")
                self._refuse(
                    f"{fragment.path} has other columns than {self.files[0]}: they differ in {other}. Give all files "
                    f"the same columns and types."
                )

    def _refuse(self, sentence: str) -> NoReturn:
        raise DataError(f"{self.subject}: {sentence}")


def _with_floats(schema: Any, labels: Any) -> Any:
    """Return the schema with floats for integers: Arrow guesses the types of a text file from its first megabyte."""
    import pyarrow
    from pyarrow import types

    for number, field in enumerate(schema):
        if field.name not in labels and (types.is_integer(field.type) or types.is_null(field.type)):
            schema = schema.set(number, pyarrow.field(field.name, pyarrow.float64()))
    return schema
