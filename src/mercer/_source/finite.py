"""The check for NaN and infinity in blocks that are read for the first time, and its error."""

from typing import Any

import numpy as np

from mercer._source.block import Block
from mercer.errors import DataError


def check_block(block: Block, source: Any) -> Block:
    """Return `block` if all its values are finite; raise an error that names the row, the column and the file.

    A sum is finite unless a value is not (or the sum overflows): one read, while the block is in cache.
    """
    values = block.X.data if block.is_sparse else block.X
    with np.errstate(over="ignore", invalid="ignore"):
        # The sum may overflow although all values are finite: then they are looked at one by one.
        if np.isfinite(values.sum()) or np.isfinite(values).all():
            return block
    what = "NaN" if np.isnan(values).any() else f"infinity or a value too large for dtype({str(values.dtype)!r})"
    row, column = _first_bad(block)
    names = source.feature_names
    where = column if names is None else repr(names[column])
    raise DataError(
        f"{source.subject}: Input X contains {what}; it is in column {where}, {source.locate(block.start + row)}. "
        f"Drop or fill it."
    )


def _first_bad(block: Block) -> tuple[int, int]:
    """Return the row and the column of the first value that is not finite."""
    if block.is_sparse:
        entries = block.X.tocoo()
        worst = np.flatnonzero(~np.isfinite(entries.data))[0]
        return int(entries.row[worst]), int(entries.col[worst])
    row, column = np.argwhere(~np.isfinite(block.X))[0]
    return int(row), int(column)
