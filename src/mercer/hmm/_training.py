"""Training: Baum-Welch and Viterbi training as models of the EM engine.

With initial probabilities pi, transitions A and emissions B, the expected complete-data log-likelihood is

    sum_i E[first state i] log pi_i + sum_ij E[transitions i -> j] log A_ij + sum_t sum_k p(state k at t) log B_k(x_t),

so that the M step takes relative frequencies of expected counts, and fits each emission to the rows weighted by the
probability of its state. Dirichlet priors add their parameter minus one to the counts.
"""

from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from scipy.special import xlogy

from mercer._plain import plain
from mercer._source import Source
from mercer._source.source import SumTree
from mercer._types import Array
from mercer.hmm._chain import Chain
from mercer.hmm._emission import normalise_counts, take_log_prior
from mercer.hmm._passes import BestPaths, ChainSums, Probabilities, count_path, run_pass
from mercer.hmm._sequences import Plan

# A state with less expected steps than this has died: no step is any longer explained by it.
_DEAD = 1e-3
# Most values that are kept of rows read from front to back: 32 MiB, thirty pieces.
_MOST_KEPT = 2**22
# Rows that are kept however wide they are: the longest warm-up and more.
_FEWEST_KEPT = 2**13


@plain
@dataclass(frozen=True, eq=False)
class ChainParameters:
    """All parameters of a hidden Markov model."""

    initial: Array
    transition: Array
    emission: Any

    def chain(self) -> Chain:
        """Return the chain that native code works on."""
        return Chain(self.initial, self.transition, self.emission)


@dataclass(frozen=True, eq=False)
class Priors:
    """Dirichlet parameters of first states and transitions, and the prior of the emissions."""

    start: Array
    transitions: Array
    emission: Any


def open_pass(chain: Chain, plan: Plan, source: Source, subject: str) -> Any:
    """Return a pass over rows on a device; its module is imported only where such rows are."""
    from mercer.hmm._device.passes import DevicePass

    return DevicePass(chain, plan, source, subject)


def read_rows(source: Source) -> Any:
    """Return a function from two row numbers to the dense rows between them."""
    if source.place == "memory" and not source.is_sparse:
        rows = source.whole()
        return lambda first, stop: rows[first:stop]
    if source.random_access:
        return lambda first, stop: source.on_rows(first, stop, _take_dense)
    return _FrontToBack(source).read


class _FrontToBack:
    """Rows of a source that is read from front to back, for threads that want overlapping pieces, nearly in order.

    One thread reads at a time. Rows read last are kept, since the warm-up of a piece begins before its end.
    """

    def __init__(self, source: Source) -> None:
        self.source, self.lock = source, Lock()
        # Runs of rows that follow each other, with the number of their first row and of the row after their last.
        self.kept: deque[tuple[int, int, Array]] = deque()
        self.most = max(_FEWEST_KEPT, _MOST_KEPT // source.n_features)

    def read(self, first: int, stop: int) -> Array:
        """Return the rows `first` to `stop`."""
        with self.lock:
            end = self.kept[-1][1] if self.kept else first
            # Rows behind what is kept, or far ahead: begin anew.
            if self.kept and (first < self.kept[0][0] or first > end + self.most):
                self.kept.clear()
                end = first
            if stop > end:
                self.kept.append((end, stop, self.source.on_rows(end, stop, _take_dense)))
            # Rows that no piece under way can ask for are dropped.
            while self.kept[0][1] <= min(first, self.kept[-1][1] - self.most):
                self.kept.popleft()
            parts = [X[max(first - a, 0) : stop - a] for a, b, X in self.kept if a < stop and b > first]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _take_dense(block: Any) -> Array:
    return np.asarray(block.dense())


@dataclass(frozen=True, eq=False)
class ExpectedCounts:
    """The request of the E step: expected counts, or the counts of best paths, over all sequences."""

    parameters: ChainParameters
    plan: Plan
    subject: str
    hard: bool

    def answer(self, source: Source) -> ChainSums:
        if source.place == "device":
            work = open_pass(self.parameters.chain(), self.plan, source, self.subject)
            return work.count_path(work.find_paths()[1]) if self.hard else work.expect()
        kind = BestPaths if self.hard else Probabilities
        run = kind(self.parameters.chain(), self.plan, read_rows(source), self.subject, "expect")
        return run_pass(run, source.threads)


@dataclass(frozen=True, eq=False)
class CountedStates:
    """The request of supervised training: counts of known states, and the log density of all steps in theirs."""

    parameters: ChainParameters
    plan: Plan
    states: Array

    def answer(self, source: Source) -> ChainSums:
        if source.place == "device":
            work = open_pass(self.parameters.chain(), self.plan, source, self.parameters.emission.subject)
            return work.count_path(source.send(self.states), with_transitions=False)
        chain, read, tree = self.parameters.chain(), read_rows(source), SumTree()
        for piece in self.plan.pieces:
            path = self.states[piece.first : piece.stop]
            # The state before the piece, where the sequence began earlier: its transition into the piece counts here.
            earlier = -1 if piece.first == piece.begin else int(self.states[piece.first - 1])
            weights = self.plan.step_weights(piece)
            rows = read(piece.first, piece.stop)
            scores = np.empty((piece.size, chain.lanes))
            chain.emission.scores(rows, scores)
            seen = scores[np.arange(piece.size), path]
            total = float(seen.sum() if weights is None else seen @ weights)
            tree.add(count_path(chain, rows, path, piece.starts, weights, earlier, total))
        return tree.total()


class ChainTraining:
    """A hidden Markov model as the EM engine asks for it.

    `params` names what is learnt: ``s`` first states, ``t`` transitions, other letters the emissions. ``died`` tells
    whether some state lost all its steps in some iteration.
    """

    def __init__(self, plan: Plan, params: str, priors: Priors, subject: str, hard: bool, exact: bool) -> None:
        self.plan, self.params, self.priors, self.subject = plan, params, priors, subject
        self.hard, self.exact, self.died = hard, exact, False

    def expectation(self, parameters: ChainParameters) -> ExpectedCounts:
        """Return the request of the E step."""
        return ExpectedCounts(parameters, self.plan, self.subject, self.hard)

    def maximisation(self, expected: ChainSums, parameters: ChainParameters) -> ChainParameters:
        """Return the M step: relative frequencies, and emissions fitted to weighted rows."""
        self.died = self.died or bool(len(find_dead(expected)))
        initial, transition = parameters.initial, parameters.transition
        if "s" in self.params:
            initial = normalise_counts(expected.start, self.priors.start, initial)
        if "t" in self.params:
            transition = normalise_counts(expected.transitions, self.priors.transitions, transition)
        emission = parameters.emission.maximise(expected.emission, self.params, self.priors.emission)
        return ChainParameters(initial, transition, emission)

    def objective(self, expected: ChainSums, parameters: ChainParameters) -> float:
        """Return the log-likelihood plus the log prior."""
        return float(expected.log_likelihood + self._log_prior(parameters))

    def _log_prior(self, parameters: ChainParameters) -> float:
        start = take_log_prior(parameters.initial, self.priors.start)
        transitions = take_log_prior(parameters.transition, self.priors.transitions)
        return start + transitions + parameters.emission.log_prior(self.priors.emission)

    def gain(self, expected: ChainSums, parameters: ChainParameters, better: ChainParameters) -> float:
        """Return the rise of the expected complete-data objective."""
        values = []
        for chosen in (parameters, better):
            counts = np.sum(xlogy(expected.start, chosen.initial))
            counts += np.sum(xlogy(expected.transitions, chosen.transition))
            emission = chosen.emission.take_expected(expected.emission, parameters.emission)
            values.append(float(counts) + emission + self._log_prior(chosen))
        return values[1] - values[0]

    def slack(self, parameters: ChainParameters, better: ChainParameters) -> float:
        """Return zero where the M step is exact; densities of any kind promise nothing."""
        return 0.0 if self.exact else np.inf


def find_dead(expected: ChainSums) -> Array:
    """Return the states that take no step."""
    return np.flatnonzero(expected.start + expected.transitions.sum(axis=0) < _DEAD)
