"""Write a model as a plain scikit-learn pipeline, which needs no mercer to be loaded and used.

The models get their fitted attributes by name. Trees are rebuilt by the protocol of pickling from a small fitted tree.
"""

import io
import pickle
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from mercer.app.deploy.bodies import Machines
from mercer.app.deploy.formula import Formula, list_single, make_formula
from mercer.app.deploy.scikit_decision import add_calibration, add_decision
from mercer.app.deploy.scikit_encoder import make_encoder, make_scaler
from mercer.app.deploy.scikit_models import make_model_steps, make_rows
from mercer.app.deploy.trial_rows import make_trial_rows, write_plain
from mercer.errors import DataError

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
    if any(isinstance(one.body, Machines) and one.body.n_classes > 2 for one in list_single(formula)):
        return (
            " Where the votes of support vector machines disagree with their probabilities, mercer exchanges the "
            "probabilities of two classes, which scikit-learn's classes cannot."
        )
    if any(one.trees for one in list_single(formula)):
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
