"""Studies of several targets: each is studied without the others, and predictions are written for all of them."""

import json

import numpy as np
import pandas
import pytest

import mercer
from mercer.app.command import main
from mercer.app.several import Studies, split_targets
from mercer.errors import DataError

QUICK = ["--quick", "--folds", "3", "--inner", "2", "--splits", "random", "--no-open", "--jobs", "1"]
# The one candidate for classes and for numbers that is quick.
MODELS = ["--candidates", "one tree"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    rng = np.random.default_rng(0)
    x, other = rng.normal(size=(2, 90))
    cost = 3 * x + 0.5 * rng.normal(size=90)
    # The two targets are almost the same: each would give the other away.
    frame = pandas.DataFrame({"x": x, "other": other, "the cost": cost, "dear": np.where(cost > 0, "yes", "no")})
    frame.to_csv(folder / "t.csv", index=False)
    arguments = ["run", str(folder / "t.csv"), "--target", "the cost", "--target", "dear", *QUICK, *MODELS]
    assert main([*arguments, "--json", "-o", str(folder / "run")]) == 0
    return folder


def test_each_target_is_studied_without_the_others(place):
    studies = Studies.load(place / "run")
    assert list(studies.studies) == ["the cost", "dear"]
    assert studies["the cost"].record.question.task == "regression"
    assert studies["dear"].record.question.task == "classification"
    for target, study in studies.studies.items():
        assert [column.name for column in study.record.data.columns] == ["x", "other", target]


def test_one_page_has_a_section_for_each(place):
    page = (place / "run" / "report.html").read_text()
    for target, study in Studies.load(place / "run").studies.items():
        assert f"<h2>{target}</h2>" in page
        assert study.record.findings[0] in page
    assert 'href="the_cost/report.html"' in page
    assert (place / "run" / "the_cost" / "report.html").exists()


def test_predict_writes_all_targets(place, capsys):
    rows = pandas.read_csv(place / "t.csv").drop(columns=["the cost", "dear"])
    rows.to_csv(place / "new.csv", index=False)
    assert main(["predict", str(place / "run"), str(place / "new.csv"), "-o", str(place / "out.csv")]) == 0
    written = pandas.read_csv(place / "out.csv")
    names = ["the cost prediction", "dear prediction", "dear probability of no", "dear probability of yes"]
    assert written.columns.tolist() == names
    loaded = Studies.load(place / "run")
    np.testing.assert_allclose(written["the cost prediction"], loaded.predict(rows)["the cost prediction"])
    capsys.readouterr()


def test_commands_for_one_model_name_the_folders(place, capsys):
    assert main(["explain", str(place / "run"), str(place / "t.csv"), "--row", "3"]) == 2
    error = capsys.readouterr().err
    assert "the run has models of `the cost`, `dear`. Give the folder of one target" in error
    assert main(["predict", str(place / "run"), str(place / "t.csv"), "--threshold", "0.4"]) == 2
    assert "belong to one target" in capsys.readouterr().err


def test_the_json_summary_has_every_target(place, capsys):
    arguments = ["run", str(place / "t.csv"), "--target", "the cost,dear", *QUICK, *MODELS]
    assert main([*arguments, "--json", "-o", str(place / "second")]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert list(summary["targets"]) == ["the cost", "dear"]
    assert summary["targets"]["dear"]["task"] == "classification"


def test_names_are_split_at_commas_unless_a_column_is_called_so():
    assert split_targets("a,b", ["a", "b"]) == ["a", "b"]
    assert split_targets("a,b", ["a", "a,b"]) == ["a,b"]
    assert split_targets(["a", "b"], ["a", "b"]) == ["a", "b"]
    assert split_targets(None, ["a"]) == []
    with pytest.raises(DataError, match="`a` is given twice"):
        split_targets(["a", "a"], ["a"])


def test_options_of_one_target_are_refused(place):
    with pytest.raises(DataError, match="positive: it belongs to one target, and 2 are given"):
        mercer.run(place / "t.csv", ["the cost", "dear"], positive="yes")
    with pytest.raises(DataError, match="there is no column `nothing`"):
        mercer.run(place / "t.csv", ["the cost", "nothing"])
