"""Classification by a multilayer perceptron."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer._base import fitting
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Instance, Integer, Nothing, parameter
from mercer._documentation import compose_docstring
from mercer._source import Source
from mercer._stored import Stored, flags, floats
from mercer.errors import DataError, ParameterError
from mercer.neural_network._layers.activations import ACTIVATIONS
from mercer.neural_network._layers.losses import OutputLoss, read_loss
from mercer.neural_network._perceptron.class_predictions import ClassPredictions
from mercer.neural_network._perceptron.documentation import SHARED
from mercer.neural_network._perceptron.epoch import Workshop
from mercer.neural_network._perceptron.labels import (
    KnownLabels,
    check_classes,
    count_outputs,
    is_multilabel,
    label_rows,
    read_factors,
)
from mercer.neural_network._perceptron.perceptron import PerceptronModel, read_embeddings
from mercer.neural_network._perceptron.plan import Plan
from mercer.objectives import Logistic, Loss, Softmax


def _is_stochastic(model: Any) -> bool:
    if model._takes_all_rows():
        raise AttributeError(
            f"partial_fit is only available for stochastic optimizers. {model.solver} is not stochastic."
        )
    return True


class MLPClassifier(ClassPredictions, PerceptronModel):
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
        validation = self._open_validation(X_val, y_val, sample_weight_val, classes, coding)
        plan = self._plan(
            source, count_outputs(classes, source), self._choose_loss(classes, source), coding, self.warm_start
        )
        workshop = Workshop(plan)
        rules = self._make_rules(plan, source, workshop, validation, partial(read_embeddings, plan))
        if self.warm_start and hasattr(self, "classes_") and not np.array_equal(classes, self.classes_):
            raise DataError(
                f"{type(self).__name__}: warm_start can only be used where `y` has the same classes as in the previous "
                f"call to fit. Previously got {self.classes_}, `y` has {classes}."
            )
        start = self._begin(plan, source, self.warm_start)
        attributes = self._describe_outputs(plan, coding) | {"classes_": classes, "temperature_": 1.0}
        outcome = self._learn(plan, start, start.epochs + self.max_iter, source, rules, workshop, attributes)
        self._conclude(outcome, "raise max_iter or tol")
        return self

    @available_if(_is_stochastic)
    @fitting
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "MLPClassifier":
        """Take one epoch over some rows, from where the last call or ``fit`` ended."""
        self._check_together()
        if self.early_stopping:
            raise ParameterError(
                f"{type(self).__name__}: partial_fit does not support early_stopping=True; it sees a batch once."
            )
        first = not hasattr(self, "_state")
        source, coding = self._open_training(X, y, sample_weight, "labels", first)
        classes = check_classes(self, classes, first, source)
        if not is_multilabel(source):
            source = source.relabel(KnownLabels(classes, read_factors(self, classes)))
        plan = self._plan(source, count_outputs(classes, source), self._choose_loss(classes, source), coding, not first)
        workshop = Workshop(plan)
        rules = self._make_rules(plan, source, workshop, None, partial(read_embeddings, plan))
        # Later calls go on with the optimiser's moments; the count for early stopping begins anew.
        start = self._begin(plan, source, False) if first else self._state.restart()
        attributes = self._describe_outputs(plan, coding) | {"classes_": classes, "temperature_": 1.0}
        outcome = self._learn(plan, start, start.epochs + 1, source, rules, workshop, attributes)
        self.n_iter_ = outcome.state.epochs
        if outcome.interrupt is not None:
            self._conclude(outcome)
        return self

    def _open_validation(self, X: Any, y: Any, weight: Any, classes: np.ndarray, coding: Any) -> Any:
        """Return the user's rows for early stopping, coded like the rows of the fit."""
        if X is None and y is None:
            return None
        name = type(self).__name__
        if X is None or y is None or not self.early_stopping:
            raise DataError(
                f"{name}: X_val and y_val go together, and need early_stopping=True; give both, and set it."
            )
        options: dict[str, Any] = {"reset": False, "ensure_all_finite": coding is None, "multi_output": True}
        X = X if coding is None else coding.read(X, type(self).__name__)
        source = self._open(X, y, weight, targets="labels", accept_sparse=coding is None and "csr", **options)
        rows = source.whole() if coding is None else coding.apply(source.whole())
        # Class weights belong to the training loss; the rows that judge are not weighed by class.
        source = source if is_multilabel(source) else source.relabel(KnownLabels(classes, None))
        return rows, source.y, source.weight

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
