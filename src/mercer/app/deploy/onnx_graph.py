"""Write a model as an ONNX graph, in double precision. Needs the extra: ``pip install mercer[onnx]``.

Each column is an input of shape (rows, 1): numbers and days since the start of 1970 as doubles, with NaN for missing
ones; categories as texts, with an empty text for missing ones. The outputs are `prediction` and, for classes,
`probabilities`, in the order of the metadata entry `classes`.
"""

import json
from typing import Any

import numpy as np

from mercer.app.deploy.formula import CYCLES, Calibration, Formula, Tree, list_codes
from mercer.app.deploy.onnx_bodies import add_body
from mercer.app.deploy.trial_rows import count_days, list_columns, spell_category
from mercer.errors import DataError

# Version of the general operators.
_OPSET = 19
# Version of the operators for models: the first with trees in double precision.
_ML_OPSET = 5


class _Builder:
    """Collects nodes and constants; each method returns the name of a result."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []

    def add(self, operator: str, *given: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(given), [name], name=name, domain=domain, **attributes))
        return name

    def hold(self, values: Any) -> str:
        """Return the name of a constant."""
        from onnx import helper, numpy_helper

        name = f"constant_{len(self.constants)}"
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


def make_graph(formula: Formula) -> Any:
    """Return the ONNX model of a formula; its ``SerializeToString`` is the file."""
    import onnx
    from onnx import TensorProto, helper

    builder = _Builder()
    outputs = [helper.make_tensor_value_info("prediction", TensorProto.DOUBLE, [None])]
    if formula.classes:
        shares = _add_shares(builder, formula)
        builder.nodes.append(helper.make_node("Identity", [shares], ["probabilities"]))
        builder.nodes.append(helper.make_node("Identity", [_add_decision(builder, formula, shares)], ["prediction"]))
        outputs = [
            helper.make_tensor_value_info("prediction", TensorProto.STRING, [None]),
            helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, [None, len(formula.classes)]),
        ]
    else:
        parts = [(part, _add_number(builder, member)) for part, member in formula.members or [(1.0, formula)]]
        builder.nodes.append(helper.make_node("Identity", [_add_mean(builder, parts)], ["prediction"]))
    graph = helper.make_graph(builder.nodes, "mercer", builder.inputs, outputs, builder.constants)
    versions = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
    model = helper.make_model(graph, opset_imports=versions, producer_name="mercer", ir_version=9)
    helper.set_model_props(model, {"classes": json.dumps(formula.classes), "columns": json.dumps(formula.names)})
    onnx.checker.check_model(model)
    return model


def _add_model(builder: _Builder, formula: Formula) -> str:
    """Return the scores of one model: its columns encoded and scaled, then the model."""
    encoded = [
        part
        for name, coding in zip(formula.names, formula.codings)
        if coding is not None
        for part in _encode(builder, name, coding)
    ]
    x = encoded[0] if len(encoded) == 1 else builder.add("Concat", *encoded, axis=1)
    x = builder.add("Div", builder.add("Sub", x, builder.hold(formula.shift)), builder.hold(formula.scale))
    return _add_scores(builder, formula, x)


def _add_number(builder: _Builder, formula: Formula) -> str:
    """Return the predicted numbers of one model, of shape (rows,)."""
    flat = builder.add("Reshape", _add_model(builder, formula), builder.hold(np.array([-1], dtype=np.int64)))
    power = formula.power
    if power is None:
        return flat
    logs = builder.add("Add", builder.hold(power.offset), builder.add("Mul", builder.hold(power.factor), flat))
    near = builder.add("Clip", logs, builder.hold(power.low), builder.hold(power.high))
    return builder.add("Exp", near) if power.log else near


def _add_mean(builder: _Builder, parts: list[tuple[float, str]]) -> str:
    """Return the weighted sum of predictions; the only one as it is."""
    if len(parts) == 1:
        return parts[0][1]
    scaled = [builder.add("Mul", name, builder.hold(part)) for part, name in parts]
    return builder.add("Sum", *scaled)


def _add_shares(builder: _Builder, formula: Formula) -> str:
    """Return the probabilities of the classes."""
    if formula.members:
        parts = [(part, _add_shares(builder, member)) for part, member in formula.members]
        scores = shares = _add_mean(builder, parts)
    else:
        scores = _add_model(builder, formula)
        shares = _add_link(builder, formula.link, scores)
    if formula.calibration is None:
        return shares
    return _add_calibration(builder, formula.calibration, scores, shares, formula.link == "sigmoid")


def _add_calibration(builder: _Builder, calibration: Calibration, scores: str, shares: str, single: bool) -> str:
    """Return calibrated probabilities; `single` says that there is one score, the log-odds of the second class."""
    if calibration.method == "temperature":
        if calibration.scored:
            given = builder.add("Concat", builder.add("Neg", scores), scores, axis=1) if single else scores
        else:
            given = builder.add("Log", builder.add("Add", shares, builder.hold(1e-12)))
        return builder.add("Softmax", builder.add("Mul", given, builder.hold(calibration.a)), axis=1)
    # Of two scores, the difference is the log-odds of the second class. The slope is part of the product, since
    # onnxruntime rounds a factor behind a product of matrices to single precision.
    slope = -calibration.a if calibration.points is None else 1.0
    change = np.array([[1.0]] if single else [[-1.0], [1.0]]) if calibration.scored else np.array([[0.0], [1.0]])
    given = builder.add("MatMul", scores if calibration.scored else shares, builder.hold(slope * change))
    if calibration.points is None:
        positive = _add_sigmoid(builder, builder.add("Sub", given, builder.hold(calibration.b)))
    else:
        positive = _add_steps(builder, given, *calibration.points)
    return builder.add("Concat", builder.add("Sub", builder.hold(1.0), positive), positive, axis=1)


def _add_steps(builder: _Builder, given: str, x: np.ndarray, y: np.ndarray) -> str:
    """Return the heights of a curve through points, constant outside them: the sum of what each piece adds."""
    if len(x) == 1:
        return builder.add("Add", builder.add("Mul", given, builder.hold(0.0)), builder.hold(float(y[0])))
    inside = builder.add("Min", builder.add("Max", given, builder.hold(x[:-1])), builder.hold(x[1:]))
    lengths = builder.add("Sub", inside, builder.hold(x[:-1]))
    slopes = (np.diff(y) / np.diff(x))[:, None]
    return builder.add("Add", builder.add("MatMul", lengths, builder.hold(slopes)), builder.hold(float(y[0])))


def _encode(builder: _Builder, name: str, coding: Any) -> list[str]:
    """Return the encoded columns of one column."""
    if coding.kind == "category":
        return [_encode_category(builder, builder.take(name, text=True), coding)]
    x = builder.take(name, text=False)
    missing = builder.add("IsNaN", x)
    if np.isfinite(coding.fill):
        x = builder.add("Where", missing, builder.hold(float(coding.fill)), x)
    parts = [x]
    for cycle in getattr(coding, "cycles", ()):
        period, offset = CYCLES[cycle]
        moved = builder.add("Add", x, builder.hold(offset))
        # The rest of a division is exact. The fraction of 2700 weeks would be wrong in the twelfth digit, and trees
        # compare all digits.
        rest = builder.add("Mod", moved, builder.hold(period), fmod=1)
        before = builder.add("Less", rest, builder.hold(0.0))
        within = builder.add("Where", before, builder.add("Add", rest, builder.hold(period)), rest)
        angle = builder.add("Div", builder.add("Mul", within, builder.hold(2 * np.pi)), builder.hold(period))
        # Rounded as in the encoder, so that days at the same place of a cycle are equal.
        for wave in (builder.add("Sin", angle), builder.add("Cos", angle)):
            whole = builder.add("Round", builder.add("Mul", wave, builder.hold(1e12)))
            parts.append(builder.add("Div", whole, builder.hold(1e12)))
    if coding.missing:
        parts.append(builder.add("Cast", missing, to=11))  # 11 is the number of doubles in ONNX
    return parts


def _encode_category(builder: _Builder, x: str, coding: Any) -> str:
    """Return the indicators, or the code, of a category: a table is read at the code of the text."""
    codes, table = list_codes(coding)
    *names, _, _ = codes
    size = len(names)
    place = builder.add(
        "LabelEncoder",
        x,
        domain="ai.onnx.ml",
        keys_strings=[*names, ""],
        values_int64s=[*range(size), size + 1],
        default_int64=size,
    )
    flat = builder.add("Reshape", place, builder.hold(np.array([-1], dtype=np.int64)))
    return builder.add("Gather", builder.hold(np.array(table, dtype=float).reshape(size + 2, -1)), flat, axis=0)


def _add_scores(builder: _Builder, formula: Formula, x: str) -> str:
    """Return the scores of the rows."""
    if formula.body is not None:
        return builder.add("Add", add_body(builder, formula.body, x), builder.hold(formula.intercept))
    if formula.weights.any():
        scores = builder.add("MatMul", x, builder.hold(formula.weights.T.copy()))
    else:
        # A product with zeros would be NaN where a missing value is kept.
        first = builder.add("Slice", x, *(builder.hold(np.array([n], dtype=np.int64)) for n in (0, 1, 1)))
        nothing = builder.add("Where", builder.add("IsNaN", first), builder.hold(0.0), builder.hold(0.0))
        scores = builder.add("MatMul", nothing, builder.hold(np.zeros((1, len(formula.intercept)))))
    scores = builder.add("Add", scores, builder.hold(formula.intercept))
    if formula.trees:
        scores = builder.add("Add", scores, add_trees(builder, formula.trees, x, len(formula.shift)))
    return scores


def _add_sigmoid(builder: _Builder, scores: str) -> str:
    """Return ``1 / (1 + exp(-score))``; onnxruntime's own function has about eight digits."""
    one = builder.hold(1.0)
    return builder.add("Div", one, builder.add("Add", one, builder.add("Exp", builder.add("Neg", scores))))


def _add_link(builder: _Builder, link: str, scores: str) -> str:
    """Return the probabilities of the classes."""
    if link == "softmax":
        return builder.add("Softmax", scores, axis=1)
    if link == "sigmoid":
        positive = _add_sigmoid(builder, scores)
        return builder.add("Concat", builder.add("Sub", builder.hold(1.0), positive), positive, axis=1)
    return scores


def _add_decision(builder: _Builder, formula: Formula, shares: str) -> str:
    """Return the predicted classes, or actions."""
    if formula.costs is None:
        place = builder.add("ArgMax", shares, axis=1, keepdims=0)
    else:
        expected = builder.add("MatMul", shares, builder.hold(formula.costs.T.copy()))
        place = builder.add("ArgMin", expected, axis=1, keepdims=0)
    return builder.add("Gather", builder.hold(np.array(formula.actions, dtype=object)), place, axis=0)


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


# The largest difference of a probability or a number, relative to the largest number. Double precision leaves 1e-12;
# sums in another order may differ by more.
_TOLERANCE = 1e-6


def feed_rows(formula: Formula, frame: Any) -> dict[str, np.ndarray]:
    """Return the inputs of the graph for the rows of a frame."""
    feeds = {}
    for name, codings in list_columns(formula).items():
        if not codings:
            continue
        column, coding = frame[name], codings[0]
        if coding.kind == "category":
            texts = ["" if value is None or value != value else spell_category(value) for value in column.tolist()]
            feeds[name] = np.array(texts, dtype=object)[:, None]
        elif coding.kind == "date":
            feeds[name] = count_days(frame, name)[:, None]
        else:
            feeds[name] = column.to_numpy(dtype=float)[:, None]
    return feeds


def check_graph(graph: Any, formula: Formula, model: Any, frame: Any) -> float | None:
    """Return the largest difference between the graph and the model on some rows; None without onnxruntime.

    Raises
    ------
    DataError
        If they differ.
    """
    try:
        import onnxruntime
    except ImportError:
        return None
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    found = dict(zip([output.name for output in session.get_outputs()], session.run(None, feed_rows(formula, frame))))
    wanted = np.asarray(model.predict_proba(frame) if formula.classes else model.predict(frame), dtype=float)
    got = found["probabilities" if formula.classes else "prediction"]
    largest = float(np.abs(got - wanted).max() / max(1.0, float(np.abs(wanted).max())))
    if not largest <= _TOLERANCE:
        raise DataError(f"export: the ONNX file differs from the model by {largest:.2g}. Please report it.")
    return largest
