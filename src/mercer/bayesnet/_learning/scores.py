"""Scores of structures: sums over families of a function of their counts.

With N_ijk rows in state k of variable i and state j of its parents, N_ij their sum over k, r_i states and q_i
combinations of parents' states, a family scores

    log-likelihood   sum_jk N_ijk log(N_ijk / N_ij)
    AIC              log-likelihood - q_i (r_i - 1)
    BIC              log-likelihood - q_i (r_i - 1) log(N) / 2
    BDeu             sum_j [log G(a/q_i) - log G(N_ij + a/q_i)]
                     + sum_jk [log G(N_ijk + a/(q_i r_i)) - log G(a/(q_i r_i))]
    K2               the same with 1 in place of a/(q_i r_i), and so r_i in place of a/q_i

where G is the gamma function and a the equivalent sample size. BDeu and K2 are logarithms of the probability of the
rows under Dirichlet priors of the tables (Heckerman, Geiger and Chickering, 1995; Cooper and Herskovits, 1992).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlogy

from mercer._types import Array
from mercer.errors import ParameterError

SCORES = ("bic", "aic", "bdeu", "k2", "log_likelihood")


@dataclass(frozen=True)
class FamilyScore:
    """One of the scores.

    Parameters
    ----------
    name : one of SCORES
    total : float
        The weight of all rows, N.
    sample_size : float
        The equivalent sample size of BDeu.
    """

    name: str
    total: float
    sample_size: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in SCORES:
            known = ", ".join(map(repr, SCORES))
            raise ParameterError(f"FamilyScore: score must be one of {known}; got {self.name!r}.")

    @property
    def gives_equivalent_networks_one_value(self) -> bool:
        """Whether structures with the same independences have the same score."""
        return self.name != "k2"

    def evaluate(self, counts: Array, n_states: int, starts: Array) -> Array:
        """Return the scores of several families of one child, whose tables lie one after the other.

        Parameters
        ----------
        counts : ndarray
            All tables, flat; the child's state runs fastest.
        n_states : int
            r_i.
        starts : ndarray of int
            Where each table begins, in units of combinations of parents' states.
        """
        cells = counts.reshape(-1, n_states)
        lengths = np.diff(np.append(starts, len(cells)))
        if self.name in ("bdeu", "k2"):
            return self._evaluate_dirichlet(cells, n_states, starts, lengths)
        joint = xlogy(cells, cells).sum(axis=1)
        totals = cells.sum(axis=1)
        # sum_jk N_jk log N_jk - sum_j N_j log N_j, table by table.
        likelihood = np.add.reduceat(joint - xlogy(totals, totals), starts)
        # Free probabilities: q (r - 1).
        free = lengths * (n_states - 1)
        if self.name == "bic":
            return likelihood - 0.5 * np.log(max(self.total, 1.0)) * free
        return likelihood - free if self.name == "aic" else likelihood

    def _evaluate_dirichlet(self, cells: Array, n_states: int, starts: Array, lengths: Array) -> Array:
        prior = np.ones(len(lengths)) if self.name == "k2" else self.sample_size / (lengths * n_states)
        spread = np.repeat(prior, lengths)[:, None]
        totals = cells.sum(axis=1)
        # Most combinations have no rows, and their terms are zero: the gamma function is evaluated for the others only.
        busy = np.flatnonzero(totals)
        cells, spread = cells[busy], spread[busy]
        terms = np.zeros(len(totals))
        terms[busy] = (gammaln(cells + spread) - gammaln(spread)).sum(axis=1)
        whole = spread[:, 0] * n_states
        terms[busy] += gammaln(whole) - gammaln(totals[busy] + whole)
        return np.add.reduceat(terms, starts)

    def evaluate_family(self, table: Array) -> float:
        """Return the score of one family, whose table has the child as its last axis."""
        return float(self.evaluate(np.ascontiguousarray(table).ravel(), table.shape[-1], np.zeros(1, np.intp))[0])
