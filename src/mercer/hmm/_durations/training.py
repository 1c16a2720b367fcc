"""Passes over sequences of a hidden semi-Markov model, and its training by the EM engine."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from mercer._native.sequence import semi_markov
from mercer._plain import plain
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.hmm._chain import ImpossibleSequenceError, are_probabilities, count_lanes, pad_lanes, take_tops
from mercer.hmm._durations.distributions import StateDurations
from mercer.hmm._emission import normalise_counts


@plain
@dataclass(frozen=True, eq=False)
class SemiMarkovParameters:
    """Probabilities of first states and of transitions between segments, durations, and emissions."""

    initial: Array
    transition: Array
    durations: StateDurations
    emission: Any


@dataclass(frozen=True, eq=False)
class SegmentSums:
    """Expected numbers over all sequences, and what the emissions need."""

    log_likelihood: float
    start: Array
    transitions: Array
    counts: Array
    open_counts: Array
    emission: Any

    def __add__(self, other: "SegmentSums") -> "SegmentSums":
        return SegmentSums(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))


class SegmentPasses:
    """The passes over one sequence."""

    def __init__(self, parameters: SemiMarkovParameters, subject: str) -> None:
        self.parameters, self.subject = parameters, subject
        with np.errstate(divide="ignore"):
            self.first, self.transitions = np.log(parameters.initial), np.log(parameters.transition)
        self.durations, self.survivors = parameters.durations.tabulate()

    def accumulate(self, X: Array) -> tuple[Array, float]:
        """Return cumulative log densities, (n + 1, K), less the largest of each step, and the sum of the largest."""
        k = len(self.first)
        n_bytes = 8.0 * len(X) * (count_lanes(k) + 5 * k)
        require_memory(self.subject, n_bytes, f"tables of {len(X)} steps", "give shorter sequences")
        scores = np.empty((len(X), count_lanes(k)))
        self.parameters.emission.scores(X, scores)
        # A row that no state can emit is minus infinity; a finite floor keeps differences of sums meaningful.
        relative, tops = take_tops(scores[:, :k])
        floored = np.maximum(relative, -1e200)
        return np.concatenate([np.zeros((1, k)), np.cumsum(floored, axis=0)]), float(tops.sum())

    def smooth(self, X: Array, sequence: int = 0) -> tuple[SegmentSums, Array]:
        """Return the expected numbers, without those of the emissions, and the smoothed probabilities (n, K)."""
        n, k, size = len(X), len(self.first), self.durations.shape[1]
        cumulative, tops = self.accumulate(X)
        begins, ends, terms = np.empty((n, k)), np.empty((n + 1, k)), np.empty(max(k, size))
        total = semi_markov.pass_segments_on(
            cumulative, self.first, self.transitions, self.durations, self.survivors, begins, ends, terms
        )
        # Far below any log-likelihood of possible sequences.
        if not total > -1e199:
            raise ImpossibleSequenceError(self.subject, sequence, n - 1)
        rests, afters = np.empty((2, n, k))
        counts, open_counts = np.zeros((2, k, size))
        semi_markov.pass_segments_back(
            cumulative,
            self.transitions,
            self.durations,
            self.survivors,
            begins,
            total,
            rests,
            afters,
            counts,
            open_counts,
            terms,
        )
        # P(a segment of the state begins at t | all), and below that one ends before t.
        with np.errstate(over="ignore", invalid="ignore"):
            started = np.exp(begins + rests - total)
            stopped = np.exp(ends[:-1] + afters - total)
            # A state holds at a step if more of its segments have begun than have ended.
            probabilities = np.clip(np.cumsum(started - stopped, axis=0), 0.0, 1.0)
        if not are_probabilities(probabilities):
            return self._count_best_path(X, total + tops)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        # P(state i ends before t and state j begins at t | all), summed over t.
        moves = np.exp(ends[1:-1, :, None] + self.transitions + rests[1:, None, :] - total).sum(axis=0)
        return SegmentSums(total + tops, started[0], moves, counts, open_counts, None), probabilities

    def _count_best_path(self, X: Array, total: float) -> tuple[SegmentSums, Array]:
        """Return what `smooth` does where all probability is on the best segmentation: numbers of its segments."""
        k, size = len(self.first), self.durations.shape[1]
        path = self.decode(X)[1]
        bounds = np.flatnonzero(np.diff(path, prepend=-1))
        states, lengths = path[bounds], np.diff(bounds, append=len(path))
        moves, counts, open_counts = np.zeros((k, k)), np.zeros((k, size)), np.zeros((k, size))
        np.add.at(moves, (states[:-1], states[1:]), 1.0)
        np.add.at(counts, (states[:-1], lengths[:-1] - 1), 1.0)
        open_counts[states[-1], lengths[-1] - 1] = 1.0
        return SegmentSums(total, np.eye(k)[path[0]], moves, counts, open_counts, None), np.eye(k)[path]

    def decode(self, X: Array) -> tuple[float, Array]:
        """Return the log probability of the best segmentation, and the state of each step."""
        n, k = len(X), len(self.first)
        (cumulative, tops), path = self.accumulate(X), np.empty(n, dtype=np.int64)
        lengths, sources = np.empty((n + 1, k), dtype=np.int64), np.empty((n, k), dtype=np.int64)
        best = semi_markov.find_segments(
            cumulative,
            self.first,
            self.transitions,
            self.durations,
            self.survivors,
            np.empty((n, k)),
            np.empty((n + 1, k)),
            lengths,
            sources,
            path,
        )
        return float(best) + tops, path


@dataclass(frozen=True, eq=False)
class ExpectedSegments:
    """The request of the E step."""

    parameters: SemiMarkovParameters
    sequences: list[Array]
    subject: str

    def answer(self, source: Source) -> SegmentSums:
        passes = SegmentPasses(self.parameters, self.subject)
        totals: list[SegmentSums] = []

        def expect(number: int) -> SegmentSums:
            X = self.sequences[number]
            sums, probabilities = passes.smooth(X, number)
            emission = self.parameters.emission.sums(X, pad_lanes(probabilities))
            return replace(sums, emission=emission)

        def receive(sums: SegmentSums) -> None:
            totals[:] = [totals[0] + sums] if totals else [sums]

        run_numbered(expect, len(self.sequences), source.threads, receive)
        return totals[0]


class SemiMarkovTraining:
    """A hidden semi-Markov model as the EM engine asks for it."""

    def __init__(self, sequences: list[Array], letters: str, prior: Any, subject: str, exact: bool) -> None:
        self.sequences, self.letters, self.prior, self.subject, self.exact = sequences, letters, prior, subject, exact

    def expectation(self, parameters: SemiMarkovParameters) -> ExpectedSegments:
        """Return the request of the E step."""
        return ExpectedSegments(parameters, self.sequences, self.subject)

    def maximisation(self, expected: SegmentSums, parameters: SemiMarkovParameters) -> SemiMarkovParameters:
        """Return the M step: relative frequencies, durations, and emissions fitted to weighted rows."""
        return SemiMarkovParameters(
            normalise_counts(expected.start, np.ones_like(expected.start), parameters.initial),
            normalise_counts(expected.transitions, np.ones_like(expected.transitions), parameters.transition),
            parameters.durations.maximise(expected.counts, expected.open_counts),
            parameters.emission.maximise(expected.emission, self.letters, self.prior),
        )

    def objective(self, expected: SegmentSums, parameters: SemiMarkovParameters) -> float:
        """Return the log-likelihood plus the log prior of the emissions."""
        return float(expected.log_likelihood + parameters.emission.log_prior(self.prior))

    def gain(self, expected: SegmentSums, parameters: SemiMarkovParameters, better: SemiMarkovParameters) -> float:
        """Return NaN: a table's M step is one step of an EM of its own, which has no such bound."""
        return float("nan")

    def slack(self, parameters: SemiMarkovParameters, better: SemiMarkovParameters) -> float:
        """Return zero where the emissions' M step is exact; densities of any kind promise nothing."""
        return 0.0 if self.exact else np.inf
