"""What each column contributes to one prediction, compared with the average row: Shapley values.

They are exact for a model that is a sum of effects of its columns, on the scale on which it is one, and for few columns
and rows; for all others they are drawn, with standard errors. They sum to the answer less the mean answer to the rows
that it is compared with.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from mercer.app.schema import predict_columns
from mercer.decision import DecisionClassifier
from mercer.explain import ShapleyValues, shapley


@dataclass(frozen=True)
class Attribution:
    """The contributions of the columns to one prediction."""

    prediction: str
    scale: str  # what the numbers are: "probability of `yes`", "predicted value"
    value: float
    average: float
    shares: dict[str, float]
    errors: dict[str, float]  # standard errors; zero if the contributions are exact
    exact: bool


def attribute(model: Any, row: Any, background: Any, seed: int = 0) -> Attribution:
    """Return the contributions to the prediction of `row`, a frame of one row, compared with rows of `background`."""
    prediction = str(next(iter(predict_columns(model, row).values()))[0])
    # The answers of the model inside a decision by cost are explained, not the decision.
    if isinstance(model[-1], DecisionClassifier):
        model = Pipeline([*model.steps[:-1], ("model", model[-1].estimator_)])
    if is_classifier(model):
        # Scores of two classes are one number; of several classes the probability of one says more.
        output = "auto" if len(model.classes_) == 2 or not hasattr(model, "predict_proba") else "probability"
        found, scale = _choose_class(
            shapley(model, row, background, output=output, random_state=seed), model, row, prediction
        )
    elif is_regressor(model):
        found, scale = shapley(model, row, background, random_state=seed), "predicted value"
    else:
        here = np.asarray(model.predict(row))[0]
        found = shapley(lambda rows: np.asarray(model.predict(rows)) == here, row, background, random_state=seed)
        scale = f"membership of group {here + 1}"
    names = [str(name) for name in row.columns]
    errors = np.zeros(len(names)) if found.errors is None else found.errors[0]
    return Attribution(
        prediction,
        scale,
        float(found.predictions[0]),
        float(found.base_values[0]),
        dict(zip(names, found.values[0].tolist())),
        dict(zip(names, errors.tolist())),
        found.errors is None,
    )


def _choose_class(found: ShapleyValues, model: Any, row: Any, prediction: str) -> tuple[ShapleyValues, str]:
    """Return the values of one answer of a classifier, and its name: a score, or that of the predicted class."""
    if found.base_values.ndim == 1:
        kind = "log-odds" if type(model[-1]).__name__.startswith("Logistic") else "score"
        return found, f"{kind} of `{model.classes_[1]}`"
    predicted = np.flatnonzero(np.asarray(model.classes_).astype(str) == prediction)
    # A decision by cost may predict an action that is not a class.
    place = int(predicted[0]) if len(predicted) else int(np.argmax(found.predictions[0]))
    label = model.classes_[place]
    return found.select_output(label), f"{found.output} of `{label}`"
