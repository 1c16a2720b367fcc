"""Regression by a multilayer perceptron."""

from typing import Any, ClassVar

from sklearn.utils.metaestimators import available_if

from mercer._base import fitting
from mercer._base.loss_rules import NUMBER_LOSSES, check_range
from mercer._base.parameter import Array as ArrayRule
from mercer._base.parameter import Choice, Integer, parameter
from mercer._base.scoring import RegressorMixin
from mercer._documentation import compose_docstring
from mercer._objective import find_loss
from mercer._solver import Outcome
from mercer._source import Source, place_of
from mercer._source.namespace import namespace_of
from mercer._stored import Stored, flags
from mercer._types import Array
from mercer.neural_network._layers.activations import ACTIVATIONS
from mercer.neural_network._layers.losses import read_loss
from mercer.neural_network._perceptron.documentation import SHARED
from mercer.neural_network._perceptron.perceptron import PerceptronModel, is_stochastic
from mercer.neural_network._perceptron.plan import Plan
from mercer.neural_network._perceptron.state import PerceptronState


class MLPRegressor(RegressorMixin, PerceptronModel):
    """A multilayer perceptron for regression, with one linear output for each target.

    Minimises the penalised mean loss of the outputs of :math:`a^{(l)} = g(a^{(l-1)} W^{(l)} + b^{(l)})`,

    .. math:: \\frac{1}{S} \\Big(\\sum_i s_i \\ell(f(x_i), y_i)
              + \\frac{\\alpha}{q} \\sum_{l} \\lVert W^{(l)} \\rVert_q^q\\Big)

    with S the sum of the weights of a batch, g the `activation` and q the `penalty_power`. The losses of several
    targets are added up.

    Attributes
    ----------
    %(coefs_to_t)s

    Notes
    -----
    %(notes)s

    References
    ----------
    %(references)s

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.neural_network import MLPRegressor
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> model = MLPRegressor(hidden_layer_sizes=(20,), activation="tanh", solver="lbfgs", max_iter=500, random_state=0)
    >>> model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.999
    True
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    loss: Any = parameter(
        NUMBER_LOSSES,
        default="squared_error",
        kw_only=False,
        doc="Half the squared error; the Poisson deviance of counts, whose prediction is the exponential of the "
        "output; or any loss of numbers of ``mercer.objectives``.",
    )
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

    _stored: ClassVar[dict[str, Stored]] = {
        "_flat": flags(),
    }
    _depends_on_units = ("columns", "scale", "place", "target", "target place")

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
    ) -> "MLPRegressor":
        """Fit the network.

        Parameters
        ----------
        X_val, y_val, sample_weight_val : default=None
            Rows that `early_stopping` judges by, in place of a part of `X`.
        """
        self._check_together()
        source, coding = self._open_training(X, y, sample_weight, "numbers", True)
        check_range(self, find_loss(self.loss), source)
        validation = self._open_validation(X_val, y_val, sample_weight_val, "numbers", coding)
        outcome = self._train(source, coding, validation)
        self._conclude(outcome, "raise max_iter or tol")
        return self

    @available_if(is_stochastic)
    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MLPRegressor":
        """Take one epoch over some rows, from where the last call or ``fit`` ended."""
        first = self._check_partial()
        source, coding = self._open_training(X, y, sample_weight, "numbers", first)
        check_range(self, find_loss(self.loss), source)
        outcome = self._train(source, coding, is_part=True)
        self.n_iter_ = outcome.state.epochs
        if outcome.interrupt is not None:
            self._conclude(outcome)
        return self

    def _train(
        self, source: Source, coding: Any, validation: Any = None, is_part: bool = False
    ) -> Outcome[PerceptronState]:
        """Run the fit, or one epoch of it."""
        loss, known = read_loss(self.loss, source.n_targets), {"_flat": not source.target_shape}
        return self._take_epochs(source, coding, source.n_targets, loss, known, validation, is_part)

    def _name_output(self, plan: Plan) -> str:
        return "exp" if plan.loss.loss.predicts_exponentials else "identity"

    def _decide(self, outputs: Array) -> Array:
        """Return the predicted targets."""
        return find_loss(self.loss).mean(outputs, namespace_of(outputs), checked=True)

    def _score(self, y: Array, predicted: Array, weight: Array | None) -> float:
        """Return R^2, the mean over targets."""
        xp = namespace_of(predicted)
        y = xp.reshape(xp.astype(y, predicted.dtype), (predicted.shape[0], -1))
        share = xp.ones_like(y[:, 0]) if weight is None else xp.astype(weight, predicted.dtype)
        # Weights as shares of one turn sums into means.
        share = (share / xp.sum(share))[:, None]
        mean = xp.sum(share * y, axis=0)
        total = xp.sum(share * (y - mean) ** 2, axis=0)
        left = xp.sum(share * (y - predicted) ** 2, axis=0)
        # R^2 = 1 - left / total. A constant target has no variance, and 1 divides its error instead.
        return float(xp.mean(1.0 - left / xp.where(total > 0, total, xp.ones_like(total))))

    def predict(self, X: Any) -> Array:
        """Predict the targets of each row.

        Returns
        -------
        ndarray of shape (n,) or (n, n_targets)
            The predictions.
        """
        return self._map(X, self._give)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination, the mean over targets.

        Returns
        -------
        float
            The coefficient.
        """
        if place_of(X, y) == "memory":
            return super().score(X, y, sample_weight)
        return self._score_elsewhere(X, y, sample_weight, self._decide, "numbers")

    def _give(self, outputs: Array) -> Array:
        predicted = self._decide(outputs)
        return predicted[:, 0] if self._flat else predicted
