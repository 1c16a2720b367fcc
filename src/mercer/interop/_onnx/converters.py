"""Converters that skl2onnx calls for models of mercer inside pipelines of scikit-learn."""

import importlib
import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from mercer._families import FAMILIES
from mercer.interop._onnx.writing import DOUBLE, INT64, TEXT, list_outputs, write_model
from mercer.interop.graph.builder import OPSET, Builder

# The name of each class in graphs, before its own.
_ALIAS = "Mercer"
# Version of the operators for models that skl2onnx writes; trees add up in single precision there.
_ML_OPSET = 3
# Registered once in a process.
_DONE: set[type] = set()


def register_onnx_converters() -> int:
    """Register a converter of each estimator class with skl2onnx, and return how many classes that are.

    ``skl2onnx.to_onnx`` and ``convert_sklearn`` then take pipelines in which some steps are mercer's. Graphs need the
    operators of version 19: pass ``target_opset=19`` or more. A model that has no form in ONNX raises an error when it
    is converted. Converters compute in double precision, but sums over trees, which have seven digits;
    :func:`mercer.to_onnx` writes these in double precision too. Results have the type of the input.
    """
    from skl2onnx import update_registered_converter

    for kind in _list_classes():
        if kind not in _DONE:
            update_registered_converter(
                kind, _ALIAS + kind.__name__, _set_shapes, _convert, overwrite=True, options=_list_options(kind)
            )
            _DONE.add(kind)
    return len(_DONE)


def _list_classes() -> list[type]:
    """Return the public estimator classes of all families."""
    found = set()
    for family in FAMILIES:
        package = importlib.import_module(f"mercer.{family}")
        for name in package.__all__:
            thing = getattr(package, name)
            own = inspect.isclass(thing) and thing.__module__.startswith("mercer.")
            # A pipeline does not say by its class what skl2onnx asks: whether it has probabilities.
            if own and issubclass(thing, BaseEstimator) and name != "Pipeline":
                found.add(thing)
    return sorted(found, key=lambda kind: kind.__name__)


def _list_options(kind: type) -> dict[str, list[Any]]:
    """Return the options that skl2onnx asks a classifier for."""
    if not hasattr(kind, "predict_proba"):
        return {}
    return {"zipmap": [True, False, "columns"], "nocl": [True, False], "output_class_labels": [False, True]}


def _set_shapes(operator: Any) -> None:
    """Set the types of the results: labels, and arrays of the type of the input."""
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType, guess_tensor_type

    kind = type(guess_tensor_type(operator.inputs[0].type))
    for place, output in enumerate(operator.outputs):
        if place == 0 and is_classifier(operator.raw_operator):
            texts = np.asarray(operator.raw_operator.classes_).dtype.kind in "OUS"
            output.type = (StringTensorType if texts else Int64TensorType)([None])
            continue
        output.type = kind([None, None])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a model to the graph of skl2onnx."""
    from onnx import TensorProto, helper
    from skl2onnx.common.data_types import DoubleTensorType

    model = operator.raw_operator
    builder = Builder(scope.get_unique_operator_name(_ALIAS.lower()) + "_", _ML_OPSET)
    x = builder.add("Cast", operator.inputs[0].full_name, to=DOUBLE)
    found = list_outputs(builder, model, write_model(builder, model, x))
    order = ["prediction", "probabilities", "scores"] if hasattr(model, "predict") else ["transformed"]
    results = [found[name] for name in order if name in found] or list(found.values())
    double = isinstance(operator.inputs[0].type, DoubleTensorType)
    for place, (result, output) in enumerate(zip(results, operator.outputs)):
        kind = result.kind
        if kind == DOUBLE and not (place == 0 and is_classifier(model)):
            kind = DOUBLE if double else TensorProto.FLOAT
        name = result.name
        if not result.width and kind not in (INT64, TEXT):
            # skl2onnx's vectors of numbers are columns.
            name = builder.add("Reshape", name, builder.hold(np.array([-1, 1], dtype=np.int64)))
        if kind == TEXT:
            builder.nodes.append(helper.make_node("Identity", [name], [output.full_name]))
        else:
            builder.nodes.append(helper.make_node("Cast", [name], [output.full_name], to=kind))
    for node in builder.nodes:
        container.add_node(
            node.op_type,
            list(node.input),
            list(node.output),
            op_domain=node.domain,
            op_version=_ML_OPSET if node.domain else OPSET,
            name=scope.get_unique_operator_name(node.op_type),
            **{one.name: helper.get_attribute_value(one) for one in node.attribute},
        )
    for tensor in builder.constants:
        container.initializers.append(tensor)
