"""Sources of tables that Arrow reads: Parquet, Arrow and text files, datasets, scanners, tables, batch readers.

Targets and weights are named columns, or are given separately. All other columns are features, in the order of
the table; a fitted model reads the columns it knows by name, so that a table may still hold the target.
"""

import bisect
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from mercer._source.block import rows_per_block
from mercer._source.file.block_cutting import Piece
from mercer._source.file.piece_rule import PieceRule
from mercer._source.file.row_values import RowValues, open_row_values
from mercer._source.file.sequential import SequentialSource
from mercer._source.table.columns import TableColumns, find_named_columns
from mercer.errors import DataError

# Bytes of a record batch.
_BATCH_BYTES = 8 * 2**20
# How far Arrow reads ahead on its own; its default holds 16 batches of each of 4 files.
_AHEAD = {"batch_readahead": 2, "fragment_readahead": 1}


class TableSource(SequentialSource):
    """Rows of an Arrow dataset or scanner, front to back.

    Parameters
    ----------
    data : pyarrow Dataset or Scanner
    schema : pyarrow.Schema
        Of the record batches.
    y, weight : column name, array, path of a .npy file, or None
        Targets may also be a list of column names.
    columns : list of str or None
        The features; None for all columns but targets and weights.
    """

    place = "file"

    def __init__(
        self,
        data: Any,
        schema: Any,
        y: Any,
        weight: Any,
        *,
        subject: str,
        description: str,
        targets: str | None,
        threads: int,
        columns: Any = None,
    ) -> None:
        super().__init__()
        self.data = data
        self.subject = subject
        self.threads = threads
        self.description = description
        self.columns = TableColumns.choose(
            schema, y, weight, targets=targets, wanted=columns, subject=subject, description=description
        )
        self.beside = {
            name: self._open_row_values(given, name, schema)
            for name, given in (("y", None if targets is None else y), ("sample_weight", weight))
        }
        self.rule = PieceRule(subject, description, targets, "record batch")
        self.rule.read(0, *self._parts(self.columns.nothing(schema), 0))
        self.dtype, self.n_features = self.rule.dtype, self.rule.n_features
        self.target_shape, self.has_weight = self.rule.target_shape, self.rule.has_weight
        self.feature_names = self.columns.features
        self.block_rows = rows_per_block(self.n_features)
        # The first row of each file read so far, and its name, for errors.
        self.files: list[tuple[int, str]] = []

    def _open_row_values(self, given: Any, name: str, schema: Any) -> RowValues | None:
        return None if find_named_columns(given, schema.names) else open_row_values(given, name, self.subject)

    @property
    def batch_rows(self) -> int:
        """Rows asked for in a record batch."""
        return max(1024, _BATCH_BYTES // (8 * len(self.columns.names)))

    def batches(self) -> Iterator[tuple[str, Any]]:
        """Begin a new pass: yield the name of a file (or an empty one) and a record batch of it."""
        scanner = self.data
        if hasattr(scanner, "scanner"):
            options = {"batch_size": self.batch_rows, "use_threads": self.threads > 1, **_AHEAD, **self._slim()}
            scanner = scanner.scanner(columns=self.columns.names, **options)
        for tagged in scanner.scan_batches():
            yield getattr(tagged.fragment, "path", ""), tagged.record_batch

    def _slim(self) -> dict[str, Any]:
        """Return options that read Parquet columns as they are decoded; the default reads whole row groups ahead."""
        from pyarrow import dataset

        # Only Parquet has row groups that are read ahead.
        if not isinstance(getattr(self.data, "format", None), dataset.ParquetFileFormat):
            return {}
        return {"fragment_scan_options": dataset.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)}

    def pieces(self) -> Iterator[Piece]:
        start, number = 0, 0
        self.files.clear()
        with self._reading():
            for file, batch in self.batches():
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
        return self.columns.rows(batch), y, weight

    def locate(self, row: int) -> str:
        place = bisect.bisect_right([first for first, _ in self.files], row) - 1
        first, file = self.files[place] if self.files else (0, "")
        return f"row {row - first} of {file}" if file else super().locate(row)

    def fingerprint(self) -> dict[str, Any]:
        paths = [path for path in getattr(self.data, "files", []) if os.path.exists(path)]
        stamps = [[os.path.basename(path), os.stat(path).st_size, os.stat(path).st_mtime_ns] for path in paths]
        return {"shape": [self.n_features], "dtype": str(self.dtype), "columns": self.columns.names, "data": stamps}

    def _refuse(self, sentence: str) -> NoReturn:
        raise DataError(f"{self.subject}: {self.description} {sentence}.")


class ParquetSource(TableSource):
    """Rows of Parquet files, one file after the other, a page of each column at a time.

    A dataset decodes whole row groups, two at once: 390 MB for groups of 134 MB, where this takes 200 MB for groups of
    any size.
    """

    def batches(self) -> Iterator[tuple[str, Any]]:
        import pyarrow
        from pyarrow import dataset, parquet

        for fragment in self.data.get_fragments():
            # Partition keys are part of the path, not of the file.
            parts = dataset.get_partition_keys(fragment.partition_expression)
            stored = [name for name in self.columns.names if name not in parts]
            named = [name for name in self.columns.names if name in parts]
            with parquet.ParquetFile(fragment.path, pre_buffer=False, buffer_size=2**16) as file:
                for batch in file.iter_batches(self.batch_rows, columns=stored, use_threads=self.threads > 1):
                    for name in named:
                        value = pyarrow.scalar(parts[name], self.data.schema.field(name).type)
                        batch = batch.append_column(name, pyarrow.repeat(value, batch.num_rows))
                    yield fragment.path, batch


class TextSource(TableSource):
    """Rows of files of delimited text, one file after the other."""

    def batches(self) -> Iterator[tuple[str, Any]]:
        return self.data.batches(self.columns.names, self.threads > 1)


class ReaderSource(TableSource):
    """Rows of a record-batch reader, which can be read once."""

    place = "stream"
    restartable = False

    def batches(self) -> Iterator[tuple[str, Any]]:
        for batch in self.data:
            yield "", batch


def open_table_path(
    path: Path, y: Any, weight: Any, *, subject: str, targets: str | None, columns: Any = None, **options: Any
) -> Any:
    """Open a table file, or a folder of them."""
    _import_arrow(subject)
    from mercer._source.table.files import TableFiles

    files = TableFiles(path, subject)
    # Labels keep their type; whole numbers in other columns of text files are read as floats.
    labels = [y] if isinstance(y, str) and targets == "labels" else []
    named = [name for given in (y, weight) for name in (given if isinstance(given, list | tuple) else [given])]
    data = files.open(labels, None if columns is None else [*columns, *named])
    kind = {"Parquet": ParquetSource, "Arrow": TableSource}.get(files.kind, TextSource)
    source = kind(
        data,
        data.schema,
        y,
        weight,
        subject=subject,
        targets=targets,
        columns=columns,
        description=files.description,
        **options,
    )
    # The metadata of Parquet and Arrow files give the number of rows; that of text files takes a pass.
    if files.kind in ("Parquet", "Arrow"):
        _note_rows(source, data.count_rows())
    return source


def open_table(X: Any, y: Any, weight: Any, *, subject: str, **options: Any) -> TableSource:
    """Open a pyarrow Dataset, Scanner, Table or RecordBatch."""
    _import_arrow(subject)
    from pyarrow import dataset

    kind = type(X).__name__
    description = f"the pyarrow {kind}"
    if isinstance(X, dataset.Scanner):
        return TableSource(X, X.projected_schema, y, weight, subject=subject, description=description, **options)
    data = X if isinstance(X, dataset.Dataset) else dataset.dataset(X)
    source = TableSource(data, data.schema, y, weight, subject=subject, description=description, **options)
    if not isinstance(X, dataset.Dataset):
        # Tables in memory and formats with counts in their footers know their rows without a pass.
        _note_rows(source, X.num_rows)
    elif isinstance(getattr(X, "format", None), dataset.ParquetFileFormat | dataset.IpcFileFormat):
        _note_rows(source, X.count_rows())
    return source


def open_reader(X: Any, y: Any, weight: Any, *, subject: str, **options: Any) -> ReaderSource:
    """Open a pyarrow RecordBatchReader."""
    return ReaderSource(X, X.schema, y, weight, subject=subject, description="the pyarrow RecordBatchReader", **options)


def _note_rows(source: TableSource, n_rows: int) -> None:
    """Store the number of rows that the files' metadata give, so that no pass has to count them."""
    if n_rows == 0:
        source._refuse("has no rows; got 0 sample(s), at least 1 is required")
    for beside in source.beside.values():
        if beside is not None:
            beside.check_length(n_rows, source.description)
    source._known["n_rows"] = n_rows


def _import_arrow(subject: str) -> None:
    """Raise with the command to install pyarrow if it is missing."""
    try:
        import pyarrow.dataset  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f'{subject}: tables are read by pyarrow, which is not installed; pip install "mercer[files]".'
        ) from error
