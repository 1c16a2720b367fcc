"""Rows in two coordinates, coloured by class, with an arrow for each feature where the projection is linear."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.errors import DataError
from mercer.inspection._axes import make_axes

# More distinct numbers than this are drawn by a colour scale, not by a legend.
_MOST_CLASSES = 20
# Arrows reach at most this share of the largest score along each coordinate.
_REACH = 0.8


class EmbeddingDisplay:
    """Scatter of rows in two coordinates, one colour for each class, and optionally a biplot.

    A biplot adds an arrow for each feature: its end is the pair of loadings of the feature on the two coordinates, so
    features whose arrows point the same way rise together. All arrows share one scale. Needs matplotlib, which is
    imported when :meth:`plot` is called.

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
    ax_, figure_ : matplotlib objects
        Where it was drawn.

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

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        components: tuple[int, int] = (0, 1),
        arrows: bool = False,
        ax: Any = None,
        **kwargs: Any,
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
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``scatter``.

        Returns
        -------
        EmbeddingDisplay
            The display, drawn.
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
        return display.plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "EmbeddingDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``scatter``.

        Returns
        -------
        EmbeddingDisplay
            The display itself.
        """
        ax = make_axes(ax)
        points = np.asarray(self.embedding, dtype=float)
        options = {"s": 12, "alpha": 0.8, "linewidths": 0} | kwargs
        self._draw_points(ax, points, options)
        self.arrows_: list[Any] = []
        if self.arrows is not None:
            self._draw_arrows(ax, np.abs(points).max(axis=0, initial=0.0))
        names = ("coordinate 1", "coordinate 2") if self.axis_names is None else self.axis_names
        ax.set(xlabel=names[0], ylabel=names[1])
        self.ax_, self.figure_ = ax, ax.figure
        return self

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
