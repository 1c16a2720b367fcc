"""The comparison of quality: losses, folds, tuning, standings and the page, at a tiny scale."""

import json

import numpy as np
import pytest

from benchmarks import quality, quality_report
from benchmarks.quality_tables import TABLES
from benchmarks.quality_tools import TOOLS, Setting, draw_settings

OURS = [TOOLS["mercer"], TOOLS["sklearn"]]


@pytest.fixture(scope="module")
def result():
    return quality.compare(TABLES["claims"], OURS, draws=2, scale=0.02)


def test_losses_are_those_of_their_formulas():
    chance = np.array([[0.25, 0.75], [0.5, 0.5]])
    assert quality.loss_of("labels", np.array([1, 0]), chance) == pytest.approx(-np.log([0.75, 0.5]).mean())
    assert quality.loss_of("numbers", np.array([1.0, 3.0]), np.array([1.0, 1.0])) == pytest.approx(np.sqrt(2))
    counts, mean = np.array([0.0, 2.0]), np.array([0.5, 1.0])
    assert quality.loss_of("counts", counts, mean) == pytest.approx((2 * 0.5 + 2 * (2 * np.log(2) - 1)) / 2)


@pytest.mark.parametrize("name", list(TABLES))
def test_every_table_is_the_same_each_time_and_has_what_it_says(name):
    frame, y = TABLES[name].make(0.05)
    again, y_again = TABLES[name].make(0.05)
    assert frame.equals(again)
    np.testing.assert_array_equal(y, y_again)
    assert len(frame) == len(y) >= 150
    assert {str(kind) for kind in frame.dtypes} <= {"float64", "int64", "bool", "category"}
    assert ("categor" in TABLES[name].title) == any(str(kind) == "category" for kind in frame.dtypes)
    assert ("missing" not in TABLES[name].title) or frame.isna().any().any()


def test_every_library_is_offered_the_same_settings():
    assert draw_settings(5) == draw_settings(5)
    assert draw_settings(3)[0] == Setting()
    assert len(set(draw_settings(8))) == 8


def test_a_comparison_judges_defaults_and_tuned_models_on_the_same_folds(result):
    assert [(row["contestant"], row["tuned"]) for row in result["rows"]] == [
        ("mercer", False),
        ("mercer", True),
        ("sklearn", False),
    ]
    assert all(len(row["losses"]) == len(result["constant"]) == 5 for row in result["rows"])
    assert result == json.loads(json.dumps(result))
    default, tuned = (np.mean(row["losses"]) for row in result["rows"][:2])
    # Hundreds of rows and twenty regions: the default setting learns noise, the held-out quarter stops it.
    assert tuned < default


def test_skill_is_one_for_the_best_and_none_for_a_constant_or_worse():
    best, half, worse = {"losses": [1.0, 1.0]}, {"losses": [1.0, 3.0]}, {"losses": [9.0, 9.0]}
    result = {"constant": [3.0, 3.0], "rows": [best, half, worse]}
    assert [quality_report.skill(result, row) for row in result["rows"]] == [1.0, 0.5, 0.0]
    assert quality_report.skill({"constant": [1.0, 1.0], "rows": [half]}, half) == 0.0
    assert quality_report.difference(half, best) == (1.0, 1.0)


def test_the_page_keeps_its_text_and_gets_the_results(result, tmp_path, monkeypatch):
    page, picture = tmp_path / "page.md", tmp_path / "picture.svg"
    page.write_text(f"before\n{quality_report.BEGIN}\nold\n{quality_report.END}\nafter\n")
    monkeypatch.setattr(quality_report, "PAGE", page)
    monkeypatch.setattr(quality_report, "PICTURE", picture)
    (tmp_path / "claims.json").write_text(json.dumps(result))
    assert quality.main(["--report", "--output", str(tmp_path)]) == 0
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "**claims**" in text
    assert "mercer, tuned" in text
    first = picture.read_bytes()
    quality_report.draw([result], picture)
    assert picture.read_bytes() == first


def test_a_partial_run_is_not_stored(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(quality, "RESULTS", tmp_path)
    assert quality.main(["--table", "rents", "--only", "sklearn", "--scale", "0.2", "--draws", "0"]) == 0
    assert "**rents**" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
