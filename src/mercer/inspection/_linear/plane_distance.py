"""Signed distances of rows to the separating line of a linear classifier of two columns."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class PlaneDistanceDisplay:
    """The line wᵀx + b = 0 in the plane, its normal vector, and the perpendicular of each row on it.

    The signed distance of a row is (wᵀx + b) / |w|, positive on the side of the normal. Needs matplotlib, which is
    imported when :meth:`plot` is called.

    Parameters
    ----------
    w : array-like of shape (2,)
        The normal, not zero.
    b : float
        The offset.
    X : array-like of shape (n, 2)
        Rows.
    y : array-like of shape (n,) or None, default=None
        Labels, shown as colours.

    Attributes
    ----------
    distances_ : ndarray of shape (n,)
        Signed distances.
    feet_ : ndarray of shape (n, 2)
        The nearest point of the line to each row.
    ax_, figure_, line_, segments_, normal_, points_ : matplotlib objects
        Where and what was drawn.

    Examples
    --------
    >>> from mercer.inspection import PlaneDistanceDisplay
    >>> display = PlaneDistanceDisplay([3.0, 4.0], -5.0, [[3.0, 4.0], [0.0, 0.0]])
    >>> display.distances_, display.feet_[1]
    (array([ 4., -1.]), array([0.6, 0.8]))
    """

    def __init__(self, w: Any, b: float, X: Any, y: Any = None) -> None:
        self.w, self.b = np.asarray(w, dtype=np.float64), float(b)
        self.rows = np.asarray(X, dtype=np.float64)
        if self.w.shape != (2,) or not self.w.any() or self.rows.ndim != 2 or self.rows.shape[1] != 2:
            raise DataError(
                "PlaneDistanceDisplay: w must be two numbers, not both zero, and X have two columns; got "
                f"{self.w.tolist()} and shape {self.rows.shape}. Fit a model to two columns."
            )
        self.labels = None if y is None else np.asarray(y)
        norm = np.linalg.norm(self.w)
        # The signed distance from the line w^T x + b = 0 is (w^T x + b) / |w|; the foot lies that far along -w / |w|.
        self.distances_ = (self.rows @ self.w + self.b) / norm
        self.feet_ = self.rows - self.distances_[:, None] * self.w / norm

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, ax: Any = None, **kwargs: Any
    ) -> "PlaneDistanceDisplay":
        """Draw the line of a fitted linear classifier of two classes.

        Parameters
        ----------
        estimator : linear classifier
            With ``coef_`` of shape (1, 2) and ``intercept_``.
        X : array-like of shape (n, 2)
            Rows.
        y : array-like of shape (n,) or None, default=None
            Labels.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot`` of the line.

        Returns
        -------
        PlaneDistanceDisplay
        """
        coef = np.asarray(getattr(estimator, "coef_", np.empty(0)), dtype=np.float64)
        if coef.size != 2:
            raise DataError(
                f"PlaneDistanceDisplay: the model must be linear, of two columns and two classes; got "
                f"{type(estimator).__name__} with coef_ of shape {coef.shape}."
            )
        offset = float(np.ravel(getattr(estimator, "intercept_", 0.0))[0])
        return cls(coef.ravel(), offset, X, y).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "PlaneDistanceDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot`` of the line.

        Returns
        -------
        PlaneDistanceDisplay
            The display itself.
        """
        from matplotlib.collections import LineCollection

        ax = make_axes(ax)
        unit = self.w / np.linalg.norm(self.w)
        along = np.array([-unit[1], unit[0]])
        # The line is drawn as far as the feet of the rows reach, and a tenth of the rows' extent further.
        places = self.feet_ @ along
        room = 0.1 * float(np.ptp(self.rows, axis=0).max(initial=0.0)) or 1.0
        origin = -self.b / np.linalg.norm(self.w) * unit
        ends = origin + np.outer([places.min() - room, places.max() + room], along)
        (self.line_,) = ax.plot(*ends.T, **({"color": "black"} | kwargs))
        self.segments_ = LineCollection(
            list(np.stack([self.rows, self.feet_], axis=1)), colors="0.6", linewidths=0.7, zorder=0
        )
        ax.add_collection(self.segments_)
        middle = origin + places.mean() * along
        # The arrow shows the direction of the normal; its length has no meaning but that it can be seen.
        self.normal_ = ax.annotate(
            "", middle + 2 * room * unit, middle, arrowprops={"arrowstyle": "->", "color": "tab:red"}
        )
        colours = None if self.labels is None else np.unique(self.labels, return_inverse=True)[1]
        self.points_ = ax.scatter(*self.rows.T, s=14, c=colours, cmap=None if colours is None else "coolwarm")
        ax.set(aspect="equal", xlabel="x₁", ylabel="x₂")
        self.ax_, self.figure_ = ax, ax.figure
        return self
