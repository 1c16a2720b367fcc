"""Filter and smooth sequences of any length: in chunks of time that threads share, with the same bits on any number.

Chunks of a long sequence are filtered at once, each from a message that a warm-up over the steps before it gives; what
does not agree with the true message is repeated (see ``mercer._solver.scan``).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.sequence import kalman_filter, kalman_smoother
from mercer._solver.scan import cut_steps, pass_chunks
from mercer._source.memory import require_memory
from mercer._types import Array
from mercer.errors import DataError
from mercer.hmm._linear_gaussian.parameters import StateSpaceParameters

# Steps of a chunk: twice the longest warm-up, and some 5 to 50 ms of work.
CHUNK = 16_384
# Messages agree where they differ by less than this part of the state's standard deviation: rounding along a chunk.
_AGREE = 1e-12

Message = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Filtered:
    """Predicted (0) and filtered (1) means and covariances, log densities, and the prediction after the last step."""

    means: Array
    covariances: Array
    scores: Array
    after: Message


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Means, covariances, and the covariances of each step's successor with it (the last is of no step)."""

    means: Array
    covariances: Array
    crosses: Array


@dataclass(frozen=True, eq=False)
class _Chunk:
    """The messages before and after a chunk."""

    entering: Any
    leaving: Any


class _ChunkPassage:
    """What both passes share: messages are compared, and no chunk's effect is computed for all messages."""

    def agree(self, guessed: Message, true: Message) -> bool:
        """Return whether two messages are equal up to rounding."""
        scale = float(np.sqrt(np.max(np.diag(true[1]), initial=0.0))) + float(np.max(np.abs(true[0]), initial=0.0))
        spread = float(np.max(np.diag(true[1]), initial=0.0))
        near = np.max(np.abs(guessed[0] - true[0]), initial=0.0) <= _AGREE * scale
        return bool(near and np.max(np.abs(guessed[1] - true[1]), initial=0.0) <= _AGREE * spread)

    def effect(self, number: int) -> None:
        """Return None: chunks of a chain that does not forget are walked through one by one."""
        return

    def combine(self, first: Any, second: Any) -> Any:
        """Raise an error: no chunk has an effect."""
        raise NotImplementedError  # effect() returns None

    def apply(self, message: Any, effect: Any) -> Any:
        """Raise an error: no chunk has an effect."""
        raise NotImplementedError  # effect() returns None


class _FilterPassage(_ChunkPassage):
    def __init__(self, subject: str, parameters: StateSpaceParameters, Y: Array, drift: Array, out: Any) -> None:
        self.subject, self.parameters, self.Y, self.drift = subject, parameters, Y, drift
        self.means, self.covariances, self.scores = out
        self.chunks = cut_steps(len(Y), CHUNK)

    def _walk(self, first: int, stop: int, message: Message, out: Any) -> Message:
        p = self.parameters
        mean, covariance = message[0].copy(), message[1].copy()
        size = max(p.n_states, self.Y.shape[1], 2)
        failed = kalman_filter.filter_steps(
            self.Y[first:stop],
            self.drift[first:stop],
            p.transition,
            p.observation,
            p.transition_noise,
            p.observation_noise,
            mean,
            covariance,
            out[0],
            out[1],
            out[2],
            np.empty((5, size, size)),
        )
        if failed:
            message_text = (
                f"{self.subject}: the covariance of the observation is singular at step {first + failed - 1}; raise "
                f"observation_noise, or reg_covar where it is learned."
            )
            raise DataError(message_text)
        return mean, covariance

    def run(self, number: int, entering: Message | None) -> _Chunk:
        """Filter a chunk whose predicted state is known."""
        p = self.parameters
        entering = (p.start_mean, p.start_covariance) if entering is None else entering
        first, stop = self.chunks[number]
        out = (self._part(self.means, first, stop), self._part(self.covariances, first, stop), self.scores[first:stop])
        leaving = self._walk(first, stop, entering, out)
        self.means[:, first:stop], self.covariances[:, first:stop] = out[0], out[1]
        return _Chunk(entering, leaving)

    @staticmethod
    def _part(table: Array, first: int, stop: int) -> Array:
        """Return contiguous room for a chunk: the table itself where the chunk is all of it."""
        whole = first == 0 and stop == table.shape[1]
        return table if whole else np.empty((2, stop - first, *table.shape[2:]))

    def guess(self, number: int, warm_up: int) -> _Chunk:
        """Filter a chunk from the state that a warm-up over the steps before it predicts."""
        first = self.chunks[number][0]
        begin, k, p = max(0, first - warm_up), self.parameters.n_states, self.parameters
        out = (np.empty((2, first - begin, k)), np.empty((2, first - begin, k, k)), np.empty(first - begin))
        entering = self._walk(begin, first, (p.start_mean, p.start_covariance), out)
        return self.run(number, entering)


class _SmoothPassage(_ChunkPassage):
    """The pass backward: chunk 0 is the last in time."""

    def __init__(self, parameters: StateSpaceParameters, filtered: Filtered, out: Any) -> None:
        self.parameters, self.filtered = parameters, filtered
        self.means, self.covariances, self.crosses = out
        self.chunks = cut_steps(len(self.means), CHUNK)[::-1]

    def _predict(self, step: int) -> Message:
        """Return the predicted message of a step, or of the one after the last."""
        f = self.filtered
        return (f.means[0, step], f.covariances[0, step]) if step < len(self.means) else f.after

    def _walk(self, first: int, stop: int, message: Message, out: Any) -> Message:
        p, f, size = self.parameters, self.filtered, max(self.parameters.n_states, 2)
        mean, covariance = message[0].copy(), message[1].copy()
        predicted = self._predict(stop)
        kalman_smoother.smooth_steps(
            p.transition,
            p.transition_noise,
            np.ascontiguousarray(f.means[:, first:stop]),
            np.ascontiguousarray(f.covariances[:, first:stop]),
            predicted[0],
            predicted[1],
            mean,
            covariance,
            out[0],
            out[1],
            out[2],
            np.empty((5, size, size)),
        )
        return mean, covariance

    def run(self, number: int, entering: Message | None) -> _Chunk:
        """Smooth a chunk; the last one in time is entered by its own prediction, which teaches nothing."""
        first, stop = self.chunks[number]
        entering = self._predict(stop) if entering is None else entering
        out = (self.means[first:stop], self.covariances[first:stop], self.crosses[first:stop])
        return _Chunk(entering, self._walk(first, stop, entering, out))

    def guess(self, number: int, warm_up: int) -> _Chunk:
        """Smooth a chunk from what a warm-up over the steps after it gives."""
        stop = self.chunks[number][1]
        end, k = min(len(self.means), stop + warm_up), self.parameters.n_states
        out = (np.empty((end - stop, k)), np.empty((end - stop, k, k)), np.empty((end - stop, k, k)))
        return self.run(number, self._walk(stop, end, self._predict(end), out))


def filter_sequence(
    subject: str, parameters: StateSpaceParameters, Y: Array, controls: Array, threads: int = 1
) -> Filtered:
    """Filter one sequence; missing entries of Y are NaN."""
    n, k = len(Y), parameters.n_states
    # Predicted and filtered means and covariances; smoothing adds as much again.
    require_memory(subject, 16.0 * n * k * (k + 1), f"means and covariances of {n} steps", "give shorter sequences")
    out = (np.empty((2, n, k)), np.empty((2, n, k, k)), np.empty(n))
    rest = parameters.remove_controls(Y, controls)
    passage = _FilterPassage(subject, parameters, rest, parameters.drift(controls), out)
    chunks = pass_chunks(passage, len(passage.chunks), threads)
    return Filtered(*out, chunks[-1].leaving)


def forecast_states(parameters: StateSpaceParameters, after: Message, controls: Array) -> Message:
    """Return means and covariances of the states after the last step, one for each row of future controls."""
    p, (mean, covariance) = parameters, after
    means, covariances = [], []
    for now in controls:
        means.append(mean)
        covariances.append(covariance)
        mean = p.transition @ mean + p.control @ now
        covariance = p.transition @ covariance @ p.transition.T + p.transition_noise
    return np.array(means), np.array(covariances)


def smooth_sequence(subject: str, parameters: StateSpaceParameters, filtered: Filtered, threads: int = 1) -> Smoothed:
    """Smooth one filtered sequence."""
    n, k = filtered.means.shape[1:]
    require_memory(subject, 8.0 * n * k * (2 * k + 1), f"smoothed covariances of {n} steps", "give shorter sequences")
    out = (np.empty((n, k)), np.empty((n, k, k)), np.empty((n, k, k)))
    passage = _SmoothPassage(parameters, filtered, out)
    pass_chunks(passage, len(passage.chunks), threads)
    return Smoothed(*out)
