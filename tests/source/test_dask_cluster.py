"""A real cluster of two worker processes: only sums travel, lost workers cost no bit, and nothing is left behind."""

import os
import signal
import threading
import time
import warnings

import dask
import dask.array as da
import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster, wait
from sklearn.model_selection import GridSearchCV

from mercer._source import open_place
from mercer._source.block import rows_per_block
from mercer._source.dask.graph import group_chunks
from mercer._source.dask.source import DaskSource
from mercer._source.dask.tasks import PlacedSums
from mercer._source.file.local_table import count_kept_bytes
from mercer._source.threads import available_threads
from mercer._statistic import Moments
from mercer.cluster import KMeans
from mercer.errors import DataError
from mercer.linear_model import LogisticRegression, Ridge
from tests.laws.subjects import digest, fitted

D = 50
ROWS = rows_per_block(D)
CENTRES = np.random.default_rng(0).normal(size=(6, D)) * 2
NEAREST = np.random.default_rng(1).integers(6, size=12 * ROWS + 5)
X = CENTRES[NEAREST] + np.random.default_rng(2).normal(size=(12 * ROWS + 5, D))
Y = X[:, 0] + np.random.default_rng(3).normal(size=len(X))


@pytest.fixture(scope="module")
def client():
    # LocalCluster gives up a name whose worker is away 15 s after any loss of it. The tests below kill workers one
    # after the other, so the second loss of a name could fall on the check of the first; an hour outlasts this module.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def rows():
    return da.from_array(X, chunks=(3 * ROWS, D))


def mercer_keys(client):
    return client.run_on_scheduler(lambda dask_scheduler: [k for k in dask_scheduler.tasks if "mercer" in str(k)])


def eventually(condition, seconds=300.0):
    """Return whether a condition comes true; the limit only ends a test that fails."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def wait_for_new_workers(client, lost):
    """Wait until two workers answer that are not lost ones: the scheduler learns of a loss some time later."""

    def are_there():
        processes = set(client.run(os.getpid, on_error="ignore").values())
        return len(processes) == 2 and not processes & set(lost)

    assert eventually(are_there)


def fit(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


def test_rows_in_the_memory_of_workers_are_summed_there_in_few_tasks(client):
    collection = rows().persist()
    wait(collection)
    source = open_place("dask", collection, Y, None, subject="Test", targets="numbers", threads=1)
    groups = group_chunks(client, source.given.X, source.chunks)
    assert len(groups) < len(source.chunks)
    assert sorted(chunk.number for group in groups for chunk in group) == list(range(5))
    found, expected = source.reduce(Moments()), Ridge().fit(X, Y)
    assert found.scatter.shape == (D, D)
    assert Ridge().fit(collection, Y).coef_.tobytes() == expected.coef_.tobytes()


def test_futures_and_lists_of_delayed_blocks_are_fitted_to(client):
    expected = fit(KMeans(6, random_state=0), X).cluster_centers_
    cuts = [(start, min(start + 3 * ROWS, len(X))) for start in range(0, len(X), 3 * ROWS)]
    futures = client.scatter([X[a:b] for a, b in cuts])
    assert fit(KMeans(6, random_state=0), futures).cluster_centers_.tobytes() == expected.tobytes()
    pairs = [dask.delayed((X[a:b], Y[a:b])) for a, b in cuts]
    assert Ridge().fit(pairs).coef_.tobytes() == Ridge().fit(X, Y).coef_.tobytes()


def test_predictions_are_lazy_and_computed_by_the_workers(client):
    labels = np.where(Y > 0, "rain", "sun")
    model = fit(LogisticRegression(), rows(), labels)
    found = model.predict(rows())
    assert (found.chunks, found.dtype) == ((rows().chunks[0],), labels.dtype)
    assert np.array_equal(found.compute(), model.predict(X))
    assert np.array_equal(model.predict_proba(rows()).compute(), model.predict_proba(X))


def test_what_travels_is_a_sum_however_many_rows_there_are():
    # Chunks give runs of blocks, two for each power of two at most, and neighbours merge.
    sums = PlacedSums()
    for place in range(5, 1000):
        sums.add(place, 0, 1.0)
    assert len(sums.parts) <= 2 * 10


@pytest.mark.parametrize("model", [KMeans(6, random_state=0, tol=0), LogisticRegression()], ids=repr)
def test_a_worker_killed_in_mid_fit_costs_no_bit(model, client, monkeypatch):
    expected = digest(known(fit(model, X, Y > 0)))
    collection = rows().persist()
    wait(collection)
    reduce, passes, lost = DaskSource.reduce, [], []

    def lose_a_worker(self, statistic):
        passes.append(statistic)
        if len(passes) == 6:
            lost.append(next(iter(client.run(os.getpid).values())))
            threading.Timer(0.003, os.kill, [lost[0], signal.SIGKILL]).start()
        return reduce(self, statistic)

    monkeypatch.setattr(DaskSource, "reduce", lose_a_worker)
    assert digest(known(fit(model, collection, Y > 0))) == expected
    assert len(passes) > 6
    wait_for_new_workers(client, lost)


def known(model):
    return {name: value for name, value in fitted(model).items() if name != "labels_"}


def test_blocks_that_nobody_can_make_anew_end_the_fit(client):
    blocks = client.scatter([X[: 3 * ROWS], X[3 * ROWS :]], broadcast=False)
    source = open_place("dask", blocks, None, None, subject="Test", targets=None, threads=1)
    lost = list(client.run(os.getpid).values())
    for victim in lost:
        os.kill(victim, signal.SIGKILL)
    assert eventually(lambda: {block.status for block in blocks} == {"cancelled"})
    with pytest.raises(DataError, match=r"Test: rows that the work needs are gone .* Give collections that Dask can"):
        source.reduce(Moments())
    wait_for_new_workers(client, lost)


class Fatal:
    """A statistic that ends the process it is asked in."""

    def __reduce__(self):
        return Fatal, ()

    def on(self, block):
        os._exit(1)


def allow_failures(client, number):
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", number))


def test_a_task_that_ends_every_worker_is_named(client):
    allow_failures(client, 0)
    source = open_place("dask", da.ones((10, 2)), None, None, subject="Test", targets=None, threads=1)
    with pytest.raises(DataError, match=r"Test: task mercer-sum_chunks-.* ended \d+ workers, the last of them tcp://"):
        source.reduce(pickle_by_value(Fatal))
    allow_failures(client, 3)
    wait_for_new_workers(client, [])


def pickle_by_value(kind):
    """An instance whose class travels with it: workers need not know this module."""
    import cloudpickle

    import tests.source.test_dask_cluster as module

    cloudpickle.register_pickle_by_value(module)
    return getattr(module, kind.__name__)()


class Hungry:
    """A statistic that asks for more memory than there is."""

    def on(self, block):
        raise MemoryError("Unable to allocate 3 PiB")


def test_a_worker_out_of_memory_is_named_with_the_chunk(client):
    source = open_place("dask", da.ones((10, 2)), None, None, subject="Test", targets=None, threads=1)
    with pytest.raises(DataError, match=r"worker tcp://\S+ ran out of memory at chunk 0 .*; use smaller chunks"):
        source.reduce(pickle_by_value(Hungry))


class Endless:
    """A statistic that waits until a file is there, and says in others that it has begun and that it has ended."""

    def __init__(self, folder=None):
        self.folder = folder

    def on(self, block):
        (self.folder / "begun").touch()
        end = time.monotonic() + 60
        while not (self.folder / "released").exists() and time.monotonic() < end:
            time.sleep(0.01)
        (self.folder / "ended").touch()


def test_ctrl_c_is_seen_at_once_and_cancels_what_is_under_way(client, tmp_path):
    source = open_place("dask", da.ones((40, 2), chunks=(2, 2)), None, None, subject="Test", targets=None, threads=1)
    statistic = pickle_by_value(Endless)
    statistic.folder = tmp_path

    def press():
        eventually((tmp_path / "begun").exists)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            source.reduce(statistic)
        assert not (tmp_path / "ended").exists()
    finally:
        (tmp_path / "released").touch()
    assert eventually(lambda: not mercer_keys(client))


def test_nothing_is_left_on_the_cluster_after_a_fit(client):
    fit(KMeans(6, random_state=0), rows())
    fit(Ridge(), rows(), Y)
    assert eventually(lambda: not mercer_keys(client))
    assert eventually(lambda: set(client.run(count_kept_bytes).values()) == {0})


def test_searches_run_on_the_cluster_through_joblib(client):
    grid = {"alpha": [0.1, 1.0, 10.0]}
    expected = GridSearchCV(Ridge(), grid, cv=3).fit(X[:500], Y[:500])
    with joblib.parallel_config("dask"):
        found = GridSearchCV(Ridge(), grid, cv=3).fit(X[:500], Y[:500])
        threads = joblib.Parallel()(joblib.delayed(available_threads)() for _ in range(4))
    assert found.best_estimator_.coef_.tobytes() == expected.best_estimator_.coef_.tobytes()
    assert set(threads) == {1}


def test_a_task_takes_one_thread_where_workers_are_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    outside = available_threads()
    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0", set_as_default=False
    ) as local:
        assert local.submit(available_threads).result() == 1
    assert available_threads() == outside
