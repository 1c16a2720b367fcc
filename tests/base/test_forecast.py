"""The forecast: passes, memory and time said beforehand are those of the fit that follows."""

import time
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from sklearn.pipeline import make_pipeline

import mercer
from mercer._base.forecasting import Extrapolation
from mercer._base.rehearsal import Rehearsal, rehearse
from mercer._source.array import ArraySource
from mercer._source.file.block_stream import BlockStream
from mercer._source.readings import Readings
from mercer._source.sample import Sample, take_sample
from mercer.cluster import KMeans, MiniBatchKMeans
from mercer.decomposition import PCA, IncrementalPCA, KernelPCA
from mercer.errors import DataError, ParameterError
from mercer.kernel_approximation import RBFSampler
from mercer.linear_model import LinearRegression, LogisticRegression, Ridge

GROUPS = np.random.default_rng(0).integers(0, 6, 140_000)
X = np.random.default_rng(1).normal(size=(6, 8))[GROUPS] * 4 + np.random.default_rng(2).normal(size=(140_000, 8))
Y = X @ np.arange(8.0) + np.random.default_rng(3).normal(size=len(X))
LABELS = np.array(["ash", "oak"])[(Y + 3 * np.random.default_rng(4).normal(size=len(X)) > 0).astype(int)]


def peak(model, *data):
    tracemalloc.start()
    model.fit(*data)
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size


@pytest.mark.parametrize(
    ("model", "y", "passes"),
    [
        (PCA(3), None, 1),
        (PCA(3, svd_solver="full"), None, 1),
        (IncrementalPCA(3, batch_size=4000), None, 1),
        (Ridge(), Y, 1),
        (Ridge(solver="svd"), Y, 3),
        (LinearRegression(), Y, 2),
    ],
    ids=["PCA", "PCA by SVD", "PCA in batches", "ridge", "ridge by SVD", "least squares"],
)
def test_the_passes_of_closed_forms_are_exact(model, y, passes):
    assert mercer.forecast(model, X, y).passes == (passes, passes)


def test_the_passes_of_iterative_fits_are_about_those_of_the_fit_and_never_more_than_the_most():
    for model, y in ((KMeans(6, random_state=0), None), (LogisticRegression(), LABELS)):
        said = mercer.forecast(model, X, y)
        actual = rehearse(model, Sample(X, y, None)).readings.passes
        assert actual / 2 <= said.passes[0] <= 2 * actual
        assert actual <= said.passes[1]
    assert mercer.forecast(KMeans(6, max_iter=1, random_state=0), X).passes[1] <= 12


@pytest.mark.catalogue("WF-08")
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (KMeans(6, random_state=0, n_jobs=1), None),
        (PCA(3, n_jobs=1), None),
        (Ridge(n_jobs=1), Y),
        (Ridge(solver="saga", random_state=0, n_jobs=1), Y),
        (LogisticRegression(n_jobs=1), LABELS),
        (MiniBatchKMeans(6, random_state=0, n_jobs=1), None),
    ],
    ids=["k-means", "PCA", "ridge", "ridge by saga", "logistic", "mini-batch k-means"],
)
def test_the_memory_is_within_a_factor_of_two_of_the_peak(model, y):
    said = mercer.forecast(model, X, y)
    assert said.fits
    assert 0.5 <= said.memory_bytes / peak(model, X, y) <= 2.0
    assert said.memory_bytes == sum(said.memory_parts.values())


@pytest.mark.catalogue("WF-08")
def test_the_time_is_that_of_the_fit_on_a_clock_that_counts_rows(monkeypatch):
    now, sum_run = [0.0], ArraySource._sum_run

    def spend(source, statistic, first, stop):
        # A microsecond for each row of the blocks.
        now[0] += 1e-6 * (source.bounds(stop - 1)[1] - source.bounds(first)[0])
        return sum_run(source, statistic, first, stop)

    monkeypatch.setattr(ArraySource, "_sum_run", spend)
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    model = LogisticRegression(n_jobs=1)
    said = mercer.forecast(model, X, LABELS)
    begin = now[0]
    model.fit(X, LABELS)
    # What remains unknown is how many steps all rows take that a sample of them took fewer or more of.
    assert said.seconds == pytest.approx(now[0] - begin, rel=0.3)
    assert now[0] - begin > 1e-6 * len(X)
    assert mercer.forecast(model.set_params(max_time=0.001), X, LABELS).seconds == 0.001


@pytest.mark.catalogue("WF-08")
@pytest.mark.parametrize(("power", "stated"), [(0, 0), (1, 1), (2, 2), (3, 3)])
def test_work_besides_passes_is_extrapolated_by_the_power_that_two_rehearsals_show(power, stated):
    """Kernels and pairs of rows take n^2, factorisations n^3; half of a sample tells which."""
    half, whole = (Rehearsal(n, Readings(n), seconds=0.01 + 0.4 * (n / 4000) ** power) for n in (2000, 4000))
    seconds, on_rows = Extrapolation(half, whole, 64_000).seconds(0.0)
    assert on_rows == 0
    # What does not grow is known apart where the rest is linear; a power takes it along.
    expected = {0: 0.41, 1: 0.01 + 0.4 * 16, 2: 0.41 * 16**2, 3: 0.41 * 16**3}[stated]
    assert seconds == pytest.approx(expected, rel=0.01)


@pytest.mark.catalogue("WF-08")
def test_kernels_are_forecast_to_grow_with_the_square_of_the_rows_and_random_features_not_at_all():
    rows = np.random.default_rng(0).normal(size=(200_000, 2))
    with mercer.config_context(max_memory="60MB"):
        exact = [
            mercer.forecast(KernelPCA(2, kernel="rbf", eigen_solver="dense"), rows[:n]) for n in (100_000, 200_000)
        ]
        mapped = [mercer.forecast(RBFSampler(n_components=50, random_state=0), rows[:n]) for n in (100_000, 200_000)]
    assert exact[1].memory_bytes / exact[0].memory_bytes == pytest.approx(4.0, rel=1e-6)
    assert exact[0].memory_bytes >= 8 * 100_000**2
    assert not exact[0].fits
    assert mapped[1].memory_bytes == pytest.approx(mapped[0].memory_bytes, rel=0.2)
    assert mapped[1].fits


def test_a_forecast_leaves_estimator_and_data_as_they_were():
    model, generator = KMeans(4, random_state=np.random.default_rng(3)), np.random.default_rng(3)
    before = X.copy()
    mercer.forecast(model, X)
    assert set(vars(model)) == set(vars(KMeans()))
    assert model.random_state.random() == generator.random()
    np.testing.assert_array_equal(X, before)


def test_streams_are_forecast_with_the_blocks_they_read_ahead():
    def blocks():
        return ((X[start : start + 7000], Y[start : start + 7000]) for start in range(0, len(X), 7000))

    said = mercer.forecast(Ridge(), blocks)
    assert (said.rows, said.columns, said.passes) == (len(X), 8, (1, 1))
    assert "for blocks read ahead" in said.memory_parts
    with pytest.raises(DataError, match="forecast: the blocks of a generator can be read only once"):
        mercer.forecast(Ridge(), blocks())


def test_samples_are_spread_over_rows_at_hand_and_the_first_of_a_stream():
    source = KMeans()._open(np.arange(len(X), dtype=float)[:, None], accept_sparse="csr")
    rows = take_sample(source, 50_000).X[:, 0]
    assert rows[0] == 0
    assert rows[-1] == len(X) - 1
    stream = BlockStream([rows[:, None]], subject="KMeans", targets=None, threads=1)
    np.testing.assert_array_equal(take_sample(stream, 16384).X[:, 0], rows[:16384])


def test_rows_that_must_be_copied_are_counted():
    copied = mercer.forecast(PCA(2), np.asfortranarray(X))
    assert copied.memory_parts["for a copy of the rows as C-ordered floats"] == X.nbytes
    assert mercer.forecast(PCA(2), X).memory_bytes < X.nbytes / 10
    sparse = scipy.sparse.random(3_000, 8, density=0.1, random_state=0)
    assert (
        "for a copy of the rows as C-ordered floats" in mercer.forecast(KMeans(2, random_state=0), sparse).memory_parts
    )
    csr = mercer.forecast(KMeans(2, random_state=0), sparse.tocsr())
    assert "for a copy of the rows as C-ordered floats" not in csr.memory_parts


@pytest.mark.parametrize("limit", [2_000_000, 10_000], ids=["refused at all rows", "refused at the sample"])
def test_a_fit_that_would_be_refused_does_not_fit_and_says_why(limit):
    with mercer.config_context(max_memory=limit):
        said = mercer.forecast(Ridge(solver="saga", max_iter=1), X, Y)
        with pytest.raises(MemoryError) as refusal:
            Ridge(solver="saga", max_iter=1).fit(X, Y)
    assert not said.fits
    assert said.allowed_bytes == limit
    assert "the table of residuals needs" in said.notes[0]
    assert said.notes[0].split(" and ")[0] == str(refusal.value).split(" and ")[0]
    assert "does not fit in" in str(said)


def test_a_forecast_reads_as_a_few_lines():
    lines = str(mercer.forecast(LinearRegression(), X, Y)).splitlines()
    assert lines[0] == f"LinearRegression on {len(X)} x 8"
    assert [line.split()[0] for line in lines[1:]] == ["memory", "passes", "time"]
    assert "passes  2" in lines[2]


def test_what_is_not_an_estimator_of_mercers_is_refused():
    with pytest.raises(ParameterError, match="forecast: estimator must be one of mercer's; got Pipeline"):
        mercer.forecast(make_pipeline(PCA()), X)
