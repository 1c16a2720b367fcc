"""Trees of centres: a cluster is split in two by k-means, again and again, and new rows walk down the splits."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.centres.assignment import Memory, RowMemory
from mercer._solver.centres.centres import Centres
from mercer._solver.centres.first_centres import column_moments
from mercer._solver.centres.lloyd import LloydRun, descend
from mercer._solver.relay import answer_requests
from mercer._solver.restarts import child_seed
from mercer._source import Block, Source, open_source
from mercer._source.block import DenseBlock, SparseBlock
from mercer._types import Array

_STATEMENT = (
    "The largest sum of squared moves that two centres of a split would make in one more Lloyd iteration over the rows "
    "of the split, as a share of the mean variance of their columns: zero where every split is a local optimum. It "
    "says nothing of the tree as a whole."
)


@plain
@dataclass(frozen=True, eq=False)
class CentreTree:
    """Splits of clusters in two.

    Node 0 holds all rows; ``children`` has the two nodes of a split, or -1 twice where a node is a cluster. Of each
    node there are the centre, the inertia of its rows about the centre, and their weight.
    """

    centres: Array
    children: Array
    costs: Array
    weights: Array

    def list_leaves(self) -> list[int]:
        """Return the nodes that are clusters, from left to right."""
        return list_leaves(self.children)

    def split(self, node: int, centres: Array, costs: Array, weights: Array) -> "CentreTree":
        """Return the tree whose `node` has two children."""
        children = np.concatenate([self.children, np.full((2, 2), -1, self.children.dtype)])
        children[node] = len(self.centres), len(self.centres) + 1
        return CentreTree(
            np.concatenate([self.centres, centres]),
            children,
            np.concatenate([self.costs, costs]),
            np.concatenate([self.weights, weights]),
        )


@plain
@dataclass(frozen=True, eq=False)
class BisectionState:
    """A tree, the leaf of each row, Lloyd iterations so far, the largest move left, and whether all met `tol`."""

    tree: CentreTree
    nodes: Array
    iterations: int
    shift: float
    stopped: bool


def list_leaves(children: Array) -> list[int]:
    """Return the nodes without children, from left to right."""
    leaves, waiting, pairs = [], [0], children.tolist()
    while waiting:
        node = waiting.pop()
        left, right = pairs[node]
        if left < 0:
            leaves.append(node)
        else:
            waiting += [right, left]
    return leaves


def walk_down(centres: Array, children: Array, rows: Any) -> Iterator[tuple[int, Array]]:
    """Yield the leaves that rows end in, and the indices of these rows; at each split they go to the nearer centre."""
    waiting = [(0, np.arange(rows.shape[0]))]
    while waiting:
        node, members = waiting.pop()
        if children[node, 0] < 0:
            yield node, members
            continue
        # All rows are looked at where they lie.
        chosen = rows if len(members) == rows.shape[0] else rows[members]
        block = DenseBlock(chosen, 0) if isinstance(chosen, np.ndarray) else SparseBlock(chosen, 0)
        right = Centres(centres[children[node]]).find_labels(block) == 1
        for child, part in zip(children[node].tolist(), (members[~right], members[right]), strict=True):
            if len(part):
                waiting.append((child, part))


@dataclass(frozen=True, eq=False)
class LeafLabels:
    """The cluster that each row of a block walks down to, numbered from left to right."""

    centres: Array
    children: Array
    numbers: Array

    @classmethod
    def of(cls, centres: Array, children: Array) -> "LeafLabels":
        """Number the leaves of a tree."""
        numbers = np.full(len(children), -1, np.int32)
        leaves = list_leaves(children)
        numbers[leaves] = np.arange(len(leaves))
        return cls(centres, children, numbers)

    def __call__(self, block: Block) -> Array:
        """Return the labels of the rows of a block."""
        labels = np.empty(block.n, np.int32)
        for leaf, members in walk_down(self.centres, self.children, block.X):
            labels[members] = self.numbers[leaf]
        return labels


@dataclass(frozen=True)
class Bisection:
    """The solver and its settings.

    Parameters
    ----------
    start : callable
        From a source and the seed of a run to a generator that returns two first centres.
    n_clusters, n_init, max_iter, tol :
        As in ``BisectingKMeans``.
    elkan, by_weight : bool
        Whether bounds are always used, and whether the cluster of most weight is split, not that of most inertia.
    source : Source
        The rows, in memory.
    seed : SeedSequence
        The root of the seeds of all splits.
    """

    start: Callable[[Source, np.random.SeedSequence], Any]
    n_clusters: int
    n_init: int
    max_iter: int
    tol: float
    elkan: bool
    by_weight: bool
    source: Source
    seed: np.random.SeedSequence

    def solve(self, state: BisectionState | None = None) -> Solver:
        """Split until there are `n_clusters`, from one cluster or from `state`."""
        words = self.seed.generate_state(8)
        if state is None:
            state = yield from self._begin()
            yield self._make_step(state)
        rows = {leaf: np.flatnonzero(state.nodes == leaf) for leaf in state.tree.list_leaves()}
        while (number := (len(state.tree.centres) + 1) // 2) < self.n_clusters:
            node = self._choose(state.tree, rows)
            state = self._split(state, node, rows, child_seed(words, number))
            yield self._make_step(state)
        return Solution(state, state.stopped, self._certify(state))

    def _begin(self) -> Generator[Any, Any, BisectionState]:
        """Return the tree of one cluster, around the mean."""
        source = self.source
        mean, variance = yield from column_moments()
        weight = source.total_weight()
        centre = mean[None, :].astype(source.host_dtype)
        cost = np.array([weight * float(np.sum(variance))])
        tree = CentreTree(centre, np.full((1, 2), -1, np.int32), cost, np.array([weight]))
        return BisectionState(tree, np.zeros(source.n_rows, np.int32), 0, 0.0, True)

    def _choose(self, tree: CentreTree, rows: dict[int, Array]) -> int:
        """Return the cluster to split: of those with rows and, if there are any, with inertia."""
        leaves = [leaf for leaf, members in rows.items() if len(members)]
        leaves = [leaf for leaf in leaves if tree.costs[leaf] > 0] or leaves
        scores = tree.weights if self.by_weight else tree.costs
        return max(leaves, key=scores.__getitem__)

    def _split(
        self, state: BisectionState, node: int, rows: dict[int, Array], seed: np.random.SeedSequence
    ) -> BisectionState:
        """Run k-means with two centres over the rows of `node`; `rows` gains those of both."""
        members = rows.pop(node)
        part = self._take(members)
        variance = float(state.tree.costs[node] / (state.tree.weights[node] * part.n_features))
        memory = Memory.of(part, always=self.elkan)
        run = self._find_pair(part, memory, self.tol * variance, seed)
        sums = memory.sums if memory.holds(run.centres) else part.reduce(memory.assignment(run.centres))
        # Rows in memory have a table of labels, and a run makes a pass.
        assert sums is not None
        assert isinstance(memory.rows, RowMemory)
        tree = state.tree.split(node, run.centres, sums.costs, sums.weights)
        first, nodes = len(state.tree.centres), state.nodes.copy()
        nodes[members] = first + memory.rows.labels
        right = memory.rows.labels == 1
        rows[first], rows[first + 1] = members[~right], members[right]
        shift = run.shift / variance if variance > 0 else 0.0
        stopped = state.stopped and run.stopped
        return BisectionState(tree, nodes, state.iterations + run.iteration, max(state.shift, shift), stopped)

    def _find_pair(self, part: Source, memory: Memory, tolerance: float, seed: np.random.SeedSequence) -> LloydRun:
        """Return the best of `n_init` runs of k-means with two centres over the rows of a cluster."""
        best: LloydRun | None = None
        for own in [seed] if self.n_init == 1 else seed.spawn(self.n_init):
            first = LloydRun(0, answer_requests(self.start(part, own), part))
            run = answer_requests(descend(first, memory, self.max_iter, tolerance), part)
            if best is None or run.improves_on(best):
                best = run
        assert best is not None  # there is at least one run
        return best

    def _take(self, members: Array) -> Source:
        """Return some rows with their weights."""
        source = self.source
        if len(members) == source.n_rows:
            return source
        weight = source.row_weights()
        return open_source(
            source.whole()[members], weight=None if weight is None else weight[members], threads=source.threads
        )

    def _certify(self, state: BisectionState) -> Certificate:
        return Certificate.of("fixed point", state.shift, self.tol, _STATEMENT)

    def _make_step(self, state: BisectionState) -> Step[BisectionState]:
        costs = state.tree.costs[state.tree.children[:, 0] < 0]
        return Step(float(costs.sum()), state, self._certify(state), {"n_clusters": float(len(costs))})
