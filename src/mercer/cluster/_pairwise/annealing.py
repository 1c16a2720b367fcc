"""The solvers of pairwise clustering: mean-field annealing, and simulated annealing."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import entr

from mercer._native.space import reassignment
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.restarts import child_seed
from mercer._source import Source
from mercer._types import Array
from mercer.cluster._pairwise.energy import DistanceMatrix, SquaredDistances, mean_field

_FIXED = (
    "The largest change of a membership in one more iteration at the last beta: zero at a fixed point of the mean "
    "field, a stationary point of the free energy. It bounds nothing globally."
)
_HEURISTIC = "Annealing is a heuristic: no finite schedule bounds how far its clustering is from the best."
# Memberships whose largest is this near to 1, on average, are as good as labels.
_HARD = 1e-3
# Most iterations at one beta: near a split there are many and they change little; the next beta continues from there.
_MOST_AT_ONE_BETA = 50
# Relative size of the random change of memberships at each new beta; exactly equal clusters would never separate. Ten
# times the default tolerance, so that a split that is due shows before the level ends.
_SHAKE = 1e-2
# Offers to every object at one beta: with fewer, the process freezes before it has tried the alternatives.
_SWEEPS = 10


@plain
@dataclass(frozen=True)
class PairwiseState:
    """Memberships, the level of beta, iterations at it (simulated annealing: levels without a move) and in all.

    ``spread`` is half the mean distance within each cluster, (M,), which predictions need.
    """

    seed: Array
    memberships: Array
    level: int
    at_level: int
    iteration: int
    beta: float
    finished: bool
    spread: Array


@dataclass(frozen=True, eq=False)
class Field:
    """A request: the mean field, the cost and the spread of memberships."""

    distances: DistanceMatrix | SquaredDistances
    memberships: Array
    weight: Array
    neighbourhood: Array

    def answer(self, source: Source) -> tuple[Array, float, Array]:
        return mean_field(self.distances, self.memberships, self.weight, self.neighbourhood)


def update(field: Array, beta: float) -> Array:
    """Return exp(-beta e_q) / sum_r exp(-beta e_r) for each object, (n, M)."""
    # The least field of each object is subtracted, so that the largest exponent is zero.
    scores = np.exp(-beta * (field - field.min(axis=1, keepdims=True)))
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def count_distinct(memberships: Array, weight: Array) -> int:
    """Return how many clusters differ: two are the same if their shares of every object agree to a hundredth."""
    sizes = weight @ memberships
    alive = memberships[:, sizes > 1e-9 * weight.sum()]
    # Shares of each cluster, summing to one over objects, so that size plays no part.
    profiles = (alive / (weight @ alive)).T
    scale = profiles.max()
    kept: list[Array] = []
    for profile in profiles:
        if all(np.abs(profile - other).max() > 0.01 * scale for other in kept):
            kept.append(profile)
    return len(kept)


@dataclass(frozen=True)
class MeanFieldAnnealing:
    """The solver: memberships in their own mean field, while beta rises geometrically, until they are almost labels."""

    distances: Any
    weight: Array
    n_clusters: int
    neighbourhood: Array
    beta: float
    beta_end: float
    factor: float
    max_iter: int
    tol: float
    seed: Array

    def solve(self, state: PairwiseState | None = None) -> Solver:
        """Anneal from even memberships, or from `state`."""
        if state is None:
            # Even memberships are a fixed point at any temperature; a small random change breaks the symmetry.
            even = np.full((len(self.weight), self.n_clusters), 1.0 / self.n_clusters)
            first, nothing = self._shake(even, self.seed, 0), np.zeros(self.n_clusters)
            state = PairwiseState(self.seed, first, 0, 0, 0, self.beta, False, nothing)
        while not state.finished and state.iteration < self.max_iter:
            state = yield from self._iterate(state)
        # One more update measures the distance from a fixed point.
        field, _, _ = yield self._field(state.memberships)
        moved = float(np.abs(update(field, state.beta) - state.memberships).max())
        return Solution(state, state.finished, Certificate.of("fixed point", moved, self.tol, _FIXED))

    def _iterate(self, state: PairwiseState) -> Any:
        # A level that does not settle in time is left.
        if state.at_level >= _MOST_AT_ONE_BETA:
            state = self._colder(state)
        field, energy, spread = yield self._field(state.memberships)
        memberships = update(field, state.beta)
        moved = float(np.abs(memberships - state.memberships).max())
        # Free energy F = E - H / beta, H the entropy of the memberships.
        free = energy - float(self.weight @ entr(state.memberships).sum(axis=1)) / state.beta
        extra = {
            "beta": state.beta,
            "energy": energy,
            "moved": moved,
            "n_distinct": float(count_distinct(memberships, self.weight)),
        }
        iteration = state.iteration + 1
        state = replace(state, memberships=memberships, at_level=state.at_level + 1, iteration=iteration, spread=spread)
        if moved <= self.tol:
            # How far memberships are from zeros and ones.
            left = float(self.weight @ (1.0 - memberships.max(axis=1))) / float(self.weight.sum())
            at_end = state.beta >= self.beta_end
            state = replace(state, finished=True) if left <= _HARD or at_end else self._colder(state)
        yield Step(free, state, Certificate.of("fixed point", moved, self.tol, _FIXED), extra)
        return state

    def _colder(self, state: PairwiseState) -> PairwiseState:
        level = state.level + 1
        beta = min(self.beta * self.factor**level, self.beta_end)
        shaken = self._shake(state.memberships, state.seed, level)
        return replace(state, memberships=shaken, level=level, at_level=0, beta=beta)

    def _shake(self, memberships: Array, seed: Array, level: int) -> Array:
        """Return memberships changed slightly, in each cluster by the rank of the distance to a random object.

        Independent noise would average out over the objects of a cluster; this moves the cluster as a whole. Ranks
        distinguish near objects as well as far ones.
        """
        generator = np.random.default_rng(child_seed(seed, level))
        drawn = generator.choice(np.flatnonzero(self.weight > 0), size=memberships.shape[1])
        order = np.argsort(self.distances.towards(drawn), axis=0, kind="stable")
        ranks = np.empty(memberships.shape)
        np.put_along_axis(ranks, order, np.linspace(-1.0, 1.0, len(memberships))[:, None], axis=0)
        shaken = memberships * (1.0 + _SHAKE * ranks)
        return shaken / shaken.sum(axis=1, keepdims=True)

    def _field(self, memberships: Array) -> Field:
        return Field(self.distances, memberships, self.weight, self.neighbourhood)


@dataclass(frozen=True, eq=False)
class Sweeping:
    """A request: offer every object a random cluster, in random order, ``_SWEEPS`` times."""

    matrix: Array
    weight: Array
    labels: Array
    n_clusters: int
    beta: float
    generator: np.random.Generator

    def answer(self, source: Source) -> tuple[Array, float, float, Array]:
        """Return the new labels, their cost, the share of offers accepted, and half the mean distances within."""
        labels, n, random = self.labels.copy(), len(self.labels), self.generator
        members = np.eye(self.n_clusters)[:, labels] * self.weight
        sums = members @ self.matrix
        # within_q is the weighted double sum of distances inside cluster q.
        sizes, within = members.sum(axis=1), np.einsum("ij,ij->i", members, sums)
        count, moved = _SWEEPS * n, 0
        order = np.concatenate([random.permutation(n) for _ in range(_SWEEPS)])
        offers, chances = random.integers(self.n_clusters, size=count), random.random(count)
        # In pieces, so that Ctrl-C is noticed.
        for part in np.array_split(np.arange(count), max(1, count // 500)):
            moved += reassignment.offer_clusters(
                self.matrix,
                self.weight,
                order[part],
                offers[part],
                chances[part],
                self.beta,
                labels,
                sums,
                sizes,
                within,
            )
        extents = within / np.where(sizes > 0, sizes, 1.0)
        spread = 0.5 * extents / np.where(sizes > 0, sizes, 1.0)
        return labels, float(extents.sum()) / self.n_clusters, moved / count, spread


@dataclass(frozen=True)
class SimulatedAnnealing:
    """The solver: objects change clusters at random, uphill ever less as beta rises, until a sweep moves none."""

    distances: DistanceMatrix
    weight: Array
    n_clusters: int
    beta: float
    beta_end: float
    factor: float
    max_iter: int
    seed: Array

    def solve(self, state: PairwiseState | None = None) -> Solver:
        """Anneal from random labels, or from `state`."""
        if state is None:
            labels = np.random.default_rng(child_seed(self.seed, 0)).integers(self.n_clusters, size=len(self.weight))
            members, nothing = np.eye(self.n_clusters)[labels], np.zeros(self.n_clusters)
            state = PairwiseState(self.seed, members, 0, 0, 0, self.beta, False, nothing)
        while not state.finished and state.iteration < self.max_iter:
            generator = np.random.default_rng(child_seed(state.seed, state.iteration + 1))
            labels = state.memberships.argmax(axis=1)
            matrix = self.distances.distances
            asked = Sweeping(matrix, self.weight, labels, self.n_clusters, state.beta, generator)
            labels, energy, accepted, spread = yield asked
            quiet = state.at_level + 1 if accepted == 0 else 0
            extra = {"beta": state.beta, "energy": energy, "accepted": accepted}
            # Offers are random, so one level without a move does not prove that none is left; two end the fit.
            state = replace(
                state,
                memberships=np.eye(self.n_clusters)[labels],
                level=state.level + 1,
                at_level=quiet,
                iteration=state.iteration + 1,
                beta=min(state.beta * self.factor, self.beta_end),
                finished=quiet >= 2,
                spread=spread,
            )
            yield Step(energy, state, Certificate.none(_HEURISTIC), extra)
        return Solution(state, state.finished, Certificate.none(_HEURISTIC))
