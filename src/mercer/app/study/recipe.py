"""From a candidate to a pipeline that takes the columns of a table."""

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.pipeline import Pipeline

from mercer._base.candidate import Candidate, Shape
from mercer.app.study.material import Material
from mercer.decision import DecisionClassifier
from mercer.model_selection import Contender
from mercer.preprocessing import StandardScaler, TableEncoder

__all__ = ["balanced_costs", "contender_of", "encoder_for", "model_of", "shape_of"]

# Columns up to which rows are held densely whatever they hold: centred columns fit better.
_MOST_DENSE = 500


def encoder_for(material: Material, needs: tuple[str, ...] = (), n_columns: int = 0) -> Any:
    """The step that makes numbers of a table's columns."""
    dates = {name: f"date {form}" for name, form in material.forms.items() if material.kinds.get(name) == "date"}
    return TableEncoder(
        material.kinds | dates,
        categories="code" if "codes" in needs else "indicator",
        missing="keep" if "missing" in needs else "indicator",
        sparse_output="auto" if n_columns > _MOST_DENSE and "dense" not in needs else False,
    )


def balanced_costs(y: np.ndarray, classes: list[str]) -> np.ndarray:
    """Costs of errors that make every class count the same: what balanced accuracy asks for."""
    shares = np.array([(y == name).mean() for name in classes])
    return np.where(np.eye(len(classes), dtype=bool), 0.0, 1 / (len(classes) * shares))


def shape_of(material: Material, n_columns: int, seed: int) -> Shape:
    """What a candidate is told of the table."""
    spread = float(np.std(material.y)) if material.task == "regression" else 1.0
    return Shape(len(material), n_columns, len(material.classes), seed, spread or 1.0)


def contender_of(candidate: Candidate, material: Material, n_columns: int, seed: int, balanced: bool) -> Contender:
    """The candidate as a pipeline over a table's columns.

    Where classes are to count the same, a decision by expected cost follows the probabilities.
    """
    shape = shape_of(material, n_columns, seed)
    model, prefix = candidate.make(shape), "model__"
    if balanced and hasattr(model, "predict_proba"):
        model, prefix = (
            DecisionClassifier(model, costs=balanced_costs(material.y, material.classes)),
            "model__estimator__",
        )
    encoder = encoder_for(material, candidate.needs, n_columns)
    steps = [("table", encoder)]
    if "scaled" in candidate.needs:
        steps.append(("scale", StandardScaler(with_mean=encoder.sparse_output is False)))
    pipeline = Pipeline([*steps, ("model", model)])
    space = {prefix + name: values for name, values in candidate.settings(shape).items()}
    return Contender(candidate.name, pipeline, space, candidate.rank)


def model_of(pipeline: Any) -> Any:
    """Return the fitted model inside a pipeline, without the decision rule and the calibration around it.

    Only these two wrappers are removed: forests have an attribute ``estimator_`` too, which is an unfitted template.
    """
    model = pipeline.steps[-1][1]
    if isinstance(model, DecisionClassifier):
        model = model.estimator_
    if isinstance(model, CalibratedClassifierCV):
        model = model.calibrated_classifiers_[0].estimator
    return model
