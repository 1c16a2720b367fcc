"""Write a fitted model as an ONNX graph in double precision."""

import json
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer.errors import DataError
from mercer.interop._onnx.writing import list_outputs, write_model
from mercer.interop.graph.builder import Builder
from mercer.interop.scores.reading import NotHeldError


def to_onnx(model: Any) -> Any:
    """Return a fitted predictor or transformer as an ONNX model in double precision.

    The input is ``X``, an array of doubles of shape (rows, columns) without names. The outputs are ``prediction``
    (numbers, or labels as texts or whole numbers), for classifiers ``probabilities`` or, without these, ``scores``;
    for transformers ``transformed``; for k-means and mixtures ``prediction``, and ``transformed`` or
    ``probabilities``. Pipelines are written step by step. Needs the extra ``mercer[onnx]``; onnxruntime reads the file
    (``model.SerializeToString()``) without mercer.

    Parameters
    ----------
    model : estimator
        Linear models, trees and their ensembles, boosting, machines and processes with common kernels, neighbours in
        the Euclidean sense, naive Bayes, discriminants, perceptrons, centres, mixtures, calibrated and combined models;
        scalers, projections, encoders of numbers, imputers, bins, bases and features of kernels.

    Returns
    -------
    graph : onnx.ModelProto
        Its metadata entry ``classes`` is the list of the classes.

    Raises
    ------
    mercer.errors.DataError
        If the model has no such form; the reason says why.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> from mercer.linear_model import LogisticRegression
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> graph = mercer.to_onnx(LogisticRegression().fit(X, X[:, 0] > 0))
    >>> [output.name for output in graph.graph.output]
    ['prediction', 'probabilities']
    """
    from onnx import TensorProto, helper

    check_is_fitted(model)
    builder = Builder()
    builder.inputs.append(helper.make_tensor_value_info("X", TensorProto.DOUBLE, [None, count_columns(model)]))
    try:
        found = write_model(builder, model, "X")
    except NotHeldError as reason:
        raise DataError(
            f"to_onnx: {type(model).__name__} cannot be written: {reason}. mercer.save keeps any model, and "
            f"mercer.to_sklearn makes scikit-learn's of those that it has."
        ) from None
    outputs = []
    for name, result in list_outputs(builder, model, found).items():
        builder.nodes.append(helper.make_node("Identity", [result.name], [name]))
        outputs.append(
            helper.make_tensor_value_info(name, result.kind, [None, result.width] if result.width else [None])
        )
    classes = [str(name) for name in model.classes_] if is_classifier(model) else []
    return builder.make_model(outputs, classes=json.dumps(classes))


def count_columns(model: Any) -> int:
    """Return the number of columns that a model takes."""
    width = getattr(model, "n_features_in_", None)
    if width is None:
        # A step that learns nothing leaves the columns to the next one.
        raise DataError(f"to_onnx: {type(model).__name__} does not say how many columns it takes; fit it anew.")
    return int(np.asarray(width))
