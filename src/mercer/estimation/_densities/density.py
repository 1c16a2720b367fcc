"""Densities: small frozen objects that can be fitted, evaluated in log space and sampled, and ways to join them.

A density of one number works elementwise on arrays of any shape, and its parameters broadcast: a million Bernoulli
variables are one object. A density of rows takes matrices (n, d) and gives a number a row; :class:`IndependentDensity`
makes one of any density of numbers. What has `fit`, `logpdf`, `sample` and `parameters` is a density wherever mercer
asks for one; SciPy's distributions and scikit-learn's estimators are made such by :func:`as_density`.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from mercer._base.density import as_density, stack_draws, stack_logs
from mercer._base.randomness import generators, seed_sequence
from mercer._base.reading import read_probabilities, read_weight
from mercer._plain import plain
from mercer.errors import DataError, UnsupportedError
from mercer.estimation._densities.family import Family, read_rows

Own = TypeVar("Own", bound="NumberDensity")


class NumberDensity(Family):
    """A family of densities of one number; a frozen dataclass whose fields are the parameters, arrays that broadcast.

    Subclasses give the support and the formulas; what users hand over is checked here.
    """

    # Whether the support is the same for all parameters: if not, there is no Fisher information.
    _fixed_support: ClassVar[bool] = True
    # Whether the log-density has second derivatives by the parameters everywhere.
    _twice_differentiable: ClassVar[bool] = True

    def fit(self: Own, X: Any, sample_weight: Any = None) -> Own:
        """Fit by maximum likelihood along the first axis.

        Parameters
        ----------
        X : array-like of shape (n, ...)
            Observations; further axes are separate variables.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights; a weight of two is the observation twice.

        Returns
        -------
        NumberDensity
            A new density of the same kind.
        """
        x = self._read_observations(X)
        if x.ndim == 0 or x.shape[0] == 0:
            raise DataError(f"{type(self).__name__}: fit needs at least one observation; got shape {x.shape}.")
        weight = read_weight(type(self).__name__, sample_weight, x.shape[0])
        with np.errstate(over="ignore"):  # what overflows is refused as a parameter
            return self._fitted(x, weight.reshape((-1,) + (1,) * (x.ndim - 1)))

    def logpdf(self, X: Any) -> np.ndarray:
        """Return the log of the density of each number; minus infinity outside the support.

        Parameters
        ----------
        X : array-like
            Numbers of any shape that broadcasts with the parameters.

        Returns
        -------
        ndarray
        """
        x = np.asarray(X, dtype=np.float64)
        inside = self._inside(x)
        # Formulas are evaluated inside the support alone: outside they may raise, or give a finite value.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = self._logpdf(np.where(inside, x, self._somewhere()))
        return np.where(inside, value, np.where(np.isnan(x), np.nan, -np.inf))

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw independent observations.

        Parameters
        ----------
        n : int
            How many.
        random_state : None, int, RandomState or Generator, default=None
            The seed.

        Returns
        -------
        ndarray of shape (n, ...)
            Further axes are those of the parameters.
        """
        return self._draw(np.random.default_rng(seed_sequence(random_state)), (n, *self.shape))

    def score(self, X: Any) -> np.ndarray:
        """Return the derivatives of the log-density by the parameters.

        Parameters
        ----------
        X : array-like
            Numbers in the support.

        Returns
        -------
        ndarray of shape (..., n_parameters)
            In the order of ``parameters()``.
        """
        return np.stack(np.broadcast_arrays(*self._score(self._read_observations(X))), axis=-1)

    def fisher_information(self) -> np.ndarray:
        """Return the expected outer product of the score, for one observation.

        Returns
        -------
        ndarray of shape (..., n_parameters, n_parameters)
        """
        # A zero of the shape of the parameters makes entries that are constants broadcast with the others.
        rows = [np.stack(np.broadcast_arrays(*row, np.zeros(self.shape))[:-1], axis=-1) for row in self._information()]
        return np.stack(rows, axis=-2)

    def _somewhere(self) -> Any:
        """Return a number inside the support, to stand in for those outside."""
        low, high = self._support
        return 0.0 if low <= 0 <= high else low

    def _read_observations(self, X: Any) -> np.ndarray:
        x = np.asarray(X, dtype=np.float64)
        inside = self._inside(x)
        if not inside.all():
            low, high = self._support
            kind = "whole numbers" if self._whole else "numbers"
            raise DataError(
                f"{type(self).__name__}: observations must be {kind} in [{low:g}, {high:g}]; got "
                f"{x[~inside].flat[0]:g}. Drop such rows, or use a density with that support."
            )
        return x

    def _fitted(self: Own, x: np.ndarray, weight: np.ndarray) -> Own:
        raise NotImplementedError  # each family defines its own

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        raise NotImplementedError  # each family defines its own

    def _draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        raise NotImplementedError  # each family defines its own

    def _score(self, x: np.ndarray) -> tuple[Any, ...]:
        raise UnsupportedError(
            f"{type(self).__name__}: has no score in closed form; use numerical_gradient of mercer.optim."
        )

    def _information(self) -> list[list[Any]]:
        raise UnsupportedError(
            f"{type(self).__name__}: has no Fisher information in closed form; use fisher_information."
        )


@plain
@dataclass(frozen=True, eq=False)
class IndependentDensity:
    """A density of rows whose columns are independent: the product of a density of numbers over the columns.

    With Bernoulli columns, log p(x) = sum_i x_i log p_i + (1 - x_i) log(1 - p_i).

    Parameters
    ----------
    density : density
        Of one number. Its parameters are numbers, the same in each column, or arrays of one per column.

    Examples
    --------
    >>> from mercer.estimation import BernoulliDensity, IndependentDensity
    >>> words = IndependentDensity(BernoulliDensity()).fit([[1, 0], [1, 1], [0, 0], [1, 0]])
    >>> words.density.probability
    array([0.75, 0.25])
    """

    density: Any

    def fit(self, X: Any, sample_weight: Any = None) -> "IndependentDensity":
        """Fit each column."""
        inner = as_density(self.density, "IndependentDensity")
        return replace(self, density=inner.fit(read_rows("IndependentDensity", X), sample_weight=sample_weight))

    def logpdf(self, X: Any) -> np.ndarray:
        """Return the log-density of each row."""
        return as_density(self.density, "IndependentDensity").logpdf(read_rows("IndependentDensity", X)).sum(axis=-1)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw `n` rows."""
        drawn = as_density(self.density, "IndependentDensity").sample(n, random_state)
        return drawn if drawn.ndim > 1 else drawn[:, None]

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the density of numbers: one each, or one for each column."""
        return as_density(self.density, "IndependentDensity").parameters()

    def parameter_sizes(self) -> dict[str, int]:
        """Return how many free numbers each parameter has."""
        return {name: int(np.size(value)) for name, value in self.parameters().items()}

    def fisher_information(self) -> np.ndarray:
        """Return the expected outer product of the score of all parameters, for one row.

        Columns are independent, so that their information adds up: a parameter that all columns share collects that of
        each, and the parameters of two columns have none in common.

        Returns
        -------
        ndarray of shape (p, p)
            Parameters in the order of ``parameters()``, column by column.
        """
        sizes = self.parameter_sizes()
        starts = np.cumsum([0, *sizes.values()])
        each = self.density.fisher_information()
        each = each.reshape(-1, *each.shape[-2:])
        total = np.zeros((starts[-1], starts[-1]))
        for column, matrix in enumerate(each):
            # A parameter that all columns share has one place; others have one for each column.
            places = [start + (column if size > 1 else 0) for start, size in zip(starts, sizes.values(), strict=False)]
            total[np.ix_(places, places)] += matrix
        return total


@plain
@dataclass(frozen=True, eq=False)
class MixtureDensity:
    """A weighted sum of densities: a class with several typical sizes, or a committee of models.

    p(x) = sum_k w_k p_k(x). It is evaluated, sampled, and fitted by EM from where its members are; for Gaussians of
    rows and their starts, :class:`mercer.mixture.GaussianMixture` is quicker and surer.

    Parameters
    ----------
    densities : sequence of densities
        All of numbers, or of rows; beside densities of rows, one of numbers is that of independent columns.
    weights : array-like of shape (n_densities,)
        Non-negative, with sum one.

    Examples
    --------
    >>> from mercer.estimation import GaussianDensity, MixtureDensity
    >>> salmon = MixtureDensity([GaussianDensity(56.0, 12.0), GaussianDensity(78.0, 20.0)], [0.55, 0.45])
    >>> bool(salmon.logpdf(67.0) < min(salmon.logpdf(56.0), salmon.logpdf(78.0)))
    True
    """

    densities: Any
    weights: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "densities", tuple(self.densities))
        weights = read_probabilities("MixtureDensity", "weights", self.weights, len(self.densities))
        object.__setattr__(self, "weights", weights)

    def fit(self, X: Any, sample_weight: Any = None, *, tol: float = 1e-8, max_iter: int = 1000) -> "MixtureDensity":
        """Fit weights and members by EM, from where they are: members that are equal stay so.

        E: q_ik = w_k p_k(x_i) / sum_l w_l p_l(x_i). M: w_k is the mean of q_ik, and member k is fitted to all
        observations with the weights q_ik. The likelihood never falls. Members that are known stay as they are.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, d)
            Observations; matrices of several columns for members of rows.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights; a weight of two is the observation twice.
        tol : float, default=1e-8
            Ends once the mean log-likelihood rises by less.
        max_iter : int, default=1000
            Most iterations; a warning says if they did not suffice.

        Returns
        -------
        MixtureDensity
        """
        X = np.asarray(X, dtype=np.float64)
        weight = read_weight("MixtureDensity", sample_weight, len(X))
        mixture, before = self, -np.inf
        for _ in range(max_iter):
            joint = mixture._log_joint(X)
            logs = logsumexp(joint, axis=0)
            mean = float(weight @ logs / weight.sum())
            if not np.isfinite(mean):
                raise DataError("MixtureDensity: every observation must be possible under some member. Move them.")
            if mean - before < tol:
                return mixture
            before, shares = mean, weight * np.exp(joint - logs)
            members = [
                # An observation of weight zero is absent: it may lie outside the support of the member.
                density.fit(X[own > 0], sample_weight=own[own > 0]) if own.any() else density
                for density, own in zip(mixture._members(), shares, strict=True)
            ]
            mixture = MixtureDensity(members, shares.sum(axis=1) / weight.sum())
        warnings.warn(
            f"MixtureDensity: EM did not converge in {max_iter} iterations; raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
        return mixture

    def _log_joint(self, X: np.ndarray) -> np.ndarray:
        """Return log w_k p_k(x_i) of shape (n_densities, n)."""
        logs = stack_logs("MixtureDensity", self._members(), X, axis=0)
        # A density of numbers on a matrix of one column answers with that column as an axis.
        if logs.ndim == 3 and logs.shape[2] == 1:
            logs = logs[:, :, 0]
        if logs.ndim != 2:
            raise DataError(
                f"MixtureDensity: fit needs one log-density for each observation; got shape {logs.shape[1:]}. Make "
                f"members densities of rows by IndependentDensity."
            )
        with np.errstate(divide="ignore"):
            # A weight of zero gives minus infinity, and the responsibilities of that member become zero.
            return logs + np.log(self.weights)[:, None]

    def parameters(self) -> dict[str, Any]:
        """Return the weights, and the parameters of each member."""
        return {"densities": [density.parameters() for density in self._members()], "weights": self.weights}

    def logpdf(self, X: Any) -> np.ndarray:
        """Return the log-density of each observation."""
        logs = stack_logs("MixtureDensity", self._members(), X, axis=0)
        weights = self.weights.reshape((-1,) + (1,) * (logs.ndim - 1))
        # log sum_k w_k p_k(x) with the largest term taken out: no density underflows.
        return logsumexp(logs, axis=0, b=np.broadcast_to(weights, logs.shape))

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw `n` observations."""
        # A stream for the choice and one for each member: draws of one do not shift those of another.
        chooser, *others = generators(random_state, 1 + len(self.densities))
        member = chooser.choice(len(self.densities), size=n, p=self.weights / self.weights.sum())
        drawn = [density.sample(int((member == k).sum()), others[k]) for k, density in enumerate(self._members())]
        return stack_draws("MixtureDensity", drawn, member)

    def _members(self) -> list[Any]:
        return [as_density(density, "MixtureDensity") for density in self.densities]
