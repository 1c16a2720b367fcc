"""Bias and variance: as shots at a target, and as parts of the error against complexity."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class BiasVarianceDisplay:
    """Squared bias, variance and noise against complexity, and their sum.

    Needs matplotlib, which is imported when :meth:`plot` is called.

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
    ax_, figure_ : matplotlib objects
        Where it was drawn.
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

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "BiasVarianceDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        BiasVarianceDisplay
            The display itself.
        """
        ax = make_axes(ax)
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
        self.ax_, self.figure_ = ax, ax.figure
        return self


class BullseyeDisplay:
    """Shots at a target by four estimators: little and much bias, little and much variance.

    Needs matplotlib, which is imported when :meth:`plot` is called.

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
    axes_, figure_ : matplotlib objects
        Where it was drawn.

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

    def plot(self, *, axes: Any = None) -> "BullseyeDisplay":
        """Draw the four targets.

        Parameters
        ----------
        axes : array of matplotlib axes of shape (2, 2) or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        BullseyeDisplay
            The display itself.
        """
        axes = make_axes(axes, 2, 2)
        reach = 1.1 * float(np.abs(self.shots_).max())
        angle = np.linspace(0, 2 * np.pi, 200)
        for row, biased in enumerate(("little bias", "much bias")):
            for column, spread in enumerate(("little variance", "much variance")):
                ax = axes[row, column]
                for radius in (0.2, 0.5, 0.8):
                    ax.plot(radius * reach * np.cos(angle), radius * reach * np.sin(angle), color="0.8")
                ax.plot(*self.shots_[row, column].T, "k.", markersize=4)
                ax.plot(0, 0, "+", color="tab:red", markersize=12)
                ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=[], yticks=[], title=f"{biased}, {spread}")
                ax.set_aspect("equal")
        self.axes_, self.figure_ = axes, axes[0, 0].figure
        return self
