"""Notice values whose squares overflow or vanish, at the price of the look for NaN that every input passes anyway.

One product ``x @ x`` per input is NaN or infinite if a value is, overflows if squares do, and is zero if all squares
underflow. Ordinary inputs pay for that product alone. For others the thread notes that its input is extreme: then the
results of the fit or of the prediction are checked too.
"""

import threading
from typing import Any

import numpy as np
from scipy.sparse import issparse

__all__ = ["NOTED", "are_ordinary", "describe_extremes", "note_extreme"]

# For each floating type the sums of squares that leave room for products of two of them, or for a division.
_ORDINARY = {"d": (1e-140, 1e140), "f": (1e-18, 1e18)}
# The same bounds as sizes of single values, for messages: one value beyond them makes its input extreme.
_LARGE = {"d": 1e70, "f": 1e9}
_SMALL = {"d": 1e-70, "f": 1e-9}
# Values in one product. OpenBLAS takes threads for products of more than 10 000 values, and these stay awake for
# milliseconds afterwards: longer than all else in a fit of 1000 rows.
_CHUNK = 8192


class _Noted(threading.local):
    """What the checks of this thread's current fit or prediction have noticed."""

    extreme = False


NOTED = _Noted()


def are_ordinary(values: np.ndarray) -> bool:
    """Return whether all values are finite and their squares neither overflow nor vanish; some microseconds."""
    low, high = _ORDINARY.get(values.dtype.char, (1.0, 0.0))
    # vdot, unlike dot and sum, gives no warning where it overflows.
    if values.size <= _CHUNK:
        return low < np.vdot(values, values) < high
    flat, total = values.ravel(), 0.0
    for start in range(0, len(flat), _CHUNK):
        part = flat[start : start + _CHUNK]
        total += float(np.vdot(part, part))
    return low < total < high


def note_extreme(values: Any) -> None:
    """Record that this thread has met an extreme input, unless it is all zeros."""
    if values.any():
        NOTED.extreme = True


def describe_extremes(**inputs: Any) -> list[str]:
    """Return a phrase about each input that has very large or very small values: its name, and the values."""
    phrases = []
    for name, given in inputs.items():
        values = _read_sizes(given)
        if values is None or not values.size:
            continue
        kind = values.dtype.char
        largest, smallest = values.max(), values.min()
        # Within the limits a fourth power is at most 1e280 in float64 and 1e36 in float32: neither overflows.
        if largest > _LARGE[kind]:
            phrases.append(f"{name} holds values as large as {largest:.3g}")
        elif largest < _SMALL[kind]:
            phrases.append(f"{name} holds no value larger than {largest:.3g}")
        elif smallest < _SMALL[kind]:
            phrases.append(f"{name} holds values as small as {smallest:.3g} beside others as large as {largest:.3g}")
    return phrases


def _read_sizes(given: Any) -> np.ndarray | None:
    """Return the sizes of all values that are not zero, as float32 or float64; None if they are no finite numbers."""
    try:
        values = np.asarray(given.tocoo().data if issparse(given) else given)
        if values.dtype != np.float32:
            values = values.astype(np.float64)
    except (TypeError, ValueError):
        return None
    # Zeros say nothing about the scale of an input, so they do not count as small values.
    sizes = np.abs(values[values != 0])
    return sizes if np.isfinite(sizes).all() else None
