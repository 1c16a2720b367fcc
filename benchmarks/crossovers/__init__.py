"""What ``python -m tools.tune`` times: for each crossover of a room, a piece of work at some sizes.

The module ``benchmarks.crossovers.ROOM`` belongs to the table ``mercer.ROOM._crossovers``. For a crossover it has a
function of the same name in lower case that takes a size and returns a function to time.
"""

from collections.abc import Callable
from typing import Any


def at_sizes(*sizes: int) -> Callable[[Callable[[int], Callable[[], Any]]], Callable[[int], Callable[[], Any]]]:
    """Mark a function as the work of a crossover, with the sizes at which both sides are timed."""

    def mark(work: Callable[[int], Callable[[], Any]]) -> Callable[[int], Callable[[], Any]]:
        work.sizes = sizes  # type: ignore[attr-defined]
        return work

    return mark
