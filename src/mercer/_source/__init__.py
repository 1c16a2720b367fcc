"""Sources: where rows live. See :mod:`mercer._source.source` for the four verbs."""

from typing import Any

from scipy.sparse import issparse

from mercer._source.array import ArraySource
from mercer._source.block import Block
from mercer._source.source import Source
from mercer._source.sparse import SparseSource

__all__ = ["ArraySource", "Block", "Source", "SparseSource", "open_source"]


def open_source(X: Any, y: Any = None, weight: Any = None, threads: int = 1) -> Source:
    """Open checked rows (dense C-ordered floats, or CSR) as a source."""
    if issparse(X):
        return SparseSource(X, y, weight, threads)
    return ArraySource(X, y, weight, threads)
