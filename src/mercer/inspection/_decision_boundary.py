"""Decision regions of a classifier of two columns, with the lines on which its scores are equal."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class DecisionBoundaryDisplay:
    """The classes that a classifier gives to points of the plane, its boundary, and rows.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    x, y : array-like of shape (p,) and (q,)
        The grid.
    classes : array-like of shape (q, p)
        The number of the class of each point.
    scores : array-like of shape (q, p) or None, default=None
        Scores of two classes, positive for the second: the boundary is where they are zero.
    levels : sequence of float, default=(0.0,)
        The scores to draw lines at; (-1, 0, 1) shows the margins of a support vector machine.
    names : sequence or None, default=None
        Names of the classes.
    support : array-like of shape (s, 2) or None, default=None
        Points to draw rings around: support vectors.
    fill : {"classes", "scores"}, default="classes"
        What the colours of the plane show: the decided class, or the score of two classes.

    Attributes
    ----------
    ax_, figure_, regions_, lines_, points_, rings_ : matplotlib objects
        Where and what was drawn; ``lines_``, ``points_`` and ``rings_`` may be None.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import DecisionBoundaryDisplay
    >>> from mercer.linear_model import LogisticRegression
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> model = LogisticRegression().fit(X, ["left", "left", "right", "right"])
    >>> display = DecisionBoundaryDisplay.compute(model, X, resolution=5)
    >>> display.classes[0].tolist()
    [0, 0, 1, 1, 1]
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        classes: Any,
        scores: Any = None,
        *,
        levels: Any = (0.0,),
        names: Any = None,
        support: Any = None,
        fill: str = "classes",
    ) -> None:
        self.x, self.y, self.classes = np.asarray(x), np.asarray(y), np.asarray(classes)
        self.scores = None if scores is None else np.asarray(scores, dtype=np.float64)
        self.levels, self.names = tuple(levels), names
        self.support = None if support is None else np.asarray(support, dtype=np.float64)
        self.fill = fill
        if fill not in ("classes", "scores") or (fill == "scores" and scores is None):
            raise DataError(
                f"DecisionBoundaryDisplay: fill must be 'classes' or, where a classifier of two classes has "
                f"decision_function, 'scores'; got {fill!r}{' without scores' if scores is None else ''}."
            )
        if self.classes.shape != (len(self.y), len(self.x)):
            raise DataError(
                f"DecisionBoundaryDisplay: classes must have shape ({len(self.y)}, {len(self.x)}), rows along y; got "
                f"{self.classes.shape}. Transpose them, or use from_estimator."
            )

    @classmethod
    def compute(
        cls,
        estimator: Any,
        X: Any,
        *,
        resolution: int = 200,
        margin: float = 0.1,
        levels: Any = (0.0,),
        support: bool = False,
        fill: str = "classes",
    ) -> "DecisionBoundaryDisplay":
        """Ask a fitted classifier for the plane around rows.

        Parameters
        ----------
        estimator : classifier
            Fitted to two columns.
        X : array-like of shape (n, 2)
            Rows whose range, widened by `margin` of it on each side, is shown.
        resolution : int, default=200
            Points along each side.
        margin : float, default=0.1
        levels : sequence of float, default=(0.0,)
            Scores of two classes to draw lines at.
        support : bool, default=False
            Whether to draw rings around the support vectors of the classifier.
        fill : {"classes", "scores"}, default="classes"
            What the colours of the plane show.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise DataError(f"DecisionBoundaryDisplay: X must have two columns; got shape {rows.shape}. Select two.")
        low, high = rows.min(axis=0), rows.max(axis=0)
        # A constant column has no range to take a share of.
        room = margin * np.where(high > low, high - low, 1.0)
        x, y = (np.linspace(low[j] - room[j], high[j] + room[j], resolution) for j in (0, 1))
        points: Any = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        if hasattr(estimator, "feature_names_in_") and hasattr(X, "columns"):
            # A frame of the library that the rows came in: the estimator knows its columns by name.
            points = type(X)(dict(zip(X.columns, points.T, strict=True)))
        names = np.asarray(estimator.classes_)
        # Class names are sorted: their places are indices of colours.
        classes = np.searchsorted(names, estimator.predict(points)).reshape(resolution, resolution)
        scores = None
        if len(names) == 2 and hasattr(estimator, "decision_function"):
            scores = np.asarray(estimator.decision_function(points)).reshape(resolution, resolution)
        rings = estimator.support_vectors_ if support else None
        return cls(x, y, classes, scores, levels=levels, names=names, support=rings, fill=fill)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, ax: Any = None, **options: Any
    ) -> "DecisionBoundaryDisplay":
        """Draw a fitted classifier around rows, and the rows where their labels are given."""
        display = cls.compute(estimator, X, **options)
        return display.plot(X=None if y is None else X, y=y, ax=ax)

    def plot(self, *, X: Any = None, y: Any = None, ax: Any = None, **kwargs: Any) -> "DecisionBoundaryDisplay":
        """Draw the display on `ax`, or a new figure; `kwargs` are passed to matplotlib's ``pcolormesh``."""
        from matplotlib import colormaps
        from matplotlib.colors import ListedColormap

        ax = make_axes(ax)
        count = int(self.classes.max()) + 1 if self.names is None else len(self.names)
        palette = ListedColormap(colormaps["tab10"](np.arange(count) % 10))
        style = {"cmap": palette, "vmin": -0.5, "vmax": count - 0.5, "alpha": 0.25, "shading": "nearest"} | kwargs
        shown = self.classes
        if self.fill == "scores" and self.scores is not None:
            # Colours run from the lowest to the highest score with zero, the boundary, in their middle.
            limit, shown = float(np.abs(self.scores).max()) or 1.0, self.scores
            style |= {"cmap": "coolwarm", "vmin": -limit, "vmax": limit, "alpha": 0.6} | kwargs
        self.regions_ = ax.pcolormesh(self.x, self.y, shown, **style)
        self.lines_ = self.points_ = self.rings_ = None
        if self.scores is not None:
            dashes = ["solid" if level == 0 else "dashed" for level in self.levels]
            self.lines_ = ax.contour(self.x, self.y, self.scores, self.levels, colors="black", linestyles=dashes)
        elif count > 1:
            # Class indices jump by one at a boundary, so that contours halfway between them follow it.
            halves = np.arange(count - 1) + 0.5
            self.lines_ = ax.contour(self.x, self.y, self.classes, halves, colors="black", linewidths=0.8)
        if X is not None:
            numbers = self._number_labels(y)
            self.points_ = ax.scatter(*np.asarray(X).T, s=12, c=numbers, cmap=palette, vmin=-0.5, vmax=count - 0.5)
        if self.support is not None:
            self.rings_ = ax.scatter(*self.support.T, s=60, facecolors="none", edgecolors="black", linewidths=0.8)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _number_labels(self, y: Any) -> np.ndarray:
        """Return the index of each label among the names."""
        labels = np.asarray(y)
        if self.names is None:
            return labels
        unknown = np.setdiff1d(labels, self.names)
        if len(unknown):
            raise DataError(
                f"DecisionBoundaryDisplay: y must hold labels of the classifier, {list(self.names)}; got "
                f"{unknown.tolist()}."
            )
        return np.searchsorted(self.names, labels)
