"""Losses of a network's output: those of ``mercer.objectives``, averaged over rows, and their derivatives."""

from dataclasses import dataclass
from typing import Any

from mercer._objective import find_loss, list_losses
from mercer._plain import plain
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.errors import DataError, ParameterError
from mercer.objectives import Loss, Softmax

# Losses by name. "log_loss" is softmax for several scores and logistic for one; "binary_log_loss" is logistic for each
# score, as targets of several labels need.
LOSSES = (*list_losses("numbers"), "log_loss", "binary_log_loss")


@plain
@dataclass(frozen=True)
class OutputLoss:
    """The mean loss of a network's outputs (n, k), or (n, time, k), and its derivative by them.

    Parameters
    ----------
    loss : Loss
        A loss of ``mercer.objectives``. One of a single score is applied to each output by itself, and a row's losses
        are added up.
    """

    loss: Loss

    def evaluate(self, scores: Array, y: Array, weight: Array | None = None) -> tuple[float, Array]:
        """Return the mean loss, weighted where `weight` is given, and its derivative by the scores."""
        value, residual = self.differentiate(scores, y, weight)
        return float(value), residual

    def differentiate(
        self, scores: Array, y: Array, weight: Array | None = None, total: float | None = None
    ) -> tuple[Array, Array]:
        """Return what :meth:`evaluate` does; the mean loss is an array of no axes, which stays where the scores are.

        `total` is the sum of the weights of the outputs, if it is known: then nothing waits for a device.
        """
        xp = namespace_of(scores)
        values, residual, rows = self._compare(scores, y, xp)
        if weight is None:
            total = float(rows)
        else:
            share = xp.reshape(weight, (-1,))
            if share.shape[0] != rows:
                # One weight for a sequence counts for all of its steps.
                share = xp.reshape(xp.broadcast_to(share[:, None], (share.shape[0], rows // share.shape[0])), (-1,))
            total = float(xp.sum(share)) if total is None else total
            values, residual = values * share, residual * share[:, None]
        if not total > 0.0:
            raise DataError("the weights of a batch must have a positive sum; got 0. Drop rows of weight zero.")
        return xp.sum(values) / total, xp.reshape(residual / total, scores.shape)

    def _compare(self, scores: Array, y: Array, xp: Any) -> tuple[Array, Array, int]:
        """Return the loss (m,) and its residual (m, k) at every output, m rows or steps."""
        k = int(scores.shape[-1])
        flat = xp.reshape(scores, (-1, k))
        # One target with k scores, as softmax has it.
        if self.loss.n_scores == k:
            targets = xp.astype(xp.reshape(y, (-1,)), flat.dtype, copy=False)
            self._check(int(targets.shape[0]), int(flat.shape[0]))
            values = self.loss.value(flat, targets, xp, checked=True)
            return values, self.loss.residual(flat, targets, xp, checked=True), int(flat.shape[0])
        if self.loss.n_scores != 1:
            raise ParameterError(
                f"{type(self.loss).__name__}: the network must have {self.loss.n_scores} outputs, one for each score; "
                f"got {k}. Change the units of the last layer."
            )
        # Each output by itself: one long column.
        targets = xp.astype(xp.reshape(y, (-1,)), flat.dtype, copy=False)
        column = xp.reshape(flat, (-1, 1))
        self._check(int(targets.shape[0]), int(column.shape[0]))
        values = xp.reshape(self.loss.value(column, targets, xp, checked=True), (-1, k))
        residual = xp.reshape(self.loss.residual(column, targets, xp, checked=True), (-1, k))
        return xp.sum(values, axis=1), residual, int(flat.shape[0])

    @staticmethod
    def _check(n_targets: int, n_scores: int) -> None:
        if n_targets != n_scores:
            raise DataError(
                f"the network's outputs and the targets must have one length; got {n_scores} outputs and {n_targets} "
                f"targets. Change the units of the last layer, or the shape of y."
            )


def read_loss(loss: Any, n_outputs: int) -> OutputLoss:
    """Return the loss of a name, or of an object of ``mercer.objectives``, for this number of outputs."""
    if isinstance(loss, OutputLoss):
        return loss
    if isinstance(loss, Loss):
        return OutputLoss(loss)
    if loss not in LOSSES:
        known = ", ".join(map(repr, LOSSES))
        raise ParameterError(f"loss must be one of {known} or a loss of mercer.objectives; got {loss!r}.")
    # Two classes need one score: softmax of (0, z) is the logistic function of z.
    if loss == "log_loss" and n_outputs > 1:
        return OutputLoss(Softmax(n_outputs))
    return OutputLoss(find_loss("logistic" if loss == "binary_log_loss" else loss))
