"""The variational bound of latent Dirichlet allocation, and the pass over the rows that raises it.

Rows i are counts c_iw of columns; q(theta_i) is Dirichlet(gamma_i), and q(beta_j) of topic j is Dirichlet(lambda_j).
For the best shares of topics in single counts, which the pass eliminates, the bound is

    sum_i sum_w c_iw log sum_j exp(E[log theta_ij] + E[log beta_jw])  -  sum_i KL(gamma_i)  -  sum_j KL(lambda_j),

with KL the divergence of a Dirichlet distribution from its prior.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln, psi

from mercer._native.factors import topic_shares
from mercer._source import Block
from mercer._source.threads import check_dropped
from mercer._statistic import Statistic
from mercer._statistic.statistic import Sums
from mercer._types import Array

# Multiplications of one native call at most, some 50 ms: between calls Ctrl-C is answered.
_CALL = 5 * 10**7


def expect_logarithms(parameters: Array) -> Array:
    """Return E[log p] of each Dirichlet distribution whose parameters are a row."""
    return psi(parameters) - psi(parameters.sum(axis=1, keepdims=True))


def measure_divergence(parameters: Array, prior: float, expected: Array) -> Array:
    """Return the divergence of each Dirichlet distribution from the symmetric prior; `expected` is E[log p]."""
    size = parameters.shape[1]
    divergence = np.einsum("ij,ij->i", parameters - prior, expected)
    divergence += gammaln(parameters.sum(axis=1)) - gammaln(parameters).sum(axis=1)
    return divergence + size * gammaln(prior) - gammaln(size * prior)


@dataclass(frozen=True, eq=False)
class TopicFactors:
    """exp(E[log beta]) as the pass reads it: a row for each column, scaled to a maximum of one, and the log scales."""

    factors: Array
    offsets: Array

    @classmethod
    def of(cls, expected: Array) -> "TopicFactors":
        """Return the factors of topics (k, d) with these expected logarithms."""
        offsets = expected.max(axis=0)
        return cls(np.ascontiguousarray(np.exp(expected - offsets).T), offsets)


@dataclass(frozen=True)
class TopicSums(Sums):
    """Expected counts (d, k) without the factors of the topics, the bound's part of the rows, and all counts.

    ``negative`` is the number of entries below zero, for which nothing else holds.
    """

    counts: Array
    bound: float
    total: float
    weight: float
    negative: float

    def absorb(self, other: "TopicSums") -> "TopicSums":
        """Return the sum; the counts are added in place."""
        np.add(self.counts, other.counts, out=self.counts)
        scalars = (self.bound + other.bound, self.total + other.total, self.weight + other.weight)
        return TopicSums(self.counts, *scalars, self.negative + other.negative)


@dataclass(frozen=True)
class RowRule:
    """How rows are inferred: their prior, the most updates of a row, and the mean move at which it is done."""

    prior: float
    most: int
    tol: float


@dataclass(frozen=True, eq=False)
class TopicPass(Statistic):
    """Infer the rows of a block, each anew, and sum what the topics need.

    Rows that went on from the last pass would keep shares that the first, random topics gave them: on rows drawn from
    20 topics the perplexity ended at 711, and anew at 459.
    """

    topics: TopicFactors
    rule: RowRule
    collects: bool = True

    def of(self, block: Block) -> TopicSums:
        return infer(block.X, block.weight, self.topics, self.rule, self.collects)[0]


def infer(X: Any, weight: Any, topics: TopicFactors, rule: RowRule, collects: bool) -> tuple[TopicSums, Array]:
    """Return what the topics need of some rows, and the parameters of the rows."""
    rows = X if hasattr(X, "indptr") else csr_array(X)
    values = np.ascontiguousarray(rows.data, dtype=np.float64)
    (d, k), n = topics.factors.shape, X.shape[0]
    stored = type(rows)((values, rows.indices, rows.indptr), shape=rows.shape)
    sizes = np.asarray(stored.sum(axis=1)).ravel()
    # The counts in equal shares.
    gamma = np.repeat(rule.prior + sizes[:, None] / k, k, axis=1)
    shares = np.ones(n) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    negative = float(np.count_nonzero(values < 0))
    if negative:
        return TopicSums(np.zeros((d if collects else 0, k)), 0.0, 0.0, 0.0, negative), gamma
    counts, logs = np.zeros((d if collects else 0, k)), np.empty(n)
    places = rows.indptr.astype(rows.indices.dtype, copy=False)
    scratch, shared = np.empty((2, k)), (rows.indices, values, topics.factors, rule.prior)
    length = max(1, int(_CALL * n / (max(len(values), n) * k * max(rule.most, 1))))
    for first in range(0, n, length):
        part = slice(first, first + length)
        own = (gamma[part], shares[part], rule.most, rule.tol, counts, logs[part], scratch)
        topic_shares.infer_rows(places[first : first + length + 1], *shared, *own)
        check_dropped()
    # The rows were inferred with exp(psi(gamma)) and scaled topics: psi of the sums and the scales come in here.
    logs += stored @ topics.offsets - sizes * psi(gamma.sum(axis=1))
    logs -= measure_divergence(gamma, rule.prior, expect_logarithms(gamma))
    return TopicSums(counts, float(shares @ logs), float(shares @ sizes), float(shares.sum()), 0.0), gamma
