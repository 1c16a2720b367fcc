"""Classification by a multilayer perceptron."""

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit as scipy_expit
from sklearn.utils.metaestimators import available_if

from mercer._base import fitting
from mercer._base.calibrating import fit_temperature
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Instance, Integer, Nothing, attribute, parameter
from mercer._base.scoring import ClassifierMixin
from mercer._documentation import compose_docstring
from mercer._solver import Outcome
from mercer._source import Source, place_of
from mercer._source.namespace import namespace_of
from mercer._stored import Stored, flags, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.neural_network._layers.activations import ACTIVATIONS, expit
from mercer.neural_network._layers.losses import OutputLoss, read_loss
from mercer.neural_network._perceptron.documentation import SHARED
from mercer.neural_network._perceptron.labels import (
    KnownLabels,
    check_classes,
    count_outputs,
    is_multilabel,
    label_rows,
    read_factors,
)
from mercer.neural_network._perceptron.perceptron import PerceptronModel, is_stochastic
from mercer.neural_network._perceptron.plan import Plan
from mercer.neural_network._perceptron.state import PerceptronState
from mercer.objectives import Logistic, Loss, Softmax

# The least temperature that `calibrate` chooses; the largest is its inverse.
_COLDEST = 0.01


def _knows_probabilities(model: Any) -> bool:
    if model.loss != "log_loss" and not isinstance(model.loss, Logistic | Softmax):
        raise AttributeError(f"probability estimates are not available for loss={model.loss!r}")
    return True


def _share_two(outputs: np.ndarray) -> np.ndarray:
    """Return the probabilities of both classes from one column of logits, in place where it can be."""
    shares = np.empty((outputs.shape[0], 2), dtype=outputs.dtype)
    np.negative(outputs[:, 0], out=shares[:, 0])
    shares[:, 1] = outputs[:, 0]
    return scipy_expit(shares, out=shares)


def _keep_outputs(outputs: Array) -> Array:
    return outputs


class MLPClassifier(ClassifierMixin, PerceptronModel):
    """A multilayer perceptron for classification: dense layers with a softmax or logistic output.

    Minimises the penalised mean cross-entropy of the outputs of
    :math:`a^{(l)} = g(a^{(l-1)} W^{(l)} + b^{(l)})`,

    .. math:: \\frac{1}{S} \\Big(\\sum_i s_i \\ell(f(x_i), y_i)
              + \\frac{\\alpha}{q} \\sum_{l} \\lVert W^{(l)} \\rVert_q^q\\Big)

    with S the sum of the weights of a batch, g the `activation` and q the `penalty_power`. Two classes have one
    logistic output, more have a softmax, and several labels for a row (a matrix y of zeros and ones) have a logistic
    output each.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    %(coefs_to_t)s
    temperature_ : float
        What the outputs are divided by before probabilities are made; 1 unless `calibrate` changed it.

    Notes
    -----
    %(notes)s

    References
    ----------
    %(references)s

    Examples
    --------
    >>> from mercer.neural_network import MLPClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MLPClassifier((16,), solver="lbfgs", alpha=0.1, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    hidden_layer_sizes: Any = parameter(
        ArrayRule("integers") | Integer(1),
        default=(100,),
        kw_only=False,
        doc="The widths of the hidden layers; an empty tuple gives a linear model.",
    )
    activation: str = parameter(
        Choice(*(name for name in ACTIVATIONS if name != "step")),
        default="relu",
        kw_only=False,
        doc="The activation function of the hidden layers.",
    )
    loss: Any = parameter(
        Choice("log_loss") | Instance(Loss),
        default="log_loss",
        after="max_fun",
        doc='The loss of the outputs, by name or of ``mercer.objectives``; only "log_loss", Logistic and Softmax '
        "give probabilities.",
    )
    class_weight: Any = parameter(
        Choice("balanced") | Instance(dict) | Nothing(),
        default=None,
        doc='Factors of the weights of the rows of each class; "balanced" makes them inverse to the class frequencies.',
    )

    _stored: ClassVar[dict[str, Stored]] = {
        "temperature_": floats(),
        "_several_labels": flags(),
    }

    classes_: np.ndarray = attribute()
    temperature_: float = attribute()
    _several_labels: bool = attribute()
    _depends_on_units = ("columns", "scale", "place")

    @fitting
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> "MLPClassifier":
        """Fit the network.

        Parameters
        ----------
        y : array-like of shape (n,) or (n, n_labels)
            Their labels; a matrix of zeros and ones where a row may have several.
        X_val, y_val, sample_weight_val : default=None
            Rows that `early_stopping` judges by, in place of a part of `X`.
        """
        self._check_together()
        source, coding = self._open_training(X, y, sample_weight, "labels", True)
        classes, source = label_rows(self, source)
        validation = self._open_validation(X_val, y_val, sample_weight_val, "labels", coding, classes)
        if self.warm_start and hasattr(self, "classes_") and not np.array_equal(classes, self.classes_):
            raise DataError(
                f"{type(self).__name__}: warm_start can only be used where `y` has the same classes as in the previous "
                f"call to fit. Previously got {self.classes_}, `y` has {classes}."
            )
        outcome = self._train(source, coding, self._choose_loss(classes, source), classes, validation)
        self._conclude(outcome, "raise max_iter or tol")
        return self

    @available_if(is_stochastic)
    @fitting
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "MLPClassifier":
        """Take one epoch over some rows, from where the last call or ``fit`` ended."""
        first = self._check_partial()
        source, coding = self._open_training(X, y, sample_weight, "labels", first)
        classes = check_classes(self, classes, first, source)
        if not is_multilabel(source):
            source = source.relabel(KnownLabels(classes, read_factors(self, classes)))
        outcome = self._train(source, coding, self._choose_loss(classes, source), classes, is_part=True)
        self.n_iter_ = outcome.state.epochs
        if outcome.interrupt is not None:
            self._conclude(outcome)
        return self

    def _train(
        self,
        source: Source,
        coding: Any,
        loss: OutputLoss,
        classes: np.ndarray,
        validation: Any = None,
        is_part: bool = False,
    ) -> Outcome[PerceptronState]:
        """Run the fit, or one epoch of it, over labelled rows."""
        known = {"classes_": classes, "temperature_": 1.0}
        return self._take_epochs(source, coding, count_outputs(classes, source), loss, known, validation, is_part)

    def _choose_loss(self, classes: np.ndarray, source: Source) -> OutputLoss:
        several = is_multilabel(source)
        # The logistic loss of more than two classes is the cross-entropy of softmax: a row has one of them.
        named = self.loss == "log_loss" or (isinstance(self.loss, Logistic) and not several)
        if not named:
            return OutputLoss(self.loss)
        return read_loss("binary_log_loss" if several else "log_loss", count_outputs(classes, source))

    def _name_output(self, plan: Plan) -> str:
        return "softmax" if isinstance(plan.loss.loss, Softmax) else "logistic"

    def _read_state(self, state: Any, plan: Plan) -> dict[str, Any]:
        several = plan.n_outputs > 1 and isinstance(plan.loss.loss, Logistic)
        return super()._read_state(state, plan) | {"_several_labels": several}

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

        Returns
        -------
        ndarray of shape (n,) or (n, n_labels)
            Labels out of ``classes_``; zeros and ones for several labels.
        """
        return self._map(X, self._name_classes)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose predicted class is their own."""
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

        Returns
        -------
        ndarray of shape (n, n_classes)
            Probabilities, in the order of ``classes_``; of each label by itself where a row may have several.
        """
        return self._map(X, self._share)

    @available_if(_knows_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Compute the logarithm of the probability of each class for each row."""
        probabilities = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return namespace_of(probabilities).log(probabilities)

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> "MLPClassifier":
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
        codes = np.searchsorted(self.classes_, labels)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        # One output is the log-odds of the second of two classes.
        logits = np.column_stack([np.zeros(len(outputs)), outputs]) if outputs.shape[1] == 1 else outputs
        beta = fit_temperature(logits, codes, weight)[0]
        self.temperature_ = min(max(1.0 / beta, _COLDEST), 1.0 / _COLDEST)
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
