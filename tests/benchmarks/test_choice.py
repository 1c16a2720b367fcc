"""The comparison of whole studies: losses, skills, pairs, and the page."""

import json

import numpy as np
import pandas
import pytest

from benchmarks.choice import compare, summarise
from benchmarks.choice_contestants import CONTESTANTS, measure_losses
from benchmarks.choice_report import render
from benchmarks.choice_tables import TABLES, ChoiceTable

TABLE = ChoiceTable("toy", "sklearn/toy", "y", "regression")


def test_losses_are_log_losses_and_squared_errors():
    shares = np.array([[0.5, 0.5], [0.25, 0.75]])
    losses = measure_losses("classification", np.array(["a", "c"]), shares, np.array(["a", "b"]))
    # Class c is unknown to the model: it counts as almost impossible.
    np.testing.assert_allclose(losses, [np.log(2), -np.log(1e-6)])
    np.testing.assert_allclose(measure_losses("regression", np.array([1.0]), np.array([3.0]), np.array([])), [4.0])


def _summarise_toy():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"x": np.arange(40.0), "y": rng.normal(size=40)})
    answers = {"mercer": 0.1, "flaml": 0.2, "autogluon": 0.15, "lightgbm": 0.05, "sklearn": None}
    found = {}
    for one, loss in answers.items():
        for split in range(2):
            part = {"losses": np.full(12, loss or 0.0) + 0.01 * rng.random(12), "seconds": 1.0, "model": "lasso"}
            found["toy", one, split] = {"error": "no memory"} if loss is None else part
    return summarise(TABLE, frame, found, 2, 12.0, list(CONTESTANTS))


def test_skills_and_leads_are_paired_with_mercer():
    rows = {row["contestant"]: row for row in _summarise_toy()["rows"]}
    assert rows["lightgbm"]["skill"] > rows["mercer"]["skill"] > rows["flaml"]["skill"]
    assert rows["mercer"]["lead"] == 0
    assert rows["lightgbm"]["lead"] == pytest.approx(rows["lightgbm"]["skill"] - rows["mercer"]["skill"])
    assert rows["lightgbm"]["lead"] > 2 * rows["lightgbm"]["lead_error"]
    assert rows["sklearn"]["skill"] is None


def test_the_page_marks_the_best_the_clearly_better_and_the_failed():
    page = render([_summarise_toy()])
    line = next(line for line in page.splitlines() if line.startswith("| toy |"))
    cells = [cell.strip() for cell in line.split("|")]
    assert cells[6].endswith("†")
    assert cells[8].startswith("**")
    assert cells[8].endswith("*")
    assert cells[9] == "failed"
    assert "LightGBM is clearly better than mercer on 1 of 1 tables" in page


def test_half_of_the_tables_only_report():
    assert len({table.name for table in TABLES}) == len(TABLES) >= 20
    assert sum(not table.development for table in TABLES) >= len(TABLES) / 2


def test_what_is_stored_is_not_run_again(tmp_path, monkeypatch):
    """Parts of results outlast a stop: only those that are lacking are run."""
    table = ChoiceTable("toy", "sklearn/toy", "y", "regression")
    monkeypatch.setattr("benchmarks.choice.TABLES", (table,))
    frame = pandas.DataFrame({"x": np.arange(40.0), "y": np.random.default_rng(0).normal(size=40)})
    (tmp_path / "tables").mkdir()
    frame.to_csv(tmp_path / "tables" / "toy.csv", index=False)
    (tmp_path / "parts").mkdir()
    part = {"losses": [0.1] * 12, "seconds": 1.0, "model": "lasso", "versions": {"mercer": "1"}}
    (tmp_path / "parts" / "toy-mercer-0.json").write_text(json.dumps(part))
    # The interpreter of the other contestant does not exist, which would end the comparison if it were not asked for.
    with pytest.raises(FileNotFoundError):
        compare(tmp_path, ["toy"], 1, 1.0, {"mercer": "no-python", "flaml": "no-python"}, tmp_path / "out")
    compare(tmp_path, ["toy"], 1, 1.0, {"mercer": "no-python"}, tmp_path / "out")
    stored = json.loads((tmp_path / "out" / "toy.json").read_text())
    assert stored["rows"][0]["models"] == ["lasso"]
    assert stored["versions"] == {"mercer": "1"}


def test_a_table_that_is_not_whole_in_time_is_not_stored(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.choice.TABLES", (TABLE,))
    compare(tmp_path, ["toy"], 1, 1.0, {"mercer": "no-python"}, tmp_path / "out", limit=-1.0)
    assert not list((tmp_path / "out").iterdir())
    assert capsys.readouterr().out == "toy is not whole: the time was over\n"


def test_the_page_names_every_run_and_what_older_ones_lack():
    new = _summarise_toy()
    old = {**new, "table": "old", "date": "2026-11-17"}
    page = render([{**new, "date": "2099-01-01"}, old])
    assert page.count("2026-11-17") == page.count("2099-01-01") == 1
    assert "row by row." in page.split("Measured on")[0]
    assert "row by row." not in render([{**new, "date": "2099-01-01"}]).split("Measured on")[0]
