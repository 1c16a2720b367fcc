"""Passes over all sequences: filtered and smoothed states, expected counts, best paths.

Threads take pieces (see ``mercer.hmm._sequences``). A chunk of a long sequence guesses what enters it from both sides
by warm-ups over its neighbours; ``mercer._solver.scan`` compares the guesses and repeats those that were wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.sequence import best_paths
from mercer._plain import plain
from mercer._solver.scan import WARM_UPS, settle_chunks
from mercer._source.source import SumTree
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.hmm._chain import Chain, Tables, UnderflowError
from mercer.hmm._sequences import Piece, Plan

# Relative difference up to which two messages are equal: some hundred times the rounding of a step.
_AGREEMENT = 1e-13
# Difference of two log scores up to which they are equal: sums of some steps of -1e5 each are rounded by 1e-10.
_SCORE_AGREEMENT = 1e-9
# Probabilities below this have lost their relative precision.
_NEGLIGIBLE = 1e-290
# Most states for which the exact effect of a chunk, a matrix, is computed. It takes as long as one and a half E steps
# with 10 states, three with 16; with more, walking through the chunks is better.
_MOST_SCANNED = 16
_NOWHERE = np.empty(0, dtype=np.intp)


@plain
@dataclass(frozen=True, eq=False)
class ChainSums:
    """Expected counts over some sequences, and their log-likelihood (of steps and best path, in hard EM)."""

    start: Array
    transitions: Array
    log_likelihood: float
    emission: Any

    def __add__(self, other: "ChainSums") -> "ChainSums":
        return ChainSums(
            self.start + other.start,
            self.transitions + other.transitions,
            self.log_likelihood + other.log_likelihood,
            None if self.emission is None else self.emission + other.emission,
        )

    def scale(self, factor: float) -> "ChainSums":
        """Return the counts times a number."""
        emission = self.emission.scale(factor)
        return ChainSums(self.start * factor, self.transitions * factor, self.log_likelihood * factor, emission)


@dataclass
class _Result:
    """What was computed for a piece, and the messages at its ends: ``entering`` and ``leaving`` move forward in time,
    ``later`` and ``earlier`` backward. ``failed`` says that probabilities left the range of doubles.
    """

    entering: Any
    leaving: Any
    later: Any
    earlier: Any
    value: Any
    failed: bool = False


class _Turned:
    """A result as a pass backward in time sees it."""

    def __init__(self, result: _Result) -> None:
        self.result, self.entering, self.leaving = result, result.later, result.earlier


class _Work:
    """A pass over the pieces of a plan; `read` gives rows from one number to another."""

    two_ways = True
    # Steps of the first warm-up and of its repetition. A third one would take longer than the exact effect of a chunk.
    warm_ups = WARM_UPS[:2]

    def __init__(self, chain: Chain, plan: Plan, read: Callable[[int, int], Array], subject: str) -> None:
        self.chain, self.plan, self.read, self.subject = chain, plan, read, subject
        self.spare: list[Tables] = []

    def compute(self, number: int, left: Any, right: Any, warm_up: int | None = None) -> _Result:
        """Compute a piece; `left` and `right` are the messages that enter it, None to guess them by a warm-up."""
        piece, warm_up = self.plan.pieces[number], self.warm_ups[0] if warm_up is None else warm_up
        # Steps of warm-up in front, if the entering message is a guess.
        before = 0 if left is not None else min(warm_up, piece.first - piece.begin)
        after = 0 if right is not None or not self.two_ways else min(warm_up, piece.end - piece.stop)
        X = self.read(piece.first - before, piece.stop + after)
        # A warm-up from the first step of the sequence on is no guess.
        starts = np.zeros(1, dtype=np.intp) if before and piece.first - before == piece.begin else piece.starts
        tables = self._take(len(X))
        try:
            return self.fill(piece, X, (before, before + piece.size), starts, (left, right), tables)
        except UnderflowError:
            if piece.first == piece.begin and piece.stop == piece.end:
                return _Result(None, None, None, None, self.repair(piece, X))
            return _Result(None, None, None, None, None, failed=True)
        finally:
            self.spare.append(tables)

    def _take(self, rows: int) -> Tables:
        """Return free tables with at least `rows` rows."""
        while self.spare:
            if (tables := self.spare.pop()).rows >= rows:
                return tables
        return Tables(rows, self.chain.lanes)

    def fill(
        self, piece: Piece, X: Array, bounds: tuple[int, int], starts: Array, messages: tuple[Any, Any], tables: Tables
    ) -> _Result:
        """Compute a piece that lies at `bounds` in the rows `X`."""
        raise NotImplementedError  # each pass below defines its own

    def repair(self, piece: Piece, X: Array) -> Any:
        """Return the value of a piece of whole sequences, in logarithms where needed."""
        raise NotImplementedError  # each pass below defines its own

    def effect(self, number: int, backward: bool) -> Any:
        """Return the exact effect of a chunk on any message."""
        raise NotImplementedError  # each pass below defines its own


class Probabilities(_Work):
    """Filtered or smoothed probabilities.

    `want` is ``"score"`` (log-likelihood), ``"density"`` (log densities of steps), ``"filter"`` or ``"smooth"``
    (probabilities), written to `out`, or ``"expect"`` (:class:`ChainSums`).
    """

    def __init__(self, chain: Chain, plan: Plan, read: Any, subject: str, want: str, out: Array = None) -> None:
        super().__init__(chain, plan, read, subject)
        self.want, self.out = want, out
        self.two_ways = want in ("smooth", "expect")
        self.products: dict[int, Array] = {}

    def fill(
        self, piece: Piece, X: Array, bounds: tuple[int, int], starts: Array, messages: tuple[Any, Any], tables: Tables
    ) -> _Result:
        chain, (first, stop), later, earlier = self.chain, bounds, messages[1], None
        chain.filter(X, starts, messages[0], tables)
        if self.two_ways:
            if stop < len(X):
                later = chain.smooth(stop, len(X), _NOWHERE, None, tables)
            earlier = chain.smooth(first, stop, piece.starts, later, tables)
        entering, leaving = tables.filtered[first].copy(), tables.filtered[stop].copy()
        logs = chain.log_likelihoods(tables, first, stop)
        weights = self.plan.step_weights(piece) if self.want == "expect" else None
        # Weights of sequences multiply all expected counts.
        if weights is not None:
            tables.smoothed[first:stop] *= weights[:, None]
            tables.ratio[first:stop] *= weights[:, None]
            logs *= weights
        tables_of = (tables.filtered[first + 1 : stop + 1], tables.smoothed[first:stop])
        counts = chain.count_transitions(tables, first, stop) if self.want == "expect" else None
        value = self._collect(piece, X[first:stop], tables_of, counts, logs)
        return _Result(entering, leaving, later, earlier, value)

    def _collect(self, piece: Piece, X: Array, tables: tuple[Array, Array], counts: Array, logs: Array) -> Any:
        """Return the value of a piece from its (weighted) probabilities and log densities, or write them out."""
        k, total = self.chain.n_states, float(logs.sum())
        if self.want == "expect":
            start = tables[1][piece.starts, :k].sum(axis=0)
            return ChainSums(start, counts, total, self.chain.emission.sums(X, tables[1]))
        if self.want == "density":
            self.out[piece.first : piece.stop] = logs
        elif self.out is not None:
            self.out[piece.first : piece.stop] = tables[self.want == "smooth"][:, :k]
        return total

    def repair(self, piece: Piece, X: Array) -> Any:
        k, tree = self.chain.n_states, SumTree()
        # Each sequence of the piece is repeated by itself.
        for number in range(*piece.sequences.indices(len(self.plan.lengths))):
            start = int(self.plan.lengths[piece.sequences.start : number].sum())
            rows = X[start : start + int(self.plan.lengths[number])]
            filtered, smoothed, counts, logs = self.chain.smooth_in_logs(rows, self.subject, number)
            weight = 1.0 if self.plan.weight is None or self.want != "expect" else float(self.plan.weight[number])
            first = piece.first + start
            whole = Piece(
                first,
                first + len(rows),
                np.zeros(1, dtype=np.intp),
                first,
                first + len(rows),
                slice(number, number + 1),
            )
            tree.add(self._collect(whole, rows, (filtered, smoothed * weight), counts[:k, :k] * weight, logs * weight))
        return tree.total()

    def agree(self, guessed: Any, true: Any) -> bool:
        """Return whether two vectors are equal up to a factor and rounding."""
        if guessed is None or true is None:
            return True  # a chunk failed, and its sequence will be passed in logarithms
        guessed, true = guessed / guessed.max(), true / true.max()
        return bool(np.all(np.abs(guessed - true) <= _AGREEMENT * true + _NEGLIGIBLE))

    def effect(self, number: int, backward: bool) -> Any:
        if self.chain.n_states > _MOST_SCANNED:
            return None
        if number not in self.products:
            # One matrix serves both directions of time.
            piece = self.plan.pieces[number]
            tables = self._take(piece.size)
            self.products[number] = self.chain.multiply(self.read(piece.first, piece.stop), tables)
            self.spare.append(tables)
        return self.products[number].T if backward else self.products[number]

    def combine(self, first: Array, second: Array) -> Array:
        """Return the product of two effects, scaled."""
        product = first @ second
        return product / max(product.max(), 1e-300)

    def apply(self, message: Array, effect: Array) -> Array:
        """Return a message after an effect, scaled to sum to one."""
        out = np.zeros_like(message)
        out[: len(effect)] = message[: len(effect)] @ effect
        return out / max(out.sum(), 1e-300)


class BestPaths(_Work):
    """Best paths. `want` is ``"path"`` (states, written to `out`) or ``"expect"`` (:class:`ChainSums` of hard EM)."""

    def __init__(self, chain: Chain, plan: Plan, read: Any, subject: str, want: str, out: Array = None) -> None:
        super().__init__(chain, plan, read, subject)
        self.want, self.out = want, out

    def fill(
        self, piece: Piece, X: Array, bounds: tuple[int, int], starts: Array, messages: tuple[Any, Any], tables: Tables
    ) -> _Result:
        chain, (first, stop) = self.chain, bounds
        chain.score_paths(X, starts, messages[0], tables)
        later = -1 if messages[1] is None else messages[1]
        if stop < len(X):
            later = chain.trace_path(stop, len(X), _NOWHERE, -1, tables)[1]
        path, earlier = chain.trace_path(first, stop, piece.starts, later, tables)
        if self.want == "path":
            self.out[piece.first : piece.stop] = path
        # Scores at the last steps of sequences, plus what was subtracted on the way, less the score on entering.
        ends = np.append(piece.starts[1:] + first - 1, stop - 1)
        total = tables.filtered[ends + 1, path[ends - first]].sum() + tables.tops[first:stop].sum()
        total -= tables.filtered[first, earlier] if earlier >= 0 else 0.0
        value: Any = float(total)
        if self.want == "expect":
            value = self._count(piece, X[first:stop], path, earlier, value)
        return _Result(tables.filtered[first].copy(), tables.filtered[stop].copy(), later, earlier, value)

    def _count(self, piece: Piece, X: Array, path: Array, earlier: int, total: float) -> ChainSums:
        """Return the counts of one path; `earlier` is the state before it, -1 where a sequence begins."""
        weights = self.plan.step_weights(piece)
        if weights is not None and weights.min() < weights.max():
            total = self._weigh_score(piece, X, path, weights)
        elif weights is not None:
            total *= weights[0]
        return count_path(self.chain, X, path, piece.starts, weights, earlier, total)

    def _weigh_score(self, piece: Piece, X: Array, path: Array, weights: Array) -> float:
        """Return the score of a path whose sequences have different weights."""
        first, forward, _ = self.chain.logs
        scores = np.empty((len(X), self.chain.lanes))
        self.chain.emission.scores(X, scores)
        steps = scores[np.arange(len(X)), path] + np.append(0.0, forward[path[:-1], path[1:]])
        chosen = piece.starts
        steps[chosen] = scores[chosen, path[chosen]] + first[path[chosen]]
        return float(steps @ weights)

    def agree(self, guessed: Any, true: Any) -> bool:
        """Return whether two states are the same, or two vectors of scores equal up to a constant."""
        if np.ndim(true) == 0:
            return bool(guessed == true)
        k = self.chain.n_states
        guessed, true = guessed[:k] - guessed[:k].max(), true[:k] - true[:k].max()
        with np.errstate(invalid="ignore"):
            # Where both are minus infinity the difference is NaN.
            return bool(np.all((np.abs(guessed - true) <= _SCORE_AGREEMENT) | (guessed == true)))

    def effect(self, number: int, backward: bool) -> Any:
        # A product of k x k matrices costs k^3 for each step: only for few states.
        if self.chain.n_states > _MOST_SCANNED and not backward:
            return None
        piece = self.plan.pieces[number]
        X, tables = self.read(piece.first, piece.stop), self._take(piece.size)
        if not backward:
            effect = self.chain.multiply_best(X, tables)
        else:
            self.chain.score_paths(X, piece.starts, self.known[number], tables)
            effect = np.arange(self.chain.n_states)
            best_paths.trace_all(tables.filtered[: piece.size + 1], self.chain.logs[2], effect)
        self.spare.append(tables)
        return effect

    known: dict[int, Array]

    def combine(self, first: Array, second: Array) -> Array:
        """Return the effect of two chunks: best sums of scores forward, chosen states backward."""
        if first.ndim == 1:
            return second[first]
        product = (first[:, :, None] + second[None, :, :]).max(axis=1)
        top = product.max()
        return product - (top if np.isfinite(top) else 0.0)

    def apply(self, message: Any, effect: Array) -> Any:
        """Return a message after an effect."""
        if effect.ndim == 1:
            return int(effect[message])
        out = np.full_like(message, -np.inf)
        out[: len(effect)] = (message[: len(effect), None] + effect).max(axis=0)
        return out - out.max()


class _Direction:
    """A chain of chunks as :func:`settle_chunks` asks for it, in one direction of time."""

    def __init__(self, work: Any, numbers: range, results: list[_Result], backward: bool) -> None:
        self.work, self.numbers, self.results, self.backward = work, numbers, results, backward
        self.agree, self.combine, self.apply = work.agree, work.combine, work.apply

    def _locate(self, number: int) -> int:
        return self.numbers[-1 - number if self.backward else number]

    def guess(self, number: int, warm_up: int) -> Any:
        place = self._locate(number)
        if not self.backward:
            return self.work.compute(place, None, None, warm_up)
        return _Turned(self.work.compute(place, self._find_known(place), None, warm_up))

    def run(self, number: int, entering: Any) -> Any:
        place = self._locate(number)
        if not self.backward:
            return self.work.compute(place, entering, None)
        return _Turned(self.work.compute(place, self._find_known(place), entering))

    def _find_known(self, place: int) -> Any:
        """Return the settled message that enters a chunk from the left; None at the first."""
        return None if place == self.numbers[0] else self.results[place].entering

    def effect(self, number: int) -> Any:
        return self.work.effect(self._locate(number), self.backward)


def run_pass(work: Any, threads: int) -> Any:
    """Run a pass over all pieces and return the sum of their values."""
    plan = work.plan
    results: list[_Result] = []
    if len(plan.pieces) == 1:
        return work.compute(0, None, None).value
    run_numbered(lambda number: work.compute(number, None, None), len(plan.pieces), threads, results.append)
    for numbers in plan.chains:
        _settle(work, numbers, results, threads)
    # Values are added along a tree over the pieces' numbers, so the sum does not depend on threads.
    tree = SumTree()
    for result in results:
        if result.value is not None:
            tree.add(result.value)
    return tree.total()


def _settle(work: Any, numbers: range, results: list[_Result], threads: int) -> None:
    """Repeat the chunks of one sequence until messages agree, forward and then backward."""
    chosen = slice(numbers[0], numbers[-1] + 1)
    results[chosen] = settle_chunks(
        _Direction(work, numbers, results, False), results[chosen], threads, work.warm_ups[1:]
    )
    # The backward messages need forward ones that are true already.
    if work.two_ways:
        work.known = {number: None if number == numbers[0] else results[number].entering for number in numbers}
        turned = [_Turned(result) for result in reversed(results[chosen])]
        settled = settle_chunks(_Direction(work, numbers, results, True), turned, threads, work.warm_ups[1:])
        results[chosen] = [view.result for view in reversed(settled)]
    # Probabilities left the range of doubles: the whole sequence is repeated in logarithms.
    if any(results[number].failed for number in numbers):
        pieces = work.plan.pieces[chosen]
        begin, end = pieces[0].begin, pieces[0].end
        whole = Piece(begin, end, np.zeros(1, dtype=np.intp), begin, end, pieces[0].sequences)
        value = work.repair(whole, work.read(begin, end))
        for number in numbers:
            results[number].value = value if number == numbers[0] else None


def count_path(
    chain: Chain, X: Array, path: Array, starts: Array, weights: Array, earlier: int = -1, total: float = 0.0
) -> ChainSums:
    """Return the sums of given states: counts in place of expected counts."""
    k, n = chain.n_states, len(path)
    shares = np.zeros((n, chain.lanes))
    shares[np.arange(n), path] = 1.0 if weights is None else weights
    before = np.append(earlier if earlier >= 0 else 0, path[:-1])
    weight = np.ones(n) if weights is None else weights.copy()
    weight[starts] = 0.0
    counts = np.bincount(before * k + path, weights=weight, minlength=k * k).reshape(k, k)
    return ChainSums(shares[starts, :k].sum(axis=0), counts, total, chain.emission.sums(X, shares))
