"""A source of rows in a .npy file, which can be read in any order; only the blocks being worked on are in memory.

Each thread reads the block it is going to work on, so that while one waits for the disk another computes. The system is
asked to read the next blocks ahead.
"""

import copy
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._source.array import ArraySource
from mercer._source.block import Block, DenseBlock, check_block, rows_per_block
from mercer._source.file.npy_file import NpyFile
from mercer._source.file.piece_rule import PieceRule
from mercer._source.file.row_values import open_row_values
from mercer._source.memory import require_memory, small_table
from mercer._source.source import Source, SumTree
from mercer._types import Array
from mercer.errors import DataError

# Bytes after the block being read that the system is asked to read: the work of several threads on eight blocks each.
_AHEAD_BYTES = 32 * 2**20
# The most bytes of blocks that one thread reads and sums at once, so that they stay in its cache.
_RUN_BYTES = 2 * 2**20
# Bytes per second that no disk reaches and every page cache does.
_DISK_SPEED = 1.5e9


class NpySource(Source):
    """Rows of a two-dimensional array in a .npy file; targets and weights as arrays or from .npy files of their own."""

    place = "file"
    n_rows = 0

    def __init__(
        self,
        path: Any,
        y: Any = None,
        weight: Any = None,
        *,
        subject: str,
        targets: str | None = None,
        threads: int = 1,
    ) -> None:
        self.subject = subject
        self.threads = threads
        self.file = NpyFile(path, subject)
        self.description = f"the file {self.file.name}"
        self._check_shape()
        self.n_rows, self.n_features = self.file.shape
        self.targets = None if targets is None else open_row_values(y, "y", subject)
        self.weights = open_row_values(weight, "sample_weight", subject)
        for beside in (self.targets, self.weights):
            if beside is not None:
                beside.check_length(self.n_rows, self.description)
        self.rule = PieceRule(subject, self.description, targets)
        self.rule.read(0, np.empty((0, self.n_features), self.file.dtype), *self._beside(0, 0, ""))
        self.dtype, self.target_shape = self.rule.dtype, self.rule.target_shape
        self.has_weight = self.rule.has_weight
        self.block_rows = rows_per_block(self.n_features)
        # Which blocks were checked. Copies share it, also on other threads: at worst a block is checked twice.
        self._seen = bytearray(self.n_blocks)
        self._asked: int | None = None
        self._reads_rows = True
        if self.has_weight:
            self._check_weights()

    def _check_shape(self) -> None:
        shape, subject = self.file.shape, self.subject
        if len(shape) != 2:
            raise DataError(
                f"{subject}: Expected 2D array, got {len(shape)}D array instead: {self.description} has shape {shape}. "
                f"Reshape it to one row per sample."
            )
        if shape[0] == 0:
            raise DataError(f"{subject}: {self.description} has no rows; got 0 sample(s), at least 1 is required.")

    def _check_weights(self) -> None:
        if self.total_weight() == 0:
            raise DataError(
                f"{self.subject}: sample_weight must have a positive entry; got zeros only. Raise the weight of some "
                f"rows."
            )

    def _beside(self, start: int, stop: int, where: str) -> tuple[Array, Array]:
        """Read the targets and weights of some consecutive rows."""
        y = None if self.targets is None else self.targets.read(start, stop, where)
        return y, None if self.weights is None else self.weights.read(start, stop, where)

    def _rows(self, start: int, stop: int, number: int, seen: bool = False) -> Block:
        """Read rows with their targets and weights; check them unless they were seen before."""
        where = f"block {number} (rows {start} to {stop - 1})"
        beside = self._beside(start, stop, where)
        if not self._reads_rows:
            return DenseBlock(np.empty((stop - start, 0)), start, *self.rule.read_beside(number, stop - start, *beside))
        X = self.file.read(start, stop, where)
        if seen:
            # A second check would take a tenth of a pass of logistic regression over 64 columns.
            return DenseBlock(X.astype(self.dtype, copy=False), start, *self.rule.read_again(*beside))
        X, y, weight = self.rule.read(number, X, *beside)
        return check_block(DenseBlock(X, start, y, weight), self)

    def block(self, number: int) -> Block:
        return self._run_of(number, number + 1)

    @property
    def _block_bytes(self) -> int:
        return self.block_rows * self.file.row_bytes

    def _run_of(self, first: int, stop: int) -> Block:
        """Read the consecutive blocks `first` to `stop` as one."""
        began = time.perf_counter()
        start, end = first * self.block_rows, self.bounds(stop - 1)[1]
        block = self._rows(start, end, first, all(self._seen[first:stop]))
        if self._reads_rows:
            self._seen[first:stop] = b"\1" * (stop - first)
            slow = (time.perf_counter() - began) * _DISK_SPEED > block.n * self.file.row_bytes
            self._ask_ahead(first, stop, slow)
        return self._relabel_block(block)

    def _sum_run(self, statistic: Any, first: int, stop: int) -> Any:
        tree, length = SumTree(), 2 ** (max(1, _RUN_BYTES // self._block_bytes).bit_length() - 1)
        for number in range(first, stop, length):
            # No variable holds the run, so the next one is read into the same memory, which is still in the cache.
            tree.add(statistic.on_run(self._run_of(number, min(number + length, stop)), self.block_rows))
        return tree.total()

    def assume_finite(self) -> None:
        if not self.rule.targets:
            self._seen = bytearray(b"\1" * self.n_blocks)

    def check_finite(self) -> None:
        self._seen = bytearray(self.n_blocks)
        self.each(_all_columns, _forgotten)

    def _ask_ahead(self, first: int, stop: int, slow: bool) -> None:
        """Ask the system to read the next blocks ahead, from the first slow one on, which it had not cached."""
        if first == 0 or self._asked is None:
            self._asked = stop if slow else None
        if self._asked is not None:
            ahead = min(stop + max(1, _AHEAD_BYTES // self._block_bytes), self.n_blocks)
            begin, self._asked = max(self._asked, stop), max(self._asked, ahead)
            # One request for each block: the system cuts longer ones short.
            for number in range(begin, ahead):
                self.file.will_need(*self.bounds(number))

    def on_rows(self, start: int, stop: int, function: Callable[[Block], Any]) -> Any:
        return function(self._relabel_block(self._rows(start, stop, start // self.block_rows)))

    def reduce(self, statistic: Any) -> Any:
        return Source.reduce(self if getattr(statistic, "reads_rows", True) else self._without_rows(), statistic)

    def total_weight(self) -> float:
        return Source.total_weight(self._without_rows())

    def row_weights(self) -> Array:
        if not self.has_weight:
            return None
        require_memory(self.subject, 8 * self.n_rows, "the weights of all rows", "give none")
        return self._without_rows().map(_weight)

    def _without_rows(self) -> "NpySource":
        """Return a copy with targets and weights only: its blocks have no columns, and no rows are read."""
        other = copy.copy(self)
        other._reads_rows = False
        return other

    def row_table(self, fill: float, dtype: Any = np.float64) -> Array:
        return small_table(self.n_rows, fill, dtype)

    def take(self, indices: Array) -> Array:
        return self.part(indices).whole()

    def part(self, rows: Array) -> ArraySource:
        X = np.ascontiguousarray(self.file.gather(np.asarray(rows)), self.dtype)
        # Errors name the drawn rows by their indices in the file.
        check_block(DenseBlock(X, 0), _Drawn(self, rows))
        return ArraySource(X, threads=self.threads)

    def whole(self) -> Array:
        n_bytes = self.n_rows * self.n_features * np.dtype(self.dtype).itemsize
        require_memory(
            self.subject, n_bytes, f"the rows of {self.description}", "use a method that reads them block by block"
        )
        return self.map(_all_columns)

    def fingerprint(self) -> dict[str, Any]:
        return {
            "shape": [self.n_rows, self.n_features],
            "dtype": str(self.file.dtype),
            # Name, size and time of change tell files apart without reading them.
            "data": [os.path.basename(self.file.path), self.file.size, self.file.changed],
        }


class _Drawn:
    """Some rows of a file, for errors, which name them by their indices in the file."""

    def __init__(self, source: NpySource, rows: Array) -> None:
        self.source = source
        self.rows = rows
        self.subject = source.subject
        self.feature_names = None

    def locate(self, row: int) -> str:
        return self.source.locate(int(self.rows[row]))


def _weight(block: Block) -> Array:
    """Return the weights of a block."""
    return block.weight


def _forgotten(rows: Array) -> None:
    """Drop the rows: they were read only to be checked."""


def _all_columns(block: Block) -> Array:
    """Return the rows of a block."""
    return block.X
