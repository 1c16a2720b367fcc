"""Observables of an energy model over temperature."""

from typing import Any

import numpy as np

from mercer.errors import ParameterError
from mercer.inspection._axes import make_axes

_NAMES = ("energy", "heat_capacity", "magnetisation", "susceptibility", "entropy")


class ThermodynamicsDisplay:
    """One observable of an energy model against temperature.

    Parameters
    ----------
    temperature, values : array-like of shape (n,)
    name : str, default="energy"
        What the values are: ``"energy"``, ``"heat_capacity"``, ``"magnetisation"``, ``"susceptibility"`` or
        ``"entropy"``, of one site.

    Attributes
    ----------
    ax_, figure_, lines_ : matplotlib objects

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

    @classmethod
    def from_model(
        cls, model: Any, temperature: Any, *, name: str = "energy", ax: Any = None, **kwargs: Any
    ) -> "ThermodynamicsDisplay":
        """Solve a model exactly at each temperature and draw one observable."""
        temperature = np.asarray(temperature, dtype=np.float64)
        display = cls(temperature, np.zeros(len(temperature)), name=name)
        display.values = getattr(model.observe(1.0 / temperature), name)
        return display.plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "ThermodynamicsDisplay":
        """Draw the display on `ax`, or a new figure; `kwargs` are passed to matplotlib's ``plot``."""
        ax = make_axes(ax)
        self.lines_ = ax.plot(self.temperature, self.values, **kwargs)
        ax.set(xlabel="temperature", ylabel=f"{self.name.replace('_', ' ')} per site")
        self.ax_, self.figure_ = ax, ax.figure
        return self
