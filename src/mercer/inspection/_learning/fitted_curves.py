"""Several models of one column over the rows that they were fitted to."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class FittedCurvesDisplay:
    """Predictions of several regressors of one column, such as polynomials of several orders, over the data.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    grid : array-like of shape (m,)
        Where the curves are drawn.
    curves : dict
        Names, and predictions of shape (m,).
    rows, targets : array-like of shape (n,)
        The data.
    truth : array-like of shape (m,) or None, default=None
        The function that the data come from, where it is known.
    errors : dict or None, default=None
        Names, and numbers to show beside the names: mean squared errors.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    lines_ : list of matplotlib lines
        One a model.
    points_, truth_line_ : matplotlib objects
        The data, and the true function or None.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from mercer.inspection import FittedCurvesDisplay
    >>> from mercer.linear_model import LinearRegression
    >>> from mercer.preprocessing import PolynomialBasis
    >>> x = np.linspace(-1, 1, 9)[:, None]
    >>> models = {f"order {k}": make_pipeline(PolynomialBasis(k), LinearRegression()) for k in (1, 2)}
    >>> display = FittedCurvesDisplay.compute(models, x, x[:, 0] ** 2)
    >>> display.errors["order 1"] > 0.1 > 1e-20 > display.errors["order 2"]
    True
    """

    def __init__(
        self, grid: Any, curves: Mapping[str, Any], rows: Any, targets: Any, *, truth: Any = None, errors: Any = None
    ) -> None:
        self.grid = np.asarray(grid, dtype=np.float64)
        self.curves = {name: np.asarray(values, dtype=np.float64) for name, values in curves.items()}
        self.rows, self.targets = np.asarray(rows, dtype=np.float64), np.asarray(targets, dtype=np.float64)
        self.truth = None if truth is None else np.asarray(truth, dtype=np.float64)
        self.errors = errors
        shapes = {name: values.shape for name, values in self.curves.items()}
        wrong = [name for name, shape in shapes.items() if shape != self.grid.shape]
        if self.grid.ndim != 1 or wrong:
            raise DataError(
                f"FittedCurvesDisplay: curves must have the shape of the grid, {self.grid.shape}; got "
                f"{ {name: shapes[name] for name in wrong} or 'a grid of several axes' }."
            )

    @classmethod
    def compute(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        truth: Callable[[Any], Any] | None = None,
        n_points: int = 200,
        margin: float = 0.05,
    ) -> "FittedCurvesDisplay":
        """Fit models to one column and evaluate them on a grid, without drawing.

        Parameters
        ----------
        estimators : dict
            Names, and regressors; a copy of each is fitted.
        X : array-like of shape (n, 1)
            Rows.
        y : array-like of shape (n,)
            Targets.
        truth : callable or None, default=None
            From rows (m, 1) to the true values.
        n_points : int, default=200
            Points of the grid.
        margin : float, default=0.05
            How far the grid goes beyond the rows, as a share of their range.

        Returns
        -------
        FittedCurvesDisplay
            With the mean squared error of each model on the rows as ``errors``.
        """
        from sklearn.base import clone

        rows, targets = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != 1:
            raise DataError(f"FittedCurvesDisplay: X must have one column; got shape {rows.shape}. Select one.")
        room = margin * float(np.ptp(rows))
        grid = np.linspace(rows.min() - room, rows.max() + room, n_points)
        curves, errors = {}, {}
        for name, estimator in estimators.items():
            model = clone(estimator).fit(rows, targets)
            curves[name] = model.predict(grid[:, None])
            errors[name] = float(np.mean((model.predict(rows) - targets) ** 2))
        known = None if truth is None else truth(grid[:, None])
        return cls(grid, curves, rows[:, 0], targets, truth=known, errors=errors)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        truth: Callable[[Any], Any] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> "FittedCurvesDisplay":
        """Fit models and draw them; `kwargs` are passed to matplotlib's ``plot``. See :meth:`compute`."""
        return cls.compute(estimators, X, y, truth=truth).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "FittedCurvesDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        FittedCurvesDisplay
            The display itself.
        """
        ax = make_axes(ax)
        self.points_ = ax.scatter(self.rows, self.targets, s=8, color="0.7", zorder=0)
        self.lines_ = []
        for name, values in self.curves.items():
            label = name if self.errors is None else f"{name}: {self.errors[name]:.2g}"
            self.lines_ += ax.plot(self.grid, values, **({"label": label} | kwargs))
        self.truth_line_ = None
        if self.truth is not None:
            (self.truth_line_,) = ax.plot(self.grid, self.truth, color="black", linestyle=":", label="truth")
        # A polynomial of high order leaves the frame between rows: the data, and half their range, set the limits.
        room = 0.5 * float(np.ptp(self.targets)) or 1.0
        ax.set(xlabel="x", ylabel="y", ylim=(self.targets.min() - room, self.targets.max() + room))
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
