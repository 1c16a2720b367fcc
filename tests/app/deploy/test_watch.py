"""The watch over new rows: silent on rows of the same source, and right about what has changed."""

import json

import numpy as np
import pytest

import mercer
from mercer.app.command import main
from mercer.app.deploy.drift import compare_rows, store_reference
from tests.app.deploy.studies import make_rows, study_classes

KINDS = {"heat": "number", "load": "number", "site": "category", "day": "date"}


@pytest.fixture(scope="module")
def reference():
    return store_reference(make_rows(300, seed=1), KINDS, 0)


def test_rows_of_the_same_source_raise_few_alarms(reference):
    alarms = [any(c.changed for c in compare_rows(reference, make_rows(60, seed=s)).columns) for s in range(20, 40)]
    assert sum(alarms) <= 3


def test_what_has_changed_is_named(reference):
    new = make_rows(200, seed=2)
    new["heat"] += 1.0
    new["site"] = np.where(np.arange(200) % 2, "east", new["site"])
    new.loc[:120, "load"] = np.nan
    drift = compare_rows(reference, new)
    assert drift.changed
    tests = {column.column: column.test for column in drift.columns if column.changed}
    assert tests == {"heat": "Kolmogorov-Smirnov", "site": "chi-square", "load": "Fisher's exact"}
    assert drift.area > 0.8
    assert any("`site` has changed: `east` was 0 % of the rows and is" in text for text in drift.sentences)


def test_a_forest_sees_what_no_single_column_shows():
    random = np.random.default_rng(0)
    old = make_rows(600, seed=3)[["heat", "load"]].copy()
    old["load"] = old["heat"] + 0.1 * random.normal(size=600)
    new = old.copy()
    new["load"] = random.permutation(new["load"])
    drift = compare_rows(store_reference(old, {"heat": "number", "load": "number"}, 0), new)
    assert not any(column.changed for column in drift.columns)
    assert drift.area_p_value < 1e-6
    assert drift.changed


def test_the_command_measures_the_score_where_the_target_is_known(tmp_path, capsys):
    folder = study_classes().save(tmp_path / "run")
    same, other = tmp_path / "same.csv", tmp_path / "other.csv"
    rows = make_rows(150, seed=6)
    rows.to_csv(same, index=False)
    assert main(["watch", str(folder), str(same), "--level", "0.001", "--json"]) == 0
    drift = json.loads(capsys.readouterr().out)
    assert drift["sentences"][-1].endswith("The score holds.")
    # The study said a little more than the new rows give: 150 rows do not tell this from chance.
    found = float(drift["sentences"][-1].split(" is ")[1].split(";")[0])
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    record["sureness"] |= {"low": found + 0.01, "score": found + 0.02, "high": found + 0.03}
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    assert main(["watch", str(folder), str(same), "--level", "0.001", "--json"]) == 0
    worse = json.loads(capsys.readouterr().out)["sentences"][-1]
    assert worse.endswith("That is worse, but 150 rows are too few to tell it from chance.")
    rows.assign(failure=np.where(rows["failure"] == "yes", "no", "yes")).to_csv(other, index=False)
    assert main(["watch", str(folder), str(other), "--level", "0.001"]) == 3
    assert "That is worse than chance explains." in capsys.readouterr().out
    assert main(["watch", str(folder), str(other), "--level", "2"]) == 2


def test_a_study_may_keep_no_rows_and_watching_says_so(tmp_path, capsys):
    rows = make_rows().drop(columns="value")
    options = {"quick": True, "folds": 3, "inner": 2, "candidates": ["naive Bayes"], "splits": "random"}
    study = mercer.run(rows, "failure", no_rows=True, **options)
    assert study.record.reference is None
    folder = study.save(tmp_path / "run")
    rows.to_csv(tmp_path / "new.csv", index=False)
    assert main(["watch", str(folder), str(tmp_path / "new.csv")]) == 2
    assert "Run it again without --no-rows." in capsys.readouterr().err


def test_new_rows_are_compared_with_those_of_a_study_without_a_target(tmp_path, capsys):
    rows = make_rows(60, seed=1)[["heat", "load"]]
    folder = mercer.run(rows, quick=True).save(tmp_path / "run")
    rows.assign(heat=rows["heat"] + 9).to_csv(tmp_path / "new.csv", index=False)
    assert main(["watch", str(folder), str(tmp_path / "new.csv")]) == 3
    assert "`heat` has changed" in capsys.readouterr().out
