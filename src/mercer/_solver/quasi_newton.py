"""The two-loop recursion of limited-memory quasi-Newton methods (Nocedal, 1980), in any array library."""

from collections.abc import Callable, Generator
from typing import Any

from mercer._solver.line_search import Place, Problem, search
from mercer._solver.vector import inner


def inverse_product(
    steps: tuple[Any, ...],
    changes: tuple[Any, ...],
    gradient: Any,
    solve: Callable[[Any], Any] = lambda vector: vector,
) -> Any:
    """Return `gradient` times the inverse Hessian implied by remembered steps and gradient changes, oldest first.

    `solve` applies the inverse of the metric that stands in the place of the identity.
    """
    curvatures = [inner(step, change) for step, change in zip(steps, changes, strict=True)]
    shares = [0.0] * len(curvatures)
    q = gradient
    # First loop: from the newest pair to the oldest.
    for i in reversed(range(len(curvatures))):
        shares[i] = inner(steps[i], q) / curvatures[i]
        q = q - shares[i] * changes[i]
    result = solve(q)
    # The metric is scaled by s.y / y.M^-1 y of the newest pair, so that the first step has the right length.
    if curvatures:
        result = result * (curvatures[-1] / inner(changes[-1], solve(changes[-1])))
    # Second loop: from the oldest pair to the newest.
    for i in range(len(curvatures)):
        result = result + (shares[i] - inner(changes[i], result) / curvatures[i]) * steps[i]
    return result


def remember(
    steps: tuple[Any, ...], changes: tuple[Any, ...], step: Any, change: Any, memory: int
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the last `memory` steps and changes with a new pair, if the curvature along it is safely positive.

    Only pairs with s . y > 0 keep the implied inverse Hessian positive definite.
    """
    if not inner(step, change) > 1e-14 * (inner(step, step) * inner(change, change)) ** 0.5:
        return steps, changes
    return (*steps, step)[-memory:], (*changes, change)[-memory:]


def step_by_memory(
    problem: Problem,
    place: Place,
    steps: tuple[Any, ...],
    changes: tuple[Any, ...],
    memory: int,
    first: Callable[[Any], float] = lambda direction: 1.0,
) -> Generator[Any, Any, tuple[Any, tuple[Any, ...], tuple[Any, ...]]]:
    """Take one step of L-BFGS; return the place reached and what is remembered then.

    A memory that misleads is dropped. The place is None where the gradient itself leads to no lower one. `first` gives
    the first length tried along the gradient, whose scale is not known.
    """
    while True:
        direction = -inverse_product(steps, changes, place.gradient)
        length = 1.0 if steps else first(direction)
        reached = yield from search(problem, place, direction, first=length, strong=True)
        if reached is not None:
            step, change = reached.parameters - place.parameters, reached.gradient - place.gradient
            return reached, *remember(steps, changes, step, change, memory)
        if not steps:
            return None, (), ()
        steps, changes = (), ()
