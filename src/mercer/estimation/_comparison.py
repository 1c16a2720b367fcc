"""Which model: Bayes factors, posterior probabilities of models, and criteria that stand in for the evidence."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from mercer._base.reading import read_numbers, read_probabilities
from mercer.errors import DataError

__all__ = [
    "ModelComparison",
    "akaike_criterion",
    "bayes_factor",
    "bayesian_criterion",
    "compare_models",
    "description_length",
    "model_probabilities",
]


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
    logs = read_numbers("model_probabilities", "log_evidences", log_evidences, closed="left")
    if logs.ndim != 1 or len(logs) == 0 or not np.isfinite(logs).any():
        message = (
            f"model_probabilities: log_evidences must be numbers, one a model and one finite; got {log_evidences}."
        )
        raise DataError(message)
    if priors is None:
        return softmax(logs)
    with np.errstate(divide="ignore"):
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
