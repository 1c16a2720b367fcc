"""Which solver a pair of loss and penalty takes, and where it starts."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._solver import Solver
from mercer._solver.composite.composite_problem import CompositeProblem
from mercer._solver.composite.dual_ascent import dual_ascent, takes_dual
from mercer._solver.composite.irls import irls
from mercer._solver.composite.proximal_gradient import proximal_gradient
from mercer._source import Source
from mercer._source.memory import require_memory
from mercer._source.namespace import is_sparse_matrix, to_numpy
from mercer.errors import DataError, ParameterError

# From this many parameters on, "auto" no longer forms the Hessian, whose cost grows with their square.
WIDEST_HESSIAN = 500
# From this many on, "auto" maximises the dual of losses with corners: measured 2.3 times faster than reweighting on
# 20 000 x 200 with the hinge loss, as fast on 20 000 x 50; below, reweighting does not mind columns of unequal scale.
_WIDEST_BARRIER = 200
_SOLVERS: dict[str, Callable[..., Solver]] = {"irls": irls, "fista": proximal_gradient, "dual": dual_ascent}
_TAKES = {
    "irls": "l1, l2, elastic net and smooth penalties",
    "dual": "an l2 penalty, and losses of lines and parabolas or 'logistic' of two classes",
}


def choose_solver(
    estimator: Any, problem: CompositeProblem, source: Source, wish: str
) -> tuple[str, Callable[[Any], Solver]]:
    """Return the name of the method, and a function from a state to resume from to the solver.

    `wish` is the name of a method, or "auto" for the best one.
    """
    name, used = type(estimator).__name__, _method(estimator, problem, source, wish)
    begin = _start(estimator, problem)
    if used == "irls":
        # The Hessian of all coefficients and a copy of it, for the result and for the partial sums of each thread.
        n_bytes = 16.0 * math.prod(problem.shape) ** 2 * (1 + source.threads)
        require_memory(name, n_bytes, "the Hessian", "use solver='fista'")
    if used == "dual":
        estimator._needs_memory(source, "solver='dual'", "use solver='auto'")
        n_bytes = 40.0 * source.n_rows * problem.shape[0]
        require_memory(name, n_bytes, "the dual variables", "use solver='fista'")
    return used, lambda state: _SOLVERS[used](problem, begin if state is None else state, estimator.max_iter)


def _method(estimator: Any, problem: CompositeProblem, source: Source, wish: str) -> str:
    """Return the solver asked for, or the best one for `auto`; raise if it cannot solve the problem."""
    elastic, dual = problem.elastic is not None, takes_dual(problem)
    if (wish == "irls" and not elastic) or (wish == "dual" and not dual):
        raise ParameterError(
            f"{type(estimator).__name__}: solver={wish!r} takes {_TAKES[wish]}; got {type(problem.loss).__name__} with "
            f"{type(problem.penalty).__name__}. Use solver='fista'."
        )
    if wish != "auto":
        return wish
    size = math.prod(problem.shape)
    # A loss with corners on many columns: the barrier's Hessian would be too large, and the dual needs none.
    if dual and not problem.loss.is_smooth and size > _WIDEST_BARRIER and source.place == "memory":
        return "dual"
    return "irls" if elastic and size <= WIDEST_HESSIAN else "fista"


def _start(estimator: Any, problem: CompositeProblem) -> np.ndarray | None:
    """Return the last solution for a warm start; None stands for zero coefficients."""
    if not (estimator.warm_start and hasattr(estimator, "coef_")):
        return None
    coef = estimator.coef_.toarray() if is_sparse_matrix(estimator.coef_) else to_numpy(estimator.coef_)
    start = np.zeros(problem.shape)
    if np.atleast_2d(coef).shape != start[:, :-1].shape:
        raise DataError(
            f"{type(estimator).__name__}: warm_start needs the last coefficients to have shape "
            f"{start[:, :-1].shape}; got {np.atleast_2d(coef).shape}. Set warm_start=False to start afresh."
        )
    # The last column holds the intercepts.
    start[:, :-1] = coef
    if estimator.fit_intercept:
        start[:, -1] = to_numpy(estimator.intercept_)
    return start
