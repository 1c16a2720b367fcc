"""A state of a lattice as a picture."""

from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class SpinLatticeDisplay:
    """A state of a two-dimensional lattice: one square for each site.

    Parameters
    ----------
    state : array-like of shape (rows, columns)
        Spins of -1 and 1, or states 0 to q - 1.

    Attributes
    ----------
    ax_, figure_, image_ : matplotlib objects

    Examples
    --------
    >>> from mercer.energy import IsingModel
    >>> from mercer.inspection import SpinLatticeDisplay
    >>> model = IsingModel.lattice((4, 6), beta=0.3)
    >>> SpinLatticeDisplay(model.sample(random_state=0).reshape(4, 6)).state.shape
    (4, 6)
    """

    def __init__(self, state: Any) -> None:
        self.state = np.asarray(state)
        if self.state.ndim != 2:
            raise DataError(
                f"SpinLatticeDisplay: state must have two dimensions; got shape {self.state.shape}. "
                f"Reshape it to the shape of the lattice."
            )

    @classmethod
    def from_model(cls, model: Any, state: Any, *, ax: Any = None, **kwargs: Any) -> "SpinLatticeDisplay":
        """Draw a state of a two-dimensional lattice model."""
        if model.shape is None or len(model.shape) != 2:
            raise DataError(f"SpinLatticeDisplay: the model must be a two-dimensional lattice; got {model!r}.")
        return cls(np.asarray(state).reshape(model.shape)).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "SpinLatticeDisplay":
        """Draw the display on `ax`, or a new figure; `kwargs` are passed to matplotlib's ``imshow``."""
        ax = make_axes(ax)
        spins = bool(np.all(np.abs(self.state) == 1))
        options = {"cmap": "Greys_r" if spins else "viridis", "interpolation": "nearest"} | kwargs
        self.image_ = ax.imshow(self.state, **options)
        ax.set(xticks=[], yticks=[])
        self.ax_, self.figure_ = ax, ax.figure
        return self
