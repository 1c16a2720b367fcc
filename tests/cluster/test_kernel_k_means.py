"""KernelKMeans: Lloyd's algorithm on kernels alone."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

import mercer
from mercer.cluster import KernelKMeans, KMeans
from mercer.errors import DataError
from mercer.gaussian_process import GaussianProcessClassifier
from mercer.kernels import KernelScaleWarning


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(300, 3, centers=5, cluster_std=2.0, random_state=0)[0]


def direct_squares(K, labels, weight, k):
    """Squared distances in feature space to the means of clusters, from the formula, cluster by cluster."""
    columns = []
    for q in range(k):
        w = weight * (labels == q)
        columns.append(np.diag(K) - 2 * K @ w / w.sum() + w @ K @ w / w.sum() ** 2)
    return np.array(columns).T


@pytest.mark.catalogue("KM-20")
def test_the_linear_kernel_is_lloyd_from_the_same_start(blobs):
    start = ((blobs[:, None] - blobs[None, :5]) ** 2).sum(axis=2).argmin(axis=1)
    lloyd = KMeans(5, init=np.array([blobs[start == q].mean(axis=0) for q in range(5)]), n_init=1, tol=0.0).fit(blobs)
    for rows, kernel in ((blobs, "linear"), (blobs @ blobs.T, "precomputed")):
        model = KernelKMeans(5, kernel=kernel, start=start).fit(rows)
        assert adjusted_rand_score(model.labels_, lloyd.labels_) == 1.0
        assert model.inertia_ == pytest.approx(lloyd.inertia_, rel=1e-9)


@pytest.mark.catalogue("KM-20")
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian", "cosine"])
def test_every_row_ends_at_its_nearest_mean_and_the_objective_never_rises(blobs, kernel):
    weight = np.random.default_rng(0).integers(1, 4, len(blobs)).astype(float)
    model = KernelKMeans(4, kernel=kernel, gamma=0.05, n_init=1, random_state=0).fit(blobs, sample_weight=weight)
    options = {"gamma": 0.05} if kernel in ("rbf", "poly", "laplacian") else {}
    squares = direct_squares(pairwise_kernels(blobs, metric=kernel, **options), model.labels_, weight, 4)
    own = squares[np.arange(len(blobs)), model.labels_]
    assert np.all(own <= squares.min(axis=1) + 1e-9 * np.abs(squares).max())
    assert model.inertia_ == pytest.approx(weight @ own, rel=1e-9)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-9 * model.history_["objective"][0])
    assert model.converged_
    np.testing.assert_array_equal(model.predict(blobs), model.labels_)


@pytest.mark.catalogue("KM-20")
def test_rings_are_separated_where_k_means_fails():
    X, rings = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    assert adjusted_rand_score(KMeans(2, n_init=5, random_state=0).fit_predict(X), rings) < 0.1
    model = KernelKMeans(2, gamma=3.0, n_init=20, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, rings) == 1.0
    fresh, truth = make_circles(80, factor=0.3, noise=0.05, random_state=1)
    assert adjusted_rand_score(model.predict(fresh), truth) == 1.0


@pytest.mark.catalogue("KM-20")
def test_more_runs_never_do_worse(blobs):
    costs = [KernelKMeans(6, gamma=0.02, n_init=n, random_state=1).fit(blobs).inertia_ for n in (1, 3, 9)]
    assert costs[0] >= costs[1] >= costs[2]


def test_weights_are_repetitions_from_one_start(blobs):
    weight = np.random.default_rng(0).integers(0, 3, len(blobs))
    start = np.arange(len(blobs)) % 3
    heavy = KernelKMeans(3, gamma=0.05, start=start).fit(blobs, sample_weight=weight.astype(float))
    many = KernelKMeans(3, gamma=0.05, start=start.repeat(weight)).fit(blobs.repeat(weight, axis=0))
    assert heavy.inertia_ == pytest.approx(many.inertia_, rel=1e-9)
    assert adjusted_rand_score(heavy.predict(blobs), many.predict(blobs)) == 1.0


def test_threads_change_no_bit_and_labels_follow_the_first_rows(blobs):
    models = [KernelKMeans(4, gamma=0.05, random_state=0, n_jobs=n_jobs).fit(blobs) for n_jobs in (1, 2, 5)]
    assert len({(model.labels_.tobytes(), model.offsets_.tobytes(), model.inertia_) for model in models}) == 1
    _, first = np.unique(models[0].labels_, return_index=True)
    assert np.all(np.diff(first) > 0)


def test_an_empty_cluster_takes_the_farthest_row():
    X = np.array([[0.0], [1.0], [50.0], [51.0], [90.0]])
    model = KernelKMeans(3, kernel="linear", start=[0, 0, 0, 0, 1]).fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1, 2]
    equal = KernelKMeans(2, kernel="rbf", random_state=0).fit(np.ones((4, 2)))
    assert set(equal.labels_) == {0}


def test_memory_is_forecast_before_kernels_are_taken():
    with (
        mercer.config_context(max_memory=2**20),
        pytest.raises(MemoryError, match=r"the 2000 x 2000 kernels needs .*use kernel='linear'"),
    ):
        KernelKMeans(2).fit(np.random.default_rng(0).normal(size=(2000, 2)))


def test_what_makes_no_sense_is_refused(blobs):
    K = rbf_kernel(blobs[:6])
    with pytest.raises(DataError, match=r"kernels must be a square matrix; got shape \(5, 6\)"):
        KernelKMeans(2, kernel="precomputed").fit(K[:5])
    with pytest.raises(DataError, match="kernels must be symmetric with a non-negative diagonal"):
        KernelKMeans(2, kernel="precomputed").fit(-K)
    with pytest.raises(DataError, match="start must hold a label from 0 to 1 for each of the 6 rows"):
        KernelKMeans(2, start=[0, 1, 2, 0, 1, 0]).fit(blobs[:6])
    with pytest.raises(DataError, match="n_samples=6 should be >= n_clusters=8"):
        KernelKMeans(8).fit(blobs[:6])


@pytest.mark.parametrize(("unit", "what"), [(1e-6, "all ones"), (1e6, "the identity")])
def test_a_kernel_that_tells_no_rows_apart_is_named(unit, what):
    rng = np.random.default_rng(0)
    X = unit * rng.normal(size=(60, 3))
    with pytest.warns(KernelScaleWarning, match=f"KernelKMeans: the kernel matrix is numerically {what}"):
        KernelKMeans(2, random_state=0).fit(X)
    with pytest.warns(KernelScaleWarning, match=f"GaussianProcessClassifier: the kernel matrix is numerically {what}"):
        GaussianProcessClassifier().fit(X, np.repeat([0, 1], 30))
