"""From a fitted model to the nodes of its answers: which writer knows it, and what it returns."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from mercer.interop.graph.builder import Builder, add_link
from mercer.interop.graph.scores import add_scores
from mercer.interop.scores.bodies import read_body
from mercer.interop.scores.reading import Tree, read_model, refuse

# The numbers that ONNX gives types: doubles.
DOUBLE = 11
# Whole numbers of 64 bits.
INT64 = 7
# Texts.
TEXT = 8
# Truth values.
BOOLEAN = 9


@dataclass(frozen=True)
class Answers:
    """The names of results, empty where a model has none of the kind."""

    numbers: str = ""  # (rows, outputs)
    probabilities: str = ""  # (rows, classes)
    scores: str = ""  # (rows, classes), or (rows, 1) for two classes
    places: str = ""  # (rows,), of the predicted class, where that is not the most probable one
    labels: str = ""  # (rows,), whole numbers
    transformed: str = ""  # (rows, columns)


_WRITERS: dict[str, Callable[[Builder, Any, str], Answers]] = {}
_MODULES = ("ensembles", "predictors", "projections", "tables")


@dataclass(frozen=True)
class Scores:
    """Scores as weighted sums, sums over trees or a body, with the names of a study's formula."""

    intercept: np.ndarray
    weights: np.ndarray
    link: str
    trees: list[Tree]
    body: Any


@dataclass(frozen=True)
class Output:
    """A result: its name, its type in ONNX, and its columns, 0 for a vector."""

    name: str
    kind: int
    width: int


def writes(*names: str) -> Callable[[Any], Any]:
    """Register the writer of classes."""

    def register(function: Any) -> Any:
        _WRITERS.update(dict.fromkeys(names, function))
        return function

    return register


def find_writer(model: Any) -> Callable[[Builder, Any, str], Answers] | None:
    """Return the writer of a model's class, or of one that it derives from."""
    for module in _MODULES:
        importlib.import_module(f"mercer.interop._onnx.{module}")
    return next((_WRITERS[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in _WRITERS), None)


def write_model(builder: Builder, model: Any, x: str) -> Answers:
    """Add the nodes of a model for the rows `x`, and return the names of its answers."""
    writer = find_writer(model)
    if writer is not None:
        return writer(builder, model, x)
    if is_classifier(model) or is_regressor(model):
        return write_scores(builder, model, x)
    refuse(f"no writer knows the class {type(model).__name__}")


def read_scores(model: Any) -> Scores:
    """Return the scores of a model that is a weighted sum, trees or a body."""
    classes = [str(name) for name in model.classes_] if is_classifier(model) else []
    found, width = read_body(model, classes), model.n_features_in_
    if found is not None:
        link, intercept, body = found
        return Scores(intercept, np.zeros((len(intercept), width)), link, [], body)
    link, intercept, weights, trees = read_model(model, width, classes)
    return Scores(intercept, weights, link, trees, None)


def write_scores(builder: Builder, model: Any, x: str) -> Answers:
    """Write a predictor by its scores."""
    scores = read_scores(model)
    found = add_scores(builder, scores, x)
    if not is_classifier(model):
        return Answers(numbers=found)
    return Answers(probabilities=add_link(builder, scores.link, found))


def add_affine(builder: Builder, x: str, weights: np.ndarray, shift: np.ndarray | float = 0.0) -> str:
    """Return ``x @ weights.T + shift``."""
    weights = np.atleast_2d(np.asarray(weights, dtype=float))
    product = builder.add("MatMul", x, builder.hold(np.ascontiguousarray(weights.T)))
    if not np.any(shift):
        return product
    return builder.add("Add", product, builder.hold(np.asarray(shift, dtype=float)))


def take_columns(builder: Builder, x: str, columns: Any) -> str:
    """Return some columns."""
    return builder.add("Gather", x, builder.hold(np.asarray(columns, dtype=np.int64)), axis=1)


def flatten(builder: Builder, name: str) -> str:
    """Return a column as a vector."""
    return builder.add("Reshape", name, builder.hold(np.array([-1], dtype=np.int64)))


def as_column(builder: Builder, name: str) -> str:
    """Return a vector as a column."""
    return builder.add("Reshape", name, builder.hold(np.array([-1, 1], dtype=np.int64)))


def add_labels(builder: Builder, classes: Any, place: str) -> tuple[str, int]:
    """Return the classes at some places, and their type."""
    names = np.asarray(classes)
    if names.dtype.kind in "iub":
        return builder.add("Gather", builder.hold(names.astype(np.int64)), place, axis=0), INT64
    if names.dtype.kind == "f":
        return builder.add("Gather", builder.hold(names.astype(float)), place, axis=0), DOUBLE
    return builder.add("Gather", builder.hold(names.astype(object)), place, axis=0), TEXT


def find_place(builder: Builder, model: Any, answers: Answers) -> str:
    """Return the place of the predicted class."""
    if answers.places:
        return answers.places
    if answers.probabilities or len(model.classes_) > 2:
        return builder.add("ArgMax", answers.probabilities or answers.scores, axis=1, keepdims=0)
    above = builder.add("Greater", flatten(builder, answers.scores), builder.hold(0.0))
    return builder.add("Cast", above, to=INT64)


def list_outputs(builder: Builder, model: Any, answers: Answers) -> dict[str, Output]:
    """Return the outputs of a graph by name."""
    outputs: dict[str, Output] = {}
    probe = np.zeros((1, model.n_features_in_))
    if is_classifier(model):
        if isinstance(model.classes_, list):
            refuse("it predicts several labels at a time")
        name, kind = add_labels(builder, model.classes_, find_place(builder, model, answers))
        outputs["prediction"] = Output(name, kind, 0)
    elif answers.labels:
        outputs["prediction"] = Output(answers.labels, INT64, 0)
    elif answers.numbers:
        one = np.ndim(model.predict(probe)) == 1
        name = flatten(builder, answers.numbers) if one else answers.numbers
        outputs["prediction"] = Output(name, DOUBLE, 0 if one else int(np.size(model.predict(probe))))
    if answers.probabilities:
        width = len(model.classes_) if is_classifier(model) else int(model.predict_proba(probe).shape[1])
        outputs["probabilities"] = Output(answers.probabilities, DOUBLE, width)
    elif answers.scores:
        one = not is_classifier(model) or len(model.classes_) == 2
        name = flatten(builder, answers.scores) if one else answers.scores
        outputs["scores"] = Output(name, DOUBLE, 0 if one else len(model.classes_))
    if answers.transformed:
        outputs["transformed"] = Output(answers.transformed, DOUBLE, int(np.shape(model.transform(probe))[1]))
    return outputs
