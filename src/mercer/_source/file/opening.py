"""Open rows in files: find the kind of a path or an Arrow object, and pass it to the source of that kind."""

import os
from pathlib import Path
from typing import Any

from mercer._source.source import Source
from mercer.errors import DataError

# Which files hold what, by the ends of their names; those but ``npy`` and ``npz`` are tables.
KINDS = {
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".csv": "CSV",
    ".csv.gz": "CSV",
    ".tsv": "TSV",
    ".tsv.gz": "TSV",
    ".tab": "TSV",
    ".txt": "text",
    ".txt.gz": "text",
    ".dat": "text",
    ".data": "text",
}


def open_file(X: Any, y: Any, weight: Any, *, columns: Any = None, **options: Any) -> Source:
    """Open rows in a file, a folder of files, or an Arrow table or dataset.

    Parameters
    ----------
    X : path or pyarrow object
    y, weight : array, path of a .npy file, column name (of tables) or None
    columns : list of str or None
        Of a table, the columns to read; None for all but targets and weights.
    **options
        ``subject``, ``targets`` and ``threads``, as in :func:`mercer._source.opening.open_place`.
    """
    if not isinstance(X, str | os.PathLike):
        from mercer._source.table.source import open_table

        return open_table(X, y, weight, columns=columns, **options)
    path, subject = Path(X), options["subject"]
    from mercer._source.table.cursor import is_database

    if is_database(path):
        from mercer._source.table.source import open_table_path

        return open_table_path(path, y, weight, columns=columns, **options)
    if not path.exists():
        raise DataError(
            f"{subject}: there is no file or folder {os.fspath(X)}. Check its name; open remote files with "
            f"pyarrow.dataset.dataset and give the dataset."
        )
    kind = "folder" if path.is_dir() else kind_of(path, subject)
    match kind:
        case "npy":
            from mercer._source.file.npy_source import NpySource

            return NpySource(X, y, weight, **options)
        case "npz":
            from mercer._source.file.sparse_file import SparseFile

            return SparseFile(X, y, weight, **options)
    from mercer._source.table.source import open_table_path

    return open_table_path(path, y, weight, columns=columns, **options)


def kind_of(path: Path, subject: str) -> str:
    """Return what a file holds, by the end of its name; raise an error that lists the known ends for others."""
    # Two endings together come first, for names such as table.csv.gz.
    for end in ("".join(path.suffixes[-2:]).lower(), path.suffix.lower()):
        if end in KINDS:
            return KINDS[end]
    raise DataError(
        f"{subject}: {path} must be a file with one of the endings {', '.join(KINDS)}, or a folder of those; got "
        f"{path.suffix or 'no ending'!r}. Rename or convert it."
    )
