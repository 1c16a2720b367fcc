"""Exact sums over all states of spins, as a product of two halves.

The units are cut into two halves of a and b units. The log weight of a state is then a matrix (2^a, 2^b): the log
weights of both halves plus one matrix product for the couplings between them. Twenty units take a matrix of
1024 x 1024.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import logsumexp

from mercer._types import Array


@lru_cache(maxsize=16)
def list_spins(n_units: int) -> Array:
    """Return all 2^n states of spins as rows; unit 0 is the lowest bit."""
    bits = (np.arange(2**n_units)[:, None] >> np.arange(n_units)) & 1
    spins = 2.0 * bits - 1.0
    spins.flags.writeable = False
    return spins


@dataclass(frozen=True, eq=False)
class SpinSums:
    """What a sum over all states gives: log Z, the means of the spins, and the means of their products."""

    log_partition: float
    means: Array
    products: Array


def sum_spins(weights: Array, biases: Array, *, products: bool = True) -> SpinSums:
    """Sum exp(s^T W s / 2 + biases^T s) over all states.

    Parameters
    ----------
    weights : (n, n), symmetric with zero diagonal
    biases : (n,)
    products : whether means and products are wanted too
    """
    n = len(biases)
    a = (n + 1) // 2
    first, second = list_spins(a), list_spins(n - a)
    # log weight = within the first half + within the second + between the two.
    logs = first @ weights[:a, a:] @ second.T
    logs += _weigh_half(first, weights[:a, :a], biases[:a])[:, None] + _weigh_half(second, weights[a:, a:], biases[a:])
    total = float(logsumexp(logs))
    if not products:
        return SpinSums(total, np.empty(0), np.empty((0, 0)))
    shares = np.exp(logs - total)
    # Marginals of each half from the row and column sums of the joint table.
    left, right = shares.sum(axis=1), shares.sum(axis=0)
    means = np.concatenate([left @ first, right @ second])
    matrix = np.empty((n, n))
    matrix[:a, :a] = (first * left[:, None]).T @ first
    matrix[a:, a:] = (second * right[:, None]).T @ second
    # Products across the halves need the joint table itself.
    matrix[:a, a:] = first.T @ shares @ second
    matrix[a:, :a] = matrix[:a, a:].T
    return SpinSums(total, means, matrix)


def anneal_spins(weights: Array, biases: Array, n_chains: int, n_levels: int, seed: int) -> tuple[float, float]:
    """Return an estimate of log Z by annealed importance sampling (Neal, 2001), and its standard error.

    Chains begin at independent units, whose Z is known; the weights grow in equal steps, with one heat-bath sweep at
    each.
    """
    random, n = np.random.default_rng(seed), len(biases)
    # Without couplings a unit is up with probability expit(2 b).
    spins = np.where(random.random((n_chains, n)) < 1.0 / (1.0 + np.exp(-2.0 * biases)), 1.0, -1.0)
    logs = np.zeros(n_chains)
    for level in range(n_levels):
        inputs = spins @ weights
        # Each level multiplies the importance weight by exp(s^T W s / (2 levels)).
        logs += 0.5 * np.einsum("ij,ij->i", inputs, spins) / n_levels
        beta = (level + 1) / n_levels
        chances = random.random((n, n_chains))
        # One line for each unit: a sweep reads and writes whole lines.
        lines, states = np.ascontiguousarray(inputs.T), np.ascontiguousarray(spins.T)
        for unit in range(n):
            # Heat bath: the unit is up with probability expit(2 input).
            up = chances[unit] * (1.0 + np.exp(-2.0 * (beta * lines[unit] + biases[unit]))) < 1.0
            change = np.where(up, 1.0, -1.0) - states[unit]
            states[unit] += change
            # Only units that are still to come in this sweep read their input again.
            lines[unit + 1 :] += weights[unit, unit + 1 :, None] * change
        spins = np.ascontiguousarray(states.T)
    ratios = np.exp(logs - logs.max())
    # The standard error of log Z, by the delta method.
    error = float(ratios.std() / ratios.mean()) / np.sqrt(n_chains)
    # log Z of independent spins.
    base = float(np.logaddexp(biases, -biases).sum())
    return base + float(logsumexp(logs)) - float(np.log(n_chains)), error


def _weigh_half(states: Array, weights: Array, biases: Array) -> Array:
    return 0.5 * np.einsum("ij,ij->i", states @ weights, states) + states @ biases


# Units whose states are all listed: 2^20 terms of a sum take about a second for 100 units on the other side.
MOST_UNITS = 20


def read_spins(rows: Any, threshold: float) -> Array:
    """Return 1 where a value is above the threshold and -1 elsewhere, as float64."""
    return np.where(np.asarray(rows) > threshold, 1.0, -1.0)


def find_coding(least: float) -> str:
    """Return the coding of rows from their least value: "spins" of -1 and 1, or "bits" of 0 and 1."""
    return "spins" if least < 0 else "bits"


def decode_spins(spins: Array, coding: str, dtype: Any) -> Array:
    """Return spins in the coding that the rows of the fit had."""
    return (spins if coding == "spins" else 0.5 * (spins + 1.0)).astype(dtype)
