"""Iterations of t-SNE on an NVIDIA GPU: forces and moves by CUDA programs, transforms by the library of the rows.

The formulas are those of :class:`mercer.manifold._tsne._device.engine.DeviceEngine`, which is the definition. An
iteration queues work only: the host waits where it looks at the extent of the map.
"""

import math
from typing import Any

import numpy as np

from mercer._source.device.cuda_program import capability_of, cuda_program, device_of
from mercer._source.namespace import to_numpy
from mercer._types import Array
from mercer.manifold._tsne._device.edges import EdgeLists, NodeTable
from mercer.manifold._tsne.descent import LONGEST_STEP, EmbeddingState
from mercer.manifold._tsne.grid import LOOKS, MARGIN, SPACING

# Threads of a block, as in the CUDA programs.
_THREADS = 256
# Threads that share a point in sums over edges, as in the CUDA programs.
_WARP = 32
# The least compute capability that was tested.
_LEAST_CAPABILITY = 80


def _find_program(name: str, array: Array) -> Any:
    return cuda_program("mercer.manifold._tsne._device", "map_steps.cu", name, array, {})


def can_run(array: Array) -> bool:
    """Return whether the programs can be compiled for the device of an array."""
    device = device_of(array)
    return (
        device is not None and capability_of(device) >= _LEAST_CAPABILITY and bool(_find_program("move_points", array))
    )


class CudaEngine:
    """Attraction along lists of affinities, repulsion by a grid, for flat maps on an NVIDIA GPU.

    An iteration of a million points takes 2.1 ms on an H200 (``benchmarks/results/device_tsne_h200.json``). It reads
    each affinity once; the array operations of ``DeviceEngine`` write and read a dozen arrays of that length, which
    takes four times as long by the bytes alone.
    """

    def __init__(self, edges: EdgeLists) -> None:
        self.edges, self.placement, self.xp = edges, edges.placement, edges.placement.xp
        self.n = edges.starts.shape[0] - 1
        # Sums of n weights below one stay below 2**62.
        self.unit = min(2.0 ** (61 - math.ceil(math.log2(self.n + 1))), 2.0**52)
        self.grid: NodeTable | None = None
        self.normaliser: Any = None
        self.norm = math.inf

    def start(self, state: EmbeddingState) -> None:
        """Begin from this state."""

        def put(part: Array) -> Array:
            return self.placement.put(np.ascontiguousarray(part, dtype=np.float32))

        self.place, self.speed, self.gain = put(state.place), put(state.speed), put(state.gain)
        self.pull, self.slope = (self.xp.empty_like(self.place) for _ in range(2))
        self.push = self.xp.empty(self.place.shape, dtype=self.xp.float64, device=self.place.device)
        self.potential = self.xp.empty(self.n, dtype=self.xp.float64, device=self.place.device)

    def descend(self, iterations: int, exaggeration: float, momentum: float, rate: float) -> None:
        """Take some iterations."""
        for turn in range(iterations):
            if self.grid is None or self.grid.spacing < SPACING or turn % LOOKS == 0:
                self._choose_grid()
            self._add_forces()
            self._move(exaggeration, momentum, rate)
        self._measure_slope()

    def measure(self) -> tuple[float, float]:
        """Return the divergence, with Z of the last iteration, and the length of the last gradient."""
        sums = self.xp.empty(self.n, dtype=self.xp.float64, device=self.place.device)
        lists = self.edges.starts, self.edges.ends, self.edges.weights
        self._launch("sum_logarithms", _WARP, self.place, self.n, *lists, sums)
        logarithms = float(self.xp.sum(sums))
        return self.edges.entropy + logarithms + math.log(float(self.normaliser)), self.norm

    def settle(self) -> tuple[float, float]:
        """Return the divergence and the length of its gradient, both at the present places."""
        self._choose_grid()
        self._add_forces()
        # A rate of zero computes the gradient and moves no point.
        self._move(1.0, 0.0, 0.0)
        self._measure_slope()
        return self.measure()

    def copy(self) -> tuple[Array, Array, Array]:
        """Return places, steps and gains on the host."""
        place, speed, gain = (to_numpy(part).astype(np.float64) for part in (self.place, self.speed, self.gain))
        return place, speed, gain

    def close(self) -> None:
        """Do nothing: no thread waits."""

    def _launch(self, name: str, threads: int, *given: Any) -> None:
        """Run a program with some threads for each point."""
        blocks = -(-self.n * threads // _THREADS)
        _find_program(name, self.place).launch((blocks, 1), _THREADS, given, self.place)

    def _choose_grid(self) -> None:
        """Choose nodes for the present extent of the map."""
        bounds = self.xp.stack([self.xp.min(self.place, axis=0), self.xp.max(self.place, axis=0)])
        low, high = to_numpy(bounds).astype(np.float64)
        self.grid = NodeTable.choose(high - low, self.grid, self.placement)
        self.origin = [float(bound) - MARGIN * self.grid.spacing for bound in low]

    def _add_forces(self) -> None:
        """Write attraction, repulsion, potentials and Z."""
        assert self.grid is not None
        xp, grid = self.xp, self.grid
        pitch = grid.lengths[1]
        nodes = (*self.origin, 1.0 / grid.spacing, *grid.shape, pitch)
        charges = xp.zeros(grid.lengths, dtype=xp.int64, device=self.place.device)
        self._launch("spread_points", 1, self.place, self.n, *nodes, self.unit, charges)
        # Multiplying by a power of two is exact.
        table = xp.astype(charges, xp.float64) * (1.0 / self.unit)
        spectrum = xp.fft.rfftn(table, axes=(0, 1)) * grid.kernel
        potentials = xp.fft.irfftn(spectrum, s=grid.lengths, axes=(0, 1))
        lists = self.edges.starts, self.edges.ends, self.edges.weights
        self._launch("attract_points", _WARP, self.place, self.n, *lists, self.pull)
        self._launch("read_grid", 1, self.place, self.n, *nodes, potentials, self.push, self.potential)
        self.normaliser = xp.sum(self.potential) - self.n

    def _move(self, exaggeration: float, momentum: float, rate: float) -> None:
        """Compute the gradient and move the points."""
        given = (self.place, self.speed, self.gain, self.pull, self.push, self.normaliser, self.n)
        rules = (float(exaggeration), float(momentum), float(rate), LONGEST_STEP)
        self._launch("move_points", 1, *given, *rules, self.slope)

    def _measure_slope(self) -> None:
        self.norm = math.sqrt(float(self.xp.sum(self.slope * self.slope, dtype=self.xp.float64)))
