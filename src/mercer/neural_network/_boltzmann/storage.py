"""How patterns become the weights of a Hopfield network: Hebb's rule, the pseudo-inverse, and Storkey's rule."""

import math
from dataclasses import dataclass

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source import Block, Source
from mercer._source.source import SumTree
from mercer._types import Array
from mercer.neural_network._boltzmann.spins import read_spins


@plain
@dataclass(frozen=True, eq=False)
class HopfieldState:
    """The weights after some patterns, and whether the least value of the patterns is negative."""

    weights: Array
    n_patterns: int
    least: float


@dataclass(frozen=True, eq=False)
class _Hebb:
    """A request: the weighted sum of outer products of the patterns, their number, total weight and least value."""

    threshold: float

    def answer(self, source: Source) -> tuple[Array, int, float, float]:
        tree = SumTree()
        counts: list[tuple[int, float, float]] = []

        def receive(part: tuple[Array, tuple[int, float, float]]) -> None:
            # Matrices are added in a fixed tree, as their rounding depends on the order; counts are exact in any order.
            tree.add(part[0])
            counts.append(part[1])

        source.each(self._sum, receive)
        n_patterns, totals, least = zip(*counts, strict=True)
        return tree.total(), sum(n_patterns), sum(totals), min(least)

    def _sum(self, block: Block) -> tuple[Array, tuple[int, float, float]]:
        rows = block.dense()
        spins = read_spins(rows, self.threshold)
        n_patterns = block.n if block.weight is None else int((block.weight > 0).sum())
        return block.weigh(spins).T @ spins, (n_patterns, block.total_weight(), float(rows.min()))


@dataclass(frozen=True, eq=False)
class _Stability:
    """A request: the weight of unstable units of the patterns, and the weighted sum of their energies."""

    threshold: float
    weights: Array

    def answer(self, source: Source) -> tuple[float, float]:
        parts: list[tuple[float, float]] = []
        source.each(self._measure, parts.append)
        unstable, energy = zip(*parts, strict=True)
        return math.fsum(unstable), math.fsum(energy)

    def _measure(self, block: Block) -> tuple[float, float]:
        spins = read_spins(block.dense(), self.threshold)
        inputs = spins @ self.weights
        # A unit of a pattern is unstable if its input has the other sign.
        aligned = spins * inputs
        unstable = block.weigh((aligned < 0).sum(axis=1).astype(np.float64))
        return float(unstable.sum()), float(block.weigh(-0.5 * aligned.sum(axis=1)).sum())


@dataclass(frozen=True)
class _Patterns:
    """A request: all patterns, as spins, with their weights, and the least value in them."""

    threshold: float

    def answer(self, source: Source) -> tuple[Array, Array, float]:
        rows = np.concatenate([block.dense() for block in source.blocks()])
        return read_spins(rows, self.threshold), source.row_weights(), float(rows.min())


def store_patterns(rule: str, threshold: float) -> Solver[HopfieldState]:
    """Make weights of the patterns, in one step."""
    products, n_patterns, total, least = yield _Hebb(threshold)
    d = len(products)
    if rule == "hebb":
        # Hebb: w_ij = (1 / d) sum over patterns of s_i s_j.
        weights = products / d
    else:
        patterns, times, _ = yield _Patterns(threshold)
        if times is not None:
            patterns, times = patterns[times > 0], times[times > 0]
        # Pseudo-inverse: the projection on the span of the patterns; repeated patterns change nothing.
        weights = np.linalg.pinv(patterns) @ patterns if rule == "pseudo_inverse" else _apply_storkey(patterns, times)
    np.fill_diagonal(weights, 0.0)
    weights = 0.5 * (weights + weights.T)
    # How many units of the stored patterns the network itself would turn over.
    unstable, energy = yield _Stability(threshold, weights)
    share = unstable / (total * d)
    statement = "The share of units of stored patterns that the network changes; 0 if every pattern is a fixed point."
    certificate = Certificate.of("fixed point", share, 0.0, statement)
    state = HopfieldState(weights, n_patterns, least)
    yield Step(energy / total, state, certificate, {"unstable": share})
    return Solution(state, True, certificate)


def _apply_storkey(patterns: Array, times: Array) -> Array:
    """Add patterns one by one, each corrected by the local fields of the weights so far (Storkey, 1997)."""
    d = patterns.shape[1]
    weights = np.zeros((d, d))
    for number, pattern in enumerate(patterns):
        # A pattern stored twice is learnt twice, each time with the weights of that moment.
        count = 1.0 if times is None else float(times[number])
        for share in [1.0] * int(count) + ([count % 1] if count % 1 else []):
            # h_ij = sum over k other than i and j of W_ik s_k.
            inputs = (weights @ pattern)[:, None] - np.diag(weights)[:, None] * pattern[:, None] - weights * pattern
            np.fill_diagonal(inputs, np.diag(inputs) + np.diag(weights) * pattern)
            step = np.outer(pattern, pattern) - pattern[:, None] * inputs.T - inputs * pattern
            weights += share * step / d
    return weights
