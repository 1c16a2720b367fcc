"""Linear support vector regression."""

from typing import Any, ClassVar

from mercer._base import few_rows, fitting, open_new_rows
from mercer._base.linear.prediction import SingleTarget
from mercer._base.parameter import Boolean, Choice, Real, parameter
from mercer._base.scoring import RegressorMixin
from mercer._objective import find_loss
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import UnsupportedError
from mercer.svm._linear_machine import LinearMachine


class LinearSVR(SingleTarget, RegressorMixin, LinearMachine):
    r"""Linear support vector regression, for many rows.

    Minimises over w and b

    .. math:: \tfrac12 (\|w\|^2 + (b / a)^2) + C \sum_i s_i \, \max(|y_i - w \cdot x_i - b| - \epsilon, 0),

    or the squares of these losses, with s the weights of the rows and a = `intercept_scaling`.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
    intercept_ : ndarray of shape (1,)
    solver_used_ : str
        "irls", "fista" or "dual".
    n_iter_ : int
        Steps.
    history_, converged_, certificate_
        The objective is the mean form, divided by C and the sum of weights; the certificate is its duality gap.

    Notes
    -----
    Solvers, cost and memory are those of :class:`LinearSVC`. Exact up to `tol`. Rows must be in memory; sparse ones
    stay sparse.

    References
    ----------
    C.-H. Ho and C.-J. Lin, Large-scale linear support vector regression, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.svm import LinearSVR
    >>> X = np.arange(20.0)[:, None]
    >>> model = LinearSVR(C=10.0).fit(X, 3.0 * X[:, 0] + 1.0)
    >>> round(float(model.coef_[0]), 2)
    3.0
    """

    epsilon: float = parameter(Real(0), default=0.0, doc="Half the width of the tube around targets.")
    loss: str = parameter(
        Choice("epsilon_insensitive", "squared_epsilon_insensitive"),
        default="epsilon_insensitive",
        after="C",
        doc="The excess over the tube as it is or squared.",
    )
    intercept_scaling: float = parameter(
        Real(0, closed="neither"),
        default=1.0,
        after="fit_intercept",
        doc="The value of the intercept's column, a: the larger, the less b is penalised.",
    )
    dual: Any = parameter(
        Boolean() | Choice("auto"),
        default="auto",
        doc='Whether to maximise the dual, coordinate by coordinate; False for the primal, of squares only. "auto" '
        "takes what suits the number of columns.",
    )

    _law_exceptions: ClassVar[dict[str, str]] = {
        "memory": "the intercept is the coefficient of a column, so that the rows are copied beside it"
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "coef_": floats("columns"),
        "intercept_": floats("1"),
    }
    _takes_sparse = True
    _depends_on_units = ("columns", "scale", "place", "target", "target place")

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearSVR":
        """Fit the machine."""
        if self.loss == "epsilon_insensitive" and self.dual is False:
            raise UnsupportedError(
                f"LinearSVR: Unsupported set of arguments: loss={self.loss!r} has a corner and is not supported when "
                f"dual=False. Use loss='squared_epsilon_insensitive', or dual='auto'."
            )
        source = self._open_single(X, y, sample_weight)
        loss = find_loss(self.loss, epsilon=float(self.epsilon))
        outcome = self._solve(source, loss, "l2")
        self._conclude(outcome)
        return self

    def _list_coefficients(self, parameters: Array, dtype: Any) -> dict[str, Any]:
        attributes = super()._list_coefficients(parameters, dtype)
        return attributes | {"coef_": attributes["coef_"][0]}

    def predict(self, X: Any) -> Array:
        """Return the expected target of each row."""
        if (rows := few_rows(self, X)) is not None:
            return rows @ self.coef_ + self.intercept_
        source = open_new_rows(self, X, accept_sparse="csr")
        return source.map(lambda block: block.matmul(self.coef_) + self.intercept_)
