"""Measures of probabilities: how far they are from the shares that occur, and what a score of them is made of."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2
from sklearn.utils import check_consistent_length, column_or_1d

from mercer._base.binomial import check_share
from mercer._base.reading import read_numbers, read_probabilities
from mercer._notebook import render_table
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.isotonic import IsotonicRegression

# Bins of equal counts where none are asked for.
_BINS = 15
# The fewest rows of each of them: their share has a distribution near the normal one.
_FEWEST = 20


@dataclass(frozen=True)
class CalibrationError:
    """How far probabilities are from the shares that occur, with what chance explains.

    Attributes
    ----------
    error : float
        The root of the mean squared difference between probability and share over the bins, without the part that the
        chance of the rows adds: 0 where there is no more than chance.
    low, high : float
        The interval of that difference for the rule that made the probabilities.
    level : float
        How often the interval holds it.
    p_value : float
        The probability of differences at least as large if the probabilities are true.
    expected_error : float
        The mean absolute difference over the bins ("expected calibration error"), which chance makes positive for true
        probabilities too.
    chance_error : float
        What it is on average if the probabilities are true.
    edges : ndarray of shape (n_bins + 1,)
        The bins.
    probabilities, shares : ndarray of shape (n_bins,)
        Mean probability and share of rows in each.
    counts : ndarray of int of shape (n_bins,)
        Rows in each.
    """

    error: float
    low: float
    high: float
    level: float
    p_value: float
    expected_error: float
    chance_error: float
    edges: Array
    probabilities: Array
    shares: Array
    counts: Array

    @property
    def sentence(self) -> str:
        """What follows."""
        n = int(self.counts.sum())
        size = f"{self.error:.3f}, between {self.low:.3f} and {self.high:.3f}"
        if self.low > 0:
            return f"The probabilities are wrong by {size} ({n} rows, p = {self.p_value:.2g}): calibrate them."
        return f"The probabilities differ from the shares by no more than chance explains: {size} ({n} rows)."

    def __str__(self) -> str:
        rows = (
            f"  {low:.3f} to {high:.3f}: {share:.3f} of {count} rows"
            for low, high, share, count in zip(self.edges[:-1], self.edges[1:], self.shares, self.counts)
        )
        return "\n".join([self.sentence, *rows])

    def _repr_html_(self) -> str:
        rows = [
            (f"{low:.3f} to {high:.3f}", f"{p:.3f}", f"{share:.3f}", count)
            for low, high, p, share, count in zip(
                self.edges[:-1], self.edges[1:], self.probabilities, self.shares, self.counts
            )
        ]
        return render_table(self.sentence, rows, ("mean probability", "share", "rows"))


def calibration_error(
    y_true: Any, y_proba: Any, *, classes: Any = None, n_bins: int | None = None, level: float = 0.95
) -> CalibrationError:
    r"""Measure how far probabilities are from the shares that occur, with an honest interval.

    Rows are sorted by their probability into bins of equal counts. With the mean probability :math:`p_b`, the share
    :math:`s_b` and the count :math:`n_b` of bin b, the squared differences :math:`\sum_b (n_b / n) (s_b - p_b)^2` are
    what the rule is wrong by plus :math:`\sum_b v_b / n` of chance, :math:`v_b` the variance of one row. The chance is
    taken out, and the interval inverts the distribution of the sum, a weighted sum of noncentral chi-squared
    variables with their first two moments. So it may begin at zero, as that of a true rule should.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    y_proba : array-like of shape (n,) or (n, n_classes)
        The probability of the second class, or of all. Of three classes and more, the probability of the most probable
        class is measured against how often it is the true one.
    classes : array-like of shape (n_classes,) or None, default=None
        The labels in the order of the columns; None takes those of `y_true`, sorted.
    n_bins : int or None, default=None
        Bins; None takes 15, or as many as have 20 rows each.
    level : float, default=0.95
        How often the interval holds the difference.

    Returns
    -------
    CalibrationError

    Notes
    -----
    The difference of a bin is that of its mean: what goes up and down within a bin is not seen, so that the interval is
    of at most the whole error.

    References
    ----------
    A. Kumar, P. Liang and T. Ma, *Verified uncertainty calibration*, NeurIPS (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.metrics import calibration_error
    >>> random = np.random.default_rng(0)
    >>> p = random.random(5000)
    >>> y = random.random(5000) < p
    >>> calibration_error(y, p).low
    0.0
    >>> calibration_error(y, p**2).low > 0.05
    True
    """
    level = check_share("calibration_error", "level", level)
    hit, p = read_events("calibration_error", y_true, y_proba, classes)
    n = len(p)
    if n_bins is None:
        n_bins = max(1, min(_BINS, n // _FEWEST))
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ParameterError(f"calibration_error: n_bins must be an integer in [1, inf); got {n_bins!r}.")
    edges, place = _cut(p, int(n_bins))
    counts = np.bincount(place)
    means, shares = (np.bincount(place, values) / counts for values in (p, hit))
    gaps = shares - means
    # Shares are moved towards one half a little, so that a bin of hits alone has a variance too.
    smooth = (shares * counts + 0.5) / (counts + 1.0)
    found = float((counts * gaps**2).sum())
    low, high = _invert(found, smooth * (1.0 - smooth), level, n)
    chance = np.bincount(place, p * (1.0 - p)) / counts
    scale, freedom = _match(chance)
    p_value = float(chi2.sf(found / scale, freedom)) if scale > 0 else float(found == 0.0)
    excess = max(0.0, found - float((smooth * (1.0 - smooth)).sum())) / n
    return CalibrationError(
        math.sqrt(excess),
        min(low, math.sqrt(excess)),
        max(high, math.sqrt(excess)),
        level,
        p_value,
        float((counts * np.abs(gaps)).sum() / n),
        # The mean of the absolute value of a normal variable.
        float((np.sqrt(2.0 / math.pi * chance * counts)).sum() / n),
        edges,
        means,
        shares,
        counts,
    )


def read_events(subject: str, y_true: Any, y_proba: Any, classes: Any) -> tuple[Array, Array]:
    """Return whether the event of each row took place, and its probability.

    Parameters
    ----------
    subject : str
        Who asks.
    y_true : array-like of shape (n,)
        Labels.
    y_proba : array-like of shape (n,) or (n, n_classes)
        The probability of the second class, or of all.
    classes : array-like of shape (n_classes,) or None
        The labels in the order of the columns.
    """
    labels, names, shares = read_labels(subject, y_true, y_proba, classes)
    if len(names) == 2:
        return (labels == 1).astype(np.float64), np.ascontiguousarray(shares[:, 1])
    top = shares.argmax(axis=1)
    return (labels == top).astype(np.float64), shares[np.arange(len(top)), top]


def read_labels(subject: str, y_true: Any, y_proba: Any, classes: Any) -> tuple[Array, Array, Array]:
    """Return the number of the class of each row, the classes, and the probabilities of all of them."""
    y = column_or_1d(y_true)
    shares = read_numbers(subject, "y_proba", y_proba, 0.0, 1.0)
    check_consistent_length(y, shares)
    if not len(y):
        raise DataError(f"{subject}: y_true must have a row; got none.")
    shares = (
        np.column_stack([1.0 - shares, shares]) if shares.ndim == 1 else read_probabilities(subject, "y_proba", y_proba)
    )
    if shares.ndim != 2:
        raise DataError(f"{subject}: y_proba must have one or two dimensions; got shape {shares.shape}.")
    found = np.unique(y)
    names = found if classes is None else np.asarray(classes)
    # Labels of one class alone do not say which it is, but for the usual pair.
    if classes is None and shares.shape[1] == 2 and len(found) == 1 and found.dtype.kind in "biuf":
        names = np.array([0, 1])
    order = np.argsort(names, kind="stable")
    place = order[np.searchsorted(names, y, sorter=order).clip(0, len(names) - 1)]
    if len(names) != shares.shape[1] or (names[place] != y).any():
        raise DataError(
            f"{subject}: y_true has the labels {', '.join(map(str, found[:5]))} and y_proba {shares.shape[1]} columns; "
            f"they must belong to each other. Give classes=model.classes_."
        )
    return place, names, shares


def _cut(p: Array, n_bins: int) -> tuple[Array, Array]:
    """Return the edges of bins of about equal counts, and the bin of each row; equal probabilities stay together."""
    n_bins = min(n_bins, len(p))
    # In whole numbers: a share of 0.6 of 300 rows is 180.00000000000003 of them.
    lasts = [(len(p) * number + n_bins - 1) // n_bins - 1 for number in range(1, n_bins)]
    inner = np.unique(np.sort(p)[lasts])
    place = np.searchsorted(inner, p, side="left")
    # An edge at the largest probability leaves a bin without rows behind it.
    used, place = np.unique(place, return_inverse=True)
    ends = [float(p[place == one].max()) for one in range(len(used))]
    return np.array([float(p.min()), *ends]), place


def _match(variances: Array) -> tuple[float, float]:
    """Return scale and degrees of freedom of the chi-squared variable with the moments of a weighted sum of them."""
    total, squares = float(variances.sum()), float((variances**2).sum())
    return (squares / total, total**2 / squares) if squares > 0 else (0.0, 1.0)


def _invert(found: float, variances: Array, level: float, n: int) -> tuple[float, float]:
    """Return the ends of the interval of the root mean squared difference behind a weighted sum."""
    scale, freedom = _match(variances)
    tail = (1.0 - level) / 2.0
    ends = []
    for share in (1.0 - tail, tail):
        # The difference at which a sum as large as the one found has a share of the distribution below it.
        def miss(shift: float, share: float = share) -> float:
            return float(ncx2.cdf(found / scale, freedom, shift)) - share

        most = 4.0 * (found / scale + freedom + 100.0)
        ends.append(0.0 if miss(1e-12) <= 0 else brentq(miss, 1e-12, most, xtol=1e-9 * most))
    low, high = (math.sqrt(scale * shift / n) for shift in ends)
    return low, min(1.0, high)


@dataclass(frozen=True)
class ScoreParts:
    """What a mean score of probabilities is made of: score = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    name : str
        The score.
    score : float
        Its mean; smaller is better.
    miscalibration : float
        What recalibrated probabilities would save.
    discrimination : float
        What recalibrated probabilities save against those that do not look at the row.
    uncertainty : float
        The score of the shares of the classes.
    """

    name: str
    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float

    @property
    def sentence(self) -> str:
        """What follows."""
        gained = self.discrimination - self.miscalibration
        verdict = (
            f"{self.discrimination:.4g} gained by telling rows apart, {self.miscalibration:.4g} lost by wrong "
            f"probabilities"
        )
        better = "better" if gained > 0 else "no better"
        return f"{self.name} {self.score:.4g}, {better} than the {self.uncertainty:.4g} of the class shares: {verdict}."

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        rows = [
            (name, f"{getattr(self, name):.4g}")
            for name in ("score", "miscalibration", "discrimination", "uncertainty")
        ]
        return render_table(self.sentence, rows)


def decompose_score(y_true: Any, y_proba: Any, *, score: str = "brier", classes: Any = None) -> ScoreParts:
    """Decompose a proper score into miscalibration, discrimination and uncertainty.

    Recalibrated probabilities are the isotonic regression of the events on the probabilities: those that rise with them
    and have the best score of all, whichever proper score is taken. No part is negative, and no bins are chosen.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    y_proba : array-like of shape (n,) or (n, n_classes)
        The probability of the second class, or of all.
    score : {'brier', 'log'}, default='brier'
        The squared difference of probability and event, or the negative logarithm of the probability of what took
        place. Of three classes and more, the sum over the classes of the score of each against the rest.
    classes : array-like of shape (n_classes,) or None, default=None
        The labels in the order of the columns; None takes those of `y_true`, sorted.

    Returns
    -------
    ScoreParts

    References
    ----------
    T. Dimitriadis, T. Gneiting and A. Jordan, *Stable reliability diagrams for probabilistic classifiers*, PNAS 118
    (2021).

    Examples
    --------
    >>> from mercer.metrics import decompose_score
    >>> parts = decompose_score([0, 0, 1, 1, 0, 1], [0.1, 0.1, 0.8, 0.8, 0.3, 0.3])
    >>> parts = [parts.miscalibration, -parts.discrimination, parts.uncertainty, parts.score]
    >>> abs(sum(parts[:3]) - parts[3]) < 1e-12, round(parts[2], 6)
    (True, 0.25)
    """
    if score not in _SCORES:
        raise ParameterError(f"decompose_score: score must be one of {', '.join(_SCORES)}; got {score!r}.")
    labels, names, shares = read_labels("decompose_score", y_true, y_proba, classes)
    measure = _SCORES[score]
    # Of two classes one says it all: the parts of the other are the same.
    numbers = [1] if len(names) == 2 else list(range(len(names)))
    means = np.zeros(3)
    for number in numbers:
        hit, p = (labels == number).astype(np.float64), np.ascontiguousarray(shares[:, number])
        mended = np.clip(recalibrate(hit, p), 0.0, 1.0)
        constant = np.full(len(hit), hit.mean())
        means += [measure(hit, one).mean() for one in (p, mended, constant)]
    own, best, blind = means.tolist()
    return ScoreParts(_NAMES[score], own, own - best, blind - best, blind)


def recalibrate(hit: Array, p: Array) -> Array:
    """Return the share of events as a function of the probability that never falls, at each row."""
    return np.asarray(IsotonicRegression(out_of_bounds="clip").fit(p, hit).predict(p))


def _brier(hit: Array, p: Array) -> Array:
    return (p - hit) ** 2


def _log(hit: Array, p: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(np.where(hit > 0, p, 1.0 - p)))


_SCORES = {"brier": _brier, "log": _log}
_NAMES = {"brier": "Brier score", "log": "log score"}
