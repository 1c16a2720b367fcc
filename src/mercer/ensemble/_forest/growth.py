"""Growth of a forest: trees with a seed each, several at a time on all threads."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np

from mercer._base.tree_problem import Problem, balance_classes
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._solver.tree.binary_tree import LEAF, BinaryTree
from mercer._solver.tree.columns import Columns
from mercer._solver.tree.growth import StoppedError
from mercer._source.namespace import is_sparse_matrix
from mercer._source.threads import run_taken
from mercer._types import Array
from mercer.ensemble._forest.tree_settings import TreeSettings

# A tree, the impurity of its leaves, the rows it has not seen, and its predictions of them.
GrownTree = tuple[BinaryTree, float, Array, Array]
# No tree is begun later than these seconds after a batch: threads then wait for the slowest tree, and steps are taken.
_BATCH_SECONDS = 1.0
NO_BOUND = Certificate.none("A forest is an average of greedy trees; nothing says how far it is from the best one.")


@plain
@dataclass(frozen=True, eq=False)
class ForestState:
    """The trees so far, and for each row the sum and number of the predictions of trees that did not see it."""

    trees: list[BinaryTree]
    oob_sums: Any
    oob_counts: Any


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """How rows are drawn for a tree, with replacement.

    Attributes
    ----------
    n_rows : int
    n_drawn : int or None
        Rows drawn for a tree; None for trees that see all rows.
    weight : (n_rows,) or None
        Rows are drawn in proportion to it; None for equal chances.
    balanced : bool
        Whether drawn rows are weighted so that all classes have one weight.
    """

    n_rows: int
    n_drawn: int | None
    weight: Array | None
    balanced: bool = False

    def count(self, seed: int) -> Array:
        """Return how often each row is drawn for the tree of this seed (n_rows,)."""
        # Stream 1 of a tree draws rows; its own seed draws features, stream 2 the permutations of importance.
        stream = np.random.default_rng([seed, 1])
        if self.weight is None:
            drawn = stream.integers(0, self.n_rows, self.n_drawn)
        else:
            ends = np.cumsum(self.weight)
            drawn = np.searchsorted(ends, stream.random(self.n_drawn) * ends[-1], side="right")
            # Rounding can reach the end, where rows may have no weight.
            drawn = np.minimum(drawn, np.flatnonzero(self.weight)[-1])
        return np.bincount(drawn, minlength=self.n_rows)


@dataclass(eq=False)
class ForestGrowth:
    """The solver: grows one tree for each seed, and predicts each row by the trees that did not see it.

    After ``max_time`` seconds by ``clock`` a tree that still grows is discarded, and so are those after it: the forest
    is then the beginning of the one that had more time. The first tree is always grown to its end.

    Attributes
    ----------
    problem : Problem
    columns : callable
        Encodes the columns.
    criterion : str
    settings : TreeSettings
    seeds : list of int
    bootstrap : Bootstrap
    oob_error : callable or None
        From the sums and counts of predictions of unseen rows to an error; None where none is asked for.
    threads : int
    max_time : float or None
    clock : callable
        Returns seconds.
    """

    problem: Problem
    columns: Callable[[], Columns]
    criterion: str
    settings: TreeSettings
    seeds: list[int]
    bootstrap: Bootstrap
    oob_error: Callable[[Array, Array], float] | None
    threads: int
    max_time: float | None = None
    clock: Callable[[], float] = time.perf_counter

    def solve(self, state: ForestState | None) -> Solver:
        """Grow the trees that `state` does not have yet; each tree is a step."""
        # Time is counted from here, so that the first tree is always grown.
        deadline = np.inf if self.max_time is None else self.clock() + self.max_time
        columns = yield Dense(self.columns)
        if state is None:
            state = self._make_empty_state(self.problem.X.shape[0] if self.oob_error else 0)
        # A warm start without out-of-bag sums: earlier trees predict their unseen rows again.
        elif self.oob_error is not None and len(state.oob_counts) == 0:
            state = yield Dense(partial(self._predict_again, state))
        while len(state.trees) < len(self.seeds):
            first = len(state.trees)
            batch = yield Dense(partial(self._grow_batch, columns, first, deadline))
            ends = len(state.trees) + len(batch) < len(self.seeds) and self.clock() >= deadline
            for count, (tree, impurity, rows, values) in enumerate(batch, 1):
                state = self._add_tree(state, tree, rows, values)
                # A time limit ends the fit at the first step after it, so that step must have all trees.
                if not ends or count == len(batch):
                    yield Step(impurity, state, NO_BOUND, self._list_measures(state))
            if ends:
                return Solution(state, False, NO_BOUND, "max_time")
        return Solution(state, True, NO_BOUND)

    def _make_empty_state(self, n_rows: int) -> ForestState:
        n_values = int(self.problem.n_classes.sum())
        return ForestState([], np.zeros((n_rows, n_values)), np.zeros(n_rows, np.int64))

    def _grow_batch(self, columns: Columns, first: int, deadline: float) -> list[GrownTree]:
        """Return the trees from index `first` on that are begun within a second and end before the deadline."""
        trees: list[GrownTree | None] = []
        failed = threading.Event()
        # A single tree may use all threads; several trees use one each.
        threads = self.threads if first == len(self.seeds) - 1 else 1

        def grow(index: int) -> GrownTree | None:
            def has_time() -> bool:
                return not failed.is_set() and (index == 0 or self.clock() < deadline)

            try:
                return self._grow_tree(columns, self.seeds[index], threads, has_time)
            except StoppedError:
                return None
            except BaseException:
                failed.set()
                raise

        run_taken(grow, self._list_batch(first, deadline), min(self.threads, len(self.seeds) - first), trees.append)
        # Trees after one that did not end in time would leave a gap: they are dropped.
        return list(takewhile(lambda tree: tree is not None, trees))  # type: ignore[arg-type]

    def _list_batch(self, first: int, deadline: float) -> Iterator[int]:
        """Yield the indices of trees to begin with, as long as there is time."""
        end = self.clock() + _BATCH_SECONDS
        for index in range(first, len(self.seeds)):
            now = self.clock()
            if index > first and (now > end or now >= deadline):
                return
            yield index

    def _weigh_rows(self, seed: int) -> Array:
        """Return the weights of the rows for the tree of a seed: zero for rows that it does not see."""
        if self.bootstrap.n_drawn is None:
            return self.problem.full_weight
        counts = self.bootstrap.count(seed).astype(np.float64)
        return counts * balance_classes(self.problem.labels, counts) if self.bootstrap.balanced else counts

    def _grow_tree(self, columns: Columns, seed: int, threads: int, goes_on: Callable[[], bool]) -> GrownTree:
        weight, problem = self._weigh_rows(seed), self.problem
        target = problem.target(self.criterion, weight)
        root_seed = int(np.random.SeedSequence(seed).generate_state(1)[0])
        tree = self.settings.grow(columns, target, weight, problem.n_classes, root_seed, threads, goes_on)
        if self.oob_error is None:
            return tree, _average_impurity(tree), np.zeros(0, np.int64), np.zeros((0, 0))
        return tree, _average_impurity(tree), *self._predict_unseen(tree, weight)

    def _predict_unseen(self, tree: BinaryTree, weight: Array) -> tuple[Array, Array]:
        """Return the indices of the rows that a tree did not see, and the values of their leaves."""
        rows = np.flatnonzero(weight == 0)
        X = self.problem.X[rows]
        return rows, tree.value[tree.apply(X.tocsr() if is_sparse_matrix(X) else X)]

    def _predict_again(self, state: ForestState) -> ForestState:
        """Return the trees of an earlier fit without `oob_score`, with the predictions of unseen rows."""
        predicted = self._make_empty_state(self.problem.X.shape[0])
        for tree, seed in zip(state.trees, self.seeds):
            predicted = self._add_tree(predicted, tree, *self._predict_unseen(tree, self._weigh_rows(seed)))
        return predicted

    def _add_tree(self, state: ForestState, tree: BinaryTree, rows: Array, values: Array) -> ForestState:
        """Return the state with one more tree, and its predictions `values` of the unseen `rows`."""
        if self.oob_error is None:
            return ForestState([*state.trees, tree], state.oob_sums, state.oob_counts)
        sums, counts = state.oob_sums.copy(), state.oob_counts.copy()
        begin = 0
        # Outputs with fewer classes than the widest are padded; the padding is left out.
        for output, n_classes in enumerate(self.problem.n_classes.tolist()):
            sums[rows, begin : begin + n_classes] += values[:, output, :n_classes]
            begin += n_classes
        counts[rows] += 1
        return ForestState([*state.trees, tree], sums, counts)

    def _list_measures(self, state: ForestState) -> dict[str, float]:
        measures = {"nodes": float(state.trees[-1].node_count)}
        if self.oob_error is not None:
            measures["oob_error"] = self.oob_error(state.oob_sums, state.oob_counts)
        return measures


def _average_impurity(tree: BinaryTree) -> float:
    """Return the mean impurity of the leaves of a tree, weighted by their rows."""
    leaf = tree.children_left == LEAF
    cost = tree.impurity[leaf] @ tree.weighted_n_node_samples[leaf]
    return float(cost / tree.weighted_n_node_samples[0])
