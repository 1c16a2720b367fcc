"""The mean field: the product of single-site distributions that is nearest to the Gibbs distribution."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import entr, softmax

from mercer.energy._form import PairwiseForm


@dataclass(frozen=True, eq=False)
class MeanFieldSolution:
    """A product distribution Q and the bound that it proves.

    Attributes
    ----------
    log_partition_bound : float
        H(Q) - beta <E>_Q, at most log Z for certain (Gibbs' inequality).
    marginals : ndarray of shape (n_sites, n_states)
    mean_energy, entropy : float
        Under Q.
    magnetisation : float
        The mean of a site.
    n_iter : int
        Sweeps.
    converged : bool
    residual : float
        The largest change of a probability in the last sweep.
    bounds : ndarray of shape (n_iter,)
        The bound after each sweep; it never falls.
    """

    log_partition_bound: float
    marginals: np.ndarray
    mean_energy: float
    entropy: float
    magnetisation: float
    n_iter: int
    converged: bool
    residual: float
    bounds: np.ndarray


def fit_mean_field(form: PairwiseForm, start: np.ndarray, tol: float, max_iter: int) -> MeanFieldSolution:
    """Maximise the bound one colour of sites at a time.

    No two sites of a colour are neighbours, so that all of a colour can be updated at once and the bound still rises.
    """
    graph = form.graph
    pull = sparse.csr_matrix((form.slot_couplings, graph.neighbours, graph.starts), shape=(graph.n_sites,) * 2)
    rows = [(sites, pull[sites]) for sites in graph.colours]
    bounds: list[float] = []
    shares, residual = start.copy(), np.inf
    while len(bounds) < max_iter and residual > tol:
        residual = 0.0
        for sites, near in rows:
            # The maximum of the bound over one site: q_i(a) proportional to exp(beta (g_i(a) + sum_j K_ij q_j(a))).
            updated = softmax(form.beta * (form.fields[sites] + near @ shares), axis=1)
            residual = max(residual, float(np.max(np.abs(updated - shares[sites]), initial=0.0)))
            shares[sites] = updated
        bounds.append(_measure_bound(form, shares)[0])
    bound, energy, entropy = _measure_bound(form, shares)
    magnetisation = float(np.mean(shares @ form.values))
    trace = np.array(bounds)
    return MeanFieldSolution(
        bound, shares, energy, entropy, magnetisation, len(bounds), residual <= tol, residual, trace
    )


def _measure_bound(form: PairwiseForm, shares: np.ndarray) -> tuple[float, float, float]:
    """Return the bound, the mean energy and the entropy of a product distribution."""
    first, second = form.graph.edges.T
    agreement = np.sum(shares[first] * shares[second], axis=1)
    energy = form.offset - float(agreement @ form.couplings) - float(np.sum(shares * form.fields))
    entropy = float(np.sum(entr(shares)))
    return entropy - form.beta * energy, energy, entropy
