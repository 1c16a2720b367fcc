"""Growth of a forest: numbered trees, each with a seed of its own, some at a time on all threads."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mercer._base.tree_problem import Problem, balance_classes
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._solver.tree.assembly import assemble
from mercer._solver.tree.best_first import grow_best_first
from mercer._solver.tree.binary_tree import LEAF, BinaryTree
from mercer._solver.tree.columns import Columns
from mercer._solver.tree.growth import Growth, Rules, StoppedError
from mercer._solver.tree.pruning import prune
from mercer._solver.tree.search import Room
from mercer._solver.tree.whole_growth import grow_whole
from mercer._source.threads import run_taken

__all__ = ["ForestGrowth", "ForestState", "drawn_counts"]

Array = Any
# A tree, the impurity it has left, the rows it has not seen, and what it says of them.
Grown = tuple[BinaryTree, float, Array, Array]
# Seconds between two looks at the clock, when threads wait for the slowest of their trees.
_BATCH_SECONDS = 1.0
NO_BOUND = Certificate.none("A forest is an average of greedy trees; nothing says how far it is from the best one.")


@plain
@dataclass(frozen=True, eq=False)
class ForestState:
    """The trees so far, and for each row the sum and number of the predictions of trees that did not see it."""

    trees: list[BinaryTree]
    oob_sums: Any
    oob_counts: Any


def drawn_counts(seed: int, n_rows: int, n_drawn: int, weight: Array | None) -> Array:
    """How often each row is drawn for the tree of this seed; with weights, in proportion to them."""
    stream = np.random.default_rng([seed, 1])
    if weight is None:
        drawn = stream.integers(0, n_rows, n_drawn)
    else:
        ends = np.cumsum(weight)
        drawn = np.searchsorted(ends, stream.random(n_drawn) * ends[-1], side="right")
        # Rounding can reach the end, where rows may have no weight.
        drawn = np.minimum(drawn, np.flatnonzero(weight)[-1])
    return np.bincount(drawn, minlength=n_rows)


@dataclass(eq=False)
class ForestGrowth:
    """The solver: grows the trees whose seeds are given, and judges each row by trees that did not see it.

    ``n_drawn`` is None for trees that see all rows; ``oob_error`` turns sums and counts into a number, or is None.
    After ``max_time`` seconds by ``clock`` a tree that still grows is thrown away, and so are those after it: the
    forest is the beginning of the one that had more time. The first tree is always grown to its end.
    """

    problem: Problem
    columns: Callable[[], Columns]
    rules: Rules
    seeds: list[int]
    criterion: str
    max_leaves: int | None
    ccp_alpha: float
    min_weight_share: float
    n_drawn: int | None
    weight: Array | None
    balanced: bool
    oob_error: Callable[[Array, Array], float] | None
    threads: int
    room: Room = field(default_factory=Room)
    max_time: float | None = None
    clock: Callable[[], float] = time.perf_counter
    stopped: bool = False
    deadline: float = np.inf

    def solve(self, state: ForestState | None) -> Solver:
        """Grow the trees that are not there yet, a step for each."""
        self.deadline = np.inf if self.max_time is None else self.clock() + self.max_time
        columns = yield Dense(self.columns)
        if state is None:
            n = self.problem.X.shape[0] if self.oob_error else 0
            state = ForestState([], np.zeros((n, int(self.problem.n_classes.sum()))), np.zeros(n, np.int64))
        elif self.oob_error is not None and len(state.oob_counts) == 0:
            state = yield Dense(partial(self._judged_again, state))
        while len(state.trees) < len(self.seeds):
            first = len(state.trees)
            batch = yield Dense(partial(self._grow_some, columns, first))
            ends = len(state.trees) + len(batch) < len(self.seeds) and self._is_late()
            for number, (tree, impurity, rows, values) in enumerate(batch, 1):
                state = self._joined(state, tree, rows, values)
                # Whoever limits the time ends the fit at the first step past the limit, which then has all trees.
                if not ends or number == len(batch):
                    yield Step(impurity, state, NO_BOUND, self._extra(state))
            if ends:
                return Solution(state, False, NO_BOUND, "max_time")
        return Solution(state, True, NO_BOUND)

    def _is_late(self) -> bool:
        return self.clock() >= self.deadline

    def _grow_some(self, columns: Columns, first: int) -> list[Grown]:
        """Trees from the first that is missing on, all that are begun within a second and end in time."""
        found: list[Grown | None] = []
        # A tree alone may use all threads; of several each has one.
        inside = self.threads if first == len(self.seeds) - 1 else 1

        def grow(number: int) -> Grown | None:
            try:
                return self._grow(columns, self.seeds[number], inside, lambda: self._has_time(number))
            except StoppedError:
                return None
            except BaseException:
                self.stopped = True
                raise

        run_taken(grow, self._coming_trees(first), min(self.threads, len(self.seeds) - first), found.append)
        return list(takewhile(lambda one: one is not None, found))  # type: ignore[arg-type]

    def _has_time(self, number: int) -> bool:
        return not self.stopped and (number == 0 or not self._is_late())

    def _coming_trees(self, first: int) -> Iterator[int]:
        end = self.clock() + _BATCH_SECONDS
        for number in range(first, len(self.seeds)):
            now = self.clock()
            if number > first and (now > end or now >= self.deadline):
                return
            yield number

    def _weights(self, seed: int) -> Array:
        if self.n_drawn is None:
            return self.problem.full_weight
        counts = drawn_counts(seed, self.problem.X.shape[0], self.n_drawn, self.weight).astype(np.float64)
        return counts * balance_classes(self.problem.labels, counts) if self.balanced else counts

    def _grow(self, columns: Columns, seed: int, threads: int, goes_on: Callable[[], bool]) -> Grown:
        weight = self._weights(seed)
        rules = replace(self.rules, min_weight_leaf=self.min_weight_share * float(weight.sum()))
        growth = Growth(columns, self.problem.target(self.criterion, weight), rules, threads, goes_on)
        root = int(np.random.SeedSequence(seed).generate_state(1)[0])
        growth.plant(np.flatnonzero(weight > 0).astype(np.int32), root)
        if self.max_leaves is None:
            tree = grow_whole(growth, self.problem.n_classes, self.room)
        else:
            tree = assemble(grow_best_first(growth, self.max_leaves), columns.n_features, self.problem.n_classes)
        tree = prune(tree, self.ccp_alpha)
        if self.oob_error is None:
            return tree, self._impurity(tree), np.zeros(0, np.int64), np.zeros((0, 0))
        return tree, self._impurity(tree), *self._unseen(tree, weight)

    def _unseen(self, tree: BinaryTree, weight: Array) -> tuple[Array, Array]:
        """The rows that a tree did not see, and what it says of them."""
        rows = np.flatnonzero(weight == 0)
        X = self.problem.X[rows]
        return rows, tree.value[tree.apply(X.tocsr() if issparse(X) else X)]

    def _judged_again(self, state: ForestState) -> ForestState:
        """Trees of an earlier fit that was not judged by unseen rows, judged now."""
        n = self.problem.X.shape[0]
        judged = ForestState([], np.zeros((n, int(self.problem.n_classes.sum()))), np.zeros(n, np.int64))
        for tree, seed in zip(state.trees, self.seeds):
            judged = self._joined(judged, tree, *self._unseen(tree, self._weights(seed)))
        return judged

    def _joined(self, state: ForestState, tree: BinaryTree, rows: Array, values: Array) -> ForestState:
        if self.oob_error is None:
            return ForestState([*state.trees, tree], state.oob_sums, state.oob_counts)
        sums, counts = state.oob_sums.copy(), state.oob_counts.copy()
        begin = 0
        for output, count in enumerate(self.problem.n_classes.tolist()):
            sums[rows, begin : begin + count] += values[:, output, :count]
            begin += count
        counts[rows] += 1
        return ForestState([*state.trees, tree], sums, counts)

    @staticmethod
    def _impurity(tree: BinaryTree) -> float:
        """The mean impurity that the leaves of a tree have left; each tree is its own problem."""
        leaf = tree.children_left == LEAF
        cost = tree.impurity[leaf] @ tree.weighted_n_node_samples[leaf]
        return float(cost / tree.weighted_n_node_samples[0])

    def _extra(self, state: ForestState) -> dict[str, float]:
        found = {"nodes": float(state.trees[-1].node_count)}
        if self.oob_error is not None:
            found["oob_error"] = self.oob_error(state.oob_sums, state.oob_counts)
        return found
