"""README.md: the numbers are those of the stored results, the answer is the one that the command prints."""

import json
import os
import subprocess
import sys

import pytest

from tools.readme_parts import README, RESULTS, list_fit_ratios, make_numbers, read_part, write_part

LONGEST = 140
LARGEST_PICTURE = 300_000


def test_the_numbers_are_those_of_the_stored_results():
    assert read_part("numbers") == make_numbers(), "run: python -m tools.readme_parts"


def test_a_number_follows_its_result(monkeypatch, tmp_path):
    rows = [
        {"contestant": "mercer", "status": "ran", "agrees": True, "fit_seconds": 0.5},
        {"contestant": "sklearn_exact", "status": "ran", "agrees": True, "fit_seconds": 2.0},
        {"contestant": "sklearn_auto", "status": "ran", "agrees": True, "fit_seconds": 1.5},
        {"contestant": "sklearn_rough", "status": "ran", "agrees": False, "fit_seconds": 0.1},
        {"contestant": "sklearnex", "status": "ran", "agrees": True, "fit_seconds": 0.1},
        {"contestant": "sklearn_other", "status": "failed"},
    ]
    stored = {"case": "one", "headline": "fit_seconds", "rows": rows}
    (tmp_path / "one.json").write_text(json.dumps(stored), encoding="utf-8")
    monkeypatch.setattr("tools.readme_parts.RESULTS", tmp_path)
    assert list_fit_ratios() == [3.0]


def test_a_part_is_replaced_and_the_rest_stays(monkeypatch, tmp_path):
    page = tmp_path / "README.md"
    page.write_text("a\n<!-- numbers: written by x -->\nold\n<!-- end of numbers -->\nb\n", encoding="utf-8")
    monkeypatch.setattr("tools.readme_parts.README", page)
    write_part("numbers", "| new |")
    assert read_part("numbers") == "| new |"
    assert page.read_text(encoding="utf-8").startswith("a\n<!-- numbers: written by x -->\n")
    assert page.read_text(encoding="utf-8").endswith("| new |\n<!-- end of numbers -->\nb\n")


def test_the_page_is_short_and_its_picture_small():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    assert "](docs/_static/report_light.png)" in text
    assert (README.parent / "docs" / "_static" / "report_light.png").stat().st_size < LARGEST_PICTURE
    assert RESULTS.is_dir()


# Slow: it runs the whole study of 1200 rows, some 20 s of CPU time.
@pytest.mark.slow
def test_the_answer_of_the_bundled_study_is_the_one_that_the_command_prints(tmp_path):
    command = [sys.executable, "-m", "mercer", "run", "--no-open", "--output", str(tmp_path / "report")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "1000"})
    answer = read_part("answer").removeprefix("> ")
    assert answer in ran.stdout, f"run: python -m tools.report_pictures\n{ran.stdout}"
