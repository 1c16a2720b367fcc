"""Where k-means begins: rows and positions are drawn by weight, distance and seed alone."""

import numpy as np
import pytest
import scipy.sparse

from mercer._solver.centres.first_centres import around_the_mean, in_the_box
from mercer._solver.relay import answer_requests
from mercer._source import open_source
from mercer.cluster import KMeans, kmeans_plusplus
from mercer.errors import DataError, ParameterError

STARTS = ("k-means++", "random", "uniform", "mean")


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(300, 3)) * [1.0, 5.0, 0.1] + [0.0, 100.0, -2.0]


def after_one_iteration(X, init, seed):
    return KMeans(6, init=init, n_init=1, max_iter=1, tol=1e9, random_state=seed).fit(X).cluster_centers_


@pytest.mark.catalogue("CL-02")
@pytest.mark.parametrize("init", STARTS)
def test_a_seed_fixes_the_start_and_another_seed_changes_it(rows, init):
    same, again, other = (after_one_iteration(rows, init, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(same, again)
    assert not np.array_equal(same, other)


@pytest.mark.catalogue("CL-02")
def test_plus_plus_takes_rows_at_different_positions(rows):
    centres, indices = kmeans_plusplus(rows.repeat(3, axis=0), 20, random_state=0)
    np.testing.assert_array_equal(centres, rows.repeat(3, axis=0)[indices])
    assert len(np.unique(centres, axis=0)) == 20


def test_plain_plus_plus_draws_in_proportion_to_weight_times_squared_distance():
    # From 0 or any other first row, the chances of the second are w D^2 over their sum, worked out below.
    X, weight = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 2.0, 1.0])
    draws = 4000
    pairs = np.zeros((3, 3))
    for seed in range(draws):
        _, (first, second) = kmeans_plusplus(X, 2, sample_weight=weight, n_local_trials=1, random_state=seed)
        pairs[first, second] += 1
    mass = weight * (X - X.T) ** 2
    expected = draws * (weight / weight.sum())[:, None] * mass / mass.sum(axis=1, keepdims=True)
    # Five standard deviations of a count.
    assert (np.abs(pairs - expected) <= 5 * np.sqrt(expected) + 1e-9).all()


def test_greedy_trials_lower_the_potential_on_average(rows):
    def potential(trials):
        costs = []
        for seed in range(30):
            centres, _ = kmeans_plusplus(rows, 8, n_local_trials=trials, random_state=seed)
            costs.append(((rows[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum())
        return np.mean(costs)

    assert potential(6) < potential(1)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_rows_of_weight_zero_are_never_taken(init):
    # As many clusters as rows with weight: a centre on any other row would leave one of them uncovered.
    X, weight = np.arange(40.0)[:, None], np.tile([1.0, 0.0], 20)
    for seed in range(5):
        model = KMeans(20, init=init, n_init=1, max_iter=1, tol=1e9, random_state=seed).fit(X, sample_weight=weight)
        assert sorted(model.cluster_centers_.ravel()) == list(range(0, 40, 2))
        assert model.inertia_ == 0.0


def test_zero_weight_rows_are_absent_from_plus_plus(rows):
    weight = np.ones(300)
    weight[100:] = 0
    _, indices = kmeans_plusplus(rows, 50, sample_weight=weight, random_state=0)
    assert indices.max() < 100


@pytest.mark.catalogue("CL-02")
def test_uniform_stays_in_the_box_and_mean_has_the_moments_of_the_data(rows):
    source = open_source(rows)
    box = answer_requests(in_the_box(2000, np.random.default_rng(0), source.dtype), source)
    assert (box >= rows.min(axis=0)).all()
    assert (box <= rows.max(axis=0)).all()
    np.testing.assert_allclose(box.mean(axis=0), (rows.min(axis=0) + rows.max(axis=0)) / 2, atol=0.05 * np.ptp(rows))
    near = answer_requests(around_the_mean(20_000, np.random.default_rng(0), source.dtype), source)
    np.testing.assert_allclose(near.mean(axis=0), rows.mean(axis=0), atol=0.05 * rows.std(axis=0).max())
    np.testing.assert_allclose(near.std(axis=0), rows.std(axis=0), rtol=0.05)


def test_threads_and_sparse_storage_draw_the_same_rows(rows):
    X = np.vstack([rows] * 40)
    one = kmeans_plusplus(X, 12, random_state=3, n_jobs=1)[1]
    np.testing.assert_array_equal(one, kmeans_plusplus(X, 12, random_state=3, n_jobs=3)[1])
    sparse = scipy.sparse.csr_array(rows * (np.abs(rows) > 0.5))
    dense = kmeans_plusplus(sparse.toarray(), 5, random_state=3)[1]
    np.testing.assert_array_equal(kmeans_plusplus(sparse, 5, random_state=3)[1], dense)


def test_a_callable_gets_the_rows_the_number_and_a_seed(rows):
    def init(X, n_clusters, random_state):
        assert isinstance(random_state, np.random.RandomState)
        return X[random_state.choice(len(X), n_clusters, replace=False)]

    model = KMeans(4, init=init, n_init=2, random_state=0).fit(rows)
    np.testing.assert_array_equal(
        model.cluster_centers_, KMeans(4, init=init, n_init=2, random_state=0).fit(rows).cluster_centers_
    )


def test_wrong_parameters_are_refused_in_words(rows):
    with pytest.raises(ParameterError, match=r"kmeans_plusplus: n_clusters must be an integer in \[1, inf\); got 0\."):
        kmeans_plusplus(rows, 0)
    with pytest.raises(DataError, match="kmeans_plusplus: n_samples=300 should be >= n_clusters=301"):
        kmeans_plusplus(rows, 301)
    with pytest.raises(DataError, match="The length of x_squared_norms 2 should be equal"):
        kmeans_plusplus(rows, 3, x_squared_norms=np.ones(2))
