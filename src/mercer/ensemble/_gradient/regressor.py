"""Gradient boosting of exact regression trees."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._base.loss_rules import NUMBER_LOSSES
from mercer._base.parameter import Real, parameter
from mercer._base.scoring import RegressorMixin
from mercer._documentation import compose_docstring
from mercer._objective import find_loss
from mercer._types import Array
from mercer.ensemble._gradient.model import SHARED, GradientModel
from mercer.ensemble._histogram.losses import BoostingLoss


class GradientBoostingRegressor(RegressorMixin, GradientModel):
    r"""Gradient boosting of regression trees, with exact splits.

    The prediction is a start plus M trees, :math:`F(x) = F_0(x) + \nu \sum_m f_m(x)`. The splits of a tree are those of
    least squares for the negative gradients of the loss at the scores so far,

    .. math:: r_i = - \partial L(y_i, F) / \partial F \,|_{F = F_{m-1}(x_i)} ,

    and the value of a leaf is the one of least loss for its rows (for ``'huber'``, one step towards it).

    Attributes
    ----------
    estimators_ : ndarray of DecisionTreeRegressor of shape (n_estimators_, 1)
        The trees.
    %(attributes)s

    Notes
    -----
    A round costs O(n d) for each level of a tree, after sorting every column once: exact, for thousands of rows. For
    more, :class:`HistGradientBoostingRegressor` is faster. Missing values (NaN) go to the side that gains more. Rows
    must be in memory; sparse ones are read by column. Weights are repetitions; rows of weight zero are left out.

    References
    ----------
    J. H. Friedman, Greedy function approximation: a gradient boosting machine, 2001.
    J. H. Friedman, Stochastic gradient boosting, 2002.

    Examples
    --------
    >>> from mercer.ensemble import GradientBoostingRegressor
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(400, random_state=0)
    >>> model = GradientBoostingRegressor().fit(X[:200], y[:200])
    >>> round(model.score(X[200:], y[200:]), 1)
    0.9
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    loss: Any = parameter(
        NUMBER_LOSSES,
        default="squared_error",
        doc="The loss, by name or as an object of :mod:`mercer.objectives`. ``'huber'`` is squared for residuals up "
        "to their quantile `alpha`, which is found again in each round, and linear beyond.",
    )
    alpha: float = parameter(
        Real(0, 1, closed="neither"),
        default=0.9,
        after="max_features",
        doc="The quantile of ``'quantile'`` and ``'huber'``.",
    )

    _documents = {
        "init": "The estimator whose predictions are the first scores; None means the best constant.",
    }

    def _choose_loss(self, n_classes: int) -> BoostingLoss:
        # Of the losses only these two read `alpha`.
        return BoostingLoss(
            find_loss(self.loss, quantile=float(self.alpha)), self.alpha if self.loss == "huber" else None
        )

    def _encode_targets(self, y: Array) -> tuple[Array, dict[str, Any]]:
        y, loss = np.asarray(y, dtype=np.float64), find_loss(self.loss)
        if len(y) and loss.least_target > -np.inf:
            # The public form checks the range of the targets.
            loss.value(np.zeros(1), y[y.argmin()][None])
        return y, {}

    def _fit_constant(self, X: Array, y: Array, weight: Array | None, baseline: Array) -> Any:
        from sklearn.dummy import DummyRegressor

        mean = find_loss(self.loss).mean(baseline, np, checked=True)
        return DummyRegressor(strategy="constant", constant=float(mean[0])).fit(X, y)

    def _link(self, predictions: Array, loss: BoostingLoss) -> Array:
        return loss.loss.link(np.asarray(predictions, dtype=np.float64).reshape(-1, 1), np)

    def predict(self, X: Any) -> Array:
        """Return the prediction of each row."""
        scores = self._score_rows(X)
        return self._loss_used.inverse_link(scores)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predictions after each round."""
        for scores in self._stage_scores(X):
            yield self._loss_used.inverse_link(scores)

    def apply(self, X: Any) -> Array:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators_)
        """
        return self._find_leaves(X)[:, :, 0]
