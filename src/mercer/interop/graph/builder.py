"""Nodes of an ONNX graph in double precision: links, curves and sums over trees. Needs the extra ``mercer[onnx]``."""

from typing import Any

import numpy as np

from mercer.interop.scores.reading import Tree

# Version of the general operators.
OPSET = 19
# Version of the operators for models: the first with trees in double precision.
ML_OPSET = 5


class Builder:
    """Collects nodes and constants; each method returns the name of a result."""

    def __init__(self, prefix: str = "", ml_opset: int = ML_OPSET) -> None:
        self.prefix, self.ml_opset = prefix, ml_opset
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []

    def add(self, operator: str, *given: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        name = f"{self.prefix}{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(given), [name], name=name, domain=domain, **attributes))
        return name

    def hold(self, values: Any) -> str:
        """Return the name of a constant."""
        from onnx import helper, numpy_helper

        name = f"{self.prefix}constant_{len(self.constants)}"
        array = np.asarray(values)
        if array.dtype.kind in "OU":
            texts: Any = [str(text).encode() for text in array.ravel()]
            self.constants.append(helper.make_tensor(name, 8, array.shape, texts))  # 8 is the number of texts in ONNX
        else:
            self.constants.append(numpy_helper.from_array(array, name))
        return name

    def take(self, name: str, text: bool) -> str:
        """Return the name of an input: a column, which several models may take."""
        from onnx import TensorProto, helper

        if any(known.name == name for known in self.inputs):
            return name
        kind = TensorProto.STRING if text else TensorProto.DOUBLE
        self.inputs.append(helper.make_tensor_value_info(name, kind, [None, 1]))
        return name

    def make_model(self, outputs: list[Any], **properties: str) -> Any:
        """Return the graph as an ONNX model; its ``SerializeToString`` is the file."""
        import onnx
        from onnx import helper

        graph = helper.make_graph(self.nodes, "mercer", self.inputs, outputs, self.constants)
        versions = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(graph, opset_imports=versions, producer_name="mercer", ir_version=9)
        helper.set_model_props(model, properties)
        onnx.checker.check_model(model)
        return model


def add_curve(builder: Builder, given: str, x: np.ndarray, y: np.ndarray) -> str:
    """Return the heights of a curve through points, constant outside them: the sum of what each piece adds."""
    if len(x) == 1:
        return builder.add("Add", builder.add("Mul", given, builder.hold(0.0)), builder.hold(float(y[0])))
    inside = builder.add("Min", builder.add("Max", given, builder.hold(x[:-1])), builder.hold(x[1:]))
    lengths = builder.add("Sub", inside, builder.hold(x[:-1]))
    slopes = (np.diff(y) / np.diff(x))[:, None]
    return builder.add("Add", builder.add("MatMul", lengths, builder.hold(slopes)), builder.hold(float(y[0])))


def add_sigmoid(builder: Builder, scores: str) -> str:
    """Return ``1 / (1 + exp(-score))``; onnxruntime's own function has about eight digits."""
    one = builder.hold(1.0)
    return builder.add("Div", one, builder.add("Add", one, builder.add("Exp", builder.add("Neg", scores))))


def add_link(builder: Builder, link: str, scores: str) -> str:
    """Return the probabilities of the classes."""
    if link == "softmax":
        return builder.add("Softmax", scores, axis=1)
    if link == "sigmoid":
        positive = add_sigmoid(builder, scores)
        return builder.add("Concat", builder.add("Sub", builder.hold(1.0), positive), positive, axis=1)
    return scores


# Comparison of a node in ONNX: at most the threshold.
_AT_MOST = 0
# The largest finite double.
_LARGEST = float(np.finfo(np.float64).max)


def add_trees(builder: Any, trees: list[Tree], x: str, width: int) -> str:
    """Return the sums of the leaves. A leaf of ONNX has one output: a tree with several is repeated for each.

    Every column comes twice, once with minus infinity for missing values and once with infinity. A node asks the first
    one where missing values go left, so that every comparison is of plain numbers.
    """
    from onnx import numpy_helper

    missing = builder.add("IsNaN", x)
    low, high = (builder.add("Where", missing, builder.hold(end), x) for end in (-np.inf, np.inf))
    both = builder.add("Concat", low, high, axis=1)
    keys = ("feature", "split", "yes", "yes_leaf", "no", "no_leaf", "roots", "target", "weight")
    lists: dict[str, list[Any]] = {name: [] for name in keys}
    for tree in trees:
        values = np.array(tree.value)
        leaves = np.array(tree.left) < 0
        for output in np.flatnonzero(values[leaves].any(axis=0)):
            _add_tree(lists, tree, values[:, output], int(output), width)
    if builder.ml_opset < ML_OPSET:
        return _add_earlier_trees(builder, lists, both, len(trees[0].value[0]))
    doubles = {name: numpy_helper.from_array(np.array(lists[name], dtype=float)) for name in ("split", "weight")}
    modes = numpy_helper.from_array(np.full(len(lists["feature"]), _AT_MOST, dtype=np.uint8))
    return builder.add(
        "TreeEnsemble",
        both,
        domain="ai.onnx.ml",
        n_targets=len(trees[0].value[0]),
        aggregate_function=1,  # the sum
        post_transform=0,  # none
        tree_roots=lists["roots"],
        nodes_featureids=lists["feature"],
        nodes_splits=doubles["split"],
        nodes_modes=modes,
        nodes_truenodeids=lists["yes"],
        nodes_trueleafs=lists["yes_leaf"],
        nodes_falsenodeids=lists["no"],
        nodes_falseleafs=lists["no_leaf"],
        leaf_targetids=lists["target"],
        leaf_weights=doubles["weight"],
    )


def _add_tree(lists: dict[str, list[Any]], tree: Tree, values: np.ndarray, output: int, width: int) -> None:
    """Append the nodes and leaves of one tree; `width` is the number of columns."""
    inner = [node for node, left in enumerate(tree.left) if left >= 0]
    first, first_leaf = len(lists["feature"]), len(lists["target"])
    lists["roots"].append(first)
    if not inner:
        # A tree of a single leaf becomes a node with two equal leaves: ONNX has no tree without a node.
        lists["target"] += [output, output]
        lists["weight"] += [values[0], values[0]]
        for name, value in zip(
            ("feature", "split", "yes", "yes_leaf", "no", "no_leaf"), (0, 0.0, first_leaf, 1, first_leaf + 1, 1)
        ):
            lists[name].append(value)
        return
    places = {node: first + place for place, node in enumerate(inner)}
    leaves = {node: first_leaf + place for place, node in enumerate(n for n, left in enumerate(tree.left) if left < 0)}
    lists["target"] += [output] * len(leaves)
    lists["weight"] += [values[node] for node in leaves]
    for node in inner:
        lists["feature"].append(tree.feature[node] + (0 if tree.missing_left[node] else width))
        # Infinity, which stands for a missing value, is above every threshold.
        lists["split"].append(min(tree.threshold[node], _LARGEST))
        for side, child in (("yes", tree.left[node]), ("no", tree.right[node])):
            lists[side].append(places.get(child, leaves.get(child)))
            lists[f"{side}_leaf"].append(int(child in leaves))


# The kind of a node of earlier operators that compares a value with a threshold.
_BRANCH = "BRANCH_LEQ"
# The kind of a leaf there.
_LEAF = "LEAF"


def _add_earlier_trees(builder: Builder, lists: dict[str, list[Any]], x: str, n_targets: int) -> str:
    """Return the sums by the operator before version 5: it compares in double precision and adds up in single."""
    from onnx import numpy_helper

    count = len(lists["feature"])
    ends = [*lists["roots"][1:], count]
    nodes: list[tuple[int, int, int, float, str, int, int]] = []
    leaves: list[tuple[int, int, int, float]] = []
    for number, (first, end) in enumerate(zip(lists["roots"], ends)):
        # The first node of a tree is its root: leaves come last.
        following, ended = end - first, []
        for place in range(first, end):
            sides = []
            for side in ("yes", "no"):
                target = lists[side][place]
                if lists[f"{side}_leaf"][place]:
                    ended.append((number, following, 0, 0.0, _LEAF, 0, 0))
                    leaves.append((number, following, lists["target"][target], lists["weight"][target]))
                    sides.append(following)
                    following += 1
                else:
                    sides.append(target - first)
            split = lists["feature"][place], lists["split"][place]
            nodes.append((number, place - first, *split, _BRANCH, *sides))
        nodes += ended
    trees, ids, features, values, modes, yes, no = zip(*nodes)
    leaf_trees, leaf_ids, targets, weights = zip(*leaves)
    single = builder.add(
        "TreeEnsembleRegressor",
        x,
        domain="ai.onnx.ml",
        n_targets=n_targets,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=trees,
        nodes_nodeids=ids,
        nodes_featureids=features,
        nodes_values_as_tensor=numpy_helper.from_array(np.array(values, dtype=float)),
        nodes_modes=modes,
        nodes_truenodeids=yes,
        nodes_falsenodeids=no,
        target_treeids=leaf_trees,
        target_nodeids=leaf_ids,
        target_ids=targets,
        target_weights_as_tensor=numpy_helper.from_array(np.array(weights, dtype=float)),
    )
    return builder.add("Cast", single, to=11)  # 11 is the number of doubles in ONNX
