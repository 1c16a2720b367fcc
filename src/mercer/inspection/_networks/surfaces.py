"""Losses over planes of weights, and over learning rates."""

from typing import Any

import numpy as np

from mercer.inspection._axes import make_axes
from mercer.neural_network import LossSurface, Network, draw_direction, map_loss, unfold_estimator
from mercer.optim import PilotRun, pilot_learning_rates


class LossSurfaceDisplay:
    """Contours of a loss over a plane through the weights of a network.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    surface : LossSurface
        As :func:`mercer.neural_network.map_loss` gives it.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    contours_ : matplotlib object
        What was drawn.
    """

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

    @classmethod
    def from_network(
        cls, network: Network, theta: Any, X: Any, y: Any, *, ax: Any = None, **options: Any
    ) -> "LossSurfaceDisplay":
        """Draw the loss of rows; takes what :meth:`compute` takes."""
        return cls.compute(network, theta, X, y, **options).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, steps: Any = None, random_state: Any = 0, ax: Any = None
    ) -> "LossSurfaceDisplay":
        """Draw the loss of rows around the weights of a fitted network.

        Parameters
        ----------
        model : MLPClassifier, MLPRegressor, Autoencoder, ConvClassifier, RecurrentClassifier or RecurrentRegressor
        X, y : array-like
            Rows and targets, as its ``fit`` takes them; an autoencoder needs no y.
        steps, random_state
            As :meth:`compute` takes them.
        ax : matplotlib axes or None, default=None

        Returns
        -------
        LossSurfaceDisplay
        """
        case = unfold_estimator(model, X, y)
        options = {"loss": case.loss, "statistics": case.statistics, "steps": steps, "random_state": random_state}
        return cls.from_network(case.network, case.theta, case.X, case.y, ax=ax, **options)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "LossSurfaceDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``contourf``.

        Returns
        -------
        LossSurfaceDisplay
            The display itself.
        """
        ax = make_axes(ax)
        surface = self.surface
        # Losses differ by orders of magnitude: levels are even in the logarithm above the least loss.
        floor = float(np.nanmin(surface.losses))
        heights = np.log10(surface.losses - floor + 1e-3 * (float(np.nanmax(surface.losses)) - floor) + 1e-300)
        options = {"levels": 15, "cmap": "viridis"} | kwargs
        self.contours_ = ax.contourf(surface.first, surface.second, heights, **options)
        ax.plot(0, 0, "+", color="white")
        ax.set(xlabel="first direction", ylabel="second direction", aspect="equal")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class LearningRatePilotDisplay:
    """The loss after short runs against the learning rate, with the best rate and the largest stable one.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    pilot : PilotRun
        As :func:`mercer.optim.pilot_learning_rates` gives it.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    line_ : matplotlib object
        What was drawn.
    """

    def __init__(self, pilot: PilotRun) -> None:
        self.pilot = pilot

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, random_state: Any = 0, ax: Any = None, **options: Any
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
        ax : matplotlib axes or None, default=None
        **options : dict
            Passed to :func:`mercer.optim.pilot_learning_rates`, such as ``method=Adam``.

        Returns
        -------
        LearningRatePilotDisplay
        """
        case = unfold_estimator(model, X, y)
        start, _ = case.network.initialise(random_state)
        with np.errstate(all="ignore"):
            pilot = pilot_learning_rates(case.measure, start, grad=case.differentiate, **options)
        return cls(pilot).plot(ax=ax)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "LearningRatePilotDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        LearningRatePilotDisplay
            The display itself.
        """
        ax, pilot = make_axes(ax), self.pilot
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
        self.ax_, self.figure_ = ax, ax.figure
        return self
