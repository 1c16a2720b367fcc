"""Map the rows of a Dask collection to one value each: Dask arrays that are computed when asked for."""

import copy
import operator
from collections.abc import Callable
from typing import Any

import dask.array

from mercer._source.block import Block
from mercer._source.dask.graph import TaskLayer, chunk_reference
from mercer._source.dask.tasks import Chunk, ChunkReader, example, map_chunk
from mercer._types import Array


def map_rows(X: Any, reader: ChunkReader, function: Callable[[Block], Array]) -> Any:
    """Return ``function(block)`` for the blocks of `X`, joined chunk by chunk; a tuple of arrays if it returns one.

    The function is called once with a row of zeros, to find the types and shapes of its results.
    """
    # A copy: the tasks run later, and must not see changes that a model undergoes in the meantime.
    function = copy.deepcopy(function)
    shown = function(example(reader.rule))
    several = isinstance(shown, tuple)
    shown = shown if several else (shown,)
    layer = TaskLayer(X)
    how = layer.hold((reader, function))
    names = [f"mercer-map-{layer.token}-{part}" for part in range(len(shown))]
    # A task for each chunk; results are joined along the rows.
    start = 0
    for number, length in enumerate(X.chunks[0]):
        keys = [(name, number, *[0] * (array.ndim - 1)) for name, array in zip(names, shown, strict=True)]
        arguments = how, Chunk(number, start, 0, length), chunk_reference(X, number)
        if several:
            whole = layer.put(map_chunk, *arguments)
            for part, key in enumerate(keys):
                layer.put(operator.getitem, whole, part, key=key)
        else:
            layer.put(map_chunk, *arguments, key=keys[0])
        start += length
    arrays = tuple(_array(layer, name, array, X.chunks[0]) for name, array in zip(names, shown, strict=True))
    return arrays if several else arrays[0]


def _array(layer: TaskLayer, name: str, shown: Array, lengths: tuple[int, ...]) -> Any:
    """Return the Dask array of the tasks `name`, whose results are rows like those of `shown`."""
    chunks = (lengths, *((size,) for size in shown.shape[1:]))
    return dask.array.Array(layer.graph(name), name, chunks, dtype=shown.dtype, meta=shown[:0])
