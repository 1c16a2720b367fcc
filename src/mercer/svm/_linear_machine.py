"""What linear machines share: the intercept as a column, and solvers of penalised losses."""

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from mercer._base import Estimator
from mercer._base.linear.named_objectives import PENALTIES
from mercer._objective import Loss
from mercer._solver import Solver, Step
from mercer._solver.composite.choice import choose_solver
from mercer._solver.composite.composite_problem import CompositeProblem
from mercer._source import Source, open_source
from mercer._source.memory import require_memory

__all__ = ["LinearMachine"]

Array = Any


class LinearMachine(Estimator):
    """Minimises C times the sum of losses plus the penalty of the coefficients, the intercept's among them.

    As in LIBLINEAR the intercept is the coefficient of a column of value `intercept_scaling`, penalised like others.
    """

    # What the choice of a solver asks of an estimator.
    warm_start = False
    C: float
    fit_intercept: bool
    intercept_scaling: float

    @property
    def solver(self) -> str:
        """The solver that `dual` asks for."""
        if self.dual is True:  # type: ignore[attr-defined]
            return "dual"
        return "auto"

    def _with_constant(self, source: Source) -> Source:
        """The rows with the intercept's column."""
        if not self.fit_intercept:
            return source
        rows = source.whole()
        n_bytes = 8.0 * (rows.nnz if issparse(rows) else math.prod(rows.shape))
        require_memory(
            type(self).__name__, n_bytes, "the rows beside a column for the intercept", "use fit_intercept=False"
        )
        column = np.full((rows.shape[0], 1), self.intercept_scaling, dtype=rows.dtype)
        wide = hstack([rows, csr_array(column)], format="csr") if issparse(rows) else np.hstack([rows, column])
        wider = open_source(wide, source.y, source.weight, source.threads)
        return wider if source.labelling is None else wider.relabel(source.labelling)

    def _learn(self, given: Source, loss: Loss, penalty: str, **known: Any) -> Any:
        """Drive the solver that suits loss and penalty; watches see the rows as they were given."""
        source = self._with_constant(given)
        total = source.total_weight()
        scaled = PENALTIES[penalty].scaled(1.0 / (self.C * total))
        problem = CompositeProblem(loss, scaled, total, source.n_features, False, self.tol)  # type: ignore[attr-defined]
        used, solve = choose_solver(self, problem, source)
        self._precision = source.host_dtype.name
        steps = max(1, self.max_iter)  # type: ignore[attr-defined]
        attributes = known | {"solver_used_": used}
        return self._drive(
            lambda state: _answered_by(source, solve(state)), given, max_steps=steps, attributes=attributes
        )

    def _split(self, parameters: Array) -> tuple[Array, Array]:
        """Coefficients (k, d) and intercepts (k,)."""
        parameters = parameters.astype(self._precision)
        if not self.fit_intercept:
            return parameters[:, :-1].copy(), np.zeros(len(parameters), dtype=self._precision)
        return parameters[:, :-2].copy(), parameters[:, -2] * parameters.dtype.type(self.intercept_scaling)


def _answered_by(source: Source, solver: Solver) -> Solver:
    """A solver whose requests another source has answered, so that only its steps are left."""
    answer: Any = None
    while True:
        try:
            request = solver.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(request, Step):
            yield request
            answer = None
        else:
            answer = request.answer(source)
