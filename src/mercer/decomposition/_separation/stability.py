"""Stability of sources over other starts and other rows, in the manner of Icasso (Himberg and Hyvarinen, 2003)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mercer._base.randomness import seed_sequence
from mercer._types import Array
from mercer.errors import DataError, ParameterError


@dataclass(frozen=True)
class SourceStability:
    """How well each source of a model is found again.

    Attributes
    ----------
    score : ndarray of shape (n_components,)
        For each source the mean similarity of its estimates to each other, less their mean similarity to the estimates
        of other sources: 1 if all fits find it and nothing else resembles it, near 0 if it is not found again.
    similarity : ndarray of shape (n_resamples, n_components)
        The absolute correlation, on the given rows, of each source with its estimate in each fit.
    components : ndarray of shape (n_resamples, n_components, n_features)
        The unmixing vectors of all fits, in the order and with the signs of the model's.
    """

    score: Array
    similarity: Array
    components: Array

    @property
    def interval(self) -> Array:
        """The 5 % and 95 % quantiles of each entry of the unmixing vectors, (2, n_components, n_features)."""
        return np.quantile(self.components, [0.05, 0.95], axis=0)


def measure_stability(
    model: Any, X: Any, *, n_resamples: int = 20, bootstrap: bool = True, random_state: Any = None
) -> SourceStability:
    """Fit a model again from other starts and to resampled rows, and cluster the sources of all fits.

    Each fit gives one estimate for each source of the model: the pairing with the largest sum of similarities, which
    are absolute correlations on the given rows.

    Parameters
    ----------
    model : ICA, FastICA or SecondOrderSeparation
        A fitted model, which is not changed.
    X : array-like of shape (n_samples, n_features)
        The rows of the fit.
    n_resamples : int, default=20
        Number of fits.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement for each fit; otherwise only the starts differ.
    random_state : None, int, RandomState or Generator, default=None
        The seed of starts and resamples.

    Returns
    -------
    SourceStability
        A score for each source, and the sources of all fits.

    Examples
    --------
    >>> from mercer.datasets import make_mixed_sources
    >>> from mercer.decomposition import ICA, measure_stability
    >>> X = make_mixed_sources(1000, sources=["laplace", "uniform"]).data
    >>> result = measure_stability(ICA(random_state=0).fit(X), X, n_resamples=5, random_state=0)
    >>> bool((result.score > 0.9).all())
    True
    """
    check_is_fitted(model)
    if not isinstance(n_resamples, int | np.integer) or n_resamples < 2:
        raise ParameterError(
            f"measure_stability: n_resamples must be an integer in [2, inf); got {n_resamples!r}. Raise it."
        )
    X = check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X")
    n, reference = len(X), np.asarray(model.components_, dtype=np.float64)
    # Similarities of sources follow from the covariance of the rows: no scores are computed.
    covariance = np.atleast_2d(np.cov(X, rowvar=False, bias=True))
    fits = []
    for seed in seed_sequence(random_state).spawn(n_resamples):
        random = np.random.default_rng(seed)
        again = clone(model).set_params(random_state=int(random.integers(2**31)))
        # Drawing n rows with replacement gives each a number of repetitions, which is its weight.
        weights = {"sample_weight": random.multinomial(n, np.full(n, 1.0 / n)).astype(np.float64)} if bootstrap else {}
        fits.append(np.asarray(again.fit(X, **weights).components_, dtype=np.float64))
    found = {len(components) for components in fits}
    if found != {len(reference)}:
        raise DataError(
            f"measure_stability: every resample must give {len(reference)} sources; some give {min(found)}, because "
            f"their different rows are too few. Give more rows than {n}, or bootstrap=False."
        )
    return _cluster(reference, np.stack(fits), covariance)


def _cluster(reference: Array, fits: Array, covariance: Array) -> SourceStability:
    """Pair the sources of each fit with the model's, and score how compact and how apart the clusters are."""
    matched = []
    for components in fits:
        correlation = _correlate(reference, components, covariance)
        rows, order = linear_sum_assignment(-np.abs(correlation))
        matched.append(np.where(correlation[rows, order] < 0, -1.0, 1.0)[:, None] * components[order])
    stack = np.stack(matched)
    n_fits, k, d = stack.shape
    similarity = np.stack([np.abs(np.diagonal(_correlate(reference, each, covariance))) for each in stack])
    # All estimates, cluster by cluster: blocks of the matrix of similarities are clusters.
    every = stack.transpose(1, 0, 2).reshape(k * n_fits, d)
    blocks = np.abs(_correlate(every, every, covariance)).reshape(k, n_fits, k, n_fits)
    means = blocks.mean(axis=(1, 3))
    # The similarity of an estimate with itself is one, and does not count.
    inside = (np.diagonal(means) * n_fits - 1.0) / (n_fits - 1)
    outside = (means.sum(axis=1) - np.diagonal(means)) / max(1, k - 1)
    return SourceStability(inside - outside, similarity, stack)


def _correlate(first: Array, second: Array, covariance: Array) -> Array:
    """Return the correlations of two sets of projections of rows with a given covariance."""
    products = first @ covariance @ second.T
    left = np.sqrt(np.einsum("ij,jk,ik->i", first, covariance, first))
    right = np.sqrt(np.einsum("ij,jk,ik->i", second, covariance, second))
    return products / (left[:, None] * right)
