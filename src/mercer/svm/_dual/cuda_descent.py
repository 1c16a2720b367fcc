"""Pair descent within a set of rows on an NVIDIA GPU, by the program of ``pair_steps.cu``.

From compute capability 9 on a cluster of eight blocks has 8192 rows in its shared memory; before, one block has 4096,
or 2048 where that memory is small. On an H200 a step takes 2.2 microseconds alone, and 1.0 where four are taken
together; on its host, from a square of 268 MB, fifteen.
"""

import math
from typing import Any

import numpy as np

from mercer._source.device.cuda_program import CudaProgram, capability_of, cuda_program, device_of
from mercer.svm._dual.program import DualProgram

__all__ = ["described", "most_rows", "take_steps"]

Array = Any
# Blocks of a cluster, threads of a block, rows of a thread and pairs at a time, by the compute capability they need.
_SHAPES = {90: (8, 128, 8, 4), 86: (1, 1024, 2, 2), 80: (1, 1024, 4, 2)}


def _shape(array: Array) -> tuple[int, int, int, int] | None:
    device = device_of(array)
    capability = 0 if device is None else capability_of(device)
    return next((shape for least, shape in _SHAPES.items() if capability >= least), None)


def _program(array: Array, shape: tuple[int, int, int, int]) -> CudaProgram | None:
    constants = dict(zip(("CLUSTER", "THREADS", "PER", "PAIRS"), shape, strict=True))
    # Four doubles and a float for each column of a block.
    shared = 36 * shape[1] * shape[2]
    return cuda_program("mercer.svm._dual", "pair_steps.cu", "pair_steps", array, constants, shared)


def most_rows(array: Array) -> int:
    """Rows of a set at most, where an array is; 0 if there is no program for that place."""
    shape = _shape(array)
    return 0 if shape is None or _program(array, shape) is None else math.prod(shape[:3])


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
    program = None if shape is None else _program(K, shape)
    assert shape is not None
    assert program is not None
    program.launch((shape[0], 1), shape[1], [K, state, n], K)
