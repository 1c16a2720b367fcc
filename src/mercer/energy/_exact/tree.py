"""Exact sums on a forest, by messages from the leaves to the roots and back: O(n q^2)."""

from functools import cached_property

import numpy as np

from mercer._native.graph import tree_tables
from mercer._source.memory import require_memory
from mercer.energy._form import PairwiseForm

# Samples are drawn in runs of about this many random numbers: a run takes some 20 ms.
_RUN = 2**20


class TreeSums:
    """The messages of a model on a forest."""

    method = "tree"
    # A message is a sum over one site for each state of another.
    width = 2

    def __init__(self, form: PairwiseForm) -> None:
        self.form = form
        graph = form.graph
        self.order, self.parent = graph.forest
        self.couplings = np.zeros(graph.n_sites)
        self.edge = np.full(graph.n_sites, -1)
        children = np.flatnonzero(self.parent >= 0)
        # On a forest each edge joins a site with its parent; its number stands in the adjacency matrix, plus one.
        numbers = np.asarray(graph.adjacency[children, self.parent[children]]).ravel().astype(np.int64) - 1
        self.edge[children], self.couplings[children] = numbers, form.couplings[numbers]

    @cached_property
    def _collected(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Return tables, messages, and the log weight that both leave out."""
        form = self.form
        tables = np.zeros((form.graph.n_sites, form.n_states, 5))
        tables[:, :, 0] = form.beta * form.fields
        # A state that is excluded has no weight; its energy must not turn sums into NaN.
        tables[:, :, 1] = np.where(np.isfinite(form.fields), -form.fields, 0.0)
        tables[:, :, 3] = form.values
        messages = np.zeros((form.graph.n_sites, form.n_states))
        taken = tree_tables.collect_sums(
            self.order, self.parent, self.couplings, form.beta, tables, messages, np.empty(5)
        )
        return tables, messages, taken

    @property
    def _weights(self) -> np.ndarray:
        return np.ascontiguousarray(self._collected[0][:, :, 0])

    @property
    def _pulls(self) -> np.ndarray:
        return self.form.beta * self.couplings

    def sum_moments(self) -> tuple[float, float, float, float, float]:
        """Return log Z without the offset, mean and variance of the energy, mean and variance of the magnetisation."""
        roots = self._collected[0][self.parent < 0]
        most = roots[:, :, 0].max(axis=1)
        logs = most + np.log(np.exp(roots[:, :, 0] - most[:, None]).sum(axis=1))
        shares = np.exp(roots[:, :, 0] - logs[:, None])
        results = [float(logs.sum()) + self._collected[2]]
        for channel in (1, 3):
            means = np.sum(shares * roots[:, :, channel], axis=1)
            spread = shares * (roots[:, :, channel + 1] + (roots[:, :, channel] - means[:, None]) ** 2)
            # Trees of a forest are independent: means and variances add up.
            results += [float(means.sum()), float(spread.sum())]
        return results[0], results[1], results[2], results[3], results[4]

    def marginalise(self) -> tuple[np.ndarray, np.ndarray]:
        """Return marginals (n, q), and joint probabilities (m, q, q) in the order of the edges."""
        n, q = self.form.fields.shape
        marginals, pairs = np.empty((n, q)), np.zeros((n, q, q))
        tree_tables.distribute_sums(
            self.order, self.parent, self._pulls, self._weights, self._collected[1], marginals, pairs
        )
        joint = np.empty((len(self.form.couplings), q, q))
        below = np.flatnonzero(self.parent >= 0)
        # Edges have the smaller site first; `pairs` have the parent first.
        turned = self.parent[below] > below
        joint[self.edge[below[~turned]]] = pairs[below[~turned]]
        joint[self.edge[below[turned]]] = pairs[below[turned]].transpose(0, 2, 1)
        return marginals, joint

    def draw(self, n: int, random: np.random.Generator) -> np.ndarray:
        """Return `n` independent states."""
        sites = self.form.graph.n_sites
        require_memory("sample", 2.0 * n * sites, f"{n} states of {sites} sites", "draw fewer")
        states = np.empty((n, sites), dtype=np.int16)
        weights, pulls = self._weights, self._pulls
        # States in one native call, so that it lasts some milliseconds.
        step = max(1, _RUN // sites)
        for start in range(0, n, step):
            rows = states[start : start + step]
            tree_tables.draw_forest(self.order, self.parent, pulls, weights, random.random(rows.shape), rows)
        return states

    def find_best(self) -> tuple[np.ndarray, float]:
        """Return a state of least energy, and that energy without the offset."""
        n, q = self.form.fields.shape
        states = np.empty(n, dtype=np.int16)
        gain = tree_tables.collect_best(
            self.order, self.parent, self.couplings, self.form.fields.copy(), np.empty((n, q), dtype=np.int16), states
        )
        return states, -gain
