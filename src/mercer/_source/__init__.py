"""Sources: where rows live. Verbs are in :mod:`mercer._source.source`, places in :mod:`mercer._source.opening`."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._source.array import ArraySource, SparseSource
from mercer._source.block import Block, Labelling
from mercer._source.opening import PLACES, open_place, place_of
from mercer._source.source import Source

__all__ = [
    "PLACES",
    "ArraySource",
    "Block",
    "Labelling",
    "Source",
    "SparseSource",
    "open_place",
    "open_source",
    "place_of",
]


def open_source(X: Any, y: Any = None, weight: Any = None, threads: int = 1) -> Source:
    """Open checked rows in memory (dense C-ordered floats, or CSR) as a source."""
    if type(X) is not np.ndarray and issparse(X):
        return SparseSource(X, y, weight, threads)
    return ArraySource(X, y, weight, threads)
