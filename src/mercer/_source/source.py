"""A source: where rows live, and the four verbs by which algorithms reach them.

``reduce`` sums a statistic over all blocks, ``map`` gives a value per row, ``take`` gives rows by index, and ``tiles``
meets block with block. Blocks are fixed (see :func:`mercer._source.block.rows_per_block`), and sums follow a fixed
binary tree over the block numbers, so that a sum has the same bits on any number of threads and in any place.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._source.block import Block
from mercer._source.threads import run_numbered

__all__ = ["Source", "SumTree"]

Array = Any


class SumTree:
    """Adds numbered summands, given in order, along a binary tree fixed by their count."""

    def __init__(self) -> None:
        self.stack: list[tuple[int, Any]] = []

    def add(self, value: Any) -> None:
        """Take the next summand; two subtrees of one height merge at once, so at most log2(n) sums are held."""
        height = 0
        while self.stack and self.stack[-1][0] == height:
            value = self.stack.pop()[1] + value
            height += 1
        self.stack.append((height, value))

    def total(self) -> Any:
        """The sum of all summands; ends the tree."""
        value = self.stack.pop()[1]
        while self.stack:
            value = self.stack.pop()[1] + value
        return value


class Source(ABC):
    """Rows with optional targets and weights, in fixed blocks.

    Attributes
    ----------
    n_rows, n_features : int
    dtype : dtype
        Of the rows: float32 or float64.
    xp : module
        The array-API namespace of blocks.
    block_rows : int
        Rows per block; the last block may be shorter.
    threads : int
        How many threads the verbs may use. Never changes a result.
    """

    n_rows: int
    n_features: int
    dtype: Any
    xp: Any = np
    block_rows: int
    threads: int = 1
    y: Array = None
    weight: Array = None

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_rows // self.block_rows)

    @abstractmethod
    def block(self, number: int) -> Block:
        """The rows of block `number`, with their targets and weights."""

    @abstractmethod
    def take(self, indices: Array) -> Array:
        """Rows by index, as a dense array."""

    @abstractmethod
    def whole(self) -> Array:
        """All rows at once, as they are stored; ask the memory forecast before making anything of their size."""

    def bounds(self, number: int) -> tuple[int, int]:
        """First row of block `number` and the row after its last."""
        start = number * self.block_rows
        return start, min(start + self.block_rows, self.n_rows)

    def total_weight(self) -> float:
        """Sum of the weights; the number of rows when there are none."""
        return float(self.n_rows) if self.weight is None else float(self.xp.sum(self.weight))

    def reduce(self, statistic: Any) -> Any:
        """The sum of `statistic` over all blocks."""
        tree, size = SumTree(), _blocks_per_item(self.n_blocks, self.n_features)

        def partial_sum(number: int) -> Any:
            """The sum over `size` blocks: a subtree of the whole, added up where it was made."""
            subtree = SumTree()
            for block in range(number * size, min((number + 1) * size, self.n_blocks)):
                subtree.add(statistic.on(self.block(block)))
            return subtree.total()

        run_numbered(partial_sum, -(-self.n_blocks // size), self.threads, tree.add)
        return tree.total()

    def map(self, function: Callable[[Block], Array], out: Array = None) -> Array:
        """One value (or row of values) per row: ``function(block)`` for each block, joined.

        `function` may also return a tuple of arrays; then a tuple of joined arrays comes back.
        """
        parts: list[Any] = []
        if out is not None:

            def fill(number: int) -> None:
                start, stop = self.bounds(number)
                out[start:stop] = function(self.block(number))

            run_numbered(fill, self.n_blocks, self.threads)
            return out
        run_numbered(lambda number: function(self.block(number)), self.n_blocks, self.threads, parts.append)
        if isinstance(parts[0], tuple):
            return tuple(self.xp.concat(column) for column in zip(*parts, strict=True))
        return parts[0] if len(parts) == 1 else self.xp.concat(parts)

    def tiles(self, function: Callable[[Block, Block], Array], out: Array) -> Array:
        """Fill the symmetric matrix `out` with ``function(block_i, block_j)`` for each pair of blocks."""
        pairs = [(i, j) for j in range(self.n_blocks) for i in range(j + 1)]

        def fill(number: int) -> None:
            i, j = pairs[number]
            rows, columns = slice(*self.bounds(i)), slice(*self.bounds(j))
            out[rows, columns] = function(self.block(i), self.block(j))
            if i != j:
                out[columns, rows] = out[rows, columns].T

        run_numbered(fill, len(pairs), self.threads)
        return out


def _blocks_per_item(n_blocks: int, n_features: int) -> int:
    """How many blocks one thread sums by itself before it hands on: a power of two, so that the tree stays the same.

    Handing on is done by one thread at a time, and adding up moments of 200 columns is a twelfth of the work. Narrow
    blocks take about a millisecond each, so eight of them still leave room for Ctrl-C; wide ones take longer.
    """
    return 8 if n_blocks >= 64 and n_features <= 256 else 1
