"""A study answers what can be predicted, how well and by what, and its record says how it knows."""

import itertools
import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import balanced_accuracy_score, r2_score

import mercer
from mercer._source.table import read_table
from mercer.app.options import Options
from mercer.app.study import clock as clock_module
from mercer.app.study import study
from mercer.app.study.choice.comparison import measure_sureness
from mercer.app.study.choice.trying import select
from mercer.app.study.clock import ALWAYS, Clock
from mercer.app.study.dataset import gather
from mercer.app.study.final import fit_final
from mercer.app.study.record import read_record, write_record
from mercer.app.table import guess_roles
from mercer.errors import DataError, ParameterError

FEW = ["nearest centroid", "linear discriminant", "ridge regression", "curves, ridge regression"]


def _study(frame, target="target", given=None, watch=None, **options):
    table = read_table(frame)
    roles, notices = guess_roles(table, target=target, **(given or {}))
    known = [one for one in FEW if one in _names(roles.task)] if target else None
    chosen = {"candidates": known, "debug": True, "quick": True, "folds": 3, "inner": 2, **options}
    return study(table, roles, Options(**chosen), watch, notices)


def _names(task):
    return [one.name for one in mercer.model_selection.candidates(task)]


def _flowers(n_rows=240, seed=0, classes=("no", "yes"), share=0.5):
    random = np.random.default_rng(seed)
    true = random.random(n_rows) < share
    return pandas.DataFrame(
        {
            "height": random.normal(size=n_rows) + 2.0 * true,
            "width": random.normal(size=n_rows),
            "colour": np.where(random.random(n_rows) < 0.3 + 0.4 * true, "red", "blue"),
            "target": np.where(true, *classes[::-1]),
        }
    )


@pytest.fixture(scope="module")
def flowers():
    return _study(_flowers(), quick=False, folds=5)


def test_a_classification_fills_every_part(flowers, tmp_path):
    record = flowers.record
    assert record.question.positive == "yes"
    assert record.question.splits == "5 folds, stratified"
    assert re.match(r"(A|Naive|Logistic)[a-zA-Z ]* predicts `target` with \d+", record.answer)
    assert "balanced accuracy on new rows (95 % interval " in record.answer
    assert record.answer.endswith("; guessing: 50).")
    for part in ("sureness", "candidates", "learning", "complexity", "bias_variance", "confusion", "calibration"):
        assert getattr(record, part), part
    for part in ("rates", "drivers", "dependences", "map", "hardest", "fit", "findings"):
        assert getattr(record, part), part
    assert record.drivers[0].column == "height"
    assert {one.status for one in record.candidates} <= {"chosen", "best", "as good", "worse", "skipped"}
    write_record(record, tmp_path)
    assert read_record(tmp_path) == record


def test_the_confusion_counts_every_row_once_and_agrees_with_the_score(flowers):
    counts = np.array(flowers.record.confusion.counts)
    assert counts.sum() == 240
    balanced = np.mean(np.diag(counts) / counts.sum(axis=1))
    # The score is the mean over folds, and of the model and of its choice; the counts are pooled.
    assert flowers.record.sureness.low <= balanced <= flowers.record.sureness.high


@pytest.mark.catalogue("WF-12")
def test_the_model_takes_frames_and_survives_its_file(flowers, tmp_path):
    place = tmp_path / "model.mercer"
    mercer.save(flowers.model, place)
    fresh = _flowers(50, seed=1).drop(columns="target")
    fresh.loc[3, "colour"] = "never seen"
    fresh.loc[4, "height"] = np.nan
    again = mercer.load(place)
    np.testing.assert_array_equal(again.predict(fresh), flowers.model.predict(fresh))
    np.testing.assert_array_equal(again.predict_proba(fresh), flowers.model.predict_proba(fresh))


@pytest.mark.catalogue("WF-12")
def test_the_same_seed_gives_the_same_record():
    one, other = (_study(_flowers(), n_jobs=n_jobs).record for n_jobs in (1, 2))
    assert one.sureness == other.sureness
    assert one.drivers == other.drivers
    assert one.hardest == other.hardest
    assert one.learning == other.learning


def test_a_regression_fills_its_parts_and_sees_a_curve():
    random = np.random.default_rng(0)
    x = random.uniform(-3, 3, 300)
    y = np.sin(2 * x) + random.normal(0, 0.3, 300)
    frame = pandas.DataFrame({"x": x, "idle": random.normal(size=300), "target": y})
    record = _study(frame).record
    assert next(one for one in record.candidates if one.status == "chosen").name == "curves, ridge regression"
    assert record.question.metric == "R²"
    assert len(record.residuals.true) == 300
    assert record.sureness.floor is None or record.sureness.floor > record.sureness.score
    assert record.drivers[0].column == "x"
    assert "mean absolute error" in record.sureness.other_metrics


def test_noise_cannot_be_predicted():
    frame = _flowers()
    frame["target"] = np.random.default_rng(3).permutation(frame["target"])
    record = _study(frame).record
    assert record.answer.startswith("No model is shown to predict `target` better than guessing: ")
    assert record.sureness.low <= 0.5


def test_a_rare_class_is_decided_for_where_it_is_likelier_than_usual():
    record = _study(_flowers(600, share=0.07)).record
    counts = np.array(record.confusion.counts)
    assert counts[1, 1] / counts[1].sum() > 0.6
    assert any("unbalanced" in one.text and "rows (" in one.text for one in record.data.notices)


@pytest.mark.fixed_seed("ten bins of 40 rows are off by 0.06 of chance alone")
def test_probabilities_that_are_off_are_calibrated_inside_the_folds():
    random = np.random.default_rng(0)
    true = random.integers(0, 2, 400)
    # Ten copies of one column, which naive Bayes takes for independent: it is far too sure.
    frame = pandas.DataFrame({f"copy {k}": random.normal(scale=0.05, size=400) for k in range(10)})
    frame = frame.add(random.normal(size=400) + true, axis=0).assign(target=np.where(true, "yes", "no"))
    filters = list(warnings.filters)
    found = _study(frame, candidates=["naive Bayes"], n_jobs=2)
    assert filters == warnings.filters
    assert any("are calibrated (sigmoid), in each fold" in one.text for one in found.record.data.notices)
    assert found.record.calibration.error < 0.08
    assert found.record.sureness.other_metrics["log loss"][0] < 0.65
    sure = found.model.predict_proba(frame.drop(columns="target")).max(axis=1)
    assert np.mean(sure > 0.99) < 0.05


@pytest.mark.catalogue("DT-11")
def test_costs_turn_probabilities_into_actions():
    found = _study(_flowers(), costs=[[0.0, 10.0], [1.0, 0.0]], actions=["leave", "pick"])
    decision = found.record.decision
    assert decision.actions == ["leave", "pick"]
    assert decision.cost <= min(decision.alternatives.values())
    assert decision.curve.best < 0.5
    assert sum(decision.shares) == pytest.approx(1.0)
    assert set(found.model.predict(_flowers(40, seed=2).drop(columns="target"))) <= {"leave", "pick"}


def test_a_row_may_bring_its_own_cost_and_decisions_may_be_declined():
    frame = _flowers()
    frame["loss"] = np.random.default_rng(0).uniform(0, 20, len(frame))
    decision = _study(frame, given={"cost": "loss"}).record.decision
    assert decision.costs == []
    assert decision.cost < decision.alternatives["always no"]
    declined = _study(_flowers(), reject=0.1).record.decision
    assert declined.actions[-1] == "reject"
    assert 0 < declined.shares[-1] < 1


def test_a_class_too_rare_to_be_judged_is_left_out_and_said():
    frame = _flowers(120)
    frame.loc[:1, "target"] = "odd"
    record = _study(frame).record
    assert record.question.classes == ["no", "yes"]
    assert any(
        "too few rows for fitting and testing" in one.text and "`odd`" in one.text for one in record.data.notices
    )


def test_splits_go_forward_in_time():
    frame = _flowers()
    frame["day"] = pandas.date_range("2024-01-01", periods=len(frame))
    record = _study(frame, given={"time": "day"}).record
    assert record.question.splits == "3 folds, forward in time by `day`"
    assert np.sum(record.confusion.counts) == 180


def test_a_budget_is_kept(monkeypatch):
    # A fake clock: every look at it takes a quarter of a second, so that the budget is spent after 32 looks.
    ticks = itertools.count()
    monkeypatch.setattr(Clock, "measure_spent", lambda clock: 0.25 * next(ticks))
    record = _study(_flowers(300), budget=8.0, candidates=None, quick=False).record
    assert record.candidates[0].score == 0.5
    untried = [candidate for candidate in record.candidates if candidate.score is None]
    assert untried
    assert all(candidate.text for candidate in untried)
    assert any("The time was over before these parts were made" in notice.text for notice in record.data.notices)
    assert record.origin.budget == 8.0


@pytest.mark.parametrize(("task", "metric"), [("regression", "r2"), ("classification", "roc_auc")])
def test_a_study_of_all_candidates_ends_with_a_model(task, metric):
    load = {"regression": load_diabetes, "classification": load_breast_cancer}[task]
    frame = load(as_frame=True).frame.iloc[:90, -5:]
    if task == "classification":
        frame["target"] = np.where(frame["target"] == 1, "yes", "no")
    found = _study(frame, candidates=None, metric=metric)
    tried = [one for one in found.record.candidates if one.score is not None]
    assert {"the constant guess", "random forest"} <= {one.name for one in tried}
    assert all(one.complexity >= 0 for one in tried)
    assert found.model.predict(frame.drop(columns="target")).shape == (90,)


def test_an_interrupted_study_ends_with_the_best_so_far():
    def press(event):
        if event.text == "linear discriminant":
            raise KeyboardInterrupt

    found = _study(_flowers(), watch=press)
    assert found.record.origin.interrupted
    assert {one.name: one.status for one in found.record.candidates}["linear discriminant"] == "skipped"
    assert found.model.predict(_flowers(5).drop(columns="target")).shape == (5,)
    assert any("interrupted" in one.text for one in found.record.data.notices)


def test_an_interrupt_before_anything_was_found_goes_through():
    def press(event):
        if event.text == "the constant guess":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _study(_flowers(), watch=press)


def test_an_interrupt_late_leaves_out_the_rest():
    def press(event):
        if event.text == "the learning curve":
            raise KeyboardInterrupt

    record = _study(_flowers(), watch=press).record
    assert record.learning is None
    assert record.drivers
    assert record.map is not None
    assert record.sureness.floor_text == ""
    said = "interrupted before these parts were made: the learning curve, the best possible score"
    assert any(said in one.text for one in record.data.notices)
    assert record.origin.interrupted


def test_groups_are_found_without_a_target():
    table = mercer.datasets.load_visitors()
    record = _study(table.frame, target=None).record
    assert record.structure.method == "density clusters"
    assert len([one for one in record.structure.clusters if one.name != "no group"]) == 4
    assert record.structure.stability > 0.8
    assert record.structure.number is not None
    assert len(record.structure.odd_rows) == 10
    assert record.map.groups


# `make soak` tries more tables and splits.
@pytest.mark.parametrize("table", [load_wine, load_diabetes])
def test_the_interval_covers_the_score_on_rows_kept_apart(table):
    covered = [_covers(table, seed) for seed in range(3)]
    assert sum(covered) >= 2


@pytest.mark.soak
@pytest.mark.parametrize("table", [load_wine, load_breast_cancer, load_diabetes])
def test_the_interval_covers_the_score_over_many_splits(table):
    covered = [_covers(table, seed) for seed in range(40)]
    assert np.mean(covered) >= 0.9


def _covers(table, seed):
    frame = table(as_frame=True).frame
    kept = np.random.default_rng(seed).random(len(frame)) < 0.35
    task = "regression" if table is load_diabetes else "classification"
    table = read_table(frame[~kept].reset_index(drop=True))
    roles, _ = guess_roles(table, target="target", task=task, keep_leaks=True)
    options = Options(seed=seed, candidates=[one for one in FEW if one in _names(task)])
    dataset = gather(table, roles)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selection = select(dataset, options, Clock(None, None, True))
        model, _ = fit_final(selection, dataset, options, None)
    apart = frame[kept]
    told = model.predict(apart.drop(columns="target"))
    # The score on rows kept apart is itself known from few rows only.
    if task == "regression":
        true = apart["target"].to_numpy()
        score = r2_score(true, told)
        without = [r2_score(np.delete(true, row), np.delete(told, row)) for row in range(len(true))]
        # Two standard errors by the jackknife.
        spread = 2 * np.sqrt((len(true) - 1) * np.var(without))
    else:
        score = balanced_accuracy_score(apart["target"].astype(str), told)
        spread = 2 * np.sqrt(score * (1 - score) / len(apart)) + 1 / len(apart)
    sure = measure_sureness(selection, dataset, options)
    return sure.low - spread <= score <= sure.high + spread


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"metric": "speed"}, "metric: must be one of balanced_accuracy, accuracy, f1_macro, roc_auc, log_loss for "),
        ({"costs": [[0, 1, 2]]}, "costs: each action must have one cost per class, no, yes; got 3 for 2 classes."),
        ({"actions": ["a"], "costs": [[0, 1], [1, 0]]}, "costs: there must be one name per action, 2; got 1."),
        ({"candidates": ["magic"]}, "candidates: there is no candidate 'magic'. For classes there are: the constant"),
        ({"positive": "maybe"}, "--positive: the class must be one of 'no' and 'yes'; got 'maybe'."),
    ],
)
def test_wrong_options_are_refused(options, text):
    with pytest.raises((ParameterError, DataError), match=re.escape(text)):
        _study(_flowers(60), **options)


def test_a_study_shows_itself_and_is_silent(flowers):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _study(_flowers(80))
    pytest.importorskip("mercer.app.report.pages")
    assert flowers._repr_html_().startswith("<iframe srcdoc=")


def test_intervals_of_predictions_are_stored_although_the_time_is_over():
    clock = Clock(1e-9, None, False)
    assert clock.attempt("a figure", lambda: "made", 0.5, "left out") == "left out"
    assert clock.attempt("intervals", lambda: "made", 0.5, "left out", ALWAYS) == "made"
    clock.interrupted = True
    assert clock.attempt("intervals", lambda: "made", 0.5, "left out", ALWAYS) == "made"


def test_a_study_gives_its_model_as_a_pipeline_of_scikit_learn():
    frame = _flowers(120)
    found = _study(frame)
    pipeline = found.to_sklearn()
    assert {type(step).__module__.split(".")[0] for _, step in pipeline.steps} == {"sklearn"}
    rows = frame.drop(columns="target")
    assert pipeline.predict(rows).tolist() == found.model.predict(rows).tolist()
    with pytest.raises(DataError, match="to_sklearn: the study has no model"):
        replace(found, model=None).to_sklearn()


def test_the_finished_model_is_scored_on_the_rows_of_a_holdout_file(tmp_path):
    rows = _flowers(300)
    rows.iloc[200:].to_csv(tmp_path / "later.csv", index=False)
    options = {"quick": True, "candidates": ["naive Bayes"], "folds": 3, "inner": 2}
    found = mercer.run(rows.iloc[:200], "target", holdout=str(tmp_path / "later.csv"), **options)
    held = found.record.holdout
    later = rows.iloc[200:]
    assert held.score == pytest.approx(balanced_accuracy_score(later["target"], found.model.predict(later)))
    assert (held.table, held.n_rows) == ("later.csv", 100)
    assert held.low < held.score < held.high
    assert found.record.findings[0].startswith("On 100 rows of later.csv, which the study has not seen, the balanced")
    # Rows whose target is turned around are not predicted as the study claims.
    later.assign(target=np.where(later["target"] == "yes", "no", "yes")).to_csv(tmp_path / "later.csv", index=False)
    turned = mercer.run(rows.iloc[:200], "target", holdout=str(tmp_path / "later.csv"), **options)
    assert turned.record.findings[0].endswith(": worse than chance explains.")
    later.drop(columns="target").to_csv(tmp_path / "later.csv", index=False)
    with pytest.raises(DataError, match="there is no column `target`"):
        mercer.run(rows.iloc[:200], "target", holdout=str(tmp_path / "later.csv"), **options)


def test_a_busy_machine_keeps_more_of_a_budget_for_the_report(monkeypatch):
    clock, now = Clock(20.0, None, False), {"wall": 0.0, "work": 0.0}
    clock.began = clock.worked = 0.0
    times = SimpleNamespace(monotonic=lambda: now["wall"], process_time=lambda: now["work"])
    monkeypatch.setattr(clock_module, "time", times)
    now.update(wall=10.0, work=10.0)
    assert clock.measure_slowness() == 1.0
    idle = clock.measure_left()
    now.update(work=2.5)
    assert clock.measure_slowness() == 4.0
    # Four times 0.4 s are kept instead of 4 % of the budget.
    assert clock.measure_left() == pytest.approx(idle - (4 * 0.4 - 0.04 * 20))
    now.update(wall=18.0, work=4.5)
    assert clock.measure_left() == pytest.approx(0.4)
    # A small part takes 0.15 s of work, and 0.6 s here.
    assert clock.attempt("a figure", lambda: "made", 0.5, "left out") == "left out"
    assert clock.attempt("intervals", lambda: "made", 0.5, "left out", ALWAYS) == "made"
    now.update(work=18.0)
    assert clock.attempt("a figure", lambda: "made", 0.5, "left out") == "made"
