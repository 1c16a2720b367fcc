"""Linear regression and classification by stochastic gradients, for any loss."""

from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.linear.prediction import LinearRegressor, SingleTarget
from mercer._base.loss_rules import NUMBER_LOSSES
from mercer._base.parameter import Boolean, Choice, Integer, Real, parameter
from mercer._documentation import compose_docstring
from mercer._objective import find_loss
from mercer.linear_model._solvers.stochastic.stochastic_gradient import StochasticState
from mercer.linear_model._stochastic.stochastic import SHARED, StochasticModel
from mercer.linear_model._stochastic.stochastic_classifier import StochasticClassifier

_RATES = Choice("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2")


class DescentModel(StochasticModel):
    """What classifiers and regressors choose alike: where losses bend, the rate, averages and batches."""

    epsilon: float = parameter(
        Real(0),
        default=0.1,
        after="verbose",
        doc='Where the losses "huber", "epsilon_insensitive" and "squared_epsilon_insensitive" bend.',
    )
    learning_rate: str = parameter(
        _RATES,
        default="optimal",
        after="random_state",
        doc='The rate of step t: "constant" is `eta0`; "optimal" is 1 / (alpha (t + t0)), t0 by Bottou\'s rule; '
        '"invscaling" is eta0 / t^power_t; "adaptive" is `eta0`, divided by 5 whenever the stopping rule is '
        'met, down to 1e-6; "pa1" and "pa2" are passive-aggressive steps, which just mend the loss of the row, '
        "bounded or damped by `eta0`.",
    )
    power_t: float = parameter(
        Real(),
        default=0.5,
        after="eta0",
        doc='Exponent of "invscaling"; negative values are deprecated by scikit-learn.',
    )
    average: bool | int = parameter(
        Integer(1) | Boolean(),
        default=False,
        after="warm_start",
        doc="Predict with the average of the parameters over all steps from that one on; True means from the first.",
    )
    batch_size: int = parameter(Integer(1), default=1, doc="Rows per step, which then follows their mean gradient.")


class SGDRegressor(SingleTarget, DescentModel, LinearRegressor):
    """Linear regression by stochastic gradient descent.

    Descends on the penalised mean loss of the predictions :math:`w^\\top x + b`,

    .. math:: \\frac{1}{S} \\sum_i s_i \\ell(w^\\top x_i + b, y_i)
              + \\alpha \\Big(r \\lVert w \\rVert_1 + \\frac{1 - r}{2} \\lVert w \\rVert_2^2\\Big)

    with r the `l1_ratio` of the penalty and S the sum of the weights, by one step per row,

    .. math:: w \\leftarrow (1 - \\eta_t \\alpha (1 - r)) w - \\eta_t s_i \\ell'(z_i, y_i) x_i ,

    the l1 part as a cumulative penalty.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        w.
    intercept_ : ndarray of shape (1,)
        b.
    n_iter_ : int
        Epochs.
    t_ : float
        Number of the next step: one more than the rows visited.
    history_ : dict of ndarray
        Per epoch: ``objective`` (the mean loss met on the way plus the penalty at its end), ``updates`` (rows
        that moved the parameters), ``validation_score`` with `early_stopping`, ``seconds``.
    %(converged_to_feature_names)s

    Notes
    -----
    Approximate. An epoch costs 2 n d multiplications at the speed of memory; sparse rows cost what they store, and are
    treated like dense ones (scikit-learn slows their intercept down). Memory is a few d numbers and an order of n. Runs
    over rows in memory in any order, over files and streams with rows shuffled within their blocks only. Scale the
    columns: one rate serves them all. A rate too large for the squared loss ends the fit with a warning that names one.

    References
    ----------
    H. Robbins and S. Monro, A stochastic approximation method, 1951. L. Bottou, Stochastic gradient descent tricks,
    2012. W. Xu, Towards optimal one pass large scale learning with averaged stochastic gradient descent, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import SGDRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(2000, 3))
    >>> y = X @ [1.0, 0.0, -2.0] + 3.0 + 0.1 * random.normal(size=2000)
    >>> model = SGDRegressor(average=2000, random_state=0).fit(X, y)
    >>> model.coef_.round(1).tolist(), model.intercept_.round(1).tolist()
    ([1.0, 0.0, -2.0], [3.0])
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    loss: Any = parameter(
        NUMBER_LOSSES,
        default="squared_error",
        kw_only=False,
        doc='The loss of a score, by name or as an object of :mod:`mercer.objectives`. "poisson", "gamma" and '
        '"tweedie" predict exp(scores).',
    )
    learning_rate: str = parameter(_RATES, default="invscaling", after="random_state")
    power_t: float = parameter(Real(), default=0.25, after="eta0")

    _documents = {
        "n_jobs": "Threads for predictions; results do not depend on it.",
    }

    _places: ClassVar[tuple[str, ...]] = StochasticModel._places  # type: ignore[assignment]
    _depends_on_units = ("columns", "scale", "place", "target", "target place")

    @fitting
    def fit(
        self, X: Any, y: Any = None, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> "SGDRegressor":
        """Fit the model.

        Parameters
        ----------
        coef_init : array-like of shape (n_features,), default=None
            Coefficients to start from.
        intercept_init : array-like of shape (1,), default=None
            The intercept to start from.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Factors of the steps; a row of weight zero is as if absent.
        """
        self._check_together()
        source = self._open_single(X, y, sample_weight)
        descent = self._descent(False, source)
        start = self._begin(descent, 1, source.n_features, coef_init, intercept_init)
        outcome = self._learn(descent, start, self.max_iter, source, {})
        self._conclude(outcome, "raise max_iter or tol")
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "SGDRegressor":
        """Take one epoch over some rows, from where the last call or ``fit`` ended.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Factors of the steps.
        """
        self._check_together(by_batches=True)
        first = not hasattr(self, "_state")
        source = self._open_single(X, y, sample_weight, reset=first)
        descent = self._descent(False, source)
        start = self._begin(descent, 1, source.n_features, None, None) if first else self._state.resume(descent)
        outcome = self._learn(descent, start, start.epochs + 1, source, {})
        if outcome.interrupt is not None:
            self._conclude(outcome)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each row: the mean that its score stands for.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted targets.
        """
        return find_loss(self.loss).mean(super().predict(X), np, checked=True)

    def _read_state(self, state: StochasticState, dtype: np.dtype) -> dict[str, Any]:
        """Return the attributes of the one score, whose coefficients have the shape (d,)."""
        attributes = super()._read_state(state, dtype)
        return attributes | {"coef_": attributes["coef_"][0]}


class SGDClassifier(DescentModel, StochasticClassifier):
    """A linear classifier (support vector machine, logistic regression, ...) by stochastic gradient descent.

    Descends on the penalised mean loss of the scores :math:`w^\\top x + b`,

    .. math:: \\frac{1}{S} \\sum_i s_i \\ell(w^\\top x_i + b, t_i)
              + \\alpha \\Big(r \\lVert w \\rVert_1 + \\frac{1 - r}{2} \\lVert w \\rVert_2^2\\Big)

    with :math:`t_i = \\pm 1`, r the `l1_ratio` of the penalty and S the sum of the weights, by one step per row,

    .. math:: w \\leftarrow (1 - \\eta_t \\alpha (1 - r)) w - \\eta_t s_i \\ell'(z_i, t_i) x_i ,

    the l1 part as a cumulative penalty. With more than two classes, each is set against the rest.

    Attributes
    ----------
    %(classes_to_t)s
    history_ : dict of ndarray
        Per epoch: ``objective`` (the mean loss met on the way plus the penalty at its end, summed over the classes),
        ``updates`` (rows that moved the parameters), ``validation_score`` with `early_stopping`, ``seconds``.
    %(converged_to_feature_names)s

    Notes
    -----
    Approximate. An epoch costs n d multiplications twice for each class, at the speed of memory; sparse rows cost what
    they store, and are treated like dense ones (scikit-learn slows their intercept down). Memory is a few k d numbers
    and an order of n. Runs over rows in memory in any order, over files and streams with rows shuffled within their
    blocks only: shuffle a sorted file first. Scale the columns: one rate serves them all. A factor of a class weighs
    its rows in the problems of all classes, like ``sample_weight``. With an l1 penalty, averages over sparse rows take
    the penalty in when a column is met.

    References
    ----------
    H. Robbins and S. Monro, A stochastic approximation method, 1951. L. Bottou, Stochastic gradient descent tricks,
    2012. W. Xu, Towards optimal one pass large scale learning with averaged stochastic gradient descent, 2011.
    Y. Tsuruoka, J. Tsujii and S. Ananiadou, Stochastic gradient descent training for l1-regularized log-linear models
    with cumulative penalty, 2009. K. Crammer et al., Online passive-aggressive algorithms, 2006.

    Examples
    --------
    >>> from mercer.linear_model import SGDClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> model = SGDClassifier(average=True, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.98
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    loss: str = parameter(
        Choice(
            "hinge",
            "log_loss",
            "modified_huber",
            "squared_hinge",
            "perceptron",
            "squared_error",
            "huber",
            "epsilon_insensitive",
            "squared_epsilon_insensitive",
        ),
        default="hinge",
        kw_only=False,
        doc='The loss of a score. "hinge" is a linear support vector machine, "log_loss" logistic regression; this '
        'and "modified_huber" give probabilities.',
    )
