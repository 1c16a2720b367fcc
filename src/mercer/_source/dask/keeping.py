"""Rows that stay where their partitions are, as floats in the order that sums read them, for as long as a fit lasts.

A Dask collection that is not persisted is computed in every pass: its files are read, parsed and converted again. Where
the converted rows fit into a share of the memory, a fit keeps them from its first reading on, and releases them at its
end.
"""

import sys
from typing import Any

import dask
import dask.array
import numpy as np
from dask.task_spec import TaskRef

from mercer._source.dask.graph import TaskLayer, active_client, chunk_key, chunk_reference, compute
from mercer._source.memory import count_allowed_bytes

# The share of the memory that the workers have left which rows may take; the rest is for partitions as they are read,
# for the sums, and for other work on the cluster.
_SHARE = 0.4


def convert_rows(part: Any, columns: list[str] | None, dtype: Any) -> Any:
    """Return a partition or a chunk as an array of a type in the order of rows; SciPy's matrices stay sparse."""
    if hasattr(part, "indptr"):
        return part.astype(dtype, copy=False)
    if columns is not None:
        # Nullable numbers have gaps of their own kind, which become NaN here.
        part = part[columns].to_numpy(dtype=dtype, na_value=np.nan)
    # Rows of a frame lie column by column: each pass would copy them.
    return np.require(part, dtype, ["C_CONTIGUOUS", "ALIGNED"])


def convert_values(part: Any, column: Any) -> Any:
    """Return the targets or weights of a partition: a column of a frame, or a series."""
    values = np.ascontiguousarray((part if column is None else part[column]).to_numpy())
    # Texts of fixed width, as labels from files and arrays are.
    texts = values.dtype == object and len(values) and all(isinstance(value, str) for value in values)
    return values.astype(str) if texts else values


def count_part(part: Any) -> int:
    """Return the number of rows of a partition."""
    return len(part)


def count_bytes(part: Any) -> int:
    """Return the size of an array or a sparse matrix."""
    return part.data.nbytes + part.indices.nbytes if hasattr(part, "indptr") else part.nbytes


class Parts:
    """The partitions of a dataframe or a series, from which arrays are made.

    Their lengths are not known before :meth:`count` is called.
    """

    def __init__(self, frame: Any) -> None:
        self.parts = list(frame.to_delayed())

    def array(self, function: Any, *arguments: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return the array of ``function(partition, *arguments)``, whose rows have a shape."""
        layer = TaskLayer(*self.parts)
        name = f"mercer-rows-{layer.token}"
        held = [layer.hold(one) for one in arguments]
        for number, part in enumerate(self.parts):
            layer.put(function, TaskRef(part.key), *held, key=(name, number, *[0] * len(shape)))
        chunks = ((np.nan,) * len(self.parts), *((size,) for size in shape))
        return dask.array.Array(layer.graph(name), name, chunks, dtype=dtype)

    def count(self, subject: str) -> tuple[int, ...]:
        """Return the number of rows of each partition, counted where it is."""
        count = dask.delayed(count_part)
        return tuple(compute(dask.delayed([count(part) for part in self.parts]), subject))


def count_chunks(array: Any, subject: str) -> tuple[int, ...]:
    """Return the number of rows of each chunk of an array, counted where it is."""
    layer = TaskLayer(array)
    lengths = [layer.put(count_part, chunk_reference(array, number)) for number in range(array.numblocks[0])]
    return tuple(compute(layer.result(layer.put(join_counts, *lengths)), subject))


def join_counts(*counts: int) -> list[int]:
    """Return counts as a list."""
    return list(counts)


def state_lengths(array: Any, lengths: tuple[int, ...]) -> Any:
    """Return the same array with known lengths of its chunks."""
    chunks = (lengths, *array.chunks[1:])
    return dask.array.Array(array.dask, array.name, chunks, dtype=array.dtype, meta=array._meta)


def keep_arrays(arrays: list[Any], subject: str) -> list[Any]:
    """Return arrays (or None) whose chunks stay where they are computed, if all fit into the share of the memory.

    They are held as long as anything refers to them. What is in the memory of a cluster already stays as it is.
    """
    new = [array for array in arrays if array is not None and not _is_held(array)]
    if not new or sum(_forecast(array, subject) for array in new) > _find_budget():
        return arrays
    client = active_client()
    # All in one call: partitions that they share are computed once.
    kept = iter(dask.persist(*new) if client is None else client.persist(list(new)))
    known = {id(array) for array in new}
    return [next(kept) if id(array) in known else array for array in arrays]


def _is_held(array: Any) -> bool:
    """Return whether the chunks of an array are in the memory of a cluster already, as they are."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and chunk_key(array, 0) in {one.key for one in distributed.futures_of(array)}


def _forecast(array: Any, subject: str) -> float:
    """Return the bytes of an array; of one with chunks of unknown lengths, as if all were as long as the first."""
    if not np.isnan(array.shape[0]):
        return float(array.nbytes)
    layer = TaskLayer(array)
    first = compute(layer.result(layer.put(count_bytes, chunk_reference(array, 0))), subject)
    return float(first) * array.numblocks[0]


def _find_budget() -> float:
    """Return the bytes that kept rows may take on the workers, or in this process where there is no cluster."""
    client = active_client()
    if client is None:
        return _SHARE * count_allowed_bytes()
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    # A worker without a limit does not say what it has: its rows are computed anew, as in a cluster that is full.
    left = [one["memory_limit"] - one.get("metrics", {}).get("memory", 0) for one in workers if one["memory_limit"]]
    return _SHARE * sum(max(0, one) for one in left)
