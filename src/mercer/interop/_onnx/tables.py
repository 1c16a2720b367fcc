"""ONNX nodes of scalers, imputers, bins, encoders of numbers and bases."""

from typing import Any

import numpy as np

from mercer.interop._onnx.writing import BOOLEAN, DOUBLE, INT64, Answers, flatten, take_columns, writes
from mercer.interop.graph.builder import Builder, add_curve
from mercer.interop.scores.reading import refuse


def _shift_and_scale(builder: Builder, x: str, shift: Any, scale: Any) -> str:
    """Return ``(x - shift) / scale``."""
    if shift is not None:
        x = builder.add("Sub", x, builder.hold(np.asarray(shift, dtype=float)))
    return x if scale is None else builder.add("Div", x, builder.hold(np.asarray(scale, dtype=float)))


@writes("StandardScaler")
def _write_standard(builder: Builder, model: Any, x: str) -> Answers:
    shift = model.mean_ if model.with_mean else None
    return Answers(transformed=_shift_and_scale(builder, x, shift, model.scale_ if model.with_std else None))


@writes("RobustScaler")
def _write_robust(builder: Builder, model: Any, x: str) -> Answers:
    shift = model.center_ if model.with_centering else None
    return Answers(transformed=_shift_and_scale(builder, x, shift, model.scale_ if model.with_scaling else None))


@writes("MaxAbsScaler")
def _write_largest(builder: Builder, model: Any, x: str) -> Answers:
    scaled = _shift_and_scale(builder, x, None, model.scale_)
    return Answers(transformed=_clip(builder, scaled, -1.0, 1.0) if getattr(model, "clip", False) else scaled)


@writes("MinMaxScaler")
def _write_range(builder: Builder, model: Any, x: str) -> Answers:
    product = builder.add("Mul", x, builder.hold(np.asarray(model.scale_, dtype=float)))
    moved = builder.add("Add", product, builder.hold(np.asarray(model.min_, dtype=float)))
    return Answers(transformed=_clip(builder, moved, *model.feature_range) if model.clip else moved)


def _clip(builder: Builder, x: str, low: float, high: float) -> str:
    return builder.add("Min", builder.add("Max", x, builder.hold(float(low))), builder.hold(float(high)))


@writes("Normalizer")
def _write_normalizer(builder: Builder, model: Any, x: str) -> Answers:
    axis, sizes = builder.hold(np.array([1], dtype=np.int64)), builder.add("Abs", x)
    if model.norm == "l1":
        norm = builder.add("ReduceSum", sizes, axis, keepdims=1)
    elif model.norm == "max":
        norm = builder.add("ReduceMax", sizes, axis, keepdims=1)
    else:
        norm = builder.add("Sqrt", builder.add("ReduceSum", builder.add("Mul", x, x), axis, keepdims=1))
    empty = builder.add("Equal", norm, builder.hold(0.0))
    return Answers(transformed=builder.add("Div", x, builder.add("Where", empty, builder.hold(1.0), norm)))


@writes("Binarizer")
def _write_binarizer(builder: Builder, model: Any, x: str) -> Answers:
    above = builder.add("Greater", x, builder.hold(float(model.threshold)))
    return Answers(transformed=builder.add("Cast", above, to=DOUBLE))


@writes("SimpleImputer")
def _write_imputer(builder: Builder, model: Any, x: str) -> Answers:
    filled = np.asarray(model.statistics_)
    if filled.dtype.kind not in "fiu":
        refuse("its columns are not numbers")
    kept = np.arange(len(filled)) if model.keep_empty_features else np.flatnonzero(~np.isnan(filled.astype(float)))
    inside = take_columns(builder, x, kept)
    missing = _find_missing(builder, inside, model.missing_values)
    values = builder.hold(np.nan_to_num(filled.astype(float))[kept])
    result = builder.add("Where", missing, values, inside)
    if model.indicator_ is not None:
        gaps = _find_missing(builder, take_columns(builder, x, model.indicator_.features_), model.missing_values)
        result = builder.add("Concat", result, builder.add("Cast", gaps, to=DOUBLE), axis=1)
    return Answers(transformed=result)


def _find_missing(builder: Builder, x: str, mark: Any) -> str:
    """Return where values are missing."""
    if isinstance(mark, float) and np.isnan(mark):
        return builder.add("IsNaN", x)
    if not isinstance(mark, int | float):
        refuse(f"missing_values={mark!r}")
    return builder.add("Equal", x, builder.hold(float(mark)))


@writes("MissingIndicator")
def _write_indicator(builder: Builder, model: Any, x: str) -> Answers:
    missing = _find_missing(builder, take_columns(builder, x, model.features_), model.missing_values)
    return Answers(transformed=builder.add("Cast", missing, to=DOUBLE))


@writes("KBinsDiscretizer")
def _write_bins(builder: Builder, model: Any, x: str) -> Answers:
    parts = []
    for column, (edges, count) in enumerate(zip(model.bin_edges_, model.n_bins_)):
        one = take_columns(builder, x, [column])
        inner = builder.hold(np.asarray(edges, dtype=float)[1:-1][None, :])
        passed = builder.add("Cast", builder.add("GreaterOrEqual", one, inner), to=INT64)
        axis = builder.hold(np.array([1], dtype=np.int64))
        if len(edges) == 2:
            place = builder.add("Cast", builder.add("Mul", one, builder.hold(0.0)), to=INT64)
        else:
            place = builder.add("ReduceSum", passed, axis, keepdims=1)
        parts.append(
            builder.add("Cast", place, to=DOUBLE)
            if model.encode == "ordinal"
            else builder.add("Gather", builder.hold(np.eye(int(count))), flatten(builder, place), axis=0)
        )
    return Answers(transformed=parts[0] if len(parts) == 1 else builder.add("Concat", *parts, axis=1))


def _match(builder: Builder, x: str, column: int, values: Any) -> str:
    """Return for each category whether a column has it, as a table of booleans."""
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "fiub":
        refuse(f"column {column} holds texts; an array of numbers is all that the graph takes")
    return builder.add("Equal", take_columns(builder, x, [column]), builder.hold(numbers.astype(float)[None, :]))


@writes("OneHotEncoder")
def _write_one_hot(builder: Builder, model: Any, x: str) -> Answers:
    if getattr(model, "_infrequent_indices", None) is not None:
        refuse("infrequent categories share a column")
    parts = []
    for column, values in enumerate(model.categories_):
        marks = builder.add("Cast", _match(builder, x, column, values), to=DOUBLE)
        dropped = None if model.drop_idx_ is None else model.drop_idx_[column]
        kept = [place for place in range(len(values)) if place != dropped]
        if kept:
            parts.append(take_columns(builder, marks, kept))
    return Answers(transformed=parts[0] if len(parts) == 1 else builder.add("Concat", *parts, axis=1))


@writes("OrdinalEncoder")
def _write_ordinal(builder: Builder, model: Any, x: str) -> Answers:
    if getattr(model, "_infrequent_indices", None) is not None:
        refuse("infrequent categories share a number")
    unknown = np.nan if model.unknown_value is None else float(model.unknown_value)
    codes = [np.arange(len(values), dtype=float) for values in model.categories_]
    return Answers(transformed=_look_up(builder, x, model.categories_, codes, [unknown] * len(codes)))


@writes("TargetEncoder")
def _write_target(builder: Builder, model: Any, x: str) -> Answers:
    if model.target_type_ == "multiclass":
        refuse("it makes a column for each class")
    given = [np.asarray(values, dtype=float) for values in model.encodings_]
    return Answers(transformed=_look_up(builder, x, model.categories_, given, [float(model.target_mean_)] * len(given)))


def _look_up(builder: Builder, x: str, categories: Any, values: Any, others: Any) -> str:
    """Return for each column the value of its category, or the value of others."""
    axis, parts = builder.hold(np.array([1], dtype=np.int64)), []
    for column, (known, numbers, other) in enumerate(zip(categories, values, others)):
        marks = builder.add("Cast", _match(builder, x, column, known), to=DOUBLE)
        product = builder.add("MatMul", marks, builder.hold(np.asarray(numbers, dtype=float)[:, None]))
        found = builder.add("ReduceMax", marks, axis, keepdims=1)
        parts.append(builder.add("Where", builder.add("Cast", found, to=BOOLEAN), product, builder.hold(float(other))))
    return parts[0] if len(parts) == 1 else builder.add("Concat", *parts, axis=1)


@writes("PolynomialFeatures")
def _write_powers(builder: Builder, model: Any, x: str) -> Answers:
    parts = []
    one = builder.add("Add", builder.add("Mul", take_columns(builder, x, [0]), builder.hold(0.0)), builder.hold(1.0))
    for exponents in np.asarray(model.powers_):
        product = ""
        for column in np.repeat(np.arange(len(exponents)), exponents):
            factor = take_columns(builder, x, [int(column)])
            product = builder.add("Mul", product, factor) if product else factor
        parts.append(product or one)
    return Answers(transformed=parts[0] if len(parts) == 1 else builder.add("Concat", *parts, axis=1))


@writes("QuantileTransformer")
def _write_quantiles(builder: Builder, model: Any, x: str) -> Answers:
    if model.output_distribution != "uniform":
        refuse("ONNX has no inverse of the normal distribution function")
    parts = []
    shares = np.asarray(model.references_, dtype=float)
    for column, values in enumerate(np.asarray(model.quantiles_, dtype=float).T):
        one = take_columns(builder, x, [column])
        if (np.diff(values) <= 0).any():
            refuse(f"column {column} has quantiles that are equal")
        parts.append(add_curve(builder, one, values, shares))
    return Answers(transformed=parts[0] if len(parts) == 1 else builder.add("Concat", *parts, axis=1))


@writes("PowerTransformer")
def _write_power(builder: Builder, model: Any, x: str) -> Answers:
    parts = []
    for column, power in enumerate(np.asarray(model.lambdas_, dtype=float)):
        one = take_columns(builder, x, [column])
        made = _add_box_cox(builder, one, power) if model.method == "box-cox" else _add_yeo_johnson(builder, one, power)
        parts.append(made)
    joined = parts[0] if len(parts) == 1 else builder.add("Concat", *parts, axis=1)
    if not model.standardize:
        return Answers(transformed=joined)
    return Answers(transformed=_shift_and_scale(builder, joined, model._means, model._deviations))


def _add_box_cox(builder: Builder, x: str, power: float) -> str:
    """Return ``(x^power - 1) / power``, or the logarithm for the power zero."""
    if power == 0.0:
        return builder.add("Log", x)
    raised = builder.add("Sub", builder.add("Pow", x, builder.hold(power)), builder.hold(1.0))
    return builder.add("Div", raised, builder.hold(power))


def _add_yeo_johnson(builder: Builder, x: str, power: float) -> str:
    """Return Box and Cox's function of x + 1 above zero, and its reflection with the power 2 - `power` below."""
    zero, one = builder.hold(0.0), builder.hold(1.0)
    above = _add_box_cox(builder, builder.add("Add", builder.add("Max", x, zero), one), power)
    below = _add_box_cox(builder, builder.add("Add", builder.add("Neg", builder.add("Min", x, zero)), one), 2.0 - power)
    return builder.add("Sub", above, below)


# Functions of one number, and the operators that compute them.
_OPERATORS = {"log": "Log", "exp": "Exp", "sqrt": "Sqrt", "absolute": "Abs", "negative": "Neg", "tanh": "Tanh"}


@writes("FunctionTransformer")
def _write_function(builder: Builder, model: Any, x: str) -> Answers:
    if model.func is None:
        return Answers(transformed=builder.add("Identity", x))
    name = getattr(model.func, "__name__", "")
    if model.kw_args or getattr(np, name, None) is not model.func:
        refuse("it applies a function of Python's")
    if name == "log1p":
        return Answers(transformed=builder.add("Log", builder.add("Add", x, builder.hold(1.0))))
    if name == "square":
        return Answers(transformed=builder.add("Mul", x, x))
    if name not in _OPERATORS:
        refuse(f"ONNX has no operator for numpy.{name} here")
    return Answers(transformed=builder.add(_OPERATORS[name], x))
