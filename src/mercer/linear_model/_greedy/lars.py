"""Least angle regression, and the lasso by it."""

import math
import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._base import fitting, seed_sequence
from mercer._base.linear.prediction import LinearRegressor
from mercer._base.parameter import Array, Boolean, Choice, Integer, Nothing, Real, Seed, parameter
from mercer._documentation import compose_docstring
from mercer._statistic import MomentSums
from mercer._stored import Stored, floats, integers, members
from mercer.linear_model._greedy.documentation import SHARED
from mercer.linear_model._solvers.greedy.column_products import ColumnProducts, plan_products
from mercer.linear_model._solvers.greedy.following import PathsState, follow_paths
from mercer.linear_model._solvers.greedy.least_angle import LeastAnglePath, PathRecord, PathRules
from mercer.linear_model._solvers.lasso.coordinate_descent import check_cross

# Knots that one step may take where nobody watches: all of them.
_ALL = 2**62


class LeastAngleModel(LinearRegressor):
    """Base of the models that follow a path of least angles."""

    fit_intercept: bool = parameter(Boolean(), default=True, doc="Whether to fit b; otherwise it is zero.")
    verbose: Any = parameter(Boolean() | Integer(0), default=False)
    precompute: Any = parameter(
        Boolean() | Choice("auto") | Array() | Nothing(),
        default="auto",
        doc="True sums up the products of all columns first; an array is that matrix, X^T X of centred (and "
        "weighted) columns. Otherwise the cost decides; see Notes.",
    )
    eps: float = parameter(
        Real(0),
        default=np.finfo(float).eps,
        doc="The least pivot of the Cholesky factor of the columns in use, as a share of a column's length. A column "
        "with a pivot below 1e-7 does not join, because those in use determine it; a larger ``eps`` lets it.",
    )
    copy_X: bool = parameter(
        Boolean(),
        default=True,
        doc="Has no effect: rows are neither copied nor overwritten. Kept so that scikit-learn's calls run.",
    )
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)

    _stalled_cure = "drop columns that others determine, or raise eps"
    _stored: ClassVar[dict[str, Stored]] = {
        "alphas_": floats("*") | members(floats("*")),
        "active_": members(integers(low=0, below="columns")) | members(members(integers(low=0, below="columns"))),
        "coef_path_": floats("columns, *") | members(floats("columns, *")),
    }

    def _pace(self) -> int:
        """Return how many knots one step takes: one, where anybody looks at the steps."""
        return 1 if self._is_watched() else _ALL

    def _warn_of_refused(self, records: tuple[PathRecord, ...]) -> None:
        """Warn of columns that did not join because those in use determine them."""
        refused = max(int(np.count_nonzero(record.marks == 2)) for record in records)
        if refused:
            warnings.warn(
                f"{type(self).__name__}: Regressors in active set degenerate: {refused} columns did not join the path, "
                f"since those in use determine them; drop them, or raise eps.",
                ConvergenceWarning,
                stacklevel=5,
            )


class PathModel(LeastAngleModel):
    """Least angle regression down to one penalty or number of columns."""

    fit_path: bool = parameter(Boolean(), default=True, doc="Whether to keep all knots, in ``coef_path_``.")
    jitter: float | None = parameter(
        Real(0, math.inf, "left") | Nothing(),
        default=None,
        doc="Random numbers up to this are added to the targets. Columns that tie join together and need none.",
    )
    random_state: Any = parameter(Seed(), default=None, doc="The seed, with ``jitter``.")

    def _rules(self) -> PathRules:
        raise NotImplementedError  # each class below defines its own

    @fitting
    def fit(self, X: Any, y: Any = None, Xy: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        Xy : array-like of shape (n_features,) or (n_features, n_targets) or None, default=None
            The products X^T y of centred columns and targets, where they are known; they are checked.
        """
        source = self._open(X, y, sample_weight, targets="numbers", accept_sparse="csr")
        if self.jitter is not None:
            self._needs_memory(source, "jitter", "set jitter=None")
            random = np.random.default_rng(seed_sequence(self.random_state))
            source.y = source.y + random.uniform(0.0, self.jitter, len(source.y))[(..., *[None] * (source.y.ndim - 1))]
        for name in ("active_", "coef_path_"):
            vars(self).pop(name, None)
        plan, rules, name = plan_products(self, source), self._rules(), type(self).__name__
        n_rows, flat = source.known_rows or source.n_features, source.n_targets == 1

        def check(moments: MomentSums) -> None:
            check_cross(name, Xy, moments.cross)

        def begin(moments: MomentSums, target: int, products: ColumnProducts) -> LeastAnglePath:
            return LeastAnglePath(rules, moments, target, products, n_rows)

        fitted = partial(self._read_state, dtype=source.dtype_name, flat=(flat, source.target_shape == ()))
        outcome = self._drive(
            lambda start: follow_paths(plan, begin, self._pace(), start, check), source, fitted=fitted
        )
        records = outcome.state.records
        steps: Any = [int(record.counts[3]) - 1 for record in records]
        self.n_iter_ = steps[0] if flat else steps
        self._warn_of_refused(records)
        self._conclude(outcome, "raise max_iter")
        return self

    def _read_state(self, state: PathsState, dtype: str, flat: tuple[bool, bool]) -> dict[str, Any]:
        """Return the fitted attributes; `flat` says whether coefficients and intercept lose the axis of targets."""
        attributes = self._linear_attributes(state, dtype, *flat)
        alphas = [(record.heights[:, 0] / state.total).astype(dtype) for record in state.records]
        if not self.fit_path:
            alphas = [one[-1:] for one in alphas]
            return attributes | {"alphas_": alphas[0] if flat[0] else alphas}
        active = [record.order[: record.counts[0]].tolist() for record in state.records]
        knots = [record.knots.T.astype(dtype) for record in state.records]
        lists = {"alphas_": alphas, "active_": active, "coef_path_": knots}
        return attributes | {name: values[0] if flat[0] else values for name, values in lists.items()}


class Lars(PathModel):
    """Least angle regression: columns come in one by one, and those in use move together.

    With the residual r = y - b - X w, the column whose product with r is largest comes first. The coefficients of the
    columns in use move so that all |x_j . r| of theirs stay equal and fall, until another column's is as large, which
    joins. This goes on to least squares, or until ``n_nonzero_coefs`` columns are in use and the next would join.

    Attributes
    ----------
    %(path)s
    %(coef)s
    history_, converged_, certificate_
        How the fit went; the objective is the squared residual, divided by twice the sum of the weights. The
        certificate says how far the products of columns in use are from being equal, and the largest.
    %(features)s

    Notes
    -----
    %(notes)s

    References
    ----------
    %(efron)s

    Examples
    --------
    >>> from mercer.linear_model import Lars
    >>> model = Lars(n_nonzero_coefs=1).fit([[-1, 1], [0, 0], [1, 1]], [-1.1111, 0, -1.1111])
    >>> model.coef_.round(2)
    array([ 0.  , -1.11])
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    n_nonzero_coefs: int = parameter(Integer(1), default=500, after="precompute", doc="The most columns to use.")
    _depends_on_units = ("columns",)

    def _rules(self) -> PathRules:
        return PathRules(type(self).__name__, False, False, self.eps, self.n_nonzero_coefs, 0.0, self.fit_path)


class LassoLars(PathModel):
    """The lasso by least angles: the exact path from no coefficients down to one penalty.

    Minimises, for each target, the objective of :class:`Lasso`,

        sum_i s_i (y_i - b - x_i . w)^2 / (2 S) + alpha |w|_1,   S = sum_i s_i

    over the coefficients w (``coef_``) and the intercept b (``intercept_``). As the penalty falls, the coefficients
    move along straight lines between knots where a column joins or leaves; ``coef_path_`` holds all of them.

    Attributes
    ----------
    %(path)s
    %(coef)s
    history_, converged_, certificate_
        How the fit went; ``converged_`` is False where ``max_iter`` steps did not reach ``alpha``. The certificate is
        the duality gap, summed over targets; at ``alpha=0`` the largest product of a column with the residual, as a
        share of the first.
    %(features)s

    Notes
    -----
    %(notes)s With ``positive`` the path ends where no column is left that could join.

    References
    ----------
    %(efron)s M. R. Osborne, B. Presnell and B. A. Turlach, A new approach to variable selection in least squares
    problems, 2000.

    Examples
    --------
    >>> from mercer.linear_model import LassoLars
    >>> model = LassoLars(alpha=0.01).fit([[-1, 1], [0, 0], [1, 1]], [-1, 0, -1])
    >>> model.coef_.round(3)
    array([ 0.   , -0.955])
    """

    __doc__ = compose_docstring(__doc__, SHARED)
    alpha: float = parameter(
        Real(0, squared=False),
        default=1.0,
        kw_only=False,
        doc="The penalty at which the path ends; 0 ends it at least squares.",
    )
    max_iter: int = parameter(Integer(1), default=500, after="precompute", doc="The most steps, for each path.")
    positive: bool = parameter(
        Boolean(), default=False, after="random_state", doc="Whether the coefficients must not be negative."
    )
    _depends_on_units = ("columns", "scale", "target")

    def _rules(self) -> PathRules:
        return PathRules(
            type(self).__name__, True, self.positive, self.eps, self.max_iter, float(self.alpha), self.fit_path
        )
