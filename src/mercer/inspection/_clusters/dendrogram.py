"""The dendrogram: which clusters merge, and at what height."""

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import dendrogram
from sklearn.utils.validation import check_is_fitted

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class DendrogramDisplay:
    """Dendrogram of a hierarchical clustering.

    Each bracket is a merge: its legs stand on the two clusters, its bar lies at their distance. Needs matplotlib, which
    is imported when :meth:`plot` is called.

    Parameters
    ----------
    linkage_matrix : array-like of shape (n - 1, 4)
        As :func:`mercer.cluster.linkage` or SciPy make it.
    height : float or None, default=None
        Where to draw a line across: the brackets below it are the clusters that a cut there gives.
    n_merges : int or None, default=None
        How many of the last merges to show; None shows all.

    Attributes
    ----------
    leaves_ : list of int
        The leaves from left to right; clusters that are not shown whole have numbers from n on.
    heights_ : ndarray
        The height of each bracket drawn.
    ax_, figure_, lines_ : matplotlib objects
        Where it was drawn, and the brackets.

    Examples
    --------
    >>> from mercer.cluster import linkage
    >>> from mercer.inspection import DendrogramDisplay
    >>> display = DendrogramDisplay(linkage([[0.0], [1.0], [5.0], [7.0]], "average"))
    >>> display.leaves_, float(display.heights_.max())
    ([0, 1, 2, 3], 5.5)
    """

    def __init__(self, linkage_matrix: Any, *, height: float | None = None, n_merges: int | None = None) -> None:
        self.linkage_matrix = linkage_matrix
        self.height = height
        self.n_merges = n_merges
        Z = np.array(linkage_matrix, dtype=np.float64)
        if Z.ndim != 2 or Z.shape[1] != 4:
            raise DataError(
                f"DendrogramDisplay: linkage_matrix must have four columns; got shape {Z.shape}. Use linkage."
            )
        # The layout needs the number of leaves; with weighted rows, Z holds the sum of weights instead.
        Z[:, 3] = _count_leaves(Z)
        shown = {} if n_merges is None else {"truncate_mode": "lastp", "p": n_merges + 1}
        layout = dendrogram(Z, no_plot=True, **shown)
        self.leaves_ = [int(leaf) for leaf in layout["leaves"]]
        self._across, self._up = np.asarray(layout["icoord"]), np.asarray(layout["dcoord"])
        self.heights_ = self._up[:, 1]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> "DendrogramDisplay":
        """Draw the dendrogram of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``children_`` and ``distances_`` or with ``linkage_matrix_``.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **options : dict
            ``height`` and ``n_merges``.

        Returns
        -------
        DendrogramDisplay
            The display, drawn.
        """
        check_is_fitted(estimator)
        if hasattr(estimator, "linkage_matrix_"):
            return cls(estimator.linkage_matrix_, **options).plot(ax=ax)
        if not hasattr(estimator, "distances_") or len(estimator.children_) != estimator.n_leaves_ - 1:
            raise DataError(
                f"DendrogramDisplay: the estimator must have distances_ of all merges; got {type(estimator).__name__}. "
                f"Fit it with compute_distances=True and compute_full_tree=True."
            )
        # The fourth column of SciPy's matrix, the number of leaves, is not drawn; ones fill it.
        Z = np.column_stack([estimator.children_, estimator.distances_, np.ones(len(estimator.children_))])
        return cls(Z, **options).plot(ax=ax)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "DendrogramDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``LineCollection``.

        Returns
        -------
        DendrogramDisplay
            The display itself.
        """
        from matplotlib.collections import LineCollection

        ax = make_axes(ax)
        # Each merge is a bracket of four points; SciPy puts leaves at 5, 15, 25...
        brackets = list(np.stack([self._across, self._up], axis=2))
        style: dict[str, Any] = {"colors": "black", "linewidths": 0.8} | kwargs
        self.lines_ = ax.add_collection(LineCollection(brackets, **style))
        if self.height is not None:
            ax.axhline(self.height, color="grey", linestyle=":")
        ax.autoscale_view()
        ax.set(xlim=(0, 10 * len(self.leaves_)), ylim=(0, 1.05 * self.heights_.max()), xticks=[], ylabel="height")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _count_leaves(Z: Any) -> Any:
    """Return the number of leaves below each merge."""
    n = len(Z) + 1
    counts = np.ones(2 * n - 1)
    # Merge i makes cluster n + i, of clusters that came before it.
    for i, (left, right) in enumerate(Z[:, :2].astype(np.intp)):
        counts[n + i] = counts[left] + counts[right]
    return counts[n:]
