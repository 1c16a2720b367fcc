"""Pair descent within a set of rows on an NVIDIA GPU as one Triton program: no value is fetched, no step launched.

The steps are those of :mod:`mercer._native.pair_descent`, for programs of one group, in one block of threads. Pairs are
compared in the type of the values, which chooses one and decides nothing else; coefficients and slopes are float64. On
an H200 a step takes five microseconds for 8192 rows; on its host, whose memory is slower, fifteen.
"""

from typing import Any

import numpy as np

from mercer._solver.dual_program import DualProgram

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

__all__ = ["MOST_ROWS", "can_descend", "described", "take_steps"]

Array = Any
# Rows of a set at most: eight for each of 1024 threads.
MOST_ROWS = 8192


def can_descend(K: Array, program: DualProgram) -> bool:
    """Whether the program can read these values: a torch tensor on an NVIDIA GPU; and has one group."""
    return triton is not None and K.is_cuda and len(program) <= MOST_ROWS and len(program.groups) == 1


def described(
    program: DualProgram, diagonal: Array, goal: float, most: int, b: Array, slope: Array, rise: Array, fall: Array
) -> Array:
    """All that a descent needs but the values, as one vector, to be sent in one piece.

    Seven times n numbers: the diagonal with whatever is added to it, bounds, coefficients, slopes, and what rises and
    falls add to these. Then the kink, the violation to end at, the most steps, and room for their number.
    """
    numbers = [program.kink, goal, most, 0.0]
    return np.concatenate([diagonal, program.lower, program.upper, b, slope, rise, fall, numbers])


def take_steps(K: Array, state: Array, n: int, warps: int = 32) -> None:
    """Descend on values (n, n) and a state of :func:`described`, both on the GPU, in which the outcome is left.

    The values get the diagonal of the state: rounding may have moved theirs, and rows may have a share of their own.
    """
    K.diagonal().copy_(state[:n])
    _steps[(1,)](K, state, n, FLAT=1e-12, HAIR=1e-13, ROWS=MOST_ROWS, num_warps=warps)


if triton is not None:

    @triton.jit
    def _cheaper(cost, slope, place, other, other_slope, other_place):
        """Of two coefficients the one that costs less to raise, the lower place among equals; with its slope."""
        second = (other < cost) | ((other == cost) & (other_place < place))
        return (
            tl.where(second, other, cost),
            tl.where(second, other_slope, slope),
            tl.where(second, other_place, place),
        )

    @triton.jit
    def _better(promise, slope, place, most, other, other_slope, other_place, other_most):
        """Of two partners the one that promises more, the lower place among equals; and the larger of two gaps."""
        second = (other > promise) | ((other == promise) & (other_place < place))
        return (
            tl.where(second, other, promise),
            tl.where(second, other_slope, slope),
            tl.where(second, other_place, place),
            tl.maximum(most, other_most),
        )

    @triton.jit
    def _rise(value, top, kink):
        return tl.where(value >= top, float("inf"), tl.where(value >= 0.0, kink, -kink))

    @triton.jit
    def _fall(value, bottom, kink):
        return tl.where(value <= bottom, float("-inf"), tl.where(value > 0.0, kink, -kink))

    @triton.jit(do_not_specialize=["n"])
    def _steps(K, state, n, FLAT: tl.constexpr, HAIR: tl.constexpr, ROWS: tl.constexpr):
        real = K.dtype.element_ty
        at = tl.arange(0, ROWS)
        inside = at < n
        lower, upper, b, slope = state + n, state + 2 * n, state + 3 * n, state + 4 * n
        own = tl.load(state + at, mask=inside, other=1.0).to(real)
        slopes = tl.load(slope + at, mask=inside, other=0.0)
        kink, goal, most = tl.load(state + 7 * n), tl.load(state + 7 * n + 1), tl.load(state + 7 * n + 2)
        rises = tl.load(state + 5 * n + at, mask=inside, other=float("inf")).to(real)
        falls = tl.load(state + 6 * n + at, mask=inside, other=float("-inf")).to(real)
        steps = 0
        goes_on = most > 0
        while goes_on:
            cost, slope_i, i = tl.reduce((slopes.to(real) + rises, slopes, at), 0, _cheaper)
            row_i, b_i, top = K + i.to(tl.int64) * n, tl.load(b + i), tl.load(upper + i)
            values, own_i = tl.load(row_i + at, mask=inside, other=0.0), tl.load(state + i)
            least = slope_i + tl.where(b_i >= 0.0, kink, -kink)
            gaps = (slopes - least).to(real) + falls
            promises = gaps * gaps / tl.maximum(own_i.to(real) + own - 2.0 * values, FLAT)
            promises = tl.where(gaps > 0.0, promises, -1.0)
            promise, slope_j, j, largest = tl.reduce((promises, slopes, at, gaps), 0, _better)
            goes_on = (promise > 0.0) & (largest > goal) & (cost < float("inf"))
            if goes_on:
                row_j, own_j = K + j.to(tl.int64) * n, tl.load(state + j)
                others = tl.load(row_j + at, mask=inside, other=0.0)
                b_j, bottom = tl.load(b + j), tl.load(lower + j)
                gap = slope_j + tl.where(b_j > 0.0, kink, -kink) - least
                size = gap / tl.maximum(own_i + own_j - 2.0 * tl.load(row_i + j).to(tl.float64), FLAT)
                # Each coefficient stops at its bound or, where there is a kink, at zero.
                size = tl.minimum(size, tl.where((b_i >= 0.0) | (kink == 0.0), top - b_i, -b_i))
                below = (b_j <= 0.0) | (kink == 0.0)
                room = tl.where(below, b_j - bottom, b_j)
                ends = size >= room
                size = tl.where(ends, room, size)
                new_i = b_i + size
                new_j = tl.where(ends, tl.where(below, bottom, 0.0), b_j - size)
                # Rounding must not leave a coefficient a hair from the bound, or the kink, that it has reached.
                new_i = tl.where((kink > 0.0) & (tl.abs(new_i) <= HAIR * size), 0.0, new_i)
                new_i = tl.where(top - new_i <= HAIR * size, top, new_i)
                new_j = tl.where((kink > 0.0) & (tl.abs(new_j) <= HAIR * size), 0.0, new_j)
                new_j = tl.where(new_j - bottom <= HAIR * size, bottom, new_j)
                bottom_i, top_j = tl.load(lower + i), tl.load(upper + j)
                rise_i, rise_j = _rise(new_i, top, kink).to(real), _rise(new_j, top_j, kink).to(real)
                fall_i, fall_j = _fall(new_i, bottom_i, kink).to(real), _fall(new_j, bottom, kink).to(real)
                rises = tl.where(at == i, rise_i, tl.where(at == j, rise_j, rises))
                falls = tl.where(at == i, fall_i, tl.where(at == j, fall_j, falls))
                slopes += size * (values.to(tl.float64) - others.to(tl.float64))
                # All threads have read the coefficients before one writes them, and see them before the next step.
                tl.debug_barrier()
                tl.store(b + i, new_i)
                tl.store(b + j, new_j)
                tl.debug_barrier()
                steps += 1
                goes_on = (size > 0.0) & (steps < most)
        tl.store(slope + at, slopes, mask=inside)
        tl.store(state + 7 * n + 3, steps.to(tl.float64))
