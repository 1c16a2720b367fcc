"""A density before and after it goes through a function."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer._base.density import as_density
from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class TransformedDensityDisplay:
    """Three panels: the density of x, the function y = f(x), and the density of y, for one or several densities.

    Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    densities : dict
        Names, and :class:`mercer.estimation.TransformedDensity` of one number each; for several slopes w of a sigmoid,
        one for each w.
    x : array-like of shape (m,)
        Where to draw, increasing, inside the support of the input density.

    Attributes
    ----------
    inputs_, values_, outputs_ : dict
        Names, and the density of x, f(x), and the density of y = f(x), of shape (m,) each.
    areas_ : dict
        Names, and the areas below the drawn curves of x and of y, by trapezia: both one where `x` covers the support.
    axes_, figure_ : matplotlib objects
        Where it was drawn.
    lines_ : dict
        Names, and the three lines.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimation import GaussianDensity, TransformedDensity
    >>> from mercer.inspection import TransformedDensityDisplay
    >>> log_normal = TransformedDensity(GaussianDensity(), np.exp, np.log, np.exp)
    >>> display = TransformedDensityDisplay({"exp": log_normal}, np.linspace(-5.0, 5.0, 2001))
    >>> np.round(display.areas_["exp"], 3)
    array([1., 1.])
    """

    def __init__(self, densities: Mapping[str, Any], x: Any) -> None:
        self.densities, self.x = dict(densities), np.asarray(x, dtype=np.float64)
        if self.x.ndim != 1 or len(self.x) < 2 or not (np.diff(self.x) > 0).all():
            raise DataError(
                f"TransformedDensityDisplay: x must have increasing numbers; got shape {self.x.shape}. Sort them."
            )
        self.inputs_, self.values_, self.outputs_, self.areas_ = {}, {}, {}, {}
        for name, transformed in self.densities.items():
            inputs = np.exp(as_density(transformed.density, "TransformedDensityDisplay").logpdf(self.x))
            values = np.asarray(transformed.function(self.x), dtype=np.float64)
            # p(y) = q(x) / |f'(x)| at the x itself: the inverse, which rounds where f is flat, is not needed.
            outputs = inputs / np.abs(transformed.slope(self.x))
            self.inputs_[name], self.values_[name], self.outputs_[name] = inputs, values, outputs
            # A falling function runs through y backwards, so that its area comes out negative.
            areas = np.trapezoid(inputs, self.x), abs(np.trapezoid(outputs, values))
            self.areas_[name] = np.array(areas)

    @classmethod
    def from_densities(
        cls, densities: Mapping[str, Any], x: Any, *, axes: Any = None, **kwargs: Any
    ) -> "TransformedDensityDisplay":
        """Draw transformed densities; takes what the class and :meth:`plot` take."""
        return cls(densities, x).plot(axes=axes, **kwargs)

    def plot(self, *, axes: Any = None, **kwargs: Any) -> "TransformedDensityDisplay":
        """Draw the display.

        Parameters
        ----------
        axes : three matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        TransformedDensityDisplay
            The display itself.
        """
        axes = np.ravel(make_axes(axes, 1, 3))
        self.lines_ = {}
        for name in self.densities:
            style = {"label": name} | kwargs
            curves = (
                (self.x, self.inputs_[name]),
                (self.x, self.values_[name]),
                (self.values_[name], self.outputs_[name]),
            )
            self.lines_[name] = [ax.plot(*curve, **style)[0] for ax, curve in zip(axes, curves, strict=True)]
        axes[0].set(xlabel="x", ylabel="density of x")
        axes[1].set(xlabel="x", ylabel="y = f(x)")
        # Steep functions pile up y at the ends: the limit is the highest density at the middle 60 % of x.
        tops = []
        for name, inputs in self.inputs_.items():
            share = np.cumsum(inputs) / inputs.sum()
            tops.append(self.outputs_[name][(share > 0.2) & (share < 0.8)].max(initial=0.0))
        axes[2].set(xlabel="y", ylabel="density of y", ylim=(0.0, 1.1 * max(tops, default=0.0) or 1.0))
        axes[2].legend()
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
