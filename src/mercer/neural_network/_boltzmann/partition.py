"""The partition function of a restricted Boltzmann machine: exact for few units, by annealed importance sampling else.

Hidden units are summed out in closed form, so that an exact sum has 2^min(d, k) terms, not 2^(d + k).
"""

import math

import numpy as np
from scipy.special import logsumexp

from mercer._native.machine import unit_draws
from mercer._types import Array
from mercer.errors import DataError

# Units whose states are all listed: 2^20 terms of a sum take about a second for 100 units on the other side.
MOST_UNITS = 20
# States in one block of an exact sum.
_BLOCK = 2**12


def list_states(n_units: int, first: int = 0, stop: int | None = None) -> Array:
    """Return the states `first` to `stop` of binary units, as rows of 0 and 1; unit 0 is the lowest bit."""
    numbers = np.arange(first, 2**n_units if stop is None else stop)
    return ((numbers[:, None] >> np.arange(n_units)) & 1).astype(np.float64)


def sum_log_partition(weights: Array, visible: Array, hidden: Array, gaussian: bool) -> float:
    """Return log Z exactly, by listing the states of the smaller layer (of the hidden one for Gaussian units).

    Parameters
    ----------
    weights : (d, k), float64
    visible, hidden : (d,), (k,), float64
    gaussian : bool
    """
    d, k = weights.shape
    # The sum is over the smaller layer; the roles of the layers are symmetric for binary units.
    if not gaussian and d < k:
        return sum_log_partition(np.ascontiguousarray(weights.T), hidden, visible, False)
    if k > MOST_UNITS:
        raise DataError(
            f"log_partition: an exact sum needs at most {MOST_UNITS} units in {'the hidden' if gaussian else 'one'} "
            f"layer; got {d} visible and {k} hidden ones. Pass method='ais' for an estimate."
        )
    parts = []
    for first in range(0, 2**k, _BLOCK):
        states = list_states(k, first, min(first + _BLOCK, 2**k))
        scores = states @ weights.T
        if gaussian:
            # The Gaussian integral over v given h: exp(b.s + |s|^2 / 2) (2 pi)^(d / 2), with s = W h.
            inside = scores @ visible + 0.5 * np.einsum("ij,ij->i", scores, scores) + 0.5 * d * math.log(2.0 * math.pi)
        else:
            inside = np.empty(len(states))
            unit_draws.sum_softplus(scores, visible, np.empty((2, d)), inside)
        parts.append(float(logsumexp(states @ hidden + inside)))
    return float(logsumexp(parts))


def anneal_log_partition(
    weights: Array, visible: Array, hidden: Array, gaussian: bool, n_chains: int, n_levels: int, seed: int
) -> tuple[float, float]:
    """Return an estimate of log Z and the standard error of its logarithm (Salakhutdinov and Murray, 2008).

    Chains begin at the machine without couplings, whose Z is known, and couplings grow in `n_levels` steps to their
    values. The product of the ratios along a chain has the mean Z / Z_0.
    """
    d, k = weights.shape
    random = np.random.default_rng(seed)
    if gaussian:
        rows = visible + random.standard_normal((n_chains, d))
        # Hidden units without input double the weight each.
        base = k * math.log(2.0) + 0.5 * d * math.log(2.0 * math.pi)
    else:
        rows = (random.random((n_chains, d)) < 1.0 / (1.0 + np.exp(-visible))).astype(np.float64)
        base = k * math.log(2.0) + float(np.logaddexp(0.0, visible).sum())
    nothing, scratch = np.zeros(k), np.empty((2, k))
    logs, here, there = np.zeros(n_chains), np.empty(n_chains), np.empty(n_chains)
    for level in range(n_levels):
        beta, following = level / n_levels, (level + 1) / n_levels
        scores = rows @ weights + hidden
        unit_draws.sum_softplus(beta * scores, nothing, scratch, here)
        unit_draws.sum_softplus(following * scores, nothing, scratch, there)
        # The ratio of unnormalised probabilities of two levels at the present state.
        logs += there - here
        # One Gibbs step at the next level keeps its distribution.
        chances = following * scores
        unit_draws.activate_units(chances, nothing)
        drive = following * ((random.random(chances.shape) < chances).astype(np.float64) @ weights.T) + visible
        if gaussian:
            rows = drive + random.standard_normal(drive.shape)
        else:
            unit_draws.activate_units(drive, np.zeros(d))
            rows = (random.random(drive.shape) < drive).astype(np.float64)
    ratios = np.exp(logs - logs.max())
    spread = float(ratios.std() / ratios.mean()) / math.sqrt(n_chains)
    return base + float(logsumexp(logs)) - math.log(n_chains), spread
