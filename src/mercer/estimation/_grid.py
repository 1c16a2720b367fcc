"""Posteriors of one or two parameters on a grid: any likelihood, any prior."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer._base.reading import read_numbers, read_weight
from mercer.errors import DataError, ParameterError
from mercer.estimation._likelihood import log_prior


@dataclass(frozen=True, eq=False)
class GridPosterior:
    """A density of one or two parameters, known on a grid.

    Attributes
    ----------
    axes : tuple of ndarray
        The grid, one increasing array a parameter.
    log_density : ndarray
        The log of the normalised density at the points of the grid.
    log_evidence : float
        The log of the integral of likelihood times prior (up to the constant that an unnormalised prior lacks).
    """

    axes: tuple[np.ndarray, ...]
    log_density: np.ndarray
    log_evidence: float

    @property
    def probabilities(self) -> np.ndarray:
        """The share of each point of the grid; they sum to one."""
        mass = np.exp(self.log_density) * measure_cells(self.axes)
        return mass / mass.sum()

    @property
    def mean(self) -> np.ndarray:
        """The expected parameters."""
        return np.array([(self.probabilities * grid).sum() for grid in self._grids()])

    @property
    def mode(self) -> np.ndarray:
        """The point of the grid of highest density."""
        highest = np.unravel_index(self.log_density.argmax(), self.log_density.shape)
        return np.array([axis[i] for axis, i in zip(self.axes, highest, strict=True)])

    @property
    def variance(self) -> np.ndarray:
        """The variance of each parameter."""
        grids = self._grids()
        return np.array([(self.probabilities * (g - m) ** 2).sum() for g, m in zip(grids, self.mean, strict=True)])

    def marginal(self, number: int) -> np.ndarray:
        """Return the density of one parameter along its axis.

        Parameters
        ----------
        number : int
            Which.

        Returns
        -------
        ndarray
        """
        other = tuple(i for i in range(len(self.axes)) if i != number)
        return self.probabilities.sum(axis=other) / measure_cells((self.axes[number],))

    def credible_interval(self, level: float = 0.95, number: int = 0) -> tuple[float, float]:
        """Return the interval that leaves equal shares on both sides.

        Parameters
        ----------
        level : float, default=0.95
            The probability inside.
        number : int, default=0
            Index of the parameter.

        Returns
        -------
        low, high : float
        """
        read_numbers("GridPosterior", "level", level, 0, 1, closed="neither")
        axis, density = self.axes[number], self.marginal(number)
        # The distribution function by trapezoids, inverted by linear interpolation.
        rising = np.concatenate([[0.0], np.cumsum(np.diff(axis) * (density[1:] + density[:-1]) / 2)])
        low, high = np.interp([(1 - level) / 2, (1 + level) / 2], rising / rising[-1], axis)
        return float(low), float(high)

    def expect(self, function: Callable[..., Any]) -> Any:
        """Return the expected value of a function of the parameters.

        Parameters
        ----------
        function : callable
            Given an array for each parameter, of the shape of the grid; its values may have further axes in front.

        Returns
        -------
        float or ndarray
        """
        values = np.asarray(function(*self._grids()), dtype=np.float64)
        summed = tuple(range(values.ndim - len(self.axes), values.ndim))
        return (values * self.probabilities).sum(axis=summed)

    def predictive(self, density: Callable[..., Any], x: Any) -> np.ndarray:
        """Return the predictive density of new observations: the density of each, averaged over the posterior.

        Parameters
        ----------
        density : callable
            From an observation and the parameters, broadcast, to its density.
        x : array-like of shape (m,)
            Observations.

        Returns
        -------
        ndarray of shape (m,)
        """
        return np.array([self.expect(lambda *parameters, x=value: density(x, *parameters)) for value in np.asarray(x)])

    def _grids(self) -> list[np.ndarray]:
        return list(np.meshgrid(*self.axes, indexing="ij"))


def grid_posterior(
    log_density: Callable[..., Any], prior: Any, X: Any, *axes: Any, sample_weight: Any = None
) -> GridPosterior:
    """Return the posterior of one or two parameters, on a grid.

    Parameters
    ----------
    log_density : callable
        From observations (n,) or (n, d) and a number for each parameter to the log-densities of the observations.
    prior : density, callable or None
        With ``logpdf``, or a function of the parameters, to their log-density; it need not be normalised. None is flat.
        A sequence has one for each parameter.
    X : array-like
        Observations.
    *axes : array-like
        Values of each parameter, increasing.
    sample_weight : array-like of shape (n,) or None, default=None
        Weights of the observations.

    Returns
    -------
    GridPosterior

    Notes
    -----
    The likelihood is evaluated once at each point of the grid; sums are trapezoids, with an error of order h^2.

    Examples
    --------
    >>> from mercer.estimation import GeometricDensity, grid_posterior
    >>> theta = np.linspace(0.0, 1.0, 2001)
    >>> posterior = grid_posterior(lambda x, p: GeometricDensity(p).logpdf(x), None, [0, 2], theta)
    >>> posterior.mean.round(6), round(float(np.exp(posterior.log_evidence)), 6)  # 1/2 and 1/30
    (array([0.5]), 0.033333)
    """
    X = np.asarray(X)
    grid = tuple(_check_axis(axis) for axis in axes)
    if len(grid) not in (1, 2):
        raise DataError(
            f"grid_posterior: a grid has one or two parameters; got {len(grid)}. Use the Laplace approximation."
        )
    weight = read_weight("grid_posterior", sample_weight, len(X)) if len(X) else np.zeros(0)
    points = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1)
    logs = np.empty(points.shape[:-1])
    for at in np.ndindex(logs.shape):
        logs[at] = _log_joint(log_density, prior, X, weight, points[at])
    # The integral of likelihood times prior by trapezoids, in log space: with many observations it underflows.
    total = float(logsumexp(logs, b=measure_cells(grid)))
    if not np.isfinite(total):
        raise DataError(
            "grid_posterior: likelihood times prior is zero, or not a number, on all of the grid. Widen it."
        )
    return GridPosterior(grid, logs - total, total)


def _log_joint(log_density: Any, prior: Any, X: np.ndarray, weight: np.ndarray, theta: np.ndarray) -> float:
    try:
        own = np.asarray(log_density(X, *theta), dtype=np.float64)
    except ParameterError:
        return -np.inf  # a density refuses parameters outside its range
    # An observation of weight zero is absent, even where its density is zero: zero times infinity must not count.
    likelihood = float(np.where(weight > 0, weight * np.where(weight > 0, own, 0.0), 0.0).sum()) if len(X) else 0.0
    if isinstance(prior, list | tuple):
        belief = sum(log_prior(part, np.atleast_1d(value)) for part, value in zip(prior, theta, strict=True))
    elif callable(prior) and not any(hasattr(prior, name) for name in ("logpdf", "logpmf", "score_samples")):
        belief = float(prior(*theta))
    else:
        belief = log_prior(prior, theta)
    joint = likelihood + belief
    return joint if not np.isnan(joint) else -np.inf


def _check_axis(axis: Any) -> np.ndarray:
    values = read_numbers("grid_posterior", "an axis", axis, closed="neither")
    if values.ndim != 1 or len(values) < 3 or not (np.diff(values) > 0).all():
        raise DataError("grid_posterior: an axis must have at least three increasing values. Sort them.")
    return values


def measure_cells(axes: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the trapezoid weights of the points of a grid."""
    sizes = np.ones(())
    for axis in axes:
        widths = np.zeros(len(axis))
        widths[1:] += np.diff(axis) / 2
        widths[:-1] += np.diff(axis) / 2
        sizes = np.multiply.outer(sizes, widths)
    return sizes
