"""The crew: order, limits, errors, nesting and interrupts."""

import os
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
import sklearn
from threadpoolctl import threadpool_info, threadpool_limits

import mercer
from mercer._solver.request import Dense
from mercer._source import open_source
from mercer._source import threads as crew
from mercer._source.threads import available_threads, n_threads, one_blas_thread, run_alongside, run_numbered

# Seconds after which a test that waits for another thread or process fails: far more than any machine takes.
PATIENCE = 300


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_arrive_in_order_whatever_finishes_first(threads):
    received = []

    def slow_at_first(number):
        time.sleep(0.002 if number % 3 == 0 else 0)
        return number

    run_numbered(slow_at_first, 40, threads, received.append)
    assert received == list(range(40))


def test_several_threads_share_the_work():
    workers, together = set(), threading.Barrier(3)

    def note(number):
        workers.add(threading.get_ident())
        if number < 3:
            together.wait(PATIENCE)

    run_numbered(note, 12, 3)
    assert len(workers) == 3


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_any_thread_reaches_the_caller_and_ends_the_job(threads):
    done = []

    def fail_at_five(number):
        if number == 5:
            raise ValueError("five")
        done.append(number)
        if number > 5:
            # Time for the thread of the error to be given a core.
            time.sleep(0.001)

    with pytest.raises(ValueError, match="five"):
        run_numbered(fail_at_five, 10_000, threads)
    assert len(done) < 10_000


def test_nested_jobs_run_on_the_thread_they_are_called_from():
    inner_threads = set()

    def outer(number):
        def inner(_):
            inner_threads.add((number, threading.get_ident()))

        assert available_threads() == 1
        run_numbered(inner, 4, 4)

    run_numbered(outer, 4, 2)
    assert len(inner_threads) == 4


def test_every_blas_is_held_to_one_thread_and_released_again():
    def blas_threads():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = blas_threads()
    with one_blas_thread():
        assert set(blas_threads()) == {1}
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_the_blas_is_held_from_any_thread_also_after_the_main_thread_has_set_it():
    found = []

    def from_elsewhere():
        with one_blas_thread():
            found.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")

    with threadpool_limits(2, user_api="blas"):
        elsewhere = threading.Thread(target=from_elsewhere)
        elsewhere.start()
        elsewhere.join()
        assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {2}
    assert set(found) == {1}


def test_limits_of_the_environment_and_of_threadpoolctl_are_respected():
    code = "from mercer._source.threads import available_threads; print(available_threads())"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "1"
    with threadpool_limits(1):
        assert available_threads() == 1


def test_joblib_threads_are_not_multiplied():
    with joblib.parallel_config(backend="threading", n_jobs=2):
        inside = joblib.Parallel()(joblib.delayed(available_threads)() for _ in range(2))
    assert inside == [1, 1]


def test_n_jobs_counts_as_in_joblib():
    assert n_threads(3) == 3
    assert n_threads(None) == n_threads(-1) == available_threads()
    assert n_threads(-1000) == 1


def test_a_forked_child_starts_its_own_crew():
    code = """
import os
from mercer._source.threads import run_numbered
run_numbered(lambda i: i, 8, 3)
child = os.fork()
if child == 0:
    received = []
    run_numbered(lambda i: i, 8, 3, received.append)
    os._exit(0 if received == list(range(8)) else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=PATIENCE)


def test_sums_over_blocks_are_the_same_for_any_number_of_threads():
    X = np.random.default_rng(0).normal(size=(1000, 7))
    totals = []
    for threads in (1, 2, 7):
        parts = []
        run_numbered(lambda number: X[number * 10 : number * 10 + 10].sum(axis=0), 100, threads, parts.append)
        totals.append(sum(parts))
    assert np.array_equal(totals[0], totals[1])
    assert np.array_equal(totals[0], totals[2])


# Accompanied by the crew.


def test_members_of_the_crew_stay_until_they_are_dismissed_even_by_an_error():
    over, came = threading.Event(), []
    started = threading.Barrier(3, timeout=PATIENCE)

    def work(member):
        came.append(member)
        started.wait()
        over.wait(PATIENCE)

    def leave():
        with run_alongside(work, over.set, 3):
            started.wait()
            raise KeyboardInterrupt("interrupted")

    with pytest.raises(KeyboardInterrupt, match="interrupted"):
        leave()
    assert over.is_set()
    assert sorted(came) == [1, 2]


def test_a_caller_gets_on_without_a_crew_that_others_keep_busy():
    over, came = threading.Event(), []
    # More than earlier tests may have left in the crew, so that nobody is free.
    count = crew._pool_size + 2
    busy = threading.Barrier(count + 1)

    def hold(_):
        busy.wait(PATIENCE)
        over.wait(PATIENCE)

    other = threading.Thread(target=run_numbered, args=(hold, count, count))
    other.start()
    busy.wait(PATIENCE)
    with run_alongside(came.append, lambda: None, 2):
        pass
    over.set()
    other.join(PATIENCE)
    assert came == []


def test_a_caller_inside_the_crew_is_not_accompanied():
    came = []

    def inside(_):
        with run_alongside(came.append, lambda: None, 3):
            time.sleep(0.01)

    run_numbered(inside, 2, 2)
    assert came == []


@pytest.mark.parametrize("threads", [1, 3])
def test_workers_see_the_settings_that_hold_where_the_work_was_asked_for(threads):
    seen, together = [], threading.Barrier(threads)

    def look(number):
        if number < threads:
            together.wait(PATIENCE)
        return threading.get_ident(), sklearn.get_config()["transform_output"], mercer.get_config()["max_memory"]

    with sklearn.config_context(transform_output="pandas"), mercer.config_context(max_memory=12345):
        run_numbered(look, 12, threads, seen.append)
    assert len({one for one, _, _ in seen}) == threads
    assert {told[1:] for told in seen} == {("pandas", 12345)}
    # The crew's threads live on; the settings do not.
    seen.clear()
    run_numbered(look, 12, threads, seen.append)
    assert {told[1] for told in seen} == {"default"}


def test_a_heavy_computation_sees_them_too():
    source = open_source(np.zeros((2, 1)), None, None, 1)
    with sklearn.config_context(transform_output="polars"):
        told = Dense(lambda: (threading.get_ident(), sklearn.get_config()["transform_output"]), heavy=True).answer(
            source
        )
    assert told[0] != threading.get_ident()
    assert told[1] == "polars"
