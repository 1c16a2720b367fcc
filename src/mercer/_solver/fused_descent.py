"""Pair descent within a set of rows on an NVIDIA GPU as one Triton program: no value is fetched, no step launched.

The steps are those of :mod:`mercer._native.pair_descent`, for programs of one group, in one block of threads. Pairs are
compared in float32, which chooses one and decides nothing else; coefficients and slopes are float64. On an H200 a step
takes six microseconds for 8192 rows; on its host, whose memory is slower, fifteen.
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
# Rows of a set at most: sixteen for each of 512 threads, whose registers they fill.
MOST_ROWS = 8192


def can_descend(K: Array, program: DualProgram) -> bool:
    """Whether it can be done: float32 values of torch on an NVIDIA GPU, and a program of one group."""
    fits = len(program) <= MOST_ROWS and len(program.groups) == 1
    return fits and triton is not None and K.is_cuda and K.element_size() == 4


def described(
    program: DualProgram, diagonal: Array, goal: float, most: int, b: Array, slope: Array, rise: Array, fall: Array
) -> Array:
    """All that a descent needs but the values, as one vector, to be sent in one piece.

    Seven times n numbers: the diagonal with whatever is added to it, bounds, coefficients, slopes, and what rises and
    falls add to these. Then the kink, the violation to end at, the most steps, and room for their number.
    """
    numbers = [program.kink, goal, most, 0.0]
    return np.concatenate([diagonal, program.lower, program.upper, b, slope, rise, fall, numbers])


def take_steps(K: Array, state: Array, n: int) -> None:
    """Descend on values (n, n) and a state of :func:`described`, both on the GPU, in which the outcome is left.

    The values get the diagonal of the state: rounding may have moved theirs, and rows may have a share of their own.
    """
    K.diagonal().copy_(state[:n])
    _steps[(1,)](K, state, n, FLAT=1e-12, HAIR=1e-13, ROWS=MOST_ROWS, PATIENCE=16, num_warps=16)


if triton is not None:

    @triton.jit
    def _ranked(values, places):
        """Whole numbers in the order of the values, and of the places among equals, which their last 32 bits are."""
        bits = values.to(tl.int32, bitcast=True)
        # Of numbers below zero the larger bits are the smaller number.
        bits = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
        return (bits.to(tl.int64) << 32) | places.to(tl.int64)

    @triton.jit
    def _rise(value, top, kink):
        return tl.where(value >= top, float("inf"), tl.where(value >= 0.0, kink, -kink))

    @triton.jit
    def _fall(value, bottom, kink):
        return tl.where(value <= bottom, float("-inf"), tl.where(value > 0.0, kink, -kink))

    @triton.jit(do_not_specialize=["n"])
    def _steps(K, state, n, FLAT: tl.constexpr, HAIR: tl.constexpr, ROWS: tl.constexpr, PATIENCE: tl.constexpr):
        at = tl.arange(0, ROWS)
        inside = at < n
        lower, upper, b, slope = state + n, state + 2 * n, state + 3 * n, state + 4 * n
        kink, goal, most = tl.load(state + 7 * n), tl.load(state + 7 * n + 1), tl.load(state + 7 * n + 2)
        own = tl.load(state + at, mask=inside, other=1.0).to(tl.float32)
        slopes = tl.load(slope + at, mask=inside, other=0.0)
        rises = tl.load(state + 5 * n + at, mask=inside, other=float("inf")).to(tl.float32)
        falls = tl.load(state + 6 * n + at, mask=inside, other=float("-inf")).to(tl.float32)
        steps = 0
        goes_on = most > 0
        while goes_on:
            i = (tl.min(_ranked(slopes.to(tl.float32) + rises, at), axis=0) & 0xFFFFFFFF).to(tl.int32)
            row_i, own_i = K + i.to(tl.int64) * n, tl.load(state + i)
            values = tl.load(row_i + at, mask=inside, other=0.0)
            # The thread that has the slope of a row writes it where all can read it.
            tl.store(slope + at, slopes, mask=at == i)
            tl.debug_barrier()
            b_i, top = tl.load(b + i), tl.load(upper + i)
            least = tl.load(slope + i) + tl.where(b_i >= 0.0, kink, -kink)
            gaps = (slopes - least).to(tl.float32) + falls
            promises = gaps * gaps / tl.maximum(own_i.to(tl.float32) + own - 2.0 * values, FLAT)
            best = tl.max(_ranked(tl.where(gaps > 0.0, promises, -1.0), ROWS - 1 - at), axis=0)
            j = ROWS - 1 - (best & 0xFFFFFFFF).to(tl.int32)
            goes_on = best > 0
            # A few steps too many cost less than to look each time.
            if steps % PATIENCE == 0:
                goes_on = goes_on & (tl.max(gaps, axis=0) > goal)
            if goes_on:
                row_j, own_j = K + j.to(tl.int64) * n, tl.load(state + j)
                others = tl.load(row_j + at, mask=inside, other=0.0)
                tl.store(slope + at, slopes, mask=at == j)
                tl.debug_barrier()
                b_j, bottom = tl.load(b + j), tl.load(lower + j)
                gap = tl.load(slope + j) + tl.where(b_j > 0.0, kink, -kink) - least
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
                rise_i, rise_j = _rise(new_i, top, kink).to(tl.float32), _rise(new_j, top_j, kink).to(tl.float32)
                fall_i, fall_j = _fall(new_i, bottom_i, kink).to(tl.float32), _fall(new_j, bottom, kink).to(tl.float32)
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
