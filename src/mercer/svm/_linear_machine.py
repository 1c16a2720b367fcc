"""What linear machines share: the intercept as a column, and solvers of penalised losses."""

import math
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer._base import LimitedEstimator
from mercer._base.linear.named_penalties import PENALTIES
from mercer._base.parameter import Boolean, Integer, Real, Seed, attribute, parameter
from mercer._objective import Loss
from mercer._solver import Outcome, Solver
from mercer._solver.composite.choice import choose_solver
from mercer._solver.composite.composite_problem import CompositeProblem
from mercer._solver.composite.native_irls import native_irls, takes_native
from mercer._solver.relay import relay
from mercer._solver.request import run_large
from mercer._source import Source, open_source
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix
from mercer._types import Array


class LinearMachine(LimitedEstimator):
    """Minimises C times the sum of losses plus the penalty of the coefficients, the intercept's among them.

    As in LIBLINEAR the intercept is the coefficient of a column of value `intercept_scaling`, penalised like others.
    """

    _needs_rows = "its dual problem has a variable for each row"

    tol: float = parameter(
        Real(0, closed="neither"),
        default=1e-4,
        doc="The fit ends when the duality gap is at most this share of the objective at zero coefficients.",
    )
    C: float = parameter(Real(0, closed="neither"), default=1.0, doc="The factor of the losses.")
    fit_intercept: bool = parameter(Boolean(), default=True, doc="Whether to fit b; otherwise it is zero.")
    verbose: int = parameter(Integer(0), default=0)
    random_state: Any = parameter(
        Seed(),
        default=None,
        doc="Not needed: rows are visited in orders drawn from a fixed seed, which decide the path, not the optimum.",
    )
    max_iter: int = parameter(Integer(0), default=1000, doc="The largest number of steps.")

    # `choose_solver` reads this attribute.
    warm_start = False
    intercept_scaling: float = attribute()
    dual: Any = attribute()

    @property
    def solver(self) -> str:
        """The solver that `dual` asks for."""
        return "dual" if self.dual is True else "auto"

    def _add_constant(self, source: Source) -> Source:
        """Return the rows with the intercept's column, or as they are without an intercept."""
        if not self.fit_intercept:
            return source
        rows = source.whole()
        n_bytes = 8.0 * (rows.nnz if is_sparse_matrix(rows) else math.prod(rows.shape))
        require_memory(
            type(self).__name__, n_bytes, "the rows beside a column for the intercept", "use fit_intercept=False"
        )
        if is_sparse_matrix(rows):
            wide = run_large(lambda: _append_stored(rows, self.intercept_scaling), rows.nnz)
        else:
            column = np.full((rows.shape[0], 1), self.intercept_scaling, dtype=rows.dtype)
            wide = run_large(lambda: np.hstack([rows, column]), rows.size)
        wider = open_source(wide, source.y, source.weight, source.threads)
        return wider if source.labelling is None else wider.relabel(source.labelling)

    def _solve(self, given: Source, loss: Loss, penalty: str, known: dict[str, Any] | None = None) -> Outcome:
        """Drive the solver that suits `loss` and `penalty`, and store; watches see the rows as they were given."""
        source = self._add_constant(given)
        total = source.total_weight()
        # The solvers minimise the mean loss plus a penalty: both sides are divided by C times the sum of weights.
        scaled = PENALTIES[penalty].scaled(1.0 / (self.C * total))
        problem = CompositeProblem(loss, scaled, total, source.n_features, False, self.tol)
        used, solve = choose_solver(self, problem, source, self.solver)
        if used == "irls" and takes_native(problem, source):
            solve = partial(self._solve_small, problem, self._is_watched())
        dtype = source.host_dtype
        return self._drive(
            lambda start: relay(solve(start), source=source),
            given,
            fitted=lambda state: self._list_coefficients(state.parameters, dtype),
            max_steps=max(1, self.max_iter),
            attributes=(known or {}) | {"solver_used_": used},
        )

    def _solve_small(self, problem: CompositeProblem, watched: bool, start: Any) -> Solver:
        return native_irls(problem, start, self.max_iter, watched)

    def _list_coefficients(self, parameters: Array, dtype: Any) -> dict[str, Any]:
        """Return ``coef_`` (k, d) and ``intercept_`` (k,) in `dtype`; the last of the `parameters` is always zero."""
        parameters = parameters.astype(dtype)
        if not self.fit_intercept:
            return {"coef_": parameters[:, :-1].copy(), "intercept_": np.zeros(len(parameters), dtype=dtype)}
        intercept = parameters[:, -2] * parameters.dtype.type(self.intercept_scaling)
        return {"coef_": parameters[:, :-2].copy(), "intercept_": intercept}


def _append_stored(rows: Any, value: float) -> Any:
    """Return CSR rows with one more column of `value`: the last stored value of each row, so that order is kept.

    SciPy's ``hstack`` takes twice as long, and leaves it open whether the columns of a row are in order.
    """
    n, d = rows.shape
    pointers = rows.indptr + np.arange(n + 1, dtype=rows.indptr.dtype)
    added = np.zeros(rows.nnz + n, dtype=bool)
    added[pointers[1:] - 1] = True
    data, columns = np.empty(len(added), rows.dtype), np.empty(len(added), rows.indices.dtype)
    data[added], columns[added] = value, d
    data[~added], columns[~added] = rows.data, rows.indices
    wide = csr_array((data, columns, pointers), shape=(n, d + 1))
    wide.has_sorted_indices, wide.has_canonical_format = rows.has_sorted_indices, rows.has_canonical_format
    return wide
