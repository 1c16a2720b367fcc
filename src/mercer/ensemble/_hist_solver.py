"""The rounds of boosting: a tree for each score is grown on the gradients and added to the scores."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._statistic.statistic import folded
from mercer.ensemble._hist_categories import chance_gain
from mercer.ensemble._hist_field import Field
from mercer.ensemble._hist_grower import Grower, Growth, Limits
from mercer.ensemble._hist_held import HeldOut, add_tree
from mercer.ensemble._hist_losses import BoostingLoss
from mercer.ensemble._hist_sample import drawn_counts
from mercer.ensemble._hist_tree import BoostedTree

__all__ = ["Boosting", "BoostingState", "Judge", "tree_scores"]

Array = Any
_NO_WEIGHT = np.empty(0)
_STATEMENT = (
    "Boosting is a greedy sum of trees, ended by the number of rounds, by a validation score or when no split gains; "
    "nothing bounds its distance to the best sum of trees."
)


@plain
@dataclass(frozen=True)
class BoostingState:
    """All trees so far, a round's trees one after the other, and the scores that early stopping has seen."""

    baseline: Array
    trees: tuple[BoostedTree, ...]
    train_scores: tuple[float, ...]
    validation_scores: tuple[float, ...]
    entropy: tuple[int, ...]
    ended: str = ""


@dataclass(frozen=True, eq=False)
class Judge:
    """What early stopping looks at.

    ``score`` gives the scores of a state on training and on validation rows, the latter None where there are none;
    where it is None both are minus the mean loss.
    """

    patience: int
    tol: float
    score: Any = None
    codes: Array = None
    y: Array = None
    weight: Array | None = None

    def is_over(self, scores: tuple[float, ...]) -> bool:
        """Whether none of the last rounds was better than the score before them."""
        reference = self.patience + 1
        if len(scores) < reference:
            return False
        goal = scores[-reference] + self.tol
        return not any(score > goal for score in scores[-reference + 1 :])


@dataclass(frozen=True, eq=False)
class Boosting:
    """The solver.

    Parameters
    ----------
    field : Field
        The training rows.
    loss : BoostingLoss
    y : (n,)
    weight : (n,) or None
    limits : Limits
    monotone : (d,)
    rate : float
    rounds : int
        Rounds in all, those of the start included.
    judge : Judge or None
    share : float
        The chance of a row to be drawn for a round.
    """

    field: Field
    loss: BoostingLoss
    y: Array
    weight: Array | None
    limits: Limits
    monotone: Array
    rate: float
    rounds: int
    judge: Judge | None = None
    share: float = 1.0

    def solve(self, start: BoostingState, resumed: BoostingState | None = None) -> Solver:
        """Add rounds to a start, or to where a fit of the same start was."""
        state = start if resumed is None else resumed
        field, k = self.field, self.loss.n_scores
        scores = tree_scores(field.codes, state, k, field.bins.width)
        held_out = self._held_out(state)
        gradients = np.empty((k, field.n, 2))
        totals, objective, loss = self._look(scores, gradients)
        if not state.train_scores:
            state = self._judged(state, objective, held_out, loss)
        grower = Grower(field, self.limits, self.monotone)
        grew = True
        while len(state.trees) < k * self.rounds and not state.ended:
            generator = np.random.default_rng([*state.entropy, len(state.trees)])
            drawn = self._drawn(state)
            trees = []
            moved = None
            for output in range(k):
                size, curvature = totals[1 + 2 * output : 3 + 2 * output]
                chance = self._chance(gradients[output])
                growth = grower.grow(gradients[output], size, curvature, self.rate, generator, drawn, chance)
                tree = self._leaves(growth, scores, loss)
                if k == 1 and loss.native is not None:
                    moved = (growth.leaves, tree.value[growth.leaves])
                else:
                    field.add_values(growth.leaves, tree.value[growth.leaves], scores, output)
                if drawn is not None:
                    field.add_tree(tree, scores, output, drawn)
                if held_out is not None:
                    held_out.add(tree, output)
                trees.append(tree)
            grew = any(len(tree.left) > 1 for tree in trees)
            totals, objective, loss = self._look(scores, gradients, moved)
            state = self._judged(replace(state, trees=(*state.trees, *trees)), objective, held_out, loss)
            yield Step(objective, state, Certificate.none(_STATEMENT), self._extra(state))
        converged = bool(state.ended) or not grew
        return Solution(state, converged, Certificate.none(_STATEMENT), "" if converged else "rounds")

    def _held_out(self, state: BoostingState) -> HeldOut | None:
        """The rows that judge, at the scores of a state."""
        judge, width = self.judge, self.field.bins.width
        if judge is None or judge.codes is None:
            return None
        scores = tree_scores(judge.codes, state, self.loss.n_scores, width)
        return HeldOut(judge.codes, judge.y, judge.weight, scores, width, self.field.threads)

    def _drawn(self, state: BoostingState) -> Array | None:
        """How often each row is drawn for the next round, None for once each."""
        if self.share == 1.0:
            return None
        field, entropy = self.field, (*state.entropy, len(state.trees), 1)
        drawn = np.empty(field.n, dtype=np.int64)

        def call(first: int, last: int) -> None:
            part = slice(first * field.unit, min(last * field.unit, field.n))
            counts = field.counts[part] if len(field.counts) else None
            drawn[part] = drawn_counts(part.stop - part.start, self.share, counts, entropy, part.start)

        field.blocks(16 * field.n, call)
        return drawn

    def _look(
        self, scores: Array, gradients: Array, moved: tuple[Array, Array] | None = None
    ) -> tuple[Array, float, BoostingLoss]:
        """Gradients at the scores, moved by the leaves given, their sums, the mean loss, and the next round's loss."""
        loss = self.loss.renewed(scores, self.y, self.weight)
        run = loss.native or loss.run
        weight = _NO_WEIGHT if self.weight is None else self.weight
        totals = folded(self.field.sums(run, scores, self.y, weight, gradients, moved))
        total = float(self.field.n) if self.weight is None else float(self.weight.sum())
        return totals, float(totals[0]) / total, loss

    def _chance(self, gradients: Array) -> float:
        """What a category gains by chance, where any has a price."""
        if self.limits.category_price == 0.0 or not self.field.bins.categorical.any():
            return 0.0
        return chance_gain(gradients, self.weight)

    def _leaves(self, growth: Growth, scores: Array, loss: BoostingLoss) -> BoostedTree:
        """The tree with values that suit the loss where a Newton step does not."""
        tree = growth.tree
        if not loss.own_leaves or len(tree.left) == 1:
            return tree
        value = tree.value.copy()
        for leaf in growth.leaves:
            rows = self.field.rows_of(leaf)
            weight = None if self.weight is None else self.weight[rows]
            value[leaf] = self.rate * loss.leaf(scores[rows], self.y[rows], weight)
        return replace(tree, value=value)

    def _judged(
        self, state: BoostingState, objective: float, held_out: HeldOut | None, loss: BoostingLoss
    ) -> BoostingState:
        """The state with the scores of its last round, and whether they end the fit."""
        judge = self.judge
        if judge is None:
            return state
        if judge.score is not None:
            train, validation = judge.score(state)
        else:
            train = -objective
            validation = None if held_out is None else -held_out.mean(loss)
        seen = (*state.train_scores, float(train))
        checked = seen
        if validation is not None:
            checked = (*state.validation_scores, float(validation))
        return replace(
            state,
            train_scores=seen,
            validation_scores=() if validation is None else checked,
            ended="validation" if state.trees and judge.is_over(checked) else "",
        )

    def _extra(self, state: BoostingState) -> dict[str, float]:
        if self.judge is None or not state.validation_scores:
            return {}
        return {"validation_score": state.validation_scores[-1]}


def tree_scores(codes: Array, state: BoostingState, n_scores: int, width: int) -> Array:
    """The scores that a state's trees give rows known by their bins."""
    scores = np.tile(np.asarray(state.baseline, dtype=np.float64), (len(codes), 1))
    for number, tree in enumerate(state.trees):
        add_tree(codes, tree, tree.tables(width), scores, number % n_scores)
    return scores
