"""Turn a candidate into a pipeline that takes the columns of a table."""

from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from mercer._base.candidate import Candidate, Shape
from mercer.app.study.choice.constraints import list_directions
from mercer.app.study.dataset import Dataset
from mercer.calibration import CalibratedClassifierCV
from mercer.decision import DecisionClassifier
from mercer.model_selection import Contender
from mercer.preprocessing import StandardScaler, TableEncoder

# Predictions of a skewed target, or of its logarithm, go beyond its values by at most this share of their range.
_MARGIN = 0.25
# Up to this many columns rows are dense, even if most entries are zero: centred columns fit better.
_MOST_DENSE = 500
# Words of a text column, the most frequent ones; rows with that many columns can still be dense.
_MOST_WORDS = 300
# Categories of a column, the most frequent ones, at least and at most, and rows of the table for each: of 144 countries
# with 21 rows each, 30 in columns of their own gave a skill of 0.37 on later years, and all of them 1.
_FEWEST_CATEGORIES = 30
_MOST_CATEGORIES = 254
_ROWS_OF_A_CATEGORY = 20
# Skewness of a target from which on its logarithm is tried; an exponential distribution has 2.
_LEAST_SKEWNESS = 1.5
# Rows from which on the skewness says something.
_FEWEST_ROWS = 50


def make_encoder(dataset: Dataset, needs: tuple[str, ...] = (), n_columns: int = 0, marked: bool = True) -> Any:
    """Return the step that turns the columns of a table into numbers, for a model with such `needs`.

    Gaps are `marked` by a column of zeros and ones. Where distances count it must not be: scaled to variance one, the
    mark of two gaps in 300 rows is larger than anything else in these rows.
    """
    # How dates and numbers are written in texts, so that the model takes the table as it is.
    written = {
        name: f"{dataset.kinds[name]} {form}"
        for name, form in dataset.forms.items()
        if dataset.kinds.get(name) in ("date", "number")
    }
    # A model with constraints takes one direction for each encoded column, so that each column must give one number.
    constrained = bool(dataset.directions) and "codes" in needs
    return TableEncoder(
        dataset.kinds | written,
        categories="code" if "codes" in needs else "indicator",
        max_categories=int(np.clip(len(dataset) // _ROWS_OF_A_CATEGORY, _FEWEST_CATEGORIES, _MOST_CATEGORIES)),
        missing="keep" if "missing" in needs else "indicator" if marked else "fill",
        dates=not constrained,
        texts=0 if constrained else _MOST_WORDS,
        text_values="tfidf",
        sparse_output="auto" if n_columns > _MOST_DENSE and "dense" not in needs else False,
        # A study counts new categories itself, and a fold may have some that no other has.
        handle_unknown="ignore",
    )


def choose_costs(dataset: Dataset, scorer: str, threshold: float | None) -> Any:
    """Return the costs by which classes are predicted from probabilities; None predicts the most probable one."""
    if threshold is not None and dataset.positive is not None:
        return make_threshold_costs(dataset.classes, dataset.positive, threshold)
    return "balanced" if scorer == "balanced_accuracy" else None


def make_balanced_costs(y: np.ndarray, classes: list[str]) -> np.ndarray:
    """Return costs that give every class the same total weight, as balanced accuracy does."""
    shares = np.array([(y == name).mean() for name in classes])
    return np.where(np.eye(len(classes), dtype=bool), 0.0, 1 / (len(classes) * shares))


def make_threshold_costs(classes: list[str], positive: str, threshold: float) -> np.ndarray:
    """Return costs by which the positive class is predicted from a probability of `threshold` on."""
    place = classes.index(positive)
    costs = np.zeros((2, 2))
    # A false alarm weighs t and a miss 1 - t, so that both are expected to cost the same at the probability t.
    costs[place, 1 - place] = threshold
    costs[1 - place, place] = 1 - threshold
    return costs


def describe_shape(dataset: Dataset, n_columns: int, seed: int) -> Shape:
    """Return what a candidate needs to know about the table."""
    spread = float(np.std(dataset.y)) if dataset.task == "regression" else 1.0
    return Shape(len(dataset), n_columns, len(dataset.classes), seed, spread or 1.0)


def make_contender(
    candidate: Candidate,
    dataset: Dataset,
    n_columns: int,
    seed: int,
    costs: Any,
    grids: list[dict[str, list[Any]]] | None = None,
) -> Contender:
    """Return the candidate as a pipeline over the columns of a table.

    With `costs`, a matrix or "balanced", a decision by expected cost follows the probabilities. `grids` are settings to
    try instead of the candidate's own.
    """
    shape = describe_shape(dataset, n_columns, seed)
    model, prefix = candidate.make(shape), "model__"
    if candidate.rank > 0 and dataset.directions:
        model = model.set_params(monotonic_cst=list_directions(dataset))
    transforms: dict[str, Any] = {}
    if candidate.rank > 0 and is_skewed(dataset):
        # Inner folds choose between the target and its logarithm, as they choose other settings.
        model, prefix = TransformedTargetRegressor(model, check_inverse=False), "model__regressor__"
        transforms = {"model__transformer": [make_range_transformer(dataset.y), make_log_transformer(dataset.y)]}
    if costs is not None and hasattr(model, "predict_proba"):
        # Balanced costs come from the training rows of each fold, which may lack a class.
        model, prefix = DecisionClassifier(model, costs=costs), "model__estimator__"
    encoder = make_encoder(dataset, candidate.needs, n_columns)
    steps = [("table", encoder)]
    if "scaled" in candidate.needs:
        steps.append(("scale", StandardScaler(with_mean=encoder.sparse_output is False)))
    pipeline = Pipeline([*steps, ("model", model)])
    grids = candidate.list_grids(shape) if grids is None else grids
    space = [{prefix + name: values for name, values in grid.items()} | transforms for grid in grids]
    return Contender(candidate.name, pipeline, space, candidate.rank)


def make_range_transformer(y: np.ndarray) -> Pipeline:
    """Return the transformer that keeps predictions of a target near its values `y`, and changes nothing else."""
    return Pipeline([("range", _make_limits(y))])


def _make_limits(values: np.ndarray) -> FunctionTransformer:
    """Return the transformer that keeps predictions near these values."""
    margin = _MARGIN * float(np.ptp(values))
    near = {"a_min": float(values.min()) - margin, "a_max": float(values.max()) + margin}
    return FunctionTransformer(None, np.clip, inv_kw_args=near, check_inverse=False)


def make_log_transformer(y: np.ndarray) -> Pipeline:
    """Return the transformer of a skewed target `y`: its logarithm, with the spread of the target itself.

    Some settings of candidates follow from the spread. On the way back, predictions are kept near the values of the
    target: a row far outside the others would get a price of 1e20 by a linear model of the logarithm.
    """
    logs = np.log(y)
    steps = [
        ("log", FunctionTransformer(np.log, np.exp, check_inverse=False)),
        ("range", _make_limits(logs)),
        ("spread", MinMaxScaler((0.0, float(np.std(y) / np.std(logs) * np.ptp(logs))))),
    ]
    return Pipeline(steps)


def is_skewed(dataset: Dataset) -> bool:
    """Return whether the logarithm of the target is worth a try: all values are positive, and some are far above most.

    Weights do not pass through scikit-learn's transformed targets, so that weighted rows keep their target.
    """
    if dataset.task != "regression" or dataset.weight is not None or len(dataset) < _FEWEST_ROWS:
        return False
    if dataset.y.min() <= 0 or dataset.y.max() <= dataset.y.min():
        return False
    logs = np.log(dataset.y)
    return bool(_measure_skewness(dataset.y) > _LEAST_SKEWNESS > abs(_measure_skewness(logs)))


def _measure_skewness(values: np.ndarray) -> float:
    """Return the third moment of the scaled values: 0 for a normal distribution, 2 for an exponential one."""
    spread = float(values.std())
    return float((((values - values.mean()) / spread) ** 3).mean()) if spread else 0.0


def find_model(pipeline: Any) -> Any:
    """Return the fitted model inside a pipeline, without the decision, calibration and transformed target around it.

    Only these wrappers are removed: forests have an attribute ``estimator_`` too, which is an unfitted template.
    """
    model = pipeline.steps[-1][1]
    if isinstance(model, DecisionClassifier):
        model = model.estimator_
    if isinstance(model, TransformedTargetRegressor):
        model = model.regressor_
    if isinstance(model, CalibratedClassifierCV):
        model = model.calibrated_classifiers_[0].estimator
    return model
