"""Building one tree: the leaf whose split gains most is split next, until no split gains or the tree is full.

The growth of all other trees finds such splits too, on its coarse steps. It takes five to ten times as long for a tree
of 31 leaves: ``python -m benchmarks.leaf_growth`` measures both. Boosting's has sums of whole numbers whose histograms
are subtracted from each other, threads that stay in native code, and gradients that come with the scores of each tree.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native.records import RULES, list_fields, make_records
from mercer._types import Array
from mercer.ensemble._histogram.rows import BinnedRows
from mercer.ensemble._histogram.tree import BoostedTree, read_tree
from mercer.ensemble._histogram.workers import Workers


@dataclass(frozen=True, eq=False)
class TreeLimits:
    """The size and shape that a tree may have.

    Attributes
    ----------
    monotone : (d,), int32
        1 where the score may only rise with a column, -1 where it may only fall, else 0.
    max_leaves, max_depth : float
    min_count, min_curvature : float
        The fewest rows of a leaf, and the least sum of their curvatures.
    l2 : float
        The penalty on leaf values.
    max_features : float
        The share of the columns, drawn at random, from which a split is chosen.
    groups : tuple of frozenset or None
        The sets of columns that may occur on one path.
    min_category_count : float
        The fewest rows of a category whose side is searched; rarer categories go right.
    category_price : float
        The gain that a split needs for each category, in units of the gain that a category makes by chance.
    """

    monotone: Array
    max_leaves: float = 31
    max_depth: float = math.inf
    min_count: float = 20
    min_curvature: float = 1e-3
    l2: float = 0.0
    max_features: float = 1.0
    groups: tuple[frozenset[int], ...] | None = None
    min_category_count: float = 10.0
    category_price: float = 0.0


class TreeBuilder:
    """Builds one tree after the other on the same rows.

    Parameters
    ----------
    rows : BinnedRows
    limits : TreeLimits

    Attributes
    ----------
    started : bool
        Whether the worker threads have begun with a tree that :meth:`grow` is to finish.
    direct : bool
        Whether both children are summed from their rows, not one by subtraction from the parent.
    """

    def __init__(self, rows: BinnedRows, limits: TreeLimits) -> None:
        self.rows, self.limits = rows, limits
        rules = make_records(1, RULES)
        rules.l2, rules.min_rows, rules.min_curvature = limits.l2, limits.min_count, limits.min_curvature
        rules.min_category_rows, rules.max_depth = limits.min_category_count, limits.max_depth
        rules.max_leaves = limits.max_leaves
        self.workers, self.rules = Workers(rows, limits.monotone, rules), list_fields(rules)
        self.all_columns, self.n_nodes, self.started = np.arange(rows.d), 0, False
        self.restricted = limits.groups is not None or limits.max_features < 1.0
        self.workers.choose_columns(0, self.all_columns)
        # Sum the few drawn columns over the rows of both children where that costs less than all columns over the
        # smaller child, which has a third of the rows as a rule; a row itself costs as much as five columns.
        self.direct = limits.max_features < 0.35 - 5 / rows.d

    def start(self, output: int, size: float, curvature: float, chance: float = 0.0) -> None:
        """Let the worker threads begin with the root of a tree.

        Parameters
        ----------
        output : int
            The index of the score that the tree is for.
        size, curvature : float
            The sums of absolute gradients and of curvatures; the units of the words of a histogram follow from them.
        chance : float
            The gain that a category makes by chance.
        """
        workers, rules = self.workers, self.rules
        # Sums below 2**52 are doubles without rounding: equal splits gain the same to the last bit. The curvature
        # shares its word with the count of rows, which takes `shift` bits.
        scale, bend = _find_scale(52, size), _find_scale(min(52, 61 - self.rows.shift), curvature)
        rules["gradient_scale"], rules["curvature_scale"] = scale, bend
        rules["gradient_unit"], rules["curvature_unit"] = 1.0 / scale, 1.0 / bend
        # The price of a category depends on the gradients of a round.
        rules["category_price"] = self.limits.category_price * chance
        if self.restricted:
            workers.choose_columns(0, self.all_columns)
        workers.start_tree(output, self.direct)
        self.started = True

    def grow(self, generator: np.random.Generator | None) -> None:
        """Grow the tree that was started; `generator` draws columns where ``max_features`` is below one."""
        choose = _ColumnChooser(self, generator) if self.restricted else None
        self.n_nodes = self.workers.grow_tree(self.direct, choose)
        self.started = False

    def scale_values(self, rate: float) -> Array:
        """Return the values of the nodes of the tree just grown, times `rate`; a root without a split adds nothing."""
        return rate * list_fields(self.workers.nodes)["value"][: self.n_nodes] if self.n_nodes > 1 else np.zeros(1)

    def list_leaves(self) -> Array:
        """Return the indices of the leaves of the tree just grown."""
        return np.flatnonzero(list_fields(self.workers.nodes)["left"][: self.n_nodes] == 0)

    def read(self, values: Array) -> BoostedTree:
        """Return the tree just grown, with these values of its nodes."""
        nodes, tables = list_fields(self.workers.nodes), self.workers.tables
        return read_tree(nodes[: self.n_nodes], tables[: self.n_nodes], self.rows.bins, values)


class _ColumnChooser:
    """Chooses the columns from which the splits of one tree are searched.

    Parameters
    ----------
    builder : TreeBuilder
    generator : numpy Generator or None
    """

    def __init__(self, builder: TreeBuilder, generator: Any) -> None:
        self.builder, self.limits, self.workers = builder, builder.limits, builder.workers
        self.generator = generator
        # For each node, the indices of the groups that contain all columns on the path to it.
        self.groups_of_node: dict[int, tuple[int, ...]] = {}

    def __call__(self, parent: int, left: int, feature: int, *wanted: int) -> None:
        """Choose columns for the children of `parent`, split by `feature`; `parent` is -1 for the root itself."""
        every, direct = self.builder.all_columns, self.builder.direct
        columns = every
        if self.limits.groups is not None:
            columns = self._follow_groups(parent, left, feature)
        # Both children share one histogram pass, hence its columns; each child draws its own from them.
        if not direct:
            self.workers.choose_columns(0, columns if parent >= 0 else every)
        for side in range(2):
            if wanted[side]:
                drawn = self._draw(columns)
                self.workers.allowed[side] = 0
                self.workers.allowed[side, drawn] = 1
                # Summed directly, a child needs the histograms of its own columns only.
                if direct:
                    self.workers.choose_columns(side, drawn)

    def _follow_groups(self, parent: int, left: int, feature: int) -> Array:
        """Return the columns of the groups that contain all columns on the path to the children of `parent`."""
        groups = self.limits.groups or ()
        open_groups = tuple(range(len(groups)))
        if parent >= 0:
            open_groups = tuple(group for group in self.groups_of_node[parent] if feature in groups[group])
        self.groups_of_node[left] = self.groups_of_node[left + 1] = open_groups
        return np.array(sorted(frozenset().union(*(groups[group] for group in open_groups))), dtype=np.int64)

    def _draw(self, columns: Array) -> Array:
        """Return a random share of some columns."""
        if self.limits.max_features == 1.0:
            return columns
        # A product such as 0.1 * 30 may lie a rounding error above the whole number.
        count = max(1, math.ceil(self.limits.max_features * len(columns) - 1e-9))
        return self.generator.choice(columns, count, replace=False)


# Turns the largest double, below 2^1024, into a number below 2^22; its inverse is a normal number.
_LEAST_SCALE = 2.0**-1002


def _find_scale(bits: int, total: float) -> float:
    """Return a power of two that keeps a sum of absolute values `total` below ``2**(bits - 1)``, and near it."""
    if not 0 < total < math.inf:
        # Where the sum has overflowed, 2^40 of the largest numbers still fit into a word.
        return _LEAST_SCALE if total else 1.0
    # total = m 2^e with m in [0.5, 1), so that total 2^(bits - 1 - e) lies in [2^(bits - 2), 2^(bits - 1)). The limit
    # of 1000 keeps the inverse of the scale a normal number.
    return 2.0 ** min(bits - 1 - math.frexp(total)[1], 1000)
