"""The rounds of boosting: a tree for each score is grown on the gradients and added to the scores."""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer.ensemble._histogram.field import Field
from mercer.ensemble._histogram.grower import Grower, Limits
from mercer.ensemble._histogram.held import HeldOut, add_tree
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.ensemble._histogram.sample import drawn_counts, row_seed
from mercer.ensemble._histogram.slopes import Slopes
from mercer.ensemble._histogram.team import Team
from mercer.ensemble._histogram.tree import BoostedTree

__all__ = ["Boosting", "BoostingState", "Judge", "tree_scores"]

Array = Any
_NO_BOUND = Certificate.none(
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

    @property
    def alone(self) -> bool:
        """Whether nothing but the team needs the threads: it then stays together until the end."""
        return self.judge is None and self.loss.native > 0 and (self.share == 1.0 or not self.field.repeats)

    def solve(self, start: BoostingState, resumed: BoostingState | None = None) -> Solver:
        """Add rounds to a start, or to where a fit of the same start was."""
        state = start if resumed is None else resumed
        k, width = self.loss.n_scores, self.field.bins.width
        scores = tree_scores(self.field.codes, state, k, width)
        held_out = self._held_out(state)
        grower = Grower(self.field, self.limits, self.monotone)
        with grower.team.gathered() if self.alone else nullcontext():
            slopes = Slopes(self.field, grower.team, self.loss, self.y, self.weight, scores)
            if not state.train_scores:
                state = self._judged(state, slopes, held_out, [])
            grew = True
            while len(state.trees) < k * self.rounds and not state.ended:
                trees = self._round(state, grower, slopes)
                grew = any(len(tree.left) > 1 for tree in trees)
                state = self._judged(replace(state, trees=(*state.trees, *trees)), slopes, held_out, trees)
                yield Step(slopes.objective, state, _NO_BOUND, self._extra(state))
        converged = bool(state.ended) or not grew
        return Solution(state, converged, _NO_BOUND, "" if converged else "rounds")

    def _round(self, state: BoostingState, grower: Grower, slopes: Slopes) -> list[BoostedTree]:
        """Grow a tree for each score, and move the scores by them."""
        team, k, number, trees = grower.team, self.loss.n_scores, len(state.trees), []
        generator = np.random.default_rng([*state.entropy, number]) if self.limits.share < 1.0 else None
        if not grower.sown:
            self._draw(team, state.entropy, number)
        with team.gathered():
            for output in range(k):
                if not grower.sown:
                    self._sow(grower, slopes, output)
                grower.grow(generator)
                values = self._values(grower, slopes)
                # The last tree's values and what follows from all of them are one piece of work, and the tree is read
                # while the others do it.
                team.move(values, self.loss.native if output == k - 1 else 0)
                trees.append(grower.tree(values))
                team.finish()
        slopes.read()
        if self.alone and number + k < k * self.rounds:
            # The others begin with the next round while the caller looks at this one.
            self._draw(team, state.entropy, number + k)
            self._sow(grower, slopes, 0)
        return trees

    def _sow(self, grower: Grower, slopes: Slopes, output: int) -> None:
        """Begin with the tree of a score."""
        priced = self.limits.category_price > 0.0 and self.field.bins.categorical.any()
        size, curvature = slopes.totals[1 + 2 * output : 3 + 2 * output]
        grower.sow(output, size, curvature, slopes.chance(output) if priced else 0.0)

    def _held_out(self, state: BoostingState) -> HeldOut | None:
        """The rows that judge, at the scores of a state."""
        judge, width = self.judge, self.field.bins.width
        if judge is None or judge.codes is None:
            return None
        scores = tree_scores(judge.codes, state, self.loss.n_scores, width)
        return HeldOut(judge.codes, judge.y, judge.weight, scores, width, self.field.threads)

    def _draw(self, team: Team, entropy: tuple[int, ...], number: int) -> None:
        """Draw the rows that learn in the round that begins with a tree of some number."""
        field, entropy = self.field, (*entropy, number, 1)
        if self.share == 1.0:
            team.draw(None)
            return
        if not field.repeats:
            team.draw_share(row_seed(entropy), self.share)
            return
        drawn = np.empty(field.n, dtype=np.int64)

        def call(first: int, last: int) -> None:
            part = slice(first * field.unit, min(last * field.unit, field.n))
            drawn[part] = drawn_counts(part.stop - part.start, self.share, field.counts[part], entropy, part.start)

        field.blocks(16 * field.n, call)
        team.draw(drawn)

    def _values(self, grower: Grower, slopes: Slopes) -> Array:
        """The values of a tree's nodes; those of leaves suit the loss where a Newton step does not."""
        values, loss = grower.values(self.rate), slopes.loss
        if not loss.own_leaves or len(values) == 1:
            return values
        for leaf in grower.leaves():
            rows = self.field.rows_of(leaf)
            weight = None if self.weight is None else self.weight[rows]
            values[leaf] = self.rate * loss.leaf(slopes.scores[rows], self.y[rows], weight)
        return values

    def _judged(
        self, state: BoostingState, slopes: Slopes, held_out: HeldOut | None, trees: list[BoostedTree]
    ) -> BoostingState:
        """The state with the scores of its last round, and whether they end the fit."""
        judge = self.judge
        if judge is None:
            return state
        if judge.score is not None:
            train, validation = judge.score(state)
        else:
            train = -slopes.objective
            validation = None if held_out is None else -held_out.judge(trees, slopes.loss)
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
