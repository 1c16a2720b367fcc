"""Decisions among classes: regions of the plane, and densities and posteriors of one number."""

from typing import Any, Self

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import issparse

from mercer.errors import DataError
from mercer.inspection._display import Display


class ClassDensityDisplay(Display):
    """Two panels: p(x | c) P(c) of each class with the error shaded, and the posteriors P(c | x) with boundaries.

    Parameters
    ----------
    model : ClassDensities
        Densities of one number, and priors.
    x : array-like of shape (m,)
        Where to draw, increasing.
    names : sequence of str or None, default=None
        Names of the classes.

    Attributes
    ----------
    joint_, posterior_ : ndarray of shape (m, n_classes)
        What the panels show.
    boundaries_ : ndarray
        Where the decision changes: crossings of the two highest curves, to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decision import ClassDensities
    >>> from mercer.estimation import GaussianDensity
    >>> from mercer.inspection import ClassDensityDisplay
    >>> world = ClassDensities([GaussianDensity(0.0, 1.0), GaussianDensity(2.0, 1.0)], [0.2, 0.8])
    >>> ClassDensityDisplay(world, np.linspace(-4, 6, 200)).boundaries_.round(6)
    array([0.306853])
    """

    def __init__(self, model: Any, x: Any, *, names: Any = None) -> None:
        self.model, self.x = model, np.asarray(x, dtype=np.float64)
        if self.x.ndim != 1 or len(self.x) < 2 or not (np.diff(self.x) > 0).all():
            raise DataError(
                f"ClassDensityDisplay: x must have increasing numbers; got shape {self.x.shape}. Sort them."
            )
        count = len(model.densities)
        self.names = [f"class {k}" for k in range(count)] if names is None else list(names)
        if len(self.names) != count:
            raise DataError(
                f"ClassDensityDisplay: names must have {count} entries, one a class; got {len(self.names)}."
            )
        self.joint_ = np.exp(model.log_joint(self.x))
        self.posterior_ = model.posterior(self.x)
        self.boundaries_ = self._boundaries()

    def _boundaries(self) -> np.ndarray:
        decided = self.joint_.argmax(axis=1)
        boundaries = []
        # A change of the decided class between two points brackets a root of the difference of log-joints.
        for i in np.flatnonzero(np.diff(decided)):
            first, second = decided[i], decided[i + 1]

            def difference(x: float, first: int = first, second: int = second) -> float:
                logs = self.model.log_joint(np.array([x]))[0]
                return float(logs[first] - logs[second])

            boundaries.append(brentq(difference, self.x[i], self.x[i + 1]))
        return np.array(boundaries)

    def _grid(self) -> dict[str, Any]:
        return {"rows": 2, "sharex": True}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        for k, name in enumerate(self.names):
            axes[0].plot(self.x, self.joint_[:, k], label=name, **kwargs)
            axes[1].plot(self.x, self.posterior_[:, k], label=name, **kwargs)
        # The probability of all classes but the one decided: its integral is the Bayes error.
        wrong = self.joint_.sum(axis=1) - self.joint_.max(axis=1)
        axes[0].fill_between(self.x, wrong, color="grey", alpha=0.4, label="error")
        for ax in axes:
            for boundary in self.boundaries_:
                ax.axvline(boundary, color="grey", linestyle=":")
        axes[0].set(ylabel="p(x | c) P(c)")
        axes[1].set(xlabel="x", ylabel="P(c | x)", ylim=(0, 1.02))
        axes[0].legend()


class DecisionBoundaryDisplay(Display):
    """The classes that a classifier gives to points of the plane, its boundary, and rows.

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
    regions_, lines_, points_, rings_ : matplotlib objects
        What was drawn; ``lines_``, ``points_`` and ``rings_`` may be None.

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

    artist = "pcolormesh"

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
        levels: Any = None,
        support: bool | None = None,
        fill: str = "classes",
    ) -> Self:
        """Ask a fitted classifier, or a clustering that predicts, for the plane around rows.

        Parameters
        ----------
        estimator : classifier or clustering
            Fitted to two columns.
        X : array-like of shape (n, 2)
            Rows whose range, widened by `margin` of it on each side, is shown.
        resolution : int, default=200
            Points along each side.
        margin : float, default=0.1
        levels : sequence of float or None, default=None
            Scores of two classes to draw lines at; None: the boundary, and the margins of a support vector machine.
        support : bool or None, default=None
            Whether to draw rings around the support vectors of the classifier; None does if it has any.
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
        names = np.asarray(estimator.classes_ if hasattr(estimator, "classes_") else np.unique(estimator.labels_))
        # Class names are sorted: their places are indices of colours.
        classes = np.searchsorted(names, estimator.predict(points)).reshape(resolution, resolution)
        scores = None
        if len(names) == 2 and hasattr(estimator, "decision_function"):
            scores = np.asarray(estimator.decision_function(points)).reshape(resolution, resolution)
        is_machine = hasattr(estimator, "support_vectors_") and not issparse(estimator.support_vectors_)
        rings = estimator.support_vectors_ if is_machine and support is not False else None
        if support and rings is None:
            raise DataError(
                f"DecisionBoundaryDisplay: support=True needs a model with dense support_vectors_; got "
                f"{type(estimator).__name__}. Leave it out."
            )
        if levels is None:
            levels = (-1.0, 0.0, 1.0) if rings is not None and scores is not None else (0.0,)
        return cls(x, y, classes, scores, levels=levels, names=names, support=rings, fill=fill)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, *, ax: Any = None, **options: Any) -> Self:
        """Draw a fitted classifier around rows, and the rows where their labels are given."""
        display = cls.compute(estimator, X, **options)
        return display.plot(X=None if y is None else X, y=y, ax=ax)

    def plot(self, *, X: Any = None, y: Any = None, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the display, and rows `X` in the colours of their labels `y`, on `ax` or in a new figure.

        `kwargs` are passed to matplotlib's ``pcolormesh``.
        """
        return super().plot(ax=ax, X=X, y=y, **kwargs)

    def _draw(self, ax: Any, *, X: Any = None, y: Any = None, **kwargs: Any) -> None:
        from matplotlib import colormaps
        from matplotlib.colors import ListedColormap

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
