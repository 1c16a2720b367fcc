"""Information measures of discrete tables and of Gaussians: entropy, cross-entropy, divergence, mutual information."""

from typing import Any

import numpy as np
from scipy.special import entr, rel_entr, xlogy

from mercer._base.density import read_gaussian
from mercer._base.reading import read_numbers, read_probabilities
from mercer.errors import DataError, ParameterError


def entropy(p: Any, *, base: float | None = None) -> Any:
    """Compute the entropy, -sum p log p, along the last axis; 0 log 0 is 0.

    Parameters
    ----------
    p : array-like of shape (..., k)
        Probabilities.
    base : float or None, default=None
        Of the logarithm: 2 for bits; None for nats.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> from mercer.estimation import entropy
    >>> float(entropy([0.5, 0.25, 0.25], base=2))
    1.5
    """
    return entr(read_probabilities("entropy", "p", p)).sum(axis=-1) / _unit("entropy", base)


def cross_entropy(p: Any, q: Any, *, base: float | None = None) -> Any:
    """Return the expected length of a code made for q where p is true, -sum p log q; infinite where q = 0 < p.

    Parameters
    ----------
    p, q : array-like of shape (..., k)
        Probabilities.
    base : float or None, default=None
        Of the logarithm; None for nats.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> from mercer.estimation import cross_entropy
    >>> float(cross_entropy([0.5, 0.5], [0.25, 0.75], base=2)).__round__(6)
    1.207519
    """
    p, q = _pair("cross_entropy", p, q)
    with np.errstate(divide="ignore"):
        return -xlogy(p, q).sum(axis=-1) / _unit("cross_entropy", base)


def kl_divergence(p: Any, q: Any, *, base: float | None = None) -> Any:
    """Return the Kullback-Leibler divergence of q from p, sum p log(p / q): zero only for equals, else positive.

    Parameters
    ----------
    p, q : array-like of shape (..., k)
        Probabilities.
    base : float or None, default=None
        Of the logarithm; None for nats.

    Returns
    -------
    float or ndarray
        Infinite where q = 0 < p.

    Examples
    --------
    >>> from mercer.estimation import kl_divergence
    >>> float(kl_divergence([0.5, 0.5], [0.25, 0.75])).__round__(6)
    0.143841
    """
    p, q = _pair("kl_divergence", p, q)
    return rel_entr(p, q).sum(axis=-1) / _unit("kl_divergence", base)


def mutual_information(joint: Any, *, base: float | None = None) -> Any:
    """Compute the mutual information of two variables, H(X) + H(Y) - H(X, Y).

    Parameters
    ----------
    joint : array-like of shape (..., k, l)
        Joint probabilities, or counts, which are divided by their sum.
    base : float or None, default=None
        Of the logarithm; None for nats.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> from mercer.estimation import mutual_information
    >>> float(mutual_information([[0.5, 0.0], [0.0, 0.5]], base=2))
    1.0
    """
    table = read_numbers("mutual_information", "joint", joint, 0.0)
    if table.ndim < 2 or not (table.sum(axis=(-2, -1)) > 0).all():
        raise DataError(f"mutual_information: joint must be a table with a positive entry; got shape {table.shape}.")
    table = table / table.sum(axis=(-2, -1), keepdims=True)
    # The divergence of the joint table from the product of its margins: H(X) + H(Y) - H(X, Y) without cancellation.
    product = table.sum(axis=-1, keepdims=True) * table.sum(axis=-2, keepdims=True)
    return rel_entr(table, product).sum(axis=(-2, -1)) / _unit("mutual_information", base)


def gaussian_divergence(first: Any, second: Any) -> float:
    """Return the Kullback-Leibler divergence of one Gaussian from another, in nats.

    1/2 [tr(S2^-1 S1) + (m2 - m1)' S2^-1 (m2 - m1) - d + log det S2 - log det S1].

    Parameters
    ----------
    first, second : GaussianDensity or MultivariateGaussianDensity, or SciPy's
        Both of numbers, or both of rows.

    Returns
    -------
    float

    Examples
    --------
    >>> from mercer.estimation import GaussianDensity, gaussian_divergence
    >>> gaussian_divergence(GaussianDensity(0.0, 1.0), GaussianDensity(2.0, 1.0))
    2.0
    """
    (mean, covariance), (other, scale) = (read_gaussian("gaussian_divergence", density) for density in (first, second))
    if mean.shape != other.shape:
        raise DataError(f"gaussian_divergence: both must have as many columns; got {len(mean)} and {len(other)}.")
    offset = other - mean
    # KL(p | q) = (tr(S_q^-1 S_p) + d' S_q^-1 d - k + log det S_q - log det S_p) / 2 with d the gap of the means.
    trace = np.trace(np.linalg.solve(scale, covariance))
    determinants = np.linalg.slogdet(scale)[1] - np.linalg.slogdet(covariance)[1]
    return float(0.5 * (trace + offset @ np.linalg.solve(scale, offset) - len(mean) + determinants))


def _pair(subject: str, p: Any, q: Any) -> tuple[np.ndarray, np.ndarray]:
    p = read_probabilities(subject, "p", p)
    return p, read_probabilities(subject, "q", q, p.shape[-1])


def _unit(subject: str, base: float | None) -> float:
    """Return the natural logarithm of `base`, by which nats are divided; 1 for None."""
    if base is None:
        return 1.0
    if not base > 0 or base == 1:
        raise ParameterError(f"{subject}: base must be a positive number other than 1; got {base!r}.")
    return float(np.log(base))
