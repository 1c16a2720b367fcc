"""A tree whose nodes may have many branches: growing it, and sending rows down."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mercer._plain import plain
from mercer._stored import Stored, alike, floats, integers
from mercer.errors import ModelFileError
from mercer.tree._multiway_gains import Gain, compute_impurities, find_categorical_gain, find_numeric_gains

MISSING = -1


@plain
@dataclass(frozen=True, eq=False)
class MultiwayTree:
    """Nodes, numbered so that children come after their parents.

    Attributes
    ----------
    feature : (node_count,)
        The column that a node splits; -1 for a leaf.
    threshold : (node_count,)
        Of a numeric split; NaN otherwise.
    parent, branch : (node_count,)
        The parent of a node, and its branch: the code of a category; for a numeric split 0 up to the threshold and 1
        above it; -1 for missing values.
    weights : (node_count, n_classes)
        Class weights of the training rows.
    gains : (node_count, n_features)
        The gain of a split of each column; NaN if it cannot be split.
    """

    feature: Any
    threshold: Any
    parent: Any
    branch: Any
    weights: Any
    gains: Any

    _stored: ClassVar[dict[str, Stored]] = {
        "feature": integers("nodes", low=-1, below="columns"),
        "threshold": floats("nodes"),
        **alike(integers("nodes", low=-1), "parent", "branch"),
        "weights": floats("nodes, classes"),
        "gains": floats("nodes, columns"),
    }

    def check_fields(self) -> None:
        """Raise ModelFileError unless each node but the first has a parent before it that is no leaf."""
        count = len(self.feature)
        parents = self.parent[1:]
        valid = count > 0 and bool((parents >= 0).all() and (parents < np.arange(1, count)).all())
        valid = valid and bool((self.feature[parents] >= 0).all())
        # A node that splits has a child.
        valid = valid and len(np.unique(parents)) == np.count_nonzero(self.feature >= 0)
        if not valid:
            raise ModelFileError(
                "MultiwayTree.parent must lead from each node to one before it that splits; the file's does not."
            )

    @property
    def node_count(self) -> int:
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        return int(np.count_nonzero(self.feature < 0))

    @property
    def max_depth(self) -> int:
        return int(self.depths.max())

    @cached_property
    def depths(self) -> np.ndarray:
        """The depth of each node."""
        depths = np.zeros(self.node_count, dtype=np.int64)
        for node in range(1, self.node_count):
            depths[node] = depths[self.parent[node]] + 1
        return depths

    @cached_property
    def children(self) -> list[list[int]]:
        """The children of each node."""
        found: list[list[int]] = [[] for _ in range(self.node_count)]
        for node in range(1, self.node_count):
            found[self.parent[node]].append(node)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("depths", "children")}

    def shares(self) -> np.ndarray:
        """Return class shares of the training rows of each node."""
        return self.weights / self.weights.sum(axis=1, keepdims=True)

    def parts(self, values: np.ndarray) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Return (leaf, rows, shares) for each leaf: the rows that reach it, and the share of each row that does.

        A missing value without a branch of its own, and a category that the node has not seen, goes down all branches
        in the proportion of their training weights.
        """
        # What has arrived at each node that was not looked at yet: rows, and the share of each that came this way.
        # Children have larger numbers than their parents, so one pass in the order of numbers visits all.
        waiting = {0: (np.arange(len(values)), np.ones(len(values)))}
        leaves = []
        for node in range(self.node_count):
            rows, part = waiting.pop(node, (np.empty(0, dtype=np.intp), np.empty(0)))
            if self.feature[node] < 0:
                leaves.append((node, rows, part))
                continue
            below = self.children[node]
            branch = find_branches(values[rows, self.feature[node]], self.threshold[node])
            # Rows without a branch of their own: an unseen category, or a missing value where the fit saw none.
            lost = ~np.isin(branch, self.branch[below])
            total = self.weights[below].sum()
            for child in below:
                own = branch == self.branch[child]
                # The share of the training weight that went this way.
                share = self.weights[child].sum() / total
                waiting[child] = (
                    np.concatenate([rows[own], rows[lost]]),
                    np.concatenate([part[own], part[lost] * share]),
                )
        return leaves


def find_branches(values: np.ndarray, threshold: float) -> np.ndarray:
    """Return the branch of each value: its code if `threshold` is NaN, else whether it is above; -1 if missing."""
    # NaN is the only value that differs from itself.
    known = values == values
    taken = values if np.isnan(threshold) else (values > threshold)
    return np.where(known, np.where(known, taken, 0), MISSING).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Growth:
    """The rules by which a tree grows; ``n_categories`` (d,) has zeros for numeric columns."""

    n_categories: np.ndarray
    criterion: str
    by_ratio: bool
    fractional: bool
    max_depth: int | None
    min_split: int
    min_leaf: int
    min_gain: float

    def gains(self, values: np.ndarray, classes: np.ndarray, free: np.ndarray) -> list[Gain | None]:
        """Return the gain of each column that is `free`, None for others and if there is no split."""
        found: list[Gain | None] = [None] * values.shape[1]
        # All numeric columns are searched in one call; columns of categories have tables of different widths.
        numeric = np.flatnonzero(free & (self.n_categories == 0))
        if len(numeric):
            table = find_numeric_gains(values[:, numeric], classes, self.criterion, self.fractional, self.min_leaf)
            for column, gain in zip(numeric, table, strict=True):
                found[column] = gain
        for column in np.flatnonzero(free & (self.n_categories > 0)):
            # Without a threshold the branch of a row is its category.
            codes = find_branches(values[:, column], np.nan)
            size = int(self.n_categories[column])
            found[column] = find_categorical_gain(codes, classes, size, self.criterion, self.fractional, self.min_leaf)
        return found

    def choose(self, found: list[Gain | None]) -> int | None:
        """Return the column of largest gain, or of largest gain ratio among those that gain the mean or more."""
        usable = [(j, gain) for j, gain in enumerate(found) if gain is not None and gain.gain >= self.min_gain]
        if not usable:
            return None
        if self.by_ratio:
            # C4.5: a ratio alone would favour columns whose gain and information are both tiny.
            mean = float(np.mean([gain.gain for _, gain in usable]))
            usable = [(j, gain) for j, gain in usable if gain.gain >= mean - 1e-12]
            worth = [gain.gain / gain.information if gain.information > 0 else 0.0 for _, gain in usable]
        else:
            worth = [gain.gain for _, gain in usable]
        best = max(worth)
        # Sums of the same weights in another order differ by rounding: among equals the first column is taken.
        return next(j for (j, _), value in zip(usable, worth, strict=True) if value >= best - 1e-12)


def grow(growth: Growth, values: np.ndarray, labels: np.ndarray, weight: np.ndarray, n_classes: int) -> MultiwayTree:
    """Grow a tree: split nodes until they are pure, no column is free, or a rule forbids it."""
    held = np.flatnonzero(weight > 0)
    # One-hot labels: weighted column sums of some rows are the class weights of a node.
    classes = np.zeros((len(labels), n_classes))
    classes[np.arange(len(labels)), labels] = 1.0
    nodes: list[dict[str, Any]] = []
    # Rows, their weights, free columns, depth, parent and branch; children are pushed in reverse and numbered in order.
    waiting = [(held, weight[held], np.ones(values.shape[1], dtype=bool), 0, -1, 0)]
    while waiting:
        rows, own, free, depth, parent, branch = waiting.pop()
        table = classes[rows] * own[:, None]
        node = {"parent": parent, "branch": branch, "weights": table.sum(axis=0), "feature": -1, "threshold": np.nan}
        nodes.append(node | {"gains": np.full(values.shape[1], np.nan)})
        node = nodes[-1]
        open_ended = growth.max_depth is None or depth < growth.max_depth
        impure = float(compute_impurities(node["weights"], growth.criterion)) > 1e-12
        if not (open_ended and impure and len(rows) >= growth.min_split):
            continue
        found = growth.gains(values[rows], table, free)
        node["gains"][:] = [np.nan if gain is None else gain.gain for gain in found]
        column = growth.choose(found)
        if column is None:
            continue
        node["feature"], node["threshold"] = column, found[column].threshold  # type: ignore[union-attr]
        # A column of categories is used up by its split: all rows of a branch have one category.
        # Numeric columns stay free: another threshold may split them further down.
        below = free & ((np.arange(len(free)) != column) | (growth.n_categories[column] == 0))
        for key, part, share in _divide(values[rows, column], own, node["threshold"], growth.fractional)[::-1]:
            waiting.append((rows[part], share, below, depth + 1, len(nodes) - 1, key))
    return MultiwayTree(**{name: np.array([node[name] for node in nodes]) for name in nodes[0]})


def _divide(values: np.ndarray, own: np.ndarray, threshold: float, fractional: bool) -> list[tuple[int, Any, Any]]:
    """Return (branch, rows, weights) for each branch of a node.

    If `fractional`, a missing row goes down all branches, its weight shared in the proportion of their known weights.
    """
    branch = find_branches(values, threshold)
    keys = [int(key) for key in np.unique(branch) if key != MISSING or not fractional]
    missing = np.flatnonzero(branch == MISSING)
    # The shares of the branches are those of the known rows, so that the parts of a missing row sum to its weight.
    known = own[branch != MISSING].sum()
    divided = []
    for key in keys:
        part, share = np.flatnonzero(branch == key), own[branch == key]
        if fractional and len(missing):
            share = np.concatenate([share, own[missing] * share.sum() / known])
            part = np.concatenate([part, missing])
        divided.append((key, part, share))
    return divided
