"""MiniBatchKMeans: running means, batches drawn by weight, and the online case."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs

from mercer.cluster import KMeans, MiniBatchKMeans
from mercer.errors import ParameterError


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(4000, 5, centers=6, cluster_std=1.5, random_state=1)[0]


@pytest.mark.catalogue("CL-03")
def test_each_centre_is_the_running_mean_of_the_rows_it_has_won():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = MiniBatchKMeans(3, init=X[:3], n_init=1, reassignment_ratio=0.0)
    centres, wins = X[:3].copy(), [[], [], []]
    for x in X:
        winner = ((centres - x) ** 2).sum(axis=1).argmin()
        wins[winner].append(x)
        centres[winner] = np.mean(wins[winner], axis=0)
        model.partial_fit(x[None, :])
    np.testing.assert_allclose(model.cluster_centers_, centres, rtol=1e-12)
    assert model.n_steps_ == 200


@pytest.mark.catalogue("CL-03")
def test_online_steps_approach_the_optimum_of_lloyd(blobs):
    online = MiniBatchKMeans(6, init=blobs[:6], n_init=1, batch_size=1, max_iter=1, random_state=0, tol=0.0)
    online.set_params(max_no_improvement=None).fit(blobs)
    batch = KMeans(6, init=online.cluster_centers_, tol=0).fit(blobs)
    assert online.n_steps_ == 4000
    assert online.inertia_ <= 1.05 * batch.inertia_


def test_a_weight_in_partial_fit_counts_as_repetitions(blobs):
    weight = np.random.default_rng(0).integers(0, 4, len(blobs))
    weighted = MiniBatchKMeans(4, init=blobs[:4], n_init=1, reassignment_ratio=0.0)
    repeated = MiniBatchKMeans(4, init=blobs[:4], n_init=1, reassignment_ratio=0.0)
    for start in range(0, 4000, 1000):
        part, times = blobs[start : start + 1000], weight[start : start + 1000]
        weighted.partial_fit(part, sample_weight=times)
        repeated.partial_fit(part.repeat(times, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-10)


def test_batches_are_drawn_by_weight_and_never_from_rows_without(blobs):
    X = np.vstack([blobs, np.full((4000, 5), 1e6)])
    weight = np.r_[np.ones(4000), np.zeros(4000)]
    model = MiniBatchKMeans(6, random_state=0).fit(X, sample_weight=weight)
    assert np.abs(model.cluster_centers_).max() < 100


def test_it_comes_close_to_full_k_means(blobs):
    small = MiniBatchKMeans(6, n_init=3, random_state=0).fit(blobs)
    full = KMeans(6, n_init=3, random_state=0).fit(blobs)
    assert small.inertia_ <= 1.05 * full.inertia_
    assert small.converged_
    assert small.certificate_.kind == "none"
    assert len(small.history_["objective"]) == small.n_steps_


def test_threads_and_sparse_storage_change_nothing(blobs):
    X = blobs * (np.abs(blobs) > 2)
    one, three = (MiniBatchKMeans(6, random_state=0, n_jobs=n_jobs).fit(X) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.cluster_centers_, three.cluster_centers_)
    sparse = MiniBatchKMeans(6, init=X[:6], n_init=1, random_state=0, max_iter=2).fit(scipy.sparse.csr_array(X))
    dense = MiniBatchKMeans(6, init=X[:6], n_init=1, random_state=0, max_iter=2).fit(X)
    np.testing.assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, rtol=1e-9)


def test_a_centre_that_wins_nothing_is_put_on_a_row(blobs):
    start = np.vstack([blobs[:5], np.full((1, 5), 1e6)])
    model = MiniBatchKMeans(6, init=start, n_init=1, random_state=0).fit(blobs)
    assert len(np.unique(model.labels_)) == 6


def test_single_precision_is_kept_with_double_means(blobs):
    model = MiniBatchKMeans(6, random_state=0).fit(blobs.astype(np.float32))
    assert model.cluster_centers_.dtype == np.float32
    assert model._state.centres.dtype == np.float64
    before = model.n_steps_
    assert model.partial_fit(blobs).cluster_centers_.dtype == np.float32
    assert model.n_steps_ == before + 1


def test_without_labels_the_inertia_is_the_smoothed_cost(blobs):
    model = MiniBatchKMeans(6, compute_labels=False, random_state=0).fit(blobs)
    assert not hasattr(model, "labels_")
    assert model.inertia_ == pytest.approx(-model.score(blobs), rel=0.1)


def test_too_small_a_sample_for_the_start_is_said_so(blobs):
    with pytest.warns(RuntimeWarning, match="MiniBatchKMeans: init_size=3 should be larger than n_clusters=6"):
        MiniBatchKMeans(6, init_size=3, random_state=0).fit(blobs)


@pytest.mark.catalogue("CL-03")
@pytest.mark.parametrize(("rate", "decay"), [(0.1, 0.0), (0.5, 0.6), (1.0, 1.0)])
def test_an_annealed_rate_moves_the_winner_by_its_share_of_the_way(rate, decay):
    X = np.random.default_rng(1).normal(size=(150, 2)) * [1.0, 30.0]
    options = {"learning_rate": rate, "learning_rate_decay": decay, "reassignment_ratio": 0.0}
    model, centres = MiniBatchKMeans(3, init=X[:3], n_init=1, **options), X[:3].copy()
    for number, x in enumerate(X):
        winner = ((centres - x) ** 2).sum(axis=1).argmin()
        centres[winner] += rate * (1 + number) ** -decay * (x - centres[winner])
        model.partial_fit(x[None, :])
    np.testing.assert_allclose(model.cluster_centers_, centres, rtol=1e-10)


@pytest.mark.catalogue("CL-03")
def test_rates_of_one_over_the_rows_give_the_mean_and_constant_rates_forget():
    X = np.random.default_rng(2).normal(size=(80, 3)) + 5.0
    annealed = MiniBatchKMeans(1, init=X[:1], n_init=1, learning_rate=1.0, learning_rate_decay=1.0)
    constant = MiniBatchKMeans(1, init=X[:1], n_init=1, learning_rate=0.2)
    for x in X:
        annealed.partial_fit(x[None, :])
        constant.partial_fit(x[None, :])
    np.testing.assert_allclose(annealed.cluster_centers_[0], X.mean(axis=0), rtol=1e-12)
    # An exponential average: the row k steps back has the weight 0.2 * 0.8^k, the start what is left.
    weight = 0.2 * 0.8 ** np.arange(79, -1, -1)
    np.testing.assert_allclose(constant.cluster_centers_[0], weight @ X + 0.8**80 * X[0], rtol=1e-12)
    moved = MiniBatchKMeans(1, init=X[:1], n_init=1)
    for x in np.concatenate([X, X[:40] + 100.0]):
        moved.partial_fit(x[None, :])
        constant.partial_fit(x[None, :])
    assert np.abs(constant.cluster_centers_ - 105.0).max() < 2.0 < np.abs(moved.cluster_centers_ - 105.0).min()


@pytest.mark.catalogue("CL-03")
def test_a_weight_of_two_is_the_row_twice_at_any_rate():
    X = np.random.default_rng(3).normal(size=(6, 2))
    model = MiniBatchKMeans(1, init=X[:1], n_init=1, learning_rate=0.3)
    heavy = clone(model).partial_fit(X[3:4], sample_weight=[2.0])
    twice = clone(model).partial_fit(np.repeat(X[3:4], 2, axis=0))
    np.testing.assert_allclose(heavy.cluster_centers_, twice.cluster_centers_, rtol=1e-12)
    np.testing.assert_allclose(heavy.cluster_centers_[0], X[3] + 0.49 * (X[0] - X[3]), rtol=1e-12)


@pytest.mark.catalogue("CL-03")
def test_annealed_steps_approach_the_optimum_of_lloyd(blobs):
    rates = {"learning_rate": 0.5, "learning_rate_decay": 0.7}
    online = MiniBatchKMeans(6, init=blobs[:6], n_init=1, batch_size=1, max_iter=2, random_state=0, **rates)
    online.set_params(max_no_improvement=None, reassignment_ratio=0.0).fit(blobs)
    batch = KMeans(6, init=online.cluster_centers_, tol=0).fit(blobs)
    assert online.inertia_ <= 1.05 * batch.inertia_
    with pytest.raises(ParameterError, match=r"learning_rate_decay is for a number .*; got 0\.5 with 'mean'"):
        MiniBatchKMeans(2, learning_rate_decay=0.5).fit(blobs)
