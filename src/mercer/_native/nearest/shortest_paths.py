"""Measure shortest paths in a graph by Dijkstra's method.

Nodes that have been reached wait in a heap in which a node has four children: it is half as deep as one with two, and
the four children that a step down compares lie side by side in the cache.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import INFINITY
else:
    from math import inf as INFINITY  # noqa: N812

# Children of a node of the heap: those of place i are 4 i + 1 to 4 i + 4.
CHILDREN = cython.declare(cython.Py_ssize_t, 4)


@cython.final
@cython.cclass
class Waiting:
    """The nodes that wait, the nearest first.

    `distances` (n,) and `nodes` (n,) are those of the heap, by place; `places` (n,) is the place of a node plus one, or
    0 for a node that does not wait.
    """

    distances: cython.double[::1]
    nodes: cython.int[::1]
    places: cython.int[::1]
    size: cython.Py_ssize_t

    def __init__(self, distances, nodes, places):
        self.distances, self.nodes, self.places, self.size = distances, nodes, places, 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def put(self, place: cython.Py_ssize_t, distance: cython.double, node: cython.int) -> cython.void:
        """Write a node into a place."""
        self.distances[place] = distance
        self.nodes[place] = node
        self.places[node] = place + 1

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def reach(self, distance: cython.double, node: cython.int) -> cython.void:
        """Add a node, or move it up to a smaller distance."""
        place: cython.Py_ssize_t = self.places[node] - 1
        if place < 0:
            place = self.size
            self.size += 1
        while place > 0:
            parent: cython.Py_ssize_t = (place - 1) // CHILDREN
            if self.distances[parent] <= distance:
                break
            self.put(place, self.distances[parent], self.nodes[parent])
            place = parent
        self.put(place, distance, node)

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def take(self) -> cython.int:
        """Remove the nearest node and return it; the last of the heap takes its place and moves down."""
        nearest: cython.int = self.nodes[0]
        self.places[nearest] = 0
        self.size -= 1
        if self.size > 0:
            self.sink(self.distances[self.size], self.nodes[self.size])
        return nearest

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def sink(self, distance: cython.double, node: cython.int) -> cython.void:
        """Put a node first, and move it down to where it belongs."""
        place: cython.Py_ssize_t = 0
        first: cython.Py_ssize_t = 1
        while first < self.size:
            stop: cython.Py_ssize_t = first + CHILDREN if first + CHILDREN < self.size else self.size
            best: cython.Py_ssize_t = first
            for child in range(first + 1, stop):
                if self.distances[child] < self.distances[best]:
                    best = child
            if distance <= self.distances[best]:
                break
            self.put(place, self.distances[best], self.nodes[best])
            place = best
            first = CHILDREN * place + 1
        self.put(place, distance, node)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def search(
    source: cython.int,
    starts: cython.const[cython.Py_ssize_t][::1],
    targets: cython.const[cython.int][::1],
    lengths: cython.const[cython.double][::1],
    waiting: Waiting,
    paths: cython.double[::1],
) -> cython.void:
    """Write the lengths of the shortest paths from one node."""
    paths[:] = INFINITY
    paths[source] = 0.0
    waiting.reach(0.0, source)
    while waiting.size > 0:
        # No path to a node that waits can become shorter than that to the nearest of them, so this one is final.
        node: cython.int = waiting.take()
        for edge in range(starts[node], starts[node + 1]):
            through: cython.double = paths[node] + lengths[edge]
            if through < paths[targets[edge]]:
                paths[targets[edge]] = through
                waiting.reach(through, targets[edge])


def measure_paths(
    first: cython.Py_ssize_t,
    starts: cython.const[cython.Py_ssize_t][::1],
    targets: cython.const[cython.int][::1],
    lengths: cython.const[cython.double][::1],
    distances: cython.double[::1],
    nodes: cython.int[::1],
    places: cython.int[::1],
    paths: cython.double[:, ::1],
):
    """Write the lengths of the shortest paths from the nodes `first`, `first` + 1, ... into the lines of `paths`.

    The edges of node i lead to `targets` and have `lengths`, from `starts[i]` to `starts[i + 1]`; no length is
    negative. `distances`, `nodes` and `places` (n,) are scratch, `places` all zero. A node that cannot be reached is
    infinitely far.
    """
    waiting = Waiting(distances, nodes, places)
    with cython.nogil:
        for line in range(paths.shape[0]):
            search(cython.cast(cython.int, first + line), starts, targets, lengths, waiting, paths[line])
