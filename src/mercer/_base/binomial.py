"""The exact interval of a share: of rows that were held, right, or of one kind."""

import numpy as np
from scipy.special import betaincinv

from mercer.errors import ParameterError


def share_interval(count: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of the probability of a kind of row, of `n` independent rows (Clopper and Pearson).

    Parameters
    ----------
    count, n : int
        Rows of the kind, and all rows.
    level : float, default=0.95
        The interval holds the probability at least as often.

    Returns
    -------
    low, high : float
    """
    tail = (1.0 - level) / 2.0
    low = float(betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 1.0 - tail)) if count < n else 1.0
    return low, high


def check_share(subject: str, name: str, value: float) -> float:
    """Return a number strictly between 0 and 1; raise ParameterError for any other."""
    if not (isinstance(value, int | float | np.number) and 0.0 < value < 1.0):
        raise ParameterError(f"{subject}: {name} must be a number in (0, 1); got {value!r}.")
    return float(value)
