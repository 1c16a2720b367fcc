"""Epsilon-support vector regression."""

from typing import Any

import numpy as np

from mercer._base import fitting
from mercer._base.parameter import Boolean, Choice, Real, parameter
from mercer._types import Array
from mercer.svm._dual.program import DualProgram
from mercer.svm._kernel_machine import CURE, SHRINKING
from mercer.svm._opening import OpenedRows, open_kernel_rows
from mercer.svm._single_machine import RegressionMachine, read_targets
from mercer.svm._starts import read_earlier_coefficients, scale_into_bounds


class SVR(RegressionMachine):
    r"""Support vector regression: as flat a function as goes through a tube around the targets.

    Minimises over w and b

    .. math:: \tfrac12 \|w\|^2 + \sum_i C_i \max(|y_i - f(x_i)| - \epsilon, 0), \qquad
        f(x) = w \cdot \Phi(x) + b = \sum_i \beta_i k(x_i, x) + b,

    with C_i = `C` times the row's weight, through its dual over :math:`\beta_i = \alpha_i - \alpha^*_i` in
    :math:`[-C_i, C_i]` (``dual_coef_``), whose term :math:`\epsilon |\beta_i|` has a kink at zero.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,), int32
        The rows on the tube or outside.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, d)
    n_support_ : ndarray of shape (1,), int32
    dual_coef_ : ndarray of shape (1, n_support)
    intercept_ : ndarray of shape (1,)
    coef_ : ndarray of shape (1, d)
        For the linear kernel only.
    fit_status_ : int
        0 if the machine is solved, else 1.
    n_iter_ : int
        Pair steps.
    shape_fit_, solver_used_, history_, converged_, certificate_, n_features_in_, feature_names_in_
        As in :class:`SVC`.

    Notes
    -----
    A row has one coefficient, not two: half the slopes of the usual form, and never both sides of the tube at once.
    Cost and memory are those of :class:`SVC`. Exact up to `tol`. Rows are in memory, where sparse ones stay sparse, or
    on a device.

    References
    ----------
    A. J. Smola and B. Schoelkopf, A tutorial on support vector regression, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.svm import SVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = SVR(C=100.0, epsilon=0.05, gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.052)
    True
    """

    C: float = parameter(Real(0, closed="right"), default=1.0, after="tol", doc="The cost of a unit outside the tube.")
    epsilon: float = parameter(
        Real(0), default=0.1, doc="Half the width of the tube. Zero gives least absolute deviations."
    )
    shrinking: bool = parameter(
        Boolean(),
        default=True,
        doc=SHRINKING,
    )
    loss: str = parameter(
        Choice("epsilon_insensitive", "squared_epsilon_insensitive"),
        default="epsilon_insensitive",
        after="max_iter",
        doc="The excess over the tube as it is or squared.",
    )
    C_scaling: str = parameter(
        Choice("sum", "mean"), default="sum", doc="Whether `C` multiplies the sum of losses or their weighted mean."
    )
    warm_start: bool = parameter(
        Boolean(),
        default=False,
        after="solver",
        doc="Whether to start from the last fit's coefficients, scaled into the new bounds; rows must be the same.",
    )

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SVR":
        """Fit the machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or kernel values of shape (n, n)
        sample_weight : array-like of shape (n,), default=None
            Factors of `C` by row: a weight of two is the row twice.
        """
        opened = open_kernel_rows(self, X, y, sample_weight, "numbers")
        targets = read_targets(self, opened.y)
        box = self.C * opened.weight * (1.0 if self.C_scaling == "sum" else 1.0 / opened.weight.sum())
        ridge = None
        if self.loss != "epsilon_insensitive":
            # Squared losses have no upper bound; their dual adds b_i^2 / (4 C_i) to the objective.
            ridge, box = 0.5 / box, np.full(len(box), np.inf)
        start = self._choose_start(opened, box)
        # One coefficient b_i = a_i - a*_i for each row: the term epsilon |b_i| has a kink at zero.
        program = DualProgram(opened.used, -targets, -box, box, start, self.epsilon, ridge=ridge)
        outcome = self._solve_program(opened, program)
        self._conclude(outcome, CURE)
        return self

    def _choose_start(self, opened: OpenedRows, box: Array) -> Array:
        """Return the coefficients to start from: zero, or those of the last fit scaled into the new bounds."""
        n_rows = opened.source.n_rows
        if not (self.warm_start and "dual_coef_" in vars(self) and self.shape_fit_[0] == n_rows):
            return np.zeros(len(box))
        return scale_into_bounds(read_earlier_coefficients(self, n_rows)[0, opened.used], -box, box)
