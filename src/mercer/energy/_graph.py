"""The graph of an energy model: sites, edges, neighbours, colours, and lattices of any number of dimensions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from mercer.errors import DataError, ParameterError


@dataclass(frozen=True, eq=False)
class SiteGraph:
    """An undirected graph without loops or double edges.

    Attributes
    ----------
    n_sites : int
    edges : ndarray of shape (m, 2)
        The smaller number first, sorted.
    shape : tuple of int or None
        The sides of the lattice, where the sites lie on one.
    """

    n_sites: int
    edges: np.ndarray
    shape: tuple[int, ...] | None = None

    @cached_property
    def _slots(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return where the neighbours of each site start, the neighbours, and the edge of each."""
        ends = np.concatenate([self.edges, self.edges[:, ::-1]])
        edge = np.tile(np.arange(len(self.edges)), 2)
        order = np.lexsort((ends[:, 1], ends[:, 0]))
        starts = np.searchsorted(ends[order, 0], np.arange(self.n_sites + 1))
        return starts.astype(np.int64), np.ascontiguousarray(ends[order, 1]), edge[order]

    @property
    def starts(self) -> np.ndarray:
        """Return where the neighbours of each site start; shape (n + 1,)."""
        return self._slots[0]

    @property
    def neighbours(self) -> np.ndarray:
        """Return the neighbours, site after site; shape (2 m,)."""
        return self._slots[1]

    @property
    def edge_of(self) -> np.ndarray:
        """Return the number of the edge to each neighbour; shape (2 m,)."""
        return self._slots[2]

    @cached_property
    def adjacency(self) -> Any:
        """Return the graph as a sparse matrix whose values are edge numbers plus one."""
        return sparse.csr_matrix((self.edge_of + 1, self.neighbours, self.starts), shape=(self.n_sites,) * 2)

    @cached_property
    def n_components(self) -> int:
        """Return the number of connected parts."""
        return int(csgraph.connected_components(self.adjacency, directed=False)[0])

    @property
    def is_forest(self) -> bool:
        """Return whether no edges form a cycle."""
        return len(self.edges) == self.n_sites - self.n_components

    @cached_property
    def colours(self) -> list[np.ndarray]:
        """Return classes of sites without neighbours among them: two classes where the graph has no odd cycle."""
        colour = self._two_colours()
        if colour is None:
            colour = np.full(self.n_sites, -1)
            # Greedy, from many neighbours to few: at most one colour more than the largest number of neighbours.
            for site in np.argsort(-np.diff(self.starts), kind="stable"):
                taken = set(colour[self.neighbours[self.starts[site] : self.starts[site + 1]]].tolist())
                colour[site] = next(c for c in range(len(taken) + 1) if c not in taken)
        return [np.flatnonzero(colour == c) for c in range(int(colour.max(initial=0)) + 1)]

    def _two_colours(self) -> np.ndarray | None:
        """Return the colours 0 and 1 of a graph without odd cycles, or None."""
        order, parent = self.forest
        colour = np.zeros(self.n_sites, dtype=np.int64)
        for site in order:
            if parent[site] >= 0:
                colour[site] = 1 - colour[parent[site]]
        return None if np.any(colour[self.edges[:, 0]] == colour[self.edges[:, 1]]) else colour

    @cached_property
    def forest(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the sites with parents first, and the parent of each (-1 for roots), of a spanning forest."""
        order: list[np.ndarray] = []
        parent = np.full(self.n_sites, -1, dtype=np.int64)
        _, labels = csgraph.connected_components(self.adjacency, directed=False)
        for root in np.unique(labels, return_index=True)[1]:
            sites, above = csgraph.breadth_first_order(self.adjacency, root, directed=False)
            parent[sites[1:]] = above[sites[1:]]
            order.append(sites)
        return np.concatenate(order).astype(np.int64), parent


def read_edges(subject: str, edges: Any, n_sites: int | None) -> tuple[np.ndarray, int]:
    """Return edges as an integer array of two columns, and the number of sites; checked."""
    pairs = np.asarray(edges)
    if pairs.size == 0:
        pairs = pairs.reshape(0, 2).astype(np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise DataError(
            f"{subject}: edges must be pairs of site numbers, of shape (m, 2); got shape {pairs.shape} and type "
            f"{pairs.dtype}. Use from_matrix for a matrix of couplings."
        )
    n = int(pairs.max(initial=-1)) + 1 if n_sites is None else n_sites
    if n < 1:
        raise DataError(
            f"{subject}: a model needs at least one site; got no edges and n_sites={n_sites!r}. Give n_sites."
        )
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= n):
        raise DataError(f"{subject}: site numbers must lie in 0 to {n - 1}; got {pairs.min()} to {pairs.max()}.")
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(loops):
        raise DataError(
            f"{subject}: an edge joins two sites; edge {loops[0]} joins site {pairs[loops[0], 0]} with itself."
        )
    return pairs.astype(np.int64), n


def merge_edges(edges: np.ndarray, couplings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sorted edges without repetitions; couplings of one pair of sites are added up."""
    if not len(edges):
        return edges, couplings
    merged, where = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    return merged, np.bincount(where.ravel(), weights=couplings, minlength=len(merged))


def list_lattice_edges(subject: str, shape: int | Sequence[int], periodic: bool | Sequence[bool]) -> tuple[Any, Any]:
    """Return the edges of a lattice with sites in row-major order, and its shape."""
    sides = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    if not sides or any(not isinstance(side, int | np.integer) or side < 1 for side in sides):
        raise ParameterError(f"{subject}: shape must be positive integers, one for each dimension; got {shape!r}.")
    wraps = (periodic,) * len(sides) if isinstance(periodic, bool | np.bool_) else tuple(periodic)
    if len(wraps) != len(sides):
        raise ParameterError(
            f"{subject}: periodic must be one boolean, or one for each of {len(sides)} dimensions; got {periodic!r}."
        )
    sites = np.arange(np.prod(sides), dtype=np.int64).reshape(sides)
    edges = []
    for axis, wrap in enumerate(wraps):
        if sides[axis] < 2:
            continue
        # The neighbour of a site one step along the axis; the last one wraps around only where the lattice is periodic.
        moved = np.roll(sites, -1, axis=axis)
        keep = sites.shape[axis] if wrap else sites.shape[axis] - 1
        edges.append(np.stack([np.take(part, range(keep), axis=axis).ravel() for part in (sites, moved)], axis=1))
    joined = np.concatenate(edges) if edges else np.empty((0, 2), dtype=np.int64)
    return joined, tuple(int(side) for side in sides)
