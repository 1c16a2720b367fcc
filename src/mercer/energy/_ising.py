"""Ising models: spins of -1 and 1."""

from typing import Any

import numpy as np

from mercer.energy._form import PairwiseForm
from mercer.energy._model import PairwiseModel
from mercer.errors import DataError
from mercer.optim import PairwiseEnergy


class IsingModel(PairwiseModel):
    """The Ising model on any graph.

    Spins s_i are -1 or 1. A state has the energy and the probability

        E(s) = -sum over edges of J_ij s_i s_j - sum over sites of h_i s_i,    P(s) = exp(-beta E(s)) / Z.

    Parameters
    ----------
    edges : array-like of shape (n_edges, 2)
        Pairs of sites. Couplings of a pair that is listed twice are added up.
    couplings : float or array-like of shape (n_edges,), default=1
        J; positive couplings want spins alike.
    fields : float or array-like of shape (n_sites,), default=0
        h.
    beta : float, default=1
        Inverse temperature, in [0, inf).
    n_sites : int or None, default=None
        None takes the largest number in `edges`, plus one.

    Attributes
    ----------
    edges, couplings, fields, beta, n_sites
        As given; edges are sorted, with the smaller site first.
    shape : tuple of int or None
        The sides of a lattice that :meth:`lattice`, :meth:`chain` or :meth:`ring` made.

    Notes
    -----
    :meth:`solve` is exact: O(n) on forests, O(n 2^(w + 1)) with a frontier of w sites on other graphs. A strip of 12 x
    1000 spins takes about a second. A sweep of :meth:`simulate` costs some 20 ns a spin.

    References
    ----------
    Ising (1925), Beitrag zur Theorie des Ferromagnetismus; Kramers and Wannier (1941), Statistics of the
    two-dimensional ferromagnet; Swendsen and Wang (1987), Nonuniversal critical dynamics in Monte Carlo simulations;
    Wolff (1989), Collective Monte Carlo updating for spin systems.

    Examples
    --------
    A 6 x 6 torus below its critical temperature, solved exactly, simulated, and bounded:

    >>> from mercer.energy import IsingModel
    >>> model = IsingModel.lattice((6, 6), beta=0.5)
    >>> exact = model.solve()
    >>> chain = model.simulate(4000, method="swendsen-wang", random_state=0)
    >>> bool(abs(chain.energy.mean - exact.mean_energy) < 4 * chain.energy.standard_error)
    True
    >>> model.mean_field().log_partition_bound < exact.log_partition
    True
    """

    n_states = 2

    def __init__(
        self, edges: Any, couplings: Any = 1.0, fields: Any = 0.0, *, beta: float = 1.0, n_sites: int | None = None
    ) -> None:
        self._set_graph(edges, couplings, beta, n_sites, None)
        self.fields = self._read_numbers("fields", fields, (self.n_sites,))

    def _make_form(self) -> PairwiseForm:
        fields = np.stack([-self.fields, self.fields], axis=1)
        offset = float(self.couplings.sum())
        return PairwiseForm(self._graph, 2.0 * self.couplings, fields, np.array([-1.0, 1.0]), offset, self.beta)

    def _encode(self, states: Any) -> np.ndarray:
        rows = self._check_shape(states)
        if not np.all((rows == 1) | (rows == -1)):
            raise DataError(f"IsingModel: spins must be -1 or 1; got {rows[(rows != 1) & (rows != -1)][0]}.")
        return (rows > 0).astype(np.int16)

    def _decode(self, states: np.ndarray) -> np.ndarray:
        return (2 * states - 1).astype(np.int8)

    def _correlate(self, agreement: np.ndarray) -> np.ndarray:
        return 2.0 * agreement - 1.0

    def _measure_order(self, states: np.ndarray, magnetisations: np.ndarray) -> np.ndarray:
        return np.abs(magnetisations)

    def flip_change(self, state: Any, site: int) -> float:
        """Compute the change of energy when one spin is turned over: 2 s_i (h_i + sum_j J_ij s_j)."""
        spins = self._check_shape(state)[0]
        return self.energy_change(spins, site, -int(spins[site]))

    def to_pairwise_energy(self) -> PairwiseEnergy:
        """Return the energy as :func:`mercer.optim.anneal_mean_field` takes it, with a dense matrix of couplings."""
        matrix = np.zeros((self.n_sites, self.n_sites))
        matrix[self.edges[:, 0], self.edges[:, 1]] = self.couplings
        return PairwiseEnergy(matrix + matrix.T, self.fields)
