"""What the loss is at the scores of a boosting fit: gradients of all rows, their sums, and the mean."""

from typing import Any

import numpy as np

from mercer._native.boosting import boosting_gradients
from mercer.ensemble._histogram.categories import chance_gain
from mercer.ensemble._histogram.field import Field
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.ensemble._histogram.team import Team

__all__ = ["Slopes"]

Array = Any
_NO_WEIGHT = np.empty(0)


class Slopes:
    """Follows the scores, which a team moves.

    Parameters
    ----------
    field : Field
    team : Team
    loss : BoostingLoss
    y : (n,)
    weight : (n,) or None
    scores : (n, k)

    Attributes
    ----------
    loss : BoostingLoss
        That of the next round.
    totals : list of 1 + 2 k floats
        The sums of the losses, then for each score those of the sizes of the gradients and of the curvatures.
    objective : float
        The mean loss.
    """

    def __init__(
        self, field: Field, team: Team, loss: BoostingLoss, y: Array, weight: Array | None, scores: Array
    ) -> None:
        k = scores.shape[1]
        self.field, self.team, self.y, self.weight, self.scores = field, team, y, weight, scores
        self._given, self._share = loss, _NO_WEIGHT if weight is None else weight
        self._total = float(field.n) if weight is None else float(weight.sum())
        self._gradients, self._sums = np.empty((k, field.n, 2)), np.empty((field.n_blocks, 1 + 2 * k))
        team.aim(self._gradients, scores, y, self._share, self._sums)
        if loss.native:
            with team.gathered():
                team.move(None, loss.native)
                team.finish()
        self.read()

    def read(self) -> None:
        """See what the scores have become; of losses with a compiled twin the team has looked at them."""
        self.loss = loss = self._given.renewed(self.scores, self.y, self.weight)
        sums = self._sums
        if not loss.native:
            sums = self.field.sums(loss.run, self.scores, self.y, self._share, self._gradients)
        boosting_gradients.fold(sums)
        self.totals = sums[0].tolist()
        self.objective = self.totals[0] / self._total

    def chance(self, output: int) -> float:
        """What a category gains by chance in the next tree of a score."""
        return chance_gain(self._gradients[output], self.weight)
