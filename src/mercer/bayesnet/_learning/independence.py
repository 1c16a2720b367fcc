"""Mutual information in counts: trees of it (Chow and Liu, 1968; Friedman and others, 1997), and tests on it."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, xlogy

from mercer._types import Array
from mercer.bayesnet._learning.counter import FamilyCounter


def measure_information(table: Array) -> float:
    """Return the mutual information of the last two axes of a table of counts, given all others, in nats."""
    cells = table.reshape(-1, *table.shape[-2:])
    total = cells.sum()
    if total <= 0:
        return 0.0
    rows, columns, whole = cells.sum(axis=2), cells.sum(axis=1), cells.sum(axis=(1, 2))
    terms = xlogy(cells, cells).sum() - xlogy(rows, rows).sum() - xlogy(columns, columns).sum()
    return max(0.0, float(terms + xlogy(whole, whole).sum()) / float(total))


def tabulate_information(counter: FamilyCounter, nodes: list[int], given: tuple[int, ...] = ()) -> Array:
    """Return the mutual information of each pair of `nodes` given other variables, from rows that have them all."""
    information = np.zeros((len(nodes), len(nodes)))
    for second in range(len(nodes)):
        for first in range(second):
            table = counter.count((*given, nodes[first], nodes[second]))
            information[first, second] = information[second, first] = measure_information(table)
    return information


def find_spanning_tree(weights: Array, root: int = 0) -> Array:
    """Return the spanning tree of largest weight, directed away from `root`, as a matrix of edges; Prim's method."""
    d = len(weights)
    edges = np.zeros((d, d), bool)
    inside = np.zeros(d, bool)
    inside[root] = True
    best, link = weights[root].astype(np.float64).copy(), np.full(d, root)
    for _ in range(d - 1):
        node = int(np.argmax(np.where(inside, -np.inf, best)))
        edges[link[node], node] = True
        inside[node] = True
        closer = ~inside & (weights[node] > best)
        best[closer], link[closer] = weights[node][closer], node
    return edges


TESTS = ("g2", "chi2", "mutual_information")


def measure_dependence(table: Array, test: str) -> tuple[float, int]:
    """Return the statistic of a test and its degrees of freedom.

    Parameters
    ----------
    table : ndarray
        Counts; the last two axes are the variables tested, all others are given.
    test : {"g2", "chi2"}
        G2 is twice the log-likelihood ratio, chi2 Pearson's sum of squared deviations over expectations.
    """
    cells = table.reshape(-1, *table.shape[-2:])
    rows, columns, whole = cells.sum(axis=2), cells.sum(axis=1), cells.sum(axis=(1, 2))
    # A state without rows in a stratum adds no freedom there.
    freedom = ((rows > 0).sum(axis=1) - 1).clip(0) * ((columns > 0).sum(axis=1) - 1).clip(0)
    if test == "g2":
        value = xlogy(cells, cells).sum() - xlogy(rows, rows).sum() - xlogy(columns, columns).sum()
        return 2.0 * max(0.0, float(value + xlogy(whole, whole).sum())), int(freedom.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = rows[:, :, None] * columns[:, None, :] / whole[:, None, None]
        terms = np.where(expected > 0, (cells - expected) ** 2 / expected, 0.0)
    return float(terms.sum()), int(freedom.sum())


@dataclass(frozen=True, eq=False)
class IndependenceTest:
    """Decides whether two variables are independent given others, from rows.

    Parameters
    ----------
    counter : FamilyCounter
    test : one of TESTS
    alpha : float
        Independence is rejected if the p-value is at most this.
    threshold : float
        For "mutual_information": the information, in nats, from which variables count as dependent.
    """

    counter: FamilyCounter
    test: str
    alpha: float
    threshold: float

    def __call__(self, first: int, second: int, given: tuple[int, ...]) -> tuple[bool, float]:
        """Return whether they are independent, and the p-value (or the information) that decides."""
        table = self.counter.count((*given, first, second))
        if self.test == "mutual_information":
            information = measure_information(table)
            return information < self.threshold, information
        value, freedom = measure_dependence(table, self.test)
        # No freedom is left where each stratum has one state: nothing contradicts independence.
        p_value = float(chdtrc(freedom, value)) if freedom else 1.0
        return p_value > self.alpha, p_value
