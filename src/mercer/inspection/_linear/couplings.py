"""Couplings between spins as a heat map, and configurations of spins."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class CouplingDisplay:
    """Heat map of a square matrix of couplings, with zero in the middle of the colours.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    couplings : array-like of shape (n, n)
        The coupling of each pair.

    Attributes
    ----------
    limit_ : float
        The largest absolute coupling, at either end of the colours.
    ax_, figure_, image_ : matplotlib objects
        Where and what was drawn.

    Examples
    --------
    >>> from mercer.datasets import make_ising_chain, pair_products
    >>> from mercer.inspection import CouplingDisplay
    >>> from mercer.linear_model import Lasso
    >>> spins, energy = make_ising_chain(400, 10)
    >>> model = Lasso(0.01, fit_intercept=False).fit(pair_products(spins), energy)
    >>> CouplingDisplay.compute(model).couplings.shape
    (10, 10)
    """

    def __init__(self, couplings: Any) -> None:
        self.couplings = np.asarray(couplings, dtype=np.float64)
        if self.couplings.ndim != 2 or self.couplings.shape[0] != self.couplings.shape[1]:
            raise DataError(f"CouplingDisplay: couplings must be a square matrix; got shape {self.couplings.shape}.")
        self.limit_ = float(np.abs(self.couplings).max(initial=0.0)) or 1.0

    @classmethod
    def compute(cls, estimator: Any) -> "CouplingDisplay":
        """Take the coefficients of a linear model of all products of pairs, without drawing.

        Parameters
        ----------
        estimator : linear model
            Fitted to :func:`mercer.datasets.pair_products`, with ``coef_`` of n^2 entries.

        Returns
        -------
        CouplingDisplay
        """
        if not hasattr(estimator, "coef_"):
            raise DataError(
                f"CouplingDisplay: the model must be fitted and have coef_; got {type(estimator).__name__}."
            )
        coef = np.ravel(estimator.coef_)
        n = round(len(coef) ** 0.5)
        if n * n != len(coef):
            raise DataError(
                f"CouplingDisplay: the model must have n^2 coefficients, one a pair of spins; got {len(coef)}. Fit it "
                "to mercer.datasets.pair_products."
            )
        return cls(coef.reshape(n, n))

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> "CouplingDisplay":
        """Draw the couplings that a linear model found; takes what :meth:`compute` and :meth:`plot` take."""
        return cls.compute(estimator).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, colorbar: bool = True, **kwargs: Any) -> "CouplingDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        colorbar : bool, default=True
            Whether to draw the scale of the colours.
        **kwargs : dict
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        CouplingDisplay
            The display itself.
        """
        ax = make_axes(ax)
        self.image_ = ax.imshow(
            self.couplings, **({"cmap": "seismic", "vmin": -self.limit_, "vmax": self.limit_} | kwargs)
        )
        if colorbar:
            ax.figure.colorbar(self.image_, ax=ax, shrink=0.8)
        ax.set(xlabel="spin", ylabel="spin")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class SpinDisplay:
    """Configurations of spins on a square lattice, black for -1 and white for 1, a panel each.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    states : array-like of shape (n, side * side) or (n, side, side)
        Spins, as :func:`mercer.datasets.make_ising_lattice` returns them.
    titles : sequence of str or None, default=None
        Of the panels; None shows the magnetisation, the mean of the spins.

    Attributes
    ----------
    magnetisation_ : ndarray of shape (n,)
        The mean of the spins of each state.
    axes_, figure_, images_ : matplotlib objects
        Where and what was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import SpinDisplay
    >>> SpinDisplay(np.array([[1, 1, 1, -1]])).magnetisation_
    array([0.5])
    """

    def __init__(self, states: Any, *, titles: Any = None) -> None:
        states = np.asarray(states)
        side = round(states[0].size ** 0.5) if states.ndim in (2, 3) and len(states) else 0
        if side == 0 or side * side != states[0].size:
            raise DataError(
                f"SpinDisplay: states must have rows of side^2 spins; got shape {states.shape}. Put one state into a "
                "list."
            )
        self.states = states.reshape(len(states), side, side)
        self.magnetisation_ = self.states.mean(axis=(1, 2))
        self.titles = [f"m = {m:.2f}" for m in self.magnetisation_] if titles is None else list(titles)
        if len(self.titles) != len(states):
            raise DataError(
                f"SpinDisplay: titles must have {len(states)} entries, one a state; got {len(self.titles)}."
            )

    def plot(self, *, axes: Any = None, **kwargs: Any) -> "SpinDisplay":
        """Draw the display.

        Parameters
        ----------
        axes : sequence of matplotlib axes or None, default=None
            One a state; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``imshow``.

        Returns
        -------
        SpinDisplay
            The display itself.
        """
        panels = np.ravel(make_axes(axes, 1, len(self.states), squeeze=False))
        style = {"cmap": "gray", "vmin": -1, "vmax": 1} | kwargs
        self.images_ = [ax.imshow(state, **style) for ax, state in zip(panels, self.states, strict=True)]
        for ax, title in zip(panels, self.titles, strict=True):
            ax.set(title=title, xticks=(), yticks=())
        self.axes_, self.figure_ = panels, panels[0].figure
        return self
