"""What all conjugate families share: posteriors, predictions and evidence from sums of observations.

A conjugate prior keeps its form when data come in, so a posterior is the same object with other numbers. Parameters
broadcast: one object can hold the beliefs about a million groups, and one update moves them all.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from mercer._base.randomness import generators
from mercer._base.reading import read_weight
from mercer._plain import plain
from mercer.errors import DataError
from mercer.estimation._densities.family import Family

Own = TypeVar("Own", bound="Conjugate")


class Conjugate(Family):
    """A belief about the parameter of a family of densities; its ``shape`` is that of the groups."""

    def update(self: Own, X: Any, sample_weight: Any = None) -> Own:
        """Return the posterior after some observations, from which the next update goes on.

        Parameters
        ----------
        X : array-like of shape (n, ...)
            Observations along the first axis; further axes are groups, and broadcast with the parameters.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights; a weight of two is the observation twice.

        Returns
        -------
        Conjugate
            Of the same kind.
        """
        x, weight = self._read_observations(X, sample_weight)
        if sample_weight is None:
            return self.update_sums(float(len(x)), x.sum(axis=0))
        return self.update_sums(weight.sum(axis=0), (weight * x).sum(axis=0))

    def update_groups(self: Own, X: Any, groups: Any, n_groups: int | None = None) -> Own:
        """Return the posteriors of many groups from one long array of observations.

        Parameters
        ----------
        X : array-like of shape (n,)
            Observations.
        groups : array-like of int of shape (n,)
            The group of each.
        n_groups : int or None, default=None
            How many there are; None takes one more than the largest number.

        Returns
        -------
        Conjugate
            With parameters of shape (n_groups,).
        """
        name = type(self).__name__
        x, groups = self._check_observations(X), np.asarray(groups)
        if groups.shape != x.shape or x.ndim != 1 or groups.dtype.kind not in "iu" or (groups < 0).any():
            raise DataError(f"{name}: groups must be one non-negative integer for each of {x.size} observations.")
        if n_groups is not None and groups.size and groups.max() >= n_groups:
            raise DataError(f"{name}: groups must be below n_groups={n_groups}; got {groups.max()}.")
        # Conjugate posteriors need the counts and sums of each group only.
        return self.update_sums(
            np.bincount(groups, minlength=n_groups or 0), np.bincount(groups, weights=x, minlength=n_groups or 0)
        )

    def update_sums(self: Own, count: Any, total: Any) -> Own:
        """Return the posterior after `count` observations whose sum is `total`, for one group or many.

        Parameters
        ----------
        count : array-like
            Number (or total weight) of observations.
        total : array-like
            Their sum.

        Returns
        -------
        Conjugate
        """
        raise NotImplementedError  # each family defines its own

    def log_predictive(self, X: Any) -> np.ndarray:
        """Return the log-density of each of some new observations, the parameter integrated out.

        Parameters
        ----------
        X : array-like
            New observations, each judged alone.

        Returns
        -------
        ndarray
        """
        x = np.asarray(X, dtype=np.float64)
        inside = self._inside(x)
        x = np.where(inside, x, np.clip(0.0, *self._support))
        # p(x | D) = h(x) Z(D, x) / Z(D): the ratio of the posterior's normaliser after x to that before.
        logs = self._log_base(x) + self.update_sums(1.0, x)._log_normaliser() - self._log_normaliser()
        return np.where(inside, logs, -np.inf)

    def log_evidence(self, X: Any, sample_weight: Any = None) -> Any:
        """Return the log-probability of all observations together, the parameter integrated out.

        Parameters
        ----------
        X : array-like of shape (n, ...)
            Observations along the first axis; further axes are groups.
        sample_weight : array-like of shape (n,) or None, default=None
            Weights; a weight of two is the observation twice.

        Returns
        -------
        float or ndarray
            A number for each group.
        """
        x, weight = self._read_observations(X, sample_weight)
        # p(D) = prod_i h(x_i) Z(after) / Z(before), by the same ratio for all observations at once.
        after = self.update_sums(weight.sum(axis=0), (weight * x).sum(axis=0))
        return (weight * self._log_base(x)).sum(axis=0) + after._log_normaliser() - self._log_normaliser()

    def predictive(self) -> "PredictiveDensity":
        """Return the predictive distribution of the next observation, as a density.

        Returns
        -------
        PredictiveDensity
        """
        return PredictiveDensity(self)

    def logpdf(self, parameter: Any) -> np.ndarray:
        """Return the log-density of the belief at some values of the parameter.

        Parameters
        ----------
        parameter : array-like
            Values.

        Returns
        -------
        ndarray
        """
        return self.belief.logpdf(parameter)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw values of the parameter from its distribution.

        Parameters
        ----------
        n : int
            How many.
        random_state : None, int, RandomState or Generator, default=None
            The seed.

        Returns
        -------
        ndarray of shape (n, ...)
        """
        return self.belief.sample(n, random_state)

    def sample_predictive(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw observations from the predictive distribution: a parameter, then an observation, for each.

        Parameters
        ----------
        n : int
            How many.
        random_state : None, int, RandomState or Generator, default=None
            The seed.

        Returns
        -------
        ndarray of shape (n, ...)
        """
        # Two streams: the parameters do not depend on how many values an observation takes from its stream.
        first, second = generators(random_state, 2)
        return self._density(self.sample(n, first)).sample(1, second)[0]

    @property
    def belief(self) -> Any:
        """The density of the parameter."""
        raise NotImplementedError  # each family defines its own

    @property
    def mean(self) -> Any:
        """The expected parameter."""
        return self.belief.mean

    @property
    def mode(self) -> Any:
        """The parameter of highest density."""
        return self.belief.mode

    @property
    def variance(self) -> Any:
        """The variance of the parameter."""
        return self.belief.variance

    def _density(self, parameter: Any) -> Any:
        """Return the density of observations where the parameter is known."""
        raise NotImplementedError  # each family defines its own

    def _log_base(self, x: np.ndarray) -> Any:
        """Return the part of an observation's log-density that does not depend on the parameter."""
        return np.zeros_like(x)

    def _log_normaliser(self) -> Any:
        """Return the log of the integral of the belief before it is normalised."""
        raise NotImplementedError  # each family defines its own

    def _are_inside(self, x: np.ndarray, whole: bool) -> bool:
        """Return whether all observations are inside the support, by their minimum and maximum alone.

        Two passes over the data need no array of booleans.
        """
        if type(self)._inside is not Conjugate._inside or not x.size:
            return False
        low, high = self._support
        return bool(x.min() >= low and x.max() <= high and (whole or not self._whole))

    def _check_observations(self, X: Any) -> np.ndarray:
        x = np.asarray(X, dtype=np.float64)
        # The quick test decides for most observations;
        # the mask of each one is made only to name the first that is wrong.
        if self._are_inside(x, np.asarray(X).dtype.kind in "iub"):
            return x
        inside = self._inside(x)
        if not inside.all():
            low, high = self._support
            kind = "whole numbers" if self._whole else "finite numbers"
            raise DataError(
                f"{type(self).__name__}: observations must be {kind} in [{low:g}, {high:g}]; got "
                f"{x[~inside].flat[0]:g}. Drop such observations."
            )
        return x

    def _read_observations(self, X: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
        x = self._check_observations(X)
        if x.ndim == 0:
            raise DataError(
                f"{type(self).__name__}: observations lie along the first axis; got a single number. Give [x]."
            )
        if sample_weight is None:
            return x, np.ones((len(x),) + (1,) * (x.ndim - 1))
        weight = read_weight(type(self).__name__, sample_weight, len(x))
        # The weights get axes of length one, to multiply observations of any number of axes.
        return x, weight.reshape((-1,) + (1,) * (x.ndim - 1))


@plain
@dataclass(frozen=True, eq=False)
class PredictiveDensity:
    """The density of the next observation under a belief: p(x | D) = integral of p(x | theta) p(theta | D).

    It is a density like any other: `fit` updates the belief, `logpdf` predicts. A classifier that takes one density per
    class is the plug-in classifier with a :class:`GeometricDensity` and the Bayesian one with the predictive density of
    :class:`BetaGeometric`.

    Parameters
    ----------
    belief : Conjugate
        The prior, or the posterior so far.

    Examples
    --------
    >>> from mercer.estimation import BetaGeometric
    >>> density = BetaGeometric(1, 1).predictive().fit([0, 2])
    >>> np.exp(density.logpdf([0, 1, 2, 3])).round(6)  # 1/2, 3/14, 3/28, 5/84
    array([0.5     , 0.214286, 0.107143, 0.059524])
    """

    belief: Any

    def fit(self, X: Any, sample_weight: Any = None) -> "PredictiveDensity":
        """Update the belief."""
        return replace(self, belief=self.belief.update(X, sample_weight=sample_weight))

    def logpdf(self, X: Any) -> np.ndarray:
        """Return the log of the predictive density of each observation."""
        return self.belief.log_predictive(X)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw `n` observations."""
        return self.belief.sample_predictive(n, random_state)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the belief."""
        return self.belief.parameters()
