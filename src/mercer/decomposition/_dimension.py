"""The number of components: a share of the variance, Minka's evidence, or the elbow of the scree plot."""

from typing import Any

import numpy as np
from scipy.special import gammaln

from mercer._types import Array


def choose_dimension(spectrum: Array, wish: Any, weight: float) -> int:
    """Return the number of components that `wish` (``n_components``) means for variances in falling order."""
    if wish == "mle":
        return weigh_evidence(spectrum, weight)
    if wish == "elbow":
        return find_elbow(spectrum)
    return reach_share(spectrum, wish) if 0 < wish < 1 else int(wish)


def reach_share(spectrum: Array, share: float) -> int:
    """Return the fewest components whose variances sum to more than `share` of the total."""
    total = spectrum.sum()
    if total == 0:
        return 1
    reached = np.cumsum(spectrum / total)
    return min(int(np.searchsorted(reached, share, side="right")) + 1, len(spectrum))


def find_elbow(spectrum: Array) -> int:
    """Return the elbow of the scree plot: the split into a high and a low group of greatest profile likelihood.

    Both groups are Gaussian with means of their own and one variance (Zhu and Ghodsi, 2006), so the likelihood falls
    with the pooled sum of squares about the two means.
    """
    count = len(spectrum)
    if count < 2:
        return count
    high = np.arange(1, count)
    sums, squares = np.cumsum(spectrum), np.cumsum(spectrum**2)
    within_high = squares[:-1] - sums[:-1] ** 2 / high
    within_low = (squares[-1] - squares[:-1]) - (sums[-1] - sums[:-1]) ** 2 / (count - high)
    return int(np.argmin(within_high + within_low)) + 1


def weigh_evidence(spectrum: Array, weight: float) -> int:
    """Return the dimension of greatest evidence, by the Laplace approximation of Minka (2000, eq. 30).

    For each k below d the evidence needs sums over pairs i < k, i < j of log (l_i - l_j)(1/m_j - 1/m_i), where m is l
    with its tail replaced by the mean of the tail, v. Pairs inside the head do not depend on k and the others split
    into a term in l_i - l_j and one in v, so running sums give all k in O(d^2).
    """
    d = len(spectrum)
    if d < 2:
        return d
    tiny = 1e-15 * max(spectrum[0], np.finfo(np.float64).tiny)
    values = np.maximum(spectrum.astype(np.float64), tiny)
    ranks = np.arange(1, d)
    # Running sums of logarithms of the head, and means of the tail, for every k at once.
    heads, tails = np.cumsum(np.log(values))[:-1], np.cumsum(values[::-1])[::-1][1:] / (d - ranks)
    half = (d - ranks + 1) / 2
    # The log volume of the Stiefel manifold: the prior of the axes.
    prior = np.cumsum(gammaln(half) - half * np.log(np.pi)) - ranks * np.log(2.0)
    # Free numbers of k orthonormal axes in d dimensions.
    free = d * ranks - ranks * (ranks + 1) / 2
    evidence = prior - weight / 2 * (heads + np.log(tails) * (d - ranks)) + (free + ranks) / 2 * np.log(2 * np.pi)
    evidence -= (_log_curvature(values, tails, tiny) + free * np.log(weight)) / 2 + ranks / 2 * np.log(weight)
    evidence[spectrum[:-1] <= tiny] = -np.inf
    return int(np.argmax(evidence)) + 1


def _log_curvature(values: Array, tails: Array, tiny: float) -> Array:
    """Return, for each rank, the sum over pairs of log (l_i - l_j)(1/m_j - 1/m_i); tiny gaps count as `tiny`."""
    d = len(values)
    gaps = np.log(np.maximum(values[:, None] - values[None, :], tiny))
    upper = np.triu(gaps, 1)
    logs = np.log(values)
    # Inside the head m = l, and (l_i - l_j)(1/l_j - 1/l_i) = (l_i - l_j)^2 / (l_i l_j).
    inside = np.triu(2 * gaps - logs[:, None] - logs[None, :], 1)
    ranks = np.arange(1, d)
    head_pairs = np.cumsum(inside.sum(axis=0))[:-1]
    # Pairs of head and tail: all gaps with i in the head minus those inside it.
    across = np.cumsum(upper.sum(axis=1) - upper.sum(axis=0))[:-1]
    ratio = np.maximum(1 / tails[:, None] - 1 / values[None, :], tiny / values[0] ** 2)
    mean_terms = np.where(np.arange(d)[None, :] < ranks[:, None], np.log(ratio), 0.0).sum(axis=1)
    return head_pairs + across + (d - ranks) * mean_terms
