"""What each column contributes to one prediction, compared with the average row.

For a model that is linear in the encoded columns the contribution of a column is exact: the sum over its encoded
columns of the coefficient times the difference from the mean. For any other model it is a Shapley value: columns change
one by one from the values of another row to those of this row, and the contribution is the change of the prediction,
averaged over orders of the columns and over other rows. Both are drawn at random; each order is used forwards and
backwards, and the spread over the draws gives the standard error. The contributions sum to the prediction less the mean
prediction of the drawn rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_clusterer, is_regressor

from mercer.app.schema import predict_columns
from mercer.decision import DecisionClassifier

# Pairs of orders. The standard error of a contribution is at most its range over the square root of twice this.
_PAIRS = 100


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
    names = [str(name) for name in row.columns]
    prediction = str(next(iter(predict_columns(model, row).values()))[0])
    linear = _find_linear_parts(model)
    if linear is not None:
        return _attribute_exactly(model, linear, row, background, prediction)
    outcome, scale = _choose_outcome(model, row)
    rng = np.random.default_rng(seed)
    drawn = background.iloc[rng.integers(0, len(background), _PAIRS)]
    orders = np.array([rng.permutation(len(names)) for _ in range(_PAIRS)])
    forwards = _measure_steps(outcome, row, drawn, orders)
    backwards = _measure_steps(outcome, row, drawn, orders[:, ::-1])
    pairs = (forwards + backwards) / 2
    shares, errors = pairs.mean(axis=0), pairs.std(axis=0, ddof=1) / np.sqrt(_PAIRS)
    value = float(outcome(row)[0])
    return Attribution(
        prediction,
        scale,
        value,
        value - float(shares.sum()),
        dict(zip(names, shares.tolist())),
        dict(zip(names, errors.tolist())),
        False,
    )


def _choose_outcome(model: Any, row: Any) -> tuple[Callable[[Any], np.ndarray], str]:
    """Return the function to explain and its name: the probability of the predicted class, the value, or the group."""
    if is_classifier(model) and hasattr(model, "predict_proba"):
        predicted = np.flatnonzero(model.classes_ == np.asarray(model.predict(row))[0])
        # A decision by cost may predict an action that is not a class.
        place = int(predicted[0]) if len(predicted) else int(np.argmax(model.predict_proba(row)[0]))
        return lambda rows: model.predict_proba(rows)[:, place], f"probability of `{model.classes_[place]}`"
    if is_clusterer(model[-1]) or not is_regressor(model):
        here = np.asarray(model.predict(row))[0]
        return lambda rows: (np.asarray(model.predict(rows)) == here).astype(float), f"membership of group {here + 1}"
    return lambda rows: np.asarray(model.predict(rows), dtype=float), "predicted value"


def _measure_steps(outcome: Callable[[Any], np.ndarray], row: Any, drawn: Any, orders: np.ndarray) -> np.ndarray:
    """Return for each order and column the change of the outcome when the column takes the value of `row`."""
    import pandas

    n_orders, n_columns = orders.shape
    # Row k of order i has the first k columns of that order from the row, the others from the drawn row.
    rank = np.argsort(orders, axis=1)
    taken = (np.arange(n_columns + 1)[None, :, None] > rank[:, None, :]).reshape(-1, n_columns)
    mixed = {}
    for place, name in enumerate(row.columns):
        others = drawn[name].repeat(n_columns + 1).reset_index(drop=True)
        mixed[name] = others.mask(pandas.Series(taken[:, place]), row[name].iloc[0])
        mixed[name] = mixed[name].astype(row[name].dtype) if row[name].dtype.kind in "ib" else mixed[name]
    values = outcome(pandas.DataFrame(mixed)).reshape(n_orders, n_columns + 1)
    steps = np.empty(orders.shape)
    np.put_along_axis(steps, orders, np.diff(values, axis=1), axis=1)
    return steps


def _find_linear_parts(model: Any) -> tuple[Any, Any, np.ndarray] | None:
    """Return encoder, scaling steps and coefficients of a linear model with one output; None for other models."""
    from mercer.preprocessing import TableEncoder

    steps = [step for _, step in model.steps]
    last = _unwrap_decision(steps[-1])
    coefficients = getattr(last, "coef_", None)
    if not isinstance(steps[0], TableEncoder) or coefficients is None or hasattr(last, "dual_coef_"):
        return None
    # A scaler is the only step in between that keeps the encoded columns apart.
    between = steps[1:-1]
    if any(type(step).__name__ != "StandardScaler" for step in between):
        return None
    weights = np.atleast_2d(np.asarray(coefficients, dtype=float))
    width = len(steps[0].feature_columns_)
    if weights.shape != (1, width) or not (hasattr(last, "decision_function") or hasattr(last, "intercept_")):
        return None
    return steps[0], between, weights[0]


def _unwrap_decision(model: Any) -> Any:
    """Return the fitted model inside a decision rule; any other model is returned as it is."""
    return model.estimator_ if isinstance(model, DecisionClassifier) else model


def _attribute_exactly(
    model: Any, parts: tuple[Any, Any, np.ndarray], row: Any, background: Any, prediction: str
) -> Attribution:
    """Return the contributions to a linear prediction: coefficient times difference from the mean."""
    encoder, between, weights = parts

    def scale_rows(rows: Any) -> np.ndarray:
        values = encoder.transform(rows)
        for step in between:
            values = step.transform(values)
        return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=float)

    last = _unwrap_decision(model.steps[-1][1])
    intercept = float(np.ravel(last.intercept_)[0])
    here, mean = scale_rows(row)[0], scale_rows(background).mean(axis=0)
    parts_of = np.bincount(encoder.feature_columns_, weights * (here - mean), minlength=row.shape[1])
    names = [str(name) for name in row.columns]
    positive = f"score of `{model.classes_[1]}`" if is_classifier(model) else "predicted value"
    logistic = is_classifier(model) and type(last).__name__.startswith("Logistic")
    scale = f"log-odds of `{model.classes_[1]}`" if logistic else positive
    return Attribution(
        prediction,
        scale,
        float(weights @ here) + intercept,
        float(weights @ mean) + intercept,
        dict(zip(names, parts_of.tolist())),
        dict.fromkeys(names, 0.0),
        True,
    )
