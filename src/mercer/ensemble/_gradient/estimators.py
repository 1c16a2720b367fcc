"""Gradient boosting of exact trees, for classification and for regression."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from mercer._base.loss_rules import NUMBER_LOSSES
from mercer._base.parameter import Choice, Real, parameter
from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._documentation import compose_docstring
from mercer._objective import Exponential, Logistic, Softmax, find_loss
from mercer._stored import Stored, size
from mercer._types import Array
from mercer.ensemble._gradient.model import SHARED, GradientModel
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.ensemble._histogram.scores import squeeze_scores
from mercer.errors import DataError

# Keeps probabilities away from 0 and 1, where the log-odds are infinite.
_TINY = np.finfo(np.float64).eps


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


class GradientBoostingClassifier(ClassifierMixin, GradientModel):
    r"""Gradient boosting of classification trees, with exact splits.

    The scores of a row are a start plus M rounds of trees, :math:`F_k(x) = F_{k0}(x) + \nu \sum_m f_{km}(x)`: with two
    classes one score, with more one for each, whose softmax gives the probabilities. The splits of a tree are those of
    least squares for the negative gradients of the loss at the scores so far,

    .. math:: r_i = - \partial L(y_i, F) / \partial F \,|_{F = F_{m-1}(x_i)} ,

    and the value of a leaf is a Newton step for its rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    n_classes_ : int
        The number of labels.
    estimators_ : ndarray of DecisionTreeRegressor of shape (n_estimators_, n_trees_per_iteration_)
        The trees.
    %(attributes)s

    Notes
    -----
    A round costs O(n d) for each level of a tree, after sorting every column once: exact, for thousands of rows. For
    more, :class:`HistGradientBoostingClassifier` is faster. Missing values (NaN) go to the side that gains more. Rows
    must be in memory; sparse ones are read by column. Weights are repetitions; rows of weight zero are left out.

    References
    ----------
    J. H. Friedman, Greedy function approximation: a gradient boosting machine, 2001.
    J. H. Friedman, Stochastic gradient boosting, 2002.

    Examples
    --------
    >>> from mercer.ensemble import GradientBoostingClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.96
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    loss: str = parameter(
        Choice("log_loss", "exponential"),
        default="log_loss",
        doc="The loss; ``'exponential'``, the loss of AdaBoost, is for two classes.",
    )

    _documents = {
        "init": "The estimator whose predictions are the first scores; None means the shares of the classes.",
    }

    _initial_method = "predict_proba"

    _stored: ClassVar[dict[str, Stored]] = {
        "n_classes_": size("classes"),
    }

    def _choose_loss(self, n_classes: int) -> BoostingLoss:
        if self.loss == "exponential" and n_classes > 2:
            raise DataError(
                f"{type(self).__name__}: loss='exponential' is only suitable for a binary classification problem; got "
                f"{n_classes} classes. Use loss='log_loss'."
            )
        if self.loss == "exponential":
            return BoostingLoss(Exponential())
        return BoostingLoss(Logistic() if n_classes == 2 else Softmax(n_classes))

    def _encode_targets(self, y: Array) -> tuple[Array, dict[str, Any]]:
        classes, indices = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise DataError(
                f"{type(self).__name__}: y contains {len(classes)} class after sample_weight trimmed classes with zero "
                f"weights, while a minimum of 2 classes are required. Add rows of another class."
            )
        return indices.astype(np.float64), {"classes_": classes, "n_classes_": len(classes)}

    def _fit_constant(self, X: Array, y: Array, weight: Array | None, baseline: Array) -> Any:
        from sklearn.dummy import DummyClassifier

        return DummyClassifier(strategy="prior").fit(X, y, sample_weight=weight)

    def _link(self, predictions: Array, loss: BoostingLoss) -> Array:
        shares = np.clip(np.asarray(predictions, dtype=np.float64), _TINY, 1 - _TINY)
        return loss.loss.link(shares if loss.n_scores > 1 else shares[:, 1:], np)

    def decision_function(self, X: Any) -> Array:
        """Return the scores: with two classes that of the second, with more one for each."""
        return squeeze_scores(self._score_rows(X))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        return self._choose_labels(self._score_rows(X))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class."""
        scores = self._score_rows(X)
        return self._loss_used.inverse_link(scores)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _choose_labels(self, scores: Array) -> Array:
        index = (scores[:, 0] >= 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_.take(index)

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the scores after each round."""
        for scores in self._stage_scores(X):
            yield squeeze_scores(scores)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the labels after each round."""
        for scores in self._stage_scores(X):
            yield self._choose_labels(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Yield the probabilities after each round."""
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
        leaves : ndarray of shape (n_samples, n_estimators_, n_trees_per_iteration_)
        """
        return self._find_leaves(X)
