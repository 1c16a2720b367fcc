"""Pictures of embeddings: rows in a plane, how well distances are kept, and why many dimensions are empty."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from mercer.errors import DataError
from mercer.inspection._display import Display, draws

# More distinct numbers than this are drawn by a colour scale, not by a legend.
_MOST_CLASSES = 20
# Arrows reach at most this share of the largest score along each coordinate.
_REACH = 0.8


class EmbeddingDisplay(Display):
    """Scatter of rows in two coordinates, one colour for each class, and optionally a biplot.

    A biplot adds an arrow for each feature: its end is the pair of loadings of the feature on the two coordinates, so
    features whose arrows point the same way rise together. All arrows share one scale.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, 2)
        Coordinates of the rows.
    labels : array-like of shape (n_samples,) or None, default=None
        Classes, or numbers: more than 20 distinct numbers are drawn by a colour scale.
    arrows : array-like of shape (n_features, 2) or None, default=None
        Loadings of the features on the two coordinates.
    feature_names : sequence of str or None, default=None
        Names of the arrows; None for x0, x1, ...
    axis_names : sequence of two str or None, default=None
        Names of the coordinates.

    Attributes
    ----------
    classes_ : ndarray or None
        The distinct labels with a legend; None if there are no labels, or they are drawn by a colour scale.
    scatters_ : list of matplotlib artists
        One for each class, or one for all rows.
    arrows_ : list of matplotlib artists
        One for each feature.

    Examples
    --------
    >>> from mercer.decomposition import PCA
    >>> from mercer.inspection import EmbeddingDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PCA(2).fit(X)
    >>> EmbeddingDisplay(model.transform(X), y, arrows=model.components_.T).classes_
    array([0, 1, 2])
    """

    artist = "scatter"

    def __init__(
        self,
        embedding: Any,
        labels: Any = None,
        *,
        arrows: Any = None,
        feature_names: Any = None,
        axis_names: Any = None,
    ) -> None:
        self.embedding = embedding
        self.labels = labels
        self.arrows = arrows
        self.feature_names = feature_names
        self.axis_names = axis_names
        shape = np.shape(embedding)
        if len(shape) != 2 or shape[1] != 2:
            raise DataError(
                f"EmbeddingDisplay: embedding must have two columns; got shape {shape}. Choose two coordinates, for "
                f"example scores[:, :2]."
            )
        if labels is not None and np.shape(labels) != shape[:1]:
            raise DataError(
                f"EmbeddingDisplay: labels must have one entry per row, {shape[0]}; got shape {np.shape(labels)}. Give "
                f"the labels of the embedded rows."
            )
        self.classes_ = None if labels is None else _find_classes(np.asarray(labels))

    @draws
    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        components: tuple[int, int] = (0, 1),
        arrows: bool = False,
    ) -> "EmbeddingDisplay":
        """Draw rows as a fitted transformer or embedding maps them.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``transform``; or one that has only the ``embedding_`` of the rows it was fitted to.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or None, default=None
            Classes or numbers that colour the rows.
        components : tuple of two int, default=(0, 1)
            Which coordinates to draw.
        arrows : bool, default=False
            Whether to draw an arrow for each feature; needs ``components_`` (or ``scalings_``).
        """
        check_is_fitted(estimator)
        scores = np.asarray(estimator.transform(X) if hasattr(estimator, "transform") else estimator.embedding_)
        if max(components) >= scores.shape[1]:
            raise DataError(
                f"EmbeddingDisplay: components must be below the number of coordinates, {scores.shape[1]}; got "
                f"{tuple(components)}. Fit more components."
            )
        chosen = list(components)
        display = cls(
            scores[:, chosen],
            y,
            arrows=_read_loadings(estimator)[:, chosen] if arrows else None,
            feature_names=getattr(estimator, "feature_names_in_", None),
            axis_names=[f"coordinate {number + 1}" for number in chosen],
        )
        return display

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        points = np.asarray(self.embedding, dtype=float)
        options = {"s": 12, "alpha": 0.8, "linewidths": 0} | kwargs
        self._draw_points(ax, points, options)
        self.arrows_: list[Any] = []
        if self.arrows is not None:
            self._draw_arrows(ax, np.abs(points).max(axis=0, initial=0.0))
        names = ("coordinate 1", "coordinate 2") if self.axis_names is None else self.axis_names
        ax.set(xlabel=names[0], ylabel=names[1])

    def _draw_points(self, ax: Any, points: np.ndarray, options: dict[str, Any]) -> None:
        """Draw one scatter for each class with a legend, or one for all rows."""
        if self.classes_ is not None:
            labels = np.asarray(self.labels)
            groups = [(points[labels == label], str(label)) for label in self.classes_]
            self.scatters_ = [ax.scatter(*rows.T, **({"label": name} | options)) for rows, name in groups]
            ax.legend(fontsize="small")
            return
        colours = {} if self.labels is None else {"c": np.asarray(self.labels, dtype=float)}
        self.scatters_ = [ax.scatter(*points.T, **(colours | options))]
        if colours:
            ax.figure.colorbar(self.scatters_[0], ax=ax)

    def _draw_arrows(self, ax: Any, extent: np.ndarray) -> None:
        """Draw an arrow from zero for each feature, all in one scale that fits among the points."""
        ends = np.asarray(self.arrows, dtype=float)
        longest = np.abs(ends).max(axis=0, initial=0.0)
        room = [reach / length for reach, length in zip(extent, longest, strict=True) if length > 0 and reach > 0]
        ends = ends * (_REACH * min(room, default=1.0))
        # Annotations do not widen the axes by themselves.
        ax.update_datalim(1.2 * ends)
        ax.autoscale_view()
        names = [f"x{column}" for column in range(len(ends))] if self.feature_names is None else self.feature_names
        for end, name in zip(ends, names, strict=True):
            style = {"arrowstyle": "->", "color": "black", "linewidth": 1}
            self.arrows_.append(ax.annotate("", xy=end, xytext=(0.0, 0.0), arrowprops=style))
            ax.annotate(str(name), xy=end * 1.08, ha="center", va="center", fontsize="small")


def _find_classes(labels: np.ndarray) -> Any:
    """Return the distinct labels if a legend can show them; None if they are numbers for a colour scale."""
    classes = np.unique(labels)
    return None if labels.dtype.kind in "fiu" and len(classes) > _MOST_CLASSES else classes


def _read_loadings(estimator: Any) -> np.ndarray:
    """Return the loadings of the features, one column per coordinate, of a linear projection."""
    if hasattr(estimator, "components_"):
        return np.asarray(estimator.components_).T
    if hasattr(estimator, "scalings_"):
        return np.asarray(estimator.scalings_)
    raise DataError(
        f"EmbeddingDisplay: arrows need a linear projection with components_; got {type(estimator).__name__}. Set "
        f"arrows=False."
    )


class ShepardDisplay(Display):
    """Shepard's diagram of a map by multidimensional scaling.

    Each pair of rows is a point: its dissimilarity and its distance in the map. A line shows the monotone regression of
    the distances, what non-metric scaling aims at.

    Parameters
    ----------
    dissimilarities : array-like of shape (n_samples, n_samples)
    embedding : array-like of shape (n_samples, n_components)

    Attributes
    ----------
    dissimilarities_, distances_, disparities_ : ndarray of shape (n_samples * (n_samples - 1) / 2,)
        Of all pairs, in the order of rising dissimilarity.
    stress_ : float
        Kruskal's stress-1 of the distances and their monotone regression.
    points_, line_ : matplotlib artists

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import ShepardDisplay
    >>> from mercer.manifold import MDS
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> model = MDS().fit(X)
    >>> bool(ShepardDisplay(model.dissimilarity_matrix_, model.embedding_).stress_ < 1e-3)
    True
    """

    artist = "scatter"

    def __init__(self, dissimilarities: Any, embedding: Any) -> None:
        D, Y = np.asarray(dissimilarities, dtype=np.float64), np.asarray(embedding, dtype=np.float64)
        if D.ndim != 2 or D.shape != (len(Y), len(Y)):
            raise DataError(
                f"ShepardDisplay: dissimilarities must have one row and column per point, {len(Y)}; got shape "
                f"{D.shape}. Give dissimilarity_matrix_ and embedding_ of one model."
            )
        # A symmetric matrix has each pair twice; the upper triangle has it once.
        upper = np.triu_indices(len(Y), 1)
        order = np.argsort(D[upper], kind="stable")
        self.dissimilarities_ = D[upper][order]
        self.distances_ = np.linalg.norm(Y[upper[0]] - Y[upper[1]], axis=1)[order]
        # Disparities are the monotone function of the dissimilarities that is nearest to the distances.
        self.disparities_ = isotonic_regression(self.distances_).x
        squares = float(np.sum(self.distances_**2))
        # Kruskal's stress 1: sqrt(sum (d - disparity)^2 / sum d^2).
        self.stress_ = float(np.sqrt(np.sum((self.distances_ - self.disparities_) ** 2) / squares)) if squares else 0.0

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any) -> "ShepardDisplay":
        """Draw the diagram of a fitted map.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``embedding_`` and ``dissimilarity_matrix_`` or ``dist_matrix_``: MDS, ClassicalMDS or Isomap.
        """
        check_is_fitted(estimator)
        D = getattr(estimator, "dissimilarity_matrix_", getattr(estimator, "dist_matrix_", None))
        if D is None:
            raise DataError(
                f"ShepardDisplay: the estimator must have dissimilarity_matrix_ or dist_matrix_; got "
                f"{type(estimator).__name__}. Give a fitted MDS, ClassicalMDS or Isomap."
            )
        return cls(D, estimator.embedding_)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.points_ = ax.scatter(self.dissimilarities_, self.distances_, **({"s": 4, "alpha": 0.3} | kwargs))
        (self.line_,) = ax.plot(self.dissimilarities_, self.disparities_, color="black", linewidth=1.2)
        ax.set(xlabel="dissimilarity", ylabel="distance in the map", title=f"stress-1 {self.stress_:.3f}")


class SimilarityTailsDisplay(Display):
    r"""Gaussian and Student-t similarities of two points against their distance.

    The Gaussian is :math:`\exp(-r^2)`, that of a degrees of freedom :math:`(1 + r^2 / a)^{-(a + 1) / 2}`. Rows of
    moderate similarity come much farther apart on a map of t similarities than their distance, which leaves room for
    near ones.

    Parameters
    ----------
    dofs : iterable of float, default=(1.0,)
        Degrees of freedom, one line each.
    distances : array-like of shape (m,) or None, default=None
        Distances on the map; None takes 401 from 0 to 5.
    log : bool, default=False
        Whether the similarities are on a logarithmic scale.

    Attributes
    ----------
    values_ : dict of str to ndarray of shape (m,)
        The similarities: ``"Gaussian"``, and ``"t, 1"`` and so on.
    lines_ : list of matplotlib lines
        The Gaussian first.

    Examples
    --------
    >>> from mercer.inspection import SimilarityTailsDisplay
    >>> display = SimilarityTailsDisplay(distances=[0.0, 3.0])
    >>> print(display.values_["t, 1"], display.values_["Gaussian"].round(4))
    [1.  0.1] [1.e+00 1.e-04]
    """

    def __init__(self, dofs: Iterable[float] = (1.0,), distances: Any = None, *, log: bool = False) -> None:
        self.dofs, self.log = tuple(float(dof) for dof in dofs), log
        self.distances = np.linspace(0.0, 5.0, 401) if distances is None else np.asarray(distances, dtype=np.float64)
        if self.distances.ndim != 1 or not all(dof > 0 for dof in self.dofs):
            raise DataError(
                "SimilarityTailsDisplay: dofs must be positive numbers and distances one row of numbers; got "
                f"{self.dofs} and shape {self.distances.shape}. Leave out dofs for the t distribution of t-SNE."
            )
        squares = np.square(self.distances)
        self.values_ = {"Gaussian": np.exp(-squares)}
        for dof in self.dofs:
            # Student's t without its constant; one degree of freedom is the 1 / (1 + d^2) of t-SNE.
            self.values_[f"t, {dof:g}"] = (1.0 + squares / dof) ** (-0.5 * (dof + 1.0))

    from_dofs = draws(__init__)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.lines_ = [
            ax.plot(self.distances, values, **({"label": name} | kwargs))[0] for name, values in self.values_.items()
        ]
        ax.set(xlabel="distance on the map", ylabel="similarity")
        if self.log:
            # Below a millionth the Gaussian would leave the t distribution no room.
            ax.set(yscale="log", ylim=(1e-6, 2.0))
        ax.legend()


class CellGridDisplay(Display):
    """Grids of cells for d = 1, 2, 3 with the same rows: most cells of the third hold none.

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

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import CellGridDisplay
    >>> X = np.random.default_rng(0).uniform(size=(30, 3))
    >>> [round(share, 2) for share in CellGridDisplay(X).occupied_]
    [1.0, 0.75, 0.39]
    """

    artist = "scatter"

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

    def _grid(self) -> dict[str, Any]:
        return {"columns": 3, "figsize": (9, 3)}

    def _make_axes(self, **options: Any) -> Any:
        first, second, flat = super()._make_axes(**options)
        flat.remove()
        return [first, second, first.figure.add_subplot(1, 3, 3, projection="3d")]

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        first, second, third = axes
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
