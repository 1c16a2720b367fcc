"""Time cut into chunks that are passed side by side: forward and backward messages, and best paths."""

from math import isqrt
from typing import Any

import numpy as np

from mercer._types import Array
from mercer.hmm._device.scan import LogElements, ScaledElements, add_logs, divide_safely, scan_elements, take_finite_top

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
