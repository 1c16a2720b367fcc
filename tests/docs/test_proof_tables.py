"""The tables that the documentation makes from declarations."""

import importlib.util
from pathlib import Path

import pytest

PLACE = Path(__file__).resolve().parents[2] / "docs" / "_extensions" / "proof_tables.py"


@pytest.fixture(scope="module")
def tables():
    spec = importlib.util.spec_from_file_location("proof_tables", PLACE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tests_of_one_reason_share_a_row_and_modules_have_their_own_table(tables):
    text = tables.render_differences(
        {"cluster": ("KMeans",)},
        {"test_k_means::test_b*": "same | reason", "test_k_means::test_a": "same | reason", "test_pca::*": "other"},
    )
    assert "with `cluster.KMeans` in the place" in text
    assert "| same \\| reason | `test_a`, `test_b*` |" in text
    assert text.index("test_k_means.py") < text.index("test_pca.py")


def test_every_declared_difference_is_in_the_table_with_its_reason(tables):
    replaced, differences = tables.read_differences()
    text = tables.render_differences(replaced, differences)
    for pattern, reason in differences.items():
        assert "::" in pattern, pattern
        assert " ".join(reason.split()) in text.replace("\\", ""), pattern


def test_names_in_reasons_are_no_emphasis(tables):
    text = tables.render_differences({}, {"test_pca::test_a": "reads _fit_solver, not `solver_used_`"})
    assert "| reads \\_fit\\_solver, not `solver_used_` |" in text


def test_without_differences_the_page_says_so(tables):
    assert "no deliberate difference" in tables.render_differences({}, {})


def test_exceptions_are_listed_with_class_law_and_reason(tables):
    class Sleepy:
        _law_exceptions = {"row order": "It reads\n the rows as a story."}

        @property
        def _check_exceptions(self):
            return {"check_story": self._law_exceptions["row order"]}

    text = tables.render_exceptions([Sleepy(), Sleepy()])
    assert text.count("\n") == 3
    assert "| `Sleepy` | `check_story`, `row order` | It reads the rows as a story. |" in text
    assert tables.render_exceptions([]) == "No class declares an exception.\n"


def test_each_module_lists_its_stable_names_and_counts_the_others(tables):
    text = tables.render_stable_names()
    (cluster,) = (line for line in text.splitlines() if line.startswith("| `mercer.cluster` |"))
    scikit, ours, experimental = cluster.removesuffix(" |").split(" | ")[1:]
    assert "`KMeans`" in scikit
    assert "`KMedoids`" in ours
    assert int(experimental) > 0
    assert "mercer.cluster.PairwiseClustering" in tables.list_experimental()


def test_experimental_names_are_marked_below_their_summary(monkeypatch):
    monkeypatch.syspath_prepend(str(PLACE.parent))
    marks = importlib.import_module("experimental_marks")
    summary, more = ["Do this,", "in two lines."], ["", "More."]
    named, stable = [*summary, *more], ["Do that."]
    marks.process_docstring(None, "class", "mercer.energy.IsingModel", None, None, named)
    marks.process_docstring(None, "class", "mercer.cluster.KMeans", None, None, stable)
    assert named == [*summary, "", marks.MARK, "", *more]
    assert stable == ["Do that."]
