"""Covariance ellipses of Gaussian densities and of mixtures of them, over data."""

from typing import Any

import numpy as np

from mercer._base.density import read_gaussian
from mercer.errors import DataError
from mercer.inspection._axes import make_axes


class GaussianContourDisplay:
    """Ellipses of equal density of one Gaussian, or of the members of a mixture, in two dimensions.

    The half axes are the roots of the eigenvalues of the covariance, times the number of standard deviations. Needs
    matplotlib, which is imported when :meth:`plot` is called.

    Parameters
    ----------
    density : MultivariateGaussianDensity, MixtureDensity of them, or fitted GaussianMixture
        Of rows with two columns.
    deviations : sequence of float, default=(1.0, 2.0)
        How many standard deviations each ellipse is from its mean.

    Attributes
    ----------
    means_ : ndarray of shape (n_members, 2)
        Centres.
    half_axes_ : ndarray of shape (n_members, 2)
        Roots of the eigenvalues, ascending.
    directions_ : ndarray of shape (n_members, 2, 2)
        Eigenvectors, in columns.
    ax_, figure_, lines_ : matplotlib objects
        Where and what was drawn.

    Examples
    --------
    >>> from mercer.estimation import MultivariateGaussianDensity
    >>> from mercer.inspection import GaussianContourDisplay
    >>> GaussianContourDisplay(MultivariateGaussianDensity([0, 0], [[4, 0], [0, 9]])).half_axes_
    array([[2., 3.]])
    """

    def __init__(self, density: Any, *, deviations: Any = (1.0, 2.0)) -> None:
        moments = _read_members(density)
        if not all(np.shape(covariance) == (2, 2) for _, covariance in moments):
            raise DataError(
                "GaussianContourDisplay: members must be Gaussians of rows with two columns. Take marginals."
            )
        self.density, self.deviations = density, tuple(deviations)
        self.means_ = np.array([mean for mean, _ in moments])
        spectra = [np.linalg.eigh(covariance) for _, covariance in moments]
        # The contour at one deviation is an ellipse along the eigenvectors, with roots of eigenvalues as half axes.
        self.half_axes_ = np.sqrt([values for values, _ in spectra])
        self.directions_ = np.array([vectors for _, vectors in spectra])

    def plot(self, X: Any = None, *, ax: Any = None, **kwargs: Any) -> "GaussianContourDisplay":
        """Draw the display.

        Parameters
        ----------
        X : array-like of shape (n, 2) or None, default=None
            Rows to draw below the ellipses.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed to matplotlib's ``plot`` for the ellipses.

        Returns
        -------
        GaussianContourDisplay
            The display itself.
        """
        ax = make_axes(ax)
        if X is not None:
            ax.plot(*np.asarray(X).T, ".", color="grey", markersize=2, zorder=0)
        # The unit circle, stretched by the deviations along the eigenvectors of the covariance and rotated to them.
        angle = np.linspace(0, 2 * np.pi, 181)
        circle = np.stack([np.cos(angle), np.sin(angle)])
        self.lines_ = []
        for mean, axes, directions in zip(self.means_, self.half_axes_, self.directions_, strict=True):
            for deviation in self.deviations:
                ellipse = mean[:, None] + deviation * directions @ (axes[:, None] * circle)
                self.lines_ += ax.plot(*ellipse, **({"color": "black", "linewidth": 1} | kwargs))
        ax.set_aspect("equal", adjustable="datalim")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _read_members(density: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return mean and covariance of a Gaussian, or of each member of a mixture of them."""
    if hasattr(density, "means_"):
        means, given = np.asarray(density.means_), np.asarray(density.covariances_)
        d = means.shape[1]
        shaped: dict[str, Any] = {
            "full": lambda: given,
            "tied": lambda: [given] * len(means),
            "diag": lambda: [np.diag(variances) for variances in given],
            "spherical": lambda: [variance * np.eye(d) for variance in given],
        }
        return list(zip(means, shaped[density.covariance_type](), strict=True))
    members = getattr(density, "densities", (density,))
    return [read_gaussian("GaussianContourDisplay", member) for member in members]
