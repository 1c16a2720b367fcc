"""Universal approximation: a function beside sums of units that approximate it, and the error by their number."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.errors import ParameterError
from mercer.inspection._axes import make_axes
from mercer.neural_network import UnitSum, approximate_by_cosines, approximate_by_units

# Points at which a function of one variable is drawn: a step of the finest sum is still several points wide.
_POINTS = 1001
# Points along each side of the unit square for a function of two variables.
_SIDE = 60


class ApproximationDisplay:
    """A function beside sums of hidden units that approximate it, and the largest error by the number of units.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    points : ndarray of shape (m,) or (m, 2)
        Where the function was evaluated.
    values : ndarray of shape (m,)
        The function there.
    sums : list of UnitSum
        The approximations, as :func:`mercer.neural_network.approximate_by_units` and
        :func:`mercer.neural_network.approximate_by_cosines` give them.

    Attributes
    ----------
    errors : ndarray of shape (len(sums),)
        The largest error of each sum at the points.
    n_units : ndarray of shape (len(sums),)
        The number of hidden units of each sum.
    axes_, figure_ : matplotlib objects
        Where it was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import ApproximationDisplay
    >>> display = ApproximationDisplay.compute(np.sin, [5, 50], high=3.0)
    >>> bool(display.errors[1] < 0.2 * display.errors[0])
    True
    """

    def __init__(self, points: Array, values: Array, sums: list[UnitSum]) -> None:
        self.points, self.values, self.sums = points, values, sums
        self.errors = np.array([np.abs(each(points) - values).max() for each in sums])
        self.n_units = np.array([len(each.outputs) for each in sums])

    @classmethod
    def compute(
        cls,
        function: Callable[[Array], Any],
        sizes: Sequence[int],
        *,
        kind: str = "step",
        low: float = 0.0,
        high: float = 1.0,
        steepness: float = 4.0,
    ) -> "ApproximationDisplay":
        """Approximate a function with several numbers of units, without drawing.

        Parameters
        ----------
        function : callable
            From an array of shape (m,) to one of the same shape; for cosines from points (m, 2) of the unit square to
            values (m,).
        sizes : sequence of int
            Numbers of pieces of the interval, or of frequencies along each axis for cosines.
        kind : {'step', 'sigmoid', 'cosine'}, default='step'
        low, high : float, default=0 and 1
            The interval, for steps and sigmoids.
        steepness : float, default=4
            The slope of sigmoids, in units of pieces per switch.

        Returns
        -------
        ApproximationDisplay
        """
        if kind not in ("step", "sigmoid", "cosine") or len(sizes) == 0:
            raise ParameterError(
                "ApproximationDisplay: kind must be 'step', 'sigmoid' or 'cosine' and sizes must name at least one "
                f"number of units; got {kind!r} and {list(sizes)!r}."
            )
        if kind == "cosine":
            side = np.linspace(0.0, 1.0, _SIDE)
            points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
            sums = [approximate_by_cosines(function, size) for size in sizes]
        else:
            points = np.linspace(low, high, _POINTS)
            slope = steepness if kind == "sigmoid" else None
            sums = [approximate_by_units(function, size, low=low, high=high, steepness=slope) for size in sizes]
        return cls(points, np.asarray(function(points), dtype=np.float64), sums)

    @classmethod
    def from_function(
        cls, function: Callable[[Array], Any], sizes: Sequence[int], *, axes: Any = None, **options: Any
    ) -> "ApproximationDisplay":
        """Approximate a function and draw it; takes what :meth:`compute` takes."""
        return cls.compute(function, sizes, **options).plot(axes=axes)

    def plot(self, *, axes: Any = None, **kwargs: Any) -> "ApproximationDisplay":
        """Draw the display.

        Parameters
        ----------
        axes : pair of matplotlib axes or None, default=None
            Where to draw the function with its approximations, and the errors; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot`` for the sums of one variable, ``contourf`` for the last sum of two.

        Returns
        -------
        ApproximationDisplay
            The display itself.
        """
        axes = make_axes(axes, 1, 2, figsize=(8.0, 3.2), layout="constrained")
        if self.points.ndim == 1:
            axes[0].plot(self.points, self.values, color="black", label="function")
            for each, count in zip(self.sums, self.n_units, strict=True):
                axes[0].plot(self.points, each(self.points), **({"label": f"{count} units"} | kwargs))
            axes[0].legend()
            axes[0].set(xlabel="x", ylabel="value")
        else:
            # The finest sum in colours, the function itself as lines over it.
            side = self.points[:_SIDE, 0]
            drawn = self.sums[-1](self.points).reshape(_SIDE, _SIDE)
            axes[0].contourf(side, side, drawn, **({"levels": 18, "cmap": "RdBu_r"} | kwargs))
            axes[0].contour(side, side, self.values.reshape(_SIDE, _SIDE), levels=6, colors="black", linewidths=0.5)
            axes[0].set(title=f"{self.n_units[-1]} units", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
        # A sum of one piece is a constant: it has no units, and no place on a logarithmic axis.
        shown = (self.n_units > 0) & (self.errors > 0)
        axes[1].loglog(self.n_units[shown], self.errors[shown], "o-", color="black", markersize=4)
        axes[1].set(xlabel="hidden units", ylabel="largest error")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
