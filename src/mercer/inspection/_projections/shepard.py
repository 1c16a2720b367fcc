"""Shepard's diagram: distances in a map against the dissimilarities that it was made from."""

from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class ShepardDisplay:
    """Shepard's diagram of a map by multidimensional scaling.

    Each pair of rows is a point: its dissimilarity and its distance in the map. A line shows the monotone regression of
    the distances, what non-metric scaling aims at. Needs matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    dissimilarities : array-like of shape (n_samples, n_samples)
    embedding : array-like of shape (n_samples, n_components)

    Attributes
    ----------
    dissimilarities_, distances_, disparities_ : ndarray of shape (n_samples * (n_samples - 1) / 2,)
        Of all pairs, in the order of rising dissimilarity.
    stress_ : float
        Kruskal's stress-1 of the distances and their monotone regression.
    ax_, figure_ : matplotlib objects
    points_, line_ : matplotlib artists

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspection import ShepardDisplay
    >>> from mercer.manifold import MDS
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> model = MDS().fit(X)
    >>> bool(ShepardDisplay(model.dissimilarity_matrix_, model.embedding_).stress_ < 1e-3)
    True
    """

    def __init__(self, dissimilarities: Any, embedding: Any) -> None:
        D, Y = np.asarray(dissimilarities, dtype=np.float64), np.asarray(embedding, dtype=np.float64)
        if D.ndim != 2 or D.shape != (len(Y), len(Y)):
            raise DataError(
                f"ShepardDisplay: dissimilarities must have one row and column per point, {len(Y)}; got shape "
                f"{D.shape}. Give dissimilarity_matrix_ and embedding_ of one model."
            )
        # A symmetric matrix has each pair twice; the upper triangle has it once.
        upper = np.triu_indices(len(Y), 1)
        order = np.argsort(D[upper], kind="stable")
        self.dissimilarities_ = D[upper][order]
        self.distances_ = np.linalg.norm(Y[upper[0]] - Y[upper[1]], axis=1)[order]
        # Disparities are the monotone function of the dissimilarities that is nearest to the distances.
        self.disparities_ = isotonic_regression(self.distances_).x
        squares = float(np.sum(self.distances_**2))
        # Kruskal's stress 1: sqrt(sum (d - disparity)^2 / sum d^2).
        self.stress_ = float(np.sqrt(np.sum((self.distances_ - self.disparities_) ** 2) / squares)) if squares else 0.0

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> "ShepardDisplay":
        """Draw the diagram of a fitted map.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``embedding_`` and ``dissimilarity_matrix_`` or ``dist_matrix_``: MDS, ClassicalMDS or Isomap.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``scatter``.

        Returns
        -------
        ShepardDisplay
            The display, drawn.
        """
        check_is_fitted(estimator)
        D = getattr(estimator, "dissimilarity_matrix_", getattr(estimator, "dist_matrix_", None))
        if D is None:
            raise DataError(
                f"ShepardDisplay: the estimator must have dissimilarity_matrix_ or dist_matrix_; got "
                f"{type(estimator).__name__}. Give a fitted MDS, ClassicalMDS or Isomap."
            )
        return cls(D, estimator.embedding_).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, **kwargs: Any) -> "ShepardDisplay":
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``scatter``.

        Returns
        -------
        ShepardDisplay
            The display itself.
        """
        ax = make_axes(ax)
        self.points_ = ax.scatter(self.dissimilarities_, self.distances_, **({"s": 4, "alpha": 0.3} | kwargs))
        (self.line_,) = ax.plot(self.dissimilarities_, self.disparities_, color="black", linewidth=1.2)
        ax.set(xlabel="dissimilarity", ylabel="distance in the map", title=f"stress-1 {self.stress_:.3f}")
        self.ax_, self.figure_ = ax, ax.figure
        return self
