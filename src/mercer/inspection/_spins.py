"""Spins and their couplings: states of lattices, heat maps of couplings, observables over temperature."""

from typing import Any, Self

import numpy as np

from mercer.errors import DataError, ParameterError
from mercer.inspection._display import Display, draws


class CouplingDisplay(Display):
    """Heat map of a square matrix of couplings, with zero in the middle of the colours.

    Parameters
    ----------
    couplings : array-like of shape (n, n)
        The coupling of each pair.

    Attributes
    ----------
    limit_ : float
        The largest absolute coupling, at either end of the colours.
    image_ : matplotlib objects
        What was drawn.

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

    artist = "imshow"

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

    from_estimator = draws(compute)

    def plot(self, *, ax: Any = None, colorbar: bool = True, **kwargs: Any) -> Self:
        """Draw the display on `ax` or in a new figure, with or without the scale of its colours."""
        return super().plot(ax=ax, colorbar=colorbar, **kwargs)

    def _draw(self, ax: Any, *, colorbar: bool = True, **kwargs: Any) -> None:
        self.image_ = ax.imshow(
            self.couplings, **({"cmap": "seismic", "vmin": -self.limit_, "vmax": self.limit_} | kwargs)
        )
        if colorbar:
            ax.figure.colorbar(self.image_, ax=ax, shrink=0.8)
        ax.set(xlabel="spin", ylabel="spin")


class SpinDisplay(Display):
    """Configurations of spins on a square lattice, black for -1 and white for 1, a panel each.

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
    images_ : matplotlib objects
        What was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import SpinDisplay
    >>> SpinDisplay(np.array([[1, 1, 1, -1]])).magnetisation_
    array([0.5])
    """

    artist = "imshow"

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

    def _grid(self) -> dict[str, Any]:
        return {"columns": len(self.states), "figsize": (2.4 * len(self.states), 2.7)}

    def _draw(self, axes: Any, **kwargs: Any) -> None:
        style = {"cmap": "gray", "vmin": -1, "vmax": 1} | kwargs
        self.images_ = [ax.imshow(state, **style) for ax, state in zip(axes, self.states, strict=True)]
        for ax, title in zip(axes, self.titles, strict=True):
            ax.set(title=title, xticks=(), yticks=())


class SpinLatticeDisplay(Display):
    """A state of a two-dimensional lattice: one square for each site.

    Parameters
    ----------
    state : array-like of shape (rows, columns)
        Spins of -1 and 1, or states 0 to q - 1.

    Attributes
    ----------
    image_ : matplotlib objects

    Examples
    --------
    >>> from mercer.energy import IsingModel
    >>> from mercer.inspection import SpinLatticeDisplay
    >>> model = IsingModel.lattice((4, 6), beta=0.3)
    >>> SpinLatticeDisplay(model.sample(random_state=0).reshape(4, 6)).state.shape
    (4, 6)
    """

    artist = "imshow"

    def __init__(self, state: Any) -> None:
        self.state = np.asarray(state)
        if self.state.ndim != 2:
            raise DataError(
                f"SpinLatticeDisplay: state must have two dimensions; got shape {self.state.shape}. "
                f"Reshape it to the shape of the lattice."
            )

    @draws
    @classmethod
    def from_model(cls, model: Any, state: Any) -> "SpinLatticeDisplay":
        """Draw a state of a two-dimensional lattice model."""
        if model.shape is None or len(model.shape) != 2:
            raise DataError(f"SpinLatticeDisplay: the model must be a two-dimensional lattice; got {model!r}.")
        return cls(np.asarray(state).reshape(model.shape))

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        spins = bool(np.all(np.abs(self.state) == 1))
        options = {"cmap": "Greys_r" if spins else "viridis", "interpolation": "nearest"} | kwargs
        self.image_ = ax.imshow(self.state, **options)
        ax.set(xticks=[], yticks=[])


_NAMES = ("energy", "heat_capacity", "magnetisation", "susceptibility", "entropy")


class ThermodynamicsDisplay(Display):
    """One observable of an energy model against temperature.

    Parameters
    ----------
    temperature, values : array-like of shape (n,)
    name : str, default="energy"
        What the values are: ``"energy"``, ``"heat_capacity"``, ``"magnetisation"``, ``"susceptibility"`` or
        ``"entropy"``, of one site.

    Attributes
    ----------
    lines_ : matplotlib objects

    Examples
    --------
    >>> from mercer.energy import IsingModel
    >>> from mercer.inspection import ThermodynamicsDisplay
    >>> curves = IsingModel.lattice((4, 4)).observe([0.25, 0.5, 1.0])
    >>> ThermodynamicsDisplay(1 / curves.betas, curves.energy).temperature
    array([4., 2., 1.])
    """

    def __init__(self, temperature: Any, values: Any, *, name: str = "energy") -> None:
        if name not in _NAMES:
            raise ParameterError(
                f"ThermodynamicsDisplay: name must be one of {', '.join(map(repr, _NAMES))}; got {name!r}."
            )
        self.temperature, self.values = (np.asarray(series, dtype=np.float64) for series in (temperature, values))
        self.name = name

    @draws
    @classmethod
    def from_model(cls, model: Any, temperature: Any, *, name: str = "energy") -> "ThermodynamicsDisplay":
        """Solve a model exactly at each temperature and draw one observable."""
        temperature = np.asarray(temperature, dtype=np.float64)
        display = cls(temperature, np.zeros(len(temperature)), name=name)
        display.values = getattr(model.observe(1.0 / temperature), name)
        return display

    def _draw(self, ax: Any, **kwargs: Any) -> None:
        self.lines_ = ax.plot(self.temperature, self.values, **kwargs)
        ax.set(xlabel="temperature", ylabel=f"{self.name.replace('_', ' ')} per site")
