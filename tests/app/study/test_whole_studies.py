"""Whole studies of real tables: what each record must say, whatever model wins.

The tables come with scikit-learn, with the package vega_datasets and with mercer itself. Most studies compare few
candidates, so that they take a second or two; the scores asserted here are far below what these models reach.
"""

import json
from dataclasses import dataclass, field

import numpy as np
import pandas
import pytest
from sklearn import datasets

import mercer
from mercer.app.study.metrics import METRICS
from mercer.datasets import load_failures, load_rents, load_visitors

CLASSES = ["naive Bayes", "linear discriminant", "one tree"]
NUMBERS = ["ridge regression", "one tree"]


@dataclass(frozen=True)
class Case:
    """A table, the question, and what the record must say."""

    load: object
    target: str | None
    task: str
    least: float  # the least score
    drivers: frozenset = frozenset()  # one of these must be among the first three columns that matter
    options: dict = field(default_factory=dict)


def _take(name, n_rows=None):
    def load():
        frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
        return frame if n_rows is None else frame.iloc[:n_rows]

    return load


def _name_classes(name, n_rows=None):
    def load():
        bunch = getattr(datasets, f"load_{name}")(as_frame=True)
        frame = bunch.frame.assign(target=[str(bunch.target_names[code]) for code in bunch.frame["target"]])
        if n_rows is None:
            return frame
        # Some rows, and every fourth column: the study is about the seams, not about the score.
        return frame.sample(n_rows, random_state=0).iloc[:, [*range(2, frame.shape[1] - 1, 4), -1]]

    return load


def _vega(name):
    def load():
        return getattr(pytest.importorskip("vega_datasets").local_data, name)()

    return load


def _exercise():
    return datasets.load_linnerud(as_frame=True).frame[["Chins", "Situps", "Jumps", "Waist"]]


def _employment():
    return _vega("us_employment")()[["month", "construction", "manufacturing", "government", "information"]]


def _weigh(load, n_rows, seed=0):
    """Return a function that loads a table of some rows, each with a weight of 1, 2 or 3."""

    def weigh():
        frame = load().sample(n_rows, random_state=seed)
        return frame.assign(copies=np.random.default_rng(seed).integers(1, 4, n_rows))

    return weigh


def _sell():
    """Return sales by day: a trend that a line continues, where a constant from earlier days is far off."""
    random, days = np.random.default_rng(0), np.arange(300)
    visits = 40 + days / 3 + 15 * np.sin(days / 5) + random.normal(0, 4, 300)
    day = pandas.Timestamp("2024-01-01") + pandas.to_timedelta(days, "D")
    return pandas.DataFrame({"day": day, "visits": visits, "sales": 2 * visits + random.normal(0, 12, 300)})


CASES = {
    "iris": Case(_name_classes("iris"), "target", "classification", 0.9, frozenset({"petal width (cm)"})),
    "wine": Case(_name_classes("wine"), "target", "classification", 0.9, options={"metric": "accuracy"}),
    "breast cancer": Case(
        _name_classes("breast_cancer", 300), "target", "classification", 0.9, options={"metric": "roc_auc"}
    ),
    "digits": Case(_name_classes("digits", 250), "target", "classification", 0.4, options={"metric": "f1_macro"}),
    "diabetes": Case(_take("diabetes"), "target", "regression", 0.3, frozenset({"s5", "bmi"})),
    "diabetes by error": Case(_take("diabetes"), "target", "regression", 0.0, options={"metric": "mae"}),
    "exercise": Case(_exercise, "Waist", "regression", -2.0, options={"task": "regression"}),
    "cars": Case(
        _vega("cars"), "Miles_per_Gallon", "regression", 0.7, frozenset({"Weight_in_lbs", "Year", "Horsepower"})
    ),
    "origins of cars": Case(_vega("cars"), "Origin", "classification", 0.6, frozenset({"Displacement"})),
    "barley": Case(_vega("barley"), "yield", "regression", 0.3, frozenset({"site"})),
    "weather": Case(_vega("seattle_weather"), "weather", "classification", 0.25, frozenset({"precipitation"})),
    "stocks": Case(_vega("stocks"), "price", "regression", 0.3, frozenset({"symbol"}), {"splits": "random"}),
    "employment": Case(_employment, "construction", "regression", 0.8, options={"splits": "random"}),
    "electricity": Case(
        _vega("iowa_electricity"), "net_generation", "regression", 0.5, frozenset({"source"}), {"splits": "random"}
    ),
    "failures": Case(
        lambda: load_failures().frame,
        "failure",
        "classification",
        0.55,
        options={"costs": {"yes": {"no": 1}, "no": {"yes": 10}}},
    ),
    "rents": Case(lambda: load_rents().frame, "rent", "regression", 0.7, frozenset({"area_m2"}), {"group": "building"}),
    "weighted wine": Case(
        _weigh(_name_classes("wine"), 150), "target", "classification", 0.9, options={"weight": "copies"}
    ),
    "weighted diabetes": Case(
        _weigh(_take("diabetes"), 250), "target", "regression", 0.25, frozenset({"s5", "bmi"}), {"weight": "copies"}
    ),
    "sales by day": Case(_sell, "sales", "regression", 0.5, frozenset({"visits"}), {"time": "day"}),
    "weather by day": Case(
        _vega("seattle_weather"), "weather", "classification", 0.25, frozenset({"precipitation"}), {"time": "date"}
    ),
    "visitors": Case(lambda: load_visitors().frame, None, "structure", 0.0),
}


METRIC_CASES = {
    **{name: (_name_classes("iris"), "classification") for name in METRICS["classification"]},
    **{name: (_take("diabetes", 150), "regression") for name in METRICS["regression"]},
}


@pytest.mark.parametrize(
    ("metric", "weight"),
    [*((metric, None) for metric in METRIC_CASES), *((metric, "copies") for metric in ("f1_macro", "log_loss", "mae"))],
)
def test_every_metric_is_better_than_guessing_and_named_in_the_answer(metric, weight):
    load, task = METRIC_CASES[metric]
    frame = load().iloc[::2]
    if weight:
        frame = frame.assign(copies=np.random.default_rng(0).integers(1, 4, len(frame)))
    few = {"classification": ["linear discriminant"], "regression": ["ridge regression"]}[task]
    options = {"candidates": few, "quick": True, "folds": 3, "inner": 2, "metric": metric, "weight": weight}
    record = mercer.run(frame, "target", **options).record
    sure, wanted = record.sureness, METRICS[task][metric]
    assert record.question.metric == wanted.words
    assert record.question.greater_is_better is wanted.greater_is_better
    assert sure.low <= sure.score <= sure.high
    assert sure.score > sure.baseline if wanted.greater_is_better else sure.score < sure.baseline
    assert next(candidate.name for candidate in record.candidates if candidate.status == "chosen") == few[0]
    assert wanted.words in record.answer
    assert {column.role for column in record.data.columns if column.name == "copies"} == (
        {"weight"} if weight else set()
    )


# Tables whose task, kinds of columns and options another of the cases has too.
SLOW = ("breast cancer", "digits", "diabetes by error", "origins of cars", "employment", "electricity", "weather")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in CASES]
)
def test_a_whole_study_says_what_is_true(name, tmp_path):
    case = CASES[name]
    frame = case.load()
    few = {"classification": CLASSES, "regression": NUMBERS, "structure": None}[case.task]
    study = mercer.run(
        frame,
        case.target,
        name=name,
        **{"candidates": few, "quick": True, "folds": 3, "inner": 2, **case.options},
    )
    record = study.record
    assert record.question.task == case.task
    assert record.question.n_rows == len(frame)
    assert {column.name for column in record.data.columns} == set(map(str, frame.columns))
    assert sum(candidate.status == "chosen" for candidate in record.candidates) == 1
    assert not [notice for notice in record.data.notices if "failed" in notice.text or "ended early" in notice.text]
    if case.target is not None:
        _check_target(record, study, frame, case)
    else:
        assert len(record.structure.clusters) >= 2
        assert sum(cluster.size for cluster in record.structure.clusters) == len(frame)
    folder = study.save(tmp_path)
    assert json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert f"<b>{case.target}</b>" in (folder / "report.html").read_text(encoding="utf-8") or case.target is None


def _check_target(record, study, frame, case):
    """Check the score, the columns that matter and the predictions of a study with a target."""
    sure, rows = record.sureness, frame[frame[case.target].notna()]
    assert sure.low <= sure.score <= sure.high
    better = sure.score >= case.least if record.question.greater_is_better else sure.score < sure.baseline
    assert better, (sure.score, sure.baseline)
    top = {driver.column for driver in record.drivers[:3]}
    assert not case.drivers or case.drivers & top, top
    predicted = study.predict(rows.drop(columns=case.target), coverage=0.9)
    assert len(predicted) == len(rows)
    if case.task == "classification":
        classes = set(rows[case.target].astype(str))
        assert set(predicted["prediction"]) <= classes
        # Every row is unseen once; splits that go forward in time never test the first rows.
        total = rows["copies"].sum() if "copies" in rows else len(rows)
        assert 0.5 * total <= np.array(record.confusion.counts).sum() <= total
    else:
        assert (predicted["low"] <= predicted["prediction"]).all()
        inside = (predicted["low"] <= rows[case.target].to_numpy()) & (
            rows[case.target].to_numpy() <= predicted["high"]
        )
        # The model has seen these rows, so that at least nine in ten lie inside but for the small tables' steps.
        assert inside.mean() >= 0.85
