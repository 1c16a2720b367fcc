"""Write a fitted model as a formula: encoded columns, then a weighted sum, trees or a body, a link and a decision.

Exports to other forms begin here: what a formula cannot hold, they cannot write.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV as TheirCalibration
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer.app.study.grouping import name_groups
from mercer.calibration import CalibratedClassifierCV
from mercer.decision import DecisionClassifier
from mercer.ensemble import VotingClassifier, VotingRegressor
from mercer.errors import DataError
from mercer.interop.scores.bodies import Machines, read_body
from mercer.interop.scores.reading import NotHeldError, Tree, read_model
from mercer.preprocessing import StandardScaler, TableEncoder


@dataclass(frozen=True)
class Calibration:
    """What turns the answer f of a model into probabilities.

    f is the score of a row if `scored`, else the probability of the second class, or the logarithms of all
    probabilities. By "sigmoid" the probability of the second class is ``1 / (1 + exp(a f + b))``, by "isotonic" it is
    read off a curve through points, and by "temperature" probabilities are the softmax of ``a f``.
    """

    method: str
    scored: bool
    a: float = 0.0
    b: float = 0.0
    points: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True)
class Power:
    """How the score of a transformed target becomes a prediction: ``exp(clip(offset + factor * score, low, high))``.

    Without `log` it is the argument of the exponential.
    """

    offset: float = 0.0
    factor: float = 1.0
    low: float = -math.inf
    high: float = math.inf
    log: bool = True


@dataclass(frozen=True)
class Formula:
    """A model: scores are ``intercept + weights @ x`` of scaled columns x, plus the sums of the trees or of the body.

    `link` makes predictions of the scores: "identity", "sigmoid" (one score for two classes), "softmax", or "shares"
    (the scores are the probabilities). With `members` a model is the weighted mean of the predictions of other ones.
    With `costs`, an array of actions by classes, the action of least expected cost is predicted.
    """

    names: list[str]  # of the columns
    codings: list[Any]  # how each column is encoded; None for a column that is not used
    shift: np.ndarray
    scale: np.ndarray
    intercept: np.ndarray
    weights: np.ndarray
    link: str
    trees: list[Tree] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    costs: np.ndarray | None = None
    body: Any = None  # one of `mercer.interop.scores.bodies`
    power: Power | None = None  # if the target was transformed
    calibration: Calibration | None = None
    members: list[tuple[float, "Formula"]] = field(default_factory=list)


def list_single(formula: Formula) -> list[Formula]:
    """Return the formulas of the members, or the formula itself if it has none."""
    return [member for _, member in formula.members] or [formula]


def make_formula(pipeline: Any, texts: bool = False) -> Formula:
    """Return the model of a study as a formula; `texts` says whether columns of texts can be written.

    Raises
    ------
    DataError
        If it is no weighted sum, no trees and none of the bodies, or a column is a text.
    """
    last = pipeline.steps[-1][1]
    inside, costs, actions = last, None, []
    if isinstance(last, DecisionClassifier):
        inside, costs, actions = last.estimator_, np.asarray(last.costs_, dtype=float), [str(a) for a in last.actions_]
    classes = [str(name) for name in inside.classes_] if is_classifier(inside) else list_groups(inside)
    calibrated = inside
    if isinstance(inside, CalibratedClassifierCV | TheirCalibration):
        inside = inside.calibrated_classifiers_[0].estimator
    if isinstance(inside, VotingClassifier | VotingRegressor):
        formula = _join_members(inside, classes, texts)
    else:
        formula = _read_single(pipeline, inside, classes, texts)
    calibration = None if calibrated is inside else _read_calibration(calibrated, inside, formula)
    return replace(formula, actions=actions or classes, costs=costs, calibration=calibration)


def _join_members(model: Any, classes: list[str], texts: bool) -> Formula:
    """Return the formula of stacked models: all members predict, and their weighted mean is the prediction."""
    members = [make_formula(member, texts) for member in model.estimators_]
    shares = np.ones(len(members)) if model.weights is None else np.asarray(model.weights, dtype=float)
    first = members[0]
    if any(len(member.classes) != len(classes) for member in members):
        refuse("the members of the stack know different classes")
    # Members learn the places of the classes instead of their names.
    members = [replace(member, classes=classes, actions=classes) for member in members]
    return Formula(
        first.names,
        first.codings,
        np.zeros(0),
        np.zeros(0),
        np.zeros(0),
        np.zeros((0, 0)),
        "shares" if classes else "identity",
        classes=classes,
        members=list(zip((shares / shares.sum()).tolist(), members)),
    )


def _read_single(pipeline: Any, model: Any, classes: list[str], texts: bool) -> Formula:
    """Return the formula of one model behind the encoder and the scaler of a pipeline."""
    steps = [step for _, step in pipeline.steps]
    encoder = steps[0]
    if not isinstance(encoder, TableEncoder) or any(not isinstance(step, StandardScaler) for step in steps[1:-1]):
        refuse("its steps before the model are no encoder and scaler")
    names = [str(name) for name in encoder.feature_names_in_]
    words = [name for name, coding in zip(names, encoder._codings) if coding is not None and coding.kind == "text"]
    if words and not texts:
        refuse(f"column `{words[0]}` is a text; study the table with --ignore {words[0]}, or use --sklearn or --python")
    width = len(encoder.feature_columns_)
    shift, scale = np.zeros(width), np.ones(width)
    for step in steps[1:-1]:
        shift = np.zeros(width) if step.mean_ is None else np.asarray(step.mean_, dtype=float)
        scale = np.ones(width) if step.scale_ is None else np.asarray(step.scale_, dtype=float)
    power = None
    if isinstance(model, TransformedTargetRegressor):
        power, model = _read_power(model.transformer_), model.regressor_
    found, weights = read_body(model, classes), np.zeros((1, width))
    trees: list[Tree] = []
    if found is not None:
        link, intercept, body = found
    else:
        body = None
        try:
            link, intercept, weights, trees = read_model(model, width, classes)
        except NotHeldError as reason:
            refuse(str(reason))
    codings = list(encoder._codings)
    return Formula(
        names, codings, shift, scale, intercept, weights, link, trees, classes, classes, None, body, power=power
    )


def _read_power(transformer: Any) -> Power | None:
    """Return how a study transforms the target: by the logarithm, within a range, by both or not at all."""
    steps = list(transformer.named_steps) if isinstance(transformer, Pipeline) else []
    if steps in (["range"], ["log", "range", "spread"]):
        ends = transformer["range"].inv_kw_args
        if steps == ["range"]:
            return Power(low=ends["a_min"], high=ends["a_max"], log=False)
        spread = transformer["spread"]
        scale = float(spread.scale_[0])
        return Power(-float(spread.min_[0]) / scale, 1.0 / scale, ends["a_min"], ends["a_max"])
    # Studies of earlier versions have a plain logarithm, and no function where the target is left as it is.
    if not isinstance(transformer, FunctionTransformer) or transformer.func not in (None, np.log):
        refuse("its target is transformed in a way that no study uses")
    return None if transformer.func is None else Power()


def refuse(reason: str) -> NoReturn:
    """Raise DataError: the model cannot be exported for this reason."""
    raise DataError(
        f"export: this model cannot be written in that form: {reason}. Use `mercer predict` or `mercer serve`."
    )


def _read_calibration(calibrated: Any, model: Any, formula: Formula) -> Calibration:
    """Return the calibration around a model."""
    member = calibrated.calibrated_classifiers_[0]
    method, calibrator = member.method, member.calibrators[0]
    # Scores are calibrated where a model has them, and probabilities elsewhere.
    scored = hasattr(model, "decision_function")
    if isinstance(formula.body, Machines):
        refuse("its scores are calibrated, and a support vector machine has other scores than probabilities")
    if method == "temperature":
        return Calibration(method, scored, float(calibrator.beta_))
    if len(formula.classes) != 2:
        refuse(f"its probabilities of {len(formula.classes)} classes are calibrated by {method}")
    if method == "sigmoid":
        return Calibration(method, scored, float(calibrator.a_), float(calibrator.b_))
    points = np.asarray(calibrator.X_thresholds_, dtype=float), np.asarray(calibrator.y_thresholds_, dtype=float)
    return Calibration(method, scored, points=points)


# Length and offset of the cycles of dates, in days; day 0 was a Thursday, and weeks begin on Monday.
CYCLES = {"year": (365.2425, 0.0), "week": (7.0, 3.0), "day": (1.0, 0.0)}
# The key of the code of other categories; no text of a table is equal to it.
OTHER = "\0other"
# The key of the code of missing values.
MISSING = "\0missing"


def list_codes(coding: Any) -> tuple[dict[str, int], list[list[float]]]:
    """Return the code of each category, and the encoded columns of each code; two codes stand for other and missing."""
    size = len(coding.categories)
    codes = {str(name): place for place, name in enumerate(coding.categories)} | {OTHER: size, MISSING: size + 1}
    if coding.codes:
        last = np.nan if coding.keep else size + 1.0
        return codes, [[float(code)] for code in range(size + 1)] + [[last]]
    width = size + int(coding.others) + int(coding.missing)
    table = np.zeros((size + 2, width))
    table[np.arange(size), np.arange(size)] = 1.0
    if coding.others:
        table[size, size] = 1.0
    # A missing value where the training rows had none counts as another category.
    missing = width - 1 if coding.missing else size if coding.others else None
    if missing is not None:
        table[size + 1, missing] = 1.0
    return codes, table.tolist()


def list_groups(model: Any) -> list[str]:
    """Return the names of the groups of a clustering that can be exported; none for other models."""
    kind = type(model).__name__
    if kind == "KMeans":
        return name_groups(np.arange(len(model.cluster_centers_)))
    return name_groups(np.arange(len(model.means_))) if kind == "GaussianMixture" else []


class NamedGroups:
    """A pipeline whose last step groups rows, with the names of the groups as its classes."""

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline
        self.steps = pipeline.steps

    def predict(self, frame: Any) -> np.ndarray:
        """Return the name of the group of each row."""
        return np.array(name_groups(self.pipeline.predict(frame)), dtype=object)

    def predict_proba(self, frame: Any) -> np.ndarray:
        """Return the probability of each group; of k-means, 1 for the group of the row."""
        if hasattr(self.pipeline, "predict_proba"):
            return np.asarray(self.pipeline.predict_proba(frame), dtype=float)
        indicators: np.ndarray = np.eye(len(list_groups(self.steps[-1][1])))
        return indicators[self.pipeline.predict(frame)]
