"""Boosted trees of LightGBM, read from the description that its boosters give of themselves."""

from typing import Any

import numpy as np

from mercer._solver.tree.tree_sum import NodeTable, TreeSum, pack_tables
from mercer._types import Array
from mercer.explain._outputs import Outputs

# How a split treats values that are missing, and zeros.
_AS_ZERO = "None"


def read_booster(model: Any, output: str) -> tuple[TreeSum, Outputs] | None:
    """Return the trees of a booster of LightGBM and its raw scores; None for other models and for categories."""
    booster = getattr(model, "booster_", model)
    if not type(booster).__module__.startswith("lightgbm") or not hasattr(booster, "dump_model"):
        return None
    told = booster.dump_model()
    k, trees = told["num_tree_per_iteration"], [tree["tree_structure"] for tree in told["tree_info"]]
    scale = k / len(trees) if told.get("average_output") else 1.0
    reader = _Reader(scale)
    tables = [reader.read(tree) for tree in trees]
    if reader.refused or output in ("probability",):
        return None
    forest, weights = pack_tables(tables, np.arange(len(tables)) % k)

    def ask(X: Any) -> Array:
        scores = np.asarray(booster.predict(X, raw_score=True), np.float64)
        return scores[:, None] if scores.ndim == 1 else scores

    names = getattr(model, "classes_", None)
    named = list(np.asarray(names).tolist()) if names is not None and len(names) == k else None
    kind = "prediction" if told.get("objective", "").startswith("regression") else "score"
    return TreeSum(forest, weights, np.zeros(k), reader.read_rows), Outputs(ask, kind, named, k == 1)


class _Reader:
    """Reads nested nodes; missing values that count as zero must do so at every split."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.refused = False
        self.kinds: set[str] = set()

    def read(self, root: dict[str, Any]) -> NodeTable:
        """Read a tree; its nodes are numbered depth first."""
        rows: list[tuple[float, ...]] = []
        stack: list[tuple[dict[str, Any], int]] = [(root, -1)]
        rights: dict[int, int] = {}
        while stack:
            node, parent = stack.pop()
            place = len(rows)
            if parent >= 0:
                rights[parent] = place
            if "split_index" not in node:
                rows.append((-1, 0.0, 0, self.scale * node["leaf_value"], node.get("leaf_count", 1)))
                continue
            self.kinds.add(node["missing_type"])
            if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
                self.refused = True
                node = node | {"threshold": 0.0}
            rows.append((node["split_feature"], node["threshold"], node["default_left"], 0.0, node["internal_count"]))
            # The left child comes next; the right one knows its parent.
            stack.append((node["right_child"], place))
            stack.append((node["left_child"], -1))
        table = np.array(rows, np.float64)
        inner = table[:, 0] >= 0
        right = np.full(len(table), -1)
        right[list(rights)] = list(rights.values())
        left = np.where(inner, np.arange(1, len(table) + 1), -1)
        return NodeTable(left, right, table[:, 0], table[:, 1], table[:, 2], table[:, 3:4], table[:, 4])

    def read_rows(self, rows: Any) -> Array:
        """Read rows; where no split knows missing values they are zeros, and in between the trees are refused."""
        X = np.array(rows, np.float64, order="C")
        if self.kinds == {_AS_ZERO}:
            np.nan_to_num(X, copy=False, posinf=np.inf, neginf=-np.inf)
        return X
