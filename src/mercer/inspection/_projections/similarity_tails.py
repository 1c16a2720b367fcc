"""Similarities against distance: the Gaussian of rows and the heavier tails of the t distribution on maps."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class SimilarityTailsDisplay:
    r"""Gaussian and Student-t similarities of two points against their distance.

    The Gaussian is :math:`\exp(-r^2)`, that of a degrees of freedom :math:`(1 + r^2 / a)^{-(a + 1) / 2}`. Rows of
    moderate similarity come much farther apart on a map of t similarities than their distance, which leaves room for
    near ones. Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    dofs : iterable of float, default=(1.0,)
        Degrees of freedom, one line each.
    distances : array-like of shape (m,) or None, default=None
        Distances on the map; None takes 401 from 0 to 5.
    log : bool, default=False
        Whether the similarities are on a logarithmic scale.

    Attributes
    ----------
    values_ : dict of str to ndarray of shape (m,)
        The similarities: ``"Gaussian"``, and ``"t, 1"`` and so on.
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    lines_ : list of matplotlib lines
        The Gaussian first.

    Examples
    --------
    >>> from mercer.inspection import SimilarityTailsDisplay
    >>> display = SimilarityTailsDisplay(distances=[0.0, 3.0])
    >>> print(display.values_["t, 1"], display.values_["Gaussian"].round(4))
    [1.  0.1] [1.e+00 1.e-04]
    """

    def __init__(self, dofs: Iterable[float] = (1.0,), distances: Any = None, *, log: bool = False) -> None:
        self.dofs, self.log = tuple(float(dof) for dof in dofs), log
        self.distances = np.linspace(0.0, 5.0, 401) if distances is None else np.asarray(distances, dtype=np.float64)
        if self.distances.ndim != 1 or not all(dof > 0 for dof in self.dofs):
            raise DataError(
                "SimilarityTailsDisplay: dofs must be positive numbers and distances one row of numbers; got "
                f"{self.dofs} and shape {self.distances.shape}. Leave out dofs for the t distribution of t-SNE."
            )
        squares = np.square(self.distances)
        self.values_ = {"Gaussian": np.exp(-squares)}
        for dof in self.dofs:
            # Student's t without its constant; one degree of freedom is the 1 / (1 + d^2) of t-SNE.
            self.values_[f"t, {dof:g}"] = (1.0 + squares / dof) ** (-0.5 * (dof + 1.0))

    @classmethod
    def from_dofs(
        cls, dofs: Iterable[float] = (1.0,), distances: Any = None, *, log: bool = False, ax: Any = None, **kwargs: Any
    ) -> "SimilarityTailsDisplay":
        """Draw similarities; takes what the class and :meth:`plot` take."""
        return cls(dofs, distances, log=log).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "SimilarityTailsDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        SimilarityTailsDisplay
            The display itself.
        """
        ax = make_axes(ax)
        self.lines_ = [
            ax.plot(self.distances, values, **({"label": name} | kwargs))[0] for name, values in self.values_.items()
        ]
        ax.set(xlabel="distance on the map", ylabel="similarity")
        if self.log:
            # Below a millionth the Gaussian would leave the t distribution no room.
            ax.set(yscale="log", ylim=(1e-6, 2.0))
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
