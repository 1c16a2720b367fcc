"""The table files of a folder, in the order of their names, opened as one table."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from mercer._source.file.opening import KINDS, kind_of
from mercer._source.table.batches import DatasetBatches, ParquetBatches
from mercer._source.table.text_files import TextFiles
from mercer.errors import DataError

# The formats of Arrow datasets; other kinds are text.
_FORMATS = {"Parquet": "parquet", "Arrow": "ipc"}
_TABLES = ("Parquet", "Arrow", "CSV", "TSV", "text")


class TableFiles:
    """The files of a table, all of one kind, with the same columns.

    Attributes
    ----------
    kind : {"Parquet", "Arrow", "CSV", "TSV", "text"}
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
        tables = [end for end, kind in KINDS.items() if kind in _TABLES]
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

    def open(self, labels: list[str], columns: Any = None, kinds: dict[str, str] | None = None) -> Any:
        """Open the files as record batches.

        Of text files `columns` are read, all if None; `labels` keep the type of their values; and `kinds` are those of
        columns for an encoder, which takes texts too.
        """
        import pyarrow

        if self.kind not in _FORMATS:
            return TextFiles(self.files, self.path, self.subject, labels, columns, kinds)
        try:
            data = self._open_dataset()
            self._check_schemas(data)
            kind = ParquetBatches if self.kind == "Parquet" else DatasetBatches
            return kind(data, data.schema, data.count_rows())
        except (pyarrow.ArrowException, OSError) as error:
            self._refuse(f"{self.description} cannot be read ({error}).")

    def _open_dataset(self) -> Any:
        """Make the Arrow dataset of all files, with hive partitioning in folders."""
        from pyarrow import dataset

        form: Any = _FORMATS[self.kind]
        folder = {"partitioning": "hive", "partition_base_dir": str(self.path)} if self.path.is_dir() else {}
        return dataset.dataset([str(file) for file in self.files], format=form, **folder)

    def _check_schemas(self, data: Any) -> None:
        """Raise unless every file has the columns and types of the first."""
        first = None
        for fragment in data.get_fragments():
            fields = [(field.name, str(field.type)) for field in fragment.physical_schema]
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
