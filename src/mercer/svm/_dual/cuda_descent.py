"""Pair descent within a set of rows on an NVIDIA GPU, by the CUDA program ``pair_steps.cu``.

From compute capability 9 on, a cluster of eight blocks holds 8192 rows in its shared memory; before, one block holds
4096, or 2048 where that memory is small. On an H200 a step takes 2.2 microseconds alone, and 1.0 where four are taken
together; on its host, from a square of 268 MB, fifteen.
"""

import math

import numpy as np

from mercer._source.device.cuda_program import CudaProgram, capability_of, cuda_program, device_of
from mercer._types import Array
from mercer.svm._dual.program import DualProgram

# Blocks of a cluster, threads of a block, rows of a thread and pairs at a time, by the compute capability they need.
_SHAPES = {90: (8, 128, 8, 4), 86: (1, 1024, 2, 2), 80: (1, 1024, 4, 2)}


def _find_shape(array: Array) -> tuple[int, int, int, int] | None:
    device = device_of(array)
    capability = 0 if device is None else capability_of(device)
    return next((shape for least, shape in _SHAPES.items() if capability >= least), None)


def _find_program(array: Array, shape: tuple[int, int, int, int]) -> CudaProgram | None:
    constants = dict(zip(("CLUSTER", "THREADS", "PER", "PAIRS"), shape, strict=True))
    # Four doubles and a float for each column of a block.
    shared = 36 * shape[1] * shape[2]
    return cuda_program("mercer.svm._dual", "pair_steps.cu", "pair_steps", array, constants, shared)


def count_most_rows(array: Array) -> int:
    """Return the most rows of a set on the device of an array; 0 if there is no CUDA program for it."""
    shape = _find_shape(array)
    return 0 if shape is None or _find_program(array, shape) is None else math.prod(shape[:3])


def describe_descent(
    program: DualProgram, diagonal: Array, goal: float, most: int, b: Array, slope: Array, rise: Array, fall: Array
) -> Array:
    """Return all that a descent needs beside the kernel values, as one vector, so that one transfer sends it.

    It has seven parts of n numbers: the diagonal plus the ridge, lower and upper bounds, coefficients, slopes, and what
    is added to slopes when coefficients rise and fall. Then the kink, the violation to end at, the most steps, and a
    place for their number.
    """
    rules = [program.kink, goal, most, 0.0]
    return np.concatenate([diagonal, program.lower, program.upper, b, slope, rise, fall, rules])


def take_steps(K: Array, state: Array) -> None:
    """Descend on float32 values (n, n) and a state of :func:`describe_descent`, both on the device, and update the
    state.

    The values get the diagonal of the state, which is exact and has the ridge of each row.
    """
    n = int(K.shape[0])
    K.reshape(-1)[:: n + 1] = state[:n]
    shape = _find_shape(K)
    program = None if shape is None else _find_program(K, shape)
    assert shape is not None
    assert program is not None
    program.launch((shape[0], 1), shape[1], [K, state, n], K)
