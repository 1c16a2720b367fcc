"""Pictures of kernels: components in feature space, lifted rows, filters, Gaussian processes."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.errors import DataError
from mercer.inspection._display import Display, draws


class KernelComponentDisplay(Display):
    """Contours of the components of a kernel principal component analysis of two columns.

    Parameters
    ----------
    grid : pair of ndarrays
        The two coordinates of the points, as ``numpy.meshgrid`` gives them.
    values : ndarray of shape (n_components, rows, columns)
        The components at these points.
    rows : ndarray of shape (n, 2)
        The rows, drawn on top.

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

    artist = "contour"

    def __init__(self, *, grid: Any, values: Any, rows: Any) -> None:
        self.grid = grid
        self.values = values
        self.rows = rows

    @draws
    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, n_points: int = 40) -> "KernelComponentDisplay":
        """Evaluate the components of a fitted model on a grid around rows, and draw them.

        Parameters
        ----------
        model : KernelPCA
            Fitted to two columns.
        X : array-like of shape (n, 2)
            Rows.
        n_points : int, default=40
            Points of the grid along each side.
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
        return cls(grid=grid, values=values.T.reshape(-1, n_points, n_points), rows=X)

    def _grid(self) -> dict[str, Any]:
        return {"columns": len(self.values), "figsize": (3.2 * len(self.values), 3.2)}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        for place, (ax, values) in enumerate(zip(axes, self.values)):
            ax.contour(*self.grid, values, **({"levels": 9, "linewidths": 0.8} | kwargs))
            ax.scatter(*self.rows.T, s=4, color="0.3")
            ax.set(title=f"component {place + 1}")


class FeatureLiftDisplay(Display):
    """Rows of two columns and their three features of degree two, where a plane separates what no line can.

    The features are (x1^2, sqrt(2) x1 x2, x2^2). The kernel (x.y)^2 is their scalar product.

    Parameters
    ----------
    features : ndarray of shape (n, 3)
    labels : ndarray of shape (n,)
        Two classes.
    normal, offset : ndarray of shape (3,), float
        The plane normal.z + offset = 0 of least squared error.

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

    @draws
    @classmethod
    def from_rows(cls, X: Any, y: Any) -> "FeatureLiftDisplay":
        """Lift rows, find the plane, and draw both.

        Parameters
        ----------
        X : array-like of shape (n, 2)
            Rows.
        y : array-like of shape (n,)
            Labels of two classes.
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
        return cls(features=features, labels=y, normal=plane[:3], offset=float(plane[3]))

    def _make_axes(self, **options: Any) -> Any:
        return super()._make_axes(subplot_kw={"projection": "3d"}, **options)

    def _draw(self, ax: Any) -> None:
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
        ax.set(xlabel="x1^2", zlabel="x2^2")
        ax.set_ylabel("sqrt(2) x1 x2", labelpad=12)  # long and slanted: nearer it would cover the numbers


class SmoothnessFilterDisplay(Display):
    """The filter of a regularisation network, its penalty, the bump it makes, and the fit.

    Parameters
    ----------
    model : RegularizationNetwork
        Fitted to one column.
    rows, targets : ndarray of shape (n,)
        What it was fitted to.

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

    @draws
    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> "SmoothnessFilterDisplay":
        """Draw a fitted network.

        Parameters
        ----------
        model : RegularizationNetwork
            Fitted to one column.
        X, y : array-like of shape (n, 1), (n,)
            Rows and targets.
        """
        check_is_fitted(model)
        if model.n_features_in_ != 1:
            raise DataError(f"SmoothnessFilterDisplay: the model must have one column; got {model.n_features_in_}.")
        return cls(model=model, rows=np.ravel(X), targets=np.ravel(y))

    def _grid(self) -> dict[str, Any]:
        return {"columns": 3, "figsize": (9.6, 3.2)}

    def _draw(self, axes: Any) -> None:
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


class ProcessDisplay(Display):
    """The mean of a Gaussian process of one column, two deviations about it, and functions drawn from it.

    Of a model that is not fitted the prior is shown.

    Parameters
    ----------
    grid : ndarray of shape (m,)
    mean, std : ndarray of shape (m,)
    samples : ndarray of shape (m, n_samples)
    rows, targets : ndarray of shape (n,) or None
        What was seen.

    Attributes
    ----------
    line_, band_, points_ : matplotlib artists

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gaussian_process import GaussianProcessRegressor
    >>> from mercer.inspection import ProcessDisplay
    >>> model = GaussianProcessRegressor(optimizer=None).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> display = ProcessDisplay.compute(model, np.array([0.0, 0.5, 5.0]))
    >>> bool(display.std[0] < display.std[1] < display.std[2])
    True
    """

    def __init__(self, grid: Any, mean: Any, std: Any, samples: Any, rows: Any = None, targets: Any = None) -> None:
        self.grid, self.mean, self.std, self.samples = grid, mean, std, samples
        self.rows, self.targets = rows, targets

    @classmethod
    def compute(cls, estimator: Any, grid: Any, *, n_samples: int = 3, random_state: Any = 0) -> "ProcessDisplay":
        """Evaluate a process on a grid, without drawing.

        Parameters
        ----------
        estimator : GaussianProcessRegressor
            Of one column and one target, fitted or not.
        grid : array-like of shape (m,)
        n_samples : int, default=3
        random_state : int, RandomState, Generator or None, default=0

        Returns
        -------
        ProcessDisplay
        """
        grid = np.asarray(grid, dtype=np.float64)
        rows = getattr(estimator, "X_train_", None)
        if rows is not None and (rows.shape[1] != 1 or estimator.y_train_.ndim > 1):
            raise DataError(
                f"ProcessDisplay: the process must have one column and one target; got {rows.shape[1]} columns and "
                f"targets of shape {estimator.y_train_.shape}. Fit one of one column."
            )
        mean, std = estimator.predict(grid[:, None], return_std=True)
        samples = estimator.sample_y(grid[:, None], n_samples, random_state)
        if rows is None:
            return cls(grid, mean, std, samples)
        # Targets were standardised for the fit; they are drawn in their own units.
        targets = estimator.y_train_ * estimator._y_train_std + estimator._y_train_mean
        return cls(grid, mean, std, samples, rows[:, 0], targets)

    from_estimator = draws(compute)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        low, high = self.mean - 2 * self.std, self.mean + 2 * self.std
        self.band_ = ax.fill_between(self.grid, low, high, color="0.85", label="two deviations")
        ax.plot(self.grid, self.samples, linewidth=0.7)
        (self.line_,) = ax.plot(self.grid, self.mean, **({"color": "black", "label": "mean"} | kwargs))
        self.points_ = None
        if self.rows is not None:
            self.points_ = ax.scatter(self.rows, self.targets, color="tab:red", s=14, zorder=3, label="seen")
        ax.legend(loc="best", fontsize="small")


class KernelSelectionDisplay(Display):
    """The scores of kernels over their widths, as curves or as a table of colours.

    Parameters
    ----------
    selection : KernelSelection
        What :func:`mercer.gaussian_process.select_kernel` returned.

    Attributes
    ----------
    lines_ : list of matplotlib lines, or image_ : matplotlib image
    """

    def __init__(self, selection: Any) -> None:
        self.selection = selection

    def plot(self, *, ax: Any = None, kind: str = "curves", **kwargs: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        kind : {"curves", "table"}, default="curves"
            A curve for each kernel, the training score dashed beside that of folds; or a heat map.
        """
        return super().plot(ax=ax, kind=kind, **kwargs)

    def _draw(self, ax: Any, *, kind: str = "curves") -> None:
        selection = self.selection
        if kind == "table":
            self.image_ = ax.imshow(selection.scores, aspect="auto")
            ax.set_yticks(range(len(selection.kernels)), selection.kernels)
            ax.set_xticks(range(len(selection.widths)), [f"{width:.2g}" for width in selection.widths])
            ax.figure.colorbar(self.image_, ax=ax, label=selection.criterion)
        else:
            self.lines_ = [
                ax.semilogx(selection.widths, scores, marker="o", label=name)[0]
                for name, scores in zip(selection.kernels, selection.scores, strict=True)
            ]
            # The evidence is one curve: it judges by the training rows themselves.
            if selection.criterion != "evidence":
                for line, training in zip(self.lines_, selection.training_scores, strict=True):
                    ax.semilogx(selection.widths, training, color=line.get_color(), linestyle=":")
            ax.axvline(selection.best_width, color="grey", linestyle=":")
            ax.set_ylabel(selection.criterion)
            ax.legend(fontsize="small")
        ax.set_xlabel("width")
