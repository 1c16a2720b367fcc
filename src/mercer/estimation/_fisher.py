"""Fisher information, the bound that it sets to every unbiased estimator, and Jeffreys' prior."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from mercer._base.reading import read_numbers
from mercer.errors import DataError, ParameterError

__all__ = ["JeffreysPrior", "cramer_rao_bound", "fisher_information"]

# The relative step of central differences of the log-density: the cube root of the rounding of a double.
_STEP = 6e-6


def fisher_information(
    density: Any,
    *,
    parameters: Any = None,
    n: int = 1,
    method: str = "auto",
    n_samples: int = 100_000,
    random_state: Any = None,
) -> np.ndarray:
    """Compute the Fisher information of n independent observations: the expected outer product of the score.

    Parameters
    ----------
    density : density
        A frozen dataclass whose fields are its parameters.
    parameters : sequence of str or None, default=None
        Which parameters; None takes all that are floating-point numbers.
    n : int, default=1
        Observations; information adds up.
    method : {"auto", "exact", "monte_carlo"}, default="auto"
        The closed form of the family, the mean over samples of products of numerical scores, or the first where there
        is one.
    n_samples : int, default=100000
        Of the simulation.
    random_state : None, int, RandomState or Generator, default=None
        The seed of the simulation.

    Returns
    -------
    ndarray of shape (p, p)

    Examples
    --------
    >>> from mercer.estimation import GeometricDensity, fisher_information
    >>> fisher_information(GeometricDensity(0.4)).round(6)
    array([[10.416667]])
    """
    if method not in ("auto", "exact", "monte_carlo"):
        message = f"fisher_information: method must be 'auto', 'exact' or 'monte_carlo'; got {method!r}."
        raise ParameterError(message)
    names = [part.name for part in fields(density)]
    chosen = (
        list(parameters) if parameters is not None else [n for n in names if isinstance(getattr(density, n), float)]
    )
    if not chosen or not set(chosen) <= set(names):
        message = f"fisher_information: parameters must be among {', '.join(names)}; got {parameters!r}."
        raise ParameterError(message)
    if method != "monte_carlo" and _has_closed_form(density):
        places = [names.index(name) for name in chosen]
        return n * density.fisher_information()[np.ix_(places, places)]
    if method == "exact":
        message = f"fisher_information: {type(density).__name__} has no closed form. Use method='monte_carlo'."
        raise DataError(message)
    # The expected outer product of the score, as its mean over draws from the density itself.
    scores = _numerical_scores(density, chosen, density.sample(n_samples, random_state))
    return n * (scores.T @ scores) / n_samples


def cramer_rao_bound(information: Any) -> np.ndarray:
    """Return the least covariance of any unbiased estimator: the inverse of the Fisher information.

    Parameters
    ----------
    information : array-like of shape (p, p)
        Of all observations together.

    Returns
    -------
    ndarray of shape (p, p)

    Examples
    --------
    >>> from mercer.estimation import GaussianDensity, cramer_rao_bound, fisher_information
    >>> cramer_rao_bound(fisher_information(GaussianDensity(0.0, 4.0), n=8))  # 4 / 8 and 2 * 16 / 8
    array([[0.5, 0. ],
           [0. , 4. ]])
    """
    matrix = np.atleast_2d(read_numbers("cramer_rao_bound", "information", information))
    if np.linalg.matrix_rank(matrix, hermitian=True) < len(matrix):
        message = "cramer_rao_bound: the information is singular; no unbiased estimator of all parameters exists."
        raise DataError(message)
    return np.linalg.inv(matrix)


@dataclass(frozen=True, eq=False)
class JeffreysPrior:
    """The prior that says the same in every parametrisation: proportional to the root of det I(theta).

    Bernoulli: Beta(1/2, 1/2). Mean of a Gaussian: flat. Geometric: theta^-1 (1 - theta)^-1/2, which has no
    integral; the posterior has one as soon as an observation is there.

    Parameters
    ----------
    density : density
        Of an observation, with any values of the parameters.
    parameters : sequence of str or None, default=None
        Which parameters the prior is of; None takes all.

    Examples
    --------
    >>> from mercer.estimation import BernoulliDensity, JeffreysPrior
    >>> prior = JeffreysPrior(BernoulliDensity())
    >>> round(float(prior.logpdf([0.5]) - prior.logpdf([0.2])), 6)  # log of sqrt(4) over sqrt(6.25)
    -0.223144
    """

    density: Any
    parameters: Any = None

    def logpdf(self, theta: Any) -> float:
        """Return the log of the prior, up to a constant, at some parameters.

        Parameters
        ----------
        theta : array-like of shape (p,)
            One number for each parameter.

        Returns
        -------
        float
        """
        theta = np.atleast_1d(np.asarray(theta, dtype=np.float64))
        names = self.parameters or [part.name for part in fields(self.density)][: len(theta)]
        try:
            there = replace(self.density, **dict(zip(names, map(float, theta), strict=True)))
            with np.errstate(all="ignore"):
                sign, value = np.linalg.slogdet(fisher_information(there, parameters=names, random_state=0))
        except ParameterError:
            return -np.inf
        return 0.5 * float(value) if sign > 0 else -np.inf


def _has_closed_form(density: Any) -> bool:
    try:
        density.fisher_information()
    except (AttributeError, NotImplementedError):
        return False
    return True


def _numerical_scores(density: Any, names: list[str], x: np.ndarray) -> np.ndarray:
    """Return the derivatives of the log-densities of observations by the parameters, by central differences."""
    columns = []
    for name in names:
        value = float(getattr(density, name))
        h = _STEP * max(1.0, abs(value))
        up, down = (replace(density, **{name: value + side * h}).logpdf(x) for side in (1, -1))
        columns.append((up - down) / (2 * h))
    return np.column_stack(columns)
