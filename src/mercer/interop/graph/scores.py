"""Write the scores of a model as nodes of an ONNX graph."""

from typing import Any

import numpy as np

from mercer.interop.graph.bodies import add_body
from mercer.interop.graph.builder import Builder, add_trees


def add_scores(builder: Builder, model: Any, x: str) -> str:
    """Return the scores of the rows `x`.

    `model` has the intercept, the weights, the trees and the body of `Scores`, or of the formula of a study.
    """
    if model.body is not None:
        return builder.add("Add", add_body(builder, model.body, x), builder.hold(model.intercept))
    if model.weights.any():
        scores = builder.add("MatMul", x, builder.hold(model.weights.T.copy()))
    else:
        # A product with zeros would be NaN where a missing value is kept.
        first = builder.add("Slice", x, *(builder.hold(np.array([n], dtype=np.int64)) for n in (0, 1, 1)))
        nothing = builder.add("Where", builder.add("IsNaN", first), builder.hold(0.0), builder.hold(0.0))
        scores = builder.add("MatMul", nothing, builder.hold(np.zeros((1, len(model.intercept)))))
    scores = builder.add("Add", scores, builder.hold(model.intercept))
    if model.trees:
        scores = builder.add("Add", scores, add_trees(builder, model.trees, x, model.weights.shape[1]))
    return scores
