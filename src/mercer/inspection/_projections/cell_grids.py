"""The same number of rows in grids of one, two and three dimensions: how empty space grows."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class CellGridDisplay:
    """Grids of cells for d = 1, 2, 3 with the same rows: most cells of the third hold none.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    X : array-like of shape (n_samples, 3)
        Rows in the unit cube; the first d columns are drawn for each d.
    n_bins : int, default=4
        Intervals along each axis.

    Attributes
    ----------
    occupied_ : list of float
        The share of cells that hold a row, for d = 1, 2, 3.
    axes_ : ndarray of matplotlib axes
    figure_ : matplotlib figure

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import CellGridDisplay
    >>> X = np.random.default_rng(0).uniform(size=(30, 3))
    >>> [round(share, 2) for share in CellGridDisplay(X).occupied_]
    [1.0, 0.75, 0.39]
    """

    def __init__(self, X: Any, *, n_bins: int = 4) -> None:
        self.X = np.asarray(X, dtype=np.float64)
        self.n_bins = n_bins
        if self.X.ndim != 2 or self.X.shape[1] != 3 or self.X.min(initial=0.0) < 0 or self.X.max(initial=0.0) > 1:
            raise DataError(
                f"CellGridDisplay: rows must be points of the unit cube, of shape (n_samples, 3); got shape "
                f"{self.X.shape}. Scale three columns to [0, 1]."
            )
        # The value 1 belongs to the last cell, which is closed on both sides.
        cells = np.minimum((self.X * n_bins).astype(int), n_bins - 1)
        # The number of cells is n_bins^d, so a fixed number of rows fills an ever smaller share.
        self.occupied_ = [len(np.unique(cells[:, :d], axis=0)) / n_bins**d for d in (1, 2, 3)]

    def plot(self, *, axes: Any = None, **kwargs: Any) -> "CellGridDisplay":
        """Draw the three grids.

        Parameters
        ----------
        axes : array of three matplotlib axes or None, default=None
            Where to draw, the last one with ``projection="3d"``; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``scatter``.

        Returns
        -------
        CellGridDisplay
            The display itself.
        """
        if axes is None:
            from matplotlib import pyplot

            figure = pyplot.figure(figsize=(9, 3))
            axes = [figure.add_subplot(1, 3, 1), figure.add_subplot(1, 3, 2)]
            axes.append(figure.add_subplot(1, 3, 3, projection="3d"))
        first, second, third = (make_axes(ax) for ax in axes)
        edges, options = np.linspace(0, 1, self.n_bins + 1), {"s": 12} | kwargs
        x, y, z = self.X.T
        first.scatter(x, np.zeros(len(x)), **options)
        first.vlines(edges, -0.1, 0.1, color="grey", linewidth=0.8)
        first.set(ylim=(-1, 1), yticks=[])
        second.scatter(x, y, **options)
        second.vlines(edges, 0, 1, color="grey", linewidth=0.8)
        second.hlines(edges, 0, 1, color="grey", linewidth=0.8)
        second.set_aspect("equal")
        third.scatter(x, y, z, **options)
        for u in edges:
            for v in edges:
                for ends in (([0, 1], [u, u], [v, v]), ([u, u], [0, 1], [v, v]), ([u, u], [v, v], [0, 1])):
                    third.plot(*ends, color="grey", linewidth=0.3)
        for d, ax in enumerate((first, second, third), start=1):
            ax.set_title(f"d = {d}: {self.occupied_[d - 1]:.0%} of {self.n_bins**d} cells")
        self.axes_ = np.array([first, second, third], dtype=object)
        self.figure_ = first.figure
        return self
