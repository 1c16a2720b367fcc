"""Bayes' rule in log space: posteriors, evidence, discriminant functions and decisions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer._base.reading import read_numbers, read_probabilities
from mercer.errors import DataError, ParameterError

__all__ = ["bayes_decision", "discriminant_functions", "log_joint", "posterior"]

_FORMS = ("posterior", "joint", "log_joint", "difference")


def log_joint(log_likelihoods: Any = None, priors: Any = None, *, log_likelihood: Any = None) -> np.ndarray:
    """Return the log of p(x | c) P(c) for each row and class.

    Parameters
    ----------
    log_likelihoods : array-like of shape (n, n_classes)
        log p(x | c). An array without a negative number, which may well hold likelihoods, is refused.
    priors : array-like of shape (n_classes,) or (n, n_classes)
        P(c), with sum one.
    log_likelihood : array-like of shape (n, n_classes), by name
        The same, and certainly logarithms: nothing is refused.

    Returns
    -------
    ndarray of shape (n, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decision import log_joint
    >>> np.exp(log_joint(np.log([[0.5, 0.25]]), [0.2, 0.8])).round(6)
    array([[0.1, 0.2]])
    """
    logs = _read_logarithms("log_joint", log_likelihoods, log_likelihood)
    return _join(logs, priors)


def _read_logarithms(subject: str, positional: Any, named: Any) -> np.ndarray:
    """Return the logarithms of likelihoods; those that did not come by name must show that they are logarithms."""
    if (positional is None) == (named is None):
        got = "none" if named is None else "them twice"
        message = f"{subject}: logarithms of likelihoods must be given once, as log_likelihood=; got {got}."
        raise ParameterError(message)
    if named is not None:
        return read_numbers(subject, "log_likelihood", named, closed="both")
    logs = read_numbers(subject, "log_likelihoods", positional, closed="both")
    # Likelihoods are not negative. Logarithms may all be positive, of densities above one, but cannot be told apart.
    if logs.size and not (logs < 0).any():
        message = (
            f"{subject}: log_likelihoods must be logarithms; got none below zero, which may be likelihoods. Pass "
            f"log_likelihood=numpy.log(p), or logarithms by that name."
        )
        raise DataError(message)
    return logs


def _join(logs: np.ndarray, priors: Any) -> np.ndarray:
    """Return log p(x | c) + log P(c)."""
    if logs.ndim == 0 or logs.shape[-1] == 0:
        message = f"log_joint: log_likelihoods must have a column for each class; got shape {logs.shape}."
        raise DataError(message)
    with np.errstate(divide="ignore"):
        joint = logs + np.log(read_probabilities("log_joint", "priors", priors, logs.shape[-1]))
    # A density may be infinite, but not where its class cannot be: infinity times zero says nothing.
    return np.where(np.isnan(joint), -np.inf, joint)


def posterior(likelihoods: Any, priors: Any, *, log: bool = False, return_evidence: bool = False) -> Any:
    """Return posterior probabilities of classes: P(c | x) = p(x | c) P(c) / p(x), computed in log space.

    Parameters
    ----------
    likelihoods : array-like of shape (n, n_classes)
        p(x | c), or their logarithms.
    priors : array-like of shape (n_classes,) or (n, n_classes)
        P(c), with sum one.
    log : bool, default=False
        Whether `likelihoods` are logarithms, which do not underflow.
    return_evidence : bool, default=False
        Whether to return log p(x), the sum over classes of p(x | c) P(c), as well.

    Returns
    -------
    posteriors : ndarray of shape (n, n_classes)
        Rows sum to one. A row that no class can have, whose logarithms are all minus infinity, gets the priors; of
        likelihoods that are zero in all classes, which may have underflowed, it is an error.
    log_evidence : ndarray of shape (n,)
        With ``return_evidence=True``.

    Examples
    --------
    >>> from mercer.decision import posterior
    >>> posterior([[1 / 8, 6 / 49]], [0.5, 0.5]).round(6)  # 49 / 97
    array([[0.505155, 0.494845]])
    """
    if log:
        logs = np.asarray(likelihoods, dtype=np.float64)
    else:
        with np.errstate(divide="ignore"):
            logs = np.log(read_numbers("posterior", "likelihoods", likelihoods, 0.0))
    joint = _join(read_numbers("posterior", "likelihoods", logs), priors)
    evidence = logsumexp(joint, axis=-1)
    wrong = np.atleast_1d(evidence == np.inf if log else ~np.isfinite(evidence))
    if wrong.any():
        cure = "Smooth the densities." if log else "Give logarithms with log=True, which do not underflow."
        message = (
            f"posterior: row {int(np.argmax(wrong))} must have a {'' if log else 'positive, '}finite density in each "
            f"class that can occur, and not zero in all; got none. {cure}"
        )
        raise DataError(message)
    joint = replace_impossible(joint, priors)
    # Divided by their own sum, not by the evidence: beyond 1e15 nats a logarithm has no digits left for the sum.
    shares = np.exp(joint - joint.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return (shares, evidence) if return_evidence else shares


def replace_impossible(joint: np.ndarray, priors: Any) -> np.ndarray:
    """Return log-joints with the log-priors in rows that no class can have: those say nothing about the class."""
    impossible = joint.max(axis=-1, keepdims=True) == -np.inf
    if not impossible.any():
        return joint
    with np.errstate(divide="ignore"):
        return np.where(impossible, np.log(np.asarray(priors, dtype=np.float64)), joint)


def discriminant_functions(
    log_likelihoods: Any = None,
    priors: Any = None,
    *,
    log_likelihood: Any = None,
    form: str = "log_joint",
    transform: Callable[[np.ndarray], Any] | None = None,
) -> np.ndarray:
    """Compute discriminant functions, whose largest decides; any increasing function of the posteriors serves.

    Parameters
    ----------
    log_likelihoods : array-like of shape (n, n_classes)
        log p(x | c). An array without a negative number, which may well hold likelihoods, is refused.
    priors : array-like of shape (n_classes,)
        P(c).
    log_likelihood : array-like of shape (n, n_classes), by name
        The same, and certainly logarithms: nothing is refused.
    form : {"posterior", "joint", "log_joint", "difference"}, default="log_joint"
        Which function; the difference of the two log-joints of two classes, whose sign decides (positive for the
        second), has one value a row.
    transform : callable or None, default=None
        A strictly increasing function to apply.

    Returns
    -------
    ndarray of shape (n, n_classes), or (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decision import discriminant_functions
    >>> discriminant_functions(np.log([[0.2, 0.1], [0.1, 0.4]]), [0.5, 0.5], form="difference").round(6)
    array([-0.693147,  1.386294])
    """
    logs = _read_logarithms("discriminant_functions", log_likelihoods, log_likelihood)
    joint = _join(logs, priors)
    if form == "posterior":
        value = posterior(logs, priors, log=True)
    elif form == "joint":
        value = np.exp(joint)
    elif form == "log_joint":
        value = joint
    elif form == "difference" and joint.shape[-1] == 2:
        possible = replace_impossible(joint, priors)
        value = possible[..., 1] - possible[..., 0]
    else:
        message = (
            f"discriminant_functions: form must be one of {', '.join(map(repr, _FORMS))}, the last for two classes; "
            f"got {form!r} and {joint.shape[-1]} classes."
        )
        raise ParameterError(message)
    return value if transform is None else np.asarray(transform(value))


def bayes_decision(log_likelihoods: Any = None, priors: Any = None, *, log_likelihood: Any = None) -> np.ndarray:
    """Return the class of highest posterior probability, by the log-joint; the first of equals.

    A row that no class can have gets the class of the largest prior.

    Parameters
    ----------
    log_likelihoods : array-like of shape (n, n_classes)
        log p(x | c). An array without a negative number, which may well hold likelihoods, is refused.
    priors : array-like of shape (n_classes,)
        P(c).
    log_likelihood : array-like of shape (n, n_classes), by name
        The same, and certainly logarithms: nothing is refused.

    Returns
    -------
    ndarray of int of shape (n,)
        Numbers of classes.

    Examples
    --------
    >>> from mercer.decision import bayes_decision
    >>> bayes_decision(log_likelihood=[[-1000.0, -1001.0], [-3.0, -2.0]], priors=[0.5, 0.5])
    array([0, 1])
    """
    logs = _read_logarithms("bayes_decision", log_likelihoods, log_likelihood)
    return replace_impossible(_join(logs, priors), priors).argmax(axis=-1)
