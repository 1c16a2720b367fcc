"""The runner: fresh processes, stored results, tables and pictures."""

import json

import pytest

from benchmarks import __main__ as command
from benchmarks import report
from benchmarks.cases import CASES
from benchmarks.machine import thread_environment
from benchmarks.runner import run_case, run_scaling


@pytest.fixture(scope="module")
def result():
    return run_case(CASES["linear_regression"], 1, 2, 0.002, only=("sklearn", "numpy"), say=lambda line: None)


def test_a_run_measures_every_contestant_in_its_own_process(result):
    assert [row["contestant"] for row in result["rows"]] == ["sklearn", "numpy_by_hand"]
    for row in result["rows"]:
        assert row["status"] == "ran"
        assert row["agrees"]
        assert row["repeatable"]
        assert len(row["fit_seconds_all"]) == 2
        assert row["quality"]["r2"] > 0.9
    assert min(row["ratio"] for row in result["rows"]) == 1.0


def test_a_result_says_where_and_with_what_it_was_measured(result):
    assert result["hardware"]["cores"] >= 1
    assert result["hardware"]["processor"]
    assert result["versions"]["scikit-learn"] != "absent"
    assert result == json.loads(json.dumps(result))


def test_the_table_lists_the_fastest_first_and_names_the_absent(result):
    absent = {"contestant": "gone", "peer": True, "status": "absent", "reason": "gone: not installed."}
    text = report.table(result | {"rows": [*result["rows"], absent]})
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    fastest = min(result["rows"], key=lambda row: row["fit_seconds"])["contestant"]
    assert lines[2].split("|")[1].strip() == fastest
    assert "- gone absent: gone: not installed." in text


def test_the_documentation_keeps_its_text_and_gets_the_results(result, tmp_path, monkeypatch):
    page, picture = tmp_path / "page.md", tmp_path / "picture.svg"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    monkeypatch.setattr(report, "PAGE", page)
    monkeypatch.setattr(report, "PICTURE", picture)
    (tmp_path / "linear_regression.json").write_text(json.dumps(result))
    report.write_documentation(tmp_path)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "**linear_regression**" in text
    assert "numpy_by_hand" in text
    first = picture.read_bytes()
    report.draw([result], picture)
    assert picture.read_bytes() == first


def test_scaling_reports_a_digest_for_each_thread_count():
    found = run_scaling(CASES["small_fits_ridge"], [1, 2], 1, 0.01, only=("sklearn",))
    assert [row["threads"] for row in found["scaling"]] == [1, 2]
    assert all(len(row["digest"]) == 64 for row in found["scaling"])
    assert "sklearn: " in report.scaling_table(found)


def test_a_partial_run_is_not_stored_as_a_result(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    arguments = ["--case", "small_fits_ridge", "--scale", "0.01", "--repeat", "1", "--only", "sklearn"]
    assert command.main(arguments) == 0
    assert "**small_fits_ridge**" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_the_thread_count_reaches_every_pool():
    assert thread_environment(3)["OMP_NUM_THREADS"] == thread_environment(3)["OPENBLAS_NUM_THREADS"] == "3"


def test_an_unknown_case_is_an_error_with_the_list(capsys):
    assert command.main(["--case", "nothing"]) == 2
    assert "adaboost_stumps" in capsys.readouterr().err
