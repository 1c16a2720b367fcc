"""Rows on a Dask cluster, or in whatever a Dask scheduler computes: each chunk is summed where it is.

A pass is one graph of tasks. Every chunk is cut to the fixed blocks where it lies; sums of blocks merge along the tree
that all places share, on the workers; one sum travels to the client. Rows never do, unless asked for by number.
"""

import copy
import operator
import weakref
from collections.abc import Callable
from typing import Any

import dask
import dask.array
import numpy as np

from mercer._source.block import Block, DenseBlock, SparseBlock, rows_per_block, rows_per_sparse_block
from mercer._source.dask import tasks
from mercer._source.dask.frames import EncodedArray
from mercer._source.dask.graph import (
    TaskLayer,
    active_client,
    chunk_reference,
    compute,
    group_chunks,
    losses_named,
    piece_reference,
)
from mercer._source.dask.input import Given, read_input
from mercer._source.dask.tasks import Chunk, ChunkReader, example, map_chunk
from mercer._source.file.local_table import LocalTable, forget
from mercer._source.memory import require_memory
from mercer._source.source import Source
from mercer._types import Array, Rows


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


# Sums that one task adds. Fewer would lengthen the chain of tasks, more would bring more sums to one worker.
_JOINED = 8


def open_dask(
    X: Any, y: Any, weight: Any, *, subject: str, targets: str | None, threads: int, keep: bool = False
) -> "DaskSource":
    """Open a Dask collection, or blocks on a cluster, as a source; with `keep` converted rows stay where they are."""
    with losses_named(subject):
        return DaskSource(read_input(X, y, weight, subject=subject, targets=targets, keep=keep), subject, threads)


class DaskSource(Source):
    """Rows of a Dask array.

    Each chunk starts a block. Where all chunks but the last are whole numbers of blocks, blocks and sums are those of
    an array in memory, to the last bit; else sums are taken chunk by chunk, in an order that is fixed all the same.
    """

    place = "dask"
    random_access = False
    n_rows = 0

    def __init__(self, given: Given, subject: str, threads: int = 1) -> None:
        self.given = given
        self.rule = given.rule
        self.subject = subject
        self.threads = threads
        self.description = self.rule.description
        self.n_rows, self.n_features = (int(size) for size in given.X.shape)
        self.dtype, self.is_sparse = self.rule.dtype, self.rule.is_sparse
        self.target_shape, self.has_weight = self.rule.target_shape, self.rule.has_weight
        self.feature_names = given.names
        sparse_rows = rows_per_sparse_block(self.n_rows, given.n_stored, self.n_features) if self.is_sparse else 0
        self.block_rows = sparse_rows or rows_per_block(self.n_features)
        self.chunks = _chunks(given.X.chunks[0], self.block_rows)
        self.by_block = all(chunk.n_rows % self.block_rows == 0 for chunk in self.chunks[:-1])
        # Shared by copies of this source, so that all of them know what one pass has found.
        self._known = {"finite": False}

    @property
    def n_blocks(self) -> int:
        last = self.chunks[-1]
        return last.first_block - (-last.n_rows // self.block_rows)

    def bounds(self, number: int) -> tuple[int, int]:
        chunk = self._chunk_of_block(number)
        start = chunk.start + (number - chunk.first_block) * self.block_rows
        return start, min(start + self.block_rows, chunk.start + chunk.n_rows)

    def numbers_of(self, rows: Array) -> Array:
        starts = np.array([chunk.start for chunk in self.chunks])
        first = np.array([chunk.first_block for chunk in self.chunks])
        chunk = np.searchsorted(starts, np.asarray(rows), side="right") - 1
        return first[chunk] + (np.asarray(rows) - starts[chunk]) // self.block_rows

    def locate(self, row: int) -> str:
        chunk = self._chunk_of_block(int(self.numbers_of(row)))
        return f"row {row}, in chunk {chunk.number} of {self.description}"

    def assume_finite(self) -> None:
        self._known["finite"] = True

    def check_finite(self) -> None:
        self._known["finite"] = False
        self.reduce(tasks.BlockWeight())

    def _chunk_of_block(self, number: int) -> tasks.Chunk:
        first = [chunk.first_block for chunk in self.chunks]
        return self.chunks[int(np.searchsorted(first, number, side="right")) - 1]

    def _layer(self) -> tuple[TaskLayer, tasks.ChunkReader]:
        """Return an empty layer of tasks, and the reader of chunks that its tasks use."""
        layer = TaskLayer(self.given.X, self.given.y, self.given.weight)
        return layer, tasks.ChunkReader(
            self.rule, self.block_rows, self.labelling, self._known["finite"], self.by_block
        )

    def _piece(self, chunk: tasks.Chunk) -> Any:
        return piece_reference(chunk.number, self.given.X, self.given.y, self.given.weight)

    def reduce(self, statistic: Any) -> Any:
        layer, reader = self._layer()
        how = layer.hold((reader, statistic))
        with losses_named(self.subject):
            groups = group_chunks(active_client(), self.given.X, self.chunks)
        sums = [layer.put(tasks.sum_chunks, how, group, *map(self._piece, group)) for group in groups]
        # Sums are joined a few at a time, on the workers: the client receives one.
        while len(sums) > _JOINED:
            parts = [sums[start : start + _JOINED] for start in range(0, len(sums), _JOINED)]
            sums = [layer.put(tasks.join_sums, False, *part) for part in parts]
        total = compute(layer.result(layer.put(tasks.join_sums, True, *sums)), self.subject)
        self._known["finite"] = True
        return total

    def total_weight(self) -> float:
        return float(self.reduce(tasks.BlockWeight())) if self.has_weight else float(self.n_rows)

    def _map(self, function: Callable[[Block], Array], out: Array) -> Any:
        """Return a Dask array with the chunks of the rows, computed when asked for."""
        rule = copy.copy(self.rule)
        # New rows have neither targets nor weights, and the rule of the fit would ask for them.
        rule.targets, rule.has_weight = None, False
        result = map_rows(self.given.X, tasks.ChunkReader(rule, self.block_rows, None, self._known["finite"]), function)
        if out is None:
            # What a transformer makes of encoded rows has the same targets.
            named = self.given.frame is not None and not isinstance(result, tuple)
            return EncodedArray.make(result, self.given.frame) if named else result
        out[...] = compute(result, self.subject)
        return out

    def deliver(self, values: Array) -> Any:
        import dask.array

        return dask.array.from_array(values, chunks=(self.given.X.chunks[0], *values.shape[1:]))

    def on_blocks(self, work: dict[int, Callable[[Block], Any]]) -> dict[int, Any]:
        layer, reader = self._layer()
        by_chunk: dict[tasks.Chunk, dict[int, Any]] = {}
        # Functions of one chunk travel to it together.
        for number, function in sorted(work.items()):
            by_chunk.setdefault(self._chunk_of_block(number), {})[number] = function
        results = [
            layer.put(tasks.run_on_blocks, layer.hold((reader, functions)), chunk, self._piece(chunk))
            for chunk, functions in by_chunk.items()
        ]
        return compute(layer.result(layer.put(tasks.join_results, *results)), self.subject)

    def block(self, number: int) -> Block:
        X, start, y, weight = self.on_blocks({number: tasks.BlockItself()})[number]
        return (SparseBlock if self.is_sparse else DenseBlock)(X, start, y, weight)

    def on_rows(self, start: int, stop: int, function: Callable[[Block], Any]) -> Any:
        layer, reader = self._layer()
        how, parts = layer.hold(reader), []
        for chunk in self.chunks:
            # `begin` and `end` are the wanted rows counted from the chunk's first;
            # they cross where the chunk has none of them.
            begin, end = max(start - chunk.start, 0), min(stop - chunk.start, chunk.n_rows)
            if begin < end:
                parts.append(layer.put(tasks.cut_rows, how, chunk, begin, end, self._piece(chunk)))
        result = layer.put(tasks.run_on_rows, layer.hold(function), start, *parts)
        return compute(layer.result(result), self.subject)

    def row_table(self, fill: float, dtype: Any = np.float64) -> Array:
        """Return None, because no single process has all rows; see :meth:`local_table`."""
        return None

    def local_table(self, *columns: tuple[float, Any]) -> LocalTable:
        table, client = LocalTable(columns), active_client()
        weakref.finalize(table, _forget_everywhere, table.token, None if client is None else weakref.ref(client))
        return table

    def whole(self) -> Array:
        """Bring all rows to the client; raise if they would not fit in its memory."""
        self._require_client_memory()
        return compute(self.given.X.astype(self.dtype), self.subject)

    def _require_client_memory(self) -> None:
        """Raise if all rows would not fit in the memory of the client."""
        size = self.n_rows * self.n_features * self.host_dtype.itemsize
        if self.is_sparse:
            # CSR stores a value and an index of at most 8 bytes for each entry.
            size = self.given.n_stored * (self.host_dtype.itemsize + 8)
        require_memory(self.subject, size, f"all rows of {self.description}", "use what works block by block")

    def gather(self) -> tuple[Rows, Array, Array]:
        """Bring all rows, targets and weights to the client; raise if they would not fit in its memory."""
        self._require_client_memory()
        parts = [self.given.X.astype(self.dtype), self.given.y, self.given.weight]
        known = [part for part in parts if part is not None]
        found = iter(compute(dask.delayed(list)(known), self.subject))
        X, y, weight = (None if part is None else next(found) for part in parts)
        return X, *self.rule.read_again(y, weight)

    def fingerprint(self) -> dict[str, Any]:
        # The first and the last block stand for the whole: reading all rows would cost a pass.
        ends = sorted({0, self.n_blocks - 1})
        checksums = self.on_blocks({number: tasks.BlockChecksum() for number in ends})
        return {
            "shape": [self.n_rows, self.n_features],
            "dtype": str(self.dtype),
            "data": [checksums[number] for number in ends],
        }


def _chunks(lengths: tuple[int, ...], block_rows: int) -> list[tasks.Chunk]:
    """List the chunks that have rows."""
    chunks, start, first = [], 0, 0
    for number, length in enumerate(int(length) for length in lengths):
        if length:
            chunks.append(tasks.Chunk(number, start, first, length))
        # -(-length // block_rows) rounds up: the last block of a chunk may be short.
        start, first = start + length, first - (-length // block_rows)
    return chunks


def _forget_everywhere(token: str, client: Any) -> None:
    """Drop a local table here and, without waiting, on the workers."""
    forget(token)
    client = None if client is None else client()
    if client is not None and client.status == "running":
        client.loop.add_callback(client.run, forget, token, on_error="ignore")
