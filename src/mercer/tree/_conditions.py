"""The condition that leads from a node to each child, for trees of every kind."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._solver.tree.categories import find_missing
from mercer.errors import DataError
from mercer.tree._multiway_tree import MultiwayTree
from mercer.tree._node_view import NodeView, view_nodes


@dataclass(frozen=True)
class Condition:
    """One condition on one column.

    Attributes
    ----------
    feature : int
        The column.
    name : str
        Its name.
    operator : str
        ``"<="``, ``">"``, ``"is"`` (a category), ``"in"``, ``"not in"`` (lists of categories) or ``"missing"``.
    value : float, str, int, list or None
        What the column is compared with.
    or_missing : bool
        Whether a missing value meets the condition too.
    """

    feature: int
    name: str
    operator: str
    value: Any = None
    or_missing: bool = False

    def __str__(self) -> str:
        if self.operator == "missing":
            return f"{json.dumps(self.name)} is missing"
        value = repr(self.value) if isinstance(self.value, float) else json.dumps(self.value)
        return f"{json.dumps(self.name)} {self.operator} {value}" + (" or missing" if self.or_missing else "")

    def met(self, column: np.ndarray) -> np.ndarray:
        """Return a mask of the entries of `column` that meet the condition."""
        missing = find_missing(column)
        if self.operator == "missing":
            return missing
        if self.operator == "is":
            text = isinstance(self.value, str)
            # States of a file may be texts where the rows hold numbers.
            found = np.array([(str(entry) if text else entry) == self.value for entry in column], dtype=bool)
        elif self.operator in ("in", "not in"):
            inside = _find_members(column, missing, self.value)
            found = inside if self.operator == "in" else ~inside
        else:
            numbers = np.where(missing, 0.0, column).astype(np.float64)
            found = numbers <= self.value if self.operator == "<=" else numbers > self.value
        # Missing values meet the condition if the branch takes them.
        return np.where(missing, self.or_missing, found)


def _find_members(column: np.ndarray, missing: np.ndarray, categories: list[Any]) -> np.ndarray:
    """Return a mask of the entries that are among `categories`: by their text if these are texts, else as numbers."""
    if not categories:
        return np.zeros(len(column), dtype=bool)
    if any(isinstance(category, str) for category in categories):
        known = set(categories)
        return np.array([str(entry) in known for entry in column], dtype=bool)
    return np.isin(np.where(missing, 0.0, column).astype(np.float64), categories)


def list_feature_labels(model: Any, names: Any = None) -> list[str]:
    """Return the names of a model's columns: `names`, those of the fit, or x0, x1, ..."""
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(model.n_features_in_)]
    if len(names) != model.n_features_in_:
        raise DataError(
            f"feature_names must contain {model.n_features_in_} elements, got {len(names)}. Give a name for each."
        )
    return [str(name) for name in names]


def list_conditions(model: Any, names: Any = None) -> tuple[NodeView, list[Condition | None]]:
    """Return the nodes of a tree, and the condition that leads to each from its parent; None for the root."""
    nodes, labels = view_nodes(model), list_feature_labels(model, names)
    tree = model.tree_
    make = _make_multiway_condition if isinstance(tree, MultiwayTree) else _make_binary_condition
    found: list[Condition | None] = [None]
    for node in range(1, len(nodes.parent)):
        found.append(make(model, labels, int(nodes.parent[node]), node))
    return nodes, found


def _make_multiway_condition(model: Any, labels: list[str], parent: int, node: int) -> Condition:
    tree = model.tree_
    feature, branch = int(tree.feature[parent]), int(tree.branch[node])
    if branch < 0:
        return Condition(feature, labels[feature], "missing")
    if not np.isnan(tree.threshold[parent]):
        return Condition(feature, labels[feature], "<=" if branch == 0 else ">", float(tree.threshold[parent]))
    return Condition(feature, labels[feature], "is", model.categories_[feature].tolist()[branch])


def _make_binary_condition(model: Any, labels: list[str], parent: int, node: int) -> Condition:
    tree = model.tree_
    feature, left = int(tree.feature[parent]), bool(tree.children_left[parent] == node)
    sides: Any = getattr(tree, "missing_go_to_left", None)
    with_missing = sides is not None and bool(sides[parent]) == left
    # scikit-learn's trees have no such array, and ours an empty one where no column is categorical.
    start = int(tree.categories[parent]) if len(getattr(tree, "categories", ())) else -1
    if start < 0:
        operator = "<=" if left else ">"
        return Condition(feature, labels[feature], operator, float(tree.threshold[parent]), with_missing)
    names = _name_categories(model, feature)
    pairs = tree.words[start + 1 : start + 1 + 2 * int(tree.words[start])].reshape(-1, 2)
    chosen = [32 * i + bit for i, (_, go) in enumerate(pairs.tolist()) for bit in range(32) if go >> bit & 1]
    seen = [32 * i + bit for i, (here, _) in enumerate(pairs.tolist()) for bit in range(32) if here >> bit & 1]
    # A category that the node has not seen goes where missing values go: if that is left, list those that go right.
    if bool(sides[parent]):
        others = [names(code) for code in seen if code not in chosen]
        return Condition(feature, labels[feature], "not in" if left else "in", others, left)
    return Condition(feature, labels[feature], "in" if left else "not in", [names(code) for code in chosen], not left)


def _name_categories(model: Any, feature: int) -> Callable[[int], Any]:
    """Return the function from the code of a category of a column to the category itself.

    Trees inside forests take codes in `predict`, and hold the forest's table of names for this function only. A tree
    of scikit-learn, and one from a file of an older version, has no table: there the code is the category.
    """
    table = getattr(model, "_categories", None) or getattr(model, "_category_names", None)
    if table is None:
        return int
    known = [_write_category(category) for category in table.categories[table.columns.tolist().index(feature)].tolist()]
    return known.__getitem__


def _write_category(category: Any) -> Any:
    """Return a category as JSON has it: text, number or boolean; whole numbers without a point, others as text."""
    if isinstance(category, float) and category.is_integer():
        return int(category)
    return category if isinstance(category, str | int | float) else str(category)
