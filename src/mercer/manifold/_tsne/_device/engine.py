"""Iterations of t-SNE on a device: forces and moves are array operations; only the extent of the map goes to the host.

Repulsion is that of :mod:`mercer.manifold._tsne.grid`. Points are spread over the nodes by sums of integers: weights in
fixed point add up to the same bits in any order, so that atomic additions of a GPU do not change a result.
"""

import math
from typing import Any

import numpy as np

from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.manifold._tsne._device.edges import EdgeTables, NodeTable
from mercer.manifold._tsne.descent import LONGEST_STEP, EmbeddingState
from mercer.manifold._tsne.grid import LOOKS, MARGIN, SPACING


class DeviceEngine:
    """Attraction along tables of affinities, repulsion by a grid, for flat maps on a device."""

    def __init__(self, edges: EdgeTables) -> None:
        self.edges, self.placement = edges, edges.placement
        self.xp = self.placement.xp
        self.n = edges.order.shape[0]
        self.order = to_numpy(edges.order)
        self.inverse = np.argsort(self.order)
        # Z of the last iteration: a number, or an array of one number on the device.
        self.normaliser: Any = 1.0
        self.norm = math.inf
        self.grid: NodeTable | None = None

    def start(self, state: EmbeddingState) -> None:
        """Begin from this state."""

        def put(part: Array) -> Array:
            return self.placement.put(np.ascontiguousarray(np.asarray(part, dtype=np.float32)[self.order].T))

        self.place, self.speed, self.gain = put(state.place), put(state.speed), put(state.gain)

    def descend(self, iterations: int, exaggeration: float, momentum: float, rate: float) -> None:
        """Take some iterations."""
        xp = self.xp
        slope: Any = None
        for turn in range(iterations):
            if self.grid is None or self.grid.spacing < SPACING or turn % LOOKS == 0:
                self._choose_grid()
            slope, self.normaliser = self._find_slope(exaggeration)
            against = slope * self.speed < 0
            self.gain = xp.where(against, self.gain + 0.2, self.gain * 0.8)
            self.gain = xp.where(self.gain < 0.01, xp.full_like(self.gain, 0.01), self.gain)
            speed = momentum * self.speed - rate * self.gain * slope
            length = xp.sqrt(xp.sum(speed * speed, axis=0))
            factor = xp.where(length > LONGEST_STEP, LONGEST_STEP / length, xp.ones_like(length))
            self.speed = speed * factor
            self.place = self.place + self.speed
        self.norm = math.sqrt(float(xp.sum(slope * slope, dtype=self.placement.wide)))

    def measure(self) -> tuple[float, float]:
        """Return the divergence, with Z of the last iteration, and the length of the last gradient."""
        logarithms = self.edges.sum_logarithms(self.place[0, :], self.place[1, :])
        return self.edges.entropy + logarithms + math.log(float(self.normaliser)), self.norm

    def settle(self) -> tuple[float, float]:
        """Return the divergence and the length of its gradient, both at the present places."""
        self._choose_grid()
        slope, self.normaliser = self._find_slope(1.0)
        self.norm = math.sqrt(float(self.xp.sum(slope * slope, dtype=self.placement.wide)))
        return self.measure()

    def copy(self) -> tuple[Array, Array, Array]:
        """Return places, steps and gains on the host, in the order of the rows."""
        place, speed, gain = (
            np.ascontiguousarray(to_numpy(part).T[self.inverse], dtype=np.float64)
            for part in (self.place, self.speed, self.gain)
        )
        return place, speed, gain

    def close(self) -> None:
        """Do nothing: no thread waits."""

    def _choose_grid(self) -> None:
        """Choose nodes for the present extent of the map."""
        xp = self.xp
        low, high = (to_numpy(bound(self.place, axis=1)).astype(np.float64) for bound in (xp.min, xp.max))
        self.grid = NodeTable.choose(high - low, self.grid, self.placement)
        self.origin = [float(bound) - MARGIN * self.grid.spacing for bound in low]

    def _find_slope(self, exaggeration: float) -> tuple[Array, Array]:
        """Return the gradient of the divergence with exaggerated affinities, and Z."""
        xp = self.xp
        push, potential = self._repel()
        normaliser = xp.sum(potential, dtype=self.placement.wide) - self.n
        pull = xp.stack(self.edges.attract(self.place[0, :], self.place[1, :]))
        repulsion = xp.astype(push / normaliser, pull.dtype)
        return 4.0 * (exaggeration * pull - repulsion), normaliser

    def _repel(self) -> tuple[Array, Array]:
        """Return minus half the gradient of the potential at all points, and the potential itself."""
        assert self.grid is not None
        xp, grid, wide = self.xp, self.grid, self.placement.wide
        inverse, (rows, columns) = 1.0 / grid.spacing, grid.shape
        cells, values, slopes = [], [], []
        for axis, size in enumerate((rows, columns)):
            position = (xp.astype(self.place[axis, :], wide) - self.origin[axis]) * inverse
            # A map that has outgrown its grid since the last look stays on the outermost cells.
            position = xp.clip(position, 1.0, float(size) - 2.001)
            cell = xp.floor(position)
            cells.append(xp.astype(cell, xp.int64) - 1)
            weights, slope = _weigh_splines(position - cell)
            values.append(weights)
            slopes.append(slope)
        nodes = cells[0] * columns + cells[1]
        potentials = xp.reshape(self._convolve(nodes, values), (-1,))
        total = along = across = xp.zeros_like(values[0][0])
        for a in range(4):
            line = down = xp.zeros_like(total)
            for b in range(4):
                known = xp.take(potentials, nodes + (a * columns + b))
                line, down = line + values[1][b] * known, down + slopes[1][b] * known
            total, along = total + values[0][a] * line, along + slopes[0][a] * line
            across = across + values[0][a] * down
        return -0.5 * inverse * xp.stack([along, across]), total

    def _convolve(self, nodes: Array, values: list[list[Array]]) -> Array:
        """Spread the points over the nodes, and return the spline coefficients of their potential."""
        assert self.grid is not None
        xp, (rows, columns) = self.xp, self.grid.shape
        # Sums of n weights below one stay below 2**62.
        unit = 2.0 ** (61 - math.ceil(math.log2(self.n + 1)))
        unit = min(unit, 2.0**52)
        charges = xp.zeros(rows * columns, dtype=xp.int64, device=self.place.device)
        for a in range(4):
            for b in range(4):
                shares = xp.astype(values[0][a] * values[1][b] * unit, xp.int64)
                charges = _add_at(charges, nodes + (a * columns + b), shares, xp)
        table = xp.reshape(xp.astype(charges, self.placement.wide) / unit, (rows, columns))
        spectrum = xp.fft.rfftn(table, s=self.grid.lengths, axes=(0, 1)) * self.grid.kernel
        return xp.fft.irfftn(spectrum, s=self.grid.lengths, axes=(0, 1))[:rows, :columns]


def _weigh_splines(f: Array) -> tuple[list[Array], list[Array]]:
    """Return the four cubic B-splines at a share of a cell, and their derivatives by it."""
    g = 1.0 - f
    values = [
        g * g * g / 6.0,
        (3.0 * f * f * f - 6.0 * f * f + 4.0) / 6.0,
        (3.0 * g * g * g - 6.0 * g * g + 4.0) / 6.0,
        f * f * f / 6.0,
    ]
    return values, [-0.5 * g * g, 1.5 * f * f - 2.0 * f, 2.0 * g - 1.5 * g * g, 0.5 * f * f]


def _add_at(table: Array, places: Array, amounts: Array, xp: Any) -> Array:
    """Return `table` with integers added at places that may repeat."""
    if hasattr(table, "index_add_"):
        return table.index_add_(0, places, amounts)
    if hasattr(xp, "add") and hasattr(xp.add, "at"):
        xp.add.at(table, places, amounts)
        return table
    # The array standard has no sum by index: the host adds.
    total = to_numpy(table).copy()
    np.add.at(total, to_numpy(places), to_numpy(amounts))
    return xp.asarray(total, device=table.device)
