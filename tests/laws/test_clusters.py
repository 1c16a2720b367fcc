"""Promise 3 on a cluster: every estimator gives the bits of memory from Dask chunks, or says what to use instead."""

import pickle
import warnings

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from scipy.sparse import issparse

from mercer._source.block import rows_per_block
from mercer._source.dask.graph import TaskLayer
from mercer.errors import DataError
from mercer.watch import Checkpoint
from tests.laws.settings import OF_MANY_ROWS
from tests.laws.subjects import digest, fitted, outputs, subjects
from tests.laws.test_control import At, crash

SUBJECTS = [subject for subject in subjects() if "dask" in subject.places]
FIRST = {subject.name: subject for subject in reversed(SUBJECTS)}
ROWS = rows_per_block(5)
N = 2 * ROWS + 1000
# What takes rows in an order of its own takes them as from a stream: block by block.
BY_BLOCKS = {
    "MLPClassifier",
    "MLPRegressor",
    "MiniBatchKMeans",
    "Perceptron",
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
    "SGDClassifier",
    "SGDOneClassSVM",
    "SGDRegressor",
}
# Networks of other shapes shuffle within blocks too.
BY_BLOCKS |= {"Autoencoder", "ConvClassifier", "RecurrentClassifier", "RecurrentRegressor"}
# Labels are kept of rows at hand alone.
LEFT_OUT = {"labels_", "outliers_", "feature_names_in_"}
# Equal bits do not need a converged answer: the third iteration follows from two rounds of sums over the chunks.
FEW_STEPS = {"max_iter": 5, "n_iter": 3, "batch_size": 5000}


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def cut_rows(subject, dtype=np.float64, few=("Neighbors",)):
    """Rows and targets, and the rows as a Dask array of three chunks; few where neighbours of all rows are searched."""
    chunk = 300 if any(word in subject.name for word in few) else ROWS
    X, y = subject.data(2 * chunk + chunk // 16, 5, dtype)
    return X, y, da.from_array(X, chunks=((chunk, chunk, chunk // 16), 5))


def make(subject):
    return subject.make(**FEW_STEPS, **OF_MANY_ROWS.get(subject.name, {}))


def fit(subject, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(subject).fit(X, y)


def known(model):
    return {name: value for name, value in fitted(model).items() if name not in LEFT_OUT}


def expected_fit(subject, X, y):
    """The fit in memory; of batches in the order of rows where rows cannot be drawn, as from a stream."""
    if subject.name not in BY_BLOCKS:
        return fit(subject, X, y)
    return fit(subject, [X[:7777], X[7777:]] if y is None else [(X[:7777], y[:7777]), (X[7777:], y[7777:])], None)


def check(subject):
    X, y, rows = cut_rows(subject)
    if subject.needs_memory:
        with pytest.raises(
            DataError,
            match=r"needs all rows in memory; got the Dask array.*(Use (solver|cv|metric|strategy)=|Give X_val)",
        ):
            fit(subject, rows, y)
        return
    expected, found = expected_fit(subject, X, y), fit(subject, rows, y)
    assert digest(known(found)) == digest(known(expected))
    for name, values in outputs(expected, X).items():
        lazy = getattr(found, name)(rows)
        assert isinstance(lazy, da.Array)
        assert (lazy.chunks[0], lazy.dtype, lazy.shape) == (rows.chunks[0], values.dtype, values.shape), name
        computed = lazy.compute()
        assert np.array_equal(computed.toarray() if issparse(computed) else computed, values), name


@pytest.fixture
def sent(monkeypatch):
    """Whatever tasks are sent is packed and unpacked, as on the way to a worker."""
    hold = TaskLayer.hold
    monkeypatch.setattr(TaskLayer, "hold", lambda self, value: hold(self, pickle.loads(cloudpickle.dumps(value))))


# First settings run on worker processes, below.
@pytest.mark.parametrize("subject", [one for one in SUBJECTS if FIRST[one.name] is not one], ids=repr)
def test_chunks_in_this_process_give_the_bits_of_memory(subject, sent):
    with dask.config.set(scheduler="threads"):
        check(subject)


@pytest.mark.parametrize("name", FIRST)
def test_chunks_on_worker_processes_give_the_bits_of_memory(name, client):
    check(FIRST[name])


@pytest.mark.parametrize("name", FIRST)
def test_weights_and_float32_give_the_bits_of_memory(name):
    subject = FIRST[name]
    # Steps of the machine that draw units of every row take seconds; that it adds up blocks is shown above.
    X, y, rows = cut_rows(subject, np.float32, few=("Neighbors", "BoltzmannMachine"))
    weight = np.random.default_rng(0).integers(0, 3, size=len(X)).astype(float)
    given = {"sample_weight": weight} if subject.fit_takes("sample_weight") else {}
    with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = make(subject).fit(rows, y, **given)
        if subject.name in BY_BLOCKS:
            cuts = [slice(start, start + 5000) for start in range(0, len(X), 5000)]
            blocks = [(X[cut], None if y is None else y[cut], weight[cut]) for cut in cuts]
            expected = make(subject).fit(blocks)
        else:
            expected = make(subject).fit(X, y, **given)
    assert digest(known(found)) == digest(known(expected))


GATHERING = {subject.name: subject for subject in reversed(subjects()) if "dask" not in subject.places}


@pytest.mark.parametrize("name", GATHERING)
def test_what_needs_all_rows_brings_them_from_a_cluster(name):
    subject = GATHERING[name]
    X, y = subject.data(100, 5)
    rows = da.from_array(X, chunks=((40, 40, 20), 5))
    with dask.config.set(scheduler="synchronous"):
        expected, found = fit(subject, X, y), fit(subject, rows, y)
        assert digest(known(found)) == digest(known(expected))
        for method, values in outputs(expected, X).items():
            # Models of sequences bring new rows to memory too: what they say of a row depends on those before it.
            (computed,) = dask.compute(getattr(found, method)(rows))
            computed = computed.toarray() if issparse(computed) else computed
            if values.dtype.kind == "f":
                # A product of fewer rows may round another way.
                np.testing.assert_allclose(computed, values, rtol=1e-9, atol=1e-12 * np.abs(values).max())
            else:
                assert np.array_equal(computed, values), method


@pytest.mark.parametrize("first", ["memory", "dask"])
def test_a_checkpoint_is_resumed_in_another_place(first, tmp_path):
    X, _ = FIRST["KMeans"].data(N, 5)
    rows = da.from_array(X, chunks=((ROWS, ROWS, N - 2 * ROWS), 5))
    places = [X, rows] if first == "memory" else [rows, X]
    # Six iterations tell as much as hundreds.
    settings = {"tol": 0, "n_init": 1, "max_iter": 6}
    model = FIRST["KMeans"].make(**settings)
    path = tmp_path / "fit.checkpoint"
    with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="killed"):
            model.set_callbacks(Checkpoint(path, every=0), At(3, crash)).fit(places[0])
        checkpoint = Checkpoint(path, every=0)
        resumed = model.set_callbacks(checkpoint).fit(places[1])
        expected = FIRST["KMeans"].make(**settings).fit(X)
    assert checkpoint.resumed_from_ == 2
    assert resumed.cluster_centers_.tobytes() == expected.cluster_centers_.tobytes()
