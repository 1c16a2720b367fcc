"""The price of coefficients in the lasso and the elastic net, as native code takes it."""

from typing import NamedTuple

import numpy as np

from mercer._types import Array


class Price(NamedTuple):
    """The penalty l1 |w|_1 + l2 |w|^2 / 2, over w >= 0 where `positive`."""

    l1: float
    l2: float
    positive: bool

    def of(self, w: Array) -> float:
        """Return the penalty of coefficients."""
        return self.l1 * float(np.abs(w).sum()) + 0.5 * self.l2 * float(w @ w)

    def upward(self, slopes: Array) -> Array:
        """Return the slopes that l1 bounds: absolute values, or the slopes themselves if coefficients are positive."""
        return slopes if self.positive else np.abs(slopes)
