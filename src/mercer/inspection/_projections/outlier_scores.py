"""Scores of outliers: sorted with the threshold, or as contours over two columns."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes

# Points of the grid along each axis of a contour plot.
_GRID = 120
# Contour lines of scores.
_LEVELS = 8


class OutlierScoresDisplay:
    """What a detector of outliers says of rows: scores in rising order, or contours over two columns.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Scores of rows: the lower, the stranger.
    offset : float
        The threshold: rows with lower scores are outliers.
    X : array-like of shape (n, 2) or None, default=None
        The rows, for contours; None draws the sorted scores.
    grid : tuple of (x, y, scores) or None, default=None
        Scores on a grid of points (m, m), with the coordinates x and y (m,), for contours.

    Attributes
    ----------
    n_outliers_ : int
        Rows with a score below the threshold.
    ax_, figure_ : matplotlib objects
        Where it was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import OutlierScoresDisplay
    >>> OutlierScoresDisplay([-0.4, -0.8, -0.5], offset=-0.6).n_outliers_
    1
    """

    def __init__(self, scores: Any, *, offset: float, X: Any = None, grid: Any = None) -> None:
        self.scores = np.asarray(scores, dtype=np.float64)
        self.offset = float(offset)
        self.X = X
        self.grid = grid
        self.n_outliers_ = int(np.count_nonzero(self.scores < self.offset))

    @classmethod
    def from_detector(
        cls, detector: Any, X: Any, *, kind: str = "sorted", ax: Any = None, **kwargs: Any
    ) -> "OutlierScoresDisplay":
        """Score rows with a fitted detector, and draw the scores.

        Parameters
        ----------
        detector : fitted detector
            With ``score_samples`` and ``offset_``; local outlier factors need ``novelty=True``.
        X : array-like of shape (n, d)
            Rows; two columns for contours.
        kind : {'sorted', 'contour'}, default='sorted'
            The scores in rising order, or contours of the score over two columns.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot`` or ``scatter``.

        Returns
        -------
        OutlierScoresDisplay
            The display, drawn.
        """
        if kind not in ("sorted", "contour"):
            raise DataError(f"OutlierScoresDisplay: kind must be one of 'sorted', 'contour'; got {kind!r}.")
        rows, offset = np.asarray(X, dtype=np.float64), float(np.ravel(detector.offset_)[0])
        scores = np.ravel(detector.score_samples(X))
        if kind == "sorted":
            return cls(scores, offset=offset).plot(ax=ax, **kwargs)
        if rows.shape[1] != 2:
            raise DataError(
                f"OutlierScoresDisplay: contours need rows of 2 columns; got {rows.shape[1]}. Use kind='sorted', or "
                f"fit the detector to two columns."
            )
        low, high = rows.min(axis=0), rows.max(axis=0)
        margin = 0.08 * np.where(high > low, high - low, 1.0)
        x, y = (np.linspace(low[j] - margin[j], high[j] + margin[j], _GRID) for j in range(2))
        # Points lie row by row along y, so the values have the shape (y, x) that contour takes.
        points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        values = np.ravel(detector.score_samples(points)).reshape(_GRID, _GRID)
        return cls(scores, offset=offset, X=rows, grid=(x, y, values)).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "OutlierScoresDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot`` or ``scatter``.

        Returns
        -------
        OutlierScoresDisplay
            The display itself.
        """
        ax = make_axes(ax)
        if self.X is None or self.grid is None:
            self._draw_sorted(ax, **kwargs)
        else:
            self._draw_contours(ax, **kwargs)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_sorted(self, ax: Any, **kwargs: Any) -> None:
        ordered = np.sort(self.scores)
        places, strange = np.arange(1, len(ordered) + 1), ordered < self.offset
        style = {"linestyle": "none", "marker": ".", "markersize": 4} | kwargs
        ax.plot(places[~strange], ordered[~strange], color="tab:blue", **style)
        ax.plot(places[strange], ordered[strange], color="tab:red", **style)
        label = f"threshold {self.offset:.3g}: {self.n_outliers_} of {len(ordered)} rows below"
        ax.axhline(self.offset, color="grey", linestyle=":", label=label)
        ax.set(xlabel="rows, strangest first", ylabel="score")
        ax.legend(loc="lower right")

    def _draw_contours(self, ax: Any, **kwargs: Any) -> None:
        x, y, values = self.grid
        finite = np.isfinite(values)
        values = np.where(finite, values, values[finite].min() if finite.any() else 0.0)
        # Levels at equal shares of the grid: scores far out would else take all of them.
        levels = np.unique(np.quantile(values, np.linspace(0.0, 1.0, _LEVELS + 1)))
        if len(levels) > 1:
            ax.contourf(x, y, values, levels=levels, cmap="Blues", alpha=0.6)
        if values.min() < self.offset < values.max():
            ax.contour(x, y, values, levels=[self.offset], colors="tab:red", linewidths=1.2, linestyles="solid")
        strange = self.scores < self.offset
        style = {"s": 5} | kwargs
        ax.scatter(*self.X[~strange].T, color="0.25", **style)
        ax.scatter(*self.X[strange].T, color="tab:red", **style)
        ax.set(xticks=[], yticks=[])
