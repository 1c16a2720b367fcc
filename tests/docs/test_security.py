"""The page about security quotes stored results, and nothing else."""

import json

from tools.fuzzing.page import PAGE, render_page


def test_the_table_of_results_is_made_from_the_stored_files():
    text = PAGE.read_text(encoding="utf-8")
    assert render_page(text) == text, "run python -m tools.fuzzing page"


def test_a_fault_in_a_stored_result_is_shown(tmp_path):
    result = {"total": {"answered": 1500, "crash": 2}, "classes": 3, "cases_of_each_class": 500, "commit": "abc"}
    (tmp_path / "files.json").write_text(json.dumps({**result, "sanitizers": ["asan"]}), encoding="utf-8")
    row = "| forged model files under asan | 1,502 cases of 3 classes, at least 500 each | faults: crash 2 | abc |"
    assert row in render_page(PAGE.read_text(encoding="utf-8"), tmp_path)
