"""The risk of James and Stein's estimator beside that of the mean."""

from typing import Any

import numpy as np

from mercer.estimation import james_stein_risk
from mercer.inspection._axes import make_axes


class JamesSteinDisplay:
    """Total mean squared error of the mean and of James and Stein's estimator against the norm of the truth.

    The mean of d coordinates has the risk d v whatever the truth is; James and Stein's is below it everywhere. Needs
    matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    d : int
        Coordinates, three or more.
    variance : float, default=1.0
        v, of a coordinate of the sample mean.
    norms : array-like or None, default=None
        Distances of the truth from the target, increasing; None takes 201 from zero to three times root(d v).

    Attributes
    ----------
    norms_ : ndarray
        Where the curves are drawn.
    mean_risk_ : float
        d v.
    risk_ : ndarray
        Of James and Stein's estimator, without the positive part.
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    mean_line_, line_ : matplotlib lines
        What was drawn.

    Examples
    --------
    >>> from mercer.inspection import JamesSteinDisplay
    >>> display = JamesSteinDisplay(10, norms=[0.0, 100.0])
    >>> display.mean_risk_, display.risk_.round(2)
    (10.0, array([2.  , 9.99]))
    """

    def __init__(self, d: int, variance: float = 1.0, *, norms: Any = None) -> None:
        self.d, self.variance = d, variance
        self.norms_ = (
            np.linspace(0.0, 3 * np.sqrt(d * variance), 201) if norms is None else np.asarray(norms, dtype=np.float64)
        )
        self.risk_ = james_stein_risk(self.norms_, d, variance)
        self.mean_risk_ = float(d * variance)

    @classmethod
    def from_dimension(
        cls, d: int, variance: float = 1.0, *, norms: Any = None, ax: Any = None, **kwargs: Any
    ) -> "JamesSteinDisplay":
        """Draw the risks in `d` dimensions; takes what the class and :meth:`plot` take."""
        return cls(d, variance, norms=norms).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "JamesSteinDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        JamesSteinDisplay
            The display itself.
        """
        ax = make_axes(ax)
        (self.mean_line_,) = ax.plot(
            self.norms_, np.full_like(self.norms_, self.mean_risk_), **({"color": "0.6", "label": "mean"} | kwargs)
        )
        (self.line_,) = ax.plot(self.norms_, self.risk_, **({"color": "black", "label": "James and Stein"} | kwargs))
        ax.set(xlabel="norm of the true mean", ylabel="mean squared error", ylim=(0, 1.1 * self.mean_risk_))
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
