r"""Sums of Gaussians by a lattice of cells with a polynomial in each: the work is of the order of rows plus points.

The Gaussian of a difference is a product over columns, and in a cell one bandwidth wide it is a polynomial to any
accuracy that matters. Each row's weight is distributed to the p Chebyshev nodes a side of its cell; the sums of
Gaussians from all nodes to all nodes are one banded matrix per column; and the sum at a point is the polynomial of its
cell.

Interpolation at Chebyshev nodes in an interval of half-width 1/2 errs by at most :math:`2 \cdot 4^{-p} \max |k^{(p)}| /
p!`, and Cramér's bound :math:`|k^{(p)}| \le 1.0865 \sqrt{p!}` holds for the Gaussian. One interpolation is done for
each column of the rows and of the points; one that comes after i others has their errors multiplied by no more than the
i-th power of Lebesgue's constant, which is at most :math:`1 + (2 / \pi) \log p`.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer._native.space import density_grid
from mercer._plain import plain
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._stored import Stored, alike, floats, integers
from mercer._types import Array
from mercer.errors import ModelFileError
from mercer.neighbors._row_tree import RowTree

# Cells around the rows in which points may lie too.
_MARGIN = 2
# Cells of a column that one product computes: enough for the BLAS, not many more than the bandwidths in reach.
_BAND = 16
# Columns of one product: about ten milliseconds.
_STRIP = 2048
# Points, or rows, in one native call.
_RUN = 2**14


@dataclass(frozen=True)
class GridPlan:
    """The lattice that rows need: its size is known before any work is done.

    Attributes
    ----------
    p : int
        Nodes a side of a cell.
    reach : int
        Cells beyond which a Gaussian counts as zero.
    shape : tuple of int
        Cells along each column.
    """

    p: int
    reach: int
    shape: tuple[int, ...]

    @classmethod
    def of(cls, tree: RowTree, bandwidth: Array, rtol: float) -> "GridPlan":
        """Return the lattice for a relative error of `rtol` wherever the sum is a millionth of the weight in reach."""
        wanted, d = min(max(1e-6 * rtol, 1e-15), 0.5), len(bandwidth)
        p = next((p for p in range(2, 24) if interpolation_error(p, d) <= wanted), 24)
        sides = (tree.upper[0] - tree.lower[0]) / bandwidth
        # Rows very many bandwidths apart would have more cells than can be counted; `size` shows it.
        shape = tuple(int(min(side, 2.0**40)) + 1 + 2 * _MARGIN for side in sides)
        return cls(p, math.ceil(math.sqrt(-2 * math.log(wanted))), shape)

    @property
    def size(self) -> float:
        """The number of nodes in the whole lattice."""
        return math.prod(float(side * self.p) for side in self.shape)

    def seconds(self, n: int) -> float:
        """Estimate the seconds to build the lattice and to evaluate n points: at 20 GFlop/s and 2 ns a node."""
        products = 2.0 * self.size * self.p * (_BAND + 2 * self.reach) * len(self.shape) / 2e10
        return products + 2e-9 * n * self.p ** len(self.shape)


@plain
@dataclass(frozen=True)
class CellGrid:
    """The sums of Gaussians at all nodes of a lattice.

    Attributes
    ----------
    origin, inverse : ndarray of shape (d,)
        The lowest corner, and one over the bandwidths.
    shape : ndarray of shape (d,)
    nodes, barycentric : ndarray of shape (p,)
        Chebyshev's, in [-1, 1], and their weights.
    potential : ndarray of shape (cells, p^d)
    reached : ndarray of shape (cells,)
        The weight of all rows in reach of a cell.
    error : float
        An upper bound on the error of a sum, divided by the weight in reach.
    tail : float
        An upper bound on the contribution of rows out of reach.
    """

    origin: Array
    inverse: Array
    shape: Array
    nodes: Array
    barycentric: Array
    potential: Array
    reached: Array
    error: float
    tail: float

    _stored: ClassVar[dict[str, Stored]] = {
        **alike(floats("columns", finite=True), "origin", "inverse"),
        "shape": integers("columns", low=1, dtype="int64"),
        **alike(floats("side"), "nodes", "barycentric"),
        "potential": floats("cells, *"),
        "reached": floats("cells"),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError unless the cells and their nodes are those of the lattice."""
        size = math.prod(self.shape.tolist()), len(self.nodes) ** len(self.shape)
        if self.potential.shape != size:
            raise ModelFileError(f"CellGrid.potential must have the shape {size}; the file has {self.potential.shape}.")

    @classmethod
    def build(cls, tree: RowTree, bandwidth: Array, plan: GridPlan, threads: int, subject: str) -> "CellGrid":
        """Distribute the rows to the nodes, and sum Gaussians from nodes to nodes."""
        cells, d = math.prod(plan.shape), len(bandwidth)
        purpose = f"the lattice of {cells} cells with {plan.p} nodes a side"
        require_memory(subject, 32.0 * plan.size, purpose, "use algorithm='kd_tree'")
        # Chebyshev nodes of the first kind, and their barycentric weights (-1)^i sin(angle_i).
        angles = (np.arange(plan.p) + 0.5) * np.pi / plan.p
        nodes, barycentric = np.cos(angles), np.sin(angles) * (-1.0) ** np.arange(plan.p)
        origin, shape = tree.lower[0] - _MARGIN * bandwidth, np.array(plan.shape, np.intp)
        place = origin, 1 / bandwidth, shape, nodes, barycentric
        charges, near = np.zeros((cells, plan.p**d)), np.zeros(cells)
        for start in range(0, len(tree.data), _RUN):
            rows = slice(start, start + _RUN)
            scratch = np.empty((d, plan.p)), np.empty(plan.p**d)
            density_grid.distribute_weights(tree.data[rows], tree.weight[rows], *place, *scratch, charges, near)
        potential = _convolve(charges, plan, nodes, threads)
        reached = _box_sums(near.reshape(plan.shape), plan.reach).ravel()
        tail = tree.total * math.exp(-0.5 * plan.reach**2)
        # Sums of products of up to Lebesgue's constant round by some 2^-48 of the weight in reach. Positions round by
        # 2^-53 of the cells along a column, rows and points each, and a Gaussian has slopes of at most 0.61.
        rounding = 2.0**-48 + d * 2.0**-52 * max(plan.shape)
        return cls(*place, potential, reached, interpolation_error(plan.p, d) + rounding, tail)

    def sums_at(self, points: Array, threads: int) -> tuple[Array, Array]:
        """Return the sum at each point, and an upper bound on its error: infinite outside the lattice."""
        sums, reached = np.empty(len(points)), np.empty(len(points))
        place = self.origin, self.inverse, self.shape, self.nodes, self.barycentric, self.potential, self.reached

        def read(run: int) -> None:
            part = slice(run * _RUN, (run + 1) * _RUN)
            scratch = np.empty((len(self.shape), len(self.nodes))), np.empty(self.potential.shape[1])
            density_grid.read_off(points[part], *place, *scratch, sums[part], reached[part])

        run_numbered(read, -(-len(points) // _RUN), threads)
        # A negative `reached` marks a point outside of the lattice, where no bound on the error holds.
        return sums, np.where(reached < 0, np.inf, self.error * reached + self.tail)


def interpolation_error(p: int, d: int) -> float:
    """Return a bound on the error of a unit Gaussian between any points of two cells with p nodes a side."""
    single = 2 * 1.0865 * 4.0**-p / math.sqrt(math.factorial(p))
    lebesgue = 1 + 2 / math.pi * math.log(p)
    return single * sum(lebesgue**i for i in range(2 * d))


def _convolve(charges: Array, plan: GridPlan, nodes: Array, threads: int) -> Array:
    """Return the sums of Gaussians from all nodes to all nodes, one column after the other."""
    d, p = len(plan.shape), plan.p
    # From (cells, nodes of a cell) to one axis per column, on which all nodes of the lattice stand in order.
    axes = [axis for pair in zip(range(d), range(d, 2 * d), strict=True) for axis in pair]
    table = charges.reshape(*plan.shape, *[p] * d).transpose(axes).reshape([side * p for side in plan.shape])
    places = (np.arange(-plan.reach, _BAND + plan.reach)[:, None] + (nodes + 1) / 2).ravel()
    # exp(-(x - y)^2 / 2) between nodes, in bandwidths: it depends on the difference only, so one band serves all cells.
    band = np.exp(-0.5 * (places[plan.reach * p : (plan.reach + _BAND) * p, None] - places[None]) ** 2)
    # The Gaussian is a product over columns: one column after the other.
    for axis in range(d):
        rows = np.moveaxis(table, axis, 0)
        product = _band_product(band, rows.reshape(len(rows), -1), plan.reach * p, threads)
        table = np.moveaxis(product.reshape(rows.shape), 0, axis)
    table = table.reshape([size for side in plan.shape for size in (side, p)])
    return np.ascontiguousarray(table.transpose(np.argsort(axes))).reshape(charges.shape)


def _band_product(band: Array, rows: Array, overlap: int, threads: int) -> Array:
    """Return the product of `rows` with the banded matrix that repeats `band`, each time one band further right."""
    step, out = len(band), np.empty_like(rows)
    strips = -(-rows.shape[1] // _STRIP)

    def multiply(item: int) -> None:
        first = item // strips * step
        start, stop = max(0, first - overlap), min(first + step + overlap, len(rows))
        last, strip = min(first + step, len(rows)), slice(item % strips * _STRIP, (item % strips + 1) * _STRIP)
        # The part of the band that lies inside the lattice.
        known = slice(start - first + overlap, stop - first + overlap)
        out[first:last, strip] = band[: last - first, known] @ rows[start:stop, strip]

    run_numbered(multiply, -(-len(rows) // step) * strips, threads)
    return out


def _box_sums(near: Array, reach: int) -> Array:
    """Return, for each cell, the sum over all cells at most `reach` + 1 away along each axis."""
    for axis in range(near.ndim):
        size = near.shape[axis]
        # Differences of cumulated sums: the work does not depend on the reach.
        summed = np.insert(np.cumsum(near, axis=axis), 0, 0.0, axis=axis)
        upper = np.minimum(np.arange(size) + reach + 2, size)
        lower = np.maximum(np.arange(size) - reach - 1, 0)
        near = np.take(summed, upper, axis=axis) - np.take(summed, lower, axis=axis)
    return near
