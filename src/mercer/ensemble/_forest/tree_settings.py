"""How one exact tree of an ensemble is grown and pruned."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer._solver.tree.assembly import assemble
from mercer._solver.tree.binary_tree import BinaryTree
from mercer._solver.tree.columns import Columns
from mercer._solver.tree.growth import Growth, Rules
from mercer._solver.tree.pruning import prune
from mercer._solver.tree.search import Room
from mercer._solver.tree.whole_growth import grow_best_first, grow_whole
from mercer._types import Array


@dataclass(frozen=True, eq=False)
class TreeSettings:
    """The rules of growth of all trees of an ensemble.

    Attributes
    ----------
    rules : Rules
    max_leaves : int or None
        With a limit the tree grows best first, without level by level.
    ccp_alpha : float
        The price of a leaf in cost-complexity pruning.
    min_weight_share : float
        The least share of a tree's weight in a leaf.
    room : Room
        Scratch arrays that the trees of one thread share.
    """

    rules: Rules
    max_leaves: int | None
    ccp_alpha: float
    min_weight_share: float
    room: Room = field(default_factory=Room)

    def grow(
        self,
        columns: Columns,
        target: Any,
        weight: Array,
        n_classes: Array,
        seed: int,
        threads: int,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> BinaryTree:
        """Grow a tree on the rows of positive weight, and prune it.

        Parameters
        ----------
        columns : Columns
        target : Target
            From :mod:`mercer._solver.tree.target`, with the same weights.
        weight : (n,)
        n_classes : (outputs,)
            One for each output of a regression.
        seed : int
        threads : int
        goes_on : callable
            Asked every few milliseconds; where it returns False, ``StoppedError`` is raised.
        """
        rules = self.rules
        if self.min_weight_share > 0:
            rules = replace(rules, min_weight_leaf=self.min_weight_share * float(weight.sum()))
        growth = Growth(columns, target, rules, threads, goes_on)
        growth.begin(np.flatnonzero(weight > 0).astype(np.int32), seed)
        if self.max_leaves is None:
            tree = grow_whole(growth, n_classes, self.room)
        else:
            tree = assemble(grow_best_first(growth, self.max_leaves), columns.n_features, n_classes)
        return prune(tree, self.ccp_alpha)
