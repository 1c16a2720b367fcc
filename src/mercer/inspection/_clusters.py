"""Pictures of clusters: their number, dendrograms, densities, k-means step by step, maps."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import dendrogram
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer._source.namespace import to_numpy
from mercer._statistic.knee import find_knee
from mercer.cluster import k_distances
from mercer.errors import DataError
from mercer.inspection._display import Display, draws


class ClusterNumberDisplay(Display):
    """Every criterion for the number of clusters, side by side, each with what it would choose.

    Parameters
    ----------
    choice : ClusterNumberChoice
        What :func:`mercer.metrics.choose_n_clusters` returns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import KMeans
    >>> from mercer.inspection import ClusterNumberDisplay
    >>> from mercer.metrics import choose_n_clusters
    >>> X = np.random.default_rng(0).normal(size=(90, 2)) + 9.0 * np.repeat(np.eye(3, 2), 30, axis=0)
    >>> choice = choose_n_clusters(KMeans(n_init=3), X, range(1, 5), n_references=3, n_pairs=3, random_state=0)
    >>> ClusterNumberDisplay(choice).choice.n_clusters
    3
    """

    def __init__(self, choice: Any) -> None:
        self.choice = choice

    def _grid(self) -> dict[str, Any]:
        return {"columns": len(self.choice.choices), "figsize": (3.0 * len(self.choice.choices), 3.0)}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        for ax, name in zip(axes, self.choice.choices, strict=True):
            curve = self.choice.curves[name]
            ax.plot(self.choice.numbers, curve, **({"marker": "o"} | kwargs))
            if name == "gap":
                error = self.choice.curves["gap_error"]
                ax.fill_between(self.choice.numbers, curve - error, curve + error, alpha=0.2)
            ax.axvline(self.choice.choices[name], color="grey", linestyle=":")
            ax.set(title=name, xlabel="clusters")


class DendrogramDisplay(Display):
    """Dendrogram of a hierarchical clustering.

    Each bracket is a merge: its legs stand on the two clusters, its bar lies at their distance.

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
    lines_ : matplotlib objects
        Where it was drawn, and the brackets.

    Examples
    --------
    >>> from mercer.cluster import linkage
    >>> from mercer.inspection import DendrogramDisplay
    >>> display = DendrogramDisplay(linkage([[0.0], [1.0], [5.0], [7.0]], "average"))
    >>> display.leaves_, float(display.heights_.max())
    ([0, 1, 2, 3], 5.5)
    """

    artist = "LineCollection"

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

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> "DendrogramDisplay":
        """Draw the dendrogram of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``children_`` and ``distances_`` or with ``linkage_matrix_``.
        **options : dict
            ``height`` and ``n_merges``.
        """
        check_is_fitted(estimator)
        if hasattr(estimator, "linkage_matrix_"):
            return cls(estimator.linkage_matrix_, **options)
        if not hasattr(estimator, "distances_") or len(estimator.children_) != estimator.n_leaves_ - 1:
            raise DataError(
                f"DendrogramDisplay: the estimator must have distances_ of all merges; got {type(estimator).__name__}. "
                f"Fit it with compute_distances=True and compute_full_tree=True."
            )
        # The fourth column of SciPy's matrix, the number of leaves, is not drawn; ones fill it.
        Z = np.column_stack([estimator.children_, estimator.distances_, np.ones(len(estimator.children_))])
        return cls(Z, **options)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        from matplotlib.collections import LineCollection

        # Each merge is a bracket of four points; SciPy puts leaves at 5, 15, 25...
        brackets = list(np.stack([self._across, self._up], axis=2))
        style: dict[str, Any] = {"colors": "black", "linewidths": 0.8} | kwargs
        self.lines_ = ax.add_collection(LineCollection(brackets, **style))
        if self.height is not None:
            ax.axhline(self.height, color="grey", linestyle=":")
        ax.autoscale_view()
        ax.set(xlim=(0, 10 * len(self.leaves_)), ylim=(0, 1.05 * self.heights_.max()), xticks=[], ylabel="height")


def _count_leaves(Z: Any) -> Any:
    """Return the number of leaves below each merge."""
    n = len(Z) + 1
    counts = np.ones(2 * n - 1)
    # Merge i makes cluster n + i, of clusters that came before it.
    for i, (left, right) in enumerate(Z[:, :2].astype(np.intp)):
        counts[n + i] = counts[left] + counts[right]
    return counts[n:]


class KDistanceDisplay(Display):
    """Distances to the k-th nearest row, sorted, with the knee that :func:`mercer.cluster.suggest_eps` finds.

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

    @draws
    @classmethod
    def from_rows(cls, X: Any, *, min_samples: int = 5, metric: Any = "euclidean") -> "KDistanceDisplay":
        """Compute the distances of some rows and draw them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The rows.
        min_samples : int, default=5
            That of the DBSCAN to come; k is one less, since DBSCAN counts the row itself.
        metric : str or callable, default='euclidean'
            As in :class:`mercer.cluster.DBSCAN`.
        """
        # DBSCAN counts the row itself among its min_samples.
        k = max(1, min_samples - 1)
        return cls(k_distances(X, k, metric=metric), k=k)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        curve = np.sort(np.asarray(self.distances, dtype=float))
        (self.line_,) = ax.plot(np.arange(1, len(curve) + 1), curve, **kwargs)
        ax.axhline(self.eps_, color="grey", linestyle=":", label=f"eps = {self.eps_:.3g}")
        ax.set(xlabel="rows, nearest first", ylabel=f"distance to neighbour {self.k}")
        ax.legend(loc="upper left")


class KMeansPanelsDisplay(Display):
    """The centres and members of k-means after some iterations, and the objective of all.

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
    line_ : matplotlib objects

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

    @draws
    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, iterations: Sequence[int] = (1, 2, 5, 20)
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
        return cls(X, panels, iterations, objective)

    def _grid(self) -> dict[str, Any]:
        return {"columns": len(self.panels) + 1, "figsize": (2.6 * (len(self.panels) + 1), 2.6)}

    def _draw(self, axes: Any) -> None:
        for ax, (centres, labels), count in zip(axes, self.panels, self.iterations):
            ax.scatter(*self.rows.T, s=5, c=labels % 10, cmap="tab10", vmin=-0.5, vmax=9.5, linewidths=0)
            ax.scatter(*np.asarray(centres).T, marker="+", s=80, color="black")
            ax.set(title=f"after {count} iteration{'' if count == 1 else 's'}", xticks=[], yticks=[])
        last = axes[-1]
        self.line_ = last.plot(np.arange(1, len(self.objective) + 1), self.objective, marker=".", linewidth=1)[0]
        last.set(xlabel="iteration", ylabel="inertia")


class MapDisplay(Display):
    """A value at each unit of a map, drawn where the unit lies: distances to neighbours, hits, or a column's values.

    Parameters
    ----------
    values : array-like of shape (n_units,)
    positions : array-like of shape (n_units, 2)
        The place of each unit, across and up.
    label : str, default=""
        What the values are.

    Attributes
    ----------
    points_ : matplotlib objects

    Examples
    --------
    >>> from mercer.cluster import SelfOrganizingMap
    >>> from mercer.inspection import MapDisplay
    >>> from sklearn.datasets import load_iris
    >>> model = SelfOrganizingMap(4, 3).fit(load_iris().data)
    >>> MapDisplay(model.hit_map(load_iris().data).ravel(), model.positions_).values.sum()
    np.float64(150.0)
    """

    artist = "scatter"

    def __init__(self, values: Any, positions: Any, *, label: str = "") -> None:
        self.values = np.asarray(values, dtype=np.float64).ravel()
        self.positions = np.asarray(positions, dtype=np.float64)
        self.label = label
        if self.positions.shape != (len(self.values), 2):
            raise DataError(
                f"MapDisplay: positions must have two columns and a row for each of the {len(self.values)} values; "
                f"got shape {self.positions.shape}."
            )

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, column: int | None = None) -> "MapDisplay":
        """Draw a fitted map.

        Parameters
        ----------
        estimator : SelfOrganizingMap
            Fitted.
        X : array-like of shape (n, d) or None, default=None
            Rows whose hits are drawn; None draws the U-matrix, the mean distances between neighbours.
        column : int or None, default=None
            A column of the rows whose values at the units are drawn instead.
        """
        _check_map(cls, estimator)
        if column is not None:
            values, label = estimator.component_planes()[column], f"column {column}"
        elif X is not None:
            values, label = estimator.hit_map(X), "hits"
        else:
            values, label = estimator.u_matrix(), "distance to neighbours"
        return cls(values, to_numpy(estimator.positions_), label=label)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        # Every other row of a hexagonal grid is shifted by half a unit.
        hexagonal = np.any(self.positions[:, 0] % 1.0)
        style = {"marker": "h" if hexagonal else "s", "s": 120.0, "c": self.values} | kwargs
        self.points_ = ax.scatter(*self.positions.T, **style)
        ax.figure.colorbar(self.points_, ax=ax, label=self.label)
        ax.set(aspect="equal", xlabel="across", ylabel="up")


class LatticeDisplay(Display):
    """The units of a map among the rows, neighbours joined by lines, in two columns of the data.

    Parameters
    ----------
    units : array-like of shape (n_units, 2)
    edges : array-like of shape (n_edges, 2)
        Pairs of units to be joined.
    rows : array-like of shape (n, 2) or None, default=None
        Rows to be drawn below.

    Attributes
    ----------
    lines_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import LatticeDisplay
    >>> LatticeDisplay([[0.0, 0.0], [1.0, 0.0]], [[0, 1]]).segments_.shape
    (1, 2, 2)
    """

    artist = "LineCollection"

    def __init__(self, units: Any, edges: Any, rows: Any = None) -> None:
        self.units, self.edges = np.asarray(units, dtype=np.float64), np.asarray(edges)
        self.rows = None if rows is None else np.asarray(rows)
        self.segments_ = self.units[self.edges]

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, columns: tuple[int, int] = (0, 1)) -> "LatticeDisplay":
        """Draw a fitted map over two columns of the data.

        Parameters
        ----------
        estimator : SelfOrganizingMap
            Fitted.
        X : array-like of shape (n, d) or None, default=None
            Rows to be drawn below the map.
        columns : pair of int, default=(0, 1)
            The columns to draw.
        """
        _check_map(cls, estimator)
        units = to_numpy(estimator.cluster_centers_)[:, list(columns)]
        rows = None if X is None else np.asarray(X)[:, list(columns)]
        places = to_numpy(estimator.positions_)
        gaps = np.hypot(*(places[:, None, side] - places[None, :, side] for side in (0, 1)))
        # Draw lines between direct neighbours only; diagonals and the seams of a torus would hide the grid.
        return cls(units, np.argwhere(np.triu(gaps < 1.1, 1)), rows)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        from matplotlib.collections import LineCollection

        if self.rows is not None:
            ax.scatter(*self.rows.T, s=4, color="0.7")
        style: dict[str, Any] = {"colors": "black", "linewidths": 0.8} | kwargs
        self.lines_ = LineCollection(self.segments_, **style)
        ax.add_collection(self.lines_)
        ax.scatter(*self.units.T, s=8, color="black")
        ax.autoscale_view()


def _check_map(display: type, estimator: Any) -> None:
    if not hasattr(estimator, "u_matrix"):
        name = type(estimator).__name__
        raise DataError(
            f"{display.__name__}: the estimator must be a SelfOrganizingMap; got {name}. Fit one to the rows."
        )
    check_is_fitted(estimator)
