"""Repulsion by a grid: the potential of all points is a convolution, computed by Fourier transforms.

The potential sum_j k(y - y_j), k(r) = 1 / (1 + |r|^2), is interpolated by cubic splines in y and in y_j on a grid of
nodes: points are spread over the nodes, convolved with the spline coefficients of k, and read off. The force is minus
half the gradient of the spline, so that forces sum to zero up to rounding. One transform each way is enough, because
force and sum of similarities come from the same potential.
"""

from typing import Any

import numpy as np
from scipy import fft

from mercer._native.embedding import exact_map, grid_sums
from mercer._source.threads import run_numbered
from mercer._types import Array
from mercer.manifold._tsne.affinities import Affinities
from mercer.manifold._tsne.descent import LONGEST_STEP, EmbeddingState
from mercer.manifold._tsne.divergence import sum_edges

# Spacing of the nodes, in units of the map: the kernel has width one. Forces are then right to 0.1 % where points are
# dense, and to 0.6 % where they are more than one unit apart, because the spline pushes a point slightly by itself.
SPACING = 0.3
# Iterations between two looks at the extent of a wide map; it grows by less than its margin in that time.
LOOKS = 5
# The least number of cells along the longer side: a map smaller than the kernel needs finer nodes.
LEAST_CELLS = 50
# The most cells along a side: a wider map gets wider cells, since a grid of 8192 x 8192 takes 0.5 GiB.
MOST_CELLS = 4096
# Nodes beyond the outermost points: cubic splines reach two nodes, and one for rounding.
MARGIN = 3
# Lines that one transform call takes: fixed, so that no sum depends on the number of threads.
_LINES = 32
# Rows whose attraction, or whose reading, is one item of work.
_ROWS = 512


class Grid:
    """Nodes of a spacing, and the transform of the kernel's spline coefficients on twice as many nodes a side."""

    def __init__(self, spacing: float, shape: tuple[int, int]) -> None:
        self.spacing, self.shape = spacing, shape
        # Twice the nodes: the transform is periodic, and no point may feel another from behind.
        self.lengths = tuple(fft.next_fast_len(2 * size, real=True) for size in shape)
        steps = [spacing * np.minimum(np.arange(n), n - np.arange(n)) for n in self.lengths]
        kernel = 1.0 / (1.0 + np.square(steps[0])[:, None] + np.square(steps[1])[None, :])
        # Dividing by the transform of the B-spline's values at nodes, once for sources and once for targets, turns
        # values of the kernel into coefficients of its interpolating spline.
        rows, columns = ((4.0 + 2.0 * np.cos(2.0 * np.pi * np.arange(n) / n)) / 6.0 for n in self.lengths)
        columns = columns[: self.lengths[1] // 2 + 1]
        self.kernel = fft.rfft2(kernel).real / np.square(rows[:, None] * columns[None, :])

    @classmethod
    def choose(cls, extent: Array, last: "Grid | None") -> "Grid":
        """Return a grid for points of this extent: `last` if it serves, else one with a tenth of room to grow."""
        longest = max(float(extent.max()), 1e-12)
        spacing = max(min(SPACING, longest / LEAST_CELLS), longest / MOST_CELLS)
        if spacing != SPACING:
            cells = np.ceil(extent / spacing) + 2 * MARGIN
            return cls(spacing, (int(cells[0]), int(cells[1])))
        cells = np.ceil(extent / spacing) + 2 * MARGIN
        if last is not None and last.spacing == spacing:
            room = cells / last.shape
            if room.max() <= 1.0 and room.min() >= 0.8:
                return last
        return cls(spacing, (int(1.1 * cells[0]), int(1.1 * cells[1])))

    def convolve(self, charges: Array, threads: int) -> Array:
        """Return the spline coefficients of the potential of charges at the nodes."""
        (rows, columns), (tall, wide) = self.shape, self.lengths
        spectrum = np.empty((tall, wide // 2 + 1), np.complex128)
        # Lines below the charges are zero.
        spectrum[rows:] = 0.0
        potential = np.empty((rows, columns))

        def transform_lines(item: int) -> None:
            lines = slice(item * _LINES, min((item + 1) * _LINES, rows))
            spectrum[lines] = fft.rfft(charges[lines], n=wide, axis=1)

        def transform_columns(item: int) -> None:
            part = slice(item * _LINES, (item + 1) * _LINES)
            values = fft.fft(spectrum[:, part], axis=0)
            values *= self.kernel[:, part]
            spectrum[:rows, part] = fft.ifft(values, axis=0, overwrite_x=True)[:rows]

        def restore_lines(item: int) -> None:
            lines = slice(item * _LINES, min((item + 1) * _LINES, rows))
            potential[lines] = fft.irfft(spectrum[lines], n=wide, axis=1)[:, :columns]

        run_numbered(transform_lines, -(-rows // _LINES), threads)
        run_numbered(transform_columns, -(-spectrum.shape[1] // _LINES), threads)
        run_numbered(restore_lines, -(-rows // _LINES), threads)
        return potential


class GridRepulsion:
    """The potentials of the points of a flat map at their own places, and minus half the gradients."""

    def __init__(self, n: int, threads: int) -> None:
        self.n, self.threads = n, threads
        self.grid: Grid | None = None
        self.push, self.potential = np.zeros((n, 2)), np.zeros(n)

    def spread(self, places: Array) -> Array:
        """Return the charges of the nodes; the grid is changed if the map has outgrown it."""
        low, high = places.min(axis=0), places.max(axis=0)
        self.grid = Grid.choose(high - low, self.grid)
        self.origin = low - MARGIN * self.grid.spacing
        charges = np.zeros(self.grid.shape)
        grid_sums.spread_points(places, self.origin, 1.0 / self.grid.spacing, np.empty((2, 4)), charges)
        return charges

    def read(self, places: Array, charges: Array) -> float:
        """Write forces and potentials; return Z, the sum of the similarities of all pairs of different points."""
        assert self.grid is not None
        inverse, values = 1.0 / self.grid.spacing, self.grid.convolve(charges, self.threads)

        def read_rows(item: int) -> None:
            first, last = item * _ROWS, min((item + 1) * _ROWS, self.n)
            scratch = np.empty((4, 4))
            grid_sums.read_grid(places, first, last, self.origin, inverse, values, scratch, self.push, self.potential)

        run_numbered(read_rows, -(-self.n // _ROWS), self.threads)
        return float(self.potential.sum() - self.n)


class GridEngine:
    """Attraction along the edges of sparse affinities, repulsion by a grid; flat maps only."""

    def __init__(self, affinities: Affinities, threads: int) -> None:
        joint = affinities.joint
        self.affinities, self.threads, self.n = affinities, threads, joint.shape[0]
        self.edges = joint.indptr.astype(np.int64), joint.indices.astype(np.int32), joint.data.astype(np.float32)
        self.entropy, self.normaliser, self.norm = affinities.entropy, 1.0, np.inf

    def start(self, state: EmbeddingState) -> None:
        """Begin from this state."""
        self.state = tuple(
            np.array(part, dtype=np.float64, order="C") for part in (state.place, state.speed, state.gain)
        )
        self.repulsion = GridRepulsion(self.n, self.threads)
        self.pull, self.columns = np.zeros((self.n, 2), np.float32), np.zeros((2, self.n))

    def descend(self, iterations: int, exaggeration: float, momentum: float, rate: float) -> None:
        """Take some iterations."""
        rules = np.array([momentum, rate, LONGEST_STEP])
        # A grid depends on the one before; a fit that resumes here must choose the same.
        self.repulsion.grid = None
        slope: Any = None
        for _ in range(iterations):
            self.normaliser = self._add_forces()
            slope = 4.0 * (exaggeration * self.pull - self.repulsion.push / self.normaliser)
            place, speed, gain = self.state
            exact_map.move_points(slope, rules, place, speed, gain, self.columns)
        self.norm = float(np.linalg.norm(slope))

    def _add_forces(self) -> float:
        """Write attraction and repulsion; one thread spreads the points while others work on edges. Return Z."""
        places = self.state[0]
        points = places.astype(np.float32)
        charges: list[Array] = []

        def work(item: int) -> None:
            if item == 0:
                charges.append(self.repulsion.spread(places))
                return
            first, last = (item - 1) * _ROWS, min(item * _ROWS, self.n)
            grid_sums.attract_rows(points, *self.edges, first, last, self.pull)

        run_numbered(work, 1 + -(-self.n // _ROWS), self.threads)
        return self.repulsion.read(places, charges[0])

    def measure(self) -> tuple[float, float]:
        """Return the divergence, with Z of the last iteration, and the length of the last gradient."""
        divergence = self.entropy + sum_edges(self.affinities.joint, self.state[0]) + float(np.log(self.normaliser))
        return divergence, self.norm

    def copy(self) -> tuple[Array, Array, Array]:
        """Return copies of places, steps and gains."""
        place, speed, gain = self.state
        return place.copy(), speed.copy(), gain.copy()

    def close(self) -> None:
        """Do nothing: no thread waits."""
