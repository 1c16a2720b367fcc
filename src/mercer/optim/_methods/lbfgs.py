"""L-BFGS on any function: curvature learnt from the last steps."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

from mercer._base.parameter import Integer, Rule
from mercer._plain import plain
from mercer._solver import Solution, Solver
from mercer._solver.quasi_newton import step_by_memory
from mercer._solver.vector import inner
from mercer._types import Array
from mercer.optim._function import Evaluate, FunctionPoint, FunctionProblem
from mercer.optim._method import Method, certify_gradient, make_step


@plain
@dataclass(frozen=True, eq=False)
class FunctionMemoryState:
    """Parameters, value, gradient; the last steps and changes of the gradient, oldest first; the steps taken."""

    x: Array
    value: float
    gradient: Array
    steps: tuple[Array, ...]
    changes: tuple[Array, ...]
    n_steps: int


@plain
@dataclass(frozen=True)
class LBFGS(Method):
    """L-BFGS: Newton's method with a Hessian learnt from the last `memory` steps (Liu and Nocedal, 1989).

    The default: few evaluations on smooth functions, O(d * memory) numbers of memory, no options to tune.

    Parameters
    ----------
    memory : an integer in [1, inf), default=10
        How many steps are remembered.

    References
    ----------
    Liu and Nocedal (1989), On the limited memory BFGS method for large scale optimization.

    Examples
    --------
    >>> from mercer.optim import ROSENBROCK, minimize
    >>> result = minimize(ROSENBROCK, [-1.2, 1.0], grad=ROSENBROCK.gradient)
    >>> result.converged, bool(result.value < 1e-12)
    (True, True)
    """

    memory: int = 10
    name: ClassVar[str] = "lbfgs"
    rules: ClassVar[dict[str, Rule]] = {"memory": Integer(1)}
    state: ClassVar[type] = FunctionMemoryState

    def solve(self, start: Array | FunctionMemoryState) -> Solver:
        return _lbfgs(self.memory, start)


def _lbfgs(memory: int, start: Array | FunctionMemoryState) -> Generator[Any, Any, Solution]:
    if isinstance(start, FunctionMemoryState):
        state = start
    else:
        point = yield Evaluate(start)
        state = FunctionMemoryState(start, point.objective, point.gradient, (), (), 0)
    while True:
        point = FunctionPoint(state.x, state.value, state.gradient)
        reached, steps, changes = yield from step_by_memory(
            FunctionProblem(), point, state.steps, state.changes, memory, _guess_length
        )
        if reached is None:
            return Solution(state, False, certify_gradient(state.gradient), "no lower point")
        before = state.x
        state = FunctionMemoryState(
            reached.parameters, reached.objective, reached.gradient, steps, changes, state.n_steps + 1
        )
        yield make_step(state, before)


def _guess_length(direction: Array) -> float:
    """Return a first length that moves by at most one: before any step nothing is known of the scale."""
    length = inner(direction, direction) ** 0.5
    return 1.0 if length <= 1.0 else 1.0 / length
