"""Where machines with fixed sums of coefficients start."""

from typing import Any

import numpy as np

__all__ = ["filled"]

Array = Any


def filled(boxes: Array, total: float) -> Array:
    """Coefficients that fill one box after the other until their sum is `total`."""
    before = np.cumsum(boxes) - boxes
    return np.clip(total - before, 0.0, boxes)
