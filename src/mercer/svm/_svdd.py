"""Support vector data description: the smallest sphere around the rows."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from mercer._base import check_new_rows, fitting
from mercer._base.outliers import CONTAMINATION, Detector, find_offset
from mercer._base.parameter import Boolean, Function, Real, parameter
from mercer._source.namespace import to_numpy
from mercer._source.placement import Placement, is_on_device
from mercer._stored import Stored, floats
from mercer._types import Array
from mercer.errors import DataError
from mercer.svm._dual.program import DualProgram
from mercer.svm._kernel_machine import CURE, SHRINKING, KernelName
from mercer.svm._opening import call_kernel, is_function, open_kernel_rows
from mercer.svm._single_machine import SingleMachine
from mercer.svm._starts import fill_bounds

# Rows whose pairs a kernel function is asked for at once: 64 x 64 values for 64 that are needed.
_FEW_PAIRS = 64


class SVDD(Detector, SingleMachine):
    r"""Support vector data description: the smallest sphere that holds the rows, but for some, in feature space.

    Minimises over a centre a and a squared radius

    .. math:: R^2 + \sum_i C_i \xi_i, \qquad \|\Phi(x_i) - a\|^2 \le R^2 + \xi_i, \quad \xi_i \ge 0,

    with C_i = `C` times the row's weight, through its dual over :math:`\beta_i` in [0, C_i] (``dual_coef_``) that add
    up to one; :math:`a = \sum_i \beta_i \Phi(x_i)`. Scores are :math:`R^2 - \|\Phi(x) - a\|^2`, negative outside of the
    sphere.

    Attributes
    ----------
    radius_ : float
        R.
    support_, support_vectors_, n_support_, dual_coef_, fit_status_, n_iter_, shape_fit_, solver_used_
        As in :class:`SVR`.
    history_, converged_, certificate_, n_features_in_, feature_names_in_
        As in :class:`SVR`. The objective of the history is the dual, halved.
    coef_ : ndarray of shape (1, d)
        The centre, of the linear kernel.
    intercept_ : ndarray of shape (1,)
        :math:`(R^2 - \|a\|^2) / 2`, so that a score is twice the sum of coefficients times kernel values plus this,
        less k(x, x).
    offset_ : float
        Zero, or the threshold that `contamination` sets: :meth:`decision_function` is the score less this.

    Notes
    -----
    Cost and memory are those of :class:`SVC`. Exact up to `tol`. Rows are in memory, where sparse ones stay sparse, or
    on a device.

    References
    ----------
    D. M. J. Tax and R. P. W. Duin, Support vector data description, 2004.

    Examples
    --------
    >>> from mercer.svm import SVDD
    >>> model = SVDD().fit([[0.0], [2.0], [10.0]])
    >>> float(model.coef_[0, 0]), float(model.radius_), model.decision_function([[5.0], [11.0]]).tolist()
    (5.0, 5.0, [25.0, -11.0])
    """

    C: float = parameter(
        Real(0, closed="neither"),
        default=1.0,
        kw_only=False,
        doc="The price of a unit of squared distance outside. One or more holds every row; 1 / (nu n) leaves out at "
        "most a share nu. No less than 1 / n.",
    )
    kernel: Any = parameter(
        KernelName() | Function(),
        default="linear",
        doc="As in :class:`SVC`, like the parameters below. The linear kernel's sphere is one in the space of the "
        "columns.",
    )
    shrinking: bool = parameter(Boolean(), default=True, after="tol", doc=SHRINKING)

    contamination: Any = parameter(
        CONTAMINATION,
        default="auto",
        after="solver",
        doc="The share of outliers among the rows of the fit, which sets the threshold ``offset_``; 'auto' leaves it "
        "at the sphere.",
    )

    _documents = {
        "tol": (
            "The largest violation of the optimality conditions by a pair of rows, in squared distance, as a share "
            "of the largest k(x, x)."
        ),
    }

    _stored: ClassVar[dict[str, Stored]] = {
        "radius_": floats(),
    }

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "SVDD":
        """Find the sphere.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or kernel values of shape (n, n)
        sample_weight : array-like of shape (n,), default=None
            Factors of `C` by row: a weight of two is the row twice.
        """
        opened = open_kernel_rows(self, X, None, sample_weight, None)
        box = self.C * opened.weight
        # The coefficients sum to one: with smaller bounds the dual has no feasible point.
        if box.sum() < 1 - 1e-12:
            raise DataError(
                f"SVDD: C must be at least 1 / (sum of weights) = {1.0 / opened.weight.sum():.3g}, or no sphere is "
                f"cheapest; got {self.C!r}. Raise C."
            )
        own, zero = opened.gram.diagonal[opened.used], np.zeros(len(box))
        # `tol` is a share of the largest k(x, x); the program is half the dual, so its slopes are half as large too.
        unit = max(float(np.abs(own).max(initial=0.0)), 1e-300)
        settings = replace(self._make_settings(), tol=0.5 * self.tol * unit)
        # Half of the dual: b'Kb / 2 - sum_i b_i k_ii / 2, with sum b = 1 kept from the start.
        program = DualProgram(opened.used, -0.5 * own, zero, box, fill_bounds(box, 1.0))
        outcome = self._solve_program(opened, program, read=_read_radius, settings=settings, known={"offset_": 0.0})
        if self.contamination != "auto":
            sums = self._sum_fit_rows(opened) + to_numpy(self.intercept_)
            scores = 2.0 * sums - opened.gram.diagonal[opened.used].astype(opened.dtype)
            self.offset_ = find_offset(scores, self.contamination, opened.weight)
        self._conclude(outcome, CURE)
        return self

    def score_samples(self, X: Any) -> Array:
        """Return the score of each row: the squared radius less the squared distance to the centre.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or kernel values of shape (m, n)

        Returns
        -------
        ndarray of shape (m,)
        """
        # R^2 - |x - a|^2 with |x - a|^2 = k(x, x) - 2 sum_i b_i k(x_i, x) + |a|^2; the offset of the machine is
        # (|a|^2 - R^2) / 2.
        return Placement.of(X).put(2.0 * self._scores(X)[:, 0] - self._compute_diagonal(X))

    def _compute_diagonal(self, X: Any) -> Array:
        """Return k(x, x) of each row."""
        if self._values_given and is_function(self.kernel):
            # The user's function gives all pairs, and only the diagonal is kept: few rows at a time.
            parts = (X[start : start + _FEW_PAIRS] for start in range(0, len(X), _FEW_PAIRS))
            return np.concatenate([np.diag(call_kernel(self, part, part)) for part in parts])
        if self._values_given:
            raise DataError(
                "SVDD: scores need k(x, x), which kernel values of shape (m, n) do not hold; use a kernel by name, or "
                "an object."
            )
        rows = to_numpy(X) if is_on_device(X) else check_new_rows(self, X, accept_sparse="csr")
        return self._kernel.diagonal(rows)


def _read_radius(program: DualProgram, b: Array, slope: Array) -> dict[str, Any]:
    """Return R, from slope_i = (K b)_i - k_ii / 2 = (|a|^2 - R^2) / 2 for rows on the sphere."""
    squared_centre = float(np.sum(b * (slope - program.linear)))
    offset = float(program.offsets(b, slope)[0])
    return {"radius_": float(np.sqrt(max(squared_centre - 2.0 * offset, 0.0)))}
