"""Pictures of mixtures: covariance ellipses over rows in mixed colours, and EM step by step."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class MixtureDisplay:
    """A Gaussian mixture in two columns: its ellipses, and the rows in a mix of the components' colours.

    Parameters
    ----------
    means : array-like of shape (k, 2)
    covariances : array-like of shape (k, 2, 2)
    rows : array-like of shape (n, 2) or None, default=None
    responsibilities : array-like of shape (n, k) or None, default=None
    deviations : float, default=2
        The half axes of an ellipse, in standard deviations: roots of the covariance's eigenvalues.

    Attributes
    ----------
    half_axes_ : ndarray of shape (k, 2)
        Of each ellipse, the shorter first.
    ax_, figure_, ellipses_, points_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import MixtureDisplay
    >>> MixtureDisplay([[0.0, 0.0]], [[[4.0, 0.0], [0.0, 9.0]]], deviations=1).half_axes_
    array([[2., 3.]])
    """

    def __init__(
        self, means: Any, covariances: Any, rows: Any = None, responsibilities: Any = None, *, deviations: float = 2.0
    ) -> None:
        self.means, self.covariances = np.asarray(means, float), np.asarray(covariances, float)
        if self.means.ndim != 2 or self.means.shape[1] != 2:
            raise DataError(
                f"MixtureDisplay: a mixture of two columns can be drawn; got means of shape {self.means.shape}. Take "
                f"model.marginal of two columns."
            )
        self.rows = None if rows is None else np.asarray(rows, float)
        self.responsibilities = None if responsibilities is None else np.asarray(responsibilities, float)
        self.deviations = deviations
        values, self._vectors = np.linalg.eigh(self.covariances)
        # Rounding can make the eigenvalue of a singular covariance slightly negative.
        self.half_axes_ = deviations * np.sqrt(np.maximum(values, 0.0))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, ax: Any = None, **options: Any) -> "MixtureDisplay":
        """Draw a fitted mixture of two columns, and rows if they are given."""
        parts = estimator.marginal([0, 1]) if estimator.means_.shape[1] == 2 else estimator
        shares = None if X is None else estimator.predict_proba(X)
        return cls(parts.means_, parts.covariances_, X, shares, **options).plot(ax=ax)

    def plot(self, *, ax: Any = None, colors: Any = None, **kwargs: Any) -> "MixtureDisplay":
        """Draw the display on `ax`, or a new figure; `kwargs` are passed to matplotlib's ``Ellipse``."""
        from matplotlib import colormaps
        from matplotlib.colors import to_rgb
        from matplotlib.patches import Ellipse

        ax = make_axes(ax)
        k = len(self.means)
        palette = np.array([to_rgb(color) for color in colors or colormaps["tab10"](np.arange(k) % 10)])
        self.points_ = None
        if self.rows is not None:
            # A row's colour is the mean of the components' colours, weighted by its responsibilities.
            shades = "0.5" if self.responsibilities is None else np.clip(self.responsibilities @ palette, 0, 1)
            self.points_ = ax.scatter(*self.rows.T, s=5, c=shades, alpha=0.7, linewidths=0)
        # The first eigenvector's direction turns the ellipse; the second is at right angles to it.
        angles = np.degrees(np.arctan2(self._vectors[:, 1, 0], self._vectors[:, 0, 0]))
        self.ellipses_ = []
        for q in range(k):
            style = {"facecolor": "none", "edgecolor": palette[q], "linewidth": 1.5} | kwargs
            shape = Ellipse(self.means[q], *(2 * self.half_axes_[q]), angle=float(angles[q]), **style)
            self.ellipses_.append(ax.add_patch(shape))
            ax.plot(*self.means[q], marker="+", color=palette[q])
        ax.autoscale_view()
        self.ax_, self.figure_ = ax, ax.figure
        return self


class EMPanelsDisplay:
    """EM step by step: the mixture after some iterations, and the log-likelihood of all.

    Parameters
    ----------
    panels : sequence of MixtureDisplay
    iterations : sequence of int
        After how many iterations each panel is.
    objective : array-like
        The mean log-likelihood at the beginning of each iteration.

    Attributes
    ----------
    axes_, figure_, line_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import EMPanelsDisplay
    >>> EMPanelsDisplay([], [], [-3.0, -2.5, -2.4]).objective.tolist()
    [-3.0, -2.5, -2.4]
    """

    def __init__(self, panels: Sequence[MixtureDisplay], iterations: Sequence[int], objective: Any) -> None:
        self.panels, self.iterations = list(panels), list(iterations)
        self.objective = np.asarray(objective, dtype=np.float64)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, iterations: Sequence[int] = (0, 1, 5, 20), axes: Any = None
    ) -> "EMPanelsDisplay":
        """Fit a copy of `estimator`, from its seed, for each number of `iterations`, and draw them."""
        panels: list[MixtureDisplay] = []
        objective: list[float] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for count in iterations:
                # EM from one seed is deterministic, so that each fit repeats the shorter ones and goes on.
                model = clone(estimator).set_params(max_iter=count, tol=0.0, n_init=1).fit(X)
                part = model.marginal([0, 1])
                panels.append(MixtureDisplay(part.means_, part.covariances_, X, model.predict_proba(X)))
                objective = model.lower_bounds_ if count == max(iterations) else objective
        return cls(panels, iterations, objective).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> "EMPanelsDisplay":
        """Draw the display on `axes`, one more than panels, or a new figure."""
        n_panels = len(self.panels) + 1
        axes = make_axes(axes, 1, n_panels, figsize=(2.6 * n_panels, 2.6))
        self.axes_ = np.ravel(axes)
        for ax, panel, count in zip(self.axes_, self.panels, self.iterations):
            panel.plot(ax=ax)
            ax.set(title=f"after {count} iteration{'' if count == 1 else 's'}", xticks=[], yticks=[])
        last = self.axes_[-1]
        self.line_ = last.plot(np.arange(1, len(self.objective) + 1), self.objective, marker=".", linewidth=1)[0]
        last.set(xlabel="iteration", ylabel="mean log-likelihood")
        self.figure_ = last.figure
        return self
