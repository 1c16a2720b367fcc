"""Sources of tables that Arrow reads: Parquet, Arrow and text files, datasets, scanners, tables, batch readers.

Targets and weights are named columns, or are given separately. All other columns are features, in the order of
the table; a fitted model reads the columns it knows by name, so that a table may still hold the target.
"""

import bisect
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from mercer._source.block import rows_per_block, rows_per_sparse_block
from mercer._source.file.block_cutting import Piece
from mercer._source.file.opening import KINDS, kind_of
from mercer._source.file.piece_rule import PieceRule
from mercer._source.file.row_values import RowValues, open_row_values
from mercer._source.file.sequential import SequentialSource
from mercer._source.opening import is_query
from mercer._source.table.columns import TableColumns, find_named_columns
from mercer._source.table.cursor import is_database, open_database, open_query
from mercer._source.table.format import Place, report_damage
from mercer._source.table.packed_batches import check_batches, choose_batch_rows
from mercer._source.table.text_files import TextFiles
from mercer.errors import DataError

# Bytes of a record batch.
_BATCH_BYTES = 8 * 2**20
# How far Arrow reads ahead on its own; its default holds 16 batches of each of 4 files.
_AHEAD = {"batch_readahead": 2, "fragment_readahead": 1}
# The formats of Arrow datasets; other kinds are text.
_FORMATS = {"Parquet": "parquet", "Arrow": "ipc"}
_TABLES = ("Parquet", "Arrow", "CSV", "TSV", "text")


def _count_batch_rows(names: list[str]) -> int:
    """Return the rows asked for in a record batch."""
    return max(1024, _BATCH_BYTES // (8 * max(1, len(names))))


class DatasetBatches:
    """An Arrow dataset, a scanner, or a table in memory."""

    restartable = True
    # Columns of texts that are numbers or dates, and how they are written; other formats than text have types.
    kinds: ClassVar[dict[str, str]] = {}

    def __init__(self, data: Any, schema: Any, n_rows: int | None) -> None:
        self.data = data
        self.schema = schema
        self.n_rows = n_rows
        self.files = list(getattr(data, "files", []))

    def batches(self, names: list[str], threads: bool) -> Iterator[tuple[str, Any]]:
        """Begin a new pass: yield the name of a file (or an empty one) and a record batch of the columns `names`."""
        scanner = self.data
        if hasattr(scanner, "scanner"):
            options = {"batch_size": _count_batch_rows(names), "use_threads": threads, **_AHEAD, **self._slim()}
            scanner = scanner.scanner(columns=names, **options)
        for tagged in scanner.scan_batches():
            yield getattr(tagged.fragment, "path", ""), tagged.record_batch

    def _slim(self) -> dict[str, Any]:
        """Return options that read Parquet columns as they are decoded; the default reads whole row groups ahead."""
        from pyarrow import dataset

        # Only Parquet has row groups that are read ahead.
        if not isinstance(getattr(self.data, "format", None), dataset.ParquetFileFormat):
            return {}
        return {"fragment_scan_options": dataset.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)}


class ParquetBatches(DatasetBatches):
    """Parquet files, one file after the other, a page of each column at a time.

    A dataset decodes whole row groups, two at once: 390 MB for groups of 134 MB, where this takes 200 MB for groups of
    any size.
    """

    def __init__(self, data: Any, schema: Any, n_rows: int | None) -> None:
        super().__init__(data, schema, n_rows)
        self._rows: dict[str, int] = {}  # the most rows of a batch of each file, found in the first pass

    def batches(self, names: list[str], threads: bool) -> Iterator[tuple[str, Any]]:
        import pyarrow
        from pyarrow import dataset, parquet

        for fragment in self.data.get_fragments():
            # Partition keys are part of the path, not of the file.
            parts = dataset.get_partition_keys(fragment.partition_expression)
            stored = [name for name in names if name not in parts]
            named = [name for name in names if name in parts]
            with parquet.ParquetFile(fragment.path, pre_buffer=False, buffer_size=2**16) as file:
                rows = self._choose_rows(fragment.path, file, stored)
                for batch in file.iter_batches(rows, columns=stored, use_threads=threads):
                    for name in named:
                        value = pyarrow.scalar(parts[name], self.data.schema.field(name).type)
                        batch = batch.append_column(name, pyarrow.repeat(value, batch.num_rows))
                    yield fragment.path, batch

    def _choose_rows(self, path: str, file: Any, names: list[str]) -> int:
        """Return the rows of a batch: fewer where rows share long texts."""
        from pyarrow import types

        rows = _count_batch_rows(names)
        kinds = [file.schema_arrow.field(name).type for name in names]
        if all(types.is_primitive(kind) for kind in kinds):
            return rows
        if path not in self._rows:
            self._rows[path] = choose_batch_rows(Place(path, Path(path)), file, _BATCH_BYTES)
        return min(rows, self._rows[path])


class ReaderBatches(DatasetBatches):
    """A record-batch reader, which can be read once."""

    restartable = False

    def __init__(self, reader: Any) -> None:
        super().__init__(reader, reader.schema, None)

    def batches(self, names: list[str], threads: bool) -> Iterator[tuple[str, Any]]:
        for batch in self.data:
            yield "", batch.select(names)


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
            for file in self.files if self.kind == "Arrow" else ():
                place = Place(str(file), file)
                with report_damage(place):
                    check_batches(place, "arrow", whole=False)
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


class TableSource(SequentialSource):
    """Rows of a table in Arrow record batches, front to back.

    Parameters
    ----------
    table : DatasetBatches or TextFiles
    y, weight : column name, array, path of a .npy file, or None
        Targets may also be a list of column names.
    columns : list of str or None
        The features; None for all columns but targets and weights.
    encode : Encoding or None
        Turns the features into numbers; None takes numbers only.
    """

    place = "file"

    def __init__(
        self,
        table: Any,
        y: Any,
        weight: Any,
        *,
        subject: str,
        description: str,
        targets: str | None,
        threads: int,
        columns: Any = None,
        encode: Any = None,
    ) -> None:
        super().__init__()
        self.table = table
        self.encode = encode
        self.restartable = table.restartable
        self.subject = subject
        self.reads_in_turn = getattr(table, "one_thread", False)
        self.threads = 1 if self.reads_in_turn else threads
        self.description = description
        schema = table.schema
        self.columns = TableColumns.choose(
            schema,
            y,
            weight,
            targets=targets,
            wanted=columns if encode is None else encode.columns,
            encoded=encode is not None,
            subject=subject,
            description=description,
        )
        self.beside = {
            name: self._open_row_values(given, name, schema)
            for name, given in (("y", None if targets is None else y), ("sample_weight", weight))
        }
        self.rule = PieceRule(subject, description, targets, "record batch")
        self.rule.read(0, *self._parts(self.columns.nothing(schema), 0))
        self.dtype, self.n_features = self.rule.dtype, self.rule.n_features
        self.target_shape, self.has_weight = self.rule.target_shape, self.rule.has_weight
        self.is_sparse = self.rule.is_sparse
        self.feature_names = self.columns.features if encode is None else None
        self.block_rows = rows_per_block(self.n_features)
        if self.is_sparse:
            # As many stored values as rows of the table have columns, and as many rows as a large table has.
            self.block_rows = rows_per_sparse_block(2**20, 2**20 * len(self.columns.features), self.n_features)
        # The first row of each file read so far, and its name, for errors.
        self.files: list[tuple[int, str]] = []
        # The metadata of Parquet and Arrow files give the number of rows; that of text files takes a pass.
        if table.n_rows is not None:
            self._note_rows(table.n_rows)

    def _open_row_values(self, given: Any, name: str, schema: Any) -> RowValues | None:
        return None if find_named_columns(given, schema.names) else open_row_values(given, name, self.subject)

    def _note_rows(self, n_rows: int) -> None:
        """Store the number of rows that the table knows, so that no pass has to count them."""
        if n_rows == 0:
            self._refuse("has no rows; got 0 sample(s), at least 1 is required")
        for beside in self.beside.values():
            if beside is not None:
                beside.check_length(n_rows, self.description)
        self._known["n_rows"] = n_rows

    def pieces(self) -> Iterator[Piece]:
        start, number = 0, 0
        self.files.clear()
        with self._reading():
            for file, batch in self.table.batches(self.columns.names, self.threads > 1):
                # Where each file begins, so that errors can name it.
                if not self.files or file != self.files[-1][1]:
                    self.files.append((start, file))
                if batch.num_rows == 0:
                    continue
                if bad := self.columns.nulls(batch):
                    where = f"{self.locate(start)} and the {batch.num_rows - 1} rows after it"
                    self._refuse(f"has nulls in column {bad[0]!r}, in {where}. Drop or fill those rows")
                yield self.rule.read(number, *self._parts(batch, start))
                start, number = start + batch.num_rows, number + 1
        for beside in self.beside.values():
            if beside is not None:
                beside.check_length(start, self.description)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn errors of Arrow into DataErrors that name the table."""
        import pyarrow

        try:
            yield
        except (pyarrow.ArrowException, OSError) as error:
            self._refuse(f"cannot be read ({error})")

    def _parts(self, batch: Any, start: int) -> tuple[Any, Any, Any]:
        """Return the rows, targets and weights of a record batch whose first row is `start`."""
        y, weight = (
            None if beside is None else beside.read(start, start + batch.num_rows) for beside in self.beside.values()
        )
        # Targets and weights that name a column of the table come from the batch, others from arrays beside it.
        if self.columns.targets is not None:
            y = self.columns.read_targets(batch)
        if self.columns.weight is not None:
            weight = self.columns.read_weight(batch)
        if self.encode is None:
            return self.columns.rows(batch), y, weight
        features = batch.select(self.columns.features)
        if batch.num_rows == 0:
            return self.encode.nothing(features.schema), y, weight
        return self.encode(features, lambda row: self.locate(start + row), start), y, weight

    def locate(self, row: int) -> str:
        place = bisect.bisect_right([first for first, _ in self.files], row) - 1
        first, file = self.files[place] if self.files else (0, "")
        return f"row {row - first} of {file}" if file else super().locate(row)

    def fingerprint(self) -> dict[str, Any]:
        paths = [path for path in self.table.files if os.path.exists(path)]
        stamps = [[os.path.basename(path), os.stat(path).st_size, os.stat(path).st_mtime_ns] for path in paths]
        return {"shape": [self.n_features], "dtype": str(self.dtype), "columns": self.columns.names, "data": stamps}

    def _refuse(self, sentence: str) -> NoReturn:
        raise DataError(f"{self.subject}: {self.description} {sentence}.")


class ReaderSource(TableSource):
    """Rows of a table that can be read once, as other streams."""

    place = "stream"


def open_table_path(
    path: Path,
    y: Any,
    weight: Any,
    *,
    subject: str,
    targets: str | None,
    columns: Any = None,
    encode: Any = None,
    **options: Any,
) -> TableSource:
    """Open a table file, or a folder of them."""
    _import_arrow(subject)
    if is_database(path):
        table = open_database(path, subject)
        options |= {"subject": subject, "targets": targets, "columns": columns, "description": table.name}
        return TableSource(table, y, weight, encode=encode, **options)
    files = TableFiles(path, subject)
    # Labels keep their type; whole numbers in other columns of text files are read as floats.
    labels = [y] if isinstance(y, str) and targets == "labels" else []
    named = [name for given in (y, weight) for name in (given if isinstance(given, list | tuple) else [given])]
    # Arrays beside the table name no column of it.
    named = [name for name in named if isinstance(name, str)]
    needed = columns if encode is None else encode.columns
    table = files.open(labels, None if needed is None else [*needed, *named], None if encode is None else encode.kinds)
    options |= {"subject": subject, "targets": targets, "columns": columns, "description": files.description}
    return TableSource(table, y, weight, encode=encode, **options)


def open_table(X: Any, y: Any, weight: Any, *, subject: str, **options: Any) -> TableSource:
    """Open a pyarrow Dataset, Scanner, Table, RecordBatch or RecordBatchReader."""
    table = open_batches(X, subject)
    kind = TableSource if table.restartable else ReaderSource
    return kind(table, y, weight, subject=subject, description=find_description(X), **options)


def find_description(X: Any) -> str:
    """Return what rows outside of memory are called in errors."""
    if isinstance(X, str | os.PathLike):
        return f"the file {os.fspath(X)}"
    if is_query(X):
        return "the query of a database"
    library = type(X).__module__.split(".")[0]
    return f"the pyarrow {type(X).__name__}" if library == "pyarrow" else f"the {type(X).__name__} of blocks"


def open_batches(X: Any, subject: str, kinds: dict[str, str] | None = None) -> Any:
    """Return a table file or an object of pyarrow as record batches; `kinds` are those of columns of text files."""
    _import_arrow(subject)
    from pyarrow import dataset

    if is_query(X):
        return open_query(X, subject)
    if isinstance(X, str | os.PathLike):
        path = Path(X)
        if is_database(path):
            return open_database(path, subject)
        if not path.exists():
            raise DataError(f"{subject}: there is no file or folder {path}. Check its name.")
        return TableFiles(path, subject).open([], None, kinds)
    if hasattr(X, "read_next_batch"):
        return ReaderBatches(X)
    if isinstance(X, dataset.Scanner):
        return DatasetBatches(X, X.projected_schema, None)
    if not isinstance(X, dataset.Dataset):
        return DatasetBatches(dataset.dataset(X), X.schema, X.num_rows)
    # Formats with counts in their footers know their rows without a pass.
    counted = isinstance(getattr(X, "format", None), dataset.ParquetFileFormat | dataset.IpcFileFormat)
    return DatasetBatches(X, X.schema, X.count_rows() if counted else None)


def _import_arrow(subject: str) -> None:
    """Raise with the command to install pyarrow if it is missing."""
    try:
        import pyarrow.dataset  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'{subject}: tables are read by pyarrow, which is not installed; pip install "mercer[files]".'
        ) from error
