"""One-class support vector machine: a region that holds most of the rows."""

from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._base import fitting
from mercer._base.interface import OutlierMixin
from mercer._base.outliers import CONTAMINATION, find_offset
from mercer._base.parameter import Boolean, Real, parameter
from mercer._source.placement import Placement
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.svm._dual.program import DualProgram
from mercer.svm._kernel_machine import CURE, SHRINKING
from mercer.svm._opening import open_kernel_rows
from mercer.svm._single_machine import SingleMachine, compute_offset
from mercer.svm._starts import fill_bounds, scale_bounds


class OneClassSVM(OutlierMixin, SingleMachine):
    r"""One-class support vector machine: outliers are beyond a plane in the feature space of a kernel.

    Minimises

    .. math:: \tfrac12 \|w\|^2 - \nu n \rho + \sum_i s_i \xi_i, \qquad
        w \cdot \Phi(x_i) \ge \rho - \xi_i, \quad \xi_i \ge 0,

    with s the weights of the rows and n their sum, through its dual over coefficients in [0, s_i] (``dual_coef_``)
    that add up to :math:`\nu n`. Scores are :math:`\sum_i \beta_i k(x_i, x) - \rho`, negative for outliers.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, fit_status_, n_iter_, shape_fit_
        As in :class:`SVR`.
    solver_used_, history_, converged_, certificate_, n_features_in_, feature_names_in_
        As in :class:`SVR`.
    offset_ : ndarray of shape (1,)
        :math:`\rho`, or the threshold that `contamination` sets: scores are raw scores minus this.

    Notes
    -----
    Cost and memory are those of :class:`SVC`. Exact up to `tol`. Rows are in memory, where sparse ones stay sparse, or
    on a device. With a kernel of constant k(x, x), such as RBF, :class:`SVDD` with C = 1 / (nu n) draws the same
    boundary.

    References
    ----------
    B. Schoelkopf et al., Estimating the support of a high-dimensional distribution, 2001.

    Examples
    --------
    >>> from mercer.svm import OneClassSVM
    >>> model = OneClassSVM(nu=0.25, gamma=0.5).fit([[0.0], [0.4], [0.5], [1.0], [9.0]])
    >>> model.predict([[0.5], [9.5]]).tolist()
    [1, -1]
    """

    nu: float = parameter(
        Real(0, 1, closed="right"),
        default=0.5,
        after="tol",
        doc="At most this share of the rows are outliers, and at least this share are support vectors.",
    )
    shrinking: bool = parameter(Boolean(), default=True, doc=SHRINKING)

    contamination: Any = parameter(
        CONTAMINATION,
        default="auto",
        after="solver",
        doc="The share of outliers among the rows of the fit, which sets the threshold ``offset_``; 'auto' leaves it "
        "at :math:`\\rho`.",
    )

    _documents = {
        "kernel": "As in :class:`SVC`, like the parameters below.",
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "offset_": floats(" | 1"),
    }

    @property
    def _depends_on_units(self) -> tuple[str, ...]:  # type: ignore[override]
        """The default gamma is in the units of the rows; other kernels have a length, or no upper bound."""
        fitting = isinstance(self.kernel, str) and self.kernel == "rbf" and self.gamma == "scale"
        return ("columns", "place") if fitting else ("columns", "scale", "place")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "OneClassSVM":
        """Find the region.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or kernel values of shape (n, n)
        sample_weight : array-like of shape (n,), default=None
            A weight of two is the row twice. Scores grow with the weights; a largest weight above 2^20 or below 2^-20
            is first brought near 1, by one factor for all.
        """
        opened = open_kernel_rows(self, X, None, sample_weight, None)
        box, zero = scale_bounds(opened.weight), np.zeros(len(opened.weight))
        # Pair steps keep the sum of coefficients, so the start fixes it at nu n.
        program = DualProgram(opened.used, zero, zero, box, fill_bounds(box, self.nu * box.sum()))
        outcome = self._solve_program(opened, program, read=partial(_read_offset, opened.dtype))
        if self.contamination != "auto":
            threshold = find_offset(self._sum_fit_rows(opened), self.contamination, opened.weight)
            self.offset_ = np.array([threshold], dtype=opened.dtype)
            self.intercept_ = -self.offset_
        self._conclude(outcome, CURE)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the score of each row: negative for outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)

        Returns
        -------
        ndarray of shape (m,)
        """
        return Placement.of(X).put(self._scores(X)[:, 0])

    def score_samples(self, X: Any) -> Array:
        """Return the raw score of each row: :meth:`decision_function` plus ``offset_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Array:
        """Return 1 for inliers and -1 for outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)
        """
        scores = self._scores(X)[:, 0]
        # LIBSVM counts a row on the boundary as an outlier; a row at a quantile is the first that is none.
        inside = scores > 0 if self.contamination == "auto" else scores >= 0
        return Placement.of(X).put(np.where(inside, 1, -1))


def _read_offset(dtype: str, program: DualProgram, b: Array, slope: Array) -> dict[str, Any]:
    """Return rho, the offset of the decision function, as an array of shape (1,)."""
    return {"offset_": np.array([compute_offset(program, b, slope)], dtype=dtype)}
