"""Fisher information, the bound that it sets to every unbiased estimator, and Jeffreys' prior."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from mercer._base.reading import read_numbers
from mercer.errors import DataError, ParameterError

# The relative step of central differences of the log-density: the cube root of the rounding of a double.
_STEP = 6e-6
# The relative step of second differences: the fourth root of the rounding of a double.
_WIDE_STEP = 1.2e-4
_METHODS = ("auto", "exact", "monte_carlo", "hessian")


def fisher_information(
    density: Any,
    *,
    parameters: Any = None,
    n: int = 1,
    method: str = "auto",
    n_samples: int = 100_000,
    random_state: Any = None,
) -> np.ndarray:
    """Compute the Fisher information of n independent observations.

    I = E[score score'] = -E[Hessian of log p], both by the parameters, with expectations under the density itself.

    Parameters
    ----------
    density : density
        A frozen dataclass whose fields are its parameters.
    parameters : sequence of str or None, default=None
        Which parameters; None takes all that are not known, in the order of ``density.parameters()``.
    n : int, default=1
        Observations; information adds up.
    method : {"auto", "exact", "monte_carlo", "hessian"}, default="auto"
        The closed form of the family; the mean over samples of products of numerical scores; minus the mean over
        samples of numerical second derivatives; "auto" is the closed form where there is one, else the second.
    n_samples : int, default=100000
        Of the simulation.
    random_state : None, int, RandomState or Generator, default=None
        The seed of the simulation.

    Returns
    -------
    ndarray of shape (..., p, p)
        Of a density of numbers whose parameters are arrays, a matrix for each variable. Of a density of rows, p counts
        all free numbers: means and then the lower triangle of the covariance, row by row, or one for each column.

    Examples
    --------
    >>> from mercer.estimation import GeometricDensity, MultivariateGaussianDensity, fisher_information
    >>> fisher_information(GeometricDensity(0.4)).round(6)
    array([[10.416667]])
    >>> fisher_information(MultivariateGaussianDensity([0.0, 1.0], [[1.0, 0.0], [0.0, 2.0]]), parameters=["mean"])
    array([[1. , 0. ],
           [0. , 0.5]])
    """
    if method not in _METHODS:
        raise ParameterError(
            f"fisher_information: method must be one of {', '.join(map(repr, _METHODS))}; got {method!r}."
        )
    names = _list_parameters(density)
    chosen = list(parameters) if parameters is not None else names
    if not chosen or not set(chosen) <= set(names):
        raise ParameterError(f"fisher_information: parameters must be among {', '.join(names)}; got {parameters!r}.")
    if not getattr(density, "_fixed_support", True):
        raise DataError(
            f"fisher_information: the support of {type(density).__name__} depends on its parameters, so that there "
            f"is no Fisher information. Simulate the estimator with simulate_risk."
        )
    if method in ("auto", "exact") and _has_closed_form(density):
        return n * _choose_entries(density, names, chosen)
    if method == "exact":
        raise DataError(f"fisher_information: {type(density).__name__} has no closed form. Use method='monte_carlo'.")
    x = density.sample(n_samples, random_state)
    if method == "hessian":
        return n * -_mean_hessian(density, chosen, x)
    # The expected outer product of the score, as its mean over draws from the density itself.
    scores = _numerical_scores(density, chosen, x)
    return n * np.mean(scores[..., :, None] * scores[..., None, :], axis=0)


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
        raise DataError(
            "cramer_rao_bound: the information is singular; no unbiased estimator of all parameters exists."
        )
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
        names = self.parameters or _list_parameters(self.density)[: len(theta)]
        for name in names:
            _read_value(self.density, name)  # raises if it is no number
        try:
            there = _set_parameters(self.density, dict(zip(names, map(float, theta), strict=True)))
            with np.errstate(all="ignore"):
                # Jeffreys' prior is the root of the determinant of the information.
                sign, value = np.linalg.slogdet(fisher_information(there, parameters=names, random_state=0))
        except ParameterError:
            return -np.inf
        return 0.5 * float(value) if sign > 0 else -np.inf


def _list_parameters(density: Any) -> list[str]:
    """Return the names of the parameters of a density; of one that does not tell them, its fields that are floats."""
    if is_dataclass(density) and hasattr(density, "parameters"):
        return list(density.parameters())
    if is_dataclass(density):
        # Fields that are no floats, such as counts and names, are settings, and the information is about parameters.
        return [part.name for part in fields(density) if isinstance(getattr(density, part.name), float)]
    raise ParameterError(
        f"fisher_information: the density must be a frozen dataclass with its parameters as fields; got "
        f"{type(density).__name__}. Use a density of mercer.estimation."
    )


def _has_closed_form(density: Any) -> bool:
    try:
        density.fisher_information()
    except (AttributeError, NotImplementedError):
        return False
    return True


def _choose_entries(density: Any, names: list[str], chosen: list[str]) -> np.ndarray:
    """Return the rows and columns of the closed form that belong to the chosen parameters, in their order."""
    whole = density.fisher_information()
    if chosen == names:
        return whole
    sizes = density.parameter_sizes() if hasattr(density, "parameter_sizes") else dict.fromkeys(names, 1)
    starts = dict(zip(names, np.cumsum([0, *sizes.values()]), strict=False))
    places = [place for name in chosen for place in range(starts[name], starts[name] + sizes[name])]
    return whole[..., places, :][..., :, places]


def _set_parameters(density: Any, values: dict[str, Any]) -> Any:
    """Return a density with other parameters; those of a density around another are the inner one's."""
    if set(values) <= {part.name for part in fields(density)}:
        return replace(density, **values)
    for name in ("density", "belief"):
        if is_dataclass(getattr(density, name, None)):
            return replace(density, **{name: _set_parameters(getattr(density, name), values)})
    raise DataError(
        f"fisher_information: {', '.join(values)} of {type(density).__name__} cannot be changed one by one."
    )


def _read_value(density: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(density.parameters()[name], dtype=np.float64)
    except (AttributeError, TypeError, ValueError):
        raise DataError(
            f"fisher_information: differences are taken by parameters that are numbers; {name!r} of "
            f"{type(density).__name__} is none. Use the information of its members."
        ) from None


@dataclass(frozen=True, eq=False)
class _Direction:
    """One free number: its parameter, what a unit of it adds to that, and its size."""

    name: str
    unit: Any
    size: Any


def _list_directions(density: Any, names: list[str], x: np.ndarray) -> list[_Direction]:
    """Return the free numbers of some parameters.

    Of a density of numbers each parameter is one, for each variable. Of a density of rows a vector has one for each
    entry, and a symmetric matrix one for each entry of its lower triangle, which moves both places.
    """
    found = []
    of_rows = np.ndim(x) > 1 and np.ndim(density.logpdf(x[:1])) < np.ndim(x)
    for name in names:
        value = _read_value(density, name)
        if not of_rows:
            found.append(_Direction(name, 1.0, np.maximum(1.0, np.abs(value))))
            continue
        for place in np.ndindex(value.shape):
            if len(place) == 2 and place[1] > place[0]:
                continue
            unit = np.zeros(value.shape)
            unit[place] = unit[place[::-1]] = 1.0
            found.append(_Direction(name, unit, max(1.0, float(np.abs(value[place])))))
    return found


def _shift(density: Any, moves: list[tuple[_Direction, Any]], x: np.ndarray) -> np.ndarray:
    """Return the log-densities of observations with free numbers moved by some steps."""
    moved: dict[str, Any] = {}
    for direction, step in moves:
        name = direction.name
        moved[name] = moved.get(name, _read_value(density, name)) + step * direction.unit
    return _set_parameters(density, moved).logpdf(x)


def _numerical_scores(density: Any, names: list[str], x: np.ndarray) -> np.ndarray:
    """Return the derivatives of the log-densities of observations by the parameters, by central differences."""
    columns = []
    for direction in _list_directions(density, names, x):
        h = _STEP * direction.size
        columns.append((_shift(density, [(direction, h)], x) - _shift(density, [(direction, -h)], x)) / (2 * h))
    return np.stack(columns, axis=-1)


def _mean_hessian(density: Any, names: list[str], x: np.ndarray) -> np.ndarray:
    """Return the mean over observations of the second derivatives of their log-densities by the parameters."""
    if not getattr(density, "_twice_differentiable", True):
        raise DataError(
            f"fisher_information: the log-density of {type(density).__name__} has a kink and no second derivatives "
            f"there. Use method='exact' or 'monte_carlo'."
        )
    directions = _list_directions(density, names, x)
    # Means of the four shifted log-densities; their difference is what a mean of differences would be.
    rows = []
    for first in directions:
        row = []
        for second in directions:
            total, h, k = 0.0, _WIDE_STEP * first.size, _WIDE_STEP * second.size
            # Central differences in two directions: (f++ - f+- - f-+ + f--) / (4 h k).
            for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                total = total + a * b * _shift(density, [(first, a * h), (second, b * k)], x).mean(axis=0)
            row.append(total / (4 * h * k))
        rows.append(np.stack(np.broadcast_arrays(*row), axis=-1))
    return np.stack(np.broadcast_arrays(*rows), axis=-2)
