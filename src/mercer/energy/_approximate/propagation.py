"""Belief propagation: messages along the edges of any graph, exact on forests, Bethe's approximation otherwise."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import entr, logsumexp, softmax

from mercer.energy._form import PairwiseForm


@dataclass(frozen=True, eq=False)
class BetheSolution:
    """A fixed point of belief propagation.

    Attributes
    ----------
    log_partition : float
        Bethe's estimate of log Z; exact on forests, neither an upper nor a lower bound elsewhere.
    marginals : ndarray of shape (n_sites, n_states)
    pair_probabilities : ndarray of shape (n_edges, n_states, n_states)
    mean_energy : float
    magnetisation : float
        The mean of a site.
    n_iter : int
    converged : bool
    residual : float
        The largest change of a log message in the last round.
    """

    log_partition: float
    marginals: np.ndarray
    pair_probabilities: np.ndarray
    mean_energy: float
    magnetisation: float
    n_iter: int
    converged: bool
    residual: float


def propagate_beliefs(
    form: PairwiseForm, start: np.ndarray, damping: float, tol: float, max_iter: int
) -> BetheSolution:
    """Send all messages at once until none changes.

    A message from i to j is the log of sum_a exp(beta (g_i[a] + K [a = b])) prod of the other messages to i, for each
    state b of j; a part `damping` of the old message is kept.
    """
    graph, q = form.graph, form.n_states
    first, second = graph.edges.T
    source, target = np.concatenate([first, second]), np.concatenate([second, first])
    m = len(first)
    # The message against the direction of message e is m places away.
    opposite = np.concatenate([np.arange(m, 2 * m), np.arange(m)])
    gather = sparse.csr_matrix((np.ones(2 * m), (target, np.arange(2 * m))), shape=(graph.n_sites, 2 * m))
    # exp(beta K) - 1 gives all states at once: sum_a w_a exp(beta K [a = b]) = sum_a w_a + w_b (exp(beta K) - 1).
    strength = np.expm1(np.tile(form.beta * form.couplings, 2))[:, None]
    own = form.beta * form.fields
    messages, residual, n_iter = start, np.inf if m else 0.0, 0
    while n_iter < max_iter and residual > tol:
        weights = softmax((own + gather @ messages)[source] - messages[opposite], axis=1)
        # Messages are shares of each other: their sum over states has no meaning and is taken off.
        updated = np.log1p(weights * strength)
        updated -= logsumexp(updated, axis=1, keepdims=True)
        updated = (1.0 - damping) * updated + damping * messages
        residual = float(np.max(np.abs(updated - messages)))
        messages, n_iter = updated, n_iter + 1
    total = own + gather @ messages
    marginals = softmax(total, axis=1)
    sent = total[first] - messages[opposite[:m]], total[second] - messages[:m]
    joint = sent[0][:, :, None] + sent[1][:, None, :] + (form.beta * form.couplings)[:, None, None] * np.eye(q)
    joint = np.exp(joint - logsumexp(joint, axis=(1, 2), keepdims=True))
    agreement = np.trace(joint, axis1=1, axis2=2)
    energy = form.offset - float(agreement @ form.couplings) - float(np.sum(marginals * form.fields))
    # Bethe's entropy: that of all pairs, less what sites with several neighbours count too often.
    surplus = 1.0 - np.diff(graph.starts)
    entropy = float(np.sum(entr(joint))) + float(surplus @ entr(marginals).sum(axis=1))
    magnetisation = float(np.mean(marginals @ form.values))
    return BetheSolution(
        entropy - form.beta * energy, marginals, joint, energy, magnetisation, n_iter, residual <= tol, residual
    )
