"""Models that are sums over trees, of mercer, scikit-learn and LightGBM: their trees as packed nodes, in one form."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._base.scikit_learn import read_boosting
from mercer._solver.tree.packed_forest import join_trees
from mercer._solver.tree.tree_sum import NodeTable, TreeSum, pack_tables
from mercer._types import Array
from mercer.ensemble import average_path_length
from mercer.errors import UnsupportedError
from mercer.explain._outputs import Outputs, list_kinds, open_outputs
from mercer.explain._rows import Table

# Rows on which a sum over trees is compared with the model's own answers.
_PROBES = 8
# Relative difference that counts as equal; scikit-learn's boosting keeps its scores in single precision for some rows.
_CLOSE = 1e-6
# How a split treats values that are missing, and zeros.
_AS_ZERO = "None"


def find_tree_sum(model: Any, table: Table, output: str) -> tuple[TreeSum, Outputs] | None:
    """Return the trees that add up to an answer of a model, and that answer; None if there are none.

    The sum is compared with the model's own answers to some rows: a model whose answer only looks like a sum over its
    trees is not taken for one.
    """
    # Spread over the table, so that rows in order do not fall into the same leaves.
    probe = table.take(np.unique(np.linspace(0, len(table) - 1, _PROBES).astype(int))).rows
    for trees, outputs in _list_candidates(model, probe, output):
        try:
            found = trees.score(trees.read(probe))
        except (TypeError, ValueError):
            continue
        asked = outputs.ask(probe)
        if found.shape == asked.shape and np.allclose(found, asked, rtol=_CLOSE, atol=_CLOSE * np.abs(asked).max()):
            return trees, outputs
    return None


def _list_candidates(model: Any, probe: Any, output: str) -> Iterator[tuple[TreeSum, Outputs]]:
    """Yield what a model's trees may add up to."""
    booster = read_booster(model, output)
    if booster is not None:
        yield booster
        return
    if hasattr(model, "score_samples") and hasattr(model, "max_samples_") and output == "auto":
        yield _read_isolation(model), Outputs(lambda X: _find_mean_paths(model, X), "mean path length", None, True)
        return
    for kind in list_kinds(model, output):
        if kind == "prediction" and hasattr(model, "classes_"):
            continue
        outputs = open_outputs(model, kind, probe)
        # The trees of boosting add up to scores, whatever the probabilities are made of.
        summed = () if kind == "probability" else (_read_own, _read_scikit_histogram, _read_gradient)
        for read in (*summed, _read_mean):
            trees = read(model, outputs, probe)
            if trees is not None:
                yield trees, outputs


def _read_own(model: Any, outputs: Outputs, probe: Any) -> TreeSum | None:
    """Read a model of mercer that says itself what its scores are a sum of."""
    own: Callable[[], TreeSum] | None = getattr(model, "_tree_sum", None)
    try:
        return None if own is None else own()
    except UnsupportedError:
        return None


def _read_mean(model: Any, outputs: Outputs, probe: Any) -> TreeSum | None:
    """Read a tree, or an ensemble whose answer is the mean over its trees."""
    members = [model] if hasattr(model, "tree_") else getattr(model, "estimators_", None)
    if not isinstance(members, list) or not members or not all(hasattr(member, "tree_") for member in members):
        return None
    if hasattr(model, "tree_") and not hasattr(model.tree_, "children_left"):
        return None
    trees = [member.tree_ for member in members]
    scale = 1.0 / len(trees)
    values = trees[0].value.shape
    if values[1] > 1 and values[2] > 1:
        return None
    baseline = np.zeros(values[1] * values[2])
    return TreeSum(*_pack(trees, scale, None), baseline, _choose_reader(model, trees))


def _read_gradient(model: Any, outputs: Outputs, probe: Any) -> TreeSum | None:
    """Read gradient boosting with exact trees: what it starts from must be a constant."""
    members = getattr(model, "estimators_", None)
    rate = getattr(model, "learning_rate", None)
    if not isinstance(members, np.ndarray) or members.ndim != 2 or not isinstance(rate, float | int):
        return None
    initial = getattr(model, "init_", "zero")
    if initial != "zero" and not type(initial).__name__.startswith("Dummy"):
        return None
    trees = [member.tree_ for member in members.ravel()]
    k = members.shape[1]
    forest, weights = _pack(trees, float(rate), np.arange(len(trees)) % k)
    read = _choose_reader(model, trees)
    start = TreeSum(forest, weights, np.zeros(k), read)
    baseline = outputs.ask(probe)[0] - start.score(read(probe))[0]
    return TreeSum(forest, weights, baseline, read)


def _pack(trees: list[Any], scale: float, outputs: Array | None) -> tuple[Any, Array]:
    """Return trees of mercer or scikit-learn packed, their values times `scale`, and the weights of their nodes."""
    if all(hasattr(tree, "words") for tree in trees) and any(len(tree.words) for tree in trees):
        # mercer's trees with sets of categories.
        forest = join_trees(trees, 1 if outputs is None else int(outputs.max()) + 1)
        weights = np.concatenate([tree.weighted_n_node_samples for tree in trees])
        return replace(forest, values=forest.values * scale), weights
    return pack_tables([_read_table(tree, scale) for tree in trees], outputs)


def _read_table(tree: Any, scale: float) -> NodeTable:
    """Read a tree with the arrays of scikit-learn's ``tree_``."""
    left = tree.children_left
    missing = getattr(tree, "missing_go_to_left", None)
    return NodeTable(
        left,
        tree.children_right,
        tree.feature,
        tree.threshold,
        np.zeros(len(left), np.uint8) if missing is None else missing,
        scale * tree.value.reshape(len(left), -1),
        tree.weighted_n_node_samples,
    )


def _choose_reader(model: Any, trees: list[Any]) -> Callable[[Any], Array]:
    """Return how rows are read: mercer's models say it, and scikit-learn's compare values in single precision."""
    own: Callable[[Any], Array] | None = getattr(model, "_read_values", None)
    if own is not None:
        return own
    single = not hasattr(trees[0], "words")

    def read(rows: Any) -> Array:
        X = np.asarray(rows, np.float32 if single else np.float64)
        return np.ascontiguousarray(X, np.float64)

    return read


def _read_isolation(model: Any) -> TreeSum:
    """Read an isolation forest: its mean path is the mean over trees of a leaf's depth and what its rows need."""
    tables, exact = [], type(model).__module__.startswith("mercer.")
    columns = model.estimators_features_
    for member, own in zip(model.estimators_, columns):
        tree = member.tree_
        table = _read_table(tree, 1.0)
        if not exact:
            depths = np.zeros(len(table.left))
            for node in np.flatnonzero(table.left >= 0).tolist():
                depths[[table.left[node], table.right[node]]] = depths[node] + 1.0
            paths = depths + _approximate_path(tree.n_node_samples)
        else:
            paths = table.value[:, 0]
        column = (
            np.where(table.left >= 0, np.asarray(own)[np.maximum(table.column, 0)], -1) if not exact else table.column
        )
        tables.append(
            NodeTable(
                table.left, table.right, column, table.threshold, table.missing_left,
                paths[:, None] / len(model.estimators_), tree.n_node_samples.astype(np.float64),
            )
        )  # fmt: skip
    forest, weights = pack_tables(tables)
    return TreeSum(forest, weights, np.zeros(1), _choose_reader(model, [model.estimators_[0].tree_]))


def _approximate_path(counts: Array) -> Array:
    """Return the mean path of the tree that some rows would make, as scikit-learn approximates it."""
    counts = np.asarray(counts, np.float64)
    many = np.maximum(counts, 3.0)
    paths = 2.0 * (np.log(many - 1.0) + np.euler_gamma) - 2.0 * (many - 1.0) / many
    return np.where(counts <= 1, 0.0, np.where(counts == 2, 1.0, paths))


def _find_mean_paths(model: Any, X: Any) -> Array:
    """Return the mean path lengths (n, 1) that an isolation forest's scores were made of."""
    exact = type(model).__module__.startswith("mercer.")
    unit = (average_path_length if exact else _approximate_path)(np.array([model.max_samples_]))
    return np.asarray(-np.log2(-model.score_samples(X)) * unit)[:, None]


def _read_scikit_histogram(model: Any, outputs: Outputs, probe: Any) -> TreeSum | None:
    """Read scikit-learn's histogram boosting without categories; its trees are in no public attribute."""
    found = read_boosting(model)
    if found is None or np.any(getattr(model, "is_categorical_", None)):
        return None
    rounds, start = found
    try:
        tables = [_read_histogram_nodes(nodes) for trees in rounds for nodes in trees]
        baseline = np.asarray(start, np.float64).ravel()
    except (KeyError, ValueError):
        # Another version has other columns: the model is explained like any other.
        return None
    k = len(rounds[0])
    forest, weights = pack_tables(tables, np.arange(len(tables)) % k)

    def read(rows: Any) -> Array:
        return np.ascontiguousarray(rows, np.float64)

    return TreeSum(forest, weights, baseline, read)


def _read_histogram_nodes(nodes: Any) -> NodeTable:
    leaf = nodes["is_leaf"].astype(bool)
    return NodeTable(
        np.where(leaf, -1, nodes["left"].astype(np.int64)),
        np.where(leaf, -1, nodes["right"].astype(np.int64)),
        nodes["feature_idx"],
        nodes["num_threshold"],
        nodes["missing_go_to_left"],
        nodes["value"][:, None],
        nodes["count"],
    )


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
