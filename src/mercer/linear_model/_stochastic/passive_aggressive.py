"""Passive-aggressive steps: each row moves the model just so far that its loss is mended, and no further."""

import math
from dataclasses import replace
from typing import Any

from sklearn.utils import deprecated

from mercer._base.parameter import Choice, Real, attribute, parameter
from mercer._documentation import compose_docstring
from mercer._objective import find_loss
from mercer._source import Source
from mercer.linear_model._solvers.stochastic.stochastic_gradient import Descent
from mercer.linear_model._stochastic.sgd import DescentModel, SGDClassifier, SGDRegressor
from mercer.linear_model._stochastic.stochastic import SHARED

_END = "scikit-learn has deprecated this class in version 1.8 and removes it in 1.10, and mercer with it."


class _StepsWithoutRates(DescentModel):
    """Stochastic steps without a penalty, a rate or batches."""

    penalty: str | None = attribute(None)
    alpha: float = attribute(0.0001)
    l1_ratio: float | None = attribute(0.0)
    power_t: float = attribute(0.5)
    batch_size: int = attribute(1)
    eta0: float = attribute()
    learning_rate: str = attribute()


class PassiveAggressiveModel(_StepsWithoutRates):
    """Passive-aggressive steps of both kinds: at most of size `C`, or damped by it."""

    C: float = parameter(
        Real(0, math.inf, "neither"),
        default=1.0,
        doc="The largest step (PA-I), or how little steps are damped (PA-II); small where targets are noisy.",
    )

    # The loss whose steps are bounded by C, instead of damped.
    _bounded = ""

    @property  # type: ignore[misc]
    def eta0(self) -> float:  # type: ignore[override]
        """The bound of the steps."""
        return self.C

    @property  # type: ignore[misc]
    def learning_rate(self) -> str:  # type: ignore[override]
        """The kind of the steps: PA-I or PA-II."""
        return "pa1" if self.loss == self._bounded else "pa2"

    def _check_together(self, by_batches: bool = False) -> None:
        given, self.loss = self.loss, self._bounded
        try:
            super()._check_together(by_batches)
        finally:
            self.loss = given

    def _descent(self, labels: bool, source: Source) -> Descent:
        # Both kinds mend the same loss; its square names PA-II.
        loss = find_loss(self._bounded, delta=float(self.epsilon), epsilon=float(self.epsilon))
        return replace(super()._descent(labels, source), loss=loss)


@deprecated(_END + " Use `SGDClassifier(loss='hinge', penalty=None, learning_rate='pa1', eta0=C)` instead.")
class PassiveAggressiveClassifier(PassiveAggressiveModel, SGDClassifier):
    r"""A linear classifier that learns row by row: each row moves it just so far that its hinge loss is mended.

    .. deprecated:: 0.1.0
       As in scikit-learn, which removes it in version 1.10: ``SGDClassifier(loss="hinge", penalty=None,
       learning_rate="pa1", eta0=C)`` takes the same steps.

    With the loss :math:`\ell = \max(0, 1 - t (w^\top x + b))` of a row of class t = 1 or -1, a step is

    .. math:: w \leftarrow w + \tau t x, \qquad
              \tau = \min\Big(C, \frac{\ell}{\lVert x \rVert^2}\Big) \ \text{(PA-I)} \quad\text{or}\quad
              \tau = \frac{\ell}{\lVert x \rVert^2 + 1 / (2 C)} \ \text{(PA-II)}.

    Attributes
    ----------
    %(classes_to_t)s
    history_ : dict of ndarray
        Per epoch: ``objective`` (the mean loss met on the way, summed over the classes), ``updates`` (rows that moved
        the parameters), ``validation_score`` with `early_stopping`, ``seconds``.
    %(converged_to_feature_names)s

    Notes
    -----
    The steps, places and costs of :class:`SGDClassifier`.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, Online passive-aggressive algorithms, 2006.

    Examples
    --------
    >>> import warnings
    >>> from mercer.linear_model import PassiveAggressiveClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", FutureWarning)
    ...     model = PassiveAggressiveClassifier(C=0.01, average=True, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    loss: str = parameter(
        Choice("hinge", "squared_hinge"),
        default="hinge",
        doc='"hinge" bounds the steps (PA-I), "squared_hinge" damps them (PA-II).',
    )
    epsilon: float = attribute(0.1)
    _bounded = "hinge"


@deprecated(
    _END + " Use `SGDRegressor(loss='epsilon_insensitive', penalty=None, learning_rate='pa1', eta0=C)` instead."
)
class PassiveAggressiveRegressor(PassiveAggressiveModel, SGDRegressor):  # type: ignore[misc, override]
    r"""A linear regression that learns row by row: each row moves it just so far that its error is small enough.

    .. deprecated:: 0.1.0
       As in scikit-learn, which removes it in version 1.10: ``SGDRegressor(loss="epsilon_insensitive", penalty=None,
       learning_rate="pa1", eta0=C)`` takes the same steps.

    With the loss :math:`\ell = \max(0, |y - w^\top x - b| - \epsilon)` of a row and the sign s of its error, a step is

    .. math:: w \leftarrow w + \tau s x, \qquad
              \tau = \min\Big(C, \frac{\ell}{\lVert x \rVert^2}\Big) \ \text{(PA-I)} \quad\text{or}\quad
              \tau = \frac{\ell}{\lVert x \rVert^2 + 1 / (2 C)} \ \text{(PA-II)}.

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
        Per epoch: ``objective`` (the mean loss met on the way), ``updates`` (rows that moved the parameters),
        ``validation_score`` with `early_stopping`, ``seconds``.
    %(converged_to_feature_names)s

    Notes
    -----
    The steps, places and costs of :class:`SGDRegressor`.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, Online passive-aggressive algorithms, 2006.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from mercer.linear_model import PassiveAggressiveRegressor
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", FutureWarning)
    ...     model = PassiveAggressiveRegressor(epsilon=0.01, random_state=0).fit(X, X @ [1.0, -2.0] + 3.0)
    >>> model.coef_.round(1).tolist(), model.intercept_.round(1).tolist()
    ([1.0, -2.0], [3.0])
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    loss: Any = parameter(
        Choice("epsilon_insensitive", "squared_epsilon_insensitive"),
        default="epsilon_insensitive",
        doc='"epsilon_insensitive" bounds the steps (PA-I), "squared_epsilon_insensitive" damps them (PA-II).',
    )
    epsilon: float = parameter(Real(0), default=0.1, doc="Errors up to this size are no loss.")
    _bounded = "epsilon_insensitive"
