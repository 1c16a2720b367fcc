"""Cost curves: what a scorer costs under every mixture of priors and costs, for two classes."""

from typing import Any

import numpy as np
from sklearn.metrics import roc_curve
from sklearn.utils.validation import column_or_1d

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class CostCurveDisplay:
    """The least normalised cost of a score under every operating condition.

    Along the x axis is the share of the cost of missing every positive, P(+) c(miss) / (P(+) c(miss) + P(-) c(alarm)),
    from zero to one: priors and costs in one number. Each threshold of the score is a straight line there, from its
    rate of false alarms to its rate of misses; the curve is the lower envelope. Always deciding for one class gives the
    triangle below which a score is of use. Needs matplotlib, which is imported when :meth:`plot` is called.

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
    ax_, figure_, line_ : matplotlib objects
        Where and what was drawn.

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

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the curve of a fitted classifier.

        Parameters
        ----------
        estimator : estimator
            Fitted to two classes, with ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        CostCurveDisplay
        """
        if len(estimator.classes_) != 2:
            raise DataError(f"CostCurveDisplay: a cost curve is of two classes; got {len(estimator.classes_)}.")
        labels = column_or_1d(y) == estimator.classes_[1]
        return cls.from_predictions(labels, np.asarray(estimator.predict_proba(X))[:, 1], ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, y_true: Any, y_score: Any, *, ax: Any = None, **kwargs: Any) -> "CostCurveDisplay":
        """Draw the curve of scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            0 or 1, both present.
        y_score : array-like of shape (n_samples,)
            Higher for 1.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        CostCurveDisplay
        """
        labels = column_or_1d(y_true).astype(bool)
        if labels.all() or not labels.any():
            raise DataError("CostCurveDisplay: y_true must hold both classes; got one alone. Add rows of the other.")
        alarms, hits, _ = roc_curve(labels, y_score)
        return cls(alarms, 1 - hits).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "CostCurveDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        CostCurveDisplay
            The display itself.
        """
        ax = make_axes(ax)
        (self.line_,) = ax.plot(self.conditions_, self.costs_, **({"label": f"area {self.area_:.3f}"} | kwargs))
        # Always deciding for the cheaper class costs min(c, 1 - c): what a score must beat.
        ax.plot([0.0, 0.5, 1.0], [0.0, 0.5, 0.0], color="grey", linestyle=":", label="without looking")
        ax.set(xlabel="share of the cost of misses", ylabel="normalised cost", ylim=(0, 0.55))
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
