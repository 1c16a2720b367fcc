"""Sources that are read from front to back: blocks cut from pieces of any length, read ahead by a thread.

A pass over a file or an iterator gives pieces of any length. They are joined and cut to the fixed blocks that an array
of the same rows would have, so that sums have the same bits. A background thread makes the next few blocks while the
worker threads use the current ones; only those few blocks are held, whatever the number of rows.
"""

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from mercer._source.block import Block, DenseBlock, SparseBlock, check_block
from mercer._source.file.block_cutting import Cursor, Piece, cut
from mercer._source.file.piece_rule import PieceRule
from mercer._source.file.read_ahead import ReadAhead
from mercer._source.memory import require_memory, small_table
from mercer._source.source import Source, SumTree
from mercer._source.threads import run_taken
from mercer._types import Array
from mercer.errors import DataError


class SequentialSource(Source):
    """Rows that come in pieces, front to back. Subclasses define :meth:`pieces`.

    Attributes
    ----------
    subject : str
        Who reads, for errors.
    rule : PieceRule
        What the pieces are checked by.
    restartable : bool
        Whether a second pass can be made.
    reads_in_turn : bool
        Whether the thread that asks for blocks reads them too.
    """

    place = "stream"
    random_access = False
    subject: str = "mercer"
    rule: PieceRule
    restartable: bool = True
    # Whether rows come from what one thread alone may use, such as the connection to a database.
    reads_in_turn: bool = False

    def __init__(self) -> None:
        # Shared by copies of this source, so that all of them know what one pass has found.
        self._known: dict[str, Any] = {"n_rows": None, "weight": None, "passes": 0, "finite": False}
        self._cursor: Cursor | None = None

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Begin a new pass: yield checked rows (C-ordered floats of the source's type, or CSR), targets and weights."""

    @property
    def known_rows(self) -> int | None:
        return self._known["n_rows"]

    @property
    def n_rows(self) -> int:
        if self._known["n_rows"] is None:
            self.each(_nothing)
        return self._known["n_rows"]

    def blocks(self) -> Generator[Block]:
        """Yield the blocks of one pass, front to back."""
        if self._known["passes"] and not self.restartable:
            raise DataError(
                f"{self.subject}: {self.description} can be read only once and a further pass is needed; give a list "
                f"of blocks, an object with __iter__, or a function without arguments that returns a fresh iterator."
            )
        # Every pass is counted: an iterator may allow one only.
        self._known["passes"] += 1
        start, weights = 0, SumTree()
        pieces = self.pieces()
        try:
            for X, y, weight in cut(pieces, self.block_rows):
                kind = SparseBlock if issparse(X) else DenseBlock
                block = kind(X, start, y, weight)
                start += X.shape[0]
                if weight is not None:
                    weights.add(block.total_weight())
                yield self._relabel_block(block)
        finally:
            getattr(pieces, "close", bool)()
        self._count(start, weights)

    def _count(self, n_rows: int, weights: SumTree) -> None:
        """Remember the number of rows and their weight after a whole pass; raise if they changed or are zero."""
        known = self._known["n_rows"]
        if n_rows == 0 and not known:
            raise DataError(f"{self.subject}: {self.description} has no rows; got 0 sample(s), at least 1 is required.")
        # Solvers compare sums of several passes, which must be sums over the same rows.
        if known is not None and known != n_rows:
            raise DataError(
                f"{self.subject}: {self.description} changed while it was read: {known} rows before, {n_rows} now; "
                f"every pass must give the same rows."
            )
        self._known["n_rows"] = n_rows
        if self.rule.has_weight and self._known["weight"] is None:
            self._known["weight"] = float(weights.total())
            if self._known["weight"] == 0:
                raise DataError(
                    f"{self.subject}: sample_weight must have a positive entry; got zeros only in {self.description}. "
                    f"Raise the weight of some rows."
                )

    def _ahead(self, blocks: Generator[Block]) -> Any:
        """Return the blocks as a thread of their own reads them, or as this thread does where it must."""
        return blocks if self.reads_in_turn else ReadAhead(blocks)

    def _check_blocks(self) -> Generator[Block]:
        """Yield the blocks of one pass, after a check for NaN and infinity where that is still needed."""
        blocks = self.blocks()
        try:
            for block in blocks:
                yield block if self._known["finite"] else check_block(block, self)
        finally:
            blocks.close()

    def allow_missing(self) -> None:
        self._known["finite"] = True

    def each(self, function: Callable[[Block], Any], receive: Callable[[Any], None] | None = None) -> None:
        if self._known["finite"]:
            run_taken(function, self._ahead(self.blocks()), self.threads, receive)
            return
        # The thread that works on a block checks it, while the block is in that thread's cache.
        run_taken(lambda block: function(check_block(block, self)), self._ahead(self.blocks()), self.threads, receive)
        self._known["finite"] = True

    def reduce(self, statistic: Any) -> Any:
        statistic, tree = self.send(statistic), SumTree()
        self.each(statistic.on, tree.add)
        return self.fetch(tree.total())

    def total_weight(self) -> float:
        known = self._known["weight"]
        # The known weight is that of the weights as stored; a labelling may multiply them by class weights.
        return super().total_weight() if known is None or self.labelling is not None else known

    def row_table(self, fill: float, dtype: Any = np.float64) -> Array:
        return small_table(self.n_rows, fill, dtype)

    def block(self, number: int) -> Block:
        return self.on_blocks({number: _itself})[number]

    def on_blocks(self, work: dict[int, Callable[[Block], Any]]) -> dict[int, Any]:
        done: dict[int, Any] = {}
        ahead = self._ahead(self.blocks())
        try:
            for number, block in enumerate(ahead):
                if number in work:
                    known = block if self._known["finite"] else check_block(block, self)
                    done[number] = self.fetch(work[number](known))
                # The rest of the rows need not be read.
                if len(done) == len(work):
                    return done
        finally:
            ahead.close()
        raise DataError(
            f"{self.subject}: {self.description} ended before block {max(work)}; it changed while it was read."
        )

    def on_rows(self, start: int, stop: int, function: Callable[[Block], Any]) -> Any:
        block = self._cursor_at(start).read(stop - start)
        if block is None or block.n < stop - start:
            raise DataError(
                f"{self.subject}: {self.description} ended before row {stop}; it changed while it was read."
            )
        return self.fetch(function(block))

    def available(self, start: int, count: int) -> int:
        return self._cursor_at(start).available(count)

    def _cursor_at(self, start: int) -> Cursor:
        """Return the cursor if `start` is its next row, else a new one that has skipped the rows before `start`."""
        if self._cursor is None or self._cursor.position != start:
            self.release()
            self._cursor = Cursor(self._ahead(self._check_blocks()))
            self._cursor.skip(start)
        return self._cursor

    def release(self) -> None:
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None

    def whole(self) -> Array:
        if self.known_rows is not None and not self.is_sparse:
            # Parts and their joined copy are in memory together, hence twice the size.
            n_bytes = 2 * self.known_rows * self.n_features * self.host_dtype.itemsize
            what = f"joining the rows of {self.description}"
            require_memory(self.subject, n_bytes, what, "use a method that reads them block by block")
        parts: list[Any] = []
        self.each(_rows, parts.append)
        return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)

    def fingerprint(self) -> dict[str, Any]:
        return {"shape": [self.n_features], "dtype": str(self.dtype), "data": self.description}


def _nothing(block: Block) -> None:
    """Do nothing: only the number of rows is wanted."""


def _itself(block: Block) -> Block:
    """Return the block."""
    return block


def _rows(block: Block) -> Array:
    """Return the rows of a block."""
    return block.X
