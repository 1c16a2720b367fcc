"""Dask dataframes and arrays of any types: statistics of their partitions, and partitions encoded as numbers."""

from collections.abc import Callable
from typing import Any

import dask
import dask.array
import numpy as np

from mercer._source.dask.graph import compute
from mercer.errors import DataError

# Sums of partitions that one task adds.
_JOINED = 8


def list_partitions(X: Any, subject: str) -> list[Any]:
    """Return the partitions of a dataframe, or the chunks of rows of an array, as values to be computed."""
    if hasattr(X, "partitions") and hasattr(X, "columns"):
        return list(X.to_delayed())
    if isinstance(X, dask.array.Array):
        X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    raise DataError(
        f"{subject}: rows that are not numbers must be in a Dask dataframe or array; got {type(X).__name__}. Make one "
        f"of the blocks, as dask.dataframe.from_delayed does."
    )


def sum_partitions(parts: list[Any], function: Callable[..., Any], subject: str) -> Any:
    """Return the sum of ``function(partition)``, computed and added where the partitions are."""
    work, add = dask.delayed(function, pure=False), dask.delayed(_add, pure=False)
    sums = [work(*part) if isinstance(part, tuple) else work(part) for part in parts]
    while len(sums) > 1:
        sums = [add(sums[start : start + _JOINED]) for start in range(0, len(sums), _JOINED)]
    return compute(sums[0], subject)


def _add(sums: list[Any]) -> Any:
    total = sums[0]
    for one in sums[1:]:
        total = total + one
    return total


def count_rows(parts: list[Any], subject: str) -> list[int]:
    """Return the number of rows of each partition, counted where it is."""
    count = dask.delayed(len, pure=False)
    return list(compute(dask.delayed([count(part) for part in parts]), subject))


class _Encode:
    """Encodes a partition of known place."""

    def __init__(self, encoding: Any) -> None:
        self.encoding = encoding

    def __call__(self, rows: Any, number: int, start: int) -> Any:
        if not len(rows):
            return self.encoding.nothing(None)
        result = self.encoding(rows, lambda row: f"row {row} of partition {number}", start)
        return np.asarray(result, self.encoding.dtype) if hasattr(result, "columns") else result


class EncodedArray(dask.array.Array):
    """The encoded rows of a Dask collection, which knows the columns that were not encoded: targets and weights."""

    __slots__ = ("given",)
    given: Any
    place = "dask"

    @classmethod
    def make(cls, array: Any, given: Any) -> "EncodedArray":
        """Return an array together with the collection that it was encoded from."""
        encoded = cls(array.dask, array.name, array.chunks, dtype=array.dtype, meta=array._meta)
        encoded.given = getattr(given, "given", given)
        return encoded


def encode_partitions(X: Any, encoding: Any, subject: str) -> Any:
    """Return the Dask array of the encoded partitions of `X`."""
    parts = list_partitions(X, subject)
    lengths = count_rows(parts, subject)
    encode = dask.delayed(_Encode(encoding), pure=False)
    meta = encoding.nothing(None)
    arrays, start = [], 0
    for number, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        shape = (length, len(encoding.names))
        arrays.append(dask.array.from_delayed(encode(part, number, start), shape, dtype=meta.dtype, meta=meta))
        start += length
    return EncodedArray.make(arrays[0] if len(arrays) == 1 else dask.array.concatenate(arrays), X)


def find_head(X: Any, columns: list[str] | None, subject: str) -> Any:
    """Return some rows of a dataframe or an array: those of the first partition that has any."""
    for part in list_partitions(X, subject):
        rows = compute(part, subject)
        if len(rows):
            rows = rows[:1000]
            return rows if columns is None else rows[columns]
    raise DataError(f"{subject}: the Dask collection has no rows; got 0 sample(s), at least 1 is required.")


def select(columns: list[str] | None, rows: Any) -> Any:
    """Return some columns of a partition."""
    return rows if columns is None else rows[columns]
