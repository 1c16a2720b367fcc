"""Pictures of feature spaces: components as contours, rows lifted to three features, filters of smoothness."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class KernelComponentDisplay:
    """Contours of the components of a kernel principal component analysis of two columns.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    grid : pair of ndarrays
        The two coordinates of the points, as ``numpy.meshgrid`` gives them.
    values : ndarray of shape (n_components, rows, columns)
        The components at these points.
    rows : ndarray of shape (n, 2)
        The rows, drawn on top.

    Attributes
    ----------
    axes_, figure_ : matplotlib objects
        Where it was drawn, a frame a component.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import KernelPCA
    >>> from mercer.inspection import KernelComponentDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = KernelPCA(2, kernel="rbf").fit(X)
    >>> KernelComponentDisplay.from_estimator(model, X).values.shape
    (2, 40, 40)
    """

    def __init__(self, *, grid: Any, values: Any, rows: Any) -> None:
        self.grid = grid
        self.values = values
        self.rows = rows

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, *, n_points: int = 40, axes: Any = None, **kwargs: Any
    ) -> "KernelComponentDisplay":
        """Evaluate the components of a fitted model on a grid around rows, and draw them.

        Parameters
        ----------
        model : KernelPCA
            Fitted to two columns.
        X : array-like of shape (n, 2)
            Rows.
        n_points : int, default=40
            Points of the grid along each side.
        axes : sequence of matplotlib axes or None, default=None
            Where to draw, one for each component; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``contour``.

        Returns
        -------
        KernelComponentDisplay
            The display, drawn.
        """
        check_is_fitted(model)
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != 2:
            raise DataError(f"KernelComponentDisplay: rows must have two columns; got shape {X.shape}.")
        margin = 0.15 * np.ptp(X, axis=0)
        sides = [np.linspace(X[:, j].min() - margin[j], X[:, j].max() + margin[j], n_points) for j in (0, 1)]
        grid = np.meshgrid(*sides)
        values = model.transform(np.column_stack([part.ravel() for part in grid]))
        # transform gives (points, components); a picture needs one grid for each component.
        display = cls(grid=grid, values=values.T.reshape(-1, n_points, n_points), rows=X)
        return display.plot(axes=axes, **kwargs)

    def plot(self, *, axes: Any = None, **kwargs: Any) -> "KernelComponentDisplay":
        """Draw the display.

        Parameters
        ----------
        axes : sequence of matplotlib axes or None, default=None
            Where to draw, one for each component; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``contour``.

        Returns
        -------
        KernelComponentDisplay
            The display itself.
        """
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots(1, len(self.values), squeeze=False)[1][0]
        for place, (ax, values) in enumerate(zip(axes, self.values)):
            ax.contour(*self.grid, values, **({"levels": 9, "linewidths": 0.8} | kwargs))
            ax.scatter(*self.rows.T, s=4, color="0.3")
            ax.set(title=f"component {place + 1}")
        self.axes_, self.figure_ = list(axes), axes[0].figure
        return self


class FeatureLiftDisplay:
    """Rows of two columns and their three features of degree two, where a plane separates what no line can.

    The features are (x1^2, sqrt(2) x1 x2, x2^2). The kernel (x.y)^2 is their scalar product.

    Parameters
    ----------
    features : ndarray of shape (n, 3)
    labels : ndarray of shape (n,)
        Two classes.
    normal, offset : ndarray of shape (3,), float
        The plane normal.z + offset = 0 of least squared error.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Where it was drawn.

    Examples
    --------
    >>> from mercer.inspection import FeatureLiftDisplay
    >>> from sklearn.datasets import make_circles
    >>> X, ring = make_circles(100, factor=0.4, random_state=0)
    >>> FeatureLiftDisplay.from_rows(X, ring).share_apart_
    1.0
    """

    def __init__(self, *, features: Any, labels: Any, normal: Any, offset: float) -> None:
        self.features = features
        self.labels = labels
        self.normal = normal
        self.offset = offset
        classes = np.unique(labels)
        sides = (features @ normal + offset > 0) == (labels == classes[-1])
        self.share_apart_ = float(np.mean(sides))

    @classmethod
    def from_rows(cls, X: Any, y: Any, *, ax: Any = None) -> "FeatureLiftDisplay":
        """Lift rows, find the plane, and draw both.

        Parameters
        ----------
        X : array-like of shape (n, 2)
            Rows.
        y : array-like of shape (n,)
            Labels of two classes.
        ax : matplotlib axes or None, default=None
            Of three dimensions; None makes a new figure.

        Returns
        -------
        FeatureLiftDisplay
            The display, drawn.
        """
        X, y = np.asarray(X, dtype=float), np.asarray(y)
        if X.ndim != 2 or X.shape[1] != 2 or len(np.unique(y)) != 2:
            raise DataError(
                f"FeatureLiftDisplay: rows must have two columns and two classes; got shape {X.shape} and "
                f"{len(np.unique(y))} classes."
            )
        # With the factor sqrt(2) inner products of features are (x . y)^2, the homogeneous quadratic kernel.
        features = np.column_stack([X[:, 0] ** 2, np.sqrt(2.0) * X[:, 0] * X[:, 1], X[:, 1] ** 2])
        targets = 2.0 * (y == np.unique(y)[-1]) - 1.0
        plane = np.linalg.lstsq(np.column_stack([features, np.ones(len(X))]), targets, rcond=None)[0]
        return cls(features=features, labels=y, normal=plane[:3], offset=float(plane[3])).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> "FeatureLiftDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Of three dimensions; None makes a new figure.

        Returns
        -------
        FeatureLiftDisplay
            The display itself.
        """
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.figure().add_subplot(projection="3d")
        for label in np.unique(self.labels):
            ax.scatter(*self.features[self.labels == label].T, s=6, label=str(label))
        first, last = self.features[:, [0, 2]].min(axis=0), self.features[:, [0, 2]].max(axis=0)
        side, height = np.meshgrid(
            np.linspace(first[0], last[0], 9), np.linspace(-1.0, 1.0, 9) * np.ptp(self.features[:, 1]) / 2
        )
        # A plane parallel to the third axis is no function of the other two.
        if abs(self.normal[2]) > 1e-9:
            plane = -(self.offset + self.normal[0] * side + self.normal[1] * height) / self.normal[2]
            ax.plot_surface(side, height, plane, alpha=0.3, color="grey")
        ax.set(xlabel="x1^2", ylabel="sqrt(2) x1 x2", zlabel="x2^2")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class SmoothnessFilterDisplay:
    """The filter of a regularisation network, its penalty, the bump it makes, and the fit.

    Parameters
    ----------
    model : RegularizationNetwork
        Fitted to one column.
    rows, targets : ndarray of shape (n,)
        What it was fitted to.

    Attributes
    ----------
    axes_, figure_ : matplotlib objects
        Where it was drawn: filter and penalty, bump, fit.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import SmoothnessFilterDisplay
    >>> from mercer.kernel_ridge import RegularizationNetwork
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> model = RegularizationNetwork(0.1).fit(X, np.sin(X[:, 0]))
    >>> len(SmoothnessFilterDisplay.from_estimator(model, X, np.sin(X[:, 0])).axes_)
    3
    """

    def __init__(self, *, model: Any, rows: Any, targets: Any) -> None:
        self.model = model
        self.rows = rows
        self.targets = targets

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, axes: Any = None) -> "SmoothnessFilterDisplay":
        """Draw a fitted network.

        Parameters
        ----------
        model : RegularizationNetwork
            Fitted to one column.
        X, y : array-like of shape (n, 1), (n,)
            Rows and targets.
        axes : sequence of three matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        SmoothnessFilterDisplay
            The display, drawn.
        """
        check_is_fitted(model)
        if model.n_features_in_ != 1:
            raise DataError(f"SmoothnessFilterDisplay: the model must have one column; got {model.n_features_in_}.")
        return cls(model=model, rows=np.ravel(X), targets=np.ravel(y)).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> "SmoothnessFilterDisplay":
        """Draw the display.

        Parameters
        ----------
        axes : sequence of three matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        SmoothnessFilterDisplay
            The display itself.
        """
        axes = make_axes(axes, 1, 3)
        spectrum, bump, fit = axes
        # The bump is the Fourier transform of the filter: its width is in units of one over the bandwidth.
        frequencies = np.linspace(0.0, 4.0 * self.model.bandwidth, 200)
        response = self.model.response(frequencies)
        spectrum.plot(frequencies, response, label="filter G")
        spectrum.plot(frequencies, np.minimum(1.0 / response, 10.0) / 10.0, label="penalty 1 / G, tenths")
        spectrum.set(xlabel="frequency")
        spectrum.legend()
        near = np.linspace(-4.0, 4.0, 201) / self.model.bandwidth
        bump.plot(near, self.model.kernel_(near[:, None], np.zeros((1, 1)))[:, 0])
        bump.set(xlabel="distance", title="bump")
        along = np.linspace(self.rows.min(), self.rows.max(), 300)
        fit.scatter(self.rows, self.targets, s=6, color="0.5")
        fit.plot(along, self.model.predict(along[:, None]))
        fit.set(xlabel="x", title="fit")
        self.axes_, self.figure_ = list(axes), fit.figure
        return self
