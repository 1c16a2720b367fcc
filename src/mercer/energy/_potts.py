"""Potts models: sites with any number of states."""

from typing import Any

import numpy as np

from mercer._base.parameter import Integer, check_parameters
from mercer.energy._form import PairwiseForm
from mercer.energy._model import PairwiseModel
from mercer.errors import DataError


class PottsModel(PairwiseModel):
    """The Potts model on any graph.

    Each site has one of q states, 0 to q - 1. A state of the system has the energy and the probability

        E(a) = -sum over edges of J_ij [a_i = a_j] - sum over sites of h_i[a_i],    P(a) = exp(-beta E(a)) / Z.

    Parameters
    ----------
    edges : array-like of shape (n_edges, 2)
        Pairs of sites. Couplings of a pair that is listed twice are added up.
    couplings : float or array-like of shape (n_edges,), default=1
        J.
    fields : float or array-like of shape (n_states,) or (n_sites, n_states), default=0
        h.
    n_states : int, default=3
        q, 2 to 1000.
    beta : float, default=1
        Inverse temperature, in [0, inf).
    n_sites : int or None, default=None
        None takes the largest number in `edges`, plus one.

    Attributes
    ----------
    edges, couplings, fields, n_states, beta, n_sites
        As given; edges are sorted, with the smaller site first.
    shape : tuple of int or None
        The sides of a lattice that :meth:`lattice`, :meth:`chain` or :meth:`ring` made.

    Notes
    -----
    The magnetisation of a site is 1 in state 0 and -1 / (q - 1) in the others. With two states, the Potts model of
    coupling 2 J is the Ising model of coupling J, up to a constant energy.

    References
    ----------
    Potts (1952), Some generalized order-disorder transformations; Wu (1982), The Potts model.

    Examples
    --------
    A chain of n sites has Z = q (q - 1 + exp(beta J))^(n - 1):

    >>> import numpy as np
    >>> from mercer.energy import PottsModel
    >>> chain = PottsModel.chain(50, n_states=4, beta=0.8)
    >>> bool(np.isclose(chain.solve().log_partition, np.log(4) + 49 * np.log(3 + np.exp(0.8))))
    True
    """

    def __init__(
        self,
        edges: Any,
        couplings: Any = 1.0,
        fields: Any = 0.0,
        *,
        n_states: int = 3,
        beta: float = 1.0,
        n_sites: int | None = None,
    ) -> None:
        check_parameters("PottsModel", {"n_states": Integer(2, 1000)}, {"n_states": n_states})
        self.n_states = int(n_states)
        self._set_graph(edges, couplings, beta, n_sites, None)
        self.fields = self._read_numbers("fields", fields, (self.n_sites, self.n_states))

    def _make_form(self) -> PairwiseForm:
        q = self.n_states
        values = np.where(np.arange(q) == 0, 1.0, -1.0 / (q - 1))
        return PairwiseForm(self._graph, self.couplings, self.fields, values, 0.0, self.beta)

    def _encode(self, states: Any) -> np.ndarray:
        rows = self._check_shape(states)
        if not np.issubdtype(rows.dtype, np.number) or not np.all(
            (rows >= 0) & (rows < self.n_states) & (rows % 1 == 0)
        ):
            raise DataError(f"PottsModel: states must be integers from 0 to {self.n_states - 1}; got others.")
        return rows.astype(np.int16)

    def _decode(self, states: np.ndarray) -> np.ndarray:
        return states.astype(np.int16)

    def _measure_order(self, states: np.ndarray, magnetisations: np.ndarray) -> np.ndarray:
        q = self.n_states
        shares = np.stack([np.mean(states == state, axis=1) for state in range(q)])
        return (q * shares.max(axis=0) - 1.0) / (q - 1.0)
