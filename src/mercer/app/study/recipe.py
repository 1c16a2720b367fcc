"""From a candidate to a pipeline that takes the columns of a table."""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from mercer._base.candidate import Candidate, Shape
from mercer.app.study.material import Material
from mercer.decision import DecisionClassifier
from mercer.model_selection import Contender

__all__ = ["balanced_costs", "contender_of", "encoder_for", "model_of"]


def encoder_for(material: Material, needs: tuple[str, ...] = ()) -> Any:
    """The step that makes numbers of a table's columns."""
    try:
        from mercer.preprocessing import TableEncoder
    except ImportError:
        return _stand_in(material)
    return TableEncoder(material.kinds, categories="code" if "codes" in needs else "indicator")


def _stand_in(material: Material) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    numbers = [name for name, kind in material.kinds.items() if kind == "number"]
    names = [name for name, kind in material.kinds.items() if kind == "category"]
    coded = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="?"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False, min_frequency=5),
    )
    return make_column_transformer((SimpleImputer(), numbers), (coded, names))


def balanced_costs(y: np.ndarray, classes: list[str]) -> np.ndarray:
    """Costs of errors that make every class count the same: what balanced accuracy asks for."""
    shares = np.array([(y == name).mean() for name in classes])
    return np.where(np.eye(len(classes), dtype=bool), 0.0, 1 / (len(classes) * shares))


def contender_of(candidate: Candidate, material: Material, n_columns: int, seed: int, balanced: bool) -> Contender:
    """The candidate as a pipeline over a table's columns.

    Where classes are to count the same, a decision by expected cost follows the probabilities.
    """
    shape = Shape(len(material), n_columns, len(material.classes), seed)
    model, prefix = candidate.make(shape), "model__"
    if balanced and hasattr(model, "predict_proba"):
        model, prefix = (
            DecisionClassifier(model, costs=balanced_costs(material.y, material.classes)),
            "model__estimator__",
        )
    steps = [("table", encoder_for(material, candidate.needs))]
    if "scaled" in candidate.needs:
        steps.append(("scale", StandardScaler()))
    pipeline = Pipeline([*steps, ("model", model)])
    space = {prefix + name: list(values) for name, values in candidate.space.items()}
    return Contender(candidate.name, pipeline, space, candidate.rank)


def model_of(pipeline: Any) -> Any:
    """The fitted model inside a pipeline, without the decision around it."""
    last = pipeline.steps[-1][1]
    return getattr(last, "estimator_", last)
