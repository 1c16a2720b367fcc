"""The cost of decisions between two classes against the threshold."""

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from mercer._base.reading import read_costs
from mercer.decision import accuracy_costs
from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class ThresholdCurveDisplay:
    """The mean cost of deciding for the second class where its probability exceeds a threshold.

    Marks the threshold that was cheapest on these rows, and the one that is cheapest if the probabilities are true:
    (c10 - c00) / (c10 - c00 + c01 - c11), with c_ac the cost of action a where class c is true. Far apart, they say
    that the probabilities want calibration. Needs matplotlib, which is imported when :meth:`plot` is called.

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
    ax_, figure_ : matplotlib objects
        Where it was drawn.
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

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, costs: Any = None, ax: Any = None, **kwargs: Any) -> Any:
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
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        ThresholdCurveDisplay
        """
        if len(estimator.classes_) != 2:
            raise DataError(
                f"ThresholdCurveDisplay: a threshold is between two classes; got {len(estimator.classes_)}."
            )
        shares = np.asarray(estimator.predict_proba(X))[:, 1]
        labels = column_or_1d(y) == estimator.classes_[1]
        return cls.from_predictions(labels, shares, costs=costs, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_proba: Any, *, costs: Any = None, ax: Any = None, **kwargs: Any
    ) -> "ThresholdCurveDisplay":
        """Draw the curve of probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            0 or 1.
        y_proba : array-like of shape (n_samples,)
            The probability of 1.
        costs : array-like of shape (2, 2) or None, default=None
            The cost of each decision where each class is true; None: an error costs one.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        ThresholdCurveDisplay
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
        return cls(thresholds, mean, optimal_threshold=optimal).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "ThresholdCurveDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        ThresholdCurveDisplay
            The display itself.
        """
        ax = make_axes(ax)
        settings = {"drawstyle": "steps-post", "label": "mean cost"} | kwargs
        (self.line_,) = ax.plot(self.thresholds, self.mean_costs, **settings)
        ax.axvline(self.best_threshold_, color="black", linewidth=1, label="cheapest here")
        if self.optimal_threshold is not None:
            ax.axvline(self.optimal_threshold, color="grey", linestyle=":", label="cheapest if calibrated")
        ax.set(xlabel="threshold", ylabel="mean cost")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
