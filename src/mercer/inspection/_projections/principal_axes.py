"""Principal axes of rows in the plane: the fitted line, the distances to it, and the rows in rotated coordinates."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.errors import DataError
from mercer.inspection._axes import make_axes

# An arrow along an axis is this number of standard deviations long: the ellipse holds some 86 % of Gaussian rows.
_DEVIATIONS = 2.0


class PrincipalAxesDisplay:
    r"""Rows of two features with their principal axes, and the same rows in the coordinates of these axes.

    On the left each axis is drawn from the mean, two standard deviations :math:`\sqrt{\lambda}` long, and a segment
    leads from each row to its projection on the first axis: the sum of their squared lengths is what the first
    principal component makes least. On the right the rows are shown as scores. Needs matplotlib, which is imported when
    :meth:`plot` is called.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        Rows.
    mean : array-like of shape (2,)
        Where the axes meet.
    components : array-like of shape (k, 2)
        One or two orthonormal axes.
    variances : array-like of shape (k,)
        Variances along them.

    Attributes
    ----------
    scores_ : ndarray of shape (n_samples, 2)
        Rows in the coordinates of the axes; the second axis is at a right angle to the first.
    projections_ : ndarray of shape (n_samples, 2)
        The nearest point to each row on the first axis.
    residual_ : float
        Sum of squared distances of the rows to the first axis.
    arrows_ : list of matplotlib artists
        One for each axis.
    segments_ : matplotlib artist
        From rows to projections.
    axes_, figure_ : matplotlib objects
        Where it was drawn: the axes of the rows, and of the scores.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import PCA
    >>> from mercer.inspection import PrincipalAxesDisplay
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 4.0], [4.0, 3.0]])
    >>> model = PCA().fit(X)
    >>> round(PrincipalAxesDisplay(X, model.mean_, model.components_, model.explained_variance_).residual_, 6)
    2.0
    """

    def __init__(self, X: Any, mean: Any, components: Any, variances: Any) -> None:
        self.X = X
        self.mean = mean
        self.components = components
        self.variances = variances
        rows, centre = np.asarray(X, dtype=float), np.asarray(mean, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != 2 or np.shape(components)[1:] != (2,):
            raise DataError(
                f"PrincipalAxesDisplay: rows and components must have two columns; got shapes {np.shape(X)} and "
                f"{np.shape(components)}. Choose two features."
            )
        first = np.asarray(components, dtype=float)[0]
        # A model of one component gets the direction at right angles as its second axis.
        axes = np.array([first, [-first[1], first[0]]])
        if len(components) > 1:
            axes[1] = components[1]
        self.scores_ = (rows - centre) @ axes.T
        self.projections_ = centre + self.scores_[:, :1] * first
        # The squared distances from the first axis are what one component leaves unexplained.
        self.residual_ = float((self.scores_[:, 1] ** 2).sum())

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, axes: Any = None, **kwargs: Any
    ) -> "PrincipalAxesDisplay":
        """Draw rows with the axes of a fitted principal component analysis of two features.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``components_``, ``mean_`` and ``explained_variance_``.
        X : array-like of shape (n_samples, 2)
            Rows.
        y : array-like of shape (n_samples,) or None, default=None
            Colours of the rows.
        axes : pair of matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``scatter``.

        Returns
        -------
        PrincipalAxesDisplay
            The display, drawn.
        """
        check_is_fitted(estimator)
        missing = [name for name in ("components_", "mean_", "explained_variance_") if not hasattr(estimator, name)]
        if missing:
            raise DataError(
                f"PrincipalAxesDisplay: the estimator must have {missing[0]}; got {type(estimator).__name__}. Give a "
                f"fitted PCA."
            )
        display = cls(X, estimator.mean_, estimator.components_, estimator.explained_variance_)
        colours = {} if y is None else {"c": np.unique(y, return_inverse=True)[1]}
        return display.plot(axes=axes, **(colours | kwargs))

    def plot(self, *, axes: Any = None, **kwargs: Any) -> "PrincipalAxesDisplay":
        """Draw the display.

        Parameters
        ----------
        axes : pair of matplotlib axes or None, default=None
            Where to draw rows and scores; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``scatter``.

        Returns
        -------
        PrincipalAxesDisplay
            The display itself.
        """
        left, right = make_axes(axes, 1, 2, figsize=(9.0, 4.2), layout="constrained")
        options = {"s": 14, "zorder": 2} | kwargs
        rows, centre = np.asarray(self.X, dtype=float), np.asarray(self.mean, dtype=float)
        ends = np.stack([rows, self.projections_], axis=1)
        from matplotlib.collections import LineCollection

        self.segments_ = left.add_collection(LineCollection(list(ends), colors="0.7", linewidths=0.8, zorder=1))
        left.scatter(*rows.T, **options)
        self.arrows_: list[Any] = []
        for axis, variance in zip(np.asarray(self.components), np.asarray(self.variances), strict=True):
            end = centre + _DEVIATIONS * np.sqrt(variance) * axis
            style = {"arrowstyle": "->", "color": "black", "linewidth": 1.6}
            self.arrows_.append(left.annotate("", xy=end, xytext=centre, arrowprops=style, zorder=3))
        left.set(xlabel="feature 1", ylabel="feature 2", aspect="equal", title="rows and principal axes")
        right.axhline(0.0, color="0.7", linewidth=0.8, zorder=1)
        right.axvline(0.0, color="0.7", linewidth=0.8, zorder=1)
        right.scatter(*self.scores_.T, **options)
        right.set(xlabel="score 1", ylabel="score 2", aspect="equal", title="rotated coordinates")
        self.axes_, self.figure_ = (left, right), left.figure
        return self
