"""Lloyd's algorithm from kernel values alone: means are weighted sums of features, never computed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.restarts import Restarts, keep_best_run
from mercer._types import Array
from mercer.cluster._pairwise.annealing import Field
from mercer.cluster._pairwise.energy import DistanceMatrix, SquaredDistances

_STATEMENT = (
    "Share of the weight that one more iteration would move to another cluster: zero at a local optimum of the "
    "inertia, where every row has its nearest mean. It bounds nothing globally."
)
# Runs whose inertias differ by less than this relative amount ended in the same optimum: the first is kept.
_EQUAL = 1e-9


@plain
@dataclass(frozen=True, eq=False)
class KernelRun:
    """One run: means are those of the clusters ``labels``; ``following`` is each row's nearest mean.

    ``offsets`` are the squared lengths of the means, which predictions need. ``moving`` is the share of the weight
    whose label changes.
    """

    iteration: int
    labels: Array
    following: Array
    offsets: Array
    inertia: float = np.inf
    moving: float = np.inf

    def improves_on(self, other: "KernelRun") -> bool:
        """Return whether the inertia is lower than that of `other` by more than rounding."""
        return self.inertia < other.inertia * (1.0 - _EQUAL)


@dataclass(frozen=True)
class KernelLloyd:
    """The solver and its settings; `distances` are squared distances of features, `diagonal` holds k(x_i, x_i)."""

    distances: DistanceMatrix | SquaredDistances
    diagonal: Array
    weight: Array
    n_clusters: int
    start: Any
    n_init: int
    max_iter: int
    seed: Array

    def solve(self, state: Restarts | None = None) -> Solver:
        """Run all restarts, from the beginning or from `state`."""
        state = yield from keep_best_run(self._begin, self._descend, self.n_init, self.seed, state)
        certificate = Certificate.of("fixed point", state.best.moving, 0.0, _STATEMENT)
        return Solution(state, certificate.satisfied, certificate)

    def _begin(self, seed: np.random.SeedSequence, restart: int) -> Any:
        """Return a run at its first labels; a generator, like every start, but without requests."""
        labels = self._draw_labels(np.random.default_rng(seed))
        return KernelRun(0, labels, labels, np.zeros(self.n_clusters))
        yield

    def _descend(self, run: KernelRun) -> Any:
        """Iterate one run until no row changes its cluster."""
        while run.moving > 0 and run.iteration < self.max_iter:
            labels = run.following
            squares, offsets = yield from self._squares(labels)
            own = squares[np.arange(len(squares)), labels]
            # A row as near to its own mean as to the nearest, up to rounding, stays: otherwise rounding could move it
            # for ever.
            stays = own <= squares.min(axis=1) * (1.0 + 1e-12)
            following = self._fill_empty(np.where(stays, labels, squares.argmin(axis=1)), squares)
            moving = float(self.weight @ (following != labels)) / float(self.weight.sum())
            run = KernelRun(run.iteration + 1, labels, following, offsets, float(self.weight @ own), moving)
            yield Step(run.inertia, run, Certificate.of("fixed point", moving, 0.0, _STATEMENT), {"moving": moving})
        return run

    def _squares(self, labels: Array) -> Any:
        """Return the squared distances of all rows to the cluster means, (n, k), and the means' squared lengths."""
        members = np.eye(self.n_clusters)[labels]
        field, _, spread = yield Field(self.distances, members, self.weight, None)
        sizes = self.weight @ members
        # |m|^2 = sum_i w_i k(x_i, x_i) / n_q - spread, spread being the mean squared distance to the mean.
        lengths = (self.weight * self.diagonal) @ members / np.where(sizes > 0, sizes, 1.0) - spread
        return np.maximum(0.5 * self.n_clusters * field, 0.0), np.where(sizes > 0, lengths, np.inf)

    def _fill_empty(self, labels: Array, squares: Array) -> Array:
        """Give each empty cluster the row farthest from the mean of its own cluster; return the labels."""
        counts = np.bincount(labels[self.weight > 0], minlength=self.n_clusters)
        for empty in np.flatnonzero(counts == 0):
            # Taking the only row of a cluster would empty that one.
            far = np.where((self.weight > 0) & (counts[labels] > 1), squares[np.arange(len(labels)), labels], -1.0)
            row = int(np.argmax(far))
            if far[row] <= 0:
                break
            counts[labels[row]] -= 1
            labels[row], counts[empty] = empty, 1
        return labels

    def _draw_labels(self, generator: np.random.Generator) -> Array:
        """Return the first labels: those given, random ones, or the nearest of k rows drawn by k-means++."""
        if not isinstance(self.start, str):
            return self.start
        if self.start == "random":
            return generator.integers(self.n_clusters, size=len(self.weight))
        drawn = [_draw(generator, self.weight)]
        closest = self.distances.towards(drawn)[:, 0]
        while len(drawn) < self.n_clusters:
            # k-means++: chances in proportion to weight times squared distance in feature space.
            chances = self.weight * np.maximum(closest, 0.0)
            drawn.append(_draw(generator, chances if chances.sum() > 0 else self.weight))
            closest = np.minimum(closest, self.distances.towards(drawn[-1:])[:, 0])
        return self.distances.towards(drawn).argmin(axis=1)


def _draw(generator: np.random.Generator, chances: Array) -> int:
    """Return the index of a row drawn in proportion to `chances`."""
    cumulative = np.cumsum(chances)
    return int(np.searchsorted(cumulative, generator.random() * cumulative[-1], side="right").clip(0, len(chances) - 1))
