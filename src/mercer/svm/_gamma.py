"""The gamma of a kernel by name, where it is left to the rows."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._source.placement import Placement, is_on_device

__all__ = ["gamma_of_rows"]

Array = Any


def gamma_of_rows(setting: str, rows: Array, weight: Array) -> float:
    """ "auto" is 1 / d, "scale" 1 / (d times the weighted variance of all values); rows may be on a device."""
    if setting == "auto":
        return 1.0 / rows.shape[1]
    variance = _variance(rows, weight / weight.sum())
    return 1.0 / (rows.shape[1] * variance) if variance > 0 else 1.0


def _variance(rows: Array, share: Array) -> float:
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
