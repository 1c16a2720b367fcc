"""Costs of decisions between two classes: against the threshold, and against the ratio of costs."""

from typing import Any

import numpy as np
from sklearn.metrics import roc_curve
from sklearn.utils.validation import column_or_1d

from mercer._base.reading import read_costs
from mercer.decision import accuracy_costs
from mercer.errors import DataError
from mercer.inspection._display import Display, draws


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
        matrix = accuracy_costs(2) if costs is None else read_costs("ThresholdCurveDisplay", costs, 2)
        labels, shares = column_or_1d(y_true).astype(bool), column_or_1d(y_proba).astype(np.float64)
        if matrix.shape != (2, 2) or labels.shape != shares.shape or len(labels) == 0:
            raise DataError(
                f"ThresholdCurveDisplay: costs must have shape (2, 2) and rows a label and a probability each; got "
                f"{matrix.shape}, {labels.shape} and {shares.shape}."
            )
        thresholds = np.unique(np.concatenate([[0.0], shares, [1.0]]))
        order = np.sort(shares[labels]), np.sort(shares[~labels])
        # Rows with a probability above each threshold, from the sorted probabilities of either class.
        hits, alarms = (len(ranked) - np.searchsorted(ranked, thresholds, side="right") for ranked in order)
        counts = np.array([[len(order[1]) - alarms, len(order[0]) - hits], [alarms, hits]])
        mean = (counts * matrix[:, :, None]).sum(axis=(0, 1)) / len(labels)
        # Acting costs less than not acting where p (miss - hit) > (1 - p) (alarm - pass): p above their break-even.
        price = matrix[1, 0] - matrix[0, 0] + matrix[0, 1] - matrix[1, 1]
        optimal = float((matrix[1, 0] - matrix[0, 0]) / price) if price > 0 else None
        return cls(thresholds, mean, optimal_threshold=optimal)

    from_predictions = draws(compute)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        settings = {"drawstyle": "steps-post", "label": "mean cost"} | kwargs
        (self.line_,) = ax.plot(self.thresholds, self.mean_costs, **settings)
        ax.axvline(self.best_threshold_, color="black", linewidth=1, label="cheapest here")
        if self.optimal_threshold is not None:
            ax.axvline(self.optimal_threshold, color="grey", linestyle=":", label="cheapest if calibrated")
        ax.set(xlabel="threshold", ylabel="mean cost")
        ax.legend()
