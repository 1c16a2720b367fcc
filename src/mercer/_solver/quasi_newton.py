"""The two-loop recursion of limited-memory quasi-Newton methods (Nocedal, 1980), in any array library."""

from collections.abc import Callable, Sequence
from typing import Any

from mercer._solver.vector import inner
from mercer._types import Array


def inverse_product(
    steps: Sequence[Any] | Array,
    changes: Sequence[Any] | Array,
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


def is_curved(step: Any, change: Any) -> bool:
    """Return whether the curvature along a step is safely positive, so that it may be remembered."""
    return inner(step, change) > 1e-14 * (inner(step, step) * inner(change, change)) ** 0.5
