"""Pictures of fitted functions and their errors: curves over the data, bias and variance."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._display import Display, draws


class BiasVarianceDisplay(Display):
    """Squared bias, variance and noise against complexity, and their sum.

    Parameters
    ----------
    parts : sequence of BiasVariance
        Of :func:`~mercer.model_selection.bias_variance`, one for each point.
    x : sequence of numbers
        The points: degree, penalty, number of columns.
    label : str, default="complexity"
        What the points are.

    Attributes
    ----------
    bias_, variance_, noise_, total_ : ndarray of shape (n_points,)
        What is drawn; `total_` is the sum of the others.
    lines_ : list of matplotlib artists
        What was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import BiasVarianceDisplay
    >>> from mercer.linear_model import Ridge
    >>> from mercer.model_selection import bias_variance
    >>> def draw(random):
    ...     X = random.normal(size=(20, 3))
    ...     return X, X.sum(axis=1) + random.normal(size=20)
    >>> alphas = [0.1, 10.0, 100.0]
    >>> parts = [bias_variance(Ridge(a), draw, np.eye(3), np.ones(3), noise=1.0, random_state=0) for a in alphas]
    >>> bool((np.diff(BiasVarianceDisplay(parts, alphas).bias_) > 0).all())
    True
    """

    def __init__(self, parts: Sequence[Any], x: Sequence[float], *, label: str = "complexity") -> None:
        if len(parts) != len(x):
            raise DataError(f"BiasVarianceDisplay: x must have one number per part, {len(parts)}; got {len(x)}.")
        self.parts = parts
        self.x = x
        self.label = label
        self.bias_ = np.array([part.bias for part in parts])
        self.variance_ = np.array([part.variance for part in parts])
        self.noise_ = np.array([part.noise for part in parts])
        # The expected squared error is squared bias + variance + noise.
        self.total_ = self.bias_ + self.variance_ + self.noise_

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        drawn = [("squared bias", self.bias_, "--"), ("variance", self.variance_, ":"), ("sum", self.total_, "-")]
        if self.noise_.any():
            drawn.insert(2, ("noise", self.noise_, "-."))
        self.lines_ = [
            ax.plot(self.x, values, **({"linestyle": style, "color": "k", "label": name} | kwargs))[0]
            for name, values, style in drawn
        ]
        # The complexity with the least sum is the one to choose.
        ax.axvline(self.x[int(self.total_.argmin())], color="tab:red", linestyle=":")
        ax.set(xlabel=self.label, ylabel="squared error")
        ax.legend()


class BullseyeDisplay(Display):
    """Shots at a target by four estimators: little and much bias, little and much variance.

    Parameters
    ----------
    bias : float, default=2.0
        Distance of the biased estimators' mean from the centre.
    spread : float, default=1.0
        Standard deviation of the estimators with much variance; those with little have a fifth of it.
    n_shots : int, default=40
        Draws of each.
    random_state : int or None, default=None
        Seed of the draws.

    Attributes
    ----------
    shots_ : ndarray of shape (2, 2, n_shots, 2)
        By bias, variance and draw.
    errors_ : ndarray of shape (2, 2, 3)
        Squared bias, variance and mean squared distance from the centre; the last is the sum of the others.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import BullseyeDisplay
    >>> errors = BullseyeDisplay(random_state=0).errors_
    >>> bool(np.allclose(errors[..., 0] + errors[..., 1], errors[..., 2]))
    True
    """

    def __init__(
        self, *, bias: float = 2.0, spread: float = 1.0, n_shots: int = 40, random_state: int | None = None
    ) -> None:
        self.bias = bias
        self.spread = spread
        self.n_shots = n_shots
        self.random_state = random_state
        # Shots are bias times the unit vector (0.8, 0.6) plus spread times normal draws, for each pair of the two.
        draws = np.random.default_rng(random_state).normal(size=(2, 2, n_shots, 2))
        away = np.array([0.0, bias])[:, None, None, None] * np.array([0.8, 0.6])
        self.shots_ = away + draws * np.array([0.2 * spread, spread])[None, :, None, None]
        mean = self.shots_.mean(axis=2)
        variance = self.shots_.var(axis=2).sum(axis=-1)
        self.errors_ = np.stack(
            [(mean**2).sum(axis=-1), variance, (self.shots_**2).sum(axis=-1).mean(axis=-1)], axis=-1
        )

    def _grid(self) -> dict[str, Any]:
        return {"rows": 2, "columns": 2}

    def _draw(self, axes: Any) -> None:
        reach = 1.1 * float(np.abs(self.shots_).max())
        angle = np.linspace(0, 2 * np.pi, 200)
        for row, biased in enumerate(("little bias", "much bias")):
            for column, spread in enumerate(("little variance", "much variance")):
                ax = axes[2 * row + column]
                for radius in (0.2, 0.5, 0.8):
                    ax.plot(radius * reach * np.cos(angle), radius * reach * np.sin(angle), color="0.8")
                ax.plot(*self.shots_[row, column].T, "k.", markersize=4)
                ax.plot(0, 0, "+", color="tab:red", markersize=12)
                ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=[], yticks=[], title=f"{biased}, {spread}")
                ax.set_aspect("equal")


class FittedCurvesDisplay(Display):
    """Predictions of several regressors of one column, such as polynomials of several orders, over the data.

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

    from_estimators = draws(compute)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
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
