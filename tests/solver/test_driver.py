"""The driver: answers requests, records steps, obeys watches, survives Ctrl-C."""

import signal
import threading

import numpy as np
import pytest

from mercer._solver import Certificate, Dense, Map, OnBlock, Solution, Step, Take, Tiles, drive, request
from mercer._solver.driver import Recorder
from mercer._source import ArraySource
from mercer._source.threads import run_numbered
from mercer._statistic import Moments

X = np.random.default_rng(0).normal(size=(5000, 64))
DONE = Certificate.of("residual", 0.0, 1e-6, "Nothing is left.")


def counting(limit, start=0):
    for number in range(start, limit):
        yield Step(float(limit - number), number)
    return Solution(limit, converged=True, certificate=DONE)


class StopAt:
    def __init__(self, number):
        self.number = number

    def step(self, number, step):
        return "enough" if number == self.number else None

    def choose_step(self, last):
        return last


def test_each_request_is_sent_its_answer():
    def solver():
        moments = yield Moments()
        np.testing.assert_allclose(moments.mean, X.mean(axis=0), atol=1e-12)
        norms = yield Map(lambda block: block.sum_squares())
        np.testing.assert_allclose(norms, (X**2).sum(axis=1))
        rows = yield Take([3, 1])
        assert np.array_equal(rows, X[[3, 1]])
        part = yield OnBlock(Moments(), 0)
        assert part.weight == 2048
        gram = yield Tiles(lambda a, b: a.X @ b.X.T, np.empty((5000, 5000)))
        np.testing.assert_allclose(gram[:3, :3], X[:3] @ X[:3].T)
        for heavy in (False, True):
            assert (yield Dense(lambda: 6 * 7, heavy=heavy)) == 42
        return Solution("answer", converged=True, certificate=DONE)

    assert drive(solver(), ArraySource(X)).state == "answer"


def test_history_has_one_entry_per_step_and_pads_late_columns():
    def solver():
        yield Step(3.0, 0)
        yield Step(2.0, 1, extra={"gap": 0.5})
        yield Step(1.0, 2)
        return Solution(2, converged=True, certificate=DONE)

    outcome = drive(solver(), ArraySource(X))
    assert outcome.history["step"].tolist() == [0, 1, 2]
    assert outcome.history["objective"].tolist() == [3.0, 2.0, 1.0]
    assert np.array_equal(outcome.history["gap"], [np.nan, 0.5, np.nan], equal_nan=True)
    assert np.all(np.diff(outcome.history["seconds"]) >= 0)
    assert (outcome.reason, outcome.converged, outcome.n_steps) == ("converged", True, 3)


def test_a_watch_ends_the_fit_at_its_step():
    outcome = drive(counting(10), ArraySource(X), [StopAt(3)])
    assert (outcome.state, outcome.reason, outcome.converged, outcome.n_steps) == (3, "enough", False, 4)
    assert outcome.certificate.kind == "none"
    assert "ended early (enough)" in outcome.certificate.statement


def test_a_recorder_continues_where_an_earlier_one_stopped():
    first = Recorder()
    drive(counting(10), ArraySource(X), [StopAt(3)], first)
    outcome = drive(counting(10, start=4), ArraySource(X), (), Recorder(first.columns))
    assert outcome.history["step"].tolist() == list(range(10))
    assert outcome.history["objective"].tolist() == [10.0 - i for i in range(10)]


def test_ctrl_c_keeps_the_last_step_and_closes_the_solver():
    closed = []

    def solver():
        try:
            yield Step(1.0, "first")
            signal.raise_signal(signal.SIGINT)
            yield Step(0.0, "second")
        finally:
            closed.append(True)

    outcome = drive(solver(), ArraySource(X))
    assert (outcome.state, outcome.reason) == ("first", "interrupt")
    assert isinstance(outcome.interrupt, KeyboardInterrupt)
    assert closed == [True]


def test_ctrl_c_before_the_first_step_passes_through():
    def solver():
        signal.raise_signal(signal.SIGINT)
        yield Step(1.0, "never")

    with pytest.raises(KeyboardInterrupt):
        drive(solver(), ArraySource(X))


def test_ctrl_c_reaches_a_heavy_dense_computation_while_it_runs():
    begun, released, ended = threading.Event(), threading.Event(), []

    def compute():
        begun.set()
        released.wait(60)
        ended.append(True)

    def press():
        begun.wait(60)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def solver():
        yield Step(1.0, "state")
        yield Dense(compute, heavy=True)

    threading.Thread(target=press).start()
    try:
        assert drive(solver(), ArraySource(X)).reason == "interrupt"
        assert ended == []
    finally:
        released.set()


def test_errors_of_a_solver_and_of_a_request_pass_through():
    def solver():
        yield Dense(lambda: 1 / 0, heavy=True)

    with pytest.raises(ZeroDivisionError):
        drive(solver(), ArraySource(X))


def test_certificates_compare_or_say_that_there_is_none():
    assert Certificate.of("gap", 1e-9, 1e-6).satisfied
    assert not Certificate.of("gap", 1e-3, 1e-6).satisfied
    assert not Certificate.of("gap", float("nan"), 1e-6).satisfied
    none = Certificate.none("No bound is known.")
    assert np.isnan(none.value)
    assert not none.satisfied


def test_a_call_that_ctrl_c_abandons_is_waited_for_before_the_process_ends(monkeypatch):
    go_on, done = threading.Event(), []

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(request, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        request.run_aside(lambda: (go_on.wait(), done.append(True)))
    assert not done
    go_on.set()
    request.join_abandoned()
    assert done
    assert not request._abandoned


def test_numbered_work_of_an_abandoned_call_ends_at_its_next_item(monkeypatch):
    begun, go_on, items = threading.Event(), threading.Event(), []

    def work(number):
        items.append(number)
        begun.set()
        go_on.wait()

    def interrupt(*arguments, **options):
        begun.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(request, "wait", interrupt)
    for threads in (1, 2):
        items.clear(), begun.clear(), go_on.clear()
        with pytest.raises(KeyboardInterrupt):
            request.run_aside(lambda count=threads: run_numbered(work, 10**6, count))
        go_on.set()
        request.join_abandoned()
        # The thread of the call stops after the item that it holds; a helper may take some more until it is told.
        assert len(items) == 1 if threads == 1 else 1 <= len(items) < 10**6
