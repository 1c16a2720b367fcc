"""Passes over sequences on a device: probabilities, expected counts, best paths."""

from math import isqrt
from typing import Any

import numpy as np

from mercer._source.device.source import full_precision
from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.hmm._chain import Chain, ImpossibleSequenceError
from mercer.hmm._device.emissions import Rows
from mercer.hmm._device.scan import LogElements, ScaledElements, add_logs, divide_safely, scan_elements, take_finite_top
from mercer.hmm._passes import ChainSums
from mercer.hmm._sequences import Plan

# Most steps of a chunk. Each step of all chunks is one array operation, so that fewer steps mean fewer launches, and
# more chunks mean more matrices: T k^2 / steps numbers.
_MOST_STEPS = 256


class Cut:
    """The chunks of `n` steps: tables (n, k) are folded to (chunks, steps, k).

    Steps that fill the last chunk up form a sequence of their own with densities of one, which changes no message.
    """

    def __init__(self, xp: Any, lengths: Array, n_states: int, device: Any) -> None:
        self.xp, self.n = xp, int(lengths.sum())
        # At least as many steps as states, so that the matrices of all chunks take no more memory than a table.
        self.steps = max(n_states, min(_MOST_STEPS, isqrt(self.n - 1) + 1))
        self.chunks = -(-self.n // self.steps)
        starts = np.zeros(self.chunks * self.steps, dtype=bool)
        starts[np.concatenate([[0], np.cumsum(lengths)[:-1]])] = True
        self.is_start = starts[: self.n].copy()
        starts[self.n : self.n + 1] = True
        folded: Array = starts.reshape(self.chunks, self.steps)
        # Whether a sequence begins at this step of any chunk; known on the host, it saves operations.
        self.begins: Array = folded.any(axis=0)
        self.starts = xp.asarray(folded, device=device)

    def fold(self, table: Array, fill: float) -> Array:
        """Return a table (n, k) chunk by chunk; missing steps hold `fill`."""
        xp, k = self.xp, table.shape[1]
        padding = self.chunks * self.steps - self.n
        if padding:
            rest = xp.full((padding, k), fill, dtype=table.dtype, device=table.device)
            table = xp.concat([table, rest])
        return xp.reshape(table, (self.chunks, self.steps, k))

    def unfold(self, parts: list[Array]) -> Array:
        """Return a table (n, ...) from the (chunks, ...) values of each step of the chunks."""
        table = self.xp.stack(parts, axis=1)
        return self.xp.reshape(table, (self.chunks * self.steps, *table.shape[2:]))[: self.n, ...]

    def choose(self, step: int, at_start: Array, otherwise: Array) -> Array:
        """Return `at_start` for the chunks whose `step` begins a sequence, and `otherwise` for the others."""
        if not self.begins[step]:
            return otherwise
        chosen = self.xp.reshape(self.starts[:, step], (-1,) + (1,) * (otherwise.ndim - 1))
        return self.xp.where(chosen, at_start, otherwise)


class ScaledSteps:
    """Messages in probabilities; `densities` (n, k) are those of the steps, each row divided by its maximum."""

    def __init__(self, cut: Cut, initial: Array, transition: Array, densities: Array) -> None:
        self.cut, self.xp, self.initial, self.transition = cut, cut.xp, initial, transition
        self.densities = cut.fold(densities, 1.0)
        self.kind = ScaledElements(cut.xp)
        k = initial.shape[0]
        self.equal = cut.xp.ones((1, k), dtype=initial.dtype, device=initial.device)
        self.elements = self._multiply() if cut.chunks > 1 else None

    def _multiply(self) -> Any:
        """Return the product of the steps of each chunk."""
        xp = self.xp
        rows, logs = self.kind.make_identity((self.transition, None), self.cut.chunks)
        for step in range(self.cut.steps):
            ahead = self.cut.choose(step, self.initial, rows @ self.transition)
            joint = ahead * self.densities[:, step, None, :]
            rows, total = divide_safely(xp, joint, xp.sum(joint, axis=-1))
            logs = logs + total
        return rows, logs

    def filter(self) -> tuple[Array, Array, Array]:
        """Return filtered and predicted probabilities, (n, k), and the logarithm of the probability of each step."""
        xp, k = self.xp, self.initial.shape[0]
        # Without chunks in front the vector is not used: the first step of a sequence begins anew.
        vector = self.equal / k
        if self.elements is not None:
            vector = scan_elements(self.kind, self.elements, vector)
        filtered, predicted, scale = [], [], []
        for step in range(self.cut.steps):
            # The first step of a sequence takes the initial distribution in place of the prediction.
            ahead = self.cut.choose(step, self.initial, vector @ self.transition)
            joint = ahead * self.densities[:, step, :]
            vector, total = divide_safely(xp, joint, xp.sum(joint, axis=-1))
            filtered.append(vector)
            predicted.append(ahead)
            scale.append(total)
        return self.cut.unfold(filtered), self.cut.unfold(predicted), self.cut.unfold(scale)

    def look_back(self) -> Array:
        """Return backward messages (n, k): the probability of the later steps given each state, up to a factor."""
        xp, vector = self.xp, self.equal
        if self.elements is not None:
            vector = scan_elements(self.kind, self.elements, vector, backward=True)
        turned = xp.matrix_transpose(self.transition)
        messages = [vector] * self.cut.steps
        for step in range(self.cut.steps - 1, -1, -1):
            messages[step] = vector
            joint = self.cut.choose(step, self.equal, (vector * self.densities[:, step, :]) @ turned)
            # Messages are divided by their largest entry; a factor of a step cancels later.
            vector = divide_safely(xp, joint, xp.max(joint, axis=-1))[0]
        return self.cut.unfold(messages)


class LogSteps:
    """Messages in logarithms; sums are maxima if `best`, for best paths. `scores` (n, k) are log densities."""

    def __init__(self, cut: Cut, initial: Array, transition: Array, scores: Array, best: bool) -> None:
        self.cut, self.xp, self.initial, self.transition = cut, cut.xp, initial, transition
        xp, self.best = cut.xp, best
        self.add = (lambda table: xp.max(table, axis=-1)) if best else (lambda table: add_logs(xp, table))
        self.scores = cut.fold(scores, 0.0)
        self.kind = LogElements(xp, self.add)
        self.equal = xp.zeros((1, initial.shape[0]), dtype=initial.dtype, device=initial.device)
        self.elements = self._multiply() if cut.chunks > 1 else None

    def _multiply(self) -> Any:
        """Return the product of the steps of each chunk."""
        (rows,) = self.kind.make_identity((self.transition,), self.cut.chunks)
        for step in range(self.cut.steps):
            ahead = self.kind.multiply(rows, self.transition[None, :, :])
            ahead = self.cut.choose(step, self.add(rows)[..., None] + self.initial, ahead)
            rows = ahead + self.scores[:, step, None, :]
        return (rows,)

    def filter(self) -> tuple[Array, Array, list[Array]]:
        """Return log messages whose sum is zero, (n, k), what was subtracted, (n,), and the best states before.

        The best states before each step of the chunks, (chunks, k), are filled in if sums are maxima; the best state at
        the last step of the last chunk, (1,), follows them.
        """
        xp, vector = self.xp, self.equal
        if self.elements is not None:
            vector = scan_elements(self.kind, self.elements, vector)
        vector = self._normalise(vector)[0]
        messages, totals, before = [], [], []
        turned = xp.matrix_transpose(self.transition)[None, :, :]
        for step in range(self.cut.steps):
            # Entry (chunk, j, i) is the score of state i before followed by j.
            terms = vector[:, None, :] + turned
            terms = self.cut.choose(step, vector[:, None, :] + self.initial[None, :, None], terms)
            if self.best:
                before.append(xp.argmax(terms, axis=-1))
            joint = self.add(terms) + self.scores[:, step, :]
            vector, total = self._normalise(joint)
            messages.append(vector)
            totals.append(total)
        before.append(xp.argmax(vector[-1:, :], axis=-1))
        return self.cut.unfold(messages), self.cut.unfold(totals), before

    def _normalise(self, vector: Array) -> tuple[Array, Array]:
        """Return vectors less their sums, and the sums; vectors of minus infinity stay."""
        total = self.add(vector)
        return vector - self.xp.where(self.xp.isfinite(total), total, self.xp.zeros_like(total))[:, None], total

    def look_back(self) -> Array:
        """Return backward log messages (n, k), up to a constant per step."""
        vector = self.equal
        if self.elements is not None:
            vector = scan_elements(self.kind, self.elements, vector, backward=True)
        messages = [vector] * self.cut.steps
        for step in range(self.cut.steps - 1, -1, -1):
            messages[step] = vector
            later = vector + self.scores[:, step, :]
            joint = self.cut.choose(step, self.equal, self.add(self.transition[None, :, :] + later[:, None, :]))
            # The largest entry becomes zero, so that logarithms stay near it.
            vector = joint - take_finite_top(self.xp, joint)[:, None]
        return self.cut.unfold(messages)


def trace_paths(cut: Cut, before: list[Array]) -> Array:
    """Return the best state of each step, (n,), from what :meth:`LogSteps.filter` returned last.

    The maps from the last state of a chunk to the state before it are composed in pairs, then pairs of pairs.
    """
    xp, count = cut.xp, cut.chunks
    *before, last = before
    # The map of a whole chunk: from its last state to the state before it.
    maps = before[-1]
    for step in range(cut.steps - 2, -1, -1):
        maps = xp.take_along_axis(before[step], maps, axis=1)
    # Maps composed over 1, 2, 4... chunks: log2 rounds.
    shift = 1
    while shift < count:
        composed = xp.take_along_axis(maps[:-shift, :], maps[shift:, :], axis=1)
        maps = xp.concat([composed, maps[count - shift :, :]])
        shift *= 2
    # Entry c of `maps` now leads from the last state of all to the state before chunk c.
    states = xp.take(maps, last, axis=1)
    states = xp.concat([states[1:, :], last[:, None]])
    path = [states] * cut.steps
    # Within all chunks at once, from the last step to the first.
    for step in range(cut.steps - 1, -1, -1):
        path[step] = states[:, 0]
        states = xp.take_along_axis(before[step], states, axis=1)
    return cut.unfold(path)


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
