"""Gradient descent on the divergence of a map: the schedule, and what computes the steps."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mercer._native.embedding import exact_map, map_tasks
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._source.threads import run_alongside
from mercer._types import Array
from mercer.manifold._tsne.affinities import Affinities
from mercer.manifold._tsne.cell_tree import LEAF, make_tree
from mercer.manifold._tsne.divergence import AllPairs

# The longest step of a point in an iteration, in units of the map; large rates would else throw single points far away.
LONGEST_STEP = 5.0
# Growth of the walks at which the points are ordered anew.
_LONGER = 1.15
# Nanoseconds of a native call.
_CALL = 4e7
# Nanoseconds of one thread for an edge.
_EDGE = 1.7
# Nanoseconds of one thread for a term of a walk, which 16 points share.
_TERM = 9.0
# Leaves of an item of native code, as there.
_ITEM_LEAVES = 8
# Rows of an item of native code, as there.
_ITEM_ROWS = 128


@plain
@dataclass(frozen=True)
class EmbeddingState:
    """A map between two iterations: places, last steps, gains, and what was measured."""

    place: Any
    speed: Any
    gain: Any
    iteration: int
    divergence: float
    gradient_norm: float
    best: float
    best_iteration: int


class Engine(Protocol):
    """Computes iterations on a map."""

    def start(self, state: EmbeddingState) -> None:
        """Begin from this state."""

    def descend(self, iterations: int, exaggeration: float, momentum: float, rate: float) -> None:
        """Take some iterations."""

    def measure(self) -> tuple[float, float]:
        """Return the divergence and the length of the last gradient."""

    def copy(self) -> tuple[Array, Array, Array]:
        """Return copies of places, steps and gains."""

    def close(self) -> None:
        """End worker threads."""


@dataclass(frozen=True)
class Phase:
    """The settings of one phase: when it ends, and its exaggeration, momentum and learning rate."""

    end: int
    exaggeration: float
    momentum: float
    rate: float


@dataclass(frozen=True, eq=False)
class MapDescent:
    """The solver: phases of iterations, measured every `every` iterations."""

    engine: Engine
    first: Callable[[], Array]
    phases: tuple[Phase, ...]
    every: int
    min_gradient: float
    patience: int
    error: float

    def solve(self, state: EmbeddingState | None = None) -> Solver:
        """Descend from the first map, or from `state`, to the end of the last phase."""
        if state is None:
            place = self.first()
            state = EmbeddingState(
                place, np.zeros_like(place), np.ones_like(place), 0, np.inf, np.inf, np.inf, self.phases[0].end
            )
        reason = ""
        try:
            self.engine.start(state)
            while state.iteration < self.phases[-1].end and not reason:
                state = self._advance(state)
                measures = {"gradient_norm": state.gradient_norm, "iteration": float(state.iteration)}
                yield Step(state.divergence, state, self.certify(state.gradient_norm), measures)
                reason = self._find_reason(state)
        finally:
            self.engine.close()
        return Solution(state, bool(reason), self.certify(state.gradient_norm), reason or "schedule")

    def _advance(self, state: EmbeddingState) -> EmbeddingState:
        phase = next(phase for phase in self.phases if state.iteration < phase.end)
        count = min(self.every - state.iteration % self.every, phase.end - state.iteration)
        self.engine.descend(count, phase.exaggeration, phase.momentum, phase.rate)
        divergence, norm = self.engine.measure()
        place, speed, gain = self.engine.copy()
        iteration = state.iteration + count
        state = EmbeddingState(place, speed, gain, iteration, divergence, norm, state.best, state.best_iteration)
        # An exaggerated phase minimises something else: its divergence is no progress to compare with.
        if iteration > self.phases[0].end and divergence < state.best:
            state = replace(state, best=divergence, best_iteration=iteration)
        return state

    def _find_reason(self, state: EmbeddingState) -> str:
        """Return why the descent may end here; an empty text if it may not."""
        if state.iteration <= self.phases[0].end and len(self.phases) > 1:
            return ""
        if state.gradient_norm <= self.min_gradient:
            return "converged"
        if state.iteration - state.best_iteration > self.patience:
            return "no_progress"
        return ""

    def certify(self, norm: float) -> Certificate:
        """Return the certificate of a map whose gradient has this length."""
        statement = (
            "Length of the gradient of the divergence; zero at a local minimum. A divergence "
            f"has many of them. The perplexities of the rows are met to a relative error of {self.error:.2g}."
        )
        return Certificate.of("gradient norm", norm, self.min_gradient, statement)


class TreeEngine:
    """Attraction along the edges of sparse affinities, repulsion by a tree of cells, on a team of threads."""

    def __init__(self, affinities: Affinities, d: int, angle: float, threads: int) -> None:
        joint = affinities.joint
        self.n, self.d, self.edges = joint.shape[0], d, joint.nnz
        self.entropy = affinities.entropy
        self.threads = max(1, min(threads, self.n // 512))
        self.tree, self.order = make_tree(self.n, d, angle)
        self._edges = (
            joint.indptr.astype(np.int64),
            joint.indices.astype(np.int32),
            joint.data.astype(np.float32),
        )
        self.longest = int(np.diff(joint.indptr).max(initial=0))
        self.report = np.zeros(3)
        self._team: ExitStack | None = None

    def start(self, state: EmbeddingState) -> None:
        """Begin from this state; worker threads wait in native code from here on."""
        n, d, threads = self.n, self.d, self.threads
        self.state = tuple(
            np.array(part, dtype=np.float64, order="C") for part in (state.place, state.speed, state.gain)
        )
        shapes = (n, d), (n, d), (n, d), (threads, d + 1, LEAF), (threads, self.longest)
        scratch = tuple(np.zeros(shape, np.float32) for shape in shapes)
        items = -(-n // (LEAF * _ITEM_LEAVES)) + -(-n // _ITEM_ROWS)
        control = np.zeros(32 + 8 * threads, np.int64)
        self.work = map_tasks.MapTasks(self.tree, control, self._edges, self.state, scratch, np.zeros((items, 4)))
        self._team = ExitStack()
        self.work.call()
        self._team.enter_context(run_alongside(self.work.help, self.work.dismiss, threads))

    def descend(self, iterations: int, exaggeration: float, momentum: float, rate: float) -> None:
        """Take some iterations; the points are ordered first, and again when walks become longer."""
        rules = np.array([exaggeration, momentum, rate, LONGEST_STEP])
        # The order depends on the places alone, so that a fit that resumes here goes on with the same bits.
        self.order[:] = np.arange(self.n)
        done, most = 0, -1.0
        while done < iterations:
            if most < 0:
                self.work.sort()
                done += self.work.descend(rules, 1, np.inf, self.report)
                most = _LONGER * self.report[1]
            else:
                taken = _EDGE * self.edges + _TERM * self.report[1]
                calls = max(1, min(iterations - done, int(_CALL * self.threads / taken)))
                done += self.work.descend(rules, calls, most, self.report)
                most = -1.0 if self.report[1] > most else most

    def measure(self) -> tuple[float, float]:
        """Return the divergence, with Z of the last iteration, and the length of the last gradient."""
        divergence = self.entropy + self.work.measure() + float(np.log(self.report[0]))
        return divergence, float(np.sqrt(self.report[2]))

    def copy(self) -> tuple[Array, Array, Array]:
        """Return copies of places, steps and gains."""
        place, speed, gain = self.state
        return place.copy(), speed.copy(), gain.copy()

    def close(self) -> None:
        """End the worker threads."""
        if self._team is not None:
            self._team.close()
        self._team = None


class ExactEngine:
    """Forces between all pairs of points, in float64; any kernel and any number of dimensions."""

    def __init__(self, affinities: Affinities, freedom: float, threads: int) -> None:
        self.affinities, self.freedom, self.threads = affinities, freedom, threads
        self.entropy, self.norm = affinities.entropy, np.inf

    def start(self, state: EmbeddingState) -> None:
        """Begin from this state."""
        self.state = tuple(
            np.array(part, dtype=np.float64, order="C") for part in (state.place, state.speed, state.gain)
        )
        self.pairs = AllPairs(self.affinities.joint, self.freedom, self.state[0], self.threads)

    def descend(self, iterations: int, exaggeration: float, momentum: float, rate: float) -> None:
        """Take some iterations."""
        pairs, rules = self.pairs, np.array([momentum, rate, LONGEST_STEP])
        slope = np.empty(0)
        for _ in range(iterations):
            pairs.add_forces()
            slope = pairs.slope * (exaggeration * pairs.pull - pairs.push / pairs.sums[:, 0].sum())
            place, speed, gain = self.state
            exact_map.move_points(slope, rules, place, speed, gain, pairs.columns)
        self.norm = float(np.linalg.norm(slope))

    def measure(self) -> tuple[float, float]:
        """Return the divergence at the present places, and the length of the last gradient."""
        normaliser, logarithms = self.pairs.sum_potentials()
        return self.entropy + logarithms + float(np.log(normaliser)), self.norm

    def copy(self) -> tuple[Array, Array, Array]:
        """Return copies of places, steps and gains."""
        place, speed, gain = self.state
        return place.copy(), speed.copy(), gain.copy()

    def close(self) -> None:
        """Do nothing: no thread waits."""
