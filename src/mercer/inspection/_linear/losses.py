"""Losses of margins, or of residuals, on one axis."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class LossDisplay:
    """Losses on one axis: those of labels against the margin, those of numbers against the residual.

    The margin is the score of the true class (of two classes, the score times -1 or 1); the residual is prediction
    minus target. Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    losses : sequence of Loss
        Of :mod:`mercer.objectives`, with one score a row, all for labels or all for numbers.
    x : array-like of shape (m,) or None, default=None
        Margins or residuals; None takes 601 from -3 to 3.
    bits : bool, default=False
        Whether the logistic loss is divided by log 2, so that it is one at the margin zero and nowhere below the 0-1
        loss.

    Attributes
    ----------
    kind_ : {"labels", "numbers"}
        What the losses compare scores with.
    values_ : dict
        Names of the losses, and values of shape (m,).
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    lines_ : list of matplotlib lines
        One a loss.

    Examples
    --------
    >>> from mercer.inspection import LossDisplay
    >>> from mercer.objectives import Hinge, ZeroOne
    >>> LossDisplay([ZeroOne(), Hinge()], [-1.0, 0.5, 2.0]).values_["Hinge"]
    array([2. , 0.5, 0. ])
    """

    def __init__(self, losses: Iterable[Any], x: Any = None, *, bits: bool = False) -> None:
        self.losses, self.bits = tuple(losses), bits
        self.x = np.linspace(-3.0, 3.0, 601) if x is None else np.asarray(x, dtype=np.float64)
        kinds = {loss.target for loss in self.losses}
        if len(kinds) != 1 or self.x.ndim != 1 or any(loss.n_scores != 1 for loss in self.losses):
            raise DataError(
                "LossDisplay: losses must be of one kind, all of labels or all of numbers, with one score a row; got "
                f"{', '.join(type(loss).__name__ for loss in self.losses) or 'none'}. Draw each kind on its own axes."
            )
        (self.kind_,) = kinds
        # Scores of rows of the class 1 are margins; scores of rows with the target 0 are residuals.
        targets = np.full(len(self.x), 1.0 if self.kind_ == "labels" else 0.0)
        self.values_: dict[str, np.ndarray] = {}
        for loss in self.losses:
            name = type(loss).__name__
            if name in self.values_:
                name = repr(loss)
            values = np.ravel(loss.value(self.x[:, None], targets, np))
            self.values_[name] = values / np.log(2) if bits and type(loss).__name__ == "Logistic" else values

    @classmethod
    def from_losses(
        cls, losses: Iterable[Any], x: Any = None, *, bits: bool = False, ax: Any = None, **kwargs: Any
    ) -> "LossDisplay":
        """Draw losses; takes what the class and :meth:`plot` take."""
        return cls(losses, x, bits=bits).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "LossDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        LossDisplay
            The display itself.
        """
        ax = make_axes(ax)
        self.lines_ = [
            ax.plot(self.x, values, **({"label": name} | kwargs))[0] for name, values in self.values_.items()
        ]
        # The exponential and the squared loss would leave the others no room: half the losses fit in.
        top = 1.1 * float(np.median([values.max() for values in self.values_.values()])) or 1.0
        ax.set(xlabel="margin" if self.kind_ == "labels" else "residual", ylabel="loss", ylim=(-0.03 * top, top))
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
