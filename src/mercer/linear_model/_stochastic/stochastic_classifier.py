"""Linear classifiers by stochastic gradients: one score for two classes, one class against the rest for more."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if

from mercer._base import fitting
from mercer._base.linear.classifier import LinearClassifier, label_classes
from mercer._base.parameter import Choice, Instance, Nothing, parameter
from mercer._base.validation import check_labels
from mercer._objective import Logistic
from mercer._solver import Outcome
from mercer._source import Block, Labelling, Source
from mercer._source.namespace import namespace_of
from mercer.errors import DataError, ParameterError
from mercer.linear_model._stochastic.stochastic import StochasticModel


def _knows_probabilities(model: Any) -> bool:
    if model.loss not in ("log_loss", "modified_huber"):
        raise AttributeError(f"probability estimates are not available for loss={model.loss!r}")
    return True


class StochasticClassifier(LinearClassifier, StochasticModel):
    """A classifier of one or several scores."""

    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict) | Nothing(),
        default=None,
        after="n_iter_no_change",
        doc='Factors of the rows of each class; "balanced" makes them inverse to the class frequencies.',
    )
    _takes_sparse = True
    _depends_on_units = ("columns", "scale", "place")

    @fitting
    def fit(
        self, X: Any, y: Any = None, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> "StochasticClassifier":
        """Fit the model.

        Parameters
        ----------
        coef_init : array-like of shape (1, d) or (n_classes, d), default=None
            Coefficients to start from.
        intercept_init : array-like of shape (1,) or (n_classes,), default=None
            Intercepts to start from.
        sample_weight : array-like of shape (n,), default=None
            Factors of the steps; a row of weight zero is as if absent.
        """
        self._check_together()
        source = self._open(X, y, sample_weight, targets="labels", accept_sparse="csr")
        classes, source = label_classes(self, source)
        descent = self._descent(True, source)
        n_scores = 1 if len(classes) == 2 else len(classes)
        start = self._begin(descent, n_scores, source.n_features, coef_init, intercept_init)
        outcome = self._learn(descent, start, self.max_iter, source, {"classes_": classes})
        self._certify(outcome, source)
        self._conclude(outcome, "raise max_iter or tol")
        return self

    @fitting
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> "StochasticClassifier":
        """Take one epoch over some rows, from where the last call or ``fit`` ended.

        Parameters
        ----------
        sample_weight : array-like of shape (n,), default=None
            Factors of the steps.
        """
        self._check_together(by_batches=True)
        first = not hasattr(self, "_state")
        classes = self._check_classes(classes, first)
        source = self._open(X, y, sample_weight, targets="labels", accept_sparse="csr", reset=first)
        if source.place == "memory":
            check_labels(source.y)
        source = source.relabel(_KnownLabels(classes, self._class_factors(classes)))
        descent = self._descent(True, source)
        if first:
            start = self._begin(descent, 1 if len(classes) == 2 else len(classes), source.n_features, None, None)
        else:
            start = self._state.resume(descent)
        outcome = self._learn(descent, start, start.epochs + 1, source, {"classes_": classes})
        if outcome.interrupt is not None:
            self._conclude(outcome)
        return self

    def _check_classes(self, classes: Any, first: bool) -> np.ndarray:
        name = type(self).__name__
        if first and classes is None:
            raise DataError(
                f"{name}: classes must be passed on the first call to partial_fit; got None. Give all labels."
            )
        given = self.classes_ if classes is None else np.unique(classes)
        if not first and not np.array_equal(given, self.classes_):
            raise DataError(
                f"{name}: classes={classes!r} is not the same as on last call to partial_fit, was: {self.classes_!r}. "
                f"Give the same, or none."
            )
        if len(given) < 2:
            raise DataError(
                f"{name}: The number of classes has to be greater than one; got {len(given)} class. Give all."
            )
        return given

    def _class_factors(self, classes: np.ndarray) -> np.ndarray | None:
        if self.class_weight == "balanced":
            raise ParameterError(
                f"{type(self).__name__}: class_weight 'balanced' is not supported for partial_fit. In order to use "
                f"'balanced' weights, use compute_class_weight('balanced', classes=classes, y=y). In place of y you "
                f"can use a large enough sample of the full training set target to properly estimate the class "
                f"frequency distributions. Pass the resulting weights as the class_weight parameter."
            )
        if self.class_weight is None:
            return None
        return compute_class_weight(self.class_weight, classes=classes, y=classes).astype(np.float64)

    @available_if(_knows_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute the probability of each class for each row, for the losses "log_loss" and "modified_huber".

        Returns
        -------
        ndarray of shape (n, n_classes)
            Probabilities, in the order of ``classes_``; with more than two classes each class's own probability
            against the rest, divided by their sum.
        """
        return self._map(X, _Shares(self.loss))

    @available_if(_knows_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Compute the logarithm of the probability of each class for each row.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Log-probabilities; minus infinity for the zeros of "modified_huber".
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _certify(self, outcome: Outcome, source: Source) -> None:
        """Look at what the fit left, where that certifies something."""

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        return None if source.y is None else given["classes_"][source.y.astype(np.int64)]


@dataclass(frozen=True, eq=False)
class _KnownLabels(Labelling):
    """Turns labels into class indices; raises an error if a label is not among the known classes."""

    def on(self, block: Block) -> Block:
        known = np.isin(block.y, self.classes)
        if not known.all():
            strange = np.unique(np.asarray(block.y)[~known])
            raise DataError(
                f"partial_fit: y holds labels that are not among the classes of the first call; got {strange[:5]!r}, "
                f"known are {self.classes!r}. Name all classes in the first call."
            )
        return super().on(block)


@dataclass(frozen=True, eq=False)
class _Shares:
    """Probabilities from scores, one class against the rest."""

    loss: str

    def __call__(self, scores: Any, dtype: Any) -> Any:
        xp = namespace_of(scores)
        if self.loss == "log_loss":
            # One score for each class against the rest: the formula holds column by column.
            own, other = (Logistic().mean(signed, xp, checked=True) for signed in (scores, -scores))
        else:
            own = (xp.clip(scores, -1.0, 1.0) + 1.0) / 2.0
            other = 1.0 - own
        if scores.shape[1] == 1:
            return xp.concat([other, own], axis=1)
        total = xp.sum(own, axis=1, keepdims=True)
        # No class has a positive share: give all the same probability.
        return xp.where(total > 0, own / xp.where(total > 0, total, xp.ones_like(total)), 1.0 / scores.shape[1])
