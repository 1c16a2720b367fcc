"""The threshold on a probability from which acting is cheaper, with what the rows can say about it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from mercer._base import seed_sequence
from mercer._base.binomial import check_share
from mercer._base.reading import read_costs, read_integer, read_numbers
from mercer._notebook import render_table
from mercer._types import Array
from mercer.decision._cost import accuracy_costs
from mercer.errors import DataError, ParameterError

# Thresholds whose costs are drawn anew: of more, as many shares of the rows.
_MOST = 400


@dataclass(frozen=True)
class ThresholdChoice:
    """The threshold above which to decide for the second class.

    Attributes
    ----------
    threshold : float
        The one to take: that of true probabilities where the rows allow it, else the one that was cheapest on them.
    if_calibrated : float
        The cheapest if the probabilities are true, from the costs alone.
    cheapest : float
        The cheapest on these rows: the middle of its step.
    low, high : float
        All thresholds that the rows do not show to be dearer than the best lie between.
    level : float
        How often both intervals hold what they say.
    cost : float
        The mean cost of a row at `threshold`.
    cost_low, cost_high : float
        Its interval.
    always : tuple of float
        The mean cost of deciding always for the first class, and always for the second.
    """

    threshold: float
    if_calibrated: float
    cheapest: float
    low: float
    high: float
    level: float
    cost: float
    cost_low: float
    cost_high: float
    always: tuple[float, float]

    @property
    def sentence(self) -> str:
        """What follows."""
        costs = f"a row then costs {self.cost:.4g}, between {self.cost_low:.4g} and {self.cost_high:.4g}"
        range_ = f"[{self.low:.3g}, {self.high:.3g}]"
        if self.threshold == self.if_calibrated:
            return (
                f"Decide for the second class from {self.threshold:.3g} on, as the costs say; {costs}. The rows allow "
                f"{range_}."
            )
        return (
            f"Decide for the second class from {self.threshold:.3g} on; {costs}. The costs say "
            f"{self.if_calibrated:.3g}, which the rows do not allow, {range_}: the probabilities want calibration."
        )

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        first, second = self.always
        rows = [
            ("threshold", f"{self.threshold:.4g}"),
            ("if the probabilities are true", f"{self.if_calibrated:.4g}"),
            ("cheapest on these rows", f"{self.cheapest:.4g} [{self.low:.4g}, {self.high:.4g}]"),
            ("mean cost", f"{self.cost:.4g} [{self.cost_low:.4g}, {self.cost_high:.4g}]"),
            ("always the first class", f"{first:.4g}"),
            ("always the second class", f"{second:.4g}"),
        ]
        return render_table(self.sentence, rows)


def threshold_costs(y_true: Any, y_proba: Any, costs: Any = None) -> tuple[Array, Array]:
    """Return all thresholds that decide differently, and the mean cost of a row at each.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        0 or 1.
    y_proba : array-like of shape (n,)
        The probability of 1; the second class is decided for where it exceeds the threshold.
    costs : array-like of shape (2, 2) or None, default=None
        The cost of each decision where each class is true; None: an error costs one.

    Returns
    -------
    thresholds, mean_costs : ndarray of shape (m,)

    Examples
    --------
    >>> from mercer.decision import threshold_costs
    >>> thresholds, mean = threshold_costs([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], [[0, 9], [1, 0]])
    >>> mean[thresholds == 0.1].tolist()
    [0.25]
    """
    hit, p, matrix = _read("threshold_costs", y_true, y_proba, costs)
    thresholds = np.unique(np.concatenate([[0.0], p, [1.0]]))
    order = np.sort(p[hit]), np.sort(p[~hit])
    # Rows with a probability above each threshold, from the sorted probabilities of either class.
    hits, alarms = (len(ranked) - np.searchsorted(ranked, thresholds, side="right") for ranked in order)
    counts = np.array([[len(order[1]) - alarms, len(order[0]) - hits], [alarms, hits]])
    return thresholds, (counts * matrix[:, :, None]).sum(axis=(0, 1)) / len(p)


def break_even(costs: Any) -> float | None:
    """Return the probability from which deciding for the second class is cheaper, or None if it never is.

    It is (c10 - c00) / (c10 - c00 + c01 - c11), with c_ac the cost of action a where class c is true.

    Parameters
    ----------
    costs : array-like of shape (2, 2)
        The cost of each decision where each class is true.

    Returns
    -------
    float or None

    Examples
    --------
    >>> from mercer.decision import break_even
    >>> break_even([[0, 9], [1, 0]])
    0.1
    """
    matrix = read_costs("break_even", costs, 2)
    # Acting costs less than not acting where p (miss - hit) > (1 - p) (alarm - pass): p above their break-even.
    price = matrix[1, 0] - matrix[0, 0] + matrix[0, 1] - matrix[1, 1]
    return float((matrix[1, 0] - matrix[0, 0]) / price) if price > 0 else None


def choose_threshold(
    y_true: Any,
    y_proba: Any,
    costs: Any = None,
    *,
    level: float = 0.95,
    n_resamples: int = 500,
    random_state: Any = None,
) -> ThresholdChoice:
    r"""Choose the threshold above which to decide for the second class, with an interval.

    True probabilities need no rows: the threshold is where both decisions cost the same (:func:`break_even`). The rows
    say whether that can be: the interval holds every threshold whose mean cost exceeds the least one by no more than
    the differences of costs vary, by the bootstrap of their largest deviation. The best threshold itself has no
    distribution that a bootstrap finds, so none is claimed for it.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        0 or 1, of rows that the model was not fitted to.
    y_proba : array-like of shape (n,)
        The probability of 1.
    costs : array-like of shape (2, 2) or None, default=None
        The cost of each decision where each class is true; None: an error costs one.
    level : float, default=0.95
        How often the intervals hold what they say.
    n_resamples : int, default=500
        Draws of the bootstrap.
    random_state : None, int, RandomState or Generator, default=None
        Its seed.

    Returns
    -------
    ThresholdChoice

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decision import choose_threshold
    >>> random = np.random.default_rng(0)
    >>> p = random.random(2000)
    >>> found = choose_threshold(random.random(2000) < p, p, [[0, 4], [1, 0]], random_state=0)
    >>> found.threshold, found.low <= 0.2 <= found.high
    (0.2, True)
    """
    level = check_share("choose_threshold", "level", level)
    hit, p, matrix = _read("choose_threshold", y_true, y_proba, costs)
    n_resamples = read_integer("choose_threshold", "n_resamples", n_resamples, 1)
    limit = break_even(matrix)
    if limit is None:
        raise ParameterError(
            f"choose_threshold: costs must make each decision cheaper where its class is true; got {matrix.tolist()}. "
            f"Decide always for the cheaper one."
        )
    if hit.all() or not hit.any():
        raise DataError("choose_threshold: y_true must hold both classes; got one alone. Add rows of the other.")
    thresholds, mean = threshold_costs(hit, p, matrix)
    best = int(mean.argmin())
    grid = np.unique(np.append(np.linspace(0, len(thresholds) - 1, _MOST).astype(int), best))
    random = np.random.default_rng(seed_sequence(random_state))
    # Rows between the same thresholds of the grid and of the same class cost the same: they are drawn together.
    place = np.searchsorted(thresholds[grid], p, side="left")
    cells = np.bincount(2 * place + hit, minlength=2 * (len(grid) + 1))
    acts = (np.arange(len(grid) + 1)[:, None] > np.arange(len(grid))).astype(int)
    paid = np.stack([matrix[acts, 0], matrix[acts, 1]], axis=1).reshape(len(cells), len(grid))
    lead = paid - paid[:, [int(np.searchsorted(grid, best))]]
    drawn = random.multinomial(len(p), cells / len(p), size=n_resamples) / len(p)
    # By how much the best threshold may seem dearer than another one: the largest fall of the centred differences.
    falls = ((cells / len(p)) @ lead - drawn @ lead).max(axis=1)
    allowed = np.flatnonzero(mean <= mean[best] + np.quantile(falls, level))
    ends = np.append(thresholds, 1.0)
    low, high = float(ends[allowed[0]]), float(ends[allowed[-1] + 1])
    cheapest = float((ends[best] + ends[best + 1]) / 2)
    chosen = limit if low <= limit <= high else cheapest
    counts = np.bincount(2 * (p > chosen) + hit, minlength=4) / len(p)
    spent = random.multinomial(len(p), counts, size=n_resamples) / len(p) @ matrix.ravel()
    tails = np.quantile(spent, [(1.0 - level) / 2.0, (1.0 + level) / 2.0]).tolist()
    shares = np.array([1.0 - hit.mean(), hit.mean()])
    first, second = (matrix @ shares).tolist()
    cost = float(counts @ matrix.ravel())
    return ThresholdChoice(chosen, limit, cheapest, low, high, level, cost, tails[0], tails[1], (first, second))


def _read(subject: str, y_true: Any, y_proba: Any, costs: Any) -> tuple[Array, Array, Array]:
    """Return whether each row is of the second class, its probability, and the costs."""
    matrix = accuracy_costs(2) if costs is None else read_costs(subject, costs, 2)
    hit, p = column_or_1d(y_true).astype(bool), column_or_1d(read_numbers(subject, "y_proba", y_proba, 0.0, 1.0))
    check_consistent_length(hit, p)
    if matrix.shape != (2, 2) or not len(hit):
        raise DataError(
            f"{subject}: costs must have shape (2, 2), and there must be rows; got {matrix.shape} and {len(hit)} rows."
        )
    return hit, p, matrix
