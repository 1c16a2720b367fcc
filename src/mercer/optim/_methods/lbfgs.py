"""L-BFGS on any function: curvature learnt from the last steps."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, ClassVar

from mercer._base.parameter import Integer, Rule
from mercer._plain import plain
from mercer._solver import Solution, Solver
from mercer._solver.line_search import search
from mercer._solver.quasi_newton import inverse_product, is_curved
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
        direction = -inverse_product(state.steps, state.changes, state.gradient)
        # Before any step nothing is known of the scale: the first trial moves by at most one.
        length = inner(direction, direction) ** 0.5
        first = 1.0 if state.steps or length <= 1.0 else 1.0 / length
        point = FunctionPoint(state.x, state.value, state.gradient)
        reached = yield from search(FunctionProblem(), point, direction, first=first, strong=True)
        if reached is None and not state.steps:
            return Solution(state, False, certify_gradient(state.gradient), "no lower point")
        if reached is None:
            # The memory misleads: start it afresh from here.
            state = FunctionMemoryState(state.x, state.value, state.gradient, (), (), state.n_steps)
            continue
        before, state = state.x, _remember(state, reached, memory)
        yield make_step(state, before)


def _remember(state: FunctionMemoryState, reached: FunctionPoint, memory: int) -> FunctionMemoryState:
    step, change = reached.parameters - state.x, reached.gradient - state.gradient
    steps, changes = state.steps, state.changes
    # Only pairs with s . y > 0 keep the approximate inverse Hessian positive definite.
    if is_curved(step, change):
        steps, changes = (*steps, step)[-memory:], (*changes, change)[-memory:]
    return FunctionMemoryState(
        reached.parameters, reached.objective, reached.gradient, steps, changes, state.n_steps + 1
    )
