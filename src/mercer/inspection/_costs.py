"""What decisions by probabilities cost, and whether probabilities and coverages are what they say."""

from typing import Any

import numpy as np
from sklearn.metrics import roc_curve
from sklearn.utils.validation import column_or_1d

from mercer._base import seed_sequence
from mercer._base.binomial import check_share
from mercer._base.reading import read_integer
from mercer.decision import accuracy_costs, break_even, threshold_costs
from mercer.errors import DataError
from mercer.inspection._display import Display, draws
from mercer.metrics import read_events, recalibrate


class CostCurveDisplay(Display):
    """The least normalised cost of a score under every operating condition.

    Along the x axis is the share of the cost of missing every positive, P(+) c(miss) / (P(+) c(miss) + P(-) c(alarm)),
    from zero to one: priors and costs in one number. Each threshold of the score is a straight line there, from its
    rate of false alarms to its rate of misses; the curve is the lower envelope. Always deciding for one class gives the
    triangle below which a score is of use.

    Parameters
    ----------
    false_alarms, misses : array-like of shape (m,)
        Rates at each threshold.
    conditions : array-like or None, default=None
        Where to evaluate the curve; None takes 201 points from zero to one.

    Attributes
    ----------
    conditions_ : ndarray
        Points on the x axis.
    costs_ : ndarray
        The envelope there, between zero and a half.
    area_ : float
        The area below it: the mean cost if every condition is as likely.
    line_ : matplotlib objects
        What was drawn.

    References
    ----------
    C. Drummond, R. Holte, *Cost curves: an improved method for visualizing classifier performance*, Machine Learning 65
    (2006).

    Examples
    --------
    >>> from mercer.inspection import CostCurveDisplay
    >>> perfect = CostCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    >>> perfect.area_
    0.0
    """

    def __init__(self, false_alarms: Any, misses: Any, *, conditions: Any = None) -> None:
        self.false_alarms = np.asarray(false_alarms, dtype=np.float64)
        self.misses = np.asarray(misses, dtype=np.float64)
        self.conditions_ = (
            np.linspace(0.0, 1.0, 201) if conditions is None else np.asarray(conditions, dtype=np.float64)
        )
        # A threshold has the cost (1 - c) false alarms + c misses, a line in the condition c; the curve is the least.
        lines = np.outer(1 - self.conditions_, self.false_alarms) + np.outer(self.conditions_, self.misses)
        self.costs_ = lines.min(axis=1)
        self.area_ = float(np.trapezoid(self.costs_, self.conditions_))

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any) -> "CostCurveDisplay":
        """Draw the curve of a fitted classifier.

        Parameters
        ----------
        estimator : estimator
            Fitted to two classes, with ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        """
        if len(estimator.classes_) != 2:
            raise DataError(f"CostCurveDisplay: a cost curve is of two classes; got {len(estimator.classes_)}.")
        labels = column_or_1d(y) == estimator.classes_[1]
        return cls.compute(labels, np.asarray(estimator.predict_proba(X))[:, 1])

    @classmethod
    def compute(cls, y_true: Any, y_score: Any) -> "CostCurveDisplay":
        """Compute the curve of scores, without drawing.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            0 or 1, both present.
        y_score : array-like of shape (n_samples,)
            Higher for 1.
        """
        labels = column_or_1d(y_true).astype(bool)
        if labels.all() or not labels.any():
            raise DataError("CostCurveDisplay: y_true must hold both classes; got one alone. Add rows of the other.")
        alarms, hits, _ = roc_curve(labels, y_score)
        return cls(alarms, 1 - hits)

    from_predictions = draws(compute)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        (self.line_,) = ax.plot(self.conditions_, self.costs_, **({"label": f"area {self.area_:.3f}"} | kwargs))
        # Always deciding for the cheaper class costs min(c, 1 - c): what a score must beat.
        ax.plot([0.0, 0.5, 1.0], [0.0, 0.5, 0.0], color="grey", linestyle=":", label="without looking")
        ax.set(xlabel="share of the cost of misses", ylabel="normalised cost", ylim=(0, 0.55))
        ax.legend()


class ThresholdCurveDisplay(Display):
    """The mean cost of deciding for the second class where its probability exceeds a threshold.

    Marks the threshold that was cheapest on these rows, and the one that is cheapest if the probabilities are true:
    (c10 - c00) / (c10 - c00 + c01 - c11), with c_ac the cost of action a where class c is true. Far apart, they say
    that the probabilities want calibration.

    Parameters
    ----------
    thresholds : array-like of shape (m,)
        Thresholds.
    mean_costs : array-like of shape (m,)
        The mean cost at each.
    optimal_threshold : float or None, default=None
        The cheapest threshold for true probabilities.

    Attributes
    ----------
    best_threshold_ : float
        The cheapest on these rows; the middle, where several are.
    line_ : matplotlib artist
        What was drawn.

    Examples
    --------
    >>> from mercer.inspection import ThresholdCurveDisplay
    >>> display = ThresholdCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.9], costs=[[0, 9], [1, 0]])
    >>> display.optimal_threshold, display.best_threshold_
    (0.1, 0.2)
    """

    def __init__(self, thresholds: Any, mean_costs: Any, *, optimal_threshold: float | None = None) -> None:
        self.thresholds = np.asarray(thresholds, dtype=np.float64)
        self.mean_costs = np.asarray(mean_costs, dtype=np.float64)
        self.optimal_threshold = optimal_threshold
        cheapest = np.flatnonzero(self.mean_costs <= self.mean_costs.min() + 1e-12 * np.abs(self.mean_costs).max())
        # The cost is constant from one threshold to the next: take the middle of the first cheapest step.
        first = cheapest[0]
        upper = self.thresholds[min(first + 1, len(self.thresholds) - 1)]
        self.best_threshold_ = float((self.thresholds[first] + upper) / 2)

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, costs: Any = None) -> "ThresholdCurveDisplay":
        """Draw the curve of a fitted classifier.

        Parameters
        ----------
        estimator : estimator
            Fitted to two classes, with ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        costs : array-like of shape (2, 2) or None, default=None
            The cost of each decision where each class is true; None: an error costs one.
        """
        if len(estimator.classes_) != 2:
            raise DataError(
                f"ThresholdCurveDisplay: a threshold is between two classes; got {len(estimator.classes_)}."
            )
        shares = np.asarray(estimator.predict_proba(X))[:, 1]
        labels = column_or_1d(y) == estimator.classes_[1]
        return cls.compute(labels, shares, costs=costs)

    @classmethod
    def compute(cls, y_true: Any, y_proba: Any, *, costs: Any = None) -> "ThresholdCurveDisplay":
        """Compute the curve of probabilities, without drawing.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            0 or 1.
        y_proba : array-like of shape (n_samples,)
            The probability of 1.
        costs : array-like of shape (2, 2) or None, default=None
            The cost of each decision where each class is true; None: an error costs one.
        """
        matrix = accuracy_costs(2) if costs is None else costs
        thresholds, mean = threshold_costs(y_true, y_proba, matrix)
        return cls(thresholds, mean, optimal_threshold=break_even(matrix))

    from_predictions = draws(compute)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        settings = {"drawstyle": "steps-post", "label": "mean cost"} | kwargs
        (self.line_,) = ax.plot(self.thresholds, self.mean_costs, **settings)
        ax.axvline(self.best_threshold_, color="black", linewidth=1, label="cheapest here")
        if self.optimal_threshold is not None:
            ax.axvline(self.optimal_threshold, color="grey", linestyle=":", label="cheapest if calibrated")
        ax.set(xlabel="threshold", ylabel="mean cost")
        ax.legend()


class ReliabilityDisplay(Display):
    """How often events take place against their probability, with the band of true probabilities.

    The curve is the share of events as a function of the probability that never falls (isotonic regression): no bins
    are chosen. The band holds such curves of events that take place with just these probabilities; where the curve
    leaves it, the probabilities are wrong there. Bars show how many rows have each probability.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        0 or 1.
    y_proba : array-like of shape (n,)
        The probability of 1.
    level : float, default=0.9
        How often the band holds the curve at a given probability, if the probabilities are true.
    n_resamples : int, default=200
        Draws of events for the band.
    random_state : None, int, RandomState or Generator, default=None
        Their seed.

    Attributes
    ----------
    probabilities_ : ndarray of shape (m,)
        The probabilities that occur, in rising order.
    shares_ : ndarray of shape (m,)
        The curve at each.
    low_, high_ : ndarray of shape (m,)
        The band.
    outside_ : float
        The share of rows at which the curve leaves the band.
    line_ : matplotlib artist
        What was drawn.

    References
    ----------
    T. Dimitriadis, T. Gneiting and A. Jordan, *Stable reliability diagrams for probabilistic classifiers*, PNAS 118
    (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import ReliabilityDisplay
    >>> random = np.random.default_rng(0)
    >>> p = random.random(2000)
    >>> y = random.random(2000) < p
    >>> true, squared = (ReliabilityDisplay(y, one, random_state=0).outside_ for one in (p, p**2))
    >>> true < 0.2 < squared
    True
    """

    def __init__(
        self, y_true: Any, y_proba: Any, *, level: float = 0.9, n_resamples: int = 200, random_state: Any = None
    ) -> None:
        self.level = check_share("ReliabilityDisplay", "level", level)
        self.n_resamples = read_integer("ReliabilityDisplay", "n_resamples", n_resamples, 1)
        hit, p = column_or_1d(y_true).astype(np.float64), column_or_1d(y_proba).astype(np.float64)
        if hit.shape != p.shape or not len(p) or not ((p >= 0) & (p <= 1)).all() or not np.isin(hit, (0, 1)).all():
            raise DataError(
                f"ReliabilityDisplay: each row needs an event, 0 or 1, and a probability in [0, 1]; got {len(hit)} "
                f"events and {len(p)} probabilities. Give predict_proba(X)[:, 1] and y == classes_[1]."
            )
        self.probabilities_, first, place = np.unique(p, return_index=True, return_inverse=True)
        self.counts_ = np.bincount(place)
        self.shares_ = recalibrate(hit, p)[first]
        draw = np.random.default_rng(seed_sequence(random_state))
        curves = [recalibrate((draw.random(len(p)) < p).astype(np.float64), p)[first] for _ in range(self.n_resamples)]
        tails = np.quantile(curves, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
        self.low_, self.high_ = tails
        strange = (self.shares_ < self.low_ - 1e-12) | (self.shares_ > self.high_ + 1e-12)
        self.outside_ = float(strange @ self.counts_ / len(p))

    from_predictions = draws(__init__)

    @draws
    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        level: float = 0.9,
        n_resamples: int = 200,
        random_state: Any = None,
    ) -> "ReliabilityDisplay":
        """Draw the curve of a fitted classifier; of three classes and more, of its most probable one.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Rows that it was not fitted to.
        y : array-like of shape (n_samples,)
            Their labels.
        level : float, default=0.9
            How often the band holds the curve at a given probability, if the probabilities are true.
        n_resamples : int, default=200
            Draws of events for the band.
        random_state : None, int, RandomState or Generator, default=None
            Their seed.
        """
        if not hasattr(estimator, "predict_proba"):
            raise DataError(
                f"ReliabilityDisplay: the estimator must have predict_proba; {type(estimator).__name__} has none. Wrap "
                f"it in CalibratedClassifierCV."
            )
        hit, p = read_events("ReliabilityDisplay", y, estimator.predict_proba(X), estimator.classes_)
        return cls(hit, p, level=level, n_resamples=n_resamples, random_state=random_state)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        band = f"true probabilities, {100 * self.level:g} %"
        ax.plot([0, 1], [0, 1], color="grey", linestyle=":")
        ax.fill_between(self.probabilities_, self.low_, self.high_, color="0.8", linewidth=0, label=band)
        settings = {"color": "tab:blue", "label": f"{100 * self.outside_:.0f} % of the rows outside"} | kwargs
        (self.line_,) = ax.plot(self.probabilities_, self.shares_, **settings)
        # The rows stand along the foot of the picture, as bars without a scale.
        foot = ax.inset_axes((0.0, 0.0, 1.0, 0.12), sharex=ax)
        foot.hist(self.probabilities_, bins=30, range=(0, 1), weights=self.counts_, color="0.55", alpha=0.7)
        foot.axis("off")
        ax.set(xlabel="probability", ylabel="share of events", xlim=(0, 1), ylim=(0, 1))
        ax.legend(loc="upper left")


class CoverageDisplay(Display):
    """Measured coverages with their intervals, of all rows, of groups and over time, beside what was promised.

    Parameters
    ----------
    measured : Coverage
        What :func:`mercer.conformal.check_coverage` returned.
    promised : float
        The coverage that was asked for.

    Attributes
    ----------
    names_ : list of str
        What was measured: all rows, each group, each part in time.
    shares_ : ndarray of shape (n_names, 3)
        Coverage, low and high end of each.
    broken_ : list of str
        Those whose interval lies below the promise.
    points_ : matplotlib artist
        What was drawn.

    Examples
    --------
    >>> from mercer.conformal import check_coverage
    >>> from mercer.inspection import CoverageDisplay
    >>> groups = ["a"] * 50 + ["b"] * 50
    >>> measured = check_coverage([0.0] * 100, [[-1, 1]] * 60 + [[1, 2]] * 40, groups=groups)
    >>> CoverageDisplay(measured, 0.9).broken_
    ['all rows', 'b']
    """

    artist = "errorbar"

    def __init__(self, measured: Any, promised: float) -> None:
        self.measured = measured
        self.promised = check_share("CoverageDisplay", "promised", promised)
        parts = {"all rows": measured} | {str(name): one for name, one in measured.groups.items()}
        parts |= {f"part {number}": one for number, one in enumerate(measured.periods, start=1)}
        self.names_ = list(parts)
        self.shares_ = np.array([(one.coverage, one.low, one.high) for one in parts.values()])
        self.broken_ = [name for name, one in parts.items() if not one.holds(self.promised)]

    @draws
    @classmethod
    def from_result(cls, measured: Any, promised: float) -> "CoverageDisplay":
        """Draw measured coverages.

        Parameters
        ----------
        measured : Coverage
            What :func:`mercer.conformal.check_coverage` returned.
        promised : float
            The coverage that was asked for.
        """
        return cls(measured, promised)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        places, (value, low, high) = np.arange(len(self.names_)), self.shares_.T
        colours = ["tab:red" if name in self.broken_ else "tab:blue" for name in self.names_]
        settings = {"fmt": "none", "ecolor": colours} | kwargs
        ax.errorbar(value, places, xerr=[value - low, high - value], **settings)
        self.points_ = ax.scatter(value, places, c=colours)
        ax.axvline(self.promised, color="grey", linestyle=":", label="promised")
        ax.set(xlabel="share of rows held", yticks=places, ylim=(len(places) - 0.5, -0.5))
        ax.set_yticklabels(self.names_)
        ax.legend(loc="lower left")
