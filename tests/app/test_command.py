"""The command line as a newcomer meets it: one run, and everything that is done with what it leaves."""

import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas
import pytest

import mercer
from mercer.app.command import main
from mercer.app.commands import COMMANDS
from mercer.app.commands.run import CLASSIFIERS, REGRESSORS
from mercer.app.job import make_cost_matrix
from mercer.app.option_kinds import COSTS, DURATION
from mercer.app.study.choice.stacking import NAME as STACKED
from mercer.datasets import load_failures
from mercer.errors import DataError
from mercer.model_selection import candidates


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the bundled table and a run on it."""
    folder = tmp_path_factory.mktemp("job")
    load_failures(n_samples=400).frame.to_csv(folder / "machines.csv", index=False)
    words = ["run", f"{folder}/machines.csv", "--target", "failure", "--quick", "--no-open", "--quiet"]
    assert main([*words, "--candidates", "naive Bayes; linear discriminant", "-o", f"{folder}/first"]) == 0
    return folder


def answer_of(capsys, *words):
    """What a command prints, and its status."""
    capsys.readouterr()
    status = main([str(word) for word in words])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_run_leaves_a_report_a_record_and_a_model(place):
    assert sorted(one.name for one in (place / "first").iterdir()) == ["model.mercer", "report.html", "run.json"]
    record = json.loads((place / "first" / "run.json").read_text(encoding="utf-8"))
    assert record["question"]["target"] == "failure"
    assert record["origin"]["command"].startswith("mercer run ")
    roles = {column["name"]: column["role"] for column in record["data"]["columns"]}
    assert (roles["repair_cost"], roles["machine_id"]) == ("leak", "id")


def test_json_and_a_configuration_file_serve_machines(place, capsys):
    config = place / "mercer.toml"
    config.write_text(
        'target = "failure"\nignore = ["site"]\nkeep = "repair_cost"\nquick = true\ncandidates = ["naive Bayes"]\n',
        encoding="utf-8",
    )
    words = ("run", place / "machines.csv", "--config", config, "--json", "-o", place / "second")
    status, out, err = answer_of(capsys, *words)
    assert (status, err) == (0, "")
    outcome = json.loads(out)
    assert outcome["score"]["score"] > 0.9
    assert os.path.exists(outcome["model"])
    status, out, _ = answer_of(capsys, "compare", place / "first", place / "second")
    assert status == 0
    assert "Both runs studied the same table." in out
    assert re.search(r"(The second run is better|The scores do not differ clearly): balanced accuracy 0.9\d* ", out)
    assert "`repair_cost` was a leak column in the first run and a number column in the second." in out


def test_predictions_are_those_of_the_model_and_copy_the_columns_asked_for(place, capsys):
    output = place / "predicted.parquet"
    words = ("predict", place / "first", place / "machines.csv", "-o", output, "--with", "machine_id", "--json")
    status, out, _ = answer_of(capsys, *words)
    assert (status, json.loads(out)["rows"]) == (0, 400)
    found = pandas.read_parquet(output)
    assert list(found) == ["machine_id", "prediction", "probability of no", "probability of yes"]
    model = mercer.load(place / "first" / "model.mercer")
    frame = load_failures(n_samples=400).frame
    expected = model.predict_proba(frame[list(model[0].feature_names_in_)])
    np.testing.assert_allclose(found[["probability of no", "probability of yes"]], expected, rtol=1e-12)
    assert (found["machine_id"] == frame["machine_id"]).all()


def test_predictions_stream_from_standard_input_to_standard_output(place):
    command = [sys.executable, "-m", "mercer", "predict", str(place / "first"), "-"]
    rows = (place / "machines.csv").read_bytes()
    ran = subprocess.run(command, input=rows, capture_output=True, check=True)
    found = pandas.read_csv(io.BytesIO(ran.stdout))
    assert len(found) == 400
    assert set(found["prediction"]) <= {"yes", "no"}


def test_an_explanation_adds_up_and_counts_rows_from_one(place, capsys):
    status, out, _ = answer_of(capsys, "explain", place / "first", place / "machines.csv", "--row", 2, "--json")
    found = json.loads(out)
    assert status == 0
    assert sum(found["shares"].values()) == pytest.approx(found["value"] - found["average"])
    _, out, _ = answer_of(capsys, "explain", place / "first", place / "machines.csv", "--row", 2)
    assert out.startswith(f"row 2: {found['prediction']}\n")


def test_a_report_is_made_again_from_its_record_alone(place, capsys):
    page = place / "again.html"
    status, out, _ = answer_of(capsys, "report", place / "first", "-o", page)
    assert (status, out) == (0, f"report: {page.resolve()}\n")
    assert page.read_bytes() == (place / "first" / "report.html").read_bytes()
    _, out, _ = answer_of(capsys, "report", place / "first", "--json")
    assert json.loads(out)["format"] == 1


def test_examples_are_written_as_tables(capsys, tmp_path):
    for name in ("classification", "regression", "clusters"):
        assert main(["example", name, "--rows", "30", "-o", str(tmp_path / f"{name}.csv")]) == 0
        assert len(pandas.read_csv(tmp_path / f"{name}.csv")) == 30


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_know_every_command_and_option(shell, capsys):
    _, script, _ = answer_of(capsys, "completion", shell)
    assert all(command in script for command in COMMANDS)
    assert "keep-leaks" in script
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script.encode(), check=True)
        typed = f'{script}\nCOMP_WORDS=(mercer run --tar) COMP_CWORD=2; _mercer; echo "${{COMPREPLY[@]}}"'
        ran = subprocess.run(["bash", "-c", typed], capture_output=True, text=True, check=True)
        assert ran.stdout == "--target\n"


def test_help_comes_at_once_for_nothing_heavy_is_imported():
    # The help of `run` lists the candidates too, without asking the families for them.
    program = (
        "import sys, mercer.app.command as c; parser = c.build_parser(); parser.format_help()\n"
        "try: c.main(['run', '--help'])\n"
        "except SystemExit: pass\n"
        "print(' '.join(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "  for numbers: the constant guess; lasso;" in ran.stdout
    loaded = set(ran.stdout.splitlines()[-1].split())
    assert not {"numpy", "pandas", "sklearn", "pyarrow", "rich"} & loaded
    assert not [name for name in loaded if name.startswith("mercer._native.")]


def test_the_help_lists_the_candidates_that_families_offer():
    for task, names in (("classification", CLASSIFIERS), ("regression", REGRESSORS)):
        # A stack is made of the other candidates, so that no family offers it.
        assert names == (*(offer.name for offer in candidates(task)), STACKED)


def test_versions_are_printed(capsys):
    assert main(["versions"]) == 0
    assert "native code" in capsys.readouterr().out


def test_an_unknown_command_is_refused_with_the_list_of_commands():
    ran = subprocess.run([sys.executable, "-m", "mercer", "fly"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "run, predict, explain" in ran.stderr.replace("'", "")


def test_an_error_in_the_program_says_where_to_report_it_and_shows_its_trace_when_asked(capsys, monkeypatch):
    monkeypatch.setattr("mercer.app.commands.versions.execute", lambda options: 1 / 0)
    status, _, err = answer_of(capsys, "versions")
    assert status == 1
    assert err == (
        "mercer: internal error (ZeroDivisionError: division by zero). Please report it with the output of the same "
        "command and --debug.\n"
    )
    with pytest.raises(ZeroDivisionError):
        main(["versions", "--debug"])


def test_ctrl_c_before_anything_was_found_ends_with_its_own_status(capsys, monkeypatch):
    def interrupt(options):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.app.commands.versions.execute", interrupt)
    assert answer_of(capsys, "versions") == (130, "", "mercer: interrupted\n")


def test_a_budget_is_a_number_of_seconds_or_has_a_unit():
    assert [DURATION.parse(text) for text in ("90s", "1.5h", "2 min", "45")] == [90.0, 5400.0, 120.0, 45.0]
    assert [DURATION.convert(value) for value in (90, 0.5, "5m")] == [90.0, 0.5, 300.0]
    for wrong in ("0", "soon", "-3", True, -1, None):
        with pytest.raises(ValueError):
            DURATION.convert(wrong)


@pytest.mark.parametrize("time", ["5m", "2minutes", "60", "1.5h"])
def test_a_duration_given_as_time_is_referred_to_budget(time, place, capsys):
    words = f"time must name a column of times; got {time!r}. To limit how long the study takes, give "
    with pytest.raises(DataError, match=re.escape(f"machines.csv: {words}budget={time!r}.")):
        mercer.run(place / "machines.csv", target="failure", time=time)
    assert answer_of(capsys, "run", place / "machines.csv", "--target", "failure", "--time", time) == (
        2,
        "",
        f"mercer: reading the table\nmercer: machines.csv: --{words}--budget {time}.\n",
    )


def test_costs_are_read_as_actions_by_classes():
    costs = COSTS.parse("yes/no=1, no/yes=20")
    assert costs == {"yes": {"no": 1.0}, "no": {"yes": 20.0}}
    assert make_cost_matrix(costs, ["no", "yes"]) == (["no", "yes"], [[0.0, 20.0], [1.0, 0.0]])
    assert make_cost_matrix({"repair": {"no": 3}, "wait": {"yes": 9}}, ["no", "yes"]) == (
        ["repair", "wait"],
        [[3.0, 0.0], [0.0, 9.0]],
    )


def test_the_time_that_reading_takes_is_part_of_the_budget(place, monkeypatch):
    given = []

    def remember(table, roles, options, watch, notices):
        given.append(options.budget)
        raise RuntimeError("enough")

    monkeypatch.setattr("mercer.app.study.study", remember, raising=False)
    with pytest.raises(RuntimeError, match="enough"):
        mercer.run(place / "machines.csv", target="failure", budget=1000.0)
    assert 1.0 < given[0] < 1000.0


def test_python_gives_the_study_as_an_object(place):
    study = mercer.run(place / "machines.csv", target="failure", quick=True, candidates=["naive Bayes"])
    assert study.record.question.table == "machines.csv"
    assert study.model.predict(load_failures(n_samples=5).frame).shape == (5,)
    assert "<iframe" in study._repr_html_()
    assert study.record.origin.options == {"target": "failure", "quick": True, "candidates": ["naive Bayes"]}


def test_predict_names_categories_that_no_training_row_had(tmp_path, capsys):
    random = np.random.default_rng(0)
    frame = pandas.DataFrame({"city": np.repeat(["Bergen", "Oslo"], 40), "noise": random.normal(size=80)})
    frame["late"] = np.where(frame["city"] == "Oslo", "yes", "no")
    found = mercer.run(frame, target="late", candidates=["naive Bayes"], quick=True, keep=["city"])
    found.save(tmp_path / "run")
    asked = pandas.DataFrame({"city": ["Oslo", "Bodø", "Tromsø", "Bodø", None], "noise": 0.0})
    asked.to_csv(tmp_path / "asked.csv", index=False)
    assert main(["predict", str(tmp_path / "run"), str(tmp_path / "asked.csv"), "-o", str(tmp_path / "told.csv")]) == 0
    expected = "mercer: warning: city: 3 rows have a value that no training row had: `Bodø`, `Tromsø`."
    assert f"{expected} The model treats them as unknown values.\n" in capsys.readouterr().err


def test_dates_at_predict_time_are_read_as_those_of_the_run(tmp_path):
    random = np.random.default_rng(0)
    days = pandas.date_range("2020-01-01", periods=400)
    frame = pandas.DataFrame({"seen": days.strftime("%d/%m/%Y"), "noise": random.normal(size=400)})
    frame["late"] = np.where(days.month > 6, "yes", "no")
    found = mercer.run(frame, target="late", candidates=["one tree"], quick=True, seed=0)
    model = tmp_path / "model.mercer"
    mercer.save(found.model, model)
    # Each of these could be read with the month first; the model knows that its days came first.
    asked = pandas.DataFrame({"seen": ["03/08/2020", "05/09/2020", "08/03/2020", "09/05/2020"], "noise": 0.0})
    asked.to_csv(tmp_path / "asked.csv", index=False)
    assert main(["predict", str(model), str(tmp_path / "asked.csv"), "-o", str(tmp_path / "told.csv"), "--quiet"]) == 0
    assert pandas.read_csv(tmp_path / "told.csv")["prediction"].tolist() == ["yes", "yes", "no", "no"]
