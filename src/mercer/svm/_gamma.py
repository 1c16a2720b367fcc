"""The values of gamma that depend on the rows: "scale" and "auto"."""

import numpy as np

from mercer._source.namespace import is_sparse_matrix
from mercer._source.placement import Placement, is_on_device
from mercer._types import Array, Rows

# Values of a block of rows whose variance is summed at once: 8 MB in float64, some milliseconds.
_VALUES = 2**20


def compute_gamma(setting: str, rows: Array, weight: Array) -> float:
    """Return 1 / d for "auto", and for "scale" 1 / (d v) with v the weighted variance of all values of `rows`.

    Rows may be dense, sparse or on a device. Where all values are equal, v is zero and "scale" gives one.
    """
    if setting == "auto":
        return 1.0 / rows.shape[1]
    variance = _compute_variance(rows, weight / weight.sum())
    return 1.0 / (rows.shape[1] * variance) if variance > 0 else 1.0


def _compute_variance(rows: Rows, share: Array) -> float:
    """Return the variance of all values, where row i weighs ``share[i]``; the shares sum to one."""
    if is_sparse_matrix(rows):
        # Sparse rows cannot be centred without becoming dense: E x^2 - (E x)^2.
        first = float(share @ np.asarray(rows.sum(axis=1)).ravel()) / rows.shape[1]
        second = float(share @ np.asarray(rows.multiply(rows).sum(axis=1)).ravel()) / rows.shape[1]
        return second - first**2
    if type(rows) is not np.ndarray and is_on_device(rows):
        placement = Placement.of(rows)
        xp, share = placement.xp, placement.put(share)
        wide = xp.astype(rows, placement.wide)
        centre = float(xp.sum(share * xp.mean(wide, axis=1)))
        return float(xp.sum(share * xp.mean((wide - centre) ** 2, axis=1)))
    # Ctrl-C is noticed between two blocks; each row's mean is its own, so that blocks change no bit.
    count = max(1, _VALUES // max(1, rows.shape[1]))
    blocks = [rows[first : first + count] for first in range(0, len(rows), count)]
    centre = float(share @ _average_rows(blocks))
    # Rows of 1e200 and the like have infinite squares; the caller refuses the gamma.
    with np.errstate(over="ignore"):
        squares = [np.square(block - centre, dtype=np.float64) for block in blocks]
        return float(share @ _average_rows(squares))


def _average_rows(blocks: list[Array]) -> Array:
    """Return the mean of each row, over all blocks; `mean` itself inspects its arguments for longer than it sums."""
    means = [np.add.reduce(block, axis=1, dtype=np.float64) / block.shape[1] for block in blocks]
    return means[0] if len(means) == 1 else np.concatenate(means)
