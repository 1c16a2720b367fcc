"""What a fitted perceptron says of classes: labels, probabilities, the score, and the temperature."""

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit as scipy_expit
from sklearn.utils.metaestimators import available_if

from mercer._base.scoring import ClassifierMixin
from mercer._source import Source, place_of
from mercer._source.namespace import namespace_of
from mercer._types import Array
from mercer.errors import DataError
from mercer.neural_network._layers.activations import expit
from mercer.neural_network._layers.losses import read_loss
from mercer.objectives import Logistic, Softmax


def _knows_probabilities(model: Any) -> bool:
    if model.loss != "log_loss" and not isinstance(model.loss, Logistic | Softmax):
        raise AttributeError(f"probability estimates are not available for loss={model.loss!r}")
    return True


class ClassPredictions(ClassifierMixin):
    """Predictions of classes from the outputs of a network."""

    loss: Any
    classes_: np.ndarray
    temperature_: float
    _several_labels: bool

    def _decide(self, outputs: Array) -> Array:
        """Return the numbers of the classes; zeros and ones for several labels."""
        xp = namespace_of(outputs)
        if outputs.shape[1] == 1:
            return xp.astype(outputs[:, 0] > 0, outputs.dtype)
        if getattr(self, "_several_labels", False):
            return xp.astype(outputs > 0, outputs.dtype)
        return xp.argmax(outputs, axis=1)

    def _score(self, y: Array, predicted: Array, weight: Array | None) -> float:
        xp = namespace_of(predicted)
        right = predicted == y
        if right.ndim == 2:
            right = xp.all(right, axis=1)
        if weight is None:
            return float(xp.count_nonzero(right)) / right.shape[0]
        return float(xp.sum(xp.astype(right, weight.dtype) * weight) / xp.sum(weight))

    def predict(self, X: Any) -> Array:
        """Predict the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,) or (n, n_labels)
            Labels out of ``classes_``; zeros and ones for several labels.
        """
        return self._map(X, self._name_classes)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose predicted class is their own.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d), or rows in any other place
            The rows.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Their weights.

        Returns
        -------
        float
            The accuracy.
        """
        if place_of(X, y) == "memory":
            return super().score(X, y, sample_weight)
        return self._score_elsewhere(X, y, sample_weight, self._name_classes, "labels")

    def _name_classes(self, outputs: Array) -> Array:
        if type(outputs) is np.ndarray and outputs.shape[1] == 1 and self.classes_.shape[0] == 2:
            # Truth values are numbers of classes: some microseconds less for one row.
            return self.classes_[(outputs[:, 0] > 0).view(np.int8)]
        numbers, xp = self._decide(outputs), namespace_of(outputs)
        if numbers.ndim == 2:
            return xp.astype(numbers, xp.int64)
        if self.classes_.shape[0] == 1:
            return np.repeat(self.classes_, numbers.shape[0])
        numbers = xp.astype(numbers, xp.int64)
        return self.classes_[numbers] if xp is np else xp.take(self.classes_, numbers, axis=0)

    @available_if(_knows_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Compute the probability of each class for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Probabilities, in the order of ``classes_``; of each label by itself where a row may have several.
        """
        return self._map(X, self._share)

    @available_if(_knows_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Compute the logarithm of the probability of each class for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Log-probabilities.
        """
        probabilities = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return namespace_of(probabilities).log(probabilities)

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> "ClassPredictions":
        """Choose the temperature that the outputs are divided by, so that rows not seen in the fit are most likely.

        Predicted classes stay; probabilities that were too sure become milder (Guo et al., 2017).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows that were not used in the fit.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), default=None
            Their weights.

        Returns
        -------
        self
            The same estimator, with another ``temperature_``.
        """
        labels = np.asarray(y)
        if not np.isin(labels, self.classes_).all() or labels.ndim != 1 or self._several_labels:
            raise DataError(
                f"{type(self).__name__}: calibrate needs one known label for each row; got others. Drop those rows."
            )
        outputs = np.asarray(self._map(X, _keep_outputs), dtype=np.float64)
        numbers = np.searchsorted(self.classes_, labels).astype(np.float64)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        loss = read_loss("log_loss", outputs.shape[1])

        def measure(log_temperature: float) -> float:
            return loss.evaluate(outputs / np.exp(log_temperature), numbers, weight)[0]

        # The loss is convex in 1 / temperature, so it has one minimum; temperatures from 0.01 to 100.
        result = minimize_scalar(measure, bounds=(-4.6, 4.6), method="bounded", options={"xatol": 1e-8})
        self.temperature_ = float(np.exp(result.x))
        return self

    def _share(self, outputs: Array) -> Array:
        """Return probabilities from outputs."""
        xp = namespace_of(outputs)
        if self.temperature_ != 1.0:
            # A temperature above one makes probabilities milder.
            outputs = outputs * (1.0 / self.temperature_)
        if outputs.shape[1] == 1 and not self._several_labels:
            if xp is np and self.classes_.shape[0] > 1:
                return _share_two(outputs)
            own = expit(outputs, xp)
            return own if self.classes_.shape[0] == 1 else xp.concat([1.0 - own, own], axis=1)
        if self._several_labels:
            return expit(outputs, xp)
        if xp is np:
            # The same by methods of ufuncs: np.max and np.sum take 10 microseconds longer for one row.
            shares = outputs - np.maximum.reduce(outputs, axis=1, keepdims=True)
            np.exp(shares, out=shares)
            shares /= np.add.reduce(shares, axis=1, keepdims=True)
            return shares
        shares = xp.exp(outputs - xp.max(outputs, axis=1, keepdims=True))
        return shares / xp.sum(shares, axis=1, keepdims=True)

    def _labels(self, source: Source, given: dict[str, Any]) -> Any:
        if source.y is None or source.y.ndim == 2:
            return source.y
        return given["classes_"][source.y.astype(np.int64)]


def _share_two(outputs: np.ndarray) -> np.ndarray:
    """Return the probabilities of both classes from one column of logits, in place where it can be."""
    shares = np.empty((outputs.shape[0], 2), dtype=outputs.dtype)
    np.negative(outputs[:, 0], out=shares[:, 0])
    shares[:, 1] = outputs[:, 0]
    return scipy_expit(shares, out=shares)


def _keep_outputs(outputs: Array) -> Array:
    return outputs
