"""The quantile on which conformal prediction rests: how large the score of a new row may be."""

import math
from typing import Any

import numpy as np

from mercer.errors import DataError, ParameterError

# A score that is as large as the quantile up to rounding is no larger than it.
_ROUNDING = 1e-12


def check_level(subject: str, level: Any) -> float:
    """Return a coverage as a float; raise ParameterError unless it lies strictly between 0 and 1."""
    try:
        value = float(level)
    except (TypeError, ValueError):
        value = math.nan
    if not 0.0 < value < 1.0:
        raise ParameterError(f"{subject}: coverage must be a number in (0, 1); got {level!r}. Try 0.9.")
    return value


def find_rank(count: float, coverage: float) -> float:
    """Return which of `count` sorted scores is the quantile: (count + 1) coverage, rounded up."""
    # 0.9 * 10 is 9.000000000000002 for some counts: the product is rounded before it is rounded up.
    return math.ceil(round((count + 1.0) * coverage, 9))


def conformal_quantile(scores: Any, coverage: float, *, count: int | None = None, weight: Any = None) -> float:
    """Return the value that the score of a new row does not exceed, with a given probability.

    Of n exchangeable scores and a new one, every rank of the new one is as likely. So it is at most the k-th smallest
    of the n, k = ceil((n + 1) coverage), with a probability of at least `coverage`, and of less than coverage + 1 / (n
    + 1) if no two are equal.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of rows that the model was not fitted to; greater is stranger.
    coverage : float
        The probability, in (0, 1).
    count : int or None, default=None
        How many scores there were, if `scores` holds only some of them, at ranks rounded up.
    weight : array-like of shape (n + 1,) or None, default=None
        Of each score, and last of the new row: how much more likely a row is where predictions are made than where
        scores were computed (covariate shift). None gives all the same weight.

    Returns
    -------
    float
        Infinite if there are too few scores for the coverage.

    References
    ----------
    V. Vovk, A. Gammerman and G. Shafer, *Algorithmic Learning in a Random World*, Springer (2005).

    R. J. Tibshirani, R. Foygel Barber, E. J. Candes and A. Ramdas, *Conformal prediction under covariate shift*,
    NeurIPS (2019).

    Examples
    --------
    >>> from mercer.conformal import conformal_quantile
    >>> conformal_quantile([0.3, 0.1, 0.5, 0.2], 0.6)
    0.3
    >>> conformal_quantile([0.3, 0.1, 0.5, 0.2], 0.9)  # nine scores are the fewest for 90 %
    inf
    """
    coverage = check_level("conformal_quantile", coverage)
    kept = np.sort(np.asarray(scores, dtype=np.float64).ravel())
    if np.isnan(kept).any():
        raise DataError("conformal_quantile: scores must be numbers; got NaN. Leave those rows out.")
    if weight is not None:
        return _find_weighted(np.asarray(scores, dtype=np.float64).ravel(), coverage, weight)
    total = len(kept) if count is None else count
    rank = find_rank(total, coverage)
    if rank > total or not len(kept):
        return math.inf
    return float(kept[math.ceil(rank * len(kept) / total) - 1])


def _find_weighted(scores: np.ndarray, coverage: float, weight: Any) -> float:
    shares = np.asarray(weight, dtype=np.float64).ravel()
    if len(shares) != len(scores) + 1 or not np.isfinite(shares).all() or (shares < 0).any() or not shares.sum() > 0:
        raise DataError(
            f"conformal_quantile: weight must have {len(scores) + 1} finite numbers that are not negative, the last of "
            f"the new row; got {len(shares)}, the least {shares.min(initial=np.inf):g}."
        )
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(shares[order]) / shares.sum()
    place = int(np.searchsorted(reached, coverage - _ROUNDING))
    return float(scores[order[place]]) if place < len(scores) else math.inf


class Quantiles:
    """Scores sorted once, with the number of rows that each stands for, so that quantiles are found by a search."""

    def __init__(self, scores: np.ndarray, repeats: np.ndarray | None = None) -> None:
        order = np.argsort(scores, kind="stable")
        self.scores = scores[order]
        self.reached = np.arange(1.0, len(scores) + 1.0) if repeats is None else np.cumsum(repeats[order])

    @property
    def total(self) -> float:
        """Return how many rows there are."""
        return float(self.reached[-1]) if len(self.reached) else 0.0

    def find(self, coverage: float) -> float:
        """Return the conformal quantile of the scores."""
        rank = find_rank(self.total, coverage)
        place = int(np.searchsorted(self.reached, rank - _ROUNDING * max(1.0, self.total)))
        return float(self.scores[place]) if place < len(self.scores) else math.inf
