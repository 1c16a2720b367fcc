"""Lloyd's algorithm where only kernels between rows are known: means are shares of rows, never formed."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.centres.lloyd import child_seed
from mercer.cluster._pairwise.annealing import Field
from mercer.cluster._pairwise.energy import DistanceMatrix, SquaredDistances

__all__ = ["KernelLloyd", "KernelState"]

Array = Any
_STATEMENT = (
    "Share of the weight that one more iteration would move to another cluster: zero at a local optimum of the "
    "inertia, where every row has its nearest mean. It bounds nothing globally."
)
# Runs that end in one optimum differ by rounding: the first is kept.
_EQUAL = 1e-9


@plain
@dataclass(frozen=True)
class KernelState:
    """A run under way, and the best of those completed; ``kept_restart`` is -1 while there is none.

    ``labels`` are those that means were taken of, ``following`` those of the nearest means; ``offsets`` are the squared
    lengths of the means, which predictions need.
    """

    seed: Array
    restart: int
    iteration: int
    labels: Array
    following: Array
    offsets: Array
    inertia: float
    moving: float
    kept_restart: int
    kept_labels: Array
    kept_offsets: Array
    kept_inertia: float
    kept_moving: float

    def best(self) -> "tuple[Array, Array, float]":
        """Labels, offsets and inertia of the best run so far, completed or not."""
        if self.kept_restart < 0 or self.inertia < self.kept_inertia * (1.0 - _EQUAL):
            return self.labels, self.offsets, self.inertia
        return self.kept_labels, self.kept_offsets, self.kept_inertia


@dataclass(frozen=True)
class KernelLloyd:
    """The solver and what it is told; `distances` are squared ones of features, `diagonal` each row's own kernel."""

    distances: DistanceMatrix | SquaredDistances
    diagonal: Array
    weight: Array
    n_clusters: int
    start: Any
    n_init: int
    max_iter: int
    seed: Array

    def solve(self, state: KernelState | None = None) -> Solver:
        """Run all restarts, from the beginning or from a state."""
        if state is None:
            labels, none = self._first(self.seed, 0), np.zeros(self.n_clusters)
            state = KernelState(self.seed, 0, 0, labels, labels, none, np.inf, np.inf, -1, labels, none, np.inf, np.inf)
        while True:
            while state.moving > 0 and state.iteration < self.max_iter:
                state = yield from self._iterate(state)
            state = self._kept(state)
            if state.restart + 1 >= self.n_init:
                break
            labels = self._first(state.seed, state.restart + 1)
            state = replace(
                state,
                restart=state.restart + 1,
                iteration=0,
                labels=labels,
                following=labels,
                inertia=np.inf,
                moving=np.inf,
            )
        certificate = Certificate.of("fixed point", state.kept_moving, 0.0, _STATEMENT)
        return Solution(state, certificate.satisfied, certificate)

    def _iterate(self, state: KernelState) -> Any:
        labels = state.following
        squares, offsets = yield from self._squares(labels)
        own = squares[np.arange(len(squares)), labels]
        # A row between two means stays where it is, whatever rounding says of them.
        stays = own <= squares.min(axis=1) * (1.0 + 1e-12)
        following = self._filled(np.where(stays, labels, squares.argmin(axis=1)), squares)
        moving = float(self.weight @ (following != labels)) / float(self.weight.sum())
        state = replace(
            state,
            iteration=state.iteration + 1,
            labels=labels,
            following=following,
            offsets=offsets,
            inertia=float(self.weight @ own),
            moving=moving,
        )
        extra = {"restart": float(state.restart), "moving": moving}
        yield Step(state.inertia, state, Certificate.of("fixed point", moving, 0.0, _STATEMENT), extra)
        return state

    def _squares(self, labels: Array) -> Any:
        """Squared distances of all rows to the means of the clusters, and the squared lengths of these."""
        members = np.eye(self.n_clusters)[labels]
        field, _, spread = yield Field(self.distances, members, self.weight, None)
        sizes = self.weight @ members
        lengths = (self.weight * self.diagonal) @ members / np.where(sizes > 0, sizes, 1.0) - spread
        return np.maximum(0.5 * self.n_clusters * field, 0.0), np.where(sizes > 0, lengths, np.inf)

    def _filled(self, labels: Array, squares: Array) -> Array:
        """Labels where no cluster is empty: one takes the row that is farthest from the mean of its own."""
        counts = np.bincount(labels[self.weight > 0], minlength=self.n_clusters)
        for empty in np.flatnonzero(counts == 0):
            far = np.where((self.weight > 0) & (counts[labels] > 1), squares[np.arange(len(labels)), labels], -1.0)
            row = int(np.argmax(far))
            if far[row] <= 0:
                break
            counts[labels[row]] -= 1
            labels[row], counts[empty] = empty, 1
        return labels

    def _kept(self, state: KernelState) -> KernelState:
        if state.kept_restart >= 0 and not state.inertia < state.kept_inertia * (1.0 - _EQUAL):
            return state
        return replace(
            state,
            kept_restart=state.restart,
            kept_labels=state.labels,
            kept_offsets=state.offsets,
            kept_inertia=state.inertia,
            kept_moving=state.moving,
        )

    def _first(self, seed: Array, restart: int) -> Array:
        """Labels to begin with: given, at random, or of the nearest of rows drawn by k-means++."""
        generator = np.random.default_rng(child_seed(seed, restart))
        if not isinstance(self.start, str):
            return self.start
        if self.start == "random":
            return generator.integers(self.n_clusters, size=len(self.weight))
        drawn = [_draw(generator, self.weight)]
        closest = self.distances.towards(drawn)[:, 0]
        while len(drawn) < self.n_clusters:
            chances = self.weight * np.maximum(closest, 0.0)
            drawn.append(_draw(generator, chances if chances.sum() > 0 else self.weight))
            closest = np.minimum(closest, self.distances.towards(drawn[-1:])[:, 0])
        return self.distances.towards(drawn).argmin(axis=1)


def _draw(generator: np.random.Generator, chances: Array) -> int:
    cumulative = np.cumsum(chances)
    return int(np.searchsorted(cumulative, generator.random() * cumulative[-1], side="right").clip(0, len(chances) - 1))
