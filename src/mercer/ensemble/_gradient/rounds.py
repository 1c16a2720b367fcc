"""The rounds of gradient boosting with exact trees: a tree is grown on the gradients, then its leaves get values."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._objective import Logistic, Softmax, Squared
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._solver.tree.binary_tree import BinaryTree
from mercer._solver.tree.columns import Columns
from mercer._solver.tree.target import make_value_target
from mercer._types import Array
from mercer.ensemble._forest.tree_settings import TreeSettings
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.ensemble._histogram.sample import draw_uniform

# Rows in a block of native code that computes gradients.
_UNIT = 8192
# A regression tree has one output with one value.
_ONE_VALUE = np.ones(1, np.int64)
# Stands for weights of one in native code.
_NO_WEIGHT = np.empty(0)
# Leaves with a smaller sum of curvatures get the value zero: the step would overflow.
_LEAST_CURVATURE = 1e-150
_NO_BOUND = Certificate.none("Boosting is a greedy sum of trees; nothing bounds its distance to the best sum of trees.")


@plain
@dataclass(frozen=True, eq=False)
class GradientState:
    """All trees so far, one round's trees after the other, and the scores of each round."""

    trees: tuple[BinaryTree, ...] = ()
    train_scores: tuple[float, ...] = ()
    oob_scores: tuple[float, ...] = ()
    oob_gains: tuple[float, ...] = ()
    held_losses: tuple[float, ...] = ()
    ended: bool = False


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows (n, d), targets (n,), weights (n,), and the scores (n, k) without any tree."""

    X: Array
    y: Array
    weight: Array
    start: Array


@dataclass(frozen=True, eq=False)
class EarlyStopping:
    """Validation rows, and the rule that ends the fit: no loss of the last `patience` rounds was improved by `tol`."""

    rows: ScoredRows
    patience: int
    tol: float

    def is_over(self, losses: tuple[float, ...]) -> bool:
        """Return whether the last loss is below none of the `patience` losses before it by more than `tol`."""
        earlier = losses[-1 - self.patience : -1]
        return len(earlier) == self.patience and not any(losses[-1] + self.tol < loss for loss in earlier)


def make_tree_seed(seed: int, round_index: int, output: int) -> int:
    """Return the seed of the tree of a round for a score."""
    return int(np.random.SeedSequence([seed, round_index, output]).generate_state(1)[0])


@dataclass(frozen=True, eq=False)
class GradientRounds:
    """The solver.

    Attributes
    ----------
    rows : ScoredRows
        The training rows.
    columns : callable
        Encodes the columns of the training rows.
    loss : BoostingLoss
    settings : TreeSettings
    n_rounds : int
        Rounds in all, those of an earlier fit included.
    learning_rate : float
    subsample : float
        The share of the rows that a round learns from.
    seed : int
    threads : int
    stopping : EarlyStopping or None
    observe : callable or None
        Called after each round with its index and state; True ends the fit.
    """

    rows: ScoredRows
    columns: Callable[[], Columns]
    loss: BoostingLoss
    settings: TreeSettings
    n_rounds: int
    learning_rate: float
    subsample: float
    seed: int
    threads: int
    stopping: EarlyStopping | None = None
    observe: Callable[[int, GradientState], Any] | None = None

    def solve(self, start: GradientState, resumed: GradientState | None = None) -> Solver:
        """Add rounds to `start`, or to the state at which a fit from the same start was interrupted."""
        state = start if resumed is None else resumed
        columns = yield Dense(self.columns)
        # A resumed fit computes the scores of all rows from the trees it has.
        scores = yield Dense(partial(self._add_trees, self.rows.X, self.rows.start, state.trees))
        held_scores, k = None, self.loss.n_scores
        if self.stopping is not None:
            held = self.stopping.rows
            held_scores = yield Dense(partial(self._add_trees, held.X, held.start, state.trees))
        while len(state.trees) < k * self.n_rounds and not state.ended:
            state, scores, loss = yield Dense(partial(self._run_round, columns, state, scores))
            if self.stopping is not None:
                held = self.stopping.rows
                held_scores = yield Dense(partial(self._add_trees, held.X, held_scores, state.trees[-k:]))
                losses = (*state.held_losses, _average_loss(loss, held_scores, held.y, held.weight))
                state = replace(state, held_losses=losses, ended=self.stopping.is_over(losses))
            if self.observe is not None and self.observe(len(state.trees) // k - 1, state):
                state = replace(state, ended=True)
            objective = _average_loss(loss, scores, self.rows.y, self.rows.weight)
            yield Step(objective, state, _NO_BOUND, self._list_measures(state))
        return Solution(state, state.ended, _NO_BOUND, "" if state.ended else "rounds")

    def _list_measures(self, state: GradientState) -> dict[str, float]:
        measures = {}
        if self.subsample < 1.0:
            measures["oob_improvement"] = state.oob_gains[-1]
        if self.stopping is not None:
            measures["validation_loss"] = state.held_losses[-1]
        return measures

    def _add_trees(self, X: Array, start: Array, trees: tuple[BinaryTree, ...]) -> Array:
        """Return the scores of rows after some trees, added in the order of a fit."""
        scores, k = start.copy(), self.loss.n_scores
        for index, tree in enumerate(trees):
            scores[:, index % k] += self.learning_rate * tree.value[tree.apply(X, self.threads), 0, 0]
        return scores

    def _draw_rows(self, round_index: int) -> Array:
        """Return whether each row is drawn for a round: always equally many, those of the least random values."""
        n = len(self.rows.y)
        drawn = np.zeros(n, dtype=bool)
        order = np.argsort(draw_uniform(n, (self.seed, round_index)), kind="stable")
        drawn[order[: max(1, int(self.subsample * n))]] = True
        return drawn

    def _run_round(
        self, columns: Columns, state: GradientState, scores: Array
    ) -> tuple[GradientState, Array, BoostingLoss]:
        """Grow a tree for each score; return the state and the scores after them, and the loss of the round."""
        rows, k, n = self.rows, self.loss.n_scores, len(self.rows.y)
        round_index = len(state.trees) // k
        loss = self.loss.renew(scores, rows.y, rows.weight)
        gradients = np.empty((k, n, 2))
        n_blocks = -(-n // _UNIT)
        # Without weights: these enter where the tree is grown and where its leaves get values.
        loss.run(scores, rows.y, _NO_WEIGHT, _UNIT, 0, n_blocks, gradients, np.empty((n_blocks, 1 + 2 * k)))
        drawn = self._draw_rows(round_index) if self.subsample < 1.0 else np.ones(n, dtype=bool)
        trees, after = [], scores.copy()
        for output in range(k):
            seed = make_tree_seed(self.seed, round_index, output)
            # A tree is grown on minus the gradients, by squared error.
            tree = self._grow_tree(columns, -gradients[output, :, 0], drawn, seed)
            leaves = tree.apply(rows.X, self.threads)
            # Leaves get the values of least loss (a Newton step), not the means of the gradients.
            tree = self._set_leaves(tree, leaves, loss, scores, gradients[output], drawn)
            # Shrinkage: a share of the tree is added.
            after[:, output] += self.learning_rate * tree.value[leaves, 0, 0]
            trees.append(tree)
        state = self._score_round(replace(state, trees=(*state.trees, *trees)), loss, scores, after, drawn)
        return state, after, loss

    def _score_round(
        self, state: GradientState, loss: BoostingLoss, before: Array, after: Array, drawn: Array
    ) -> GradientState:
        """Return the state with the loss of the drawn rows, and of the other rows before and after the round."""

        def average(scores: Array, chosen: Array) -> float:
            return _average_loss(loss, scores[chosen], self.rows.y[chosen], self.rows.weight[chosen])

        # Rows that were not drawn tell what the round gains on unseen rows.
        unseen = 0.0 if drawn.all() else average(after, ~drawn)
        gain = 0.0 if drawn.all() else average(before, ~drawn) - unseen
        return replace(
            state,
            train_scores=(*state.train_scores, average(after, drawn)),
            oob_scores=(*state.oob_scores, unseen),
            oob_gains=(*state.oob_gains, gain),
        )

    def _grow_tree(self, columns: Columns, target: Array, drawn: Array, seed: int) -> BinaryTree:
        weight = self.rows.weight * drawn
        # Targets are counted in steps whose size follows from the drawn rows: the others must not exceed these.
        target = np.where(drawn, target, target[drawn.argmax()])
        goal = make_value_target(target[:, None], weight, "squared_error")
        return self.settings.grow(columns, goal, weight, _ONE_VALUE, seed, self.threads)

    def _set_leaves(
        self, tree: BinaryTree, leaves: Array, loss: BoostingLoss, scores: Array, gradients: Array, drawn: Array
    ) -> BinaryTree:
        """Return the tree with leaf values that suit the loss: means, Newton steps, or optima of the loss itself."""
        if isinstance(loss.loss, Squared):
            return tree
        value, rows, weight = tree.value.copy(), np.flatnonzero(drawn), self.rows.weight
        if loss.own_leaves:
            order = rows[np.argsort(leaves[rows], kind="stable")]
            for part in np.split(order, np.flatnonzero(np.diff(leaves[order])) + 1):
                value[leaves[part[0]]] = loss.leaf(scores[part], self.rows.y[part], weight[part])
            return tree.change(value=value)
        slope, curvature = (
            np.bincount(leaves[rows], weight[rows] * gradients[rows, kind], minlength=tree.node_count)
            for kind in (0, 1)
        )
        # Rows whose probability has reached 0 or 1 have no curvature, and nothing to learn.
        curved = curvature > _LEAST_CURVATURE
        steps = np.divide(-slope, curvature, out=np.zeros(tree.node_count), where=curved)
        if isinstance(loss.loss, Softmax):
            # A common shift of all scores changes no probability (Friedman, 2001, equation 32).
            steps *= (loss.n_scores - 1) / loss.n_scores
        at = np.unique(leaves[rows])
        value[at, 0, 0] = steps[at]
        return tree.change(value=value)


def _average_loss(loss: BoostingLoss, scores: Array, y: Array, weight: Array) -> float:
    """Return the mean loss in scikit-learn's units: squares and deviances whole, not halved."""
    whole = isinstance(loss.loss, Squared | Logistic)
    return (2.0 if whole else 1.0) * loss.mean(scores, y, weight)
