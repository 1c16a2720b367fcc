"""Which model: Bayes factors, posterior probabilities of models, and criteria that stand in for the evidence."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import check_cv

from mercer._base.density import as_density
from mercer._base.randomness import seed_sequence
from mercer._base.reading import read_numbers, read_probabilities, read_weight
from mercer.errors import DataError, ParameterError


def bayes_factor(first: Any, second: Any) -> Any:
    """Return how much more probable one model made the data than another: m_1 / m_2.

    Posterior odds are the Bayes factor times the prior odds; the two are equal only for models that were equally
    probable before.

    Parameters
    ----------
    first, second : float or array-like
        Log-evidences.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> from mercer.estimation import BetaGeometric, bayes_factor
    >>> evidence = BetaGeometric().log_evidence
    >>> apart, together = evidence([0, 2]) + evidence([0, 2, 0, 1]), evidence([0, 2, 0, 2, 0, 1])
    >>> round(float(bayes_factor(apart, together)), 6)  # 33 / 50: one theta for both explains as much with less
    0.66
    """
    with np.errstate(over="ignore"):
        return np.exp(np.subtract(first, second))


def model_probabilities(log_evidences: Any, priors: Any = None) -> np.ndarray:
    """Compute the posterior probabilities of models.

    Parameters
    ----------
    log_evidences : array-like of shape (n_models,)
        A log-evidence for each.
    priors : array-like of shape (n_models,) or None, default=None
        Their probabilities before; None makes all equal.

    Returns
    -------
    ndarray of shape (n_models,)

    Examples
    --------
    >>> from mercer.estimation import model_probabilities
    >>> model_probabilities([-4.692897, -5.544739, -7.753046]).round(3)
    array([0.679, 0.29 , 0.032])
    """
    # Minus infinity is allowed: the evidence of a model that cannot have made the data is zero.
    logs = read_numbers("model_probabilities", "log_evidences", log_evidences, closed="left")
    if logs.ndim != 1 or len(logs) == 0 or not np.isfinite(logs).any():
        raise DataError(
            f"model_probabilities: log_evidences must be numbers, one a model and one finite; got {log_evidences}."
        )
    if priors is None:
        return softmax(logs)
    with np.errstate(divide="ignore"):
        # P(M | D) is proportional to p(D | M) P(M); a prior of zero becomes minus infinity and stays impossible.
        return softmax(logs + np.log(read_probabilities("model_probabilities", "priors", priors, len(logs))))


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """A table of models.

    Attributes
    ----------
    names : tuple of str
    log_evidences : ndarray of shape (n_models,)
    probabilities : ndarray of shape (n_models,)
        After the data; they assume that the true model is among the candidates.
    best : str
        The most probable.
    """

    names: tuple[str, ...]
    log_evidences: np.ndarray
    probabilities: np.ndarray

    @property
    def best(self) -> str:
        """The most probable model."""
        return self.names[int(self.probabilities.argmax())]

    def __str__(self) -> str:
        width = max(len("model"), *(len(name) for name in self.names))
        lines = [f"{'model':<{width}}  log evidence  probability"]
        for i in self.probabilities.argsort()[::-1]:
            lines.append(f"{self.names[i]:<{width}}  {self.log_evidences[i]:12.4f}  {self.probabilities[i]:11.4f}")
        return "\n".join(lines)


def compare_models(log_evidences: dict[str, Any], priors: Any = None) -> ModelComparison:
    """Compare models by their evidence.

    Parameters
    ----------
    log_evidences : dict
        From names to log-evidences, numbers or :class:`Evidence`. Minus half of a Bayesian criterion stands in for a
        log-evidence where observations are many.
    priors : array-like of shape (n_models,) or None, default=None
        Probabilities before, in the same order; None makes all equal.

    Returns
    -------
    ModelComparison

    Examples
    --------
    >>> from mercer.estimation import GaussianMean, compare_models
    >>> data = [0.2, -0.1, 0.3, 0.0, 0.1]
    >>> print(compare_models({f"spread {v:g}": GaussianMean(0, v).log_evidence(data) for v in (0.01, 1, 100)}))
    model        log evidence  probability
    spread 0.01       -4.6929       0.6787
    spread 1          -5.5447       0.2895
    spread 100        -7.7530       0.0318
    """
    logs = np.array([float(getattr(value, "log_value", value)) for value in log_evidences.values()])
    return ModelComparison(tuple(log_evidences), logs, model_probabilities(logs, priors))


def bayesian_criterion(log_likelihood: Any, n_parameters: Any, n_samples: Any) -> Any:
    """Compute Schwarz's criterion, k ln n - 2 ln L: minus twice the log-evidence, up to terms that do not grow with n.

    Parameters
    ----------
    log_likelihood : float or array-like
        At its maximum.
    n_parameters : int or array-like
        k.
    n_samples : int or array-like
        n.

    Returns
    -------
    float or ndarray
        Smaller is better.

    Examples
    --------
    >>> from mercer.estimation import bayesian_criterion
    >>> round(float(bayesian_criterion(-100.0, 3, 50)), 3)
    211.736
    """
    return np.multiply(n_parameters, np.log(n_samples)) - 2 * np.asarray(log_likelihood)


def akaike_criterion(log_likelihood: Any, n_parameters: Any) -> Any:
    """Compute Akaike's criterion, 2 k - 2 ln L: minus twice the expected log-likelihood of new data.

    Parameters
    ----------
    log_likelihood : float or array-like
        At its maximum.
    n_parameters : int or array-like
        k.

    Returns
    -------
    float or ndarray
        Smaller is better.

    Examples
    --------
    >>> from mercer.estimation import akaike_criterion
    >>> float(akaike_criterion(-100.0, 3))
    206.0
    """
    return 2 * np.asarray(n_parameters) - 2 * np.asarray(log_likelihood)


def description_length(log_likelihood: Any, n_parameters: Any, n_samples: Any) -> Any:
    """Compute the two-part code length in nats, k/2 ln n - ln L: first the parameters, then the data.

    Parameters
    ----------
    log_likelihood : float or array-like
        At its maximum.
    n_parameters : int or array-like
        k.
    n_samples : int or array-like
        n.

    Returns
    -------
    float or ndarray
        Half the Bayesian criterion.

    Examples
    --------
    >>> from mercer.estimation import description_length
    >>> round(float(description_length(-100.0, 3, 50)), 3)
    105.868
    """
    return bayesian_criterion(log_likelihood, n_parameters, n_samples) / 2


@dataclass(frozen=True, eq=False)
class DensitySelection:
    """What held-out observations say of several densities.

    Attributes
    ----------
    names : list of str
        The candidates.
    cross_entropies : ndarray of shape (n_candidates,)
        Minus the mean log-density of observations that were left out; the least is best.
    standard_errors : ndarray of shape (n_candidates,)
        Of these means, over observations.
    training_cross_entropies : ndarray of shape (n_candidates,)
        The same of the observations that each was fitted to, which favours the flexible.
    best : density
        The candidate of least held-out cross-entropy, fitted to all observations.
    best_name : str
        Its name.
    """

    names: list[str]
    cross_entropies: np.ndarray
    standard_errors: np.ndarray
    training_cross_entropies: np.ndarray
    best: Any
    best_name: str


def select_density(
    candidates: Any, X: Any, *, cv: Any = 5, sample_weight: Any = None, random_state: Any = None
) -> DensitySelection:
    """Fit densities to parts of the observations and judge each by the rest: cross-entropy that is validated.

    Parameters
    ----------
    candidates : dict of str to density
        Of any kind; each is fitted anew for each part.
    X : array-like of shape (n,) or (n, d)
        Observations.
    cv : int, splitter or iterable of splits, default=5
        The parts, as scikit-learn's cross-validation has them; a number of folds shuffles the observations. A single
        split is a test set.
    sample_weight : array-like of shape (n,) or None, default=None
        Weights; a weight of two is the observation twice.
    random_state : None, int, RandomState or Generator, default=None
        The seed of the shuffle.

    Returns
    -------
    DensitySelection

    Examples
    --------
    >>> from mercer.estimation import ExponentialDensity, GammaDensity, GaussianDensity, select_density
    >>> x = GammaDensity(3.0, 1.0).sample(400, random_state=0)
    >>> candidates = {"gaussian": GaussianDensity(), "gamma": GammaDensity(), "exponential": ExponentialDensity()}
    >>> select_density(candidates, x, random_state=0).best_name
    'gamma'
    """
    if not isinstance(candidates, dict) or not candidates:
        raise ParameterError(
            f"select_density: candidates must be a dict of names and densities; got {type(candidates).__name__}."
        )
    X = np.asarray(X, dtype=np.float64)
    weight = read_weight("select_density", sample_weight, len(X))
    splits = _make_splits(cv, X, random_state)
    held, trained, errors = [], [], []
    for name, candidate in candidates.items():
        parts, weights, training = [], [], []
        for train, test in splits:
            fitted = _fit(name, candidate, X[train], weight[train])
            parts.append(-_log_density(fitted, X[test]))
            weights.append(weight[test])
            training.append(np.average(-_log_density(fitted, X[train]), weights=weight[train]))
        losses, shares = np.concatenate(parts), np.concatenate(weights)
        # An observation that a candidate thinks impossible costs infinitely much.
        mean = np.average(losses, weights=shares) if np.isfinite(losses[shares > 0]).all() else np.inf
        held.append(mean)
        trained.append(np.mean(training))
        spread = np.average((losses - mean) ** 2, weights=shares) if np.isfinite(mean) else np.nan
        # The standard error of the weighted mean.
        errors.append(np.sqrt(spread / shares.sum()))
    if not np.isfinite(held).any():
        raise DataError(
            "select_density: some candidate must give every held-out observation a density; got none. Add one."
        )
    best = list(candidates)[int(np.argmin(held))]
    return DensitySelection(
        list(candidates),
        np.array(held),
        np.array(errors),
        np.array(trained),
        _fit(best, candidates[best], X, weight),
        best,
    )


def _make_splits(cv: Any, X: np.ndarray, random_state: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    if isinstance(cv, int) and not isinstance(cv, bool):
        if not 2 <= cv <= len(X):
            raise DataError(f"select_density: cv must be an integer in [2, {len(X)}], the observations; got {cv}.")
        # Rows may be sorted by value, so the folds are cut from a random order.
        order = np.random.default_rng(seed_sequence(random_state)).permutation(len(X))
        folds = np.array_split(order, cv)
        return [(np.setdiff1d(order, fold), np.sort(fold)) for fold in folds]
    return list(check_cv(cv).split(X))


def _fit(name: str, candidate: Any, X: np.ndarray, weight: np.ndarray) -> Any:
    # An estimator returns itself from fit: each part needs its own.
    density = clone(candidate) if isinstance(candidate, BaseEstimator) else candidate
    if (weight == 1).all():
        return as_density(density, f"select_density: {name}").fit(X)
    return as_density(density, f"select_density: {name}").fit(X[weight > 0], sample_weight=weight[weight > 0])


def _log_density(density: Any, X: np.ndarray) -> np.ndarray:
    logs = np.asarray(as_density(density, "select_density").logpdf(X), dtype=np.float64)
    return logs.reshape(len(X), -1).sum(axis=1)
