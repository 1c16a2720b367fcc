"""Pair descent within a set of rows on an NVIDIA GPU, by the program of ``pair_steps.cu``.

From compute capability 9 on a cluster of eight blocks has 8192 rows in its registers; before, one block has 4096.
"""

import math
from typing import Any

import numpy as np

from mercer._solver.dual_program import DualProgram
from mercer._source.cuda_program import CudaProgram, capability_of, cuda_program, device_of

__all__ = ["described", "most_rows", "take_steps"]

Array = Any
# Blocks of a cluster, threads of a block and rows of a thread, by the compute capability that they need.
_SHAPES = {90: (8, 128, 8), 80: (1, 1024, 4)}
# Rows that are fetched ahead at each choice.
_AHEAD = 2


def _shape(array: Array) -> tuple[int, int, int] | None:
    device = device_of(array)
    capability = 0 if device is None else capability_of(device)
    return next((shape for least, shape in _SHAPES.items() if capability >= least), None)


def _program(array: Array, blocks: int, threads: int, rows: int) -> CudaProgram | None:
    constants = {"CLUSTER": blocks, "THREADS": threads, "PER": rows, "AHEAD": _AHEAD}
    # All coefficients, in each block.
    shared = 8 * blocks * threads * rows
    return cuda_program("mercer._solver", "pair_steps.cu", "pair_steps", array, constants, shared)


def most_rows(array: Array) -> int:
    """Rows of a set at most, where an array is; 0 if there is no program for that place."""
    shape = _shape(array)
    return 0 if shape is None or _program(array, *shape) is None else math.prod(shape)


def described(
    program: DualProgram, diagonal: Array, goal: float, most: int, b: Array, slope: Array, rise: Array, fall: Array
) -> Array:
    """All that a descent needs but the values, as one vector, to be sent in one piece.

    Seven times n numbers: the diagonal with whatever is added to it, bounds, coefficients, slopes, and what rises and
    falls add to these. Then the kink, the violation to end at, the most steps, and room for their number.
    """
    numbers = [program.kink, goal, most, 0.0]
    return np.concatenate([diagonal, program.lower, program.upper, b, slope, rise, fall, numbers])


def take_steps(K: Array, state: Array) -> None:
    """Descend on float32 values (n, n) and a state of :func:`described`, both there, in which the outcome is left.

    The values get the diagonal of the state: rounding may have moved theirs, and rows may have a share of their own.
    """
    n = int(K.shape[0])
    K.reshape(-1)[:: n + 1] = state[:n]
    shape = _shape(K)
    program = None if shape is None else _program(K, *shape)
    assert shape is not None
    assert program is not None
    blocks, threads, _ = shape
    program.launch((blocks, 1), threads, [K, state, n], K)
