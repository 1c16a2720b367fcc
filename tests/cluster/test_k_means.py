"""KMeans: Lloyd's algorithm, its certificate, its restarts and its rule for empty clusters."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.cluster
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from mercer.cluster import KMeans, k_means
from mercer.errors import DataError, ParameterError


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(1500, 6, centers=9, cluster_std=2.0, random_state=3)[0]


def inertia(X, centres, weight=None):
    distance = ((X[:, None, :] - centres[None]) ** 2).sum(axis=2).min(axis=1)
    return float(distance.sum() if weight is None else distance @ weight)


@pytest.mark.catalogue("CL-01")
def test_two_pairs_on_a_line_are_found_by_hand():
    model = KMeans(2, init=np.array([[0.0], [1.0]]), tol=0).fit([[0.0], [1.0], [10.0], [11.0]])
    assert model.cluster_centers_.ravel().tolist() == [0.5, 10.5]
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.inertia_ == 1.0
    # Costs of the centres {0, 1}, {0, 22/3} and {1/2, 21/2}, worked by hand.
    np.testing.assert_allclose(model.history_["objective"], [181.0, 1.0 + 185.0 / 9.0, 1.0], rtol=1e-14)


@pytest.mark.catalogue("CL-01")
def test_one_cluster_is_the_mean_and_as_many_as_rows_cost_nothing(blobs):
    one = KMeans(1).fit(blobs)
    np.testing.assert_allclose(one.cluster_centers_[0], blobs.mean(axis=0), rtol=1e-12)
    assert one.inertia_ == pytest.approx(((blobs - blobs.mean(axis=0)) ** 2).sum(), rel=1e-12)
    assert KMeans(20, random_state=0).fit(blobs[:20]).inertia_ == 0.0


def test_a_row_between_two_centres_goes_to_the_lower_one():
    model = KMeans(2, init=np.array([[2.0], [0.0]]), max_iter=1)
    with pytest.warns(ConvergenceWarning):
        model.fit([[0.0], [1.0], [2.0]])
    assert model.predict([[(model.cluster_centers_.sum()) / 2]]).tolist() == [0]
    assert model.history_["objective"].tolist() == [1.0]


@pytest.mark.catalogue("CL-01")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_end_is_a_fixed_point_and_the_objective_falls(blobs, dtype):
    X = blobs.astype(dtype)
    model = KMeans(9, tol=0, n_init=3, random_state=0).fit(X)
    for q in range(9):
        members = X[model.labels_ == q].mean(axis=0, dtype=np.float64)
        np.testing.assert_allclose(model.cluster_centers_[q], members, rtol=1e-6 if dtype == np.float32 else 1e-13)
    assert model.certificate_.value == 0.0
    assert model.certificate_.satisfied
    assert model.converged_
    assert (np.diff(model.history_["objective"]) <= 0).all()
    assert model.history_["objective"][-1] == pytest.approx(model.inertia_, rel=1e-12)
    assert model.inertia_ == pytest.approx(inertia(X.astype(float), model.cluster_centers_.astype(float)), rel=1e-9)


def test_the_certificate_is_the_move_of_one_more_iteration(blobs):
    with pytest.warns(ConvergenceWarning, match="KMeans: stopped by max_iter after 2 steps"):
        model = KMeans(9, init=blobs[:9], max_iter=2, tol=0).fit(blobs)
    labels = ((blobs[:, None, :] - model.cluster_centers_[None]) ** 2).sum(axis=2).argmin(axis=1)
    means = np.array([blobs[labels == q].mean(axis=0) for q in range(9)])
    assert model.certificate_.value == pytest.approx(((means - model.cluster_centers_) ** 2).sum(), rel=1e-9)
    assert not model.converged_


def test_it_agrees_with_scikit_learn_from_the_same_start(blobs):
    ours = KMeans(9, init=blobs[:9], tol=0).fit(blobs)
    theirs = sklearn.cluster.KMeans(9, init=blobs[:9], n_init=1, tol=0).fit(blobs)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-9)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.n_iter_ == theirs.n_iter_


def test_lloyd_and_elkan_agree_to_the_last_bit_on_any_number_of_threads():
    X = np.random.default_rng(0).normal(size=(30_000, 8))
    fits = [
        KMeans(12, init=X[:12], tol=0, max_iter=25, algorithm=algorithm, n_jobs=n_jobs)
        for algorithm in ("lloyd", "elkan")
        for n_jobs in (1, 3)
    ]
    for model in fits:
        with pytest.warns(ConvergenceWarning):
            model.fit(X)
        np.testing.assert_array_equal(model.cluster_centers_, fits[0].cluster_centers_)
        np.testing.assert_array_equal(model.labels_, fits[0].labels_)
        np.testing.assert_array_equal(model.history_["objective"], fits[0].history_["objective"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_and_watches_change_no_bit_even_with_ties_and_empty_clusters(dtype, weighted):
    # Rounded rows far from the origin: many ties, repeated rows, and clusters that lose all their rows.
    draws = np.random.default_rng(2)
    X = (np.round(draws.normal(size=(130, 3))) + 100).astype(dtype)
    weight = draws.integers(0, 3, 130).astype(float) if weighted else None
    for init in ("k-means++", "uniform"):
        options = {"n_clusters": 9, "init": init, "n_init": 2, "random_state": 1}
        one = KMeans(**options).fit(X, sample_weight=weight)
        other = KMeans(**options, algorithm="elkan", max_time=1e9).fit(X, sample_weight=weight)
        for name in ("cluster_centers_", "labels_", "inertia_", "n_iter_"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert one.certificate_ == other.certificate_
        for name in ("step", "objective", "shift", "restart"):
            np.testing.assert_array_equal(one.history_[name], other.history_[name])


def test_more_restarts_never_raise_the_inertia(blobs):
    found = [KMeans(9, init="random", n_init=n, random_state=1).fit(blobs) for n in (1, 3, 6)]
    assert found[0].inertia_ >= found[1].inertia_ >= found[2].inertia_
    assert len(set(found[2].history_["restart"])) == 1
    assert len(found[2].history_["step"]) == found[2].n_iter_


def test_weights_are_repetitions_and_zero_is_absence(blobs):
    weight = np.random.default_rng(0).integers(0, 4, len(blobs))
    weighted = KMeans(5, init=blobs[:5], tol=0).fit(blobs, sample_weight=weight)
    repeated = KMeans(5, init=blobs[:5], tol=0).fit(blobs.repeat(weight, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-10)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=1e-10)


def test_sparse_rows_give_the_centres_of_dense_ones():
    random = np.random.default_rng(0)
    X = scipy.sparse.csr_array(random.uniform(size=(800, 40)) * (random.uniform(size=(800, 40)) < 0.1))
    sparse = KMeans(6, init=X[:6].toarray(), tol=0).fit(X)
    dense = KMeans(6, init=X[:6].toarray(), tol=0).fit(X.toarray())
    np.testing.assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, atol=1e-12)
    np.testing.assert_array_equal(sparse.predict(X), dense.labels_)
    np.testing.assert_allclose(sparse.transform(X), dense.transform(X.toarray()), atol=1e-7)


def test_rows_far_from_the_origin_keep_their_digits():
    X = np.array([[1e8], [1e8 + 1], [1e8 + 10], [1e8 + 11]])
    model = KMeans(2, init=X[[0, 2]], tol=0).fit(X)
    assert model.inertia_ == 1.0
    np.testing.assert_array_equal(model.transform(X)[:, 0], [0.5, 0.5, 9.5, 10.5])


def test_an_empty_cluster_moves_to_the_farthest_row():
    X = np.array([[0.0], [1.0], [2.0], [50.0]])
    model = KMeans(2, init=np.array([[1.0], [1000.0]]), tol=0).fit(X)
    assert model.cluster_centers_.ravel().tolist() == [1.0, 50.0]
    assert model.inertia_ == 2.0


def test_fewer_positions_than_clusters_are_said_so():
    with pytest.warns(
        ConvergenceWarning, match=r"Number of distinct clusters \(2\) found smaller than n_clusters \(3\)"
    ):
        model = KMeans(3, random_state=0).fit([[0.0], [0.0], [1.0], [1.0]])
    assert model.inertia_ == 0.0


def test_the_function_returns_what_the_class_finds(blobs):
    model = KMeans(4, random_state=5).fit(blobs)
    centres, labels, cost, n_iter = k_means(blobs, 4, random_state=5, return_n_iter=True)
    np.testing.assert_array_equal(centres, model.cluster_centers_)
    np.testing.assert_array_equal(labels, model.labels_)
    assert (cost, n_iter) == (model.inertia_, model.n_iter_)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"n_clusters": 0}, ParameterError, r"KMeans: n_clusters must be an integer in \[1, inf\); got 0\."),
        ({"n_clusters": 2000}, DataError, r"KMeans: n_samples=1500 should be >= n_clusters=2000\."),
        ({"init": np.zeros((3, 6))}, DataError, r"initial centers \(3, 6\) does not match the number of clusters 8"),
        ({"init": "best"}, ParameterError, "KMeans: init must be one of 'k-means\\+\\+', 'random', 'uniform', 'mean'"),
    ],
)
def test_what_cannot_be_is_refused_in_words(blobs, change, error, words):
    with pytest.raises(error, match=words):
        KMeans(**{"n_clusters": 8, **change}).fit(blobs)


def test_verbose_tells_of_each_run_and_iteration(blobs, capsys):
    model = KMeans(3, n_init=1, random_state=0, verbose=1).fit(blobs)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "KMeans: run 0: Initialization complete"
    assert sum("Iteration" in line for line in lines) == len(model.history_["step"])


@pytest.mark.parametrize("size", [1e155, 1e200])
def test_rows_whose_squares_overflow_are_an_error_with_the_cure(size):
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[7, 1] = size
    with pytest.raises(DataError, match=r"squared distances between rows must be finite; those of X overflow\. Scale"):
        KMeans(4, random_state=0).fit(X)
