"""Sums of squares of rows on an NVIDIA GPU by a CUDA program: rows are read once, centred and multiplied in float64.

Array operations write the centred rows in float64 and read them three times. The program computes one triangle of the
products by the matrix instructions for double.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mercer._source.device.cuda_program import CudaProgram, capability_of, cuda_program, device_of

# Columns of a band, as in the CUDA program.
_BAND = 32
# Most bands: wider rows keep a matrix product busy for longer than writing them takes.
_MOST_BANDS = 8
# Warps of a block: with 168 registers each, twelve fill a multiprocessor.
_WARPS = 12
# Slices of the rows, each with sums of its own, for each resident block: as many as a large GPU has multiprocessors.
# Fixed, so that sums do not depend on the GPU.
_SLICES = 132
# Fewer rows than this take less time by array operations.
_FEWEST_ROWS = 2**14
# Rows whose mean is the shift.
_SAMPLE = 1024
# The first compute capability with these instructions.
_LEAST_CAPABILITY = 90


class _Shape(NamedTuple):
    """Sets of warps that share a tile, rows of a tile, blocks of a multiprocessor."""

    teams: int
    lines: int
    resident: int


# The fastest of the shapes that were measured on an H200, by bands.
_SHAPES = {
    1: _Shape(2, 32, 4),
    2: _Shape(2, 32, 2),
    3: _Shape(1, 16, 2),
    4: _Shape(1, 16, 1),
    5: _Shape(1, 32, 1),
    6: _Shape(1, 16, 1),
    7: _Shape(1, 16, 1),
    8: _Shape(1, 16, 1),
}


class CentredSums(NamedTuple):
    """Sums over rows x: a shift s near their mean, and the sums of x - s, of (x - s)(x - s)^T and of (x - s) t."""

    shift: Any
    sums: Any
    scatter: Any
    cross: Any


@cache
def _put_places(d: int, bands: int, device: Any) -> Any:
    """Return the places on a device; a copy for each fit would wait for all that the device was given before."""
    import torch

    return torch.asarray(_find_places(d, bands), device=device)


def _find_places(d: int, bands: int) -> Any:
    """Return where each entry (a, b) of the scatter is among the products of pairs of bands, one after the other."""
    pairs = [(i, j) for i in range(bands) for j in range(i, bands)]
    numbers = np.zeros((bands, bands), np.int64)
    for number, (i, j) in enumerate(pairs):
        numbers[i, j] = number
    low, high = np.minimum(*np.indices((d, d))), np.maximum(*np.indices((d, d)))
    pair = numbers[low // _BAND, high // _BAND]
    return (pair * _BAND + low % _BAND) * _BAND + high % _BAND


class _Plan(NamedTuple):
    """How the pairs of bands of rows with some columns are shared out, and the program that does it."""

    fold: int
    bands: int
    pairs: int
    groups: int
    at_once: int
    shape: _Shape
    program: CudaProgram | None

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return 32 * self.at_once * self.shape.teams

    @property
    def width(self) -> int:
        """The columns of all bands."""
        return _BAND * self.bands


def _make_plan(rows: Any) -> _Plan:
    """Return the plan for rows on an NVIDIA GPU."""
    d = rows.shape[1]
    # Narrow rows that follow one another in memory fill a band together.
    fold = 2 ** ((_BAND // d).bit_length() - 1) if d <= _BAND // 2 and rows.is_contiguous() else 1
    bands = -(-d * fold // _BAND)
    pairs = bands * (bands + 1) // 2
    groups = -(-pairs // _WARPS)
    at_once, shape = -(-pairs // groups), _SHAPES[bands]
    real = "float" if str(rows.dtype) == "torch.float32" else "double"
    constants = {"BANDS": bands, "PAIRS": at_once, "REAL": real, "FOLD": fold}
    constants |= {name.upper(): value for name, value in shape._asdict().items()}
    width, lines = _BAND * bands, shape.lines
    # Two tiles, the shift, and the targets of two tiles.
    shared = 8 * (2 * lines * (width + 4) + width + 2 * lines * fold)
    program = cuda_program("mercer._source.device", "scatter_sums.cu", "sum_scatter", rows, constants, shared)
    return _Plan(fold, bands, pairs, groups, at_once, shape, program)


def can_sum(rows: Any) -> bool:
    """Return whether there is a program for the rows of a torch tensor: an NVIDIA GPU, enough rows, not too wide."""
    device, (n, d) = device_of(rows), rows.shape
    if device is None or n < _FEWEST_ROWS or not 1 <= d <= _BAND * _MOST_BANDS or rows.stride(1) != 1:
        return False
    if str(rows.dtype) not in ("torch.float32", "torch.float64") or capability_of(device) < _LEAST_CAPABILITY:
        return False
    return _make_plan(rows).program is not None


def sum_centred(rows: Any, targets: Any = None) -> CentredSums:
    """Return the sums of rows (n, d) of a torch tensor for which :func:`can_sum`, and of float64 targets (n,)."""
    import torch

    (n, d), plan = rows.shape, _make_plan(rows)
    # Rows from all parts of the table, so that an order of the rows does not shift their mean.
    shift = rows[:: max(1, n // _SAMPLE)].to(torch.float64).mean(0)
    lines, deep, fold = n // plan.fold, d * plan.fold, plan.fold
    height = -(-lines // (_SLICES * max(2, plan.shape.resident)))
    slices, options = -(-lines // height), {"dtype": torch.float64, "device": rows.device}
    products: Any = torch.empty((slices * plan.shape.teams, plan.pairs * _BAND * _BAND), **options)
    sums: Any = torch.empty((slices * max(1, plan.threads // plan.width), 2 * plan.width), **options)
    given = [rows, rows.stride(0) * fold, deep, lines, height, shift.repeat(fold)]
    given += [shift if targets is None else targets.contiguous(), int(targets is not None), plan.pairs, products, sums]
    assert plan.program is not None
    plan.program.launch((slices, plan.groups), plan.threads, given, rows)
    places = _put_places(deep, plan.bands, rows.device)
    total = sums.sum(0).reshape(2, plan.width)[:, :deep].reshape(2, fold, d).sum(1)
    # Of the products of folded rows, those of a row with itself are on the diagonal.
    scatter = products.sum(0)[places].reshape(fold, d, fold, d).diagonal(dim1=0, dim2=2).sum(2)
    found = CentredSums(shift, total[0], scatter, None if targets is None else total[1])
    return found if n % fold == 0 else _add_rest(found, rows[lines * fold :], targets)


def _add_rest(found: CentredSums, rows: Any, targets: Any) -> CentredSums:
    """Add the last rows, which do not fill a folded one."""
    centred = rows.to(found.shift.dtype) - found.shift
    cross = None if targets is None else found.cross + centred.T @ targets[-rows.shape[0] :]
    return CentredSums(found.shift, found.sums + centred.sum(0), found.scatter + centred.T @ centred, cross)
