"""How work grows with its size, and how it shrinks with the number of workers."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.errors import ParameterError


def amdahl(parallel_share: float, workers: float) -> float:
    r"""Return how many times faster work becomes on `workers` workers if a share of it can be divided (Amdahl's law).

    .. math:: \frac{1}{(1 - s) + s / p}

    Parameters
    ----------
    parallel_share : float
        s, between 0 and 1.
    workers : float
        p, at least 1; ``math.inf`` gives the limit 1 / (1 - s).

    Returns
    -------
    float

    Examples
    --------
    >>> import mercer
    >>> round(mercer.amdahl(0.95, 8), 6)
    5.925926
    """
    if not 0 <= parallel_share <= 1 or not workers >= 1:
        raise ParameterError(
            f"amdahl: parallel_share must be a number in [0, 1] and workers one in [1, inf]; got {parallel_share!r} "
            f"and {workers!r}."
        )
    # All of the work divided among infinitely many workers leaves no time; the limit of 1 / left is infinite.
    left = (1 - parallel_share) + parallel_share / workers
    return 1 / left if left else math.inf


def measure_growth(
    run: Callable[[int], Any],
    sizes: Sequence[int],
    *,
    repeats: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Measure the exponent by which the time of ``run(size)`` grows: the slope of log time over log size.

    One for work that is linear in `size`, two for quadratic work. The shortest of `repeats` runs counts, in turns over
    the sizes, so that a busy moment does not hit one size alone.

    Parameters
    ----------
    run : callable
        Does the work of a given size; prepare its data beforehand, so that only the work is timed.
    sizes : sequence of int
        Two different ones at least; far apart, so that fixed costs do not hide the slope.
    repeats : int, default=3
        Runs of each size.
    clock : callable, default=time.perf_counter
        Seconds; ``time.process_time`` counts those of the processor on all threads instead.

    Returns
    -------
    float

    Examples
    --------
    >>> import mercer
    >>> seconds = iter([0.0, 2.0, 2.0, 10.0])
    >>> round(mercer.measure_growth(lambda size: None, [100, 200], repeats=1, clock=lambda: next(seconds)), 6)
    2.0
    """
    if len(set(sizes)) < 2 or min(sizes) < 1 or repeats < 1:
        raise ParameterError(
            f"measure_growth: sizes must be two or more different positive integers and repeats at least 1; got "
            f"{list(sizes)!r} and {repeats!r}."
        )
    best = [math.inf] * len(sizes)
    for _ in range(repeats):
        for place, size in enumerate(sizes):
            begin = clock()
            run(size)
            best[place] = min(best[place], clock() - begin)
    # A clock that did not move still moved by less than it can tell.
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(best, 1e-9)), 1)[0])
