"""Studies of tables that used to stop with an error end with a report, and its record says what was done."""

from pathlib import Path

import numpy as np
import pandas
import pytest

import mercer
from mercer._source.table import read_table
from mercer.app.command import main
from mercer.app.study import Study
from mercer.app.table import guess_roles
from mercer.errors import DataError

QUICK = {"quick": True, "folds": 3, "inner": 2, "candidates": ["nearest centroid"]}


def _draw(n_rows=90, seed=0):
    random = np.random.default_rng(seed)
    kind = np.array(["u", "v", "w"])[random.integers(0, 3, n_rows)]
    return pandas.DataFrame(
        {"x": random.normal(size=n_rows) + 2 * (kind == "v"), "z": random.random(n_rows), "y": kind}
    )


def _list_texts(record):
    return " ".join(notice.text for notice in record.data.notices)


def test_a_class_with_a_single_row_is_set_aside_and_said():
    frame = _draw()
    frame.loc[5, "y"] = "once"
    record = mercer.run(frame, "y", **QUICK).record
    assert record.question.classes == ["u", "v", "w"]
    assert "`once` has too few rows for fitting and testing and is left out." in _list_texts(record)
    assert sum(map(sum, record.confusion.counts)) == 89
    assert next(column for column in record.data.columns if column.name == "x").association > 0.1


@pytest.mark.parametrize("metric", ["balanced_accuracy", "roc_auc", "log_loss"])
def test_classes_that_appear_late_in_time_are_no_error(metric):
    frame = _draw(120)
    frame["day"] = pandas.date_range("2020-01-01", periods=len(frame))
    frame.loc[:25, "y"] = "u"  # the first training part has a single class
    frame.loc[80::3, "y"] = "late"
    record = mercer.run(frame, "y", order="day", metric=metric, **{**QUICK, "folds": 4}).record
    assert record.question.classes == ["late", "u", "v", "w"]
    assert {candidate.status for candidate in record.candidates} <= {"chosen", "best", "as good", "worse"}
    # The rows after the first training part with two classes are tested.
    assert 60 <= sum(map(sum, record.confusion.counts)) <= 96
    assert np.isfinite([record.sureness.score, record.sureness.low, record.sureness.high]).all()


def test_folds_of_one_class_only_end_in_a_report_without_a_model():
    frame = _draw(60)
    frame["day"] = range(60)
    frame["y"] = np.where(frame["day"] < 52, "u", "v")
    study = mercer.run(frame, "y", order="day", **QUICK)
    assert study.model is None
    assert study.record.answer == (
        "There is no model: in at most 0 of 3 folds the training rows have two classes or more. Give other folds, or "
        "leave out --time or --group."
    )


@pytest.mark.parametrize("n_groups", [2, 4])
def test_few_groups_give_fewer_folds_or_a_report_without_a_model(n_groups):
    frame = _draw(120)
    frame["person"] = np.arange(120) % n_groups
    study = mercer.run(frame, "y", group="person", **{**QUICK, "folds": 5})
    if n_groups == 2:
        assert study.model is None
        assert study.record.answer == (
            "There is no model: a study by groups needs at least 3 groups; got 2. Leave out --group."
        )
        return
    assert study.model is not None
    assert study.record.question.splits == "4 folds that keep groups of `person` together"
    texts = [notice.text for notice in study.record.data.notices]
    assert "The rows have 4 groups, so that they are split into 4 folds instead of 5." in texts


SMALL = {
    "three rows": ("a,b,y\n1,2,p\n3,4,q\n5,6,p\n", "y", "a study needs at least 10 rows; got 3. Add rows."),
    "no target": ("a,b,y\n1,2,p\n3,4,q\n5,6,p\n", None, "a study needs at least 10 rows; got 3. Add rows."),
    "one row": (
        "a,y\n1,2\n",
        "y",
        "the target `y` must have at least two values; every row has `2`. Choose another column.",
    ),
    "rare classes": (
        "a,y\n" + "".join(f"{k % 7},c{k // 3}\n" for k in range(30)),
        "y",
        "at least two classes of the target need 5 rows or more; the second largest has 3. Add rows, or merge classes.",
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_table_too_small_for_a_model_ends_in_a_report_that_says_why(name, tmp_path, monkeypatch, capsys):
    text, target, why = SMALL[name]
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text)
    given = ["run", "t.csv", "--no-open", *(["--target", target] if target else [])]
    assert main(given) == 1
    assert f"There is no model: {why}" in capsys.readouterr().out
    study = Study.load("report")
    assert study.model is None
    assert study.record.question.n_rows == len(text.splitlines()) - 1
    assert [column.name for column in study.record.data.columns] == text.splitlines()[0].split(",")
    page = Path("report/report.html").read_text()
    assert "There is no model" in page
    assert "could not be made" not in page
    with pytest.raises(DataError, match="the study has no model; its report says why"):
        study.predict("t.csv")


def test_costs_of_a_class_that_is_set_aside_are_dropped():
    frame = _draw()
    frame.loc[5, "y"] = "once"
    costs = {"u": {"v": 2.0, "once": 3.0}, "v": {"u": 1.0}, "w": {"u": 1.0}, "once": {"u": 4.0}}
    decision = mercer.run(frame, "y", costs=costs, **QUICK).record.decision
    assert decision.actions == ["u", "v", "w"]
    assert decision.costs == [[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


@pytest.mark.parametrize("step", [0, 1, 10**9, 10**22])
def test_whole_numbers_of_25_digits_are_summarised(step):
    frame = _draw(40)
    frame["big"] = [float(10**24 + k * step) for k in range(40)]
    columns = guess_roles(read_table(frame), target="y")[0].columns
    big = next(column for column in columns if column.name == "big")
    assert big.summary.startswith("mean 1")
    assert sum(big.counts) in (0, 40)


def test_classes_that_are_numbers_are_shown_in_the_order_of_numbers():
    random = np.random.default_rng(0)
    grade = np.repeat([2, 10, 3], 30)
    frame = pandas.DataFrame({"x": grade + 0.1 * random.normal(size=90), "y": grade})
    record = mercer.run(frame, "y", keep_leaks=True, **QUICK).record
    assert record.confusion.classes == ["2", "3", "10"]
    assert record.confusion.counts == [[30.0, 0.0, 0.0], [0.0, 30.0, 0.0], [0.0, 0.0, 30.0]]
    assert [curve.name for curve in record.rates] == ["2", "3", "10"]
