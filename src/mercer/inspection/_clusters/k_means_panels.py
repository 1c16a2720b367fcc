"""K-means step by step: centres and members after some iterations, beside the inertia of all."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class KMeansPanelsDisplay:
    """The centres and members of k-means after some iterations, and the objective of all.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    rows : array-like of shape (n, 2)
    panels : sequence of pairs
        Centres (k, 2) and labels (n,) of each panel.
    iterations : sequence of int
        After how many iterations each panel is.
    objective : array-like
        The inertia after each iteration.

    Attributes
    ----------
    axes_, figure_, line_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import KMeansPanelsDisplay
    >>> KMeansPanelsDisplay([[0.0, 0.0]], [], [], [9.0, 4.0, 4.0]).objective.tolist()
    [9.0, 4.0, 4.0]
    """

    def __init__(self, rows: Any, panels: Sequence[Any], iterations: Sequence[int], objective: Any) -> None:
        self.rows = np.asarray(rows, dtype=np.float64)
        if self.rows.ndim != 2 or self.rows.shape[1] != 2:
            raise DataError(
                f"KMeansPanelsDisplay: rows must have two columns; got shape {self.rows.shape}. Select two."
            )
        self.panels, self.iterations = list(panels), list(iterations)
        self.objective = np.asarray(objective, dtype=np.float64)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, iterations: Sequence[int] = (1, 2, 5, 20), axes: Any = None
    ) -> "KMeansPanelsDisplay":
        """Fit a copy of `estimator`, from its seed, for each number of `iterations`, and draw them."""
        panels: list[tuple[np.ndarray, np.ndarray]] = []
        objective: Any = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for count in iterations:
                # From one seed each fit repeats the shorter ones and goes on.
                model = clone(estimator).set_params(max_iter=count, n_init=1).fit(X)
                panels.append((model.cluster_centers_, model.labels_))
                if count == max(iterations):
                    objective = model.history_["objective"]
        return cls(X, panels, iterations, objective).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> "KMeansPanelsDisplay":
        """Draw the display on `axes`, one more than panels, or a new figure."""
        n_panels = len(self.panels) + 1
        axes = make_axes(axes, 1, n_panels, figsize=(2.6 * n_panels, 2.6))
        self.axes_ = np.ravel(axes)
        for ax, (centres, labels), count in zip(self.axes_, self.panels, self.iterations):
            ax.scatter(*self.rows.T, s=5, c=labels % 10, cmap="tab10", vmin=-0.5, vmax=9.5, linewidths=0)
            ax.scatter(*np.asarray(centres).T, marker="+", s=80, color="black")
            ax.set(title=f"after {count} iteration{'' if count == 1 else 's'}", xticks=[], yticks=[])
        last = self.axes_[-1]
        self.line_ = last.plot(np.arange(1, len(self.objective) + 1), self.objective, marker=".", linewidth=1)[0]
        last.set(xlabel="iteration", ylabel="inertia")
        self.figure_ = last.figure
        return self
