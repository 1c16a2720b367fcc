"""Gradient boosting of trees on binned columns: the classifier and the regressor."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from mercer._base import fitting
from mercer._base.parameter import Choice, Instance, Nothing, Real, Rule
from mercer._source import Source
from mercer.ensemble._hist_boosting import HistBoosting, _column
from mercer.ensemble._hist_losses import (
    AbsoluteLoss,
    BoostingLoss,
    GammaLoss,
    LogisticLoss,
    PoissonLoss,
    QuantileLoss,
    SoftmaxLoss,
    SquaredLoss,
)
from mercer.errors import DataError, ParameterError

__all__ = ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"]

Array = Any


class HistGradientBoostingRegressor(RegressorMixin, HistBoosting):
    """TODO."""

    _parameters: ClassVar[dict[str, Rule]] = {
        "loss": Choice("squared_error", "absolute_error", "gamma", "poisson", "quantile"),
        "quantile": Real(0, 1) | Nothing(),
        **HistBoosting._shared_parameters,
    }

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        quantile: float | None = None,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        early_stopping: Any = "auto",
        scoring: Any = "loss",
        validation_fraction: Any = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        verbose: int = 0,
        random_state: Any = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.quantile = quantile
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.max_time = max_time
        self.n_jobs = n_jobs

    @fitting
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> "HistGradientBoostingRegressor":
        """Fit.

        Parameters
        ----------
        X : array-like of shape (n, d), or rows in any place
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
        X_val, y_val, sample_weight_val : default=None
            Rows for early stopping, in place of a part of `X`.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, (X_val, y_val, sample_weight_val))
        return self

    def _loss(self) -> BoostingLoss:
        if self.loss == "quantile":
            if self.quantile is None:
                message = f"{type(self).__name__}: quantile must be a number in [0, 1] with loss='quantile'; got None."
                raise ParameterError(message)
            return QuantileLoss(float(self.quantile))
        losses = {"absolute_error": AbsoluteLoss, "gamma": GammaLoss, "poisson": PoissonLoss}
        return losses.get(self.loss, SquaredLoss)()

    def _known_targets(self, source: Source) -> tuple[Array, Array | None, dict[str, Any]]:
        y = _column(source, "y")
        if y.ndim > 1:
            message = f"{type(self).__name__}: y should be a 1d array; got shape {y.shape}. Fit one model per column."
            raise DataError(message)
        y = y.astype(np.float64)
        if self.loss == "gamma" and not np.all(y > 0):
            message = f"{type(self).__name__}: loss='gamma' requires strictly positive y. Got {y.min():g}; shift y."
            raise DataError(message)
        if self.loss == "poisson" and not (np.all(y >= 0) and y.sum() > 0):
            message = (
                f"{type(self).__name__}: loss='poisson' requires non-negative y and sum(y) > 0. Got the least value "
                f"{y.min():g}; drop the rows that are no counts."
            )
            raise DataError(message)
        return y, _column(source, "weight") if source.has_weight else None, {}

    def predict(self, X: Any) -> Array:
        """Return the predicted mean, median or quantile of each row.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        y : ndarray of shape (n,)
        """
        scores = self._raw_predict(X)
        return self._loss_used.inverse_link(scores)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Give the predictions after each round."""
        for scores in self._staged_raw(X):
            yield self._loss_used.inverse_link(scores)


class HistGradientBoostingClassifier(ClassifierMixin, HistBoosting):
    """TODO."""

    _targets = "labels"
    _parameters: ClassVar[dict[str, Rule]] = {
        "loss": Choice("log_loss"),
        **HistBoosting._shared_parameters,
        "class_weight": Choice("balanced") | Instance(dict) | Nothing(),
    }

    def __init__(
        self,
        loss: str = "log_loss",
        *,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        early_stopping: Any = "auto",
        scoring: Any = "loss",
        validation_fraction: Any = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        verbose: int = 0,
        random_state: Any = None,
        class_weight: Any = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.class_weight = class_weight
        self.max_time = max_time
        self.n_jobs = n_jobs

    @fitting
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> "HistGradientBoostingClassifier":
        """Fit.

        Parameters
        ----------
        X : array-like of shape (n, d), or rows in any place
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
        X_val, y_val, sample_weight_val : default=None
            Rows for early stopping, in place of a part of `X`.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, (X_val, y_val, sample_weight_val))
        return self

    def _loss(self) -> BoostingLoss:
        n_classes = len(self.classes_)
        return LogisticLoss() if n_classes == 2 else SoftmaxLoss(n_classes)

    def _known_targets(self, source: Source) -> tuple[Array, Array | None, dict[str, Any]]:
        labels = _column(source, "y")
        check_classification_targets(labels)
        weight = _column(source, "weight") if source.has_weight else None
        seen = labels if weight is None else labels[weight > 0]
        self.classes_ = np.unique(seen)
        if len(self.classes_) < 2:
            message = (
                f"{type(self).__name__}: rows of at least 2 classes are needed, but those of positive weight have only "
                f"one class: {self.classes_.tolist()[0]!r}. Add rows of another."
            )
            raise DataError(message)
        if self.class_weight is not None:
            by_class = compute_class_weight(self.class_weight, classes=self.classes_, y=seen, sample_weight=None)
            factor = by_class[np.searchsorted(self.classes_, labels).clip(0, len(self.classes_) - 1)]
            weight = factor if weight is None else factor * weight
        return self._validation_targets(labels, weight), weight, {"classes_": self.classes_}

    def _validation_targets(self, y: Array, weight: Array | None = None) -> Array:
        numbers = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        unknown = self.classes_[numbers] != y
        if weight is not None:
            unknown &= weight > 0
        if unknown.any():
            message = (
                f"{type(self).__name__}: the validation rows must have labels of the training rows; got "
                f"{np.unique(y[unknown]).tolist()}, known are {self.classes_.tolist()}. Drop those rows."
            )
            raise DataError(message)
        return numbers.astype(np.float64)

    def _as_given(self, y: Array, known: dict[str, Any]) -> Array:
        return known["classes_"][y.astype(int)]

    def decision_function(self, X: Any) -> Array:
        """Return the scores: of two classes one, for the second; of more, one each.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        scores : ndarray of shape (n,) or (n, n_classes)
        """
        scores = self._raw_predict(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
        """
        return self._loss_used.inverse_link(self._raw_predict(X))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        return self._chosen(self._raw_predict(X))

    def _chosen(self, scores: Array) -> Array:
        numbers = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[numbers]

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Give the scores after each round."""
        for scores in self._staged_raw(X):
            yield scores[:, 0] if scores.shape[1] == 1 else scores

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Give the probabilities after each round."""
        for scores in self._staged_raw(X):
            yield self._loss_used.inverse_link(scores)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Give the labels after each round."""
        for scores in self._staged_raw(X):
            yield self._chosen(scores)
