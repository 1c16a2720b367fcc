"""The nodes of a grid on a device, and the transform of the kernel's spline coefficients, computed there.

The formulas are those of :class:`mercer.manifold._tsne.grid.Grid`. A table depends on the present extent of the map
alone, so that a fit that resumes chooses the same one; the numbers of nodes are taken from a coarse list, so that
transforms of the same length are used for many iterations.
"""

import math
from typing import Any

import numpy as np

from mercer._source.placement import Placement
from mercer._types import Array
from mercer.manifold._tsne.grid import LEAST_CELLS, MARGIN, MOST_CELLS, SPACING

# Lengths of transforms are these times a power of two: small primes, and steps of at most a fifth.
_FACTORS = (8, 9, 10, 12, 14)
# Room for a wide map to grow until the next look at its extent.
_ROOM = 1.05


def find_length(least: int) -> int:
    """Return the smallest even length of the list that is at least `least`."""
    lengths = [factor * 2 ** max(1, math.ceil(math.log2(max(least, 1) / factor))) for factor in _FACTORS]
    return min(length for length in lengths if length >= least)


class NodeTable:
    """Nodes of a spacing, and the transform of the kernel's spline coefficients on twice as many nodes a side."""

    def __init__(self, spacing: float, lengths: tuple[int, int], placement: Placement) -> None:
        self.spacing, self.lengths = spacing, lengths
        # The transform is periodic: with half of it empty, no point feels another from behind.
        self.shape = lengths[0] // 2, lengths[1] // 2
        self.kernel = _transform_kernel(spacing, lengths, placement)

    @classmethod
    def choose(cls, extent: Array, last: "NodeTable | None", placement: Placement) -> "NodeTable":
        """Return a table for points of this extent; `last` if it is the same."""
        longest = max(float(np.max(extent)), 1e-12)
        spacing = max(min(SPACING, longest / LEAST_CELLS), longest / MOST_CELLS)
        cells = np.ceil(_ROOM * np.asarray(extent) / spacing) + 2 * MARGIN
        lengths = find_length(2 * int(cells[0])), find_length(2 * int(cells[1]))
        if last is not None and last.spacing == spacing and last.lengths == lengths:
            return last
        return cls(spacing, lengths, placement)


def _transform_kernel(spacing: float, lengths: tuple[int, int], placement: Placement) -> Array:
    """Return the transform of 1 / (1 + r^2) at the nodes, divided by that of the splines of sources and targets."""
    xp: Any = placement.xp
    options = {"dtype": placement.wide, "device": placement.device}
    squares, splines = [], []
    for n in lengths:
        numbers = xp.arange(n, **options)
        squares.append((spacing * xp.minimum(numbers, n - numbers)) ** 2)
        splines.append((4.0 + 2.0 * xp.cos(2.0 * math.pi / n * numbers)) / 6.0)
    kernel = 1.0 / (1.0 + squares[0][:, None] + squares[1][None, :])
    columns = splines[1][: lengths[1] // 2 + 1]
    return xp.real(xp.fft.rfftn(kernel, axes=(0, 1))) / (splines[0][:, None] * columns[None, :]) ** 2
