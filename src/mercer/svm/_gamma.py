"""The values of gamma that depend on the rows: "scale" and "auto"."""

import numpy as np
from scipy.sparse import issparse

from mercer._source.placement import Placement, is_on_device
from mercer._types import Array, Rows

__all__ = ["compute_gamma"]


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
    if issparse(rows):
        first = float(share @ np.asarray(rows.sum(axis=1)).ravel()) / rows.shape[1]
        second = float(share @ np.asarray(rows.multiply(rows).sum(axis=1)).ravel()) / rows.shape[1]
        return second - first**2
    if is_on_device(rows):
        placement = Placement.of(rows)
        xp, share = placement.xp, placement.put(share)
        wide = xp.astype(rows, placement.wide)
        centre = float(xp.sum(share * xp.mean(wide, axis=1)))
        return float(xp.sum(share * xp.mean((wide - centre) ** 2, axis=1)))
    centre = float(share @ rows.mean(axis=1, dtype=np.float64))
    with np.errstate(over="ignore"):
        return float(share @ np.square(rows - centre, dtype=np.float64).mean(axis=1))
