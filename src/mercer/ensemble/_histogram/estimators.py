"""Gradient boosting of trees on binned columns, for classification and for regression."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from mercer._base.loss_rules import NUMBER_LOSSES
from mercer._base.parameter import Choice, Instance, Nothing, Real, parameter
from mercer._base.scoring import ClassifierMixin, RegressorMixin
from mercer._documentation import compose_docstring
from mercer._objective import Exponential, Logistic, Pinball, Softmax, find_loss
from mercer._source import Source
from mercer._types import Array
from mercer.ensemble._histogram.boosting import SHARED, HistBoosting
from mercer.ensemble._histogram.losses import BoostingLoss
from mercer.ensemble._histogram.rows import Targets, encode_labels, read_column
from mercer.ensemble._histogram.scores import Labels, squeeze_scores
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


class HistGradientBoostingClassifier(ClassifierMixin, HistBoosting):
    r"""Gradient boosting of classification trees on binned columns.

    The scores of a row are constants plus M rounds of trees, :math:`F_k(x) = F_{k0} + \nu \sum_m f_{km}(x)`: with two
    classes one score, the log-odds of the second; with more, one for each, whose softmax gives the probabilities. Each
    tree is grown on the gradients and curvatures of the log-loss at the scores so far. With :math:`G` and :math:`H`
    their sums over a node, weighted, a split is chosen by its gain

    .. math:: \frac{G_l^2}{H_l + \lambda} + \frac{G_r^2}{H_r + \lambda} - \frac{G^2}{H + \lambda} ,

    and a leaf has the value :math:`-G / (H + \lambda)`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    %(attributes_and_notes)s

    Examples
    --------
    >>> from mercer.ensemble import HistGradientBoostingClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HistGradientBoostingClassifier(random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.95
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    loss: str = parameter(
        Choice("log_loss", "exponential"),
        default="log_loss",
        kw_only=False,
        doc="The loss; ``'exponential'``, the loss of AdaBoost, is for two classes.",
    )
    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict) | Nothing(),
        default=None,
        after="random_state",
        doc="Factors of the weights of the rows of each class; with ``'balanced'`` all classes have the same total "
        "weight.",
    )
    _targets = "labels"

    def _choose_loss(self, targets: Targets) -> BoostingLoss:
        n_classes = len(targets.classes)
        if self.loss == "exponential":
            if n_classes > 2:
                raise DataError(
                    f"{type(self).__name__}: loss='exponential' is only suitable for a binary classification problem; "
                    f"got {n_classes} classes. Use loss='log_loss'."
                )
            return BoostingLoss(Exponential())
        return BoostingLoss(Logistic() if n_classes == 2 else Softmax(n_classes))

    def _read_targets(self, source: Source) -> Targets:
        name, labels = type(self).__name__, read_column(source, "y")
        weight = read_column(source, "weight") if source.has_weight else None
        distinct = _list_distinct(labels)
        # Checking the distinct labels is enough and saves a pass.
        check_classification_targets(distinct)
        weighted = labels if weight is None else labels[weight > 0]
        classes = distinct if weight is None else _list_distinct(weighted)
        if len(classes) < 2:
            raise DataError(
                f"{name}: rows of at least 2 classes are needed, but those of positive weight have only one class: "
                f"{classes.tolist()[0]!r}. Add rows of another."
            )
        if self.class_weight is not None:
            by_class = compute_class_weight(self.class_weight, classes=classes, y=weighted, sample_weight=None)
            # Labels that occur with weight zero only have no class; their factor does not matter.
            factor = by_class[np.searchsorted(classes, labels).clip(0, len(classes) - 1)]
            weight = factor if weight is None else factor * weight
        return Targets(name, encode_labels(name, labels, classes, weight), weight, classes)

    def decision_function(self, X: Any) -> Array:
        """Return the scores: with two classes that of the second, with more one for each."""
        self._check_fitted()
        return self._predict(X, squeeze_scores)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class."""
        self._check_fitted()
        return self._predict(X, self._loss_used.inverse_link)

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        self._check_fitted()
        return self._predict(X, Labels(self.classes_))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the scores after each round."""
        for scores in self._stage_scores(X):
            yield squeeze_scores(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Yield the probabilities after each round."""
        for scores in self._stage_scores(X):
            yield self._loss_used.inverse_link(scores)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the labels after each round."""
        for scores in self._stage_scores(X):
            yield Labels(self.classes_)(scores)


def _list_distinct(labels: Array) -> Array:
    """Return the distinct labels, sorted."""
    # Where the first rows have two labels, comparing all rows with them is faster than sorting.
    first = np.unique(labels[:1000])
    if len(first) == 2 and np.all((labels == first[0]) | (labels == first[1])):
        return first
    return np.unique(labels)
