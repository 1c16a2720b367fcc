"""Find the place that rows are in, from what a user gives, and open them there; imports nothing to find out."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._source.source import Source
from mercer.errors import DataError

PLACES = {
    "memory": "NumPy arrays, SciPy sparse matrices, pandas, polars and Arrow tables, memory maps",
    "file": ".npy, sparse .npz, Parquet, CSV, Arrow and SQLite files and folders, Arrow datasets",
    "stream": "iterables and functions that give blocks of rows, Arrow record-batch readers, queries of databases",
    "dask": "Dask arrays, dataframes, bags of blocks and lists of futures",
    "device": "torch and CuPy arrays, on a CPU or a GPU",
}


def place_of(X: Any, y: Any = None) -> str:
    """Return the place that `X` is in; ``"memory"`` for all that scikit-learn's validation understands."""
    if type(X) is np.ndarray:
        return "memory"
    if isinstance(X, str | os.PathLike):
        return "file"
    # The name of the library decides, so that none has to be imported.
    library = type(X).__module__.split(".")[0]
    if library == "mercer" and hasattr(X, "place"):
        return X.place
    if library in ("dask", "distributed") or (_is_list(X) and _library(X[0]) in ("dask", "distributed")):
        return "dask"
    if library == "pyarrow":
        return _arrow_place(X, y)
    if library in ("torch", "cupy", "array_api_strict"):
        return "device"
    if is_query(X):
        return "stream"
    if _gives_blocks(X):
        return "stream"
    return "memory"


def open_place(
    place: str,
    X: Any,
    y: Any,
    weight: Any,
    *,
    subject: str,
    targets: str | None,
    threads: int,
    columns: Any = None,
    keep: bool = False,
) -> Source:
    """Open rows that are not NumPy arrays in memory.

    Parameters
    ----------
    place : str
        As :func:`place_of` named it.
    X, y, weight
        As the user gave them.
    subject : str
        Who asks, for errors.
    targets : {None, "numbers", "labels"}
        Which targets are wanted.
    threads : int
    columns : sequence of str or None
        Of tables, the columns to read as features; None for all but targets and weights.
    keep : bool
        Whether passes will follow one another, so that rows which Dask computes may stay where they are computed.
    """
    options: dict[str, Any] = {"subject": subject, "targets": targets, "threads": threads}
    # A table that a transformer encodes as it is read.
    if hasattr(X, "encode") and _library(X) == "mercer":
        return X.open(y, weight, **options)
    match place:
        case "file":
            from mercer._source.file.opening import open_file

            return open_file(X, y, weight, columns=columns, **options)
        case "dask":
            from mercer._source.dask.source import open_dask

            return open_dask(X, y, weight, keep=keep, **options)
        case "device":
            from mercer._source.device.source import open_device

            return open_device(X, y, weight, **options)
    if _library(X) == "pyarrow" or is_query(X):
        from mercer._source.table.source import open_table

        return open_table(X, y, weight, columns=columns, **options)
    from mercer._source.file.block_stream import BlockStream

    # Blocks carry their targets: an array beside them could not be matched to rows that come in unknown lengths.
    for name, value in (("y", y), ("sample_weight", weight)):
        if value is not None:
            raise DataError(
                f"{subject}: {name} must come with the blocks; got it beside them. Yield (X, y) or (X, y, weight)."
            )
    return BlockStream(X, **options)


def is_query(thing: Any) -> bool:
    """Return whether `thing` is a cursor of Python's DB-API, or a pair of a connection and the text of a query."""
    if isinstance(thing, tuple) and len(thing) == 2:
        return isinstance(thing[1], str) and hasattr(thing[0], "cursor")
    return hasattr(thing, "fetchmany") and hasattr(thing, "description")


def _library(thing: Any) -> str:
    """Return the name of the library that `thing` belongs to."""
    return type(thing).__module__.split(".")[0]


def _is_list(X: Any) -> bool:
    """Return whether `X` is a list or tuple with items."""
    return isinstance(X, list | tuple) and len(X) > 0


def _arrow_place(X: Any, y: Any) -> str:
    """Return the place of an Arrow object."""
    kind = type(X).__name__
    if kind == "RecordBatchReader":
        return "stream"
    if kind in ("Table", "RecordBatch"):
        # scikit-learn reads a table by itself; targets by column name it does not.
        return "file" if _names_columns(y, X) else "memory"
    return "file"


def _names_columns(y: Any, X: Any) -> bool:
    """Return whether `y` names columns of a table, and is not a list of labels that look like names."""
    if isinstance(y, list | tuple) and 0 < len(y) != X.num_rows:
        return all(isinstance(name, str) and name in X.schema.names for name in y)
    return isinstance(y, str)


def _gives_blocks(X: Any) -> bool:
    """Return whether `X` is a function, an iterator, an iterable that is no array, or a list of matrices or tuples."""
    if _is_list(X):
        # A list of numbers or of lists is a matrix; a list of matrices is a list of blocks.
        first = X[0][0] if isinstance(X[0], tuple) and len(X[0]) > 0 else X[0]
        return len(getattr(first, "shape", ())) == 2
    if isinstance(X, Iterator):
        return True
    # Arrays, frames and dictionaries can be iterated as well, but they are one table and not blocks.
    if hasattr(X, "shape") or hasattr(X, "__array__") or hasattr(X, "__dataframe__") or isinstance(X, dict | set):
        return False
    return (callable(X) and not isinstance(X, type)) or (hasattr(X, "__iter__") and not hasattr(X, "__getitem__"))
