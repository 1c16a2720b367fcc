"""Canonical variates: the scores of two tables against one another, pair by pair."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._source.namespace import to_numpy
from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class CanonicalVariatesDisplay:
    """Scatter of the scores of two tables, one panel per pair, each with its correlation.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    x_scores, y_scores : array-like of shape (n_samples, n_components)
        The scores of both tables.
    labels : array-like of shape (n_samples,) or None, default=None
        Numbers that colour the points.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        Of the scores shown.
    axes_ : ndarray of matplotlib axes
    figure_ : matplotlib figure
    points_ : list of matplotlib artists
        The scatters, one per pair.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import CanonicalVariatesDisplay
    >>> t = np.arange(6.0)[:, None]
    >>> CanonicalVariatesDisplay(t, -2 * t).correlations_.round(2)
    array([-1.])
    """

    def __init__(self, x_scores: Any, y_scores: Any, *, labels: Any = None) -> None:
        self.x_scores = np.asarray(x_scores, dtype=np.float64)
        self.y_scores = np.asarray(y_scores, dtype=np.float64)
        self.labels = labels
        if self.x_scores.shape != self.y_scores.shape or self.x_scores.ndim != 2:
            raise DataError(
                f"CanonicalVariatesDisplay: both tables of scores must have one shape (n_samples, n_components); got "
                f"{self.x_scores.shape} and {self.y_scores.shape}. Give what transform(X, y) returned."
            )
        t, u = self.x_scores - self.x_scores.mean(axis=0), self.y_scores - self.y_scores.mean(axis=0)
        sizes = np.sqrt((t**2).sum(axis=0) * (u**2).sum(axis=0))
        # A constant score has no correlation, and gets zero.
        self.correlations_ = (t * u).sum(axis=0) / np.where(sizes > 0, sizes, 1.0)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, labels: Any = None, axes: Any = None, **kwargs: Any
    ) -> "CanonicalVariatesDisplay":
        """Draw the scores that a fitted estimator gives to rows of two tables.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``transform(X, y)``: :class:`~mercer.cross_decomposition.CCA` and its relatives.
        X, y : array-like
            Rows of both tables.
        labels : array-like of shape (n_samples,) or None, default=None
            Numbers that colour the points.
        axes : array of matplotlib axes or None, default=None
            Where to draw, one per pair; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``scatter``.

        Returns
        -------
        CanonicalVariatesDisplay
            The display, drawn.
        """
        check_is_fitted(estimator)
        x_scores, y_scores = (to_numpy(scores) for scores in estimator.transform(X, y))
        return cls(x_scores, y_scores, labels=labels).plot(axes=axes, **kwargs)

    def plot(self, *, axes: Any = None, **kwargs: Any) -> "CanonicalVariatesDisplay":
        """Draw the display.

        Parameters
        ----------
        axes : array of matplotlib axes or None, default=None
            Where to draw, one per pair; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``scatter``.

        Returns
        -------
        CanonicalVariatesDisplay
            The display itself.
        """
        count = self.x_scores.shape[1]
        axes = np.atleast_1d(make_axes(axes, 1, count, figsize=(3.2 * count, 3.0)))
        options: dict[str, Any] = {"s": 10, "alpha": 0.7}
        if self.labels is not None:
            options["c"] = np.asarray(self.labels)
        self.points_ = []
        for pair, ax in enumerate(axes[:count]):
            self.points_.append(ax.scatter(self.x_scores[:, pair], self.y_scores[:, pair], **(options | kwargs)))
            ax.set(xlabel=f"x score {pair + 1}", ylabel=f"y score {pair + 1}")
            ax.set_title(f"correlation {self.correlations_[pair]:.2f}")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
