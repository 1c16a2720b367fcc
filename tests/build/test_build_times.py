"""The table of build times: rows are replaced, and each step runs in a clone of its own."""

from pathlib import Path

from tools import build_times
from tools.build_times import BEGIN, END, PAGE, Outcome, update_table


def test_a_row_replaces_the_older_one_of_its_step():
    page = f"# Page\n\n{BEGIN}\n{END}\nEnd.\n"
    page = update_table(page, "make run", Outcome(120.4, "a report"), "2 cores")
    page = update_table(page, "pip install .", Outcome(80.0, "mercer 1"), "2 cores")
    page = update_table(page, "make run", Outcome(90.6, "a report"), "2 cores")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert [row.split(" | ")[:2] for row in rows] == [["| `pip install .`", "80"], ["| `make run`", "91"]]
    assert page.endswith("End.\n")


def test_a_step_gets_a_clone_in_a_folder_of_its_own(monkeypatch):
    called = []

    def pretend(*command, cwd):
        called.append(command[:2])
        Path(command[-1]).mkdir()

    monkeypatch.setattr(build_times, "_call", pretend)
    outcome = build_times.measure(lambda clone: f"{clone.name}, {len(list(clone.parent.iterdir()))} entry")
    assert called == [("git", "clone")]
    assert outcome.text == "mercer, 1 entry"


def test_the_page_has_a_place_for_the_table():
    page = PAGE.read_text(encoding="utf-8")
    assert BEGIN in page
    assert END in page
