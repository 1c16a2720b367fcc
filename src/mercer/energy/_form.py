"""The one form in which every algorithm of the family sees a model.

    E(a) = offset - sum over edges of K_ij [a_i = a_j] - sum over sites of g_i[a_i],    a_i in 0 .. q - 1

A Potts model has this form. An Ising model has it with q = 2 and s = 2 a - 1, because s_i s_j = 2 [a_i = a_j] - 1: K is
2 J, g_i is (-h_i, h_i), and the offset is the sum of all J.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mercer.energy._graph import SiteGraph


@dataclass(frozen=True, eq=False)
class PairwiseForm:
    """A model over states 0 to q - 1 of each site.

    Attributes
    ----------
    graph : SiteGraph
    couplings : ndarray of shape (m,)
        K.
    fields : ndarray of shape (n, q)
        g.
    values : ndarray of shape (q,)
        The magnetisation of a site in each state.
    offset : float
    beta : float
    """

    graph: SiteGraph
    couplings: np.ndarray
    fields: np.ndarray
    values: np.ndarray
    offset: float
    beta: float

    @property
    def n_states(self) -> int:
        """Return q."""
        return self.fields.shape[1]

    @cached_property
    def slot_couplings(self) -> np.ndarray:
        """Return K for each neighbour of each site, as ``graph.neighbours`` lists them."""
        return self.couplings[self.graph.edge_of]

    def at(self, beta: float) -> "PairwiseForm":
        """Return the model at another inverse temperature."""
        return replace(self, beta=float(beta))

    def clamp(self, site: int, state: int) -> "PairwiseForm":
        """Return the model with one site held in a state: the others have no weight."""
        fields = self.fields.copy()
        fields[site] = np.where(np.arange(self.n_states) == state, fields[site], -np.inf)
        return replace(self, fields=fields)

    def energies(self, states: np.ndarray) -> np.ndarray:
        """Return the energy of each row of states."""
        first, second = self.graph.edges.T
        total = np.full(len(states), self.offset)
        # In blocks of rows: the table of agreements has one entry for each row and edge.
        step = max(1, 2**22 // max(1, len(first)))
        for start in range(0, len(states), step):
            rows = states[start : start + step]
            total[start : start + step] -= (rows[:, first] == rows[:, second]) @ self.couplings
            total[start : start + step] -= np.take_along_axis(self.fields[None], rows[:, :, None], axis=2)[:, :, 0].sum(
                axis=1
            )
        return total

    def magnetisations(self, states: np.ndarray) -> np.ndarray:
        """Return the sum of the sites' values, for each row of states."""
        return self.values[states].sum(axis=1)
