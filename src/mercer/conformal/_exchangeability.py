"""Whether scores could have come in any order: the assumption of conformal prediction, tested as rows arrive."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._base.randomness import generators
from mercer.errors import DataError

# Bets on p-values: densities e p^(e - 1) that favour small ones, and their mirror images; a mean of bets is a bet.
_BETS = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class Exchangeability:
    """What scores in their order say against exchangeability.

    Attributes
    ----------
    p_value : float
        The probability of the largest evidence, or more, if the rows are exchangeable, is at most this. It holds
        however long one looks.
    evidence : ndarray of shape (n,)
        The logarithm of the wealth of a gambler who bets against exchangeability, after each row; it starts at 0, and
        is at log(20) or above at any time with a probability of at most 5 %.
    row : int
        The row after which the evidence was largest.
    """

    p_value: float
    evidence: np.ndarray
    row: int


def check_exchangeability(scores: Any, random_state: Any = None) -> Exchangeability:
    """Test whether scores could have come in any order, by a conformal martingale.

    Each score is ranked among those before it. If the rows are exchangeable, the ranks are independent and uniform, and
    no gambler who bets on small or large ones grows rich; where scores drift or jump, ranks pile up at one end.

    Parameters
    ----------
    scores : array-like of shape (n,)
        In the order in which rows came: residuals of rows that the model was not fitted to, or any other numbers.
    random_state : None, int, RandomState or Generator, default=None
        Breaks ties between equal scores.

    Returns
    -------
    Exchangeability

    Notes
    -----
    Takes n log n comparisons. That no evidence was found does not prove that there is none: rows that depend on each
    other without drifting pass.

    References
    ----------
    V. Vovk, I. Nouretdinov and A. Gammerman, *Testing exchangeability on-line*, ICML (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.conformal import check_exchangeability
    >>> check_exchangeability(np.linspace(0.0, 1.0, 50), random_state=0).p_value < 1e-6
    True
    """
    values = np.asarray(scores, dtype=np.float64).ravel()
    if not len(values) or np.isnan(values).any():
        raise DataError(f"check_exchangeability: scores must be one number or more, without NaN; got {len(values)}.")
    [draw] = generators(random_state, 1)
    ranks = _rank_online(values, draw.random(len(values)))
    logs = []
    for power in _BETS:
        for p in (ranks, 1.0 - ranks):
            logs.append(np.cumsum(np.log(power) + (power - 1.0) * np.log(np.maximum(p, np.finfo(float).tiny))))
    evidence = np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))
    row = int(evidence.argmax())
    # Ville's inequality: wealth of c is reached at any time with a probability of at most 1 / c.
    return Exchangeability(float(min(1.0, np.exp(-max(evidence[row], 0.0)))), evidence, row)


def _rank_online(values: np.ndarray, coins: np.ndarray) -> np.ndarray:
    """Return the rank of each value among itself and those before it, uniform in (0, 1]; ties are broken by coins."""
    order = np.unique(values, return_inverse=True)[1]
    counts = _Counts(int(order.max()) + 1)
    ranks = np.empty(len(values))
    for i, place in enumerate(order.tolist()):
        above = i - counts.sum_to(place + 1)
        equal = i - above - counts.sum_to(place)
        counts.add(place)
        ranks[i] = (above + coins[i] * (equal + 1)) / (i + 1)
    return ranks


class _Counts:
    """Counts by place with sums of the first places, both in logarithmic time (a Fenwick tree)."""

    def __init__(self, size: int) -> None:
        self.sums = [0] * (size + 1)

    def add(self, place: int) -> None:
        """Count one more at a place."""
        place += 1
        while place < len(self.sums):
            self.sums[place] += 1
            place += place & -place

    def sum_to(self, stop: int) -> int:
        """Return the sum of the places before `stop`."""
        total = 0
        while stop:
            total += self.sums[stop]
            stop &= stop - 1
        return total
