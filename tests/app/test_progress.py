"""Progress: a line as soon as a study begins, and a live table of candidates on a terminal."""

import io

import pytest

from mercer.app.progress import Progress
from mercer.app.study.clock import Clock, ProgressEvent


def test_the_first_line_comes_at_once_and_others_rarely(capsys):
    with Progress() as progress:
        progress(ProgressEvent("reading the table", 0.0))
        progress(ProgressEvent("the constant guess", 0.05, 30.0))
        progress(ProgressEvent("naive Bayes", 0.1, 29.0))
    assert capsys.readouterr().err == "mercer:   5% the constant guess, about 30 s left\n"


def test_a_terminal_shows_the_scores_of_the_candidates(monkeypatch):
    rich = pytest.importorskip("rich.console")
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    with Progress() as progress:
        progress(ProgressEvent("ridge", 0.1, None, ("guess", 0.5, True)))
        progress(ProgressEvent("ridge", 0.2, None, ("ridge", 0.75, True)))
        progress(ProgressEvent("tree", 0.3, None, ("tree", 0.7125, False)))
        console = rich.Console(file=io.StringIO(), width=80)
        console.print(progress._make_table())
    lines = [" ".join(line.split()) for line in console.file.getvalue().splitlines()]
    assert lines[:4] == ["candidate score", "guess 0.5", "ridge (best so far) 0.75", "tree 0.713"]
    assert "ridge" in terminal.getvalue()


def test_the_clock_passes_results_on():
    events = []
    clock = Clock(None, events.append, False)
    clock.tell("ridge", 0.5, ("ridge", 0.75, True))
    assert events[0].result == ("ridge", 0.75, True)
