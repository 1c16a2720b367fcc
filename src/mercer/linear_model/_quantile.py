"""Quantile regression: the plane below which a given share of the targets lies, the exact optimum of a programme."""

from functools import partial
from typing import Any

import numpy as np

from mercer._base import fitting
from mercer._base.linear.prediction import LinearRegressor, SingleTarget
from mercer._base.parameter import Boolean, Choice, Nothing, Options, Real, parameter
from mercer._objective import L1, Pinball
from mercer._solver import Solver
from mercer._solver.composite.composite_problem import CompositeProblem
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer.errors import ParameterError
from mercer.linear_model._solvers.composite.quantile_program import quantile_program

# The gap at which the optimum counts as reached, beside J at zero coefficients: what rounding leaves of sums.
_TOLERANCE = 1e-9
# Steps that the smoothed problem may take; a few dozen do.
_STEPS = 1000


class QuantileRegressor(SingleTarget, LinearRegressor):
    """Linear regression of a conditional quantile.

    Minimises, over coefficients w (``coef_``) and intercept b (``intercept_``),

        J(w, b) = (1 / S) sum_i s_i p(y_i - w . x_i - b) + alpha |w|_1

    with s the ``sample_weight``, S their sum, and the pinball loss p(r) = quantile r for r > 0, (quantile - 1) r else.
    The share of targets below the plane is then `quantile`, but for the few rows that lie on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients; those that the penalty sets to zero are exactly zero.
    intercept_ : float
        Intercept.
    solver_used_ : str
        "near rows" or "all rows": which of them the linear programme had.
    n_iter_ : int
        Steps taken: of the smoothed problem, and linear programmes.
    history_, converged_, certificate_
        How the fit went. The certificate is a duality gap: J is at most that far above its minimum. Without a penalty
        it says how far the optimality conditions are from holding.

    Notes
    -----
    Exact: a vertex of the linear programme, certified by a dual point. Newton's method on the smoothed problem takes
    some ten to twenty steps of n d^2 / 2 multiplications; the programme has about 10 d + 500 rows, and more if rows
    turn out to be on the wrong side. Memory is that of d^2 numbers and of those rows.

    References
    ----------
    R. Koenker and G. Bassett, Regression quantiles, 1978. S. Portnoy and R. Koenker, The Gaussian hare and the
    Laplacian tortoise, 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linear_model import QuantileRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(1000, 2))
    >>> y = X @ [1.0, 2.0] + random.exponential(size=1000)
    >>> model = QuantileRegressor(quantile=0.8, alpha=0).fit(X, y)
    >>> float(np.mean(y <= model.predict(X) + 1e-9))
    0.802
    """

    quantile: float = parameter(Real(0, 1, "neither"), default=0.5, doc="Which quantile; 0.5 is the median.")
    alpha: float = parameter(Real(0, closed="left"), default=1.0, doc="Strength of the l1 penalty.")
    fit_intercept: bool = parameter(Boolean(), default=True, doc="Whether to fit b; otherwise it is zero.")
    solver: str = parameter(
        Choice("highs-ds", "highs-ipm", "highs", "interior-point", "revised simplex"),
        default="highs",
        doc='- "highs": find the plane roughly, then solve a linear programme of the rows near it, exactly, by the '
        "simplex method of HiGHS; rows in any place;\n"
        '- "highs-ds", "highs-ipm": one linear programme of all rows, by the simplex or the interior-point '
        "method of HiGHS; rows in memory;\n"
        '- "interior-point", "revised simplex": an error; SciPy has them no more.',
    )
    solver_options: dict[str, Any] | None = parameter(
        Options() | Nothing(),
        default=None,
        doc="Options of :func:`scipy.optimize.linprog`; with any, one linear programme of all rows is solved.",
    )
    max_time: float | None = parameter(Real(0) | Nothing(), default=None)
    _depends_on_units = ("columns", "scale")

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "QuantileRegressor":
        """Fit the model."""
        self._check_solver()
        source = self._open_single(X, y, sample_weight)
        penalty = L1(float(self.alpha)) if self.alpha > 0 else None
        problem = CompositeProblem(
            Pinball(float(self.quantile)),
            penalty,
            source.total_weight(),
            source.n_features,
            self.fit_intercept,
            _TOLERANCE,
        )
        fitted = partial(self._read_state, dtype=source.host_dtype)
        outcome = self._drive(lambda state: self._solver(problem, source, state), source, fitted=fitted)
        self.solver_used_ = "all rows" if self._whole else "near rows"
        self._conclude(outcome, "set solver='highs' and no solver_options, or raise max_time")
        return self

    def _check_solver(self) -> None:
        if self.solver in ("interior-point", "revised simplex"):
            raise ParameterError(
                f"QuantileRegressor: Solver {self.solver} is not anymore available in SciPy >= 1.11.0. Use 'highs'."
            )

    @property
    def _whole(self) -> bool:
        return self.solver != "highs" or self.solver_options is not None

    def _solver(self, problem: CompositeProblem, source: Source, start: Any) -> Solver:
        cure = "use solver='highs' without solver_options"
        if not self._whole:
            # The rough solution by reweighting needs the Hessian.
            n_bytes = 16.0 * source.n_features**2 * (1 + source.threads)
            require_memory("QuantileRegressor", n_bytes, "the Hessian", "drop columns")
            return quantile_program(problem, start, _STEPS, source.known_rows)
        self._needs_memory(source, "one linear programme of all rows", cure)
        # A dense copy of the rows and what HiGHS makes of it.
        n_bytes = 32.0 * source.n_rows * source.n_features
        require_memory("QuantileRegressor", n_bytes, "the linear programme of all rows", cure)
        method = "highs-ds" if self.solver == "highs" else self.solver
        options = self.solver_options or {}
        return quantile_program(problem, start, _STEPS, 0, method=method, options=options)

    def _read_state(self, state: Any, dtype: np.dtype) -> dict[str, Any]:
        """Return the coefficients and the intercept, in the precision of the rows."""
        parameters = state.parameters[0].astype(dtype)
        return {"coef_": parameters[:-1].copy(), "intercept_": parameters[-1] if self.fit_intercept else 0.0}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = tags.array_api_support and not self._whole
        return tags
