"""Write a model as an ONNX graph, in double precision. Needs the extra: ``pip install mercer[onnx]``.

Each column is an input of shape (rows, 1): numbers and days since the start of 1970 as doubles, with NaN for missing
ones; categories as texts, with an empty text for missing ones. The outputs are `prediction` and, for classes,
`probabilities`, in the order of the metadata entry `classes`.
"""

import json
from typing import Any

import numpy as np

from mercer.app.deploy.formula import CYCLES, Calibration, Formula, list_codes
from mercer.app.deploy.trial_rows import count_days, list_columns, spell_category
from mercer.errors import DataError
from mercer.interop.graph.builder import Builder, add_curve, add_link, add_sigmoid
from mercer.interop.graph.scores import add_scores


def make_graph(formula: Formula) -> Any:
    """Return the ONNX model of a formula; its ``SerializeToString`` is the file."""
    from onnx import TensorProto, helper

    builder = Builder()
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
    return builder.make_model(outputs, classes=json.dumps(formula.classes), columns=json.dumps(formula.names))


def _add_model(builder: Builder, formula: Formula) -> str:
    """Return the scores of one model: its columns encoded and scaled, then the model."""
    encoded = [
        part
        for name, coding in zip(formula.names, formula.codings)
        if coding is not None
        for part in _encode(builder, name, coding)
    ]
    x = encoded[0] if len(encoded) == 1 else builder.add("Concat", *encoded, axis=1)
    x = builder.add("Div", builder.add("Sub", x, builder.hold(formula.shift)), builder.hold(formula.scale))
    return add_scores(builder, formula, x)


def _add_number(builder: Builder, formula: Formula) -> str:
    """Return the predicted numbers of one model, of shape (rows,)."""
    flat = builder.add("Reshape", _add_model(builder, formula), builder.hold(np.array([-1], dtype=np.int64)))
    power = formula.power
    if power is None:
        return flat
    logs = builder.add("Add", builder.hold(power.offset), builder.add("Mul", builder.hold(power.factor), flat))
    near = builder.add("Clip", logs, builder.hold(power.low), builder.hold(power.high))
    return builder.add("Exp", near) if power.log else near


def _add_mean(builder: Builder, parts: list[tuple[float, str]]) -> str:
    """Return the weighted sum of predictions; the only one as it is."""
    if len(parts) == 1:
        return parts[0][1]
    scaled = [builder.add("Mul", name, builder.hold(part)) for part, name in parts]
    return builder.add("Sum", *scaled)


def _add_shares(builder: Builder, formula: Formula) -> str:
    """Return the probabilities of the classes."""
    if formula.members:
        parts = [(part, _add_shares(builder, member)) for part, member in formula.members]
        scores = shares = _add_mean(builder, parts)
    else:
        scores = _add_model(builder, formula)
        shares = add_link(builder, formula.link, scores)
    if formula.calibration is None:
        return shares
    return _add_calibration(builder, formula.calibration, scores, shares, formula.link == "sigmoid")


def _add_calibration(builder: Builder, calibration: Calibration, scores: str, shares: str, single: bool) -> str:
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
        positive = add_sigmoid(builder, builder.add("Sub", given, builder.hold(calibration.b)))
    else:
        positive = add_curve(builder, given, *calibration.points)
    return builder.add("Concat", builder.add("Sub", builder.hold(1.0), positive), positive, axis=1)


def _encode(builder: Builder, name: str, coding: Any) -> list[str]:
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


def _encode_category(builder: Builder, x: str, coding: Any) -> str:
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


def _add_decision(builder: Builder, formula: Formula, shares: str) -> str:
    """Return the predicted classes, or actions."""
    if formula.costs is None:
        place = builder.add("ArgMax", shares, axis=1, keepdims=0)
    else:
        expected = builder.add("MatMul", shares, builder.hold(formula.costs.T.copy()))
        place = builder.add("ArgMin", expected, axis=1, keepdims=0)
    return builder.add("Gather", builder.hold(np.array(formula.actions, dtype=object)), place, axis=0)


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
