"""Pictures of trees: the drawing, the partition of the plane, the steps of a regression tree, criteria of impurity."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._written_file import write_whole
from mercer.errors import DataError, ParameterError
from mercer.inspection._display import Display, draws
from mercer.tree import impurity, leaf_regions, tree_svg


class TreeDisplay:
    """A drawing of a tree, which notebooks show by themselves.

    Parameters
    ----------
    svg : str
        The drawing, see :func:`mercer.tree.tree_svg`.

    Examples
    --------
    >>> from mercer.inspection import TreeDisplay
    >>> from mercer.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    >>> TreeDisplay.from_estimator(model).svg.count('class="node"')
    3
    """

    def __init__(self, svg: str) -> None:
        self.svg = svg

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> "TreeDisplay":
        """Draw a fitted tree.

        Parameters
        ----------
        estimator : estimator
            A fitted decision tree of mercer or scikit-learn.
        **options : dict
            Passed to :func:`mercer.tree.tree_svg`.

        Returns
        -------
        TreeDisplay
        """
        return cls(tree_svg(estimator, **options))

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: Any) -> None:
        """Write the drawing to a file.

        Parameters
        ----------
        path : str or path
            Where to.
        """
        write_whole(path, self.svg)


class LeafRegionsDisplay(Display):
    """The rectangles into which a tree with numeric splits divides a plane.

    Parameters
    ----------
    low, high : ndarray of shape (n_regions, 2)
        Corners of the rectangles, within the limits of the plane.
    value : ndarray of shape (n_regions,)
        What is answered inside: the number of a class, or a number.

    Attributes
    ----------
    patches_ : list of matplotlib artists
        The rectangles.

    Examples
    --------
    >>> from mercer.inspection import LeafRegionsDisplay
    >>> from mercer.tree import DecisionTreeClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2).fit(X[:, 2:], y)
    >>> len(LeafRegionsDisplay.compute(model, X[:, 2:]).value)
    3
    """

    def __init__(self, low: Any, high: Any, value: Any) -> None:
        self.low, self.high, self.value = low, high, value

    @classmethod
    def compute(cls, estimator: Any, X: Any) -> "LeafRegionsDisplay":
        """Compute the rectangles of a fitted tree of two columns, without drawing.

        Parameters
        ----------
        estimator : estimator
            A fitted decision tree of two columns with numeric splits.
        X : array-like of shape (n_samples, 2)
            Rows that set the limits of the plane.

        Returns
        -------
        LeafRegionsDisplay
        """
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != 2:
            raise DataError(
                f"LeafRegionsDisplay: X must have two columns; got shape {X.shape}. Fit a tree to two columns."
            )
        # Outer leaves reach to infinity: they are cut off 5 % beyond the rows.
        room = 0.05 * np.ptp(X, axis=0)
        low, high, value = leaf_regions(estimator)
        answer = value[:, 0] if value.shape[1] == 1 else value.argmax(axis=1)
        low, high = (np.clip(corner, X.min(axis=0) - room, X.max(axis=0) + room) for corner in (low, high))
        return cls(low, high, answer)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, *, ax: Any = None) -> "LeafRegionsDisplay":
        """Draw the rectangles of a fitted tree of two columns, and the rows.

        Parameters
        ----------
        estimator : estimator
            A fitted decision tree of two columns with numeric splits.
        X : array-like of shape (n_samples, 2)
            Rows; they set the limits.
        y : array-like of shape (n_samples,) or None, default=None
            Targets that colour the rows; None draws no rows.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        LeafRegionsDisplay
            The display, drawn.
        """
        display = cls.compute(estimator, X).plot(ax=ax)
        if y is not None:
            classes = getattr(estimator, "classes_", None)
            colour = np.asarray(y) if classes is None else np.searchsorted(classes, y)
            limits = {"vmin": 0, "vmax": len(classes) - 1} if classes is not None else display.limits_
            points = np.asarray(X)
            display.ax_.scatter(*points.T, c=colour, cmap="viridis", edgecolor="white", s=18, **limits)
        return display

    def _draw(self, ax: Any) -> None:
        from matplotlib import colormaps
        from matplotlib.patches import Rectangle

        # Equal answers have no span; a tiny one keeps the colours defined.
        span = max(float(np.ptp(self.value)), 1e-12)
        self.limits_ = {"vmin": float(np.min(self.value)), "vmax": float(np.min(self.value)) + span}
        self.patches_ = []
        for low, high, value in zip(self.low, self.high, self.value, strict=True):
            colour = colormaps["viridis"]((value - self.limits_["vmin"]) / span)
            box = Rectangle(low, *(high - low), facecolor=colour, alpha=0.35, edgecolor="black", linewidth=0.8)
            self.patches_.append(ax.add_patch(box))
        ax.set(xlim=(self.low[:, 0].min(), self.high[:, 0].max()), ylim=(self.low[:, 1].min(), self.high[:, 1].max()))


class StepRegressionDisplay(Display):
    """The piecewise constant fit of a regression tree of one column, and the loss of each first threshold.

    Parameters
    ----------
    x, y : ndarray of shape (n_samples,)
        The rows and their targets.
    edges, levels : ndarray
        Thresholds in rising order, and the answers between them: one more.

    Attributes
    ----------
    thresholds_, losses_ : ndarray
        Every threshold between two values, and the sum of squares left of and right of it about their means.

    Examples
    --------
    >>> from mercer.inspection import StepRegressionDisplay
    >>> display = StepRegressionDisplay(range(8), [4, 0, 5, 0, 5, 5, 5, 5], [3.5], [2.25, 5.0])
    >>> float(display.thresholds_[display.losses_.argmin()]), float(display.losses_.min())
    (3.5, 20.75)
    """

    def __init__(self, x: Any, y: Any, edges: Any, levels: Any) -> None:
        self.x, self.y = (np.asarray(values, dtype=np.float64) for values in (x, y))
        self.edges, self.levels = np.asarray(edges, dtype=np.float64), np.asarray(levels, dtype=np.float64)
        # Halfway between neighbours, as the tree splits: every threshold in between divides the rows alike.
        values = np.unique(self.x)
        self.thresholds_ = (values[1:] + values[:-1]) / 2
        self.losses_ = np.array([self._loss(threshold) for threshold in self.thresholds_])

    def _loss(self, threshold: float) -> float:
        left = self.x <= threshold
        return float(sum(((part - part.mean()) ** 2).sum() for part in (self.y[left], self.y[~left])))

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any) -> "StepRegressionDisplay":
        """Draw the steps of a fitted regression tree of one column.

        Parameters
        ----------
        estimator : estimator
            A fitted regression tree of one column.
        X : array-like of shape (n_samples, 1)
            Rows.
        y : array-like of shape (n_samples,)
            Targets.
        """
        low, high, value = leaf_regions(estimator)
        order = np.argsort(low[:, 0])
        x = np.asarray(X, dtype=np.float64)[:, 0]
        return cls(x, y, high[order, 0][:-1], value[order, 0])

    def _grid(self) -> dict[str, Any]:
        return {"rows": 2, "sharex": True}

    def _draw(self, axes: Any) -> None:
        axes[0].scatter(self.x, self.y, s=14, color="grey")
        ends = np.concatenate([[self.x.min()], self.edges, [self.x.max()]])
        axes[0].stairs(self.levels, ends, baseline=None, color="black", linewidth=1.5)
        axes[0].set(ylabel="y")
        axes[1].plot(self.thresholds_, self.losses_, marker="o", markersize=3)
        axes[1].set(xlabel="threshold", ylabel="sum of squares")


class ImpurityDisplay(Display):
    """Entropy, Gini's index and the error of a node with two classes against the share of one of them.

    All are zero in pure nodes and largest at one half; the first two are strictly concave, so that a split which
    changes the shares always gains, while the error gains only where the commonest class changes.

    Parameters
    ----------
    shares : ndarray of shape (n_points,)
        Shares p of one of two classes.
    curves : dict of ndarray
        The impurity at each share, by criterion.

    Attributes
    ----------
    lines_ : list of matplotlib artists
        One for each criterion.

    Examples
    --------
    >>> from mercer.inspection import ImpurityDisplay
    >>> curves = ImpurityDisplay.curves_of(("entropy", "gini"), [0.0, 0.5, 1.0])
    >>> {name: values.tolist() for name, values in curves.items()}
    {'entropy': [0.0, 1.0, 0.0], 'gini': [0.0, 0.5, 0.0]}
    """

    def __init__(self, shares: np.ndarray, curves: dict[str, np.ndarray]) -> None:
        self.shares = shares
        self.curves = curves

    @staticmethod
    def curves_of(criteria: Sequence[str], shares: Any) -> dict[str, np.ndarray]:
        """Compute the impurity at each share, by criterion.

        Parameters
        ----------
        criteria : sequence of str
            Criteria that :func:`mercer.tree.impurity` knows.
        shares : array-like of shape (n_points,)
            Shares p of one of two classes.

        Returns
        -------
        dict of ndarray
        """
        return {
            name: np.array([impurity([0, 1], name, sample_weight=[1.0 - p, p]) for p in shares]) for name in criteria
        }

    @draws
    @classmethod
    def from_criteria(
        cls, criteria: Sequence[str] = ("entropy", "gini", "misclassification"), *, n_points: int = 201
    ) -> "ImpurityDisplay":
        """Draw the curves of some criteria.

        Parameters
        ----------
        criteria : sequence of str, default=("entropy", "gini", "misclassification")
            Criteria that :func:`mercer.tree.impurity` knows.
        n_points : int, default=201
            Shares from 0 to 1.
        """
        if n_points < 3:
            raise ParameterError(f"ImpurityDisplay: n_points must be an integer in [3, inf); got {n_points!r}.")
        shares = np.linspace(0.0, 1.0, n_points)
        return cls(shares, cls.curves_of(criteria, shares))

    def _draw(self, ax: Any) -> None:
        self.lines_ = [ax.plot(self.shares, values, label=name)[0] for name, values in self.curves.items()]
        ax.set(xlabel="share p of one of two classes", ylabel="impurity", title="pure nodes at both ends")
        ax.legend(fontsize=7)
