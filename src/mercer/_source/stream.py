"""Rows that come as blocks from an iterable, or from a function that returns a fresh iterator."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._source.block import rows_per_block, rows_per_sparse_block
from mercer._source.piece import PieceRule
from mercer._source.sequence import Piece, SequentialSource
from mercer.errors import DataError

__all__ = ["BlockStream"]

Array = Any


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
        self.description = f"the blocks of {_named(blocks)}"
        self.rule = PieceRule(subject, self.description, targets)
        first = self._begin()
        self.restartable = callable(blocks) or first is not blocks
        # A generator cannot be wound back, so the block looked at is put in front of the others again.
        block = next(first, None)
        if block is None:
            message = f"{subject}: {self.description} yielded nothing; got 0 sample(s), at least 1 is required."
            raise DataError(message)
        self.first = None if self.restartable else itertools.chain([block], first)
        X, *others = _parts(block)
        X = self.rule.read(0, X, *others)[0]
        self.dtype, self.n_features = self.rule.dtype, self.rule.n_features
        self.target_shape, self.has_weight = self.rule.target_shape, self.rule.has_weight
        self.is_sparse = issparse(X)
        self.feature_names = _column_names(_parts(block)[0])
        self.block_rows = rows_per_sparse_block(*_size(X)) if self.is_sparse else rows_per_block(self.n_features)

    def _begin(self) -> Iterator[Any]:
        blocks = self.given() if callable(self.given) else self.given
        try:
            return iter(blocks)
        except TypeError:
            message = (
                f"{self.subject}: {self.description} must be iterable; got {type(blocks).__name__}. Return a fresh "
                f"iterator of blocks."
            )
            raise DataError(message) from None

    def pieces(self) -> Iterator[Piece]:
        blocks = self._begin() if self.restartable else self.first
        for number, block in enumerate(blocks):
            yield self.rule.read(number, *_parts(block))


def _parts(block: Any) -> tuple[Any, ...]:
    return block if isinstance(block, tuple) else (block,)


def _named(blocks: Any) -> str:
    return f"{getattr(blocks, '__name__', 'a function')}()" if callable(blocks) else f"a {type(blocks).__name__}"


def _size(X: Any) -> tuple[int, int]:
    return X.shape[0], X.nnz


def _column_names(X: Any) -> list[str] | None:
    """The names of a frame's columns, where all are text, as in scikit-learn."""
    names = getattr(X, "columns", None)
    if names is None or isinstance(X, np.ndarray):
        return None
    names = [getattr(name, "as_py", lambda name=name: name)() for name in names]
    return names if all(isinstance(name, str) for name in names) else None
