"""Gradient boosting of regression trees on binned columns."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from mercer._base.loss_rules import NUMBER_LOSSES
from mercer._base.parameter import Nothing, Real, parameter
from mercer._base.scoring import RegressorMixin
from mercer._documentation import compose_docstring
from mercer._objective import Pinball, find_loss
from mercer._source import Source
from mercer._types import Array
from mercer.ensemble._histogram.boosting import SHARED, HistBoosting
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.ensemble._histogram.rows import Targets, read_column
from mercer.errors import DataError, ParameterError


class HistGradientBoostingRegressor(RegressorMixin, HistBoosting):
    r"""Gradient boosting of regression trees on binned columns.

    The score of a row is a constant plus M trees, :math:`F(x) = F_0 + \nu \sum_m f_m(x)`. Each tree is grown on the
    gradients :math:`g_i` and curvatures :math:`h_i` of the loss at the scores so far. With :math:`G` and :math:`H`
    their sums over a node, weighted, a split is chosen by its gain

    .. math:: \frac{G_l^2}{H_l + \lambda} + \frac{G_r^2}{H_r + \lambda} - \frac{G^2}{H + \lambda} ,

    and a leaf has the value :math:`-G / (H + \lambda)`, or with losses of absolute residuals the optimum for its rows.

    Attributes
    ----------
    %(attributes_and_notes)s

    Examples
    --------
    >>> from mercer.ensemble import HistGradientBoostingRegressor
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(1200, noise=0.1, random_state=0)
    >>> model = HistGradientBoostingRegressor(random_state=0).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 2)
    0.97
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    loss: Any = parameter(
        NUMBER_LOSSES,
        default="squared_error",
        kw_only=False,
        doc="The loss, by name or as an object of :mod:`mercer.objectives`; with ``'gamma'`` and ``'poisson'`` the "
        "score is the logarithm of the mean. It must be convex.",
    )
    quantile: float | None = parameter(
        Real(0, 1) | Nothing(),
        default=None,
        doc="The quantile of ``loss='quantile'``; with ``'huber'`` the share of the residuals whose loss is "
        "squared, while that of larger ones is linear, found again in each round. None means 0.9 there.",
    )
    _options: ClassVar[dict[str, Any]] = {"multi_output": False}

    def _choose_loss(self, targets: Targets) -> BoostingLoss:
        if self.loss == "quantile":
            if self.quantile is None:
                raise ParameterError(
                    f"{type(self).__name__}: quantile must be a number in [0, 1] with loss='quantile'; got None."
                )
            return BoostingLoss(Pinball(float(self.quantile)))
        adaptive = 0.9 if self.quantile is None else float(self.quantile)
        return BoostingLoss(find_loss(self.loss), adaptive if self.loss == "huber" else None)

    def _read_targets(self, source: Source) -> Targets:
        y = read_column(source, "y")
        if y.ndim > 1:
            raise DataError(
                f"{type(self).__name__}: y should be a 1d array; got shape {y.shape}. Fit one model per column."
            )
        y = y.astype(np.float64)
        loss = find_loss(self.loss)
        if loss.above_least and not np.all(y > loss.least_target):
            raise DataError(
                f"{type(self).__name__}: loss={self.loss!r} requires strictly positive y. Got {y.min():g}; shift y."
            )
        if loss.least_target == 0.0 and not (np.all(y >= 0) and y.sum() > 0):
            raise DataError(
                f"{type(self).__name__}: loss={self.loss!r} requires non-negative y and sum(y) > 0. Got the least "
                f"value {y.min():g}; drop the rows of negative targets."
            )
        return Targets(type(self).__name__, y, read_column(source, "weight") if source.has_weight else None)

    def predict(self, X: Any) -> Array:
        """Return the predicted mean, median or quantile of each row."""
        self._check_fitted()
        return self._predict(X, self._loss_used.inverse_link)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predictions after each round."""
        for scores in self._stage_scores(X):
            yield self._loss_used.inverse_link(scores)
