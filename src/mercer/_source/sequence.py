"""Sources that are read from front to back: blocks cut from whatever pieces come, read ahead by a thread of their own.

A pass over a file or an iterator gives pieces of any length. They are joined and cut to the fixed blocks that an array
of the same rows would have, so that sums have the same bits. A background thread makes the next few blocks while the
crew works on these; what is held is those few blocks, whatever the length of the whole.
"""

import queue
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from mercer._source.block import Block, DenseBlock, SparseBlock
from mercer._source.source import Source, SumTree
from mercer._source.threads import run_taken
from mercer.errors import DataError

__all__ = ["Piece", "ReadAhead", "SequentialSource"]

Array = Any
Piece = tuple[Array, Array, Array]  # rows, targets or None, weights or None

# Blocks made ahead of those being worked on.
_AHEAD = 4
# What may be kept of every row beside the rows themselves: 128 MiB, or 16 million numbers.
_MOST_TABLE_BYTES = 2**27


class ReadAhead:
    """Runs an iterator on a thread of its own, a few items ahead of whoever asks.

    It ends with the iterator, with its error, or with :meth:`close`, after which it yields nothing more.
    """

    def __init__(self, items: Iterator[Any], ahead: int = _AHEAD) -> None:
        self.items = items
        self.ready: queue.Queue[tuple[str, Any]] = queue.Queue(ahead)
        self.closed = threading.Event()
        self.thread = threading.Thread(target=self._read, name="mercer-read-ahead", daemon=True)
        self.thread.start()

    def __iter__(self) -> "ReadAhead":
        return self

    def __next__(self) -> Any:
        while not self.closed.is_set():
            try:
                kind, item = self.ready.get(timeout=0.05)
            except queue.Empty:
                continue
            if kind == "item":
                return item
            self.closed.set()
            if kind == "error":
                raise item
        raise StopIteration

    def close(self) -> None:
        """Stop reading; whoever waits for an item is told that there are no more."""
        self.closed.set()

    def _read(self) -> None:
        try:
            for item in self.items:
                if not self._put("item", item):
                    return
            self._put("end", None)
        except BaseException as error:
            self._put("error", error)
        finally:
            close = getattr(self.items, "close", None)
            if close is not None:
                close()

    def _put(self, kind: str, item: Any) -> bool:
        while not self.closed.is_set():
            try:
                self.ready.put((kind, item), timeout=0.05)
                return True
            except queue.Full:
                continue
        return False


class SequentialSource(Source):
    """Rows that come in pieces, front to back. Subclasses define :meth:`pieces`.

    Attributes
    ----------
    subject : str
        Who reads, for errors.
    restartable : bool
        Whether a second pass can be made.
    """

    place = "stream"
    random_access = False
    subject: str = "mercer"
    restartable: bool = True

    def __init__(self) -> None:
        # Shared by copies of this source, so that one pass tells all of them.
        self._known: dict[str, Any] = {"n_rows": None, "passes": 0, "finite": False}
        self._cursor: Any = None

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """A fresh pass: rows (dense C-ordered floats of the source's type, or CSR), targets and weights, checked."""

    @property
    def known_rows(self) -> int | None:
        return self._known["n_rows"]

    @property
    def n_rows(self) -> int:
        if self._known["n_rows"] is None:
            self.each(lambda block: None)
        return self._known["n_rows"]

    def blocks(self) -> Iterator[Block]:
        """A pass over the blocks, front to back."""
        if self._known["passes"] and not self.restartable:
            message = (
                f"{self.subject}: {self.description} can be read only once and a further pass is needed; give a list "
                f"of blocks, an object with __iter__, or a function without arguments that returns a fresh iterator."
            )
            raise DataError(message)
        self._known["passes"] += 1
        start = 0
        for X, y, weight in _cut(self.pieces(), self.block_rows):
            kind = SparseBlock if issparse(X) else DenseBlock
            yield self._finished(kind(X, start, y, weight))
            start += X.shape[0]
        self._count(start)

    def _count(self, n_rows: int) -> None:
        known = self._known["n_rows"]
        if n_rows == 0:
            message = f"{self.subject}: {self.description} has no rows; got 0 sample(s), at least 1 is required."
            raise DataError(message)
        if known is not None and known != n_rows:
            message = (
                f"{self.subject}: {self.description} changed while it was read: {known} rows before, {n_rows} now; "
                f"fit again when it is complete."
            )
            raise DataError(message)
        self._known["n_rows"] = n_rows

    def each(self, function: Callable[[Block], Any], receive: Callable[[Any], None] | None = None) -> None:
        if self._known["finite"]:
            run_taken(function, ReadAhead(self.blocks()), self.threads, receive)
            return
        run_taken(lambda block: function(self._checked(block)), ReadAhead(self.blocks()), self.threads, receive)
        self._known["finite"] = True

    def _checked(self, block: Block) -> Block:
        """The block, once it is known to hold finite numbers only: looked at in the first pass, while in cache."""
        values = block.X.data if block.is_sparse else block.X
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(values.sum()) or np.isfinite(values).all():
                return block
        what = "NaN" if np.isnan(values).any() else f"infinity or a value too large for dtype({str(values.dtype)!r})"
        message = (
            f"{self.subject}: Input X contains {what}; it is in rows {block.start} to {block.start + block.n - 1} of "
            f"{self.description}. Drop or fill it."
        )
        raise DataError(message)

    def reduce(self, statistic: Any) -> Any:
        statistic, tree = self.send(statistic), SumTree()
        self.each(statistic.on, tree.add)
        return self.fetch(tree.total())

    def row_table(self, fill: float, dtype: Any = np.float64) -> Array:
        if self.n_rows * np.dtype(dtype).itemsize > _MOST_TABLE_BYTES:
            return None
        return np.full(self.n_rows, fill, dtype=dtype)

    def block(self, number: int) -> Block:
        return self.on_blocks({number: lambda block: block})[number]

    def on_blocks(self, work: dict[int, Callable[[Block], Any]]) -> dict[int, Any]:
        done: dict[int, Any] = {}
        ahead = ReadAhead(self.blocks())
        try:
            for number, block in enumerate(ahead):
                if number in work:
                    done[number] = self.fetch(work[number](block))
                if len(done) == len(work):
                    return done
        finally:
            ahead.close()
        message = f"{self.subject}: {self.description} ended before block {max(work)}; it changed while it was read."
        raise DataError(message)

    def on_rows(self, start: int, stop: int, function: Callable[[Block], Any]) -> Any:
        if self._cursor is None or self._cursor.position != start:
            self._cursor = _Cursor(self)
            self._cursor.read(start, keep=False)
        return self.fetch(function(self._cursor.read(stop - start)))

    def whole(self) -> Array:
        parts: list[Any] = []
        self.each(lambda block: block.X, parts.append)
        return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)

    def fingerprint(self) -> dict[str, Any]:
        return {"shape": [self.n_features], "dtype": str(self.dtype), "data": self.description}


class _Cursor:
    """Reads consecutive rows, dense, from where the last reading ended."""

    def __init__(self, source: SequentialSource) -> None:
        self.source = source
        self.blocks = source.blocks()
        self.position = 0
        self.left: Piece | None = None

    def read(self, count: int, keep: bool = True) -> Block | None:
        """The next `count` rows; with ``keep=False`` they are passed over."""
        parts, start = [], self.position
        self.position += count
        while count > 0:
            if self.left is None or len(self.left[0]) == 0:
                block = self.source._checked(next(self.blocks))
                self.left = block.dense(), block.y, block.weight
            n_rows = len(self.left[0])
            part, self.left = _part(self.left, 0, count), _part(self.left, count, n_rows)
            count -= len(part[0])
            if keep:
                parts.append(part)
        if not parts:
            return None
        X, y, weight = _joined(parts)
        return DenseBlock(X, start, y, weight)


def _cut(pieces: Iterator[Piece], rows: int) -> Iterator[Piece]:
    """Pieces of any length, joined and cut to `rows` rows each; a piece that spans several is cut without a copy."""
    held: list[Piece] = []
    count = 0
    for piece in pieces:
        n_rows, begin = piece[0].shape[0], 0
        while count + n_rows - begin >= rows:
            end = begin + rows - count
            yield _joined([*held, _part(piece, begin, end)])
            held, count, begin = [], 0, end
        if begin < n_rows:
            held.append(_part(piece, begin, n_rows))
            count += n_rows - begin
    if held:
        yield _joined(held)


def _part(piece: Piece, begin: int, end: int) -> Piece:
    X, y, weight = piece
    return X[begin:end], None if y is None else y[begin:end], None if weight is None else weight[begin:end]


def _joined(parts: list[Piece]) -> Piece:
    if len(parts) == 1:
        return parts[0]
    X, y, weight = zip(*parts, strict=True)
    rows = vstack(X, format="csr") if issparse(X[0]) else np.concatenate(X)
    return rows, None if y[0] is None else np.concatenate(y), None if weight[0] is None else np.concatenate(weight)
