"""The curve of k-distances, from which an epsilon for DBSCAN is read."""

from typing import Any

import numpy as np

from mercer._statistic.knee import find_knee
from mercer.cluster import k_distances
from mercer.inspection._axes import make_axes


class KDistanceDisplay:
    """Distances to the k-th nearest row, sorted, with the knee that :func:`mercer.cluster.suggest_eps` finds.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    distances : array-like of shape (n,)
        From :func:`mercer.cluster.k_distances`.
    k : int
        Which nearest row they lead to.

    Attributes
    ----------
    eps_ : float
        The distance at the knee.
    n_beyond_ : int
        How many rows have a larger one: candidates for noise.
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    line_ : matplotlib artist
        The curve.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import k_distances
    >>> from mercer.inspection import KDistanceDisplay
    >>> X = np.concatenate([np.arange(20.0), [50.0]])[:, None]
    >>> KDistanceDisplay(k_distances(X, 2), k=2).eps_
    2.0
    """

    def __init__(self, distances: Any, *, k: int) -> None:
        self.distances = distances
        self.k = k
        curve = np.sort(np.asarray(distances, dtype=float))
        self.eps_ = find_knee(curve)
        self.n_beyond_ = int(np.count_nonzero(curve > self.eps_))

    @classmethod
    def from_rows(
        cls, X: Any, *, min_samples: int = 5, metric: Any = "euclidean", ax: Any = None, **kwargs: Any
    ) -> "KDistanceDisplay":
        """Compute the distances of some rows and draw them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The rows.
        min_samples : int, default=5
            That of the DBSCAN to come; k is one less, since DBSCAN counts the row itself.
        metric : str or callable, default='euclidean'
            As in :class:`mercer.cluster.DBSCAN`.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        KDistanceDisplay
            The display, drawn.
        """
        # DBSCAN counts the row itself among its min_samples.
        k = max(1, min_samples - 1)
        return cls(k_distances(X, k, metric=metric), k=k).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "KDistanceDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        KDistanceDisplay
            The display itself.
        """
        ax = make_axes(ax)
        curve = np.sort(np.asarray(self.distances, dtype=float))
        (self.line_,) = ax.plot(np.arange(1, len(curve) + 1), curve, **kwargs)
        ax.axhline(self.eps_, color="grey", linestyle=":", label=f"eps = {self.eps_:.3g}")
        ax.set(xlabel="rows, nearest first", ylabel=f"distance to neighbour {self.k}")
        ax.legend(loc="upper left")
        self.ax_, self.figure_ = ax, ax.figure
        return self
