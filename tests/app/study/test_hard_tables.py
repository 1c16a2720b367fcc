"""Studies of tables that used to stop with an error end with a report, and its record says what was done."""

import numpy as np
import pandas
import pytest

import mercer
from mercer.app.table import guess_roles, read_table
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


def test_folds_of_one_class_only_are_refused_in_a_sentence():
    frame = _draw(60)
    frame["day"] = range(60)
    frame["y"] = np.where(frame["day"] < 52, "u", "v")
    with pytest.raises(DataError, match="the training rows have two classes or more"):
        mercer.run(frame, "y", order="day", **QUICK)


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
