"""DBSCAN: the definition, by every search, against scikit-learn."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.cluster
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import pairwise_distances

import mercer
from mercer._solver.neighbours.metric import Metric
from mercer._source.memory import collect_requests
from mercer.cluster import DBSCAN, dbscan
from mercer.errors import DataError, MemoryForecastError, ParameterError

ALGORITHMS = ["auto", "kd_tree", "ball_tree", "brute"]


def draw(seed):
    """Rows of few or more columns, some on a lattice full of ties, some twice, with an epsilon and a count for them."""
    random = np.random.default_rng(seed)
    n, d = int(random.integers(2, 300)), int(random.integers(1, 7))
    X = random.normal(size=(n, d)) * random.uniform(0.2, 2.0)
    X = np.round(4 * X) / 4 if seed % 3 == 0 else X
    X = np.vstack([X, X[: n // 2]]) if seed % 4 == 0 else X
    return X, 0.5 if seed % 3 == 0 else float(random.uniform(0.1, 1.2)), int(random.integers(1, 10))


def by_definition(X, eps, min_samples):
    """Grow each cluster from its lowest core row, row by row."""
    near = ((X[:, None] - X[None]) ** 2).sum(axis=2) <= eps**2
    core = near.sum(axis=1) >= min_samples
    labels, cluster = np.full(len(X), -1), 0
    for row in np.flatnonzero(core):
        if labels[row] >= 0:
            continue
        front = [row]
        while front:
            one = front.pop()
            if labels[one] < 0:
                labels[one] = cluster
                front += np.flatnonzero(near[one]).tolist() if core[one] else []
        cluster += 1
    return labels, core


# Truth.


@pytest.mark.catalogue("CL-10")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", range(12))
def test_cores_clusters_borders_and_noise_are_those_of_the_definition(seed, algorithm):
    X, eps, min_samples = draw(seed)
    labels, core = by_definition(X, eps, min_samples)
    model = DBSCAN(eps, min_samples=min_samples, algorithm=algorithm).fit(X)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.core_sample_indices_, np.flatnonzero(core))
    np.testing.assert_array_equal(model.components_, X[core])


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "cosine", "canberra", "seuclidean"])
def test_other_metrics_give_scikit_learns_labels(metric):
    X = make_blobs(150, 4, centers=3, random_state=0)[0]
    eps = {"cosine": 0.01, "canberra": 0.6, "seuclidean": 0.4, "manhattan": 2.5}.get(metric, 1.0)
    params = {"V": X.var(axis=0)} if metric == "seuclidean" else None
    expected = sklearn.cluster.DBSCAN(eps, metric=metric, metric_params=params).fit(X)
    assert expected.labels_.max() > 0
    found = DBSCAN(eps, metric=metric, metric_params=params).fit(X)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.predict(X), found.labels_)


def test_a_row_between_two_clusters_goes_to_the_one_that_was_found_first():
    X = np.array([[5.0], [5.1], [5.2], [4.6], [4.0], [4.1], [4.2]])
    # Row 3 is within 0.4 of 5.0 and of 4.2, but has too few neighbours to be core itself.
    labels = DBSCAN(0.41, min_samples=4).fit(X[[0, 1, 2, 3, 4, 5, 6]]).labels_
    assert labels[3] == 0
    assert DBSCAN(0.41, min_samples=4).fit(X[::-1]).labels_[3] == 0


@pytest.mark.catalogue("CL-10")
def test_two_moons_come_apart_and_epsilon_goes_from_noise_to_one_cluster():
    X, y = make_moons(400, noise=0.05, random_state=0)
    labels = DBSCAN(0.15).fit(X).labels_
    assert all(len(set(y[labels == cluster])) == 1 for cluster in range(labels.max() + 1))
    assert labels.max() == 1
    assert set(DBSCAN(1e-9).fit(X).labels_) == {-1}
    assert set(DBSCAN(1e9).fit(X).labels_) == {0}


# Invariance.


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_weight_is_a_number_of_rows_and_none_is_no_row(algorithm):
    random = np.random.default_rng(1)
    X = random.normal(size=(120, 2))
    weight = random.integers(0, 4, 120)
    weighted = DBSCAN(0.3, min_samples=6, algorithm=algorithm).fit(X, sample_weight=weight)
    repeated = DBSCAN(0.3, min_samples=6, algorithm=algorithm).fit(X.repeat(weight, axis=0))
    np.testing.assert_array_equal(weighted.labels_.repeat(weight), repeated.labels_)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    assert not np.isin(np.flatnonzero(weight == 0), weighted.core_sample_indices_).any()


@pytest.mark.parametrize("seed", range(6))
def test_new_rows_join_the_lowest_cluster_within_reach_and_old_rows_their_own(seed):
    X, eps, min_samples = draw(seed)
    model = DBSCAN(eps, min_samples=min_samples).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    rows = np.random.default_rng(seed).normal(size=(50, X.shape[1]))
    near = ((rows[:, None] - model.components_[None]) ** 2).sum(axis=2) <= eps**2
    high = np.where(near, model.labels_[model.core_sample_indices_], 10**6).min(axis=1, initial=10**6)
    np.testing.assert_array_equal(model.predict(rows), np.where(high == 10**6, -1, high))


# Equality of places.


@pytest.mark.parametrize("store", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_given_distances_dense_and_sparse_give_the_labels_of_the_rows(store):
    X = np.random.default_rng(2).normal(size=(100, 2))
    D = pairwise_distances(X)
    given = store(np.where(D <= 0.5, D, 0.0)) if store is not np.asarray else D
    expected = DBSCAN(0.3).fit(X)
    found = DBSCAN(0.3, metric="precomputed").fit(given)
    assert found.search_used_ == "precomputed"
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.predict(D), expected.labels_)


def test_searches_are_named_and_lists_of_neighbours_may_be_cut_anywhere(monkeypatch):
    X = np.random.default_rng(3).normal(size=(200, 3))
    expected = DBSCAN(0.6).fit(X)
    assert expected.search_used_ == "grid"
    assert DBSCAN(0.6).fit(X[:, [0, 0, 1, 2]]).search_used_ == "kd_tree"
    assert DBSCAN(1e-14).fit(X).search_used_ == "kd_tree"
    monkeypatch.setattr("mercer.cluster._density.neighbour_lists._MOST", 300)
    for algorithm in ("ball_tree", "brute"):
        found = DBSCAN(0.6, algorithm=algorithm, n_jobs=3).fit(X)
        np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_distances_of_few_rows_are_computed_once(monkeypatch):
    X, seen = np.random.default_rng(3).normal(size=(60, 3)), []
    measure = Metric.distances
    monkeypatch.setattr(Metric, "distances", lambda *given: seen.append(len(given[1])) or measure(*given))
    weighted = DBSCAN(0.6, algorithm="brute").fit(X, sample_weight=np.full(60, 2.0))
    assert seen == [60]
    np.testing.assert_array_equal(weighted.labels_, DBSCAN(0.6, min_samples=3).fit(X).labels_)


# Edges.


def test_memory_is_a_few_numbers_a_row_however_full_the_neighbourhoods_are():
    X = np.random.default_rng(4).normal(size=(20_000, 3))
    with collect_requests() as requests:
        assert set(DBSCAN(100.0).fit(X).labels_) == {0}
    assert sum(request.n_bytes for request in requests) < 3 * X.nbytes
    with mercer.config_context(max_memory=X.nbytes // 2), pytest.raises(MemoryForecastError, match="the grid of 20000"):
        DBSCAN(100.0).fit(X)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e140])
def test_rows_at_one_place_and_at_any_scale_are_clustered(scale):
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [9.0, 9.0]]) * scale
    assert DBSCAN(1.5 * scale, min_samples=2).fit(X).labels_.tolist() == [0, 0, 0, -1]


def test_without_a_core_row_everything_is_noise():
    model = DBSCAN(0.1, min_samples=3).fit([[0.0], [1.0]])
    assert model.components_.shape == (0, 1)
    assert model.predict([[0.0]]).tolist() == [-1]


def test_the_function_is_the_class():
    cores, labels = dbscan([[0.0], [0.1], [5.0]], 0.5, min_samples=2)
    assert (cores.tolist(), labels.tolist()) == ([0, 1], [0, 0, -1])


# Errors.


def test_what_cannot_be_done_is_refused_with_its_cure():
    X = np.eye(4)
    with pytest.raises(ParameterError, match=r"DBSCAN: eps must be a number in \(0, inf\); got 0"):
        DBSCAN(0).fit(X)
    with pytest.raises(DataError, match=r"must be square .* it has shape \(4, 3\)"):
        DBSCAN(metric="precomputed").fit(X[:, :3])
    with pytest.raises(DataError, match=r"Negative values .* got -1. Give distances, not similarities"):
        DBSCAN(metric="precomputed").fit(-X)
    with pytest.raises(
        ParameterError, match=r"algorithm='kd_tree' does not take metric='cosine'; use algorithm='auto'"
    ):
        DBSCAN(metric="cosine", algorithm="kd_tree").fit(X)
    with pytest.raises(ParameterError, match="algorithm='kd_tree' does not take sparse rows; use algorithm='brute'"):
        DBSCAN(algorithm="kd_tree").fit(scipy.sparse.csr_array(X))
