"""Pictures of optimisation: learning rates, paths over contours, losses over planes of weights."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from mercer.errors import DataError
from mercer.inspection._display import Display, draws
from mercer.neural_network import LossSurface, Network, draw_direction, map_loss, unfold_estimator
from mercer.optim import PilotRun, classify_learning_rate, pilot_learning_rates


class LearningRateDisplay(Display):
    """Steps of gradient descent on the parabola curvature * x^2 / 2, for one learning rate.

    Parameters
    ----------
    learning_rate : float
    curvature : float, default=1
    x0 : float, default=1
        Where to start.
    n_steps : int, default=8

    Attributes
    ----------
    regime_ : str
        As :func:`mercer.optim.classify_learning_rate` names it.
    path_ : ndarray of shape (n_steps + 1,)
        x after each step: x0 * (1 - learning_rate * curvature)^t.
    line_ : matplotlib artist
        The steps.

    Examples
    --------
    >>> from mercer.inspection import LearningRateDisplay
    >>> LearningRateDisplay(1.5, curvature=1.0, n_steps=3).path_
    array([ 1.   , -0.5  ,  0.25 , -0.125])
    """

    def __init__(self, learning_rate: float, *, curvature: float = 1.0, x0: float = 1.0, n_steps: int = 8) -> None:
        self.learning_rate, self.curvature, self.x0, self.n_steps = learning_rate, curvature, x0, n_steps
        self.regime_ = classify_learning_rate(learning_rate, curvature)
        # x <- x - rate curvature x multiplies x by the same factor in every step.
        self.path_ = x0 * (1.0 - learning_rate * curvature) ** np.arange(n_steps + 1)

    @classmethod
    def from_rates(cls, learning_rates: Sequence[float], *, ax: Any = None, **options: Any) -> list[Self]:
        """Draw several rates side by side, and return a display for each.

        Parameters
        ----------
        learning_rates : sequence of float
        ax : sequence of matplotlib axes or None, default=None
            One for each rate; None makes a new figure.
        **options : dict
            Passed to the displays: ``curvature``, ``x0``, ``n_steps``.
        """
        displays = [cls(rate, **options) for rate in learning_rates]
        panels = displays[0]._make_axes(columns=len(displays)) if ax is None else ax
        return [display.plot(ax=panel) for display, panel in zip(displays, np.atleast_1d(panels), strict=True)]

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        reach = 1.15 * float(np.max(np.abs(self.path_)))
        x = np.linspace(-reach, reach, 200)
        # The cost is c x^2 / 2 with the curvature c; its minimum is at 0.
        ax.plot(x, 0.5 * self.curvature * x**2, color="lightgrey")
        options = {"color": "tab:blue", "marker": "o", "markersize": 3, "linewidth": 0.8} | kwargs
        (self.line_,) = ax.plot(self.path_, 0.5 * self.curvature * self.path_**2, **options)
        ax.set(title=f"{self.regime_} ({self.learning_rate:g})", xticks=[0.0], yticks=[])


class TrajectoryDisplay(Display):
    """Paths of optimisers over the contours of a function of two variables.

    Parameters
    ----------
    fun : callable
        From an array of shape (2, ...) to values, entry by entry, such as a :class:`mercer.optim.Surface`.
    paths : dict
        Names, and paths of shape (n_steps + 1, 2).
    window : tuple of float or None, default=None
        Left, right, bottom and top; None takes the surface's own, or what holds all paths.

    Attributes
    ----------
    contours_, lines_ : matplotlib artists
        What was drawn.

    Examples
    --------
    >>> from mercer.inspection import TrajectoryDisplay
    >>> from mercer.optim import VALLEY, compare_methods
    >>> results = compare_methods(VALLEY, {"lbfgs": "lbfgs", "newton": "newton"})
    >>> display = TrajectoryDisplay.from_results(VALLEY, results)
    >>> [line.get_label() for line in display.lines_]
    ['lbfgs', 'newton']
    """

    def __init__(
        self, fun: Callable[[Any], Any], paths: Mapping[str, Any], *, window: tuple[float, ...] | None = None
    ) -> None:
        self.fun = fun
        self.paths = {name: np.asarray(path, dtype=np.float64) for name, path in paths.items()}
        for name, path in self.paths.items():
            if path.ndim != 2 or path.shape[1] != 2:
                raise DataError(f"TrajectoryDisplay: a path must have shape (n, 2); got {path.shape} for {name!r}.")
        self.window = getattr(fun, "window", None) if window is None else window

    @draws
    @classmethod
    def from_results(
        cls,
        fun: Callable[[Any], Any],
        results: Mapping[str, Any],
        *,
        window: tuple[float, ...] | None = None,
    ) -> "TrajectoryDisplay":
        """Draw the paths of results of :func:`mercer.optim.minimize`.

        Parameters
        ----------
        fun : callable
            The function that was minimised, for arrays of shape (2, ...).
        results : dict
            Names, and results that kept their path.
        window : tuple of float or None, default=None
            Left, right, bottom and top.
        """
        for name, result in results.items():
            if result.path is None:
                raise DataError(
                    f"TrajectoryDisplay: results must have their path; got none for {name!r}. Set keep_path=True."
                )
        paths = {name: result.path for name, result in results.items()}
        return cls(fun, paths, window=window)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        left, right, bottom, top = self.window or self._find_window()
        grid = np.array(np.meshgrid(np.linspace(left, right, 200), np.linspace(bottom, top, 200)))
        height = np.asarray(self.fun(grid), dtype=np.float64)
        # Levels are dense near the lowest value, where the paths end.
        levels = height.min() + (height.max() - height.min()) * np.linspace(0.0, 1.0, 25) ** 3
        self.contours_ = ax.contour(*grid, height, levels=np.unique(levels), colors="lightgrey", linewidths=0.7)
        options = {"marker": ".", "markersize": 3, "linewidth": 1.0} | kwargs
        self.lines_ = [ax.plot(*path.T, label=name, **options)[0] for name, path in self.paths.items()]
        for path in list(self.paths.values())[:1]:
            ax.plot(*path[0], color="black", marker="o", markersize=4, linestyle="none")
        ax.set(xlim=(left, right), ylim=(bottom, top))
        ax.legend()

    def _find_window(self) -> tuple[float, float, float, float]:
        """Return the window around all paths, with a margin of a tenth."""
        points = np.concatenate(list(self.paths.values()))
        low, high = points.min(axis=0), points.max(axis=0)
        room = np.maximum(0.1 * (high - low), 0.1)
        return low[0] - room[0], high[0] + room[0], low[1] - room[1], high[1] + room[1]


class LossSurfaceDisplay(Display):
    """Contours of a loss over a plane through the weights of a network.

    Parameters
    ----------
    surface : LossSurface
        As :func:`mercer.neural_network.map_loss` gives it.

    Attributes
    ----------
    contours_ : matplotlib object
        What was drawn.
    """

    artist = "contourf"

    def __init__(self, surface: LossSurface) -> None:
        self.surface = surface

    @classmethod
    def compute(
        cls,
        network: Network,
        theta: Any,
        X: Any,
        y: Any,
        *,
        loss: Any = "squared_error",
        steps: Any = None,
        statistics: Any = None,
        random_state: Any = 0,
    ) -> "LossSurfaceDisplay":
        """Evaluate the loss of rows along two random directions of the weights' own scale, without drawing.

        Parameters
        ----------
        network, theta, X, y, loss, statistics
            As :meth:`mercer.neural_network.Network.evaluate` takes them.
        steps : array-like or None, default=None
            Steps along both directions; None takes 25 from -1 to 1.
        random_state : int, Generator, RandomState or None, default=0
            For the directions.

        Returns
        -------
        LossSurfaceDisplay
        """
        random = np.random.default_rng(random_state)
        first, second = (draw_direction(network, theta, random) for _ in range(2))

        def measure(weights: Any) -> float:
            return network.evaluate(weights, X, y, loss=loss, statistics=statistics)[0]

        return cls(map_loss(measure, theta, first, second, steps=steps))

    from_network = draws(compute)

    @draws
    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, steps: Any = None, random_state: Any = 0
    ) -> "LossSurfaceDisplay":
        """Draw the loss of rows around the weights of a fitted network.

        Parameters
        ----------
        model : MLPClassifier, MLPRegressor, Autoencoder, ConvClassifier, RecurrentClassifier or RecurrentRegressor
        X, y : array-like
            Rows and targets, as its ``fit`` takes them; an autoencoder needs no y.
        steps, random_state
            As :meth:`compute` takes them.
        """
        case = unfold_estimator(model, X, y)
        options = {"loss": case.loss, "statistics": case.statistics, "steps": steps, "random_state": random_state}
        return cls.compute(case.network, case.theta, case.X, case.y, **options)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        surface = self.surface
        # Losses differ by orders of magnitude: levels are even in the logarithm above the least loss.
        floor = float(np.nanmin(surface.losses))
        heights = np.log10(surface.losses - floor + 1e-3 * (float(np.nanmax(surface.losses)) - floor) + 1e-300)
        options = {"levels": 15, "cmap": "viridis"} | kwargs
        self.contours_ = ax.contourf(surface.first, surface.second, heights, **options)
        ax.plot(0, 0, "+", color="white")
        ax.set(xlabel="first direction", ylabel="second direction", aspect="equal")


class LearningRatePilotDisplay(Display):
    """The loss after short runs against the learning rate, with the best rate and the largest stable one.

    Parameters
    ----------
    pilot : PilotRun
        As :func:`mercer.optim.pilot_learning_rates` gives it.

    Attributes
    ----------
    line_ : matplotlib object
        What was drawn.
    """

    def __init__(self, pilot: PilotRun) -> None:
        self.pilot = pilot

    @draws
    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, random_state: Any = 0, **options: Any
    ) -> "LearningRatePilotDisplay":
        """Try learning rates for the network of a fitted estimator, from new random weights.

        Parameters
        ----------
        model : MLPClassifier, MLPRegressor, Autoencoder, ConvClassifier, RecurrentClassifier or RecurrentRegressor
            Its layers and its loss are taken, not its weights.
        X, y : array-like
            Rows and targets, as its ``fit`` takes them; every step of a run uses them all.
        random_state : int, Generator, RandomState or None, default=0
            For the first weights.
        **options : dict
            Passed to :func:`mercer.optim.pilot_learning_rates`, such as ``method=Adam``.
        """
        case = unfold_estimator(model, X, y)
        start, _ = case.network.initialise(random_state)
        with np.errstate(all="ignore"):
            pilot = pilot_learning_rates(case.measure, start, grad=case.differentiate, **options)
        return cls(pilot)

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        pilot = self.pilot
        # Runs that diverged are not drawn: they would squeeze the rest into a line.
        shown = np.isfinite(pilot.values) & (pilot.values <= 2.0 * pilot.start_value)
        options = {"marker": ".", "color": "black"} | kwargs
        (self.line_,) = ax.plot(pilot.learning_rates[shown], pilot.values[shown], **options)
        ax.axhline(pilot.start_value, color="0.8", zorder=0, label="before")
        ax.axvline(pilot.best, color="tab:green", linestyle=":", label=f"best, {pilot.best:.2g}")
        # Methods with memory may rise for some steps at rates that are good in the end.
        if np.isfinite(pilot.largest_stable) and pilot.largest_stable >= pilot.best:
            label = f"largest stable, {pilot.largest_stable:.2g}"
            ax.axvline(pilot.largest_stable, color="tab:red", linestyle=":", label=label)
        ax.set(xscale="log", xlabel="learning rate", ylabel="loss after the run")
        ax.legend()
