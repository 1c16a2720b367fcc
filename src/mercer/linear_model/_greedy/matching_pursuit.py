"""Orthogonal matching pursuit: least squares over few columns, which join one by one."""

import math
import warnings
from functools import partial
from typing import Any, ClassVar

from mercer._base import fitting
from mercer._base.linear.prediction import LinearRegressor
from mercer._base.parameter import Boolean, Choice, Integer, Nothing, Real, parameter
from mercer._documentation import compose_docstring
from mercer._statistic import MomentSums
from mercer._stored import Stored, integers
from mercer.errors import ParameterError
from mercer.linear_model._greedy.documentation import SHARED
from mercer.linear_model._solvers.greedy.column_products import ColumnProducts, plan_products
from mercer.linear_model._solvers.greedy.following import PathsState, follow_paths
from mercer.linear_model._solvers.greedy.matching_pursuit import DEPENDENT, MatchingPursuit

# Columns that one step may take into use where nobody watches: all of them.
_ALL = 2**62
# The share of the columns to use where no number is given.
_SHARE = 0.1


def count_columns(subject: str, wanted: int | None, tol: float | None, n_features: int) -> int:
    """Return the most columns to use."""
    if tol is not None:
        return n_features
    if wanted is None:
        return max(int(_SHARE * n_features), 1)
    if wanted > n_features:
        raise ParameterError(
            f"{subject}: The number of atoms cannot be more than the number of features: n_nonzero_coefs must be at "
            f"most {n_features}; got {wanted}."
        )
    return int(wanted)


def warn_of_dependence(ended: list[int], stacklevel: int = 5) -> None:
    """Warn, in scikit-learn's words, of a pursuit that found no column that those in use do not determine."""
    if DEPENDENT in ended:
        warnings.warn(
            "Orthogonal matching pursuit ended prematurely due to linear dependence in the dictionary. The requested "
            "precision might not have been met.",
            RuntimeWarning,
            stacklevel=stacklevel + 1,
        )


class OrthogonalMatchingPursuit(LinearRegressor):
    """Orthogonal matching pursuit: least squares over few columns, taken one by one.

    Seeks, for each target, the least

        sum_i s_i (y_i - b - x_i . w)^2   with at most k coefficients w_j that are not zero,

    or the fewest with which it is at most ``tol``: the column whose product with the residual is largest joins, and
    least squares over the columns in use makes the residual orthogonal to them, until there are k. The answer need not
    be the best choice of k columns.

    Attributes
    ----------
    %(coef)s
    n_nonzero_coefs_ : int or None
        k; None where ``tol`` decides.
    history_, converged_, certificate_
        How the fit went; the objective is the squared residual, divided by twice the sum of the weights.
        ``converged_`` is False where ``tol`` was not reached; the certificate is the largest product of a column in use
        with the residual.
    %(features)s

    Notes
    -----
    %(notes)s

    References
    ----------
    Y. C. Pati, R. Rezaiifar and P. S. Krishnaprasad, Orthogonal matching pursuit, 1993. R. Rubinstein, M. Zibulevsky
    and M. Elad, Efficient implementation of the K-SVD algorithm using batch orthogonal matching pursuit, 2008.

    Examples
    --------
    >>> from mercer.linear_model import OrthogonalMatchingPursuit
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(noise=4, random_state=0)
    >>> model = OrthogonalMatchingPursuit().fit(X, y)
    >>> round(model.score(X, y), 4), int((model.coef_ != 0).sum())
    (0.9992, 10)
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    n_nonzero_coefs: int | None = parameter(
        Integer(1) | Nothing(), default=None, doc="k; None means a tenth of the columns, and at least one."
    )
    tol: float | None = parameter(
        Real(0) | Nothing(), default=None, doc="The squared residual to reach; it takes the place of the number."
    )
    fit_intercept: bool = parameter(Boolean(), default=True, doc="Whether to fit b; otherwise it is zero.")
    precompute: Any = parameter(
        Boolean() | Choice("auto"),
        default="auto",
        doc="True sums up the products of all columns first; otherwise the cost decides; see Notes.",
    )
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)

    _stalled_cure = "drop columns that others determine"
    _stored: ClassVar[dict[str, Stored]] = {"n_nonzero_coefs_": integers(" | none", low=0)}
    _depends_on_units = ("columns",)

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "OrthogonalMatchingPursuit":
        """Fit the model."""
        name = type(self).__name__
        source = self._open(X, y, sample_weight, targets="numbers", accept_sparse="csr")
        most = count_columns(name, self.n_nonzero_coefs, self.tol, source.n_features)
        if self.tol is not None and source.known_rows is not None:
            most = min(most, source.known_rows)
        plan, tol = plan_products(self, source), -math.inf if self.tol is None else float(self.tol)

        def begin(moments: MomentSums, target: int, products: ColumnProducts) -> MatchingPursuit:
            return MatchingPursuit(name, most, tol, moments, target, products)

        flat, pace = source.n_targets == 1, 1 if self._is_watched() else _ALL
        fitted = partial(self._read_state, dtype=source.dtype_name, flat=(flat, source.target_shape == ()))
        attributes = {"n_nonzero_coefs_": None if self.tol is not None else most}
        outcome = self._drive(
            lambda start: follow_paths(plan, begin, pace, start),
            source,
            fitted=fitted,
            max_steps=most * source.n_targets,
            attributes=attributes,
        )
        steps: Any = [int(record.counts[0]) for record in outcome.state.records]
        self.n_iter_ = steps[0] if flat else steps
        warn_of_dependence([record.ended for record in outcome.state.records])
        self._conclude(outcome, "raise tol")
        return self

    def _read_state(self, state: PathsState, dtype: str, flat: tuple[bool, bool]) -> dict[str, Any]:
        """Return the fitted attributes; `flat` says whether coefficients and intercept lose the axis of targets."""
        return self._linear_attributes(state, dtype, *flat)
