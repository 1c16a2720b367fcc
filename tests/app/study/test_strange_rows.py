"""The strange rows of a table: which are listed, with which reasons, and tables that are odd themselves."""

import numpy as np
import pandas as pd
import pytest

from mercer.app.report.sections import make_sections
from mercer.app.study.dataset import Dataset
from mercer.app.study.strange_rows import find_strange_rows
from tests.app.report.records import classification


def dataset(frame, kinds=None):
    kinds = kinds or dict.fromkeys(frame.columns, "number")
    n = len(frame)
    return Dataset("regression", frame, np.zeros(n), np.arange(n), kinds, [])


def table(n=200):
    random = np.random.default_rng(0)
    return pd.DataFrame({"age": random.normal(40.0, 5.0, n), "income": random.normal(3e4, 4e3, n), "height": 1.7})


def test_a_row_far_out_is_listed_with_the_column_and_its_usual_range():
    frame = table()
    frame.loc[17, "income"] = 9e6
    frame.loc[17, "age"] = 300.0
    rows = find_strange_rows(dataset(frame))
    assert rows[0].row == 18
    assert rows[0].strangeness > 0.6
    assert {reason.split(" is ")[0] for reason in rows[0].reasons} == {"age", "income"}
    assert any(reason.startswith("income is 9000000 (usually 2") for reason in rows[0].reasons)


def test_one_wrong_value_among_many_columns_is_found():
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(1000, 20)), columns=[f"c{k}" for k in range(20)])
    frame.loc[7, "c4"] = 12.0
    rows = find_strange_rows(dataset(frame))
    assert [row.row for row in rows] == [8]
    assert len(rows[0].reasons) <= 3
    assert rows[0].reasons[0].startswith("c4 is 12 (usually −1.")


def test_a_long_tail_of_positive_values_is_not_far_out():
    values = pd.DataFrame({"income": np.exp(np.random.default_rng(0).normal(size=2000))})
    assert find_strange_rows(dataset(values)) == []


def test_a_row_that_is_rare_in_all_columns_is_found():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(1000, 5)), columns=list("abcde"))
    frame.loc[5] = 4.0
    assert [row.row for row in find_strange_rows(dataset(frame))] == [6]


def test_a_regular_table_has_no_strange_rows():
    grid = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2)
    assert find_strange_rows(dataset(pd.DataFrame(grid, columns=["a", "b"]))) == []


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0, 2.0]}),
        pd.DataFrame({"a": np.ones(50)}),
        pd.DataFrame({"a": np.full(50, np.nan)}),
        pd.DataFrame({"a": ["x"] * 50}),
        pd.DataFrame({"a": np.r_[np.inf, -np.inf, np.nan, np.arange(60.0)]}),
        pd.DataFrame({"a": pd.array([1, None] * 40, dtype="Int64"), "b": np.arange(80.0)}),
        pd.DataFrame({"a": np.r_[1e300, -1e300, np.arange(60.0)]}),
    ],
)
def test_odd_tables_do_not_fail(frame):
    for row in find_strange_rows(dataset(frame)):
        assert row.reasons


def test_columns_that_are_not_numbers_are_left_out():
    frame = table()
    frame["colour"] = "red"
    frame.loc[3, "age"] = -900.0
    kinds = {"age": "number", "income": "number", "colour": "category"}
    assert find_strange_rows(dataset(frame, kinds))[0].row == 4


def test_the_report_shows_them():
    section = next(section for section in make_sections(classification()) if section.name == "strange")
    assert section.tables[0].rows == [["21", "0.78", "pressure is 9000 (usually 1 to 5)"]]
