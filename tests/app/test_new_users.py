"""What new users type is understood or answered with what they meant."""

import csv
import json

import numpy as np
import pandas
import pytest

import mercer
from mercer.app.command import main
from mercer.app.study.metrics import METRICS
from mercer.app.study.record import read_record
from mercer.errors import DataError

QUICK = ["--quick", "--folds", "3", "--inner", "2", "--candidates", "naive Bayes", "--no-open"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with a table of rare failures and a run on it."""
    folder = tmp_path_factory.mktemp("users")
    random = np.random.default_rng(0)
    failed = random.random(200) < 0.15
    heat = np.round(random.normal(size=200) + 2 * failed, 3).astype(np.float32)
    frame = pandas.DataFrame({"heat": heat, "load": random.random(200), "failed": np.where(failed, "yes", "no")})
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    assert main(["run", str(folder / "t.csv"), "--target", "failed", "-o", str(folder / "run"), *QUICK, "--quiet"]) == 0
    return folder


def _refuse(capsys, *words):
    assert main(list(words)) == 2
    return capsys.readouterr().err.removeprefix("mercer: reading the table\n").removeprefix("mercer: ").rstrip("\n")


def _predict(capsys, *words):
    assert main(["predict", *map(str, words)]) == 0
    said = capsys.readouterr()
    return list(csv.DictReader(said.out.splitlines())), said.err


def test_the_threshold_of_the_model_is_written_and_can_be_given(place, capsys):
    record = read_record(place / "run")
    share = record.fit.threshold
    failed = pandas.read_csv(place / "t.csv")["failed"]
    assert share == pytest.approx((failed == "yes").mean())
    assert "yes if its probability is at least" in (place / "run" / "report.html").read_text(encoding="utf-8")
    rows, said = _predict(capsys, place / "run", place / "t.csv")
    assert said == f"mercer: `yes` is predicted if its probability is at least {share:.3g}.\n"
    assert all((row["prediction"] == "yes") == (float(row["probability of yes"]) >= share) for row in rows)
    rows, said = _predict(capsys, place / "run", place / "t.csv", "--threshold", "0.8")
    assert "at least 0.8." in said
    assert all((row["prediction"] == "yes") == (float(row["probability of yes"]) >= 0.8) for row in rows)
    rows, _ = _predict(capsys, place / "run", place / "t.csv", "--threshold", "0.8", "--positive", "no")
    assert all((row["prediction"] == "no") == (float(row["probability of no"]) >= 0.8) for row in rows)
    assert _refuse(capsys, "predict", str(place / "run"), str(place / "t.csv"), "--threshold", "2") == (
        "--threshold must be a probability between 0 and 1; got 2."
    )


def test_a_study_with_a_threshold_decides_by_it(place, capsys):
    words = ["run", str(place / "t.csv"), "--target", "failed", "--threshold", "0.4", "--positive", "no"]
    assert main([*words, "-o", str(place / "other"), *QUICK, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["threshold"] == pytest.approx(0.4)
    record = read_record(place / "other")
    assert record.question.positive == "no"
    study = mercer.run(
        pandas.read_csv(place / "t.csv"), "failed", threshold=0.4, quick=True, candidates=["naive Bayes"]
    )
    shares = study.model.predict_proba(pandas.read_csv(place / "t.csv"))[:, 1]
    assert (study.model.predict(pandas.read_csv(place / "t.csv")) == np.where(shares > 0.4, "yes", "no")).all()
    with pytest.raises(mercer.errors.ParameterError, match="two classes"):
        mercer.run(pandas.read_csv(place / "t.csv"), "load", threshold=0.4)


def test_an_explanation_shows_numbers_as_people_write_them(place, capsys):
    assert main(["explain", str(place / "run"), str(place / "t.parquet"), "--row", "3"]) == 0
    heat = pandas.read_csv(place / "t.csv")["heat"].iloc[2]
    assert f"({heat:.6g})" in capsys.readouterr().out


def test_the_help_lists_metrics_and_candidates(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    for metric in (name for names in METRICS.values() for name in names):
        assert metric in said
    for task in (*METRICS, "clustering"):
        for candidate in mercer.model_selection.candidates(task):
            assert candidate.name in said


@pytest.mark.parametrize(
    ("word", "meant"), [("train", "run"), ("rnu", "run"), ("fit", "run"), ("pedict", "predict"), ("explian", "explain")]
)
def test_a_mistyped_command_is_answered_with_the_nearest(word, meant, capsys):
    said = _refuse(capsys, word, "t.csv")
    assert said == f"there is no command {word!r}, and no file of that name. Did you mean: mercer {meant}?"


def test_words_without_their_option_are_answered_with_it(place, capsys):
    table = str(place / "t.csv")
    assert _refuse(capsys, "run", table, "failed") == (
        "run takes one table; got 'failed' too. To predict that column, give --target failed."
    )
    assert _refuse(capsys, "run", table, "--target", "failed", "--time", "2minutes") == (
        "t.csv: --time must name a column of times; got '2minutes'. To limit how long the study takes, give "
        "--budget 2minutes."
    )
    with pytest.raises(DataError) as caught:
        mercer.run(table, "failed", time="5m")
    assert str(caught.value) == (
        "t.csv: time must name a column of times; got '5m'. To limit how long the study takes, give budget='5m'."
    )


@pytest.mark.parametrize(
    ("text", "seconds"), [("2minutes", 120.0), ("1 hour", 3600.0), ("90 secs", 90.0), ("1d", 86400.0)]
)
def test_durations_are_understood_as_people_write_them(text, seconds):
    from mercer.app.option_kinds import DURATION

    assert DURATION.parse(text) == seconds


def test_without_a_target_the_likely_one_is_named_on_the_terminal(place, capsys):
    frame = pandas.read_csv(place / "t.csv").rename(columns={"failed": "failure"})
    frame.to_csv(place / "u.csv", index=False)
    assert main(["run", str(place / "u.csv"), "-o", str(place / "groups"), "--no-open"]) == 0
    said = capsys.readouterr().out
    assert "note: failure: This column looks like a target. Give --target failure to predict it." in said


def test_every_column_that_is_read_in_another_way_is_announced_with_the_option_that_changes_it(place, capsys):
    random = np.random.default_rng(0)
    frame = pandas.read_csv(place / "t.csv")[["load", "failed"]]
    frame["price"] = [f"${1000 + number:,}" for number in random.integers(0, 900, len(frame))]
    for number in range(9):
        frame[f"share{number}"] = [f"{value:.1f}%" for value in random.uniform(0, 100, len(frame))]
    frame.to_csv(place / "written.csv", index=False)
    words = ["run", str(place / "written.csv"), "--target", "failed", "-o", str(place / "written"), *QUICK]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    price = next(line for line in lines if line.startswith("note: price: The texts are read as numbers, without `$`"))
    assert "--category price" in price
    assert "note: the table: The report has 2 more notes on how columns were read." in lines
