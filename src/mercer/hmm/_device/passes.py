"""Passes over sequences on a device: probabilities, expected counts, best paths."""

from typing import Any

import numpy as np

from mercer._source.device.source import full_precision
from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.hmm._chain import Chain, ImpossibleSequenceError
from mercer.hmm._device.emissions import Rows
from mercer.hmm._device.scan import add_logs, take_finite_top
from mercer.hmm._device.steps import Cut, LogSteps, ScaledSteps, trace_paths
from mercer.hmm._passes import ChainSums
from mercer.hmm._sequences import Plan


class DevicePass:
    """A pass over the sequences of `plan`, whose rows are the :class:`DeviceSource` `source`."""

    def __init__(self, chain: Chain, plan: Plan, source: Any, subject: str) -> None:
        self.chain, self.plan, self.source, self.subject = chain, plan, source, subject
        self.placement, self.xp = source.placement, source.xp
        with full_precision(self.placement):
            self.rows = Rows(source.X, self.placement, chain.emission)
            self.scores = self.rows.score()
        self.cut = Cut(self.xp, plan.lengths, chain.n_states, self.placement.device)

    def tabulate(self, want: str) -> Any:
        """Return the log-likelihood (``"score"``), log densities of steps, or filtered or smoothed probabilities."""
        xp = self.xp
        with full_precision(self.placement):
            filtered, smoothed, logs, _ = self._pass(want == "smooth", False)
        if want == "score":
            return float(xp.sum(logs))
        table = {"density": logs, "filter": filtered, "smooth": smoothed}[want]
        return xp.astype(table, self.source.dtype, copy=False)

    def expect(self) -> ChainSums:
        """Return expected counts over all sequences, in NumPy."""
        with full_precision(self.placement):
            _, smoothed, logs, counts = self._pass(True, True)
            weights = self._step_weights()
            if weights is not None:
                smoothed, logs = smoothed * weights[:, None], logs * weights
            return self._collect(smoothed, counts, float(self.xp.sum(logs)))

    def find_paths(self) -> tuple[float, Array]:
        """Return the log probability of steps and best path, and the path, (n,)."""
        first, forward = self._take_logs()
        steps = LogSteps(self.cut, first, forward, self.scores, best=True)
        path = trace_paths(self.cut, steps.filter()[2])
        return float(self.xp.sum(self._score_path(path))), path

    def count_path(self, path: Array, with_transitions: bool = True) -> ChainSums:
        """Return the counts of given states, in NumPy; their log probability with that of the transitions or not."""
        xp, k = self.xp, self.chain.n_states
        weights = self._step_weights()
        states = xp.arange(k, dtype=path.dtype, device=self.placement.device)
        # One-hot rows of the given states serve as probabilities.
        shares = xp.astype(path[:, None] == states, self.scores.dtype)
        before, after = shares[:-1, :], shares[1:, :] * self._weigh_transitions()[1:, None]
        counts = xp.matrix_transpose(before) @ after
        steps = self._score_path(path) if with_transitions else self._take_states(self.scores, path)
        if weights is not None:
            shares, steps = shares * weights[:, None], steps * weights
        return self._collect(shares, counts, float(xp.sum(steps)))

    def _collect(self, shares: Array, counts: Array, total: float) -> ChainSums:
        xp = self.xp
        starts = self.placement.put(np.flatnonzero(self.cut.is_start))
        start = xp.sum(xp.take(shares, starts, axis=0), axis=0)
        start, counts = (to_numpy(part).astype(np.float64) for part in (start, counts))
        return ChainSums(start, counts, total, self.rows.sum(shares))

    def _take_logs(self) -> tuple[Array, Array]:
        """Return the logarithms of first states and transitions on the device."""
        k, (first, forward, _) = self.chain.n_states, self.chain.logs
        return self.placement.put(first[:k]), self.placement.put(np.ascontiguousarray(forward[:, :k]))

    def _step_weights(self) -> Array:
        """Return the weight of each step, or None where all are one."""
        if self.plan.weight is None:
            return None
        return self.placement.put(np.repeat(self.plan.weight, self.plan.lengths))

    def _weigh_transitions(self) -> Array:
        """Return the weight of the transition into each step: zero where a sequence begins."""
        weight = np.ones(self.cut.n)
        if self.plan.weight is not None:
            weight = np.repeat(self.plan.weight, self.plan.lengths)
        return self.placement.put(np.where(self.cut.is_start, 0.0, weight))

    def _take_states(self, table: Array, path: Array) -> Array:
        """Return the entry of the state of each step, (n,)."""
        return self.xp.take_along_axis(table, path[:, None], axis=1)[:, 0]

    def _score_path(self, path: Array) -> Array:
        """Return the log probability of each step and of the transition into it."""
        xp, (first, forward) = self.xp, self._take_logs()
        before = xp.concat([path[:1], path[:-1]])
        moves = xp.take(xp.reshape(forward, (-1,)), before * self.chain.n_states + path)
        begin = self.placement.put(self.cut.is_start)
        return self._take_states(self.scores, path) + xp.where(begin, xp.take(first, path), moves)

    def _pass(self, two_ways: bool, count: bool) -> tuple[Array, Array, Array, Array]:
        """Return filtered and smoothed probabilities, log densities of steps, and expected transitions."""
        xp, put = self.xp, self.placement.put
        initial, transition = put(self.chain.initial), put(self.chain.transition)
        # The largest log density of a step is taken off, so that densities are at most one.
        tops = take_finite_top(xp, self.scores)
        densities = xp.exp(self.scores - tops[:, None])
        steps = ScaledSteps(self.cut, initial, transition, densities)
        filtered, predicted, logs = steps.filter()
        # Underflow shows as a logarithm that is not finite: the pass is repeated in logarithms.
        valid = bool(xp.all(xp.isfinite(logs)))
        if not two_ways and valid:
            return filtered, None, logs + tops, None
        if valid:
            later = steps.look_back()
            # p(state, later steps) given the earlier ones, up to a factor of the step: its sum is that factor.
            joint = predicted * densities * later
            total = xp.sum(joint, axis=1)
            if bool(xp.all(total > 0)):
                counts = None
                if count:
                    # E[i -> j] = sum_t filtered_i A_ij b_j later_j / total.
                    pair = densities * later * (self._weigh_transitions() / total)[:, None]
                    counts = transition * (xp.matrix_transpose(filtered[:-1, :]) @ pair[1:, :])
                return filtered, joint / total[:, None], logs + tops, counts
        return self._pass_in_logs(two_ways, count)

    def _pass_in_logs(self, two_ways: bool, count: bool) -> tuple[Array, Array, Array, Array]:
        """Return what :meth:`_pass` does where probabilities leave the range of the type."""
        xp, (first, forward) = self.xp, self._take_logs()
        steps = LogSteps(self.cut, first, forward, self.scores, best=False)
        messages, logs, _ = steps.filter()
        if not bool(xp.all(xp.isfinite(logs))):
            self._refuse(to_numpy(xp.isfinite(logs)))
        filtered = xp.exp(messages)
        if not two_ways:
            return filtered, None, logs, None
        later = steps.look_back()
        joint = messages + later
        smoothed = xp.exp(joint - add_logs(xp, joint)[:, None])
        counts = None
        if count:
            ahead = self.scores + later
            weight = self._weigh_transitions()[1:, None]
            # log sum_ij of all pairs of a step, the same for each state before it.
            states = range(self.chain.n_states)
            pairs = [messages[:-1, state : state + 1] + forward[state, :] + ahead[1:, :] for state in states]
            total = add_logs(xp, xp.concat(pairs, axis=1))[:, None]
            total = xp.where(xp.isfinite(total), total, xp.zeros_like(total))
            counts = xp.stack([xp.sum(weight * xp.exp(pair - total), axis=0) for pair in pairs])
        return filtered, smoothed, logs, counts

    def _refuse(self, finite: Array) -> None:
        """Raise for the first step that has probability zero."""
        step = int(np.argmin(finite))
        ends = np.cumsum(self.plan.lengths)
        sequence = int(np.searchsorted(ends, step, side="right"))
        raise ImpossibleSequenceError(self.subject, sequence, step - int(ends[sequence] - self.plan.lengths[sequence]))
