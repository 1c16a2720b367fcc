"""Predictive densities without a closed form: a family averaged over a grid of parameters, or over draws of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer._base.density import as_density
from mercer._base.randomness import generators
from mercer._base.reading import read_integer, read_numbers, read_weight
from mercer.errors import DataError, ParameterError
from mercer.estimation._grid import measure_cells
from mercer.estimation._likelihood import log_prior


@dataclass(frozen=True, eq=False)
class AveragedDensity:
    """The predictive density of any family under any prior: p(x | D) = sum_m w_m p(x | t_m), w_m ~ p(t_m) p(D | t_m).

    The points t_m are a grid (:meth:`on_grid`, for one or two parameters) or draws from the prior (:meth:`from_draws`,
    for any number). `fit` multiplies the weights by the likelihood. It is a density like any other: with one for each
    class :class:`~mercer.discriminant_analysis.ClassConditionalClassifier` is the Bayesian classifier, where
    :class:`PredictiveDensity` needs a conjugate prior.

    Parameters
    ----------
    family : callable
        From parameters, one number each, to a density.
    points : array-like of shape (m, p)
        The parameters that are averaged over.
    log_weights : array-like of shape (m,)
        The logarithms of their weights, up to a constant.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimation import AveragedDensity, GeometricDensity, UniformDensity
    >>> prior = AveragedDensity.on_grid(GeometricDensity, UniformDensity(), np.linspace(0, 1, 2001))
    >>> np.exp(prior.fit([0, 2]).logpdf([0, 1, 2, 3])).round(5)  # 1/2, 3/14, 3/28, 5/84
    array([0.5    , 0.21429, 0.10714, 0.05952])
    """

    family: Callable[..., Any]
    points: Any
    log_weights: Any

    def __post_init__(self) -> None:
        points = read_numbers("AveragedDensity", "points", self.points, closed="neither", error=ParameterError)
        logs = read_numbers("AveragedDensity", "log_weights", self.log_weights, error=ParameterError)
        if points.ndim != 2 or logs.shape != (len(points),) or not np.isfinite(logsumexp(logs)):
            raise ParameterError(
                f"AveragedDensity: points must have shape (m, p) and log_weights (m,), finite for some; got shapes "
                f"{points.shape} and {logs.shape}."
            )
        object.__setattr__(self, "points", points)
        # Normalised weights: a mixture over the points.
        object.__setattr__(self, "log_weights", logs - logsumexp(logs))

    @classmethod
    def on_grid(cls, family: Callable[..., Any], prior: Any, *axes: Any) -> "AveragedDensity":
        """Return the density averaged over a grid of one or two parameters, with the weights of trapezoids.

        Parameters
        ----------
        family : callable
            From parameters to a density.
        prior : density, callable or None
            Of the parameters; a sequence has one for each. None is flat.
        *axes : array-like
            Values of each parameter, increasing.

        Returns
        -------
        AveragedDensity
        """
        grid = tuple(read_numbers("AveragedDensity", "an axis", axis, closed="neither") for axis in axes)
        if len(grid) not in (1, 2) or not all(_is_increasing(axis) for axis in grid):
            raise DataError(
                "AveragedDensity: a grid has one or two axes of three or more increasing values. Draw others."
            )
        points = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, len(grid))
        # A point weighs log prior + log of its cell,
        # so the sum over points approximates the integral over the parameters.
        logs = np.array([_log_prior(prior, point) for point in points]) + np.log(measure_cells(grid).ravel())
        # Points outside of the family's domain, or of prior zero, cannot have made an observation.
        usable = np.isfinite(logs) & np.array([_make(family, point) is not None for point in points])
        return cls(family, points[usable], logs[usable])

    @classmethod
    def from_draws(
        cls,
        family: Callable[..., Any],
        prior: Any,
        n_draws: int = 1000,
        *,
        n_parameters: int = 1,
        random_state: Any = None,
    ) -> "AveragedDensity":
        """Return the density averaged over draws from the prior; `fit` weighs them by the likelihood.

        Parameters
        ----------
        family : callable
            From parameters to a density.
        prior : density
            Of each parameter, or of rows of all.
        n_draws : int, default=1000
            How many; `effective_points` says how many count after a fit.
        n_parameters : int, default=1
            Parameters, where the prior is of one number.
        random_state : None, int, RandomState or Generator, default=None
            The seed.

        Returns
        -------
        AveragedDensity
        """
        n_draws = read_integer("AveragedDensity", "n_draws", n_draws, 1)
        density = as_density(prior, "AveragedDensity")
        draws = [np.asarray(density.sample(n_draws, stream)) for stream in generators(random_state, n_parameters)]
        points = draws[0] if draws[0].ndim == 2 else np.column_stack(draws)
        return cls(family, points, np.zeros(n_draws))

    @property
    def effective_points(self) -> float:
        """The number of equally weighted points that would be as uncertain: one over the sum of squared weights."""
        return float(np.exp(-logsumexp(2.0 * self.log_weights)))

    def fit(self, X: Any, sample_weight: Any = None) -> "AveragedDensity":
        """Return the density after some observations: weights times likelihood.

        Parameters
        ----------
        X : array-like
            Observations, as the densities of the family take them.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights; a weight of two is the observation twice.

        Returns
        -------
        AveragedDensity
        """
        X = np.asarray(X, dtype=np.float64)
        weight = read_weight("AveragedDensity", sample_weight, len(X))
        # Rows of one column are observations of one number.
        likelihood = np.array([weight @ self._row_logs(point, X) for point in self.points])
        logs = self.log_weights + likelihood
        if not np.isfinite(logsumexp(logs)):
            raise DataError(
                "AveragedDensity: the observations must be possible at some point. Widen the grid, or draw more."
            )
        return replace(self, log_weights=logs)

    def logpdf(self, X: Any) -> np.ndarray:
        """Return the log of the predictive density of each observation."""
        total = None
        # One point at a time: a table of all points and observations might not fit.
        for point, weight in zip(self.points, self.log_weights, strict=True):
            logs = weight + np.asarray(as_density(self.family(*point), "AveragedDensity").logpdf(X), dtype=np.float64)
            total = logs if total is None else np.logaddexp(total, logs)
        return np.asarray(total)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw `n` observations: a point by its weight, then an observation of its density."""
        chooser, drawer = generators(random_state, 2)
        # Sorting groups equal points, so each density draws once; a permutation at the end undoes the order.
        chosen = np.sort(chooser.choice(len(self.points), size=n, p=np.exp(self.log_weights)))
        numbers, counts = np.unique(chosen, return_counts=True)
        densities = [as_density(self.family(*self.points[number])) for number in numbers]
        parts = [density.sample(int(count), drawer) for density, count in zip(densities, counts, strict=True)]
        if not parts:
            return as_density(self.family(*self.points[0])).sample(0, drawer)
        return np.concatenate(parts)[chooser.permutation(n)]

    def parameters(self) -> dict[str, Any]:
        """Return the mean of the parameters under their weights."""
        return {"mean": np.exp(self.log_weights) @ self.points}

    def _row_logs(self, point: np.ndarray, X: np.ndarray) -> np.ndarray:
        logs = np.asarray(as_density(self.family(*point), "AveragedDensity").logpdf(X), dtype=np.float64)
        return logs.reshape(len(X), -1).sum(axis=1)


def _is_increasing(axis: np.ndarray) -> bool:
    return axis.ndim == 1 and len(axis) >= 3 and bool((np.diff(axis) > 0).all())


def _make(family: Callable[..., Any], point: np.ndarray) -> Any:
    """Return the density at some parameters, or None where they are outside its range."""
    try:
        return family(*point)
    except ParameterError:
        return None


def _log_prior(prior: Any, point: np.ndarray) -> float:
    if isinstance(prior, list | tuple):
        return sum(log_prior(part, np.atleast_1d(value)) for part, value in zip(prior, point, strict=True))
    return log_prior(prior, point)
