"""The arrays of one propagation: a case of evidence with its messages, in the form that native code works on."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from mercer._native.graph import junction_passes as passes
from mercer._source.threads import available_threads, run_numbered
from mercer.bayesnet._inference.plan import Plan


def load_tree(plan: Plan) -> Any:
    """Return the native form of a plan."""
    return passes.Tree(*plan.arrays) if plan.arrays else None


class Workspace:
    """One case of evidence on a compiled tree: its messages, and what is known to be out of date.

    Parameters
    ----------
    plan : Plan
    tree : the native form of the plan, shared by all workspaces
    tables : (p,) array
        The conditional tables, one after the other; copied, so that messages and tables lie in one array.
    best : bool
        Whether to keep room for the cells of most probable explanations.
    """

    def __init__(self, plan: Plan, tree: Any, tables: np.ndarray, best: bool = False) -> None:
        n, k, n_states = len(plan.counts), len(plan.cliques), plan.first_state[-1]
        self.plan, self.tree = plan, tree
        maps, slots, axes, rows, cells, sums = plan.room
        self.work = np.empty(len(tables) + 2 * n_states + 2 * plan.n_messages + sums)
        self.work[: len(tables)] = tables
        self.likelihoods = self.work[len(tables) : len(tables) + n_states]
        self.marginals = self.work[len(tables) + n_states : len(tables) + 2 * n_states]
        ups = len(tables) + 2 * n_states
        downs = ups + plan.n_messages
        self.sections = (len(tables), len(tables) + n_states, ups, downs, downs + plan.n_messages)
        self.code = np.full(n, -1, dtype=np.intp)
        self.soft = np.zeros(n, dtype=np.intp)
        self.length = np.empty(n, dtype=np.intp)
        self.size = np.empty(k, dtype=np.intp)
        touched, self.unit, counted = (np.zeros(k, dtype=np.intp) for _ in range(3))
        self.scale = np.ones(k)
        self.log_scale = 0.0
        self.best = np.empty(plan.n_messages if best else 0, dtype=np.longlong)
        self.case = passes.Case(
            (self.code, self.soft),
            (self.length, self.size, touched, self.unit, counted),
            (self.work, self.scale, self.best),
            (
                np.empty(maps, dtype=np.intc),
                np.empty((slots, 7), dtype=np.intp),
                np.empty(axes, dtype=np.intp),
                np.empty((plan.n_chunks, slots, 7), dtype=np.intp),
                np.empty((plan.n_chunks, rows, cells)),
            ),
            self.sections,
        )

    def enter(self, codes: Mapping[int, int], likelihoods: Mapping[int, np.ndarray]) -> None:
        """Replace the evidence: observed states and likelihoods by variable number."""
        self.code[:] = -1
        self.soft[:] = 0
        for v, code in codes.items():
            self.code[v] = code
        self.log_scale = 0.0
        for v, values in likelihoods.items():
            self.soft[v] = 1
            start = self.plan.first_state[v]
            # Products of likelihoods such as 1e-200 would underflow: the largest becomes one, its logarithm is kept.
            largest = float(values.max())
            self.likelihoods[start : start + len(values)] = values / largest
            self.log_scale += math.log(largest)
        passes.lay_out(self.tree, self.case)

    def collect(self, stale: np.ndarray) -> float:
        """Send messages to the roots from the stale cliques; return the log-probability of the evidence."""
        threads = available_threads() if self.plan.large else 1
        if threads == 1:
            passes.collect(self.tree, self.case, stale, 0, len(stale))
        else:
            self._collect_shared(stale, threads)
        return float(passes.measure_evidence(self.case)) + self.log_scale

    def distribute(self, chosen: np.ndarray) -> None:
        """Send messages to the children of the chosen cliques, and add up the marginals that are read from them."""
        threads = available_threads() if self.plan.large else 1
        if threads == 1:
            passes.distribute(self.tree, self.case, chosen, 0, len(chosen))
            return
        end = len(chosen)
        # Large cliques are shared by threads; runs of small ones between them are passed by one.
        for c in reversed(self.plan.large):
            passes.distribute(self.tree, self.case, chosen, c + 1, end)
            if chosen[c]:
                self._share_clique(c, True, threads)
            end = c
        passes.distribute(self.tree, self.case, chosen, 0, end)

    def _collect_shared(self, stale: np.ndarray, threads: int) -> None:
        """Send messages to the roots, with threads over the chunks of large cliques."""
        begin = 0
        for c in (*self.plan.large, len(stale)):
            passes.collect(self.tree, self.case, stale, begin, c)
            # A scale of zero: the evidence is impossible.
            if not self.scale[begin:c].all():
                return
            if c < len(stale) and stale[c]:
                self.scale[c] = 1.0
                if not self.unit[c]:
                    self._share_clique(c, False, threads)
            begin = c + 1

    def _share_clique(self, c: int, down: bool, threads: int) -> None:
        """Compute the messages of one clique, with threads over its chunks; the bits are those of one thread."""
        n_chunks = passes.open_pass(self.tree, self.case, c, down)
        run_numbered(partial(passes.run_chunk, self.case), n_chunks, threads)
        passes.close_pass(self.tree, self.case, c, down)

    def read_marginals(self) -> np.ndarray:
        """Return the distributions of all variables side by side; those whose homes are not up to date mean nothing."""
        values = np.empty(self.plan.first_state[-1])
        passes.write_marginals(self.tree, self.case, values)
        return values

    def read_marginal(self, v: int) -> np.ndarray:
        """Return the distribution of a variable, whose home must be up to date."""
        return self.read_marginals()[self.plan.first_state[v] : self.plan.first_state[v + 1]]

    def read_belief(self, clique: int) -> np.ndarray:
        """Return the normalised table of a clique, with axes of length one for observed variables."""
        shape = [int(self.length[v]) for v in self.plan.cliques[clique]]
        belief = np.empty(int(np.prod(shape)))
        passes.write_belief(self.tree, self.case, clique, belief)
        return (belief / belief.sum()).reshape(-1)

    def explain(self) -> tuple[np.ndarray, float]:
        """Return the most probable states of all variables and the logarithm of their joint probability."""
        states = np.zeros(len(self.code), dtype=np.intp)
        self.scale[:] = 1.0
        passes.explain(self.tree, self.case, states)
        return states, float(passes.measure_evidence(self.case)) + self.log_scale
