"""The landscape of contrasts: how far from Gaussian the projection of two white columns is at each angle."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from mercer.decomposition import negentropy
from mercer.errors import DataError
from mercer.estimation import excess_kurtosis
from mercer.inspection._axes import make_axes

# Angles from 0 to 180 degrees: one for each degree.
_ANGLES = 181


class ContrastLandscapeDisplay:
    """Kurtosis and negentropy of the projection of two columns on each direction of their white plane.

    The rows are made white first, so that every direction has variance one. Sources are at the extremes: maxima of
    negentropy, maxima of kurtosis for heavy tails and minima for light ones.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        Rows of two columns.
    method : str, default="spacing"
        How :func:`mercer.decomposition.negentropy` estimates.

    Attributes
    ----------
    angles_ : ndarray of shape (181,)
        In degrees.
    kurtosis_, negentropy_ : ndarray of shape (181,)
    best_angle_ : float
        The angle of largest negentropy.
    ax_, figure_ : matplotlib objects
        Where it was drawn.

    Examples
    --------
    >>> from mercer.datasets import make_mixed_sources
    >>> from mercer.inspection import ContrastLandscapeDisplay
    >>> display = ContrastLandscapeDisplay(make_mixed_sources(2000).data)
    >>> bool(display.kurtosis_.max() > 2 and display.kurtosis_.min() < -1)
    True
    """

    def __init__(self, X: Any, *, method: str = "spacing") -> None:
        X = check_array(X, dtype=np.float64, ensure_min_samples=8)
        if X.shape[1] != 2:
            raise DataError(f"ContrastLandscapeDisplay: X must have two columns; got {X.shape[1]}. Choose two of them.")
        centred = X - X.mean(axis=0)
        values, vectors = np.linalg.eigh(centred.T @ centred / len(X))
        if values[0] <= 1e-12 * values[1]:
            raise DataError(
                "ContrastLandscapeDisplay: the two columns must not be proportional; got rank 1. Choose others."
            )
        # A direction and its opposite have the same contrast, so half a turn is enough.
        self.angles_ = np.linspace(0.0, 180.0, _ANGLES)
        radians = np.deg2rad(self.angles_)
        # eigh lists small eigenvalues first. In the reversed order the white plane begins with the largest.
        white = centred @ vectors[:, ::-1] / np.sqrt(values[::-1])
        projections = white @ np.array([np.cos(radians), np.sin(radians)])
        self.kurtosis_ = excess_kurtosis(projections)
        self.negentropy_ = negentropy(projections, method=method)
        self.best_angle_ = float(self.angles_[np.argmax(self.negentropy_)])

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "ContrastLandscapeDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure. A second scale on the right shows the negentropy.
        **kwargs : dict
            Passed to matplotlib's ``plot`` of the kurtosis.

        Returns
        -------
        ContrastLandscapeDisplay
            The display itself.
        """
        ax = make_axes(ax)
        (first,) = ax.plot(self.angles_, self.kurtosis_, **({"color": "black", "label": "excess kurtosis"} | kwargs))
        ax.axhline(0.0, color="0.8", linewidth=0.8)
        right = ax.twinx()
        (second,) = right.plot(self.angles_, self.negentropy_, color="tab:red", label="negentropy")
        ax.axvline(self.best_angle_, color="grey", linestyle=":")
        ax.set(xlabel="angle in the white plane (degrees)", ylabel="excess kurtosis", xlim=(0, 180))
        right.set(ylabel="negentropy (nats)", ylim=(min(0.0, self.negentropy_.min()), None))
        ax.legend(handles=[first, second], loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, borderaxespad=0.2)
        self.ax_, self.figure_ = ax, ax.figure
        return self
