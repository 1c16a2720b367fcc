"""The loss at the scores of a boosting fit: gradients and curvatures of all rows, their sums, and the mean loss."""

import numpy as np

from mercer._native.boosting import boosting_gradients
from mercer._types import Array
from mercer.ensemble._histogram.binned_rows import BinnedRows
from mercer.ensemble._histogram.categories import chance_gain
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.ensemble._histogram.workers import Workers

# Stands for weights of one in native code.
_NO_WEIGHT = np.empty(0)


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
