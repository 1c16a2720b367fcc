"""Pictures of components: shares of variance, principal axes, images such as eigenfaces."""

import math
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.errors import DataError
from mercer.inspection._display import Display, draws


class ScreeDisplay(Display):
    """Scree plot of a fitted principal component analysis.

    Bars show the share of the variance along each component, a line their running sum.

    Parameters
    ----------
    explained_variance_ratio : array-like of shape (n_components,)
        Share of the variance of each component, in falling order.
    threshold : float or None, default=None
        A share of the variance to mark, with the fewest components that exceed it.

    Attributes
    ----------
    cumulative_ : ndarray of shape (n_components,)
        Running sum of the shares.
    error_ : ndarray of shape (n_components,)
        Squared error of restoring rows from the first k components, as a share of their total squared distance to the
        mean: one minus the running sum.
    n_reaching_ : int or None
        The fewest components that together exceed `threshold`; None where there is none, or they do not.
    bars_, line_, error_line_ : matplotlib artists
        What was drawn; ``error_line_`` is None unless it was asked for.

    Examples
    --------
    >>> from mercer.decomposition import PCA
    >>> from mercer.inspection import ScreeDisplay
    >>> from sklearn.datasets import load_iris
    >>> model = PCA().fit(load_iris().data)
    >>> ScreeDisplay(model.explained_variance_ratio_, threshold=0.95).n_reaching_
    2
    """

    artist = "bar"

    def __init__(self, explained_variance_ratio: Any, *, threshold: float | None = None) -> None:
        self.explained_variance_ratio = explained_variance_ratio
        self.threshold = threshold
        self.cumulative_ = np.cumsum(explained_variance_ratio)
        # Differences of sums can fall below zero by rounding.
        self.error_ = np.maximum(1.0 - self.cumulative_, 0.0)
        reached = self.cumulative_ > (np.inf if threshold is None else threshold)
        # argmax of a mask is its first true entry.
        self.n_reaching_ = int(np.argmax(reached)) + 1 if reached.any() else None

    @draws
    @classmethod
    def from_estimator(cls, estimator: Any, *, threshold: float | None = None) -> Any:
        """Draw the scree plot of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``explained_variance_ratio_``.
        threshold : float or None, default=None
            A share of the variance to mark.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "explained_variance_ratio_"):
            raise DataError(
                f"ScreeDisplay: the estimator must have explained_variance_ratio_; got {type(estimator).__name__}. "
                f"Give a fitted PCA or IncrementalPCA."
            )
        return cls(estimator.explained_variance_ratio_, threshold=threshold)

    def plot(self, *, ax: Any = None, show_error: bool = False, **kwargs: Any) -> Self:
        """Draw the display; `show_error` adds the error of restoring rows against the number of components."""
        return super().plot(ax=ax, show_error=show_error, **kwargs)

    def _draw(self, ax: Any, *, show_error: bool = False, **kwargs: Any) -> None:
        numbers = np.arange(1, len(self.cumulative_) + 1)
        self.bars_ = ax.bar(numbers, self.explained_variance_ratio, **({"label": "each"} | kwargs))
        (self.line_,) = ax.plot(numbers, self.cumulative_, color="black", marker="o", label="together")
        self.error_line_ = None
        if show_error:
            (self.error_line_,) = ax.plot(numbers, self.error_, color="tab:red", marker=".", label="error left")
        if self.threshold is not None:
            ax.axhline(self.threshold, color="grey", linestyle=":")
        if self.n_reaching_ is not None:
            ax.axvline(self.n_reaching_, color="grey", linestyle=":")
        ax.set(xlabel="component", ylabel="share of the variance", ylim=(0, 1.05))
        ax.legend(loc="center right")


# An arrow along an axis is this number of standard deviations long: the ellipse holds some 86 % of Gaussian rows.
_DEVIATIONS = 2.0


class PrincipalAxesDisplay(Display):
    r"""Rows of two features with their principal axes, and the same rows in the coordinates of these axes.

    On the left each axis is drawn from the mean, two standard deviations :math:`\sqrt{\lambda}` long, and a segment
    leads from each row to its projection on the first axis: the sum of their squared lengths is what the first
    principal component makes least. On the right the rows are shown as scores.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        Rows.
    mean : array-like of shape (2,)
        Where the axes meet.
    components : array-like of shape (k, 2)
        One or two orthonormal axes.
    variances : array-like of shape (k,)
        Variances along them.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples, 2)
        Rows in the coordinates of the axes; the second axis is at a right angle to the first.
    projections_ : ndarray of shape (n_samples, 2)
        The nearest point to each row on the first axis.
    residual_ : float
        Sum of squared distances of the rows to the first axis.
    arrows_ : list of matplotlib artists
        One for each axis.
    segments_ : matplotlib artist
        From rows to projections.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import PCA
    >>> from mercer.inspection import PrincipalAxesDisplay
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 4.0], [4.0, 3.0]])
    >>> model = PCA().fit(X)
    >>> round(PrincipalAxesDisplay(X, model.mean_, model.components_, model.explained_variance_).residual_, 6)
    2.0
    """

    artist = "scatter"

    def __init__(self, X: Any, mean: Any, components: Any, variances: Any) -> None:
        self.X = X
        self.mean = mean
        self.components = components
        self.variances = variances
        rows, centre = np.asarray(X, dtype=float), np.asarray(mean, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != 2 or np.shape(components)[1:] != (2,):
            raise DataError(
                f"PrincipalAxesDisplay: rows and components must have two columns; got shapes {np.shape(X)} and "
                f"{np.shape(components)}. Choose two features."
            )
        first = np.asarray(components, dtype=float)[0]
        # A model of one component gets the direction at right angles as its second axis.
        axes = np.array([first, [-first[1], first[0]]])
        if len(components) > 1:
            axes[1] = components[1]
        self.scores_ = (rows - centre) @ axes.T
        self.projections_ = centre + self.scores_[:, :1] * first
        # The squared distances from the first axis are what one component leaves unexplained.
        self.residual_ = float((self.scores_[:, 1] ** 2).sum())

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw rows with the axes of a fitted principal component analysis of two features.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``components_``, ``mean_`` and ``explained_variance_``.
        X : array-like of shape (n_samples, 2)
            Rows.
        y : array-like of shape (n_samples,) or None, default=None
            Colours of the rows.
        ax : pair of matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``scatter``.
        """
        check_is_fitted(estimator)
        missing = [name for name in ("components_", "mean_", "explained_variance_") if not hasattr(estimator, name)]
        if missing:
            raise DataError(
                f"PrincipalAxesDisplay: the estimator must have {missing[0]}; got {type(estimator).__name__}. Give a "
                f"fitted PCA."
            )
        display = cls(X, estimator.mean_, estimator.components_, estimator.explained_variance_)
        colours = {} if y is None else {"c": np.unique(y, return_inverse=True)[1]}
        return display.plot(ax=ax, **(colours | kwargs))

    def _grid(self) -> dict[str, Any]:
        return {"columns": 2, "figsize": (9.0, 4.2)}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        left, right = axes
        options = {"s": 14, "zorder": 2} | kwargs
        rows, centre = np.asarray(self.X, dtype=float), np.asarray(self.mean, dtype=float)
        ends = np.stack([rows, self.projections_], axis=1)
        from matplotlib.collections import LineCollection

        self.segments_ = left.add_collection(LineCollection(list(ends), colors="0.7", linewidths=0.8, zorder=1))
        left.scatter(*rows.T, **options)
        self.arrows_: list[Any] = []
        for axis, variance in zip(np.asarray(self.components), np.asarray(self.variances), strict=True):
            end = centre + _DEVIATIONS * np.sqrt(variance) * axis
            style = {"arrowstyle": "->", "color": "black", "linewidth": 1.6}
            self.arrows_.append(left.annotate("", xy=end, xytext=centre, arrowprops=style, zorder=3))
        left.set(xlabel="feature 1", ylabel="feature 2", aspect="equal", title="rows and principal axes")
        right.axhline(0.0, color="0.7", linewidth=0.8, zorder=1)
        right.axvline(0.0, color="0.7", linewidth=0.8, zorder=1)
        right.scatter(*self.scores_.T, **options)
        right.set(xlabel="score 1", ylabel="score 2", aspect="equal", title="rotated coordinates")


class ComponentImagesDisplay(Display):
    """A grid of rows or components that are images: eigenfaces, Fisher faces, parts, or originals and reconstructions.

    Parameters
    ----------
    images : array-like of shape (n_images, height * width)
        What to draw, row by row of the grid.
    shape : tuple of two int
        Height and width of an image.
    titles : sequence of str or None, default=None
        A title for each image.
    n_columns : int or None, default=None
        Images in a row of the grid; None for a nearly square grid.
    symmetric : bool, default=True
        Whether zero is drawn in the middle of the colour scale, as suits components, which have both signs.

    Attributes
    ----------
    grid_ : tuple of two int
        Rows and columns of the grid.
    drawn_ : list of matplotlib artists
        One for each image.

    Examples
    --------
    >>> from mercer.decomposition import PCA
    >>> from mercer.inspection import ComponentImagesDisplay
    >>> from sklearn.datasets import load_digits
    >>> model = PCA(12).fit(load_digits().data)
    >>> ComponentImagesDisplay(model.components_, (8, 8)).grid_
    (3, 4)
    """

    artist = "imshow"

    def __init__(
        self,
        images: Any,
        shape: tuple[int, int],
        *,
        titles: Any = None,
        n_columns: int | None = None,
        symmetric: bool = True,
    ) -> None:
        self.images = images
        self.shape = shape
        self.titles = titles
        self.n_columns = n_columns
        self.symmetric = symmetric
        count, width = np.shape(images)
        if math.prod(shape) != width:
            raise DataError(
                f"ComponentImagesDisplay: shape must have as many pixels as there are columns, {width}; got "
                f"{tuple(shape)} with {math.prod(shape)}. Give (height, width) of an image."
            )
        columns = math.ceil(math.sqrt(count)) if n_columns is None else n_columns
        self.grid_ = (-(-count // columns), columns)

    @draws
    @classmethod
    def from_estimator(
        cls, estimator: Any, shape: tuple[int, int], *, n_images: int | None = None
    ) -> "ComponentImagesDisplay":
        """Draw the components of a fitted estimator, largest variance first.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``components_``, or with ``scalings_`` as a discriminant analysis has (Fisher faces).
        shape : tuple of two int
            Height and width of an image.
        n_images : int or None, default=None
            How many components; None for all.
        """
        check_is_fitted(estimator)
        if hasattr(estimator, "components_"):
            images = np.asarray(estimator.components_)
        elif hasattr(estimator, "scalings_"):
            images = np.asarray(estimator.scalings_).T
        else:
            raise DataError(
                f"ComponentImagesDisplay: the estimator must have components_ or scalings_; got "
                f"{type(estimator).__name__}. Give a fitted PCA, NMF or discriminant analysis."
            )
        images = images[:n_images]
        titles = [str(number + 1) for number in range(len(images))]
        return cls(images, shape, titles=titles)

    @draws
    @classmethod
    def from_reconstructions(cls, estimator: Any, X: Any, shape: tuple[int, int]) -> "ComponentImagesDisplay":
        """Draw rows above what the estimator restores of them: ``inverse_transform(transform(X))``.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``transform`` and ``inverse_transform``.
        X : array-like of shape (n_samples, height * width)
            Rows, one image each.
        shape : tuple of two int
            Height and width of an image.
        """
        check_is_fitted(estimator)
        X = np.asarray(X)
        restored = np.asarray(estimator.inverse_transform(estimator.transform(X)))
        titles = ["original"] * len(X) + ["restored"] * len(X)
        display = cls(np.concatenate([X, restored]), shape, titles=titles, n_columns=len(X), symmetric=False)
        return display

    def _grid(self) -> dict[str, Any]:
        rows, columns = self.grid_
        return {"rows": rows, "columns": columns, "figsize": (1.3 * columns, 1.45 * rows)}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        images = np.asarray(self.images, dtype=float).reshape(-1, *self.shape)
        self.drawn_ = []
        for ax in axes:
            ax.axis("off")
        for number, (image, ax) in enumerate(zip(images, axes, strict=False)):
            # Equal limits on both sides put zero in the middle of the colours.
            most = float(np.abs(image).max(initial=0.0)) or 1.0
            scale = {"cmap": "RdBu_r", "vmin": -most, "vmax": most} if self.symmetric else {"cmap": "gray"}
            self.drawn_.append(ax.imshow(image, **(scale | kwargs)))
            if self.titles is not None:
                ax.set_title(self.titles[number], fontsize="small")
