"""The tasks that workers of a Dask cluster run: check a chunk of rows, cut it to blocks, and sum or map these.

Nothing here needs Dask. Tasks never change what they were given, since a scheduler may give it to another task, or
run a task twice when a worker is lost.
"""

import copy
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mercer._source.block import Block, DenseBlock, SparseBlock, check_block
from mercer._source.file.block_cutting import Piece
from mercer._source.file.piece_rule import PieceRule
from mercer._source.source import SumTree, longest_run
from mercer._source.threads import one_blas_thread
from mercer._types import Array
from mercer.errors import DataError, MemoryForecastError


@dataclass(frozen=True)
class Chunk:
    """A chunk: its number, the indices of its first row and of its first block, and its number of rows."""

    number: int
    start: int
    first_block: int
    n_rows: int


class PlacedSums:
    """Sums over runs of 2**height places that begin at a multiple of their length, in the order of places.

    They are inner nodes of the tree that :class:`SumTree` builds over all places, whichever worker computed them.
    """

    def __init__(self) -> None:
        self.parts: list[tuple[int, int, Any]] = []

    def add(self, place: int, height: int, value: Any) -> None:
        """Take the sum over the next run; two runs that are the halves of a longer one merge at once."""
        while self.parts:
            before, level, left = self.parts[-1]
            # Two runs are halves of a longer one if they have the same height, touch, and the first starts at an even
            # place.
            if level != height or before + 2**height != place or before % 2 ** (height + 1):
                break
            self.parts.pop()
            place, height, value = before, height + 1, left + value
        self.parts.append((place, height, value))

    def total(self) -> Any:
        """Return the sum over all runs, which must begin at place 0; the record is empty afterwards."""
        value = self.parts.pop()[2]
        while self.parts:
            value = self.parts.pop()[2] + value
        return value


@dataclass(frozen=True, eq=False)
class _Whereabouts:
    """The place of a row, as errors about a chunk name it."""

    rule: PieceRule
    chunk: Chunk

    @property
    def subject(self) -> str:
        return self.rule.subject

    @property
    def feature_names(self) -> list[str] | None:
        return self.rule.names

    def locate(self, row: int) -> str:
        return f"row {row}, in chunk {self.chunk.number} of {self.rule.description}"


@dataclass(frozen=True, eq=False)
class ChunkReader:
    """Reads chunks as blocks.

    Parameters
    ----------
    rule : PieceRule
        What a chunk must be.
    block_rows : int
    labelling : Labelling or None
    finite : bool
        Whether all rows are known to be finite, so that they need no check.
    by_block : bool
        Whether the blocks of all chunks are those of one array of the same rows; sums then follow the tree over blocks.
        Else a chunk is summed by itself, and sums follow the tree over chunks.
    """

    rule: PieceRule
    block_rows: int
    labelling: Any = None
    finite: bool = False
    by_block: bool = True

    def read(self, chunk: Chunk, piece: Piece) -> Piece:
        """Check a chunk, and return its rows as floats, its targets and its weights."""
        piece = self.rule.read(chunk.number, *piece)
        n_rows = piece[0].shape[0]
        # Offsets of blocks come from the declared lengths, so a chunk of another length would shift all rows after it.
        if n_rows != chunk.n_rows:
            raise DataError(
                f"{self.rule.subject}: {self._name(chunk)} has {n_rows} rows, its collection says {chunk.n_rows}; "
                f"call compute_chunk_sizes() on the collection."
            )
        return piece

    def rows(self, chunk: Chunk, piece: Piece, begin: int, end: int) -> Block:
        """Return the rows `begin` to `end` of a chunk that was read, counted from its first row, as a block."""
        X, y, weight = (None if part is None else part[begin:end] for part in piece)
        block: Block = (SparseBlock if issparse(X) else DenseBlock)(X, chunk.start + begin, y, weight)
        block = block if self.finite else check_block(block, _Whereabouts(self.rule, chunk))
        return block if self.labelling is None else self.labelling.on(block)

    def runs(self, chunk: Chunk, piece: Piece, longest: int = 1) -> Iterator[tuple[int, int, Block]]:
        """Yield the blocks of a chunk in runs of 2**height blocks, at most `longest`: first place, height, rows.

        Places are block indices; where sums follow the tree over chunks, they are counted from the chunk's first block.
        A run begins at a multiple of its length, so that its sum is a node of the tree.
        """
        piece = self.read(chunk, piece)
        first = chunk.first_block if self.by_block else 0
        place, stop = first, first - (-chunk.n_rows // self.block_rows)
        while place < stop:
            # The lowest set bit of `place` is the longest run that may begin there; place 0 may begin any run.
            height = min(longest, stop - place, place & -place or longest).bit_length() - 1
            begin, end = ((number - first) * self.block_rows for number in (place, place + 2**height))
            yield place, height, self.rows(chunk, piece, begin, min(end, chunk.n_rows))
            place += 2**height

    def _name(self, chunk: Chunk) -> str:
        return f"chunk {chunk.number} of {self.rule.description}"

    @contextmanager
    def working(self, *chunks: Chunk) -> Iterator[None]:
        """Hold the BLAS to one thread while a task works, and say which chunks were too much for a worker."""
        try:
            with one_blas_thread():
                yield
        # A forecast names its own cure; only memory that really ran out is blamed on the chunks.
        except MemoryForecastError:
            raise
        except MemoryError as error:
            numbers = ", ".join(str(chunk.number) for chunk in chunks)
            raise DataError(
                f"{self.rule.subject}: {_worker_name()} ran out of memory at chunk {numbers} of "
                f"{self.rule.description} ({error}); use smaller chunks, or workers with more memory."
            ) from error


def _worker_name() -> str:
    """Return the address of the cluster's worker that this code runs on, for errors."""
    distributed = sys.modules.get("distributed")
    try:
        return f"worker {distributed.get_worker().address}" if distributed else "the process"
    except ValueError:
        return "the process"


def _plain(thing: Any) -> Any:
    """Copy what was sent: arrays that came over a network may be read-only, or not aligned to their type."""
    return copy.deepcopy(thing)


def sum_chunks(how: tuple[ChunkReader, Any], chunks: list[Chunk], *pieces: Piece) -> PlacedSums:
    """Sum a statistic over some chunks, in as few parts as the fixed order of summation allows.

    `how` is the reader of chunks and the statistic, in one argument so that they are sent at once.
    """
    reader, statistic = _plain(how)
    sums, unit = PlacedSums(), reader.block_rows
    # Compiled code sums a run of blocks in one call; sparse rows, and statistics without such code, are summed block by
    # block.
    in_runs = not reader.rule.is_sparse and hasattr(statistic, "on_run")
    longest = longest_run(reader.rule.n_features) if in_runs else 1
    with reader.working(*chunks):
        for chunk, piece in zip(chunks, pieces, strict=True):
            tree = SumTree()
            for place, height, block in reader.runs(chunk, piece, longest):
                value = statistic.on_run(block, unit) if in_runs else statistic.on(block)
                if reader.by_block:
                    sums.add(place, height, value)
                else:
                    tree.add(value, height)
            if not reader.by_block:
                sums.add(chunk.number, 0, tree.total())
    return sums


def join_sums(last: bool, *groups: PlacedSums) -> Any:
    """Join the sums of several tasks, given in any order, into as few parts as possible; `last` asks for the total."""
    sums = PlacedSums()
    with one_blas_thread():
        # A copy: adding may change its left operand in place, and the operands belong to the scheduler.
        parts = [part for group in groups for part in copy.deepcopy(group.parts)]
        for place, height, value in sorted(parts, key=lambda part: part[0]):
            sums.add(place, height, value)
        return sums.total() if last else sums


def map_chunk(how: tuple[ChunkReader, Callable[[Block], Any]], chunk: Chunk, X: Array) -> Any:
    """Return ``function(block)`` for the blocks of a chunk, joined."""
    reader, function = _plain(how)
    with reader.working(chunk):
        if chunk.n_rows == 0:
            # A chunk without rows must still give the type and the columns of the results.
            result = function(example(reader.rule))
            return tuple(part[:0] for part in result) if isinstance(result, tuple) else result[:0]
        parts = [function(block) for _, _, block in reader.runs(chunk, (X, None, None))]
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def example(rule: PieceRule) -> Block:
    """Return a block of one row of zeros, by which to find the type and shape of a function's result."""
    row = np.zeros((1, rule.n_features), rule.dtype)
    return SparseBlock(csr_array(row), 0) if rule.is_sparse else DenseBlock(row, 0)


def run_on_blocks(how: tuple[ChunkReader, dict[int, Callable[[Block], Any]]], chunk: Chunk, piece: Piece) -> Any:
    """Return ``work[number](block)`` for some blocks of a chunk; `how` is the reader and the work."""
    reader, work = _plain(how)
    results = {}
    with reader.working(chunk):
        piece = reader.read(chunk, piece)
        for number, function in work.items():
            # Blocks are numbered through the whole collection; the first of this chunk is first_block.
            begin = (number - chunk.first_block) * reader.block_rows
            results[number] = function(reader.rows(chunk, piece, begin, min(begin + reader.block_rows, chunk.n_rows)))
    return results


def join_results(*results: dict[int, Any]) -> dict[int, Any]:
    """Merge the results by block number of several tasks."""
    return {number: result for part in results for number, result in part.items()}


def cut_rows(reader: ChunkReader, chunk: Chunk, begin: int, end: int, piece: Piece) -> Piece:
    """Return some rows of a chunk, dense, with their targets and weights."""
    with reader.working(chunk):
        block = reader.rows(chunk, reader.read(chunk, piece), begin, end)
        return block.dense(), block.y, block.weight


def run_on_rows(function: Callable[[Block], Any], start: int, *pieces: Piece) -> Any:
    """Return ``function(block)`` for consecutive rows that may come from several chunks."""
    with one_blas_thread():
        columns = zip(*pieces, strict=True)
        X, y, weight = (None if part[0] is None else np.concatenate(part) for part in columns)
        return _plain(function)(DenseBlock(X, start, y, weight))


def lay_beside(X: Array, values: Array) -> Array:
    """Return `values`; as a task that also takes `X`, it runs on the worker that holds `X`."""
    return values


@dataclass(frozen=True, eq=False)
class BlockWeight:
    """The weight of a block."""

    def on(self, block: Block) -> float:
        return block.total_weight()


@dataclass(frozen=True, eq=False)
class BlockItself:
    """The rows, targets and weights of a block, in a form that can be pickled."""

    def __call__(self, block: Block) -> tuple[Array, int, Array, Array]:
        return block.X, block.start, block.y, block.weight


@dataclass(frozen=True, eq=False)
class BlockChecksum:
    """A checksum of the rows of a block."""

    def __call__(self, block: Block) -> int:
        return zlib.crc32(np.ascontiguousarray(block.dense()).data.cast("B"))
