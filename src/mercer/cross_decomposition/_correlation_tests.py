"""Tests of canonical correlations against chance."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from mercer._base import seed_sequence
from mercer._plain import plain
from mercer._source import Source
from mercer._source.threads import one_blas_thread
from mercer._types import Array
from mercer.cross_decomposition._canonical import whiten
from mercer.cross_decomposition._moments import Side
from mercer.errors import ParameterError


@plain
@dataclass(frozen=True)
class CorrelationTest:
    """Canonical correlations and how likely larger ones are by chance.

    Attributes
    ----------
    correlations : ndarray of shape (n_components,)
    p_values : ndarray of shape (n_components,)
        Rising from pair to pair.
    statistics : ndarray of shape (n_components,)
        What was compared: correlations for a permutation test, chi^2 for Wilks' test.
    """

    correlations: Array
    p_values: Array
    statistics: Array


def permute_rows(model: Any, source: Source, n_permutations: int, random_state: Any) -> CorrelationTest:
    """Compare the correlations with those after the rows of one table are shuffled."""
    if n_permutations < 1:
        raise ParameterError(f"CCA: n_permutations must be an integer in [1, inf); got {n_permutations}.")
    with one_blas_thread():
        U, r, V = _find_variates(model, source)
        k = min(model.n_components, len(r))
        exceeded = np.zeros(k)
        random = np.random.default_rng(seed_sequence(random_state))
        for _ in range(n_permutations):
            between = U.T @ V[random.permutation(len(V))]
            for pair in range(k):
                # The largest correlation that is left after the pairs before this one.
                largest = np.linalg.svd(between[pair:, pair:], compute_uv=False)[0]
                # Equal but for rounding counts as reached, so that no shuffle of few rows is lost.
                exceeded[pair] += largest >= r[pair] - 1e-12
    # p-values rise along the pairs: a later pair cannot be more certain than an earlier one.
    p_values = np.maximum.accumulate((exceeded + 1.0) / (n_permutations + 1.0))
    return CorrelationTest(r[:k], p_values, r[:k])


def _find_variates(model: Any, source: Source) -> tuple[Array, Array, Array]:
    """Return all canonical variates of both tables, whitened by the model's covariances, and their correlations."""
    y = source.y if source.y.ndim == 2 else source.y[:, None]
    whitened = []
    for table, scale, share in zip(
        (source.whole(), y), (model.x_scale_, model.y_scale_), model.shrinkage_, strict=True
    ):
        gaps = (table - table.mean(axis=0)) / scale
        gaps = gaps.astype(np.float64, copy=False)
        # The smaller of both matrices whitens.
        side = Side(scatter=gaps.T @ gaps) if len(gaps) > gaps.shape[1] else Side(rows=gaps)
        whitened.append(gaps @ whiten(side, float(share)))
    left, r, right = np.linalg.svd(whitened[0].T @ whitened[1])
    return whitened[0] @ left, r, whitened[1] @ right.T


def compute_wilks(spectrum: Array, k: int, weight: float, d: int, q: int) -> CorrelationTest:
    """Compute Bartlett's chi^2 for the correlations from each pair on."""
    r = np.pad(spectrum, (0, max(0, k - len(spectrum))))
    with np.errstate(divide="ignore"):
        logs = np.log1p(-(np.minimum(r, 1.0) ** 2))
    # sum over later pairs of log(1 - r^2): the logarithm of Wilks' lambda.
    tails = np.cumsum(logs[::-1])[::-1][:k]
    # Bartlett's approximation to chi^2 with (d - k)(q - k) degrees of freedom.
    statistics = -(weight - 1.0 - (d + q + 1.0) / 2.0) * tails
    pairs = np.arange(k)
    freedom = np.maximum((d - pairs) * (q - pairs), 1)
    p_values = special.chdtrc(freedom, np.maximum(statistics, 0.0))
    return CorrelationTest(r[:k], np.maximum.accumulate(p_values), statistics)
