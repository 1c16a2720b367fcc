"""Tables as Arrow record batches: datasets, scanners, Parquet files, readers, and frames that follow one another.

Each has a `schema`, its `files` (none if it is not in files), the number of its rows as `n_rows` if it is known before
a pass, and `batches`, which begins a pass. `restartable` says whether there can be a second one.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

# Bytes of a record batch.
_BATCH_BYTES = 8 * 2**20
# How far Arrow reads ahead on its own; its default holds 16 batches of each of 4 files.
_AHEAD = {"batch_readahead": 2, "fragment_readahead": 1}


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

    def batches(self, names: list[str], threads: bool) -> Iterator[tuple[str, Any]]:
        import pyarrow
        from pyarrow import dataset, parquet

        for fragment in self.data.get_fragments():
            # Partition keys are part of the path, not of the file.
            parts = dataset.get_partition_keys(fragment.partition_expression)
            stored = [name for name in names if name not in parts]
            named = [name for name in names if name in parts]
            with parquet.ParquetFile(fragment.path, pre_buffer=False, buffer_size=2**16) as file:
                for batch in file.iter_batches(_count_batch_rows(names), columns=stored, use_threads=threads):
                    for name in named:
                        value = pyarrow.scalar(parts[name], self.data.schema.field(name).type)
                        batch = batch.append_column(name, pyarrow.repeat(value, batch.num_rows))
                    yield fragment.path, batch


class ReaderBatches(DatasetBatches):
    """A record-batch reader, which can be read once."""

    restartable = False

    def __init__(self, reader: Any) -> None:
        super().__init__(reader, reader.schema, None)

    def batches(self, names: list[str], threads: bool) -> Iterator[tuple[str, Any]]:
        for batch in self.data:
            yield "", batch.select(names)
