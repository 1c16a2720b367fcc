"""The log-likelihood of a data set, and its derivatives by the parameters."""

from typing import Any

import numpy as np

from mercer._base.density import as_density
from mercer._base.reading import read_weight
from mercer.errors import DataError
from mercer.optim import numerical_gradient


def data_log_likelihood(density: Any, X: Any, sample_weight: Any = None) -> float:
    """Return the log-likelihood of a data set: the sum of the log-densities of its observations.

    Sums of logarithms do not underflow, however many observations there are.

    Parameters
    ----------
    density : density, or callable
        Of any kind (see :class:`Density`), or a function from observations to their log-densities.
    X : array-like
        Observations.
    sample_weight : array-like of shape (n,) or None, default=None
        Weights; a weight of two is the observation twice.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.estimation import GeometricDensity, data_log_likelihood
    >>> float(np.exp(data_log_likelihood(GeometricDensity(0.5), [0, 2])))
    0.0625
    """
    named = any(hasattr(density, name) for name in ("logpdf", "logpmf", "score_samples"))
    formula = density if callable(density) and not named else as_density(density, "data_log_likelihood").logpdf
    logs = np.asarray(formula(X), dtype=np.float64)
    weight = read_weight("data_log_likelihood", sample_weight, logs.shape[0]) if sample_weight is not None else None
    if weight is None:
        return float(logs.sum())
    # A row of weight zero is absent, even where its density is zero.
    return float(np.where(weight > 0, weight * np.where(weight > 0, logs, 0.0), 0.0).sum())


def log_likelihood_gradient(
    density: Any, X: Any, theta: Any = None, *, score: Any = None, sample_weight: Any = None
) -> np.ndarray:
    """Return the derivatives of the log-likelihood of a data set by the parameters: the sum of the scores.

    Parameters
    ----------
    density : density, or callable
        A density of one number with its parameters; or, with `theta`, a function from observations and parameters to
        their log-densities.
    X : array-like of shape (n,) or (n, ...)
        Observations.
    theta : array-like of shape (p,) or None, default=None
        The parameters, of a function.
    score : callable or None, default=None
        From observations and `theta` to the derivatives of each log-density, of shape (n, p). None takes the density's
        own, or central differences.
    sample_weight : array-like of shape (n,) or None, default=None
        Weights; a weight of two is the observation twice.

    Returns
    -------
    ndarray of shape (p,)
        For a density, in the order of ``density.parameters()``.

    Examples
    --------
    >>> from mercer.estimation import PoissonDensity, log_likelihood_gradient
    >>> log_likelihood_gradient(PoissonDensity(2.0), [1, 4, 4])  # 9 / 2 - 3
    array([1.5])
    """
    x = np.asarray(X, dtype=np.float64)
    if x.ndim == 0 or len(x) == 0:
        raise DataError(f"log_likelihood_gradient: X must hold at least one observation; got shape {x.shape}.")
    weight = read_weight("log_likelihood_gradient", sample_weight, len(x))
    if theta is not None:
        point = np.atleast_1d(np.asarray(theta, dtype=np.float64))
        if score is not None:
            return weight @ np.asarray(score(x, point), dtype=np.float64)
        # Central differences of the summed log-likelihood.
        return numerical_gradient(lambda at: float(weight @ np.asarray(density(x, at), dtype=np.float64)), point)
    # Estimators have a method of that name too, which is their mean log-likelihood.
    if not (hasattr(density, "score") and hasattr(density, "fisher_information")):
        raise DataError(
            f"log_likelihood_gradient: {type(density).__name__} has no score by its parameters. Give a function of "
            f"observations and parameters, and theta."
        )
    return np.tensordot(weight, density.score(x), axes=1)
