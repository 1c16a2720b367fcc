"""Join pieces of rows of any length and cut them to blocks of one length, or read on from a position."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from mercer._source.block import Block, DenseBlock
from mercer._types import Array

Piece = tuple[Array, Array, Array]  # rows, targets or None, weights or None


def cut(pieces: Iterator[Piece], rows: int) -> Iterator[Piece]:
    """Join pieces of any length and cut them to `rows` rows each; a piece that spans several is cut without a copy."""
    held: list[Piece] = []
    count = 0
    for piece in pieces:
        n_rows, begin = piece[0].shape[0], 0
        # As many whole blocks as this piece completes.
        while count + n_rows - begin >= rows:
            end = begin + rows - count
            yield _join([*held, _part(piece, begin, end)])
            held, count, begin = [], 0, end
        if begin < n_rows:
            held.append(_part(piece, begin, n_rows))
            count += n_rows - begin
    if held:
        yield _join(held)


class Cursor:
    """Reads consecutive rows, dense, from where the last reading ended.

    Parameters
    ----------
    blocks : iterator of Block
        All rows from the first on; closed with the cursor.
    """

    def __init__(self, blocks: Any) -> None:
        self.blocks = blocks
        self.position = 0
        self.held: list[Piece] = []

    def available(self, count: int) -> int:
        """Return how many rows come next, at most `count`; they are held until they are read."""
        while (n_held := sum(len(piece[0]) for piece in self.held)) < count:
            block = next(self.blocks, None)
            if block is None:
                return n_held
            self.held.append((block.dense(), block.y, block.weight))
        return count

    def skip(self, count: int) -> None:
        """Pass over `count` rows, block by block."""
        while count > 0 and self.available(1):
            step = min(count, len(self.held[0][0]))
            self._take(step)
            count -= step

    def read(self, count: int) -> Block | None:
        """Read the next `count` rows, or those that are left; None if there are none."""
        start, count = self.position, self.available(count)
        if count == 0:
            return None
        X, y, weight = _join(self._take(count))
        return DenseBlock(X, start, y, weight)

    def close(self) -> None:
        """Read no more."""
        self.blocks.close()

    def _take(self, count: int) -> list[Piece]:
        """Remove `count` rows from those that are held, and return them in pieces."""
        self.position += count
        taken = []
        while count > 0:
            first = self.held.pop(0)
            n_rows = len(first[0])
            taken.append(_part(first, 0, count))
            # The rest of a piece stays at the front, so rows leave in the order in which they came.
            if count < n_rows:
                self.held.insert(0, _part(first, count, n_rows))
            count -= min(count, n_rows)
        return taken


def _part(piece: Piece, begin: int, end: int) -> Piece:
    """Return the rows `begin` to `end` of a piece, without a copy."""
    X, y, weight = piece
    return X[begin:end], None if y is None else y[begin:end], None if weight is None else weight[begin:end]


def _join(parts: list[Piece]) -> Piece:
    """Join pieces into one."""
    if len(parts) == 1:
        return parts[0]
    X, y, weight = zip(*parts, strict=True)
    rows = vstack(X, format="csr") if issparse(X[0]) else np.concatenate(X)
    return rows, None if y[0] is None else np.concatenate(y), None if weight[0] is None else np.concatenate(weight)
