"""Rows that come as blocks from an iterable, or from a function that returns a fresh iterator."""

import itertools
from collections.abc import Iterator
from typing import Any

from scipy.sparse import issparse

from mercer._source.block import rows_per_block, rows_per_sparse_block
from mercer._source.file.block_cutting import Piece
from mercer._source.file.piece_rule import PieceRule
from mercer._source.file.sequential import SequentialSource
from mercer.errors import DataError


class BlockStream(SequentialSource):
    """Blocks ``X``, ``(X, y)`` or ``(X, y, weight)`` of any length, from an iterable or a function without arguments.

    A list of blocks, an object whose ``__iter__`` starts afresh, and such a function can be read many times; a
    generator once.
    """

    def __init__(self, blocks: Any, *, subject: str, targets: str | None, threads: int) -> None:
        super().__init__()
        self.given = blocks
        self.subject = subject
        self.threads = threads
        self.description = f"the blocks of {_describe(blocks)}"
        self.rule = PieceRule(subject, self.description, targets)
        iterator = self._begin()
        self.restartable = callable(blocks) or iterator is not blocks
        first = next(iterator, None)
        if first is None:
            raise DataError(f"{subject}: {self.description} yielded nothing; got 0 sample(s), at least 1 is required.")
        # The first block was read to learn the columns; the first pass yields it again before the others.
        self._known |= {"iterator": iterator, "looked at": first}
        X = self.rule.read_block(0, first)[0]
        self.dtype, self.n_features = self.rule.dtype, self.rule.n_features
        self.target_shape, self.has_weight = self.rule.target_shape, self.rule.has_weight
        self.is_sparse = self.rule.is_sparse
        self.feature_names = self.rule.names
        self.block_rows = _rows_per_block(X)

    def _begin(self) -> Iterator[Any]:
        """Return a fresh iterator over the user's blocks."""
        blocks = self.given() if callable(self.given) else self.given
        try:
            return iter(blocks)
        except TypeError:
            raise DataError(
                f"{self.subject}: {self.description} must be iterable; got {type(blocks).__name__}. Return a fresh "
                f"iterator of blocks."
            ) from None

    def _begin_pass(self) -> Iterator[Any]:
        """Return an iterator over the blocks from the first on; raise if the user's iterator is used up."""
        # The block that was looked at when the source was opened comes first.
        known, first = self._known, self._known.pop("looked at", None)
        if first is not None:
            return itertools.chain([first], known["iterator"])
        before, known["iterator"] = known["iterator"], self._begin()
        if known["iterator"] is before:
            raise DataError(
                f"{self.subject}: {self.description} gave the same iterator twice, which the first pass has used up; "
                f"return a fresh iterator each time."
            )
        return known["iterator"]

    def pieces(self) -> Iterator[Piece]:
        blocks = self._begin_pass()
        try:
            for number, block in enumerate(blocks):
                yield self.rule.read_block(number, block)
        finally:
            # A generator's own clean-up runs now, on the thread that ran the generator, and not some time later.
            getattr(self._known["iterator"], "close", bool)()


def _rows_per_block(X: Any) -> int:
    """Return the number of rows of a block for rows like `X`."""
    return rows_per_sparse_block(X.shape[0], X.nnz, X.shape[1]) if issparse(X) else rows_per_block(X.shape[1])


def _describe(blocks: Any) -> str:
    """Describe what the blocks come from, for errors."""
    return f"{getattr(blocks, '__name__', 'a function')}()" if callable(blocks) else f"a {type(blocks).__name__}"
