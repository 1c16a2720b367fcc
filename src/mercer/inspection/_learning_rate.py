"""What a learning rate does: the steps of gradient descent on a parabola."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.inspection._axes import make_axes
from mercer.optim import classify_learning_rate


class LearningRateDisplay:
    """Steps of gradient descent on the parabola curvature * x^2 / 2, for one learning rate.

    Needs matplotlib, which is imported when :meth:`plot` is called.

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
    ax_, figure_ : matplotlib objects
        Where it was drawn.
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
    def from_rates(cls, learning_rates: Sequence[float], *, axes: Any = None, **options: Any) -> list[Any]:
        """Draw several rates side by side.

        Parameters
        ----------
        learning_rates : sequence of float
        axes : array of matplotlib axes or None, default=None
            One for each rate; None makes a new figure.
        **options : dict
            Passed to the displays: ``curvature``, ``x0``, ``n_steps``.

        Returns
        -------
        list of LearningRateDisplay
            The displays, drawn.
        """
        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.subplots(1, len(learning_rates), squeeze=False)[1][0]
        return [cls(rate, **options).plot(ax=ax) for rate, ax in zip(learning_rates, axes, strict=True)]

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "LearningRateDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot`` for the steps.

        Returns
        -------
        LearningRateDisplay
            The display itself.
        """
        ax = make_axes(ax)
        reach = 1.15 * float(np.max(np.abs(self.path_)))
        x = np.linspace(-reach, reach, 200)
        # The cost is c x^2 / 2 with the curvature c; its minimum is at 0.
        ax.plot(x, 0.5 * self.curvature * x**2, color="lightgrey")
        options = {"color": "tab:blue", "marker": "o", "markersize": 3, "linewidth": 0.8} | kwargs
        (self.line_,) = ax.plot(self.path_, 0.5 * self.curvature * self.path_**2, **options)
        ax.set(title=f"{self.regime_} ({self.learning_rate:g})", xticks=[0.0], yticks=[])
        self.ax_, self.figure_ = ax, ax.figure
        return self
