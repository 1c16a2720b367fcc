"""Search for nearest rows in a tree of boxes."""

import numpy as np

from mercer._native.nearest import box_nearest
from mercer._solver.neighbours.panels import Receive, empty_heaps
from mercer._solver.neighbours.space_tree import WIDTH, SpaceTree, make_scratch
from mercer._source.threads import run_numbered
from mercer._types import Array

# Queries searched for in one native call: some milliseconds of work in few dimensions.
_RUN = 16 * WIDTH
# Pairs that one call of the search within a radius may list: 6 MiB of indices and distances.
_PAIRS = 2**18
# Groups of queries that are tried to see how much of the tree a search visits.
_TRIED = 4


class TreeSearch:
    """Rows in a tree of boxes; queries that lie near one another share a walk down the tree.

    Parameters
    ----------
    tree : SpaceTree
    power : float
        p of a norm; zero means squared Euclidean distances.
    factor : float
        The p-norm is at least the root of this times the square of the Euclidean norm.
    """

    def __init__(self, tree: SpaceTree, power: float = 0.0, factor: float = 1.0) -> None:
        self.tree, self.power, self.factor = tree, power, factor
        # Boxes of several queries bound a norm so loosely that queries take twice as long together as one by one.
        self.group = 1 if power else WIDTH

    def visits(self, queries: Array, places: Array, k: int, most: float = np.inf) -> float:
        """Return the leaves that a query is compared with, as a mean over some groups of queries.

        Groups that visit more than twice `most` leaves, with which the tree is of no use, end the trial.
        """
        starts = np.linspace(0, max(0, len(queries) - WIDTH), _TRIED).astype(np.intp)
        total = count = 0
        for start in np.unique(starts):
            part = places[start : start + WIDTH]
            total += self._search(queries[part], np.full(len(part), -1), *empty_heaps(len(part), k))
            count += len(part)
            if total > 2.0 * most * count:
                break
        return total / count

    def place(self, queries: Array) -> Array:
        """Return the order in which queries are searched for: neighbours side by side."""
        if queries is self.tree.X:
            return self.tree.order
        if len(queries) <= WIDTH or self.group == 1:
            return np.arange(len(queries))
        return SpaceTree(queries, self.tree.threads, "", pack=False).order

    def nearest(self, queries: Array, own: Array, places: Array, distances: Array, indices: Array) -> None:
        """Write the k nearest rows of each query and their distances; `places` is the order of queries."""
        k = distances.shape[1]

        def search(item: int) -> None:
            part = places[item * _RUN : (item + 1) * _RUN]
            near = empty_heaps(len(part), k)
            self._search(queries[part], own[part], *near)
            distances[part], indices[part] = near

        _run(search, -(-len(queries) // _RUN), self.tree.threads)

    def _search(self, queries: Array, own: Array, distances: Array, indices: Array) -> int:
        queries = np.ascontiguousarray(queries, np.float64)
        return box_nearest.search_tree(queries, own, self.tree.leaves, self._walk(), distances, indices)

    def _walk(self) -> box_nearest.Descent:
        tree = self.tree
        return box_nearest.Descent(
            tree.nodes, tree.boxes, tree.order, make_scratch(tree.d), self.group, self.power, self.factor
        )

    def within(self, queries: Array, own: Array, square: float, receive: Receive) -> None:
        """Pass on pairs of a query and a row within squared distance `square`, (c, 2), and these, in parts."""
        places = self.place(queries)

        def search(item: int) -> tuple[Array, Array]:
            part = places[item * _RUN : (item + 1) * _RUN]
            points, walk, lists = np.ascontiguousarray(queries[part], np.float64), self._walk(), []
            # The list of pairs is bounded: a call that fills it is continued by the next.
            pairs, squares = np.empty((_PAIRS, 2), np.intp), np.empty(_PAIRS)
            while walk.has_queries(len(part)):
                count = box_nearest.list_within(points, own[part], self.tree.leaves, walk, square, pairs, squares)
                lists.append((np.column_stack([part[pairs[:count, 0]], pairs[:count, 1]]), squares[:count].copy()))
            return np.concatenate([pairs for pairs, _ in lists]), np.concatenate([squares for _, squares in lists])

        run_numbered(search, -(-len(queries) // _RUN), self.tree.threads, receive)


def _run(work: object, items: int, threads: int) -> None:
    """Run the items of some work; a single one without the threads, whose start takes longer than a few queries do."""
    if items == 1:
        work(0)  # type: ignore[operator]
    else:
        run_numbered(work, items, threads)  # type: ignore[arg-type]
