"""Pictures of annealing: acceptance against the change of energy, the energy of a run, and the Gibbs distribution."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.errors import DataError
from mercer.inspection._axes import make_axes
from mercer.optim import GibbsDistribution, acceptance_probability


class AcceptanceDisplay:
    """The probability of accepting a move, against the change of energy, for several inverse temperatures.

    Parameters
    ----------
    betas : sequence of float, default=(0.5, 1, 2, 10)
    rule : {"heat bath", "metropolis"}, default="heat bath"
    reach : float, default=4
        The largest change of energy shown.

    Attributes
    ----------
    changes_ : ndarray
    probabilities_ : ndarray of shape (n_betas, n_changes)
    ax_, figure_, lines_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import AcceptanceDisplay
    >>> display = AcceptanceDisplay(betas=(1.0, 5.0))
    >>> display.probabilities_[:, display.changes_ == 0.0].ravel()
    array([0.5, 0.5])
    """

    def __init__(
        self, betas: Sequence[float] = (0.5, 1.0, 2.0, 10.0), *, rule: str = "heat bath", reach: float = 4.0
    ) -> None:
        self.betas, self.rule, self.reach = betas, rule, reach
        self.changes_ = np.linspace(-reach, reach, 201)
        self.probabilities_ = np.array([acceptance_probability(self.changes_, beta, rule) for beta in betas])

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "AcceptanceDisplay":
        """Draw the display on `ax`, or a new figure; `kwargs` are passed to matplotlib's ``plot``."""
        ax = make_axes(ax)
        pairs = zip(self.betas, self.probabilities_, strict=True)
        self.lines_ = [ax.plot(self.changes_, row, label=f"beta = {beta:g}", **kwargs)[0] for beta, row in pairs]
        ax.set(xlabel="change of energy", ylabel="accepted with probability", ylim=(-0.02, 1.02))
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


class EnergyTraceDisplay:
    """The energy of an annealing run, level by level, and the best met so far.

    Parameters
    ----------
    energy, best : array-like of shape (n_levels,)
    beta : array-like of shape (n_levels,)
        The inverse temperature of each level.

    Attributes
    ----------
    ax_, figure_, lines_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import EnergyTraceDisplay
    >>> EnergyTraceDisplay([3.0, 1.0, 2.0], [3.0, 1.0, 1.0], [0.1, 0.2, 0.4]).best
    array([3., 1., 1.])
    """

    def __init__(self, energy: Any, best: Any, beta: Any) -> None:
        self.energy, self.best, self.beta = (np.asarray(trace, dtype=np.float64) for trace in (energy, best, beta))

    @classmethod
    def from_result(cls, result: Any, *, ax: Any = None, **kwargs: Any) -> "EnergyTraceDisplay":
        """Draw the trace of a result of :func:`mercer.optim.anneal`."""
        history = result.history
        if "beta" not in history or "energy" not in history:
            raise DataError(
                f"EnergyTraceDisplay: the result must be one of anneal; got a history of {', '.join(history)}."
            )
        return cls(history["energy"], history["objective"], history["beta"]).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "EnergyTraceDisplay":
        """Draw the display on `ax`, or a new figure; `kwargs` are passed to matplotlib's ``plot``."""
        ax = make_axes(ax)
        walk = ax.plot(self.beta, self.energy, label="walk", **({"linewidth": 0.8} | kwargs))
        self.lines_ = walk + ax.plot(self.beta, self.best, color="black", label="best")
        ax.set(xlabel="beta", ylabel="energy", xscale="log")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


class GibbsDisplay:
    """An energy over a line of states, and its Gibbs distribution for several inverse temperatures.

    Parameters
    ----------
    energies : array-like of shape (n,)
    betas : sequence of float, default=(0.5, 2, 10)
    positions : array-like of shape (n,) or None, default=None
        Where the states are; None numbers them.

    Attributes
    ----------
    probabilities_ : ndarray of shape (n_betas, n)
    ax_, figure_, lines_ : matplotlib objects

    Examples
    --------
    >>> from mercer.inspection import GibbsDisplay
    >>> GibbsDisplay([0.0, 1.0], betas=(0.0, 1000.0)).probabilities_
    array([[0.5, 0.5],
           [1. , 0. ]])
    """

    def __init__(self, energies: Any, *, betas: Sequence[float] = (0.5, 2.0, 10.0), positions: Any = None) -> None:
        self.energies, self.betas = np.asarray(energies, dtype=np.float64), betas
        self.positions = np.arange(len(self.energies)) if positions is None else np.asarray(positions)
        self.probabilities_ = np.array([GibbsDistribution(self.energies, beta).probabilities for beta in betas])

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "GibbsDisplay":
        """Draw the display on `ax`, or a new figure; `kwargs` are passed to matplotlib's ``plot``."""
        ax = make_axes(ax)
        pairs = zip(self.betas, self.probabilities_, strict=True)
        self.lines_ = [ax.plot(self.positions, row, label=f"beta = {beta:g}", **kwargs)[0] for beta, row in pairs]
        ax.set(xlabel="state", ylabel="probability")
        other = ax.twinx()
        other.plot(self.positions, self.energies, color="lightgrey", zorder=0)
        other.set(ylabel="energy")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
