"""The scree plot: how much variance each principal component holds, and how much they hold together."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class ScreeDisplay:
    """Scree plot of a fitted principal component analysis.

    Bars show the share of the variance along each component, a line their running sum. Needs matplotlib, which is
    imported when :meth:`plot` is called.

    Parameters
    ----------
    explained_variance_ratio : array-like of shape (n_components,)
        Share of the variance of each component, in falling order.
    threshold : float or None, default=None
        A share of the variance to mark, with the fewest components that exceed it.

    Attributes
    ----------
    cumulative_ : ndarray of shape (n_components,)
        Running sum of the shares.
    error_ : ndarray of shape (n_components,)
        Squared error of restoring rows from the first k components, as a share of their total squared distance to the
        mean: one minus the running sum.
    n_reaching_ : int or None
        The fewest components that together exceed `threshold`; None where there is none, or they do not.
    ax_, figure_ : matplotlib objects
        Where it was drawn.
    bars_, line_, error_line_ : matplotlib artists
        What was drawn; ``error_line_`` is None unless it was asked for.

    Examples
    --------
    >>> from mercer.decomposition import PCA
    >>> from mercer.inspection import ScreeDisplay
    >>> from sklearn.datasets import load_iris
    >>> model = PCA().fit(load_iris().data)
    >>> ScreeDisplay(model.explained_variance_ratio_, threshold=0.95).n_reaching_
    2
    """

    def __init__(self, explained_variance_ratio: Any, *, threshold: float | None = None) -> None:
        self.explained_variance_ratio = explained_variance_ratio
        self.threshold = threshold
        self.cumulative_ = np.cumsum(explained_variance_ratio)
        # Differences of sums can fall below zero by rounding.
        self.error_ = np.maximum(1.0 - self.cumulative_, 0.0)
        reached = self.cumulative_ > (np.inf if threshold is None else threshold)
        # argmax of a mask is its first true entry.
        self.n_reaching_ = int(np.argmax(reached)) + 1 if reached.any() else None

    @classmethod
    def from_estimator(cls, estimator: Any, *, threshold: float | None = None, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the scree plot of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``explained_variance_ratio_``.
        threshold : float or None, default=None
            A share of the variance to mark.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``bar``.

        Returns
        -------
        ScreeDisplay
            The display, drawn.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "explained_variance_ratio_"):
            raise DataError(
                f"ScreeDisplay: the estimator must have explained_variance_ratio_; got {type(estimator).__name__}. "
                f"Give a fitted PCA or IncrementalPCA."
            )
        return cls(estimator.explained_variance_ratio_, threshold=threshold).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, show_error: bool = False, **kwargs: Any) -> "ScreeDisplay":
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        show_error : bool, default=False
            Whether to draw the error of restoring rows against the number of components too.
        **kwargs : dict
            Passed to matplotlib's ``bar``.

        Returns
        -------
        ScreeDisplay
            The display itself.
        """
        ax = make_axes(ax)
        numbers = np.arange(1, len(self.cumulative_) + 1)
        self.bars_ = ax.bar(numbers, self.explained_variance_ratio, **({"label": "each"} | kwargs))
        (self.line_,) = ax.plot(numbers, self.cumulative_, color="black", marker="o", label="together")
        self.error_line_ = None
        if show_error:
            (self.error_line_,) = ax.plot(numbers, self.error_, color="tab:red", marker=".", label="error left")
        if self.threshold is not None:
            ax.axhline(self.threshold, color="grey", linestyle=":")
        if self.n_reaching_ is not None:
            ax.axvline(self.n_reaching_, color="grey", linestyle=":")
        ax.set(xlabel="component", ylabel="share of the variance", ylim=(0, 1.05))
        ax.legend(loc="center right")
        self.ax_, self.figure_ = ax, ax.figure
        return self
