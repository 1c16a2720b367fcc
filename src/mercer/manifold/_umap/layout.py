"""Layouts of graphs: the kernel of a map, steps by sampled edges, and an estimate of the loss."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import curve_fit
from scipy.sparse import csr_array

from mercer._native.embedding import sampled_steps
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source.threads import run_alongside
from mercer._types import Array
from mercer.errors import ParameterError

# Steps of an epoch; an edge has at most two events in an epoch, and at most one in a step.
STEPS = 4
# Points of an item of native code, and slots, as there.
_ITEM_ROWS = 64
_SLOTS = 512
# Points for each thread: a step of fewer takes less time than a thread takes to begin.
_THREAD_ROWS = 512
# Nanoseconds of a native call.
_CALL = 3e7
# Nanoseconds of an edge in a step.
_EDGE = 1.5
# Nanoseconds of a pair of points, by which one of them is moved.
_PAIR = 8.0
# Edges and pairs by which the loss is estimated.
_SAMPLE = 2**14
# Times in a fit at which it is.
_MEASURES = 10
# Points of the curve that a and b are fitted to, up to three times the spread, as in umap-learn.
_CURVE = 300
STATEMENT = (
    "There is none: sampled steps at a rate that falls to zero end at a place that nothing bounds. The history has an "
    "estimate of the loss."
)


def find_curve(spread: float, min_dist: float) -> tuple[float, float]:
    """Return a and b by which 1 / (1 + a d^(2b)) is nearest to 1 up to `min_dist` and exp((min_dist - d) / spread) on.

    Nearest in the sum of squares over 300 distances up to three times `spread`.
    """
    distances = np.linspace(0.0, 3.0, _CURVE)
    wanted = np.where(distances * spread < min_dist, 1.0, np.exp(np.minimum(0.0, min_dist / spread - distances)))
    try:
        # In units of the spread; a is scaled back below.
        (a, b), _ = curve_fit(lambda d, a, b: 1.0 / (1.0 + a * d ** (2.0 * b)), distances, wanted)
    except RuntimeError as error:
        raise ParameterError(
            f"UMAP: no curve 1 / (1 + a d^(2b)) follows min_dist={min_dist:g} and spread={spread:g}: {error}. Lower "
            f"min_dist, or give a and b."
        ) from error
    return float(a * spread ** (-2.0 * b)), float(b)


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges of a layout, row after row: where rows start, both ends, events per epoch, phases and weights."""

    starts: Array
    rows: Array
    ends: Array
    rates: Array
    phases: Array
    weights: Array


def schedule_edges(graph: csr_array, n_epochs: int, *, mutual: bool) -> Edges:
    """Return the schedule of events: the heaviest edge draws in each epoch, and each event has two of a mutual edge.

    Edges that would have less than one event are left out. Phases are a function of the two ends, the same for both.
    """
    graph = csr_array(graph)
    largest = float(graph.data.max(initial=0.0))
    kept = graph.copy()
    kept.data = np.where(kept.data >= largest / max(n_epochs, 1), kept.data, 0.0)
    kept.eliminate_zeros()
    rows = np.repeat(np.arange(kept.shape[0], dtype=np.uint64), np.diff(kept.indptr))
    ends = kept.indices.astype(np.uint64)
    low, high = (np.minimum(rows, ends), np.maximum(rows, ends)) if mutual else (rows, ends)
    # A multiplicative hash of both ends, modulo 2^64; the upper 24 bits are a number in [0, 1) of float32.
    with np.errstate(over="ignore"):
        words = (low * np.uint64(0x9E3779B97F4A7C15)) ^ (high * np.uint64(0xC2B2AE3D27D4EB4F))
        words = (words ^ (words >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    phases = (words >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
    phases += (mutual & (rows > ends)).astype(np.float32)
    rates = (kept.data / (largest or 1.0) * (2.0 if mutual else 1.0)).astype(np.float32)
    both = rows.astype(np.int32), kept.indices.astype(np.int32)
    return Edges(kept.indptr.astype(np.int64), *both, rates, phases, kept.data)


@plain
@dataclass(frozen=True)
class LayoutState:
    """A map after some epochs, and the estimate of its loss."""

    place: Any
    epoch: int
    loss: float


@dataclass(frozen=True)
class Rules:
    """What steps follow: the kernel, the repulsion, the rate, the number of epochs and the seed."""

    a: float
    b: float
    strength: float
    draws: int
    rate: float
    n_epochs: int
    seed: int


class LayoutEngine:
    """Takes the epochs of a map on a team of threads; `others` are places that the edges lead to, if not the map's."""

    def __init__(self, edges: Edges, rules: Rules, place: Array, threads: int, others: Array | None = None) -> None:
        n, d = place.shape
        self.edges, self.rules = edges, rules
        self.threads = max(1, min(threads, n // _THREAD_ROWS))
        self.places = np.zeros((2, n, d), np.float32)
        fixed = np.zeros((0, d), np.float32) if others is None else np.ascontiguousarray(others, np.float32)
        scratch = np.zeros((self.threads, 4, _SLOTS), np.int32), np.zeros((self.threads, 2 + d, _SLOTS), np.float32)
        control = np.zeros(32 + 8 * self.threads, np.int64)
        listed = edges.starts, edges.rows, edges.ends, edges.rates, edges.phases
        kernel = np.array([rules.a, rules.b, rules.strength], np.float32)
        self.work = sampled_steps.SampledSteps(control, listed, self.places, fixed, scratch, kernel, rules.draws)
        events = float(edges.rates.sum()) * (1.0 + rules.draws) / STEPS
        self.chunk = max(1, int(_CALL * self.threads / (_EDGE * len(edges.ends) + _PAIR * events + 1e3)))

    def run(self, place: Array, first: int, last: int) -> Array:
        """Return the places after epochs `first` to `last`, from these before them."""
        self.places[first * STEPS % 2] = place
        rates = np.array([self.rules.rate, self.rules.n_epochs])
        with ExitStack() as team:
            self.work.call()
            team.enter_context(run_alongside(self.work.help, self.work.dismiss, self.threads))
            for begin in range(first * STEPS, last * STEPS, self.chunk):
                end = min(begin + self.chunk, last * STEPS)
                self.work.take_steps(begin, end, 1.0 / STEPS, rates, self.rules.seed)
        return self.places[last * STEPS % 2].copy()


@dataclass(frozen=True, eq=False)
class Layout:
    """The solver: epochs of sampled edges from a first map."""

    edges: Edges
    rules: Rules
    first: Callable[[], Array]
    threads: int

    def solve(self, state: LayoutState | None = None) -> Solver:
        """Take all epochs from the first map, or those left from `state` on."""
        if state is None:
            place = np.ascontiguousarray(self.first(), np.float32)
            state = LayoutState(place, 0, np.nan)
        engine = LayoutEngine(self.edges, self.rules, state.place, self.threads)
        certificate, total = Certificate.none(STATEMENT), self.rules.n_epochs
        every = max(1, -(-total // _MEASURES))
        while state.epoch < total or np.isnan(state.loss):
            last = min(total, state.epoch + every)
            place = engine.run(state.place, state.epoch, last)
            state = LayoutState(place, last, estimate_loss(self.edges, place, self.rules))
            yield Step(state.loss, state, certificate, {"epoch": float(last)})
        return Solution(state, None, certificate, "schedule")


def estimate_loss(edges: Edges, place: Array, rules: Rules) -> float:
    """Return an estimate of the loss that the steps sample, per row, from up to 16 384 edges and pairs.

    With d_i, the sum of the weights w_ij of a row, and m draws, it is the mean over rows of sum_j -w_ij log q_ij -
    gamma m d_i / 2n sum_k log(1 - q_ik): the cross-entropy with the weight of a pair's repulsion that draws give it.
    """
    n, m = len(place), len(edges.ends)
    random = np.random.default_rng(0)
    chosen = np.arange(m) if m <= _SAMPLE else random.integers(m, size=_SAMPLE)
    weights = edges.weights[chosen]
    value = (
        -(m / n) * float(np.mean(weights * _log_kernel(place, edges.rows[chosen], edges.ends[chosen], rules)[0]))
        if m
        else 0.0
    )
    degrees = np.diff(np.concatenate([[0.0], np.cumsum(edges.weights)])[edges.starts])
    left = random.integers(n, size=_SAMPLE)
    right = (left + random.integers(1, n, size=_SAMPLE)) % n
    apart = float(np.mean(degrees[left] * _log_kernel(place, left, right, rules)[1]))
    return value - 0.5 * rules.strength * rules.draws * apart


def _log_kernel(place: Array, rows: Array, ends: Array, rules: Rules) -> tuple[Array, Array]:
    """Return log q and log(1 - q), softened at zero as the steps are, of pairs of points."""
    squares = np.square(place[rows] - place[ends], dtype=np.float64).sum(axis=1)
    powers = rules.a * squares**rules.b
    softened = rules.a * (squares + 1e-3) ** rules.b
    return -np.log1p(powers), np.log(softened) - np.log1p(softened)
