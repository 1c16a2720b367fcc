"""Progress: a line as soon as a study begins, and a live table of candidates on a terminal."""

import io
import re
import time

import numpy as np
import pandas
import pytest

import mercer
from mercer._source.table import read_table
from mercer.app.job import forecast_study
from mercer.app.options import Options
from mercer.app.progress import Progress, find_start
from mercer.app.study.clock import Clock, ProgressEvent
from mercer.app.table import guess_roles


def test_the_first_line_comes_at_once_and_others_rarely(capsys):
    with Progress() as progress:
        progress(ProgressEvent("reading the table", 0.0))
        progress(ProgressEvent("the constant guess", 0.05, 30.0))
        progress(ProgressEvent("naive Bayes", 0.1, 29.0))
    lines = ["mercer: reading the table", "mercer:   5% the constant guess, about 30 s left"]
    assert capsys.readouterr().err.splitlines() == lines
    with Progress(quiet=True) as progress:
        progress(ProgressEvent("the constant guess", 0.05, 30.0))
    assert capsys.readouterr().err == ""


def test_the_forecast_has_a_line_of_its_own(capsys):
    with Progress() as progress:
        progress(ProgressEvent("reading the table", 0.01, forecast="900 rows and 8 columns."))
        progress(ProgressEvent("the constant guess", 0.05, 30.0))
    assert capsys.readouterr().err.removeprefix("mercer: reading the table\n") == (
        "mercer: 900 rows and 8 columns.\nmercer:   5% the constant guess, about 30 s left\n"
    )


@pytest.mark.parametrize(
    ("budget", "words"), [(90.0, "at most 90 s."), (3600.0, "at most 60 min."), (None, "--budget sets one")]
)
def test_the_forecast_names_size_memory_and_time(budget, words, monkeypatch):
    frame = pandas.DataFrame({"x": np.random.default_rng(0).normal(size=1000), "y": ["a", "b"] * 500})
    roles, _ = guess_roles(read_table(frame), target="y")
    said = forecast_study(frame, roles, Options(target="y", budget=budget, n_jobs=2))
    assert said.startswith("1000 rows and 2 columns (")
    # 1000 rows of two encoded columns (a number and its gap), four copies in each of two threads.
    assert "; encoded rows will take up to about " in said
    assert words in said
    monkeypatch.setattr("mercer.app.job.count_allowed_bytes", lambda: 512)
    assert "only 512 bytes are free" in forecast_study(frame, roles, Options(target="y", n_jobs=2))


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


def test_a_study_without_a_budget_tells_how_long_it_will_take():
    random, events = np.random.default_rng(0), []
    frame = pandas.DataFrame({"x": random.normal(size=80), "z": random.normal(size=80)})
    frame["y"] = np.where(frame["x"] > 0, "a", "b")
    names = ["nearest centroid", "naive Bayes"]
    mercer.run(frame, "y", candidates=names, quick=True, folds=3, inner=2, keep_leaks=True, watch=events.append)
    told = [event.forecast for event in events if event.forecast]
    assert len(told) == 2
    assert re.fullmatch(
        r"Trying 2 candidates will take about [\d.]+ s \([\d.]+ s of it for (nearest centroid|naive Bayes)\), and the "
        r"whole study about [\d.]+ s\.",
        told[1],
    )
    # Before the forecast, nothing is said about the time that is left.
    first = next(place for place, event in enumerate(events) if event.forecast == told[1])
    assert all(event.seconds_left is None for event in events[:first])
    assert events[first + 1].seconds_left > 0


def test_before_models_are_tried_the_time_left_is_what_is_left_of_the_budget(monkeypatch):
    seconds = iter([100.0, 103.0, 130.0])
    monkeypatch.setattr("mercer.app.study.clock.time.monotonic", lambda: next(seconds))
    events = []
    clock = Clock(60.0, events.append, debug=True)
    clock.tell("the constant guess", 0.05)
    clock.tell("the learning curve", 0.8)
    # After 30 s with a fifth of the work left, 7.5 s are left, not the other 30 s of the budget.
    assert [round(event.seconds_left, 6) for event in events] == [57.0, 7.5]


def test_a_process_has_begun_before_its_first_work():
    start = find_start()
    # pytest has worked for a while before this test.
    assert 0 < time.process_time() <= time.monotonic() - start + 0.05
