"""Early stopping: the rows that validate, their scores after each round, and the rule that ends the rounds."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.ensemble._histogram.rows import PreparedRows, RowSet, Targets
from mercer.ensemble._histogram.tree import BoostedTree, pack_bins

# Rows in a block: a few hundred microseconds of native code and NumPy, so that handing it out costs little.
_UNIT = 4096
# Most training rows that the user's scorer sees, as in scikit-learn.
_SCORED_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class EarlyStopping:
    """The rule that ends the rounds, and the scores that it follows.

    Attributes
    ----------
    patience : int
        Rounds without a better score that end the fit.
    tol : float
        The least difference of a better score.
    score : callable or None
        From a state to its scores on the training and on the validation rows, the latter None where there are none.
        Where it is None both scores are minus the mean loss.
    validation : RowSet or None
    """

    patience: int
    tol: float
    score: Callable[[Any], tuple[float, float | None]] | None = None
    validation: RowSet | None = None

    def is_over(self, scores: tuple[float, ...]) -> bool:
        """Return whether none of the last `patience` rounds was better than the score before them."""
        reference = self.patience + 1
        if len(scores) < reference:
            return False
        goal = scores[-reference] + self.tol
        return not any(score > goal for score in scores[-reference + 1 :])


class ValidationScores:
    """The scores of the validation rows, which each round's trees move.

    Parameters
    ----------
    rows : RowSet
    scores : (n, k)
        The scores of the trees so far; written to.
    threads : int
    """

    def __init__(self, rows: RowSet, scores: Array, threads: int) -> None:
        self.rows, self.scores, self.threads = rows, scores, threads
        self.n_blocks = -(-len(rows.y) // _UNIT)

    def add_round(self, trees: list[BoostedTree], loss: BoostingLoss) -> float:
        """Add the values of a round's trees to the scores, and return the weighted mean loss."""
        sums, rows = np.empty(self.n_blocks), self.rows
        forest = pack_bins(tuple(trees), self.scores.shape[1])

        def work(block: int) -> None:
            part = slice(block * _UNIT, (block + 1) * _UNIT)
            scores = self.scores[part]
            forest.add_leaves(rows.codes[part], scores, 1)
            values = loss.value(scores, rows.y[part])
            sums[block] = np.sum(values if rows.weight is None else rows.weight[part] * values)

        # One call of the threads for both: waking them takes as long as a tree on some thousand rows.
        run_numbered(work, self.n_blocks, self.threads)
        return float(np.sum(sums) / (len(rows.y) if rows.weight is None else np.sum(rows.weight)))


def make_state_scorer(
    model: Any, rows: PreparedRows, targets: Targets, fitted: Callable[[Any], dict[str, Any]]
) -> Callable[[Any], tuple[float, float | None]]:
    """Return a function that scores a state by ``model.scoring``, on training rows and on validation rows or None.

    Parameters
    ----------
    model : estimator
        With all fitted attributes that no state changes; takes rows of numbers without column names.
    rows : PreparedRows
    targets : Targets
    fitted : callable
        From a state to the other fitted attributes.
    """
    from sklearn.metrics import check_scoring

    scorer = check_scoring(model, model.scoring)
    positions = np.arange(len(rows.training.y))
    # Scoring all rows after every round would cost more than the rounds.
    if len(positions) > _SCORED_ROWS:
        positions = np.sort(np.random.default_rng(0).choice(positions, _SCORED_ROWS, replace=False))
    samples = [_read_sample(rows.training, positions, targets)]
    if rows.validation is not None:
        samples.append(_read_sample(rows.validation, np.arange(len(rows.validation.y)), targets))

    def score(state: Any) -> tuple[float, float | None]:
        # A shallow copy: the scorer sees the fitted model of this state.
        scored = copy.copy(model)
        vars(scored).update(fitted(state))
        scores = [float(scorer(scored, X, y, **options)) for X, y, options in samples]
        return scores[0], scores[1] if len(scores) > 1 else None

    return score


def _read_sample(rows: RowSet, positions: Array, targets: Targets) -> tuple[Array, Array, dict[str, Array]]:
    """Return values, targets as the user gave them, and the weights as an option of a scorer."""
    options = {} if rows.weight is None else {"sample_weight": rows.weight[positions]}
    return rows.take(positions), targets.decode(rows.y[positions]), options
