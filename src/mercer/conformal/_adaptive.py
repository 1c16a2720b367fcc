"""Intervals over time that keep their coverage when the rows change: adaptive conformal inference."""

import math
from typing import Any

import numpy as np

from mercer.conformal._quantile import check_level, conformal_quantile
from mercer.errors import DataError, ParameterError


class AdaptiveConformal:
    r"""Half widths of intervals, row after row, corrected by how often the last ones missed.

    Before row t the width is the conformal quantile of the last absolute residuals at the level 1 - a_t. After it,

    .. math:: a_{t+1} = a_t + \gamma \, (\alpha - \text{missed}_t)

    with :math:`\alpha` = 1 - coverage: a miss makes the next intervals wider, a hit makes them a little narrower. Over
    n rows of any kind, exchangeable or not, the share of misses differs from :math:`\alpha` by at most (max(a_1, 1 -
    a_1) + gamma) / (gamma n).

    Parameters
    ----------
    coverage : float, default=0.9
        The share of rows to be held, in (0, 1).
    rate : float, default=0.02
        Gamma: how fast the level follows. Greater follows changes sooner and varies more.
    window : int, default=500
        Residuals that are kept, the last ones.

    Attributes
    ----------
    level : float
        a_t, the share of misses that the next width aims at; it may leave [0, 1].
    residuals : ndarray of shape (at most window,)
        The last absolute residuals.
    n_seen, n_missed : int
        Rows so far, and those that were not held.

    References
    ----------
    I. Gibbs and E. Candes, *Adaptive conformal inference under distribution shift*, NeurIPS (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.conformal import AdaptiveConformal
    >>> random = np.random.default_rng(0)
    >>> y = np.cumsum(random.normal(size=2000))  # a random walk, predicted by its last value
    >>> follower = AdaptiveConformal(coverage=0.9)
    >>> intervals = follower.run(y[:-1], y[1:])
    >>> held = (intervals[:, 0] <= y[1:]) & (y[1:] <= intervals[:, 1])
    >>> round(float(held.mean()), 2)
    0.9
    """

    def __init__(self, coverage: float = 0.9, *, rate: float = 0.02, window: int = 500) -> None:
        self.coverage = check_level("AdaptiveConformal", coverage)
        if not 0.0 < rate < math.inf:
            raise ParameterError(f"AdaptiveConformal: rate must be a number in (0, inf); got {rate!r}.")
        if isinstance(window, bool) or not isinstance(window, int) or window < 1:
            raise ParameterError(f"AdaptiveConformal: window must be an integer in [1, inf); got {window!r}.")
        self.rate = float(rate)
        self.window = window
        self.level = 1.0 - self.coverage
        self.residuals = np.zeros(0)
        self.n_seen = 0
        self.n_missed = 0

    def width(self) -> float:
        """Return half the width of the next interval: infinite where no residual is large enough."""
        share = 1.0 - self.level
        # The level is a sum of many steps: where it should be zero, its rounding may leave 1e-17, and a share of one.
        if share >= 1.0:
            return math.inf
        return 0.0 if share <= 0.0 else conformal_quantile(self.residuals, share)

    def update(self, prediction: float, y: float) -> bool:
        """Take in the true value of a row; return whether its interval held it."""
        residual = abs(float(y) - float(prediction))
        if math.isnan(residual):
            raise DataError("AdaptiveConformal: prediction and y must be numbers; got NaN. Leave the row out.")
        # An interval of no width because the level is 1 is empty, so that it misses and the level falls again.
        held = residual <= self.width() and self.level < 1.0
        self.level += self.rate * ((1.0 - self.coverage) - (not held))
        self.residuals = np.append(self.residuals, residual)[-self.window :]
        self.n_seen += 1
        self.n_missed += not held
        return held

    def run(self, predictions: Any, y: Any) -> np.ndarray:
        """Return the interval of each row, from the rows before it.

        Parameters
        ----------
        predictions : array-like of shape (n,)
            Made before the true values were known, in the order of time.
        y : array-like of shape (n,)
            The true values.

        Returns
        -------
        ndarray of shape (n, 2)
            Low and high ends.
        """
        predicted, truth = np.asarray(predictions, dtype=np.float64).ravel(), np.asarray(y, dtype=np.float64).ravel()
        if len(predicted) != len(truth):
            raise DataError(f"AdaptiveConformal: {len(predicted)} predictions need as many y; got {len(truth)}.")
        widths = np.empty(len(truth))
        for t, (prediction, value) in enumerate(zip(predicted.tolist(), truth.tolist())):
            widths[t] = self.width()
            self.update(prediction, value)
        return np.column_stack([predicted - widths, predicted + widths])
