"""A tree of boxes over rows in memory, and searches in it, on threads over fixed runs of leaves or queries."""

from collections.abc import Callable

import numpy as np

from mercer._native.records import BOX_NODE, list_fields, make_records
from mercer._native.space import box_search, box_tree, reachability
from mercer._solver.neighbours.panels import Receive, empty_heaps
from mercer._source.memory import require_memory
from mercer._source.threads import run_numbered
from mercer._types import Array

# Rows in a leaf; the native code has the same constant.
WIDTH = 32
# Leaves searched for in one native call: some milliseconds of work, so that Ctrl-C is noticed.
_RUN = 16
# Queries searched for in one native call: some milliseconds of work in few dimensions.
QUERIES = 16 * WIDTH
# Pairs that one call of the search within a radius may list: 6 MiB of indices and distances.
_PAIRS = 2**18
# Groups of queries that are tried to see how much of the tree a search visits.
_TRIED = 4
# Subtrees that threads build in parallel; fixed, although their number does not change the tree.
_PARTS = 32
# Above every label; marks rows without one.
NO_LABEL = np.int32(2**31 - 1)


def make_scratch(d: int) -> tuple[Array, Array, Array, Array]:
    """Return the arrays that a walk writes to: box (2, d), stack and gaps (128,), distances to a leaf (WIDTH,)."""
    return np.empty((2, d)), np.empty(128, np.int32), np.empty(128), np.empty(WIDTH)


class SpaceTree:
    """Rows in boxes: ``order`` lists them leaf by leaf.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    threads : int
    subject : str
        The name of the estimator, for the memory forecast.
    pack : bool, default=True
        Whether leaves hold copies of the rows; without them the tree only orders rows.
    power, factor : float
        p of the norm by which `visits` and `nearest` measure, zero for squared Euclidean distances; the p-norm is at
        least the root of `factor` times the square of the Euclidean norm.
    """

    def __init__(
        self, X: Array, threads: int, subject: str, *, pack: bool = True, power: float = 0.0, factor: float = 1.0
    ) -> None:
        n, d = X.shape
        n_leaves = -(-n // WIDTH)
        size = n_leaves * WIDTH * d * X.itemsize + 2 * n_leaves * (16 * d + 8) + 4 * n
        require_memory(subject, size, f"the search tree of {n} rows", "fit fewer rows")
        self.X, self.threads, self.n, self.d = X, threads, n, d
        self.power, self.factor = power, factor
        self.order = np.arange(n, dtype=np.int32)
        self.nodes = make_records(2 * n_leaves - 1, BOX_NODE, fill=False)
        self.nodes[0] = 0, n_leaves
        self.boxes = np.empty((2 * n_leaves - 1, 2, d))
        self._build(max(1, n_leaves // _PARTS))
        if not pack:
            return
        self.leaves = np.empty((n_leaves, d, WIDTH), X.dtype)
        self._each_run(lambda first, stop: box_tree.pack(X, self.order, first, stop, self.leaves), 64 * _RUN)

    def _build(self, part: int) -> None:
        """Split nodes down to at most `part` leaves on one thread, then those subtrees on all threads."""
        self._split(0, part)
        parts, pending, counts = [], [0], list_fields(self.nodes)["leaves"]
        while pending:
            node = pending.pop()
            count = int(counts[node])
            # Small enough for one thread.
            if count <= part and node > 0:
                parts.append(node)
            elif count > 1:
                # The left child follows its parent; the right one follows the 2 ((c + 1) // 2) - 1 nodes of the left.
                pending += [node + 1, node + 2 * ((count + 1) // 2)]
        run_numbered(lambda index: self._split(parts[index], 0), len(parts), self.threads)

    def _split(self, root: int, until: int) -> None:
        """Split the nodes from `root` down that have more than `until` leaves."""
        stack = np.empty(128, np.int32)
        box_tree.build(self.X, np.ones(self.d), self.order, self.nodes, self.boxes, root, until, stack)

    def walk(self, group: int = WIDTH) -> box_search.Walk:
        """Return a walk down the tree with its own scratch, for one native search by groups of rows."""
        return box_search.Walk(self.nodes, self.boxes, self.order, make_scratch(self.d), group, self.power, self.factor)

    def rows(self, start: int, stop: int) -> Array:
        """Return the rows at the positions from `start` to `stop` of the tree, as float64."""
        return self.X[self.order[start:stop]].astype(np.float64, copy=False)

    def _each_run(self, function: Callable[[int, int], None], leaves: int = _RUN) -> None:
        """Call ``function(first, stop)`` for fixed runs of leaves, on all threads."""
        total = -(-self.n // WIDTH)
        run_numbered(
            lambda run: function(run * leaves, min((run + 1) * leaves, total)), -(-total // leaves), self.threads
        )

    def each_rows(self, function: Callable[[int, int], None]) -> None:
        """Call ``function(start, stop)`` for fixed runs of positions, on all threads."""
        self._each_run(lambda first, stop: function(first * WIDTH, min(stop * WIDTH, self.n)))

    def count_within(self, radius: float, weight: Array, enough: float) -> Array:
        """Return the weight within `radius` of each row, in the order of the tree; exact only below `enough`."""
        totals = np.empty(self.n)
        placed = np.empty(0) if weight is None else weight[self.order]

        def work(start: int, stop: int) -> None:
            rows, out = self.rows(start, stop), totals[start:stop]
            box_search.count_within(rows, self.leaves, self.walk(), radius**2, placed, enough, out)

        self.each_rows(work)
        return totals

    def components(self, radius: float, counted: Array) -> Array:
        """Return the connected components of counted rows within `radius` of each other, by position; -1 for others.

        In each round every row looks for one row of another component; rows that find none never will, and parts of the
        tree that belong to one component are skipped. So of each neighbourhood only one row is kept.
        """
        labels = np.where(counted, np.arange(self.n, dtype=np.int32), np.int32(-1))
        uniform = np.empty(len(self.nodes), np.int32)
        asking = labels.copy()
        while True:
            box_tree.uniform_labels(self.nodes, labels, uniform)
            links = self._links(radius, asking, labels, uniform)
            # Nobody found a row of another component: the components are final.
            if not (links >= 0).any():
                return labels
            edges = np.empty((self.n, 2), np.int32)
            # All links weigh nothing, so that the order of edges alone decides; the edges themselves are not used.
            reachability.join(
                np.arange(self.n, dtype=np.int32), labels, links, np.zeros(self.n), np.empty(self.n, np.int32),
                edges, np.empty(self.n), 0, np.empty(self.n, np.int32),
            )  # fmt: skip
            # A row that found no link is inside its component and need not ask again.
            asking = np.where(links >= 0, labels, np.int32(-1))

    def _links(self, radius: float, asking: Array, labels: Array, uniform: Array) -> Array:
        links = np.empty(self.n, np.int32)

        def work(start: int, stop: int) -> None:
            box_search.find_links(
                self.rows(start, stop), asking[start:stop], self.leaves, self.walk(), radius**2, labels, uniform,
                links[start:stop],
            )  # fmt: skip

        self.each_rows(work)
        return links

    def share_labels(self, radius: float, labels: Array) -> Array:
        """Return labels by position; a row without a label gets the lowest label within `radius`, or -1.

        ``NO_LABEL`` marks the rows without a label.
        """
        lowest, shared = self.lowest(labels), labels.copy()

        def work(start: int, stop: int) -> None:
            open_places = start + np.flatnonzero(labels[start:stop] == NO_LABEL)
            rows = self.X[self.order[open_places]].astype(np.float64, copy=False)
            shared[open_places] = self.lowest_within(rows, radius, labels, lowest)

        self.each_rows(work)
        return np.where(shared == NO_LABEL, np.int32(-1), shared)

    def lowest(self, labels: Array) -> Array:
        """Return the lowest label among the rows of each node."""
        lowest = np.empty(len(self.nodes), np.int32)
        box_tree.lowest_labels(self.nodes, labels, lowest)
        return lowest

    def lowest_within(self, rows: Array, radius: float, labels: Array, lowest: Array, group: int = WIDTH) -> Array:
        """Return the lowest of `labels`, by position, within `radius` of each row; ``NO_LABEL`` if there is none."""
        out = np.full(len(rows), NO_LABEL, np.int32)
        if len(rows):
            box_search.lowest_within(rows, self.leaves, self.walk(group), radius**2, labels, lowest, out)
        return out

    def kth_distances(self, k: int) -> Array:
        """Return the squared distance from each row to its k-th nearest, itself counted, in the order of the tree."""
        out = np.empty(self.n)

        def work(start: int, stop: int) -> None:
            near = empty_heaps(stop - start, k)
            self._search(self.rows(start, stop), np.full(stop - start, -1), *near)
            out[start:stop] = near[0][:, -1]

        self.each_rows(work)
        return out

    @property
    def _group(self) -> int:
        """How many queries share a walk: boxes of several bound a norm so loosely that they take twice as long."""
        return 1 if self.power else WIDTH

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
        if queries is self.X:
            return self.order
        if len(queries) <= WIDTH or self._group == 1:
            return np.arange(len(queries))
        return SpaceTree(queries, self.threads, "", pack=False).order

    def nearest(self, queries: Array, own: Array, places: Array, distances: Array, indices: Array) -> None:
        """Write the k nearest rows of each query and their distances; `places` is the order of queries."""
        k = distances.shape[1]

        def search(item: int) -> None:
            part = places[item * QUERIES : (item + 1) * QUERIES]
            near = empty_heaps(len(part), k)
            self._search(queries[part], own[part], *near)
            distances[part], indices[part] = near

        if len(queries) <= QUERIES:
            # The start of threads takes longer than a few queries do.
            search(0)
        else:
            run_numbered(search, -(-len(queries) // QUERIES), self.threads)

    def _search(self, queries: Array, own: Array, distances: Array, indices: Array) -> int:
        queries = np.ascontiguousarray(queries, np.float64)
        return box_search.search_tree(queries, own, self.leaves, self.walk(self._group), distances, indices)

    def within(self, queries: Array, own: Array, square: float, receive: Receive) -> None:
        """Pass on pairs of a query and a row within squared distance `square`, (c, 2), and these, in parts."""
        places = self.place(queries)

        def search(item: int) -> tuple[Array, Array]:
            part = places[item * QUERIES : (item + 1) * QUERIES]
            points, walk, lists = np.ascontiguousarray(queries[part], np.float64), self.walk(self._group), []
            # The list of pairs is bounded: a call that fills it is continued by the next.
            pairs, squares = np.empty((_PAIRS, 2), np.intp), np.empty(_PAIRS)
            while walk.has_rows(len(part)):
                count = box_search.list_within(points, own[part], self.leaves, walk, square, pairs, squares)
                lists.append((np.column_stack([part[pairs[:count, 0]], pairs[:count, 1]]), squares[:count].copy()))
            return np.concatenate([pairs for pairs, _ in lists]), np.concatenate([squares for _, squares in lists])

        run_numbered(search, -(-len(queries) // QUERIES), self.threads, receive)
