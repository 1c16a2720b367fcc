"""Transformers of columns: what they learn are sums over the rows, and they map rows block by block, in any place."""

from mercer._base.blockwise.column_map import BlockMap, ColumnMap
from mercer._base.blockwise.transformer import (
    BlockTransformer,
    ReversibleTransformer,
    StatelessTransformer,
    refuse_infinite,
)

__all__ = [
    "BlockMap",
    "BlockTransformer",
    "ColumnMap",
    "ReversibleTransformer",
    "StatelessTransformer",
    "refuse_infinite",
]
