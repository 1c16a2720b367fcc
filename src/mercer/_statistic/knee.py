"""The knee of a rising curve."""

import numpy as np


def find_knee(curve: np.ndarray) -> float:
    """Return the value of a rising curve where it is farthest below the straight line between its ends.

    Both axes are scaled to [0, 1] first, so that the units of the curve do not matter. A curve that does not rise, or
    has fewer than three points, has no knee: its last value is returned.
    """
    rise = curve[-1] - curve[0]
    if rise == 0 or len(curve) < 3:
        return float(curve[-1])
    return float(curve[np.argmax(np.linspace(0, 1, len(curve)) - (curve - curve[0]) / rise)])
