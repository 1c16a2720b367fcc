"""A regression as a generative model: its function, the band of its noise, and sampled targets."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class GenerativeRegressionDisplay:
    """The function of a generative regression of one column, its noise band, and targets drawn from it.

    The band is two standard deviations of the noise on either side of the expected target. Needs matplotlib, which is
    imported when :meth:`plot` is called.

    Parameters
    ----------
    grid : array-like of shape (m,)
        Inputs.
    function, centre, deviation : array-like of shape (m,)
        f(x), and the expected target and the standard deviation of the target there.
    samples : array-like of shape (n_samples, m)
        Drawn targets.
    rows, targets : array-like of shape (n,) or None, default=None
        Data, where there are any.

    Attributes
    ----------
    ax_, figure_, line_, band_, fantasies_, points_ : matplotlib objects
        Where and what was drawn; ``points_`` may be None.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimation import GaussianDensity, GenerativeRegression
    >>> from mercer.inspection import GenerativeRegressionDisplay
    >>> model = GenerativeRegression(lambda X: 2 * X[:, 0], GaussianDensity(0.0, 0.25))
    >>> display = GenerativeRegressionDisplay.compute(model, [0.0, 1.0], random_state=0)
    >>> display.function, display.deviation
    (array([0., 2.]), array([0.5, 0.5]))
    """

    def __init__(
        self,
        grid: Any,
        function: Any,
        centre: Any,
        deviation: Any,
        samples: Any,
        *,
        rows: Any = None,
        targets: Any = None,
    ) -> None:
        self.grid, self.function = np.asarray(grid, dtype=np.float64), np.asarray(function, dtype=np.float64)
        self.centre, self.deviation = np.asarray(centre, dtype=np.float64), np.asarray(deviation, dtype=np.float64)
        self.samples = np.asarray(samples, dtype=np.float64)
        self.rows, self.targets = rows, targets
        if self.samples.ndim != 2 or self.samples.shape[1:] != self.grid.shape:
            raise DataError(
                f"GenerativeRegressionDisplay: samples must have shape (n_samples, {len(self.grid)}); got "
                f"{self.samples.shape}."
            )

    @classmethod
    def compute(
        cls, model: Any, grid: Any, *, X: Any = None, y: Any = None, n_samples: int = 3, random_state: Any = 0
    ) -> "GenerativeRegressionDisplay":
        """Evaluate a generative regression on a grid, without drawing.

        Parameters
        ----------
        model : GenerativeRegression
            Of one column.
        grid : array-like of shape (m,)
            Inputs.
        X : array-like of shape (n, 1) or None, default=None
            Data to show.
        y : array-like of shape (n,) or None, default=None
            Their targets.
        n_samples : int, default=3
            Targets drawn at each input.
        random_state : int, RandomState, Generator or None, default=0
            The seed.

        Returns
        -------
        GenerativeRegressionDisplay
        """
        grid = np.asarray(grid, dtype=np.float64)
        if grid.ndim != 1:
            raise DataError(f"GenerativeRegressionDisplay: grid must have one axis; got shape {grid.shape}.")
        function, (mean, variance) = model.predict(grid[:, None]), _moments(model.noise)
        # y = f + e, or y = f (1 + e): the noise is relative to the function.
        scale = np.abs(function) if model.multiplicative else np.ones_like(function)
        centre = function * (1 + mean) if model.multiplicative else function + mean
        samples = model.sample(grid[:, None], n_samples, random_state)
        rows = None if X is None else np.ravel(X)
        return cls(grid, function, centre, np.sqrt(variance) * scale, samples, rows=rows, targets=y)

    @classmethod
    def from_model(cls, model: Any, grid: Any, *, ax: Any = None, **options: Any) -> "GenerativeRegressionDisplay":
        """Draw a generative regression; `options` are those of :meth:`compute`."""
        return cls.compute(model, grid, **options).plot(ax=ax)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "GenerativeRegressionDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot`` of the function.

        Returns
        -------
        GenerativeRegressionDisplay
            The display itself.
        """
        ax = make_axes(ax)
        low, high = self.centre - 2 * self.deviation, self.centre + 2 * self.deviation
        self.band_ = ax.fill_between(self.grid, low, high, color="0.85", label="two deviations")
        (self.line_,) = ax.plot(self.grid, self.function, **({"color": "black", "label": "function"} | kwargs))
        places = np.broadcast_to(self.grid, self.samples.shape)
        self.fantasies_ = ax.scatter(places.ravel(), self.samples.ravel(), s=4, color="tab:blue", label="sampled")
        self.points_ = None
        if self.rows is not None:
            self.points_ = ax.scatter(self.rows, self.targets, s=14, color="tab:red", zorder=3, label="seen")
        ax.set(xlabel="x", ylabel="y")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _moments(noise: Any) -> tuple[float, float]:
    """Return the mean and the variance of a density, as its attributes, its methods, or those of a large sample."""
    values = []
    for name in ("mean", "variance", "var"):
        value = getattr(noise, name, None)
        value = value() if callable(value) else value
        if value is not None:
            values.append(float(value))
    if len(values) == 2:
        return values[0], values[1]
    # 100 000 draws give the mean up to about 0.3 % of a deviation; the fixed seed repeats the picture.
    sample = np.asarray(noise.sample(100_000, 0), dtype=np.float64)
    return float(sample.mean()), float(sample.var())
