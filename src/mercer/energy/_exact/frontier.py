"""Exact sums on any graph, by transfer of a table over a frontier of sites: O(n q^(width + 1)).

Sites are added in some order; a site is summed out as soon as all its neighbours are there. On a strip the frontier is
one row, and adding a row is one product with the transfer matrix, done site by site.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mercer._native.graph import frontier_tables
from mercer._source.memory import require_memory
from mercer.energy._exact.plan import Plan, Step
from mercer.energy._form import PairwiseForm


class FrontierSums:
    """The tables of a model along a plan."""

    method = "transfer"

    def __init__(self, form: PairwiseForm, plan: Plan) -> None:
        self.form = form
        self.plan = plan
        self.width = self.plan.width
        largest = float(form.n_states) ** self.width
        cure = "sample the model (simulate) or bound it (mean_field, propagate)"
        # Two tables of five channels are held at a time, the one before a step and the one after.
        require_memory("solve", 80.0 * largest, f"tables over {self.width} sites of {form.n_states} states", cure)

    def _strides(self, step: Step) -> np.ndarray:
        """Return the strides of the neighbours' digits, before the site is added."""
        q = self.form.n_states
        return np.array([q ** (step.size - 2 - place) for place in step.neighbours], dtype=np.int64)

    def _add(self, tables: np.ndarray, step: Step) -> np.ndarray:
        form = self.form
        out = np.empty((len(tables), tables.shape[1] * form.n_states))
        frontier_tables.add_site(
            tables,
            self._strides(step),
            form.couplings[list(step.edges)],
            form.fields[step.site],
            form.values,
            form.beta,
            out,
        )
        return out

    def _removals(self, step: Step) -> Iterator[tuple[int, int]]:
        """Yield the sites that a step sums out, with the strides of their digits."""
        q, size = self.form.n_states, step.size
        for site, place in step.removed:
            size -= 1
            yield site, q ** (size - place)

    def _sum(self, tables: np.ndarray, stride: int) -> np.ndarray:
        out = np.empty((len(tables), tables.shape[1] // self.form.n_states))
        frontier_tables.sum_site(tables, stride, self.form.n_states, out)
        return out

    def sum_moments(self) -> tuple[float, float, float, float, float]:
        """Return log Z without the offset, mean and variance of the energy, mean and variance of the magnetisation."""
        tables = np.zeros((5, 1))
        for step in self.plan.steps:
            tables = self._add(tables, step)
            for _, stride in self._removals(step):
                tables = self._sum(tables, stride)
        first, second, third, fourth, fifth = tables[:, 0].tolist()
        return first, second, third, fourth, fifth

    @cached_property
    def _forward(self) -> tuple[list[np.ndarray], float]:
        """Return the table after each site was added, and log Z without the offset."""
        q = self.form.n_states
        # One table of q^size entries is kept for each step.
        n_bytes = 8.0 * sum(float(q) ** step.size for step in self.plan.steps)
        require_memory(
            "solve", n_bytes, f"tables of {len(self.plan.steps)} steps", "ask for sums alone (marginals=False)"
        )
        table, kept = np.zeros((1, 1)), []
        for step in self.plan.steps:
            table = self._add(table, step)
            kept.append(table)
            for _, stride in self._removals(step):
                table = self._sum(table, stride)
        return kept, float(table[0, 0])

    def marginalise(self) -> tuple[np.ndarray, np.ndarray]:
        """Return marginals (n, q), and joint probabilities (m, q, q) in the order of the edges."""
        form, q = self.form, self.form.n_states
        kept, log_partition = self._forward
        marginals, joint = np.empty(form.fields.shape), np.empty((len(form.couplings), q, q))
        back = np.zeros((1, 1))
        for step, table in zip(reversed(self.plan.steps), reversed(kept), strict=True):
            for _, stride in reversed(list(self._removals(step))):
                # What follows does not depend on a site that is already summed out.
                back = np.repeat(back.reshape(-1, 1, stride), q, axis=1).reshape(1, -1)
            posterior = np.exp(table[0] + back[0] - log_partition)
            marginals[step.site] = posterior.reshape(-1, q).sum(axis=0)
            pairs = np.zeros((len(step.edges), q, q))
            frontier_tables.sum_pairs(posterior, self._strides(step), q, pairs)
            for edge, pair in zip(step.edges, pairs, strict=True):
                # The neighbour comes first in `pairs`; the smaller site comes first in the edge.
                joint[edge] = pair.T if form.graph.edges[edge, 0] == step.site else pair
            gains = self._add(np.zeros((1, back.shape[1] // q)), step)
            back = self._sum(gains + back, 1)
        return marginals, joint

    def draw(self, n: int, random: np.random.Generator) -> np.ndarray:
        """Return `n` independent states, drawn from the last site that was summed out to the first."""
        q = self.form.n_states
        kept, _ = self._forward
        states = np.empty((n, self.form.graph.n_sites), dtype=np.int16)
        entry = np.zeros(n, dtype=np.int64)
        for step, table in zip(reversed(self.plan.steps), reversed(kept), strict=True):
            tables, removals = [table], list(self._removals(step))
            for _, stride in removals[:-1]:
                tables.append(self._sum(tables[-1], stride))
            # A step that sums out nothing has one table too many, which no removal asks for.
            for (site, stride), weights in zip(reversed(removals), reversed(tables[: len(removals)]), strict=True):
                high, low = np.divmod(entry, stride)
                logs = weights[0][(high * q * stride + low)[:, None] + stride * np.arange(q)]
                shares = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
                drawn = np.sum(random.random((n, 1)) * shares[:, -1:] >= shares[:, :-1], axis=1)
                states[:, site] = drawn
                entry = (high * q + drawn) * stride + low
            # The site that this step added is the last digit.
            entry //= q
        return states

    def find_best(self) -> tuple[np.ndarray, float]:
        """Return a state of least energy, and that energy without the offset."""
        # At beta = 1 the log weight of a state is -E, and a maximum takes the place of the sum.
        q, form = self.form.n_states, self.form.at(1.0)
        sums = FrontierSums(form, self.plan)
        table = np.zeros((1, 1))
        # Two bytes for each entry of each table that is reduced.
        n_bytes = 2.0 * sum(float(q) ** step.size for step in self.plan.steps)
        require_memory("ground_state", n_bytes, "the best state of each site", 'take method="anneal"')
        kept = []
        for step in self.plan.steps:
            table = sums._add(table, step)
            choices = []
            for site, stride in self._removals(step):
                out = np.empty((1, table.shape[1] // q))
                best = np.empty(out.shape[1], dtype=np.int16)
                frontier_tables.choose_states(table[0], stride, q, out[0], best)
                choices.append((site, stride, best))
                table = out
            kept.append(choices)
        states, entry = np.empty(form.graph.n_sites, dtype=np.int16), 0
        # Back from the last site: the entry of each table is put together from the states chosen later.
        for choices in reversed(kept):
            for site, stride, best in reversed(choices):
                # The digit of the site is put back where it was summed out: entry = high q stride + state stride + low.
                high, low = divmod(entry, stride)
                states[site] = best[entry]
                entry = (high * q + int(best[entry])) * stride + low
            entry //= q
        return states, -float(table[0, 0])
