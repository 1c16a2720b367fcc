"""Components as images, such as eigenfaces, and rows beside what a few components restore of them."""

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class ComponentImagesDisplay:
    """A grid of rows or components that are images: eigenfaces, Fisher faces, parts, or originals and reconstructions.

    Needs matplotlib, which is imported when :meth:`plot` is called.

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
    axes_, figure_ : matplotlib objects
        Where it was drawn.

    Examples
    --------
    >>> from mercer.decomposition import PCA
    >>> from mercer.inspection import ComponentImagesDisplay
    >>> from sklearn.datasets import load_digits
    >>> model = PCA(12).fit(load_digits().data)
    >>> ComponentImagesDisplay(model.components_, (8, 8)).grid_
    (3, 4)
    """

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

    @classmethod
    def from_estimator(
        cls, estimator: Any, shape: tuple[int, int], *, n_images: int | None = None, axes: Any = None, **kwargs: Any
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
        axes : array of matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        ComponentImagesDisplay
            The display, drawn.
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
        return cls(images, shape, titles=titles).plot(axes=axes, **kwargs)

    @classmethod
    def from_reconstructions(
        cls, estimator: Any, X: Any, shape: tuple[int, int], *, axes: Any = None, **kwargs: Any
    ) -> "ComponentImagesDisplay":
        """Draw rows above what the estimator restores of them: ``inverse_transform(transform(X))``.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``transform`` and ``inverse_transform``.
        X : array-like of shape (n_samples, height * width)
            Rows, one image each.
        shape : tuple of two int
            Height and width of an image.
        axes : array of matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        ComponentImagesDisplay
            The display, drawn: one column of the grid for each row of `X`.
        """
        check_is_fitted(estimator)
        X = np.asarray(X)
        restored = np.asarray(estimator.inverse_transform(estimator.transform(X)))
        titles = ["original"] * len(X) + ["restored"] * len(X)
        display = cls(np.concatenate([X, restored]), shape, titles=titles, n_columns=len(X), symmetric=False)
        return display.plot(axes=axes, **kwargs)

    def plot(self, *, axes: Any = None, **kwargs: Any) -> "ComponentImagesDisplay":
        """Draw the display.

        Parameters
        ----------
        axes : array of matplotlib axes or None, default=None
            Where to draw, one for each image; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        ComponentImagesDisplay
            The display itself.
        """
        size = (1.3 * self.grid_[1], 1.45 * self.grid_[0])
        axes = np.asarray(make_axes(axes, *self.grid_, figsize=size, squeeze=False))
        images = np.asarray(self.images, dtype=float).reshape(-1, *self.shape)
        self.drawn_ = []
        for ax in axes.flat:
            ax.axis("off")
        for number, (image, ax) in enumerate(zip(images, axes.flat, strict=False)):
            # Equal limits on both sides put zero in the middle of the colours.
            most = float(np.abs(image).max(initial=0.0)) or 1.0
            scale = {"cmap": "RdBu_r", "vmin": -most, "vmax": most} if self.symmetric else {"cmap": "gray"}
            self.drawn_.append(ax.imshow(image, **(scale | kwargs)))
            if self.titles is not None:
                ax.set_title(self.titles[number], fontsize="small")
        self.axes_, self.figure_ = axes, axes.flat[0].figure
        return self
