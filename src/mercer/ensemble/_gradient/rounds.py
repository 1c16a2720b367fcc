"""The rounds of gradient boosting with exact trees: a tree is grown on the gradients, then its leaves are found."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.request import Dense
from mercer._solver.tree.assembly import assemble
from mercer._solver.tree.best_first import grow_best_first
from mercer._solver.tree.binary_tree import BinaryTree
from mercer._solver.tree.columns import Columns
from mercer._solver.tree.growth import Growth, Rules
from mercer._solver.tree.pruning import prune
from mercer._solver.tree.search import Room
from mercer._solver.tree.target import value_target
from mercer._solver.tree.whole_growth import grow_whole
from mercer.ensemble._histogram.losses import BoostingLoss, LogisticLoss, SoftmaxLoss, SquaredLoss
from mercer.ensemble._histogram.sample import draw_uniform

__all__ = ["GradientRounds", "GradientState", "HeldOut", "tree_seed"]

Array = Any
_UNIT = 8192
_ONE = np.ones(1, np.int64)
_NO_WEIGHT = np.empty(0)
_STATEMENT = "Boosting is a greedy sum of trees; nothing bounds its distance to the best sum of trees."


@plain
@dataclass(frozen=True, eq=False)
class GradientState:
    """All trees so far, a round's trees one after the other, and what each round scored."""

    trees: tuple[BinaryTree, ...] = ()
    train_scores: tuple[float, ...] = ()
    oob_scores: tuple[float, ...] = ()
    oob_gains: tuple[float, ...] = ()
    held_losses: tuple[float, ...] = ()
    ended: bool = False


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows that end the fit when the last `patience` rounds were no worse on them, and their scores at the start."""

    X: Array
    y: Array
    weight: Array
    start: Array
    patience: int
    tol: float

    def is_over(self, losses: tuple[float, ...]) -> bool:
        """Whether the last loss is not below one of those before it by more than the tolerance."""
        earlier = losses[-1 - self.patience : -1]
        return len(earlier) == self.patience and not any(losses[-1] + self.tol < one for one in earlier)


def tree_seed(seed: int, round_number: int, output: int) -> int:
    """The seed of a tree."""
    return int(np.random.SeedSequence([seed, round_number, output]).generate_state(1)[0])


@dataclass(frozen=True, eq=False)
class GradientRounds:
    """The solver.

    ``start`` are the scores (n, k) of the rows without any tree, ``share`` the part of the rows a round learns from.
    ``observe`` is called after each round with its number and state; True ends the fit.
    """

    X: Array
    y: Array
    weight: Array
    start: Array
    columns: Callable[[], Columns]
    loss: BoostingLoss
    rules: Rules
    rounds: int
    rate: float
    share: float
    seed: int
    max_leaves: int | None
    ccp_alpha: float
    min_weight_share: float
    threads: int
    held: HeldOut | None = None
    observe: Callable[[int, GradientState], Any] | None = None
    room: Room = field(default_factory=Room)

    def solve(self, before: GradientState, resumed: GradientState | None = None) -> Solver:
        """Add rounds to those of an earlier fit, or to where this fit was."""
        state = before if resumed is None else resumed
        columns = yield Dense(self.columns)
        scores = yield Dense(partial(self._replayed, self.X, self.start, state.trees))
        held = self.held
        held_scores = None if held is None else (yield Dense(partial(self._replayed, held.X, held.start, state.trees)))
        k = self.loss.n_scores
        while len(state.trees) < k * self.rounds and not state.ended:
            state, scores, loss = yield Dense(partial(self._round, columns, state, scores))
            if held is not None:
                held_scores = yield Dense(partial(self._replayed, held.X, held_scores, state.trees[-k:]))
                losses = (*state.held_losses, self._mean(loss, held_scores, held.y, held.weight))
                state = replace(state, held_losses=losses, ended=held.is_over(losses))
            if self.observe is not None and self.observe(len(state.trees) // k - 1, state):
                state = replace(state, ended=True)
            objective = self._mean(loss, scores, self.y, self.weight)
            yield Step(objective, state, Certificate.none(_STATEMENT), self._extra(state))
        return Solution(state, state.ended, Certificate.none(_STATEMENT), "" if state.ended else "rounds")

    def _extra(self, state: GradientState) -> dict[str, float]:
        found = {}
        if self.share < 1.0:
            found["oob_improvement"] = state.oob_gains[-1]
        if self.held is not None:
            found["validation_loss"] = state.held_losses[-1]
        return found

    def _mean(self, loss: BoostingLoss, scores: Array, y: Array, weight: Array) -> float:
        """The mean loss in scikit-learn's units: squares and deviances whole, not halved."""
        whole = isinstance(loss, SquaredLoss) or type(loss) is LogisticLoss
        return (2.0 if whole else 1.0) * loss.mean(scores, y, weight)

    def _replayed(self, X: Array, start: Array, trees: tuple[BinaryTree, ...]) -> Array:
        """The scores of rows after some trees, added up as in a fit."""
        scores, k = start.copy(), self.loss.n_scores
        for number, tree in enumerate(trees):
            scores[:, number % k] += self.rate * tree.value[tree.apply(X, self.threads), 0, 0]
        return scores

    def _drawn(self, number: int) -> Array:
        """Whether each row is drawn for a round: always the same number of rows, those of the least random numbers."""
        n = len(self.y)
        drawn = np.zeros(n, dtype=bool)
        order = np.argsort(draw_uniform(n, (self.seed, number)), kind="stable")
        drawn[order[: max(1, int(self.share * n))]] = True
        return drawn

    def _round(
        self, columns: Columns, state: GradientState, scores: Array
    ) -> tuple[GradientState, Array, BoostingLoss]:
        k, n = self.loss.n_scores, len(self.y)
        number = len(state.trees) // k
        loss = self.loss.renew(scores, self.y, self.weight)
        gradients = np.empty((k, n, 2))
        blocks = -(-n // _UNIT)
        loss.run(scores, self.y, _NO_WEIGHT, _UNIT, 0, blocks, gradients, np.empty((blocks, 1 + 2 * k)))
        drawn = self._drawn(number) if self.share < 1.0 else np.ones(n, dtype=bool)
        trees, after = [], scores.copy()
        for output in range(k):
            tree = self._grow(columns, -gradients[output, :, 0], drawn, tree_seed(self.seed, number, output))
            leaves = tree.apply(self.X, self.threads)
            tree = self._with_leaves(tree, leaves, loss, scores, gradients[output], drawn)
            after[:, output] += self.rate * tree.value[leaves, 0, 0]
            trees.append(tree)
        state = self._scored(replace(state, trees=(*state.trees, *trees)), loss, scores, after, drawn)
        return state, after, loss

    def _scored(
        self, state: GradientState, loss: BoostingLoss, before: Array, after: Array, drawn: Array
    ) -> GradientState:
        """The state with the loss of the rows drawn, and of the others before and after the round."""

        def mean(scores: Array, rows: Array) -> float:
            return self._mean(loss, scores[rows], self.y[rows], self.weight[rows])

        unseen = 0.0 if drawn.all() else mean(after, ~drawn)
        gain = 0.0 if drawn.all() else mean(before, ~drawn) - unseen
        return replace(
            state,
            train_scores=(*state.train_scores, mean(after, drawn)),
            oob_scores=(*state.oob_scores, unseen),
            oob_gains=(*state.oob_gains, gain),
        )

    def _grow(self, columns: Columns, target: Array, drawn: Array, seed: int) -> BinaryTree:
        weight = self.weight * drawn
        # A row that was not drawn has no say in the steps that targets are counted in, and must not exceed them.
        target = np.where(drawn, target, target[drawn.argmax()])
        rules = replace(self.rules, min_weight_leaf=self.min_weight_share * float(weight.sum()))
        growth = Growth(columns, value_target(target[:, None], weight, "squared_error"), rules, self.threads)
        growth.plant(np.flatnonzero(weight > 0).astype(np.int32), seed)
        if self.max_leaves is None:
            tree = grow_whole(growth, _ONE, self.room)
        else:
            tree = assemble(grow_best_first(growth, self.max_leaves), columns.n_features, _ONE)
        return prune(tree, self.ccp_alpha)

    def _with_leaves(
        self, tree: BinaryTree, leaves: Array, loss: BoostingLoss, scores: Array, gradients: Array, drawn: Array
    ) -> BinaryTree:
        """The tree with the leaves that suit the loss: means, a Newton step, or what the loss itself finds."""
        if isinstance(loss, SquaredLoss):
            return tree
        value, rows = tree.value.copy(), np.flatnonzero(drawn)
        if loss.own_leaves:
            order = rows[np.argsort(leaves[rows], kind="stable")]
            for part in np.split(order, np.flatnonzero(np.diff(leaves[order])) + 1):
                value[leaves[part[0]]] = loss.leaf(scores[part], self.y[part], self.weight[part])
            return replace(tree, value=value)
        sums = [
            np.bincount(leaves[rows], self.weight[rows] * gradients[rows, kind], minlength=tree.node_count)
            for kind in (0, 1)
        ]
        # Of rows that are certain nothing curves: they have nothing to learn.
        known = sums[1] > 1e-150
        steps = np.divide(-sums[0], sums[1], out=np.zeros(tree.node_count), where=known)
        if isinstance(loss, SoftmaxLoss):
            # A common shift of all scores changes no probability (Friedman, 2001, equation 32).
            steps *= (loss.n_scores - 1) / loss.n_scores
        at = np.unique(leaves[rows])
        value[at, 0, 0] = steps[at]
        return replace(tree, value=value)
