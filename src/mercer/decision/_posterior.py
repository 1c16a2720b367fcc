"""Bayes' rule in log space: posteriors, evidence, discriminant functions and decisions.

Each function takes the densities p(x | c) themselves as its first argument, or their logarithms by name, as
``log_likelihood=``; never one for the other.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer._base.reading import read_numbers, read_probabilities
from mercer.errors import DataError, ParameterError

_FORMS = ("posterior", "joint", "log_joint", "difference")


def log_joint(likelihood: Any = None, priors: Any = None, *, log_likelihood: Any = None) -> np.ndarray:
    """Return the log of p(x | c) P(c) for each row and class.

    Parameters
    ----------
    likelihood : array-like of shape (n, n_classes), default=None
        p(x | c). None if their logarithms are given.
    priors : array-like of shape (n_classes,) or (n, n_classes)
        P(c), with sum one.
    log_likelihood : array-like of shape (n, n_classes), default=None
        log p(x | c), which do not underflow, in place of `likelihood`.

    Returns
    -------
    ndarray of shape (n, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decision import log_joint
    >>> np.exp(log_joint([[0.5, 0.25]], [0.2, 0.8])).round(6)
    array([[0.1, 0.2]])
    >>> np.exp(log_joint(log_likelihood=np.log([[0.5, 0.25]]), priors=[0.2, 0.8])).round(6)
    array([[0.1, 0.2]])
    """
    logs = _read_logs("log_joint", likelihood, log_likelihood)
    return _add_priors("log_joint", logs, priors)


def posterior(
    likelihood: Any = None,
    priors: Any = None,
    *,
    log_likelihood: Any = None,
    return_evidence: bool = False,
) -> Any:
    """Return posterior probabilities of classes: P(c | x) = p(x | c) P(c) / p(x), computed in log space.

    Parameters
    ----------
    likelihood : array-like of shape (n, n_classes), default=None
        p(x | c). None if their logarithms are given.
    priors : array-like of shape (n_classes,) or (n, n_classes)
        P(c), with sum one.
    log_likelihood : array-like of shape (n, n_classes), default=None
        log p(x | c), which do not underflow, in place of `likelihood`.
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
    >>> posterior(log_likelihood=[[-1000.0, -1001.0]], priors=[0.5, 0.5]).round(6)  # 1 / (1 + 1/e)
    array([[0.731059, 0.268941]])
    """
    logs = _read_logs("posterior", likelihood, log_likelihood)
    joint = _add_priors("posterior", logs, priors)
    evidence = logsumexp(joint, axis=-1)
    # A density of zero in every class is an answer if it is given as a logarithm; a product may have underflowed.
    given_logs = log_likelihood is not None
    wrong = np.atleast_1d(evidence == np.inf if given_logs else ~np.isfinite(evidence))
    if wrong.any():
        cure = "Smooth the densities." if given_logs else "Give log_likelihood=, which does not underflow."
        raise DataError(
            f"posterior: row {int(np.argmax(wrong))} must have a {'' if given_logs else 'positive, '}finite density in "
            f"each class that can occur, and not zero in all; got none. {cure}"
        )
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
    likelihood: Any = None,
    priors: Any = None,
    *,
    log_likelihood: Any = None,
    form: str = "log_joint",
    transform: Callable[[np.ndarray], Any] | None = None,
) -> np.ndarray:
    """Compute discriminant functions, whose largest decides; any increasing function of the posteriors serves.

    Parameters
    ----------
    likelihood : array-like of shape (n, n_classes), default=None
        p(x | c). None if their logarithms are given.
    priors : array-like of shape (n_classes,)
        P(c).
    log_likelihood : array-like of shape (n, n_classes), default=None
        log p(x | c), which do not underflow, in place of `likelihood`.
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
    >>> from mercer.decision import discriminant_functions
    >>> discriminant_functions([[0.2, 0.1], [0.1, 0.4]], [0.5, 0.5], form="difference").round(6)
    array([-0.693147,  1.386294])
    """
    logs = _read_logs("discriminant_functions", likelihood, log_likelihood)
    joint = _add_priors("discriminant_functions", logs, priors)
    if form == "posterior":
        value = posterior(log_likelihood=logs, priors=priors)
    elif form == "joint":
        value = np.exp(joint)
    elif form == "log_joint":
        value = joint
    elif form == "difference" and joint.shape[-1] == 2:
        # Where both classes are impossible, minus infinity less itself would be NaN; the priors decide there.
        possible = replace_impossible(joint, priors)
        value = possible[..., 1] - possible[..., 0]
    else:
        raise ParameterError(
            f"discriminant_functions: form must be one of {', '.join(map(repr, _FORMS))}, the last for two classes; "
            f"got {form!r} and {joint.shape[-1]} classes."
        )
    return value if transform is None else np.asarray(transform(value))


def bayes_decision(likelihood: Any = None, priors: Any = None, *, log_likelihood: Any = None) -> np.ndarray:
    """Return the class of highest posterior probability, by the log-joint; the first of equals.

    A row that no class can have gets the class of the largest prior.

    Parameters
    ----------
    likelihood : array-like of shape (n, n_classes), default=None
        p(x | c). None if their logarithms are given.
    priors : array-like of shape (n_classes,)
        P(c).
    log_likelihood : array-like of shape (n, n_classes), default=None
        log p(x | c), which do not underflow, in place of `likelihood`.

    Returns
    -------
    ndarray of int of shape (n,)
        Numbers of classes.

    Examples
    --------
    >>> from mercer.decision import bayes_decision
    >>> bayes_decision([[0.9, 0.1]], [0.2, 0.8])  # 0.18 against 0.08
    array([0])
    >>> bayes_decision(log_likelihood=[[-1000.0, -1001.0], [-3.0, -2.0]], priors=[0.5, 0.5])
    array([0, 1])
    """
    logs = _read_logs("bayes_decision", likelihood, log_likelihood)
    return replace_impossible(_add_priors("bayes_decision", logs, priors), priors).argmax(axis=-1)


def _read_logs(subject: str, likelihood: Any, log_likelihood: Any) -> np.ndarray:
    """Return log p(x | c), from the densities or from their logarithms, whichever was given."""
    # Exactly one of both must be given; equality of the two tests means none or both.
    if (likelihood is None) == (log_likelihood is None):
        number = "neither" if likelihood is None else "both"
        raise ParameterError(f"{subject}: give p(x | c) as the first argument, or log_likelihood=; got {number}.")
    if log_likelihood is not None:
        logs = read_numbers(subject, "log_likelihood", log_likelihood, closed="both")
    else:
        cure = "Logarithms are given by name: log_likelihood=."
        with np.errstate(divide="ignore"):
            # A density of zero is allowed; its logarithm is minus infinity.
            logs = np.log(read_numbers(subject, "likelihood", likelihood, 0.0, cure=cure))
    if logs.ndim == 0 or logs.shape[-1] == 0:
        raise DataError(f"{subject}: the densities must have a column for each class; got shape {logs.shape}.")
    return logs


def _add_priors(subject: str, logs: np.ndarray, priors: Any) -> np.ndarray:
    """Return log p(x | c) + log P(c)."""
    if priors is None:
        raise ParameterError(
            f"{subject}: priors must be the probabilities of the classes; got None. Give equal ones if unknown."
        )
    with np.errstate(divide="ignore"):
        joint = logs + np.log(read_probabilities(subject, "priors", priors, logs.shape[-1]))
    # A density may be infinite, but not where its class cannot be: infinity times zero says nothing.
    return np.where(np.isnan(joint), -np.inf, joint)
