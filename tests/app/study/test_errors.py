"""A study ends with a report whatever fails in it, and the record says what failed and why."""

import json

import numpy as np
import pandas
import pytest

import mercer
from mercer._base.candidate import Candidate
from mercer.app.command import main
from mercer.app.study.record import read_record, write_record
from mercer.discriminant_analysis import LinearDiscriminantAnalysis
from mercer.model_selection import candidates

QUICK = {"quick": True, "folds": 3, "inner": 2, "candidates": ["nearest centroid", "broken"]}


class _Broken(LinearDiscriminantAnalysis):
    def fit(self, X, y, sample_weight=None):
        msg = "a pole\nat zero"
        raise ZeroDivisionError(msg)


@pytest.fixture(autouse=True)
def _with_broken_candidate(monkeypatch):
    broken = Candidate("broken", "none", ("classification",), 50, lambda shape: _Broken(), {})
    monkeypatch.setattr(
        "mercer.app.study.choice.selection.candidates", lambda task: [*candidates(task), broken], raising=True
    )


def _draw(n_rows=60):
    random = np.random.default_rng(0)
    kind = np.array(["u", "v"])[random.integers(0, 2, n_rows)]
    return pandas.DataFrame(
        {"x": random.normal(size=n_rows) + 2 * (kind == "v"), "z": random.random(n_rows), "y": kind}
    )


def test_a_candidate_that_fails_is_listed_with_its_reason():
    study = mercer.run(_draw(), "y", **QUICK)
    broken = next(candidate for candidate in study.record.candidates if candidate.name == "broken")
    assert (broken.status, broken.text) == ("failed", "ZeroDivisionError: a pole")
    chosen = next(candidate for candidate in study.record.candidates if candidate.status == "chosen")
    assert chosen.name == "nearest centroid"
    assert study.model is not None


@pytest.mark.parametrize("name", ["find_drivers", "measure_other_metrics", "decide_all", "fit_final", "read_stakes"])
def test_an_error_after_the_comparison_leaves_what_was_found(name, monkeypatch, tmp_path):
    calls = []

    def fail(*arguments, **options):
        # The stakes are read twice; the second time is after the comparison.
        calls.append(1)
        if name == "read_stakes" and len(calls) == 1:
            return None
        msg = "lost"
        raise RuntimeError(msg)

    if name == "decide_all":
        monkeypatch.setattr("mercer.app.study.diagnosis.find_seen", fail)
    else:
        monkeypatch.setattr(f"mercer.app.study.engine.{name}", fail)
    record = mercer.run(_draw(), "y", **QUICK).record
    assert record.sureness.score > 0.7
    assert [candidate.status for candidate in record.candidates].count("chosen") == 1
    said = " ".join(notice.text for notice in record.data.notices)
    assert "lost" in said
    assert record.answer.endswith("guessing: 50).")
    write_record(record, tmp_path)
    assert read_record(tmp_path).sureness == record.sureness


def test_a_study_in_which_nothing_can_be_fitted_has_a_report(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("mercer.model_selection.trials.Plan.run", lambda *_, **__: 1 / 0)
    _draw().to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "model.mercer").write_text("an earlier model", encoding="utf-8")
    words = ["run", str(tmp_path / "t.csv"), "--target", "y", "-o", str(tmp_path / "report"), "--json"]
    assert main([*words, "--candidates", "nearest centroid"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["answer"] == "No model could be fitted to predict `y`. The table of candidates says why."
    assert "model" not in said
    record = read_record(tmp_path / "report")
    assert [candidate.text for candidate in record.candidates] == ["ZeroDivisionError: division by zero"] * 2
    assert "division by zero" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")


def test_a_table_of_which_no_groups_can_be_made_has_a_report(monkeypatch):
    def fail(*_):
        msg = "lost"
        raise RuntimeError(msg)

    monkeypatch.setattr("mercer.app.study.structure.group_rows", fail)
    study = mercer.run(_draw()[["x", "z"]])
    assert study.model is None
    assert study.record.answer.startswith("No groups were found: every method failed.")
    assert all("lost" in candidate.text for candidate in study.record.candidates)


def test_a_table_without_a_target_gets_groups_even_if_the_time_is_over():
    study = mercer.run(_draw()[["x", "z"]], budget=1e-6)
    assert study.model is not None
    assert "no time" not in study.record.candidates[0].text


def test_a_part_of_the_report_that_fails_does_not_hide_the_others(monkeypatch):
    from mercer.app.report.pages import render_report

    record = mercer.run(_draw(), "y", **QUICK).record
    for name in ("draw_score", "draw_candidates"):
        monkeypatch.setattr(f"mercer.app.report.figures.{name}", lambda *_: 1 / 0)
    page = render_report(record)
    assert "This part of the report could not be made (ZeroDivisionError: division by zero)." in page
    assert "The data" in page


def test_only_the_constant_tried_is_no_claim_about_the_target():
    record = mercer.run(_draw(), "y", **{**QUICK, "candidates": ["broken"]}).record
    assert record.answer.startswith("No model was tried beside the constant guess, so that it is not known")
