"""Impurities of a node with two classes against the share of one of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.errors import ParameterError
from mercer.inspection._axes import make_axes
from mercer.tree import impurity


class ImpurityDisplay:
    """Entropy, Gini's index and the error of a node with two classes against the share of one of them.

    All are zero in pure nodes and largest at one half; the first two are strictly concave, so that a split which
    changes the shares always gains, while the error gains only where the commonest class changes.

    Parameters
    ----------
    shares : ndarray of shape (n_points,)
        Shares p of one of two classes.
    curves : dict of ndarray
        The impurity at each share, by criterion.

    Attributes
    ----------
    lines_ : list of matplotlib artists
        One for each criterion.
    ax_, figure_ : matplotlib objects
        Where it was drawn.

    Examples
    --------
    >>> from mercer.inspection import ImpurityDisplay
    >>> curves = ImpurityDisplay.curves_of(("entropy", "gini"), [0.0, 0.5, 1.0])
    >>> {name: values.tolist() for name, values in curves.items()}
    {'entropy': [0.0, 1.0, 0.0], 'gini': [0.0, 0.5, 0.0]}
    """

    def __init__(self, shares: np.ndarray, curves: dict[str, np.ndarray]) -> None:
        self.shares = shares
        self.curves = curves

    @staticmethod
    def curves_of(criteria: Sequence[str], shares: Any) -> dict[str, np.ndarray]:
        """Compute the impurity at each share, by criterion.

        Parameters
        ----------
        criteria : sequence of str
            Criteria that :func:`mercer.tree.impurity` knows.
        shares : array-like of shape (n_points,)
            Shares p of one of two classes.

        Returns
        -------
        dict of ndarray
        """
        return {
            name: np.array([impurity([0, 1], name, sample_weight=[1.0 - p, p]) for p in shares]) for name in criteria
        }

    @classmethod
    def from_criteria(
        cls, criteria: Sequence[str] = ("entropy", "gini", "misclassification"), *, n_points: int = 201, ax: Any = None
    ) -> "ImpurityDisplay":
        """Draw the curves of some criteria.

        Parameters
        ----------
        criteria : sequence of str, default=("entropy", "gini", "misclassification")
            Criteria that :func:`mercer.tree.impurity` knows.
        n_points : int, default=201
            Shares from 0 to 1.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ImpurityDisplay
        """
        if n_points < 3:
            raise ParameterError(f"ImpurityDisplay: n_points must be an integer in [3, inf); got {n_points!r}.")
        shares = np.linspace(0.0, 1.0, n_points)
        return cls(shares, cls.curves_of(criteria, shares)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> "ImpurityDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ImpurityDisplay
        """
        ax = make_axes(ax)
        self.lines_ = [ax.plot(self.shares, values, label=name)[0] for name, values in self.curves.items()]
        ax.set(xlabel="share p of one of two classes", ylabel="impurity", title="pure nodes at both ends")
        ax.legend(fontsize=7)
        self.ax_, self.figure_ = ax, ax.figure
        return self
