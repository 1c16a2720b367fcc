"""The page about security quotes stored results, and nothing else."""

import argparse
import json
from collections import Counter

import pytest

from mercer.errors import ParameterError
from tests.laws.subjects import subjects
from tools.fuzzing.choice import choose_subjects
from tools.fuzzing.kinds import KINDS, find_kind
from tools.fuzzing.page import PAGE, render_page
from tools.fuzzing.results import add_earlier


def test_the_table_of_results_is_made_from_the_stored_files():
    text = PAGE.read_text(encoding="utf-8")
    assert render_page(text) == text, "run python -m tools.fuzzing page"


def test_a_fault_in_a_stored_result_is_shown(tmp_path):
    result = {"total": {"answered": 1500, "crash": 2}, "classes": 3, "cases_of_each_class": 500, "commit": "abc"}
    (tmp_path / "files.json").write_text(json.dumps({**result, "sanitizers": ["asan"]}), encoding="utf-8")
    row = "| forged model files under asan | 1,502 cases of 3 classes, at least 500 each | faults: crash 2 | abc |"
    assert row in render_page(PAGE.read_text(encoding="utf-8"), tmp_path)


def test_every_class_has_a_kind_of_model_and_a_share_of_its_cases():
    options = argparse.Namespace(classes=[], families=[], first_setting=False, per_class=True, per_kind=1000)
    cases = Counter()
    for number, count in choose_subjects(options, 20):
        estimator = subjects()[number].estimator
        cases[find_kind(estimator)] += count
    assert set(cases) == set(KINDS)
    assert min(cases.values()) >= 1000
    with pytest.raises(ParameterError, match="every estimator must have a kind; Counter has none"):
        find_kind(Counter)


def test_the_page_tells_the_cases_of_each_kind(tmp_path):
    result = {"total": {"answered": 1500}, "classes": 3, "cases_of_each_class": 500, "commit": "abc", "sanitizers": []}
    (tmp_path / "files.json").write_text(
        json.dumps({**result, "kinds": {"trees": 1000, "maps": 500}}), encoding="utf-8"
    )
    row = "1,500 cases of 3 classes, at least 500 each, and 500 of each of 2 kinds of model | faults: none"
    assert row in render_page(PAGE.read_text(encoding="utf-8"), tmp_path)


def test_new_records_join_earlier_ones_with_their_commits(tmp_path):
    store = tmp_path / "latency.json"
    store.write_text(json.dumps({"commit": "old", "settings": {"A()": {"worst": 1.0}, "B()": {"worst": 2.0}}}))
    options = argparse.Namespace(add=True, store=store)
    records = add_earlier(options, "new", "settings", {"B()": {"worst": 0.1}})
    assert records == {"A()": {"worst": 1.0, "commit": "old"}, "B()": {"worst": 0.1, "commit": "new"}}
    options.add = False
    assert list(add_earlier(options, "new", "settings", {"B()": {"worst": 0.1}})) == ["B()"]
    summary = {"long": 2, "median": 0.1, "worst": 1.0, "above_promise": 1}
    store.write_text(json.dumps({"commit": "new", **summary, "settings": records}), encoding="utf-8")
    assert "1 above 0.2 s | new; earlier for 1 of 2 settings |" in render_page(PAGE.read_text("utf-8"), tmp_path)
