"""nu-support vector regression."""

from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.parameter import Boolean, Real, parameter
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.svm._dual.program import DualProgram
from mercer.svm._kernel_machine import CURE, SHRINKING
from mercer.svm._opening import open_kernel_rows
from mercer.svm._single_machine import RegressionMachine, read_targets
from mercer.svm._starts import fill_bounds


class NuSVR(RegressionMachine):
    r"""Support vector regression that finds the width of its tube from a share of rows.

    Minimises over w, b and the half width :math:`\epsilon`

    .. math:: \tfrac12 \|w\|^2 + C n \nu \epsilon + C \sum_i s_i \max(|y_i - f(x_i)| - \epsilon, 0),

    with s the weights of the rows and n their sum. At most a share `nu` of the rows is outside the tube, and at least
    that share are support vectors.

    Attributes
    ----------
    epsilon_ : float
        Half the width of the tube that was found.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, fit_status_, n_iter_, shape_fit_
        As in :class:`SVR`.
    solver_used_, history_, converged_, certificate_, n_features_in_, feature_names_in_
        As in :class:`SVR`.

    Notes
    -----
    Each row has two coefficients, above and below the tube, of fixed sums each: twice the work of :class:`SVR` with the
    same rows. Exact up to `tol`. Rows are in memory, where sparse ones stay sparse, or on a device.

    References
    ----------
    B. Schoelkopf et al., New support vector algorithms, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.svm import NuSVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = NuSVR(nu=0.2, C=100.0, gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> bool(np.mean(np.abs(model.predict(X) - np.sin(X[:, 0])) > model.epsilon_ + 1e-3) <= 0.2)
    True
    """

    nu: float = parameter(Real(0, 1, closed="right"), default=0.5, doc="The share.")
    C: float = parameter(Real(0, closed="neither"), default=1.0, doc="The cost of a unit outside the tube.")
    shrinking: bool = parameter(Boolean(), default=True, after="coef0", doc=SHRINKING)

    _documents = {
        "kernel": "As in :class:`SVR`, like the parameters below.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "epsilon_": floats(),
    }

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "NuSVR":
        """Fit the machine.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or kernel values of shape (n, n)
        sample_weight : array-like of shape (n,), default=None
            Factors of `C` by row: a weight of two is the row twice.
        """
        opened = open_kernel_rows(self, X, y, sample_weight, "numbers")
        targets, box = read_targets(self, opened.y), self.C * opened.weight
        # The equality constraint fixes the sum of the coefficients: each side begins with half of nu.
        start = fill_bounds(box, 0.5 * self.nu * box.sum())
        zero, n = np.zeros(len(box)), len(box)
        # The first n coefficients are of rows above the tube, the last n of rows below it.
        program = DualProgram(
            np.concatenate([opened.used, opened.used]),
            -np.concatenate([targets, targets]),
            np.concatenate([zero, -box]),
            np.concatenate([box, zero]),
            np.concatenate([start, -start]),
            split=n,
        )
        outcome = self._solve_program(opened, program, read=_read_epsilon)
        self._conclude(outcome, CURE)
        return self


def _read_epsilon(program: DualProgram, b: Array, slope: Array) -> dict[str, Any]:
    """Return half the width of the tube: half the distance between the offsets of its two sides."""
    above, below = program.offsets(b, slope)
    return {"epsilon_": abs(float(0.5 * (below - above)))}
