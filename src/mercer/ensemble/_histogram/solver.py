"""The rounds of boosting: a tree for each score is grown on the gradients and added to the scores."""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._native.boosting import boosting_gradients
from mercer._plain import plain
from mercer._solver import Certificate, Solution, Solver, Step
from mercer._solver.tree.packed_forest import PackedForest
from mercer._types import Array
from mercer.ensemble._histogram.bins import BinMap
from mercer.ensemble._histogram.categories import chance_gain
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.ensemble._histogram.rows import BinnedRows
from mercer.ensemble._histogram.sample import draw_counts, make_row_seed
from mercer.ensemble._histogram.tree import BoostedTree, pack_bins, pack_trees
from mercer.ensemble._histogram.tree_builder import TreeBuilder, TreeLimits
from mercer.ensemble._histogram.validation import EarlyStopping, ValidationScores
from mercer.ensemble._histogram.workers import Workers
from mercer.errors import CheckpointError

# Stands for weights of one in native code.
_NO_WEIGHT = np.empty(0)
_NO_BOUND = Certificate.none(
    "Boosting is a greedy sum of trees, ended by the number of rounds, by a validation score or when no split gains; "
    "nothing bounds its distance to the best sum of trees."
)


class Gradients:
    """Gradients and curvatures at the scores, which worker threads move.

    Parameters
    ----------
    rows : BinnedRows
    workers : Workers
    loss : BoostingLoss
    scores : (n, k)

    Attributes
    ----------
    loss : BoostingLoss
        The loss of the next round.
    totals : list of 1 + 2 k floats
        The sum of the losses, then for each score the sums of absolute gradients and of curvatures.
    objective : float
        The mean loss.
    """

    def __init__(self, rows: BinnedRows, workers: Workers, loss: BoostingLoss, scores: Array) -> None:
        k = scores.shape[1]
        self.rows, self.scores, self._first_loss = rows, scores, loss
        self._weight = _NO_WEIGHT if rows.weight is None else rows.weight
        self._total_weight = float(rows.n) if rows.weight is None else float(rows.weight.sum())
        self._gradients, self._sums = np.empty((k, rows.n, 2)), np.empty((rows.n_blocks, 1 + 2 * k))
        workers.follow_scores(self._gradients, scores, rows.y, self._weight, self._sums, loss)
        if loss.native:
            with workers.keep_running():
                workers.start_update(None, loss.native)
                workers.finish()
        self.update()

    def update(self) -> None:
        """Read what the scores have become; worker threads have computed the gradients of losses in native code."""
        rows = self.rows
        self.loss = self._first_loss.renew(self.scores, rows.y, rows.weight)
        if not self.loss.native:
            # The cost of a loss in NumPy is about that of 16 bins a row.
            rows.run_blocks(16 * rows.n * self.scores.shape[1], self._compute)
        boosting_gradients.fold(self._sums)
        if not np.isfinite(self._sums[0]).all():
            # Words of histograms are integers, for which native code has no infinity: what has overflowed becomes the
            # largest number. The fit then ends with a warning or an error about its inputs.
            np.nan_to_num(self._gradients, copy=False)
        self.totals = self._sums[0].tolist()
        self.objective = self.totals[0] / self._total_weight

    def _compute(self, first: int, last: int) -> None:
        """Write gradients and sums of a run of blocks."""
        rows = self.rows
        self.loss.run(self.scores, rows.y, self._weight, rows.unit, first, last, self._gradients, self._sums)

    def estimate_chance_gain(self, output: int) -> float:
        """Return the gain that a category makes by chance in the next tree of a score."""
        return chance_gain(self._gradients[output], self.rows.weight)


@plain
@dataclass(frozen=True)
class BoostingState:
    """All trees so far, one round's trees after the other, and the scores that early stopping has followed."""

    baseline: Array
    trees: tuple[BoostedTree, ...]
    train_scores: tuple[float, ...]
    validation_scores: tuple[float, ...]
    entropy: tuple[int, ...]
    ended: str = ""

    def pack(self, bins: BinMap, n_scores: int) -> PackedForest:
        """Return the trees in the form that native code reads, which is made when first needed."""
        packed = vars(self).get("_packed")
        if packed is None:
            packed = vars(self)["_packed"] = pack_trees(self.trees, bins, n_scores)
        return packed

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_packed"}


@dataclass(frozen=True, eq=False)
class Boosting:
    """The solver.

    Parameters
    ----------
    rows : BinnedRows
        The training rows.
    loss : BoostingLoss
    limits : TreeLimits
    learning_rate : float
        The factor of each tree's values.
    n_rounds : int
        Rounds in all, those of the start included.
    stopping : EarlyStopping or None
    subsample : float
        The probability that a row is drawn for a round.
    """

    rows: BinnedRows
    loss: BoostingLoss
    limits: TreeLimits
    learning_rate: float
    n_rounds: int
    stopping: EarlyStopping | None = None
    subsample: float = 1.0

    @property
    def overlaps(self) -> bool:
        """Whether the worker threads may begin the next round at once, since nothing between two rounds needs them."""
        by_counts = self.subsample < 1.0 and self.rows.repeats
        return self.stopping is None and self.loss.native > 0 and not by_counts

    def solve(self, start: BoostingState, resumed: BoostingState | None = None) -> Solver:
        """Add rounds to `start`, or to the state at which a fit from the same start was interrupted."""
        state = start if resumed is None else resumed
        self._check_columns(state)
        k = self.loss.n_scores
        scores = sum_trees(self.rows.codes, state, k, self.rows.threads)
        held_out = self._score_validation(state)
        builder = TreeBuilder(self.rows, self.limits)
        with builder.workers.keep_running() if self.overlaps else nullcontext():
            gradients = Gradients(self.rows, builder.workers, self.loss, scores)
            # The score before the first round, which early stopping compares with.
            if not state.train_scores:
                state = self._follow_scores(state, gradients, held_out, [])
            grew = True
            while len(state.trees) < k * self.n_rounds and not state.ended:
                trees = self._grow_round(state, builder, gradients)
                # A round whose trees are all single leaves changes nothing but the level.
                grew = any(len(tree.left) > 1 for tree in trees)
                state = self._follow_scores(replace(state, trees=(*state.trees, *trees)), gradients, held_out, trees)
                yield Step(gradients.objective, state, _NO_BOUND, self._list_measures(state))
        converged = bool(state.ended) or not grew
        return Solution(state, converged, _NO_BOUND, "" if converged else "rounds")

    def _check_columns(self, state: BoostingState) -> None:
        """Raise if a tree of a checkpoint reads a column that the rows have not: native code would follow it."""
        d = len(self.rows.bins.counts)
        if any(tree.feature.max(initial=-1) >= d for tree in state.trees):
            raise CheckpointError(
                f"Checkpoint: trees must split the {d} columns of the rows; some split others. Delete the file."
            )

    def _grow_round(self, state: BoostingState, builder: TreeBuilder, gradients: Gradients) -> list[BoostedTree]:
        """Grow a tree for each score, and move the scores by them."""
        workers, k, n_trees = builder.workers, self.loss.n_scores, len(state.trees)
        trees: list[BoostedTree] = []
        # Random choices follow from the seed and the number of trees, so that a resumed fit makes the same ones.
        generator = np.random.default_rng([*state.entropy, n_trees]) if self.limits.max_features < 1.0 else None
        if not builder.started:
            self._choose_rows(workers, state.entropy, n_trees)
        with workers.keep_running():
            for output in range(k):
                if not builder.started:
                    self._start_tree(builder, gradients, output)
                builder.grow(generator)
                values = self._find_values(builder, gradients)
                # The last tree's values and the gradients after it are one piece of work, and this thread reads the
                # tree while the others do it.
                workers.start_update(values, self.loss.native if output == k - 1 else 0)
                trees.append(builder.read(values))
                workers.finish()
        gradients.update()
        if self.overlaps and n_trees + k < k * self.n_rounds:
            # The workers begin with the next round while the caller handles this one.
            self._choose_rows(workers, state.entropy, n_trees + k)
            self._start_tree(builder, gradients, 0)
        return trees

    def _start_tree(self, builder: TreeBuilder, gradients: Gradients, output: int) -> None:
        """Let the workers begin with the tree of a score."""
        priced = self.limits.category_price > 0.0 and self.rows.bins.categorical.any()
        size, curvature = gradients.totals[1 + 2 * output : 3 + 2 * output]
        builder.start(output, size, curvature, gradients.estimate_chance_gain(output) if priced else 0.0)

    def _score_validation(self, state: BoostingState) -> ValidationScores | None:
        """Return the validation rows at the scores of a state, or None where there are none."""
        validation = None if self.stopping is None else self.stopping.validation
        if validation is None:
            return None
        scores = sum_trees(validation.codes, state, self.loss.n_scores, self.rows.threads)
        return ValidationScores(validation, scores, self.rows.threads)

    def _choose_rows(self, workers: Workers, entropy: tuple[int, ...], n_trees: int) -> None:
        """Draw the rows of the round that begins after `n_trees` trees."""
        # The 1 separates the stream of rows from that of columns.
        rows, entropy = self.rows, (*entropy, n_trees, 1)
        if self.subsample == 1.0:
            workers.choose_rows(None)
            return
        # Rows without repetitions are drawn in native code, while they are quantised.
        if not rows.repeats:
            workers.sample_rows(make_row_seed(entropy), self.subsample)
            return
        counts = np.empty(rows.n, dtype=np.int64)

        def draw(first: int, last: int) -> None:
            part = slice(first * rows.unit, min(last * rows.unit, rows.n))
            counts[part] = draw_counts(part.stop - part.start, self.subsample, rows.counts[part], entropy, part.start)

        # A binomial quantile costs about as much as 16 bins.
        rows.run_blocks(16 * rows.n, draw)
        workers.choose_rows(counts)

    def _find_values(self, builder: TreeBuilder, gradients: Gradients) -> Array:
        """Return the values of the nodes; leaves are optimised by the loss where a Newton step does not suit it."""
        values, loss, rows = builder.scale_values(self.learning_rate), gradients.loss, self.rows
        if not loss.own_leaves or len(values) == 1:
            return values
        for leaf in builder.list_leaves():
            inside = rows.find_rows(leaf)
            weight = None if rows.weight is None else rows.weight[inside]
            # The best value is found for the full residuals and then shrunk, as Friedman (2001) does.
            values[leaf] = self.learning_rate * loss.leaf(gradients.scores[inside], rows.y[inside], weight)
        return values

    def _follow_scores(
        self, state: BoostingState, gradients: Gradients, held_out: ValidationScores | None, trees: list[BoostedTree]
    ) -> BoostingState:
        """Return the state with the scores of its last round, and whether they end the fit."""
        stopping = self.stopping
        if stopping is None:
            return state
        # A scorer needs a fitted model; the loss is known from the gradients already.
        if stopping.score is not None:
            train, validation = stopping.score(state)
        else:
            train = -gradients.objective
            validation = None if held_out is None else -held_out.add_round(trees, gradients.loss)
        train_scores = (*state.train_scores, float(train))
        followed = train_scores
        if validation is not None:
            followed = (*state.validation_scores, float(validation))
        return replace(
            state,
            train_scores=train_scores,
            validation_scores=() if validation is None else followed,
            ended="validation" if state.trees and stopping.is_over(followed) else "",
        )

    def _list_measures(self, state: BoostingState) -> dict[str, float]:
        if self.stopping is None or not state.validation_scores:
            return {}
        return {"validation_score": state.validation_scores[-1]}


def sum_trees(codes: Array, state: BoostingState, n_scores: int, threads: int) -> Array:
    """Return the scores (n, k) that the baseline and the trees of a state give to binned rows."""
    scores = np.tile(np.asarray(state.baseline, dtype=np.float64), (len(codes), 1))
    if state.trees:
        pack_bins(state.trees, n_scores).add_leaves(codes, scores, threads)
    return scores
