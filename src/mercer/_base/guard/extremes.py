"""Notice values whose squares overflow or vanish, at the price of the look for NaN that every input passes anyway.

The sum of squares of an input is NaN or infinite if a value is, overflows if squares do, and is zero if all squares
underflow. Ordinary inputs pay for that sum alone. For others the thread notes that its input is extreme: then the
results of the fit or of the prediction are checked too.
"""

import threading
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._native.sums import squares
from mercer._source.threads import run_numbered

# For each floating type the sums of squares that leave room for products of two of them, or for a division.
_ORDINARY = {"d": (1e-140, 1e140), "f": (1e-18, 1e18)}
# The same bounds as sizes of single values, for messages: one value beyond them makes its input extreme.
_LARGE = {"d": 1e70, "f": 1e9}
_SMALL = {"d": 1e-70, "f": 1e-9}
# Values that a thread looks at in one call: some hundred microseconds, above the time to wake it.
_RUN = 2**18


class _Noted(threading.local):
    """What the checks of this thread's current fit or prediction have noticed."""

    extreme = False


NOTED = _Noted()


def are_ordinary(values: np.ndarray, threads: int = 1) -> bool:
    """Return whether all values are finite and their squares neither overflow nor vanish; some microseconds."""
    low, high = _ORDINARY.get(values.dtype.char, (1.0, 0.0))
    if low > high or not values.dtype.isnative:
        return False
    # In the order of memory: a matrix in Fortran order is not copied.
    flat = values.ravel(order="K")
    if threads == 1 or len(flat) <= _RUN:
        return low < squares.sum_squares(flat) < high
    sums: list[float] = []
    runs = range(0, len(flat), _RUN)
    run_numbered(
        lambda number: squares.sum_squares(flat[runs[number] : runs[number] + _RUN]), len(runs), threads, sums.append
    )
    return low < sum(sums) < high


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
