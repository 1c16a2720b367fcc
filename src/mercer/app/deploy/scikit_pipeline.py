"""Write a model as a plain scikit-learn pipeline, which needs no mercer to be loaded and used.

The models get their fitted attributes by name. Trees are rebuilt by the protocol of pickling from a small fitted tree.
"""

import io
import pickle
import warnings
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV as TheirCalibration
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import StackingClassifier, VotingClassifier, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from mercer.app.deploy.formula import Formula, list_single, make_formula
from mercer.app.deploy.scikit_encoder import make_encoder, make_scaler
from mercer.app.deploy.scikit_models import make_model_steps, make_rows
from mercer.app.deploy.trial_rows import make_trial_rows, write_plain
from mercer.calibration import CalibratedClassifierCV
from mercer.decision import DecisionClassifier
from mercer.errors import DataError
from mercer.interop.scores.bodies import Machines
from mercer.interop.scores.scikit_calibration import join_calibrated

# The largest difference of a probability or a number, relative to the largest number.
_TOLERANCE = 1e-6
# Expected costs of two actions that differ by less, relative to the largest, are equal: rounding may decide.
_EQUAL = 1e-9


def make_scikit_pipeline(model: Any) -> tuple[Any, float]:
    """Return the pipeline, and the largest difference between it and the model on random rows.

    Raises
    ------
    DataError
        If scikit-learn has no equal model, or the two differ.
    """
    formula = make_formula(model, texts=True)
    frame = make_trial_rows(formula)
    given = write_plain(formula, frame)
    if formula.members:
        last = add_calibration(model, _make_vote(formula, given))
        pipeline = Pipeline([("model", add_decision(formula, last, given))])
    else:
        steps, last = _make_steps(formula)
        rows, _ = make_rows(np.arange(max(len(formula.actions), 2)), _count_features(steps, given))
        last = add_decision(formula, add_calibration(model, last), rows)
        pipeline = Pipeline([*steps, ("model", last)])
    return pipeline, _compare(pipeline, model, formula, frame, given)


def _count_features(steps: list[tuple[str, Any]], given: Any) -> int:
    """Return the number of columns that the model takes."""
    return int(Pipeline(steps).transform(given.head(2)).shape[1])


def _make_steps(formula: Formula) -> tuple[list[tuple[str, Any]], Any]:
    """Return the steps of one model before the last, and the last one without calibration and decision."""
    steps = list(make_encoder(formula).steps)
    scaler = make_scaler(formula)
    if scaler is not None:
        steps.append(("scale", scaler))
    between, last = make_model_steps(formula)
    return [*steps, *between], _add_power(formula, last)


def _make_vote(formula: Formula, given: Any) -> Any:
    """Return stacked models: the weighted mean of what the members predict."""
    members = []
    for place, (_, member) in enumerate(formula.members):
        steps, last = _make_steps(member)
        # A frozen estimator is fitted already, and stays so when the vote around it is fitted.
        members.append((f"model {place + 1}", FrozenEstimator(Pipeline([*steps, ("model", last)]))))
    weights = [part for part, _ in formula.members]
    if formula.classes:
        vote: Any = VotingClassifier(members, voting="soft", weights=weights)
        return vote.fit(given, np.resize(np.array(formula.classes, dtype=object), len(given)))
    return VotingRegressor(members, weights=weights).fit(given, np.arange(float(len(given))))


def _add_power(formula: Formula, last: Any) -> Any:
    """Return a model whose predictions are turned back, if the model predicts a transformed target."""
    power = formula.power
    if power is None:
        return last
    near = {"a_min": power.low, "a_max": power.high}
    steps: list[tuple[str, Any]] = [
        ("range", FunctionTransformer(None, np.clip, inv_kw_args=near, check_inverse=False))
    ]
    ends = np.array([1.0, 2.0])
    if power.log:
        steps.insert(0, ("log", FunctionTransformer(np.log, np.exp, check_inverse=False)))
        # Fitted to these two values, the last step learns offset and factor: their scores are 0 and 1 / factor.
        ends = np.exp([power.offset, power.offset + 1.0])
        steps.append(("spread", MinMaxScaler((0.0, 1.0 / power.factor))))
    raised = TransformedTargetRegressor(FrozenEstimator(last), transformer=Pipeline(steps), check_inverse=False)
    return raised.fit(np.zeros((2, last.n_features_in_)), ends)


def _compare(pipeline: Pipeline, model: Any, formula: Formula, frame: Any, given: Any) -> float:
    """Return the largest difference between the two on random rows; DataError if they differ."""
    other, largest = 0, 0.0
    if not formula.classes or hasattr(pipeline, "predict_proba"):
        ask = "predict_proba" if formula.classes else "predict"
        wanted = np.asarray(getattr(model, ask)(frame), dtype=float)
        got = np.asarray(getattr(pipeline, ask)(given), dtype=float)
        largest = float(np.abs(got - wanted).max() / max(1.0, float(np.abs(wanted).max())))
    if formula.classes:
        answers = [np.asarray(one.predict(rows)).astype(str) for one, rows in ((model, frame), (pipeline, given))]
        other = _count_others(formula, np.asarray(model.predict_proba(frame), dtype=float), *answers)
    if not largest <= _TOLERANCE or other:
        raise DataError(
            f"export: the scikit-learn pipeline differs from the model (by {largest:.2g}, and {other} of {len(frame)} "
            f"random rows get another class), and was not written.{_find_reason(formula)} Use --onnx or --python."
        )
    return largest


def _find_reason(formula: Formula) -> str:
    """Return why a pipeline may differ from the model, as a sentence; empty if the reason is not known."""
    if any(isinstance(single.body, Machines) and single.body.n_classes > 2 for single in list_single(formula)):
        return (
            " Where the votes of support vector machines disagree with their probabilities, mercer exchanges the "
            "probabilities of two classes, which scikit-learn's classes cannot."
        )
    if any(single.trees for single in list_single(formula)):
        return " Trees of scikit-learn compare numbers in single precision."
    return ""


def _count_others(formula: Formula, shares: np.ndarray, wanted: np.ndarray, got: np.ndarray) -> int:
    """Return how many rows get another class, not counting those where both classes are equally good."""
    costs = 1.0 - np.eye(len(formula.classes)) if formula.costs is None else formula.costs
    expected = shares @ costs.T
    places = {name: place for place, name in enumerate(formula.actions)}
    rows = np.arange(len(shares))
    one, two = (expected[rows, [places[name] for name in names]] for names in (wanted, got))
    return int((np.abs(one - two) > _EQUAL * np.abs(costs).max()).sum())


class _PlainReader(pickle.Unpickler):
    """Reads a pickle that needs no module of mercer."""

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] == "mercer":
            raise DataError(f"export: the pipeline would need mercer to be loaded ({module}.{name}). Please report it.")
        return super().find_class(module, name)


def pack_pipeline(pipeline: Pipeline, name: str) -> bytes:
    """Return the content of the file: by joblib for a name that ends in .joblib, else by pickle."""
    plain = pickle.dumps(pipeline)
    _PlainReader(io.BytesIO(plain)).load()
    if not name.endswith(".joblib"):
        return plain
    import joblib

    file = io.BytesIO()
    joblib.dump(pipeline, file)
    return file.getvalue()


# Probabilities below this count as this before their logarithm is taken.
_LEAST = 1e-300


def add_calibration(model: Any, last: Any) -> Any:
    """Return the model inside the calibration of the study, if there is one."""
    outer = model.steps[-1][1]
    inside = outer.estimator_ if isinstance(outer, DecisionClassifier) else outer
    if not isinstance(inside, CalibratedClassifierCV | TheirCalibration):
        return last
    given = inside.calibrated_classifiers_[0]
    calibrated = TheirCalibration(last, method=inside.method, cv=inside.cv, ensemble=False)
    calibrated.classes_ = inside.classes_
    calibrated.calibrated_classifiers_ = [join_calibrated(last, given.calibrators, given.classes, given.method)]
    return calibrated


def find_weights(costs: np.ndarray) -> np.ndarray | None:
    """Return weights w such that the least expected cost is where ``w[k] * probability[k]`` is largest; None if none.

    The costs must be zero on the diagonal, and the same for every wrong prediction of a row of one class.
    """
    n_classes = costs.shape[1]
    if costs.shape[0] != n_classes or np.diag(costs).any():
        return None
    weights = costs.sum(axis=0) / (n_classes - 1)
    wrong = ~np.eye(n_classes, dtype=bool)
    same = np.allclose(costs[wrong], np.broadcast_to(weights, costs.shape)[wrong], rtol=1e-12, atol=0.0)
    return weights if same and (weights > 0).all() else None


def add_decision(formula: Formula, last: Any, rows: Any) -> Any:
    """Return the model with the decision of the study around it; `rows` are some rows that the model takes.

    Two classes get a threshold. Of more classes, each with its own weight, both ``predict`` and ``predict_proba`` are
    those of the study. Other costs and actions leave ``predict`` alone: its classes are the actions.
    """
    costs, classes = formula.costs, formula.classes
    if costs is None:
        return last
    weights = find_weights(costs) if formula.actions == classes else None
    if weights is not None and np.ptp(weights) == 0:
        return last
    if costs.shape == (2, 2) and formula.actions == classes:
        alarm, miss = costs[1, 0] - costs[0, 0], costs[0, 1] - costs[1, 1]
        decided: Any = FixedThresholdClassifier(
            FrozenEstimator(last), threshold=float(alarm / (alarm + miss)), pos_label=classes[1]
        )
        decided.set_params(response_method="predict_proba")
        return decided.fit(rows, np.resize(np.array(classes, dtype=object), len(rows)))
    # scikit-learn sorts the labels, and learns their places.
    labels = sorted(formula.actions)
    if weights is not None:
        final = _make_weighing(weights)
    else:
        final = _make_linear_decision(costs[[formula.actions.index(name) for name in labels]])
    decided = StackingClassifier(
        [("probabilities", FrozenEstimator(last))],
        final_estimator=FrozenEstimator(final),
        stack_method="predict_proba",
        cv="prefit",
    )
    return decided.fit(rows, np.resize(np.array(labels, dtype=object), len(rows)))


def _make_weighing(weights: np.ndarray) -> Any:
    """Return steps from probabilities to a class: predictions weigh the classes, and probabilities stay as they are.

    scikit-learn's ``predict`` takes the nearest centre, and its ``predict_proba`` is the softmax of minus the squared
    distances in units of ``within_class_std_dev_``. Row z holds log p and a zero. With centre k at ``(e_k, b_k)``, the
    squared distance is ``|z|² - 2 log p_k + 1 + b_k²``. So ``b_k² = constant - 2 log w_k`` predicts the class of
    largest ``w_k p_k``. In units of sqrt(2) and, for the last column, of infinity, minus the squared distance is
    ``log p_k`` but for what all classes share: the softmax returns p.
    """
    n_classes = len(weights)
    clipped = FunctionTransformer(np.clip, kw_args={"a_min": _LEAST, "a_max": 1.0})
    padded = FunctionTransformer(np.pad, kw_args={"pad_width": ((0, 0), (0, 1))})
    centres = NearestCentroid()
    steps = make_pipeline(clipped, FunctionTransformer(np.log), padded, centres)
    with warnings.catch_warnings():
        # The column of zeros has no spread.
        warnings.simplefilter("ignore")
        steps.fit(np.random.default_rng(0).random((3 * n_classes, n_classes)), np.tile(np.arange(n_classes), 3))
    offsets = -2 * np.log(weights)
    centres.centroids_ = np.column_stack([np.eye(n_classes), np.sqrt(offsets - offsets.min())])
    centres.within_class_std_dev_ = np.append(np.full(n_classes, np.sqrt(2.0)), np.inf)
    centres.class_prior_ = np.full(n_classes, 1 / n_classes)
    return steps


def _make_linear_decision(costs: np.ndarray) -> RidgeClassifier:
    """Return a linear classifier that takes probabilities and predicts the action of least expected cost."""
    n_actions, n_classes = costs.shape
    # With two labels scikit-learn leaves out the probability of the first class, which is 1 less all others.
    width = n_classes - 1 if n_actions == 2 else n_classes
    linear = RidgeClassifier().fit(np.eye(n_actions, width), np.arange(n_actions))
    if n_actions == 2:
        # The second action is taken where it costs less.
        saved = costs[0] - costs[1]
        linear.coef_, linear.intercept_ = (saved[1:] - saved[0])[None, :], saved[:1].copy()
    else:
        linear.coef_, linear.intercept_ = -costs, np.zeros(n_actions)
    return linear
