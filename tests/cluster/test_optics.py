"""OPTICS: the order by its definition, valleys of a drawn curve, DBSCAN's clusters, scikit-learn's answers, errors."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.cluster
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from mercer.cluster import DBSCAN, OPTICS, cluster_optics_dbscan, cluster_optics_xi, compute_optics_graph
from mercer.errors import DataError


def draw(n=200, seed=0):
    X = make_blobs(n, 2, centers=[[0, 0], [9, 0], [0, 9]], cluster_std=[0.5, 1.0, 1.5], random_state=seed)[0]
    return np.concatenate([X, np.random.default_rng(seed).uniform(-5, 15, size=(n // 10, 2))])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_each_row_is_the_one_of_least_reachability_from_those_before(scale):
    X = draw(80) * scale
    model = OPTICS(min_samples=4).fit(X)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    core = np.sort(D, axis=1)[:, 3]
    np.testing.assert_allclose(model.core_distances_, core)
    for place in range(1, len(X)):
        before, after = model.ordering_[:place], model.ordering_[place:]
        reach = np.maximum(D[before][:, after], core[before, None])
        row = model.ordering_[place]
        assert model.reachability_[row] == pytest.approx(reach.min(), rel=1e-9)
        assert reach[np.flatnonzero(before == model.predecessor_[row])[0], 0] == pytest.approx(reach.min(), rel=1e-9)
    assert np.isinf(model.reachability_[0])
    assert model.predecessor_[0] == -1


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_eps": 1.5},
        {"min_samples": 0.05, "xi": 0.1, "min_cluster_size": 12, "predecessor_correction": False},
        {"cluster_method": "dbscan", "eps": 1.0},
        {"metric": "manhattan"},
        {"metric": "minkowski", "p": 3},
    ],
)
def test_everything_is_what_scikit_learn_finds(settings):
    X = draw()
    ours, theirs = OPTICS(**settings).fit(X), sklearn.cluster.OPTICS(**settings).fit(X)
    if settings.get("p") == 3:
        # The two libraries round third roots apart, and that decides which of two equally near rows comes first.
        np.testing.assert_allclose(ours.core_distances_, theirs.core_distances_)
        return
    for name in ("ordering_", "predecessor_", "labels_"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_allclose(ours.reachability_, theirs.reachability_)
    if "cluster_method" not in settings:
        np.testing.assert_array_equal(ours.cluster_hierarchy_, theirs.cluster_hierarchy_)


def test_valleys_of_a_drawn_curve_are_taken_out_one_in_another():
    # Two deep valleys in a shallow one, and noise after a steep rise.
    reach = np.array([np.inf, 5, 5, 1, 1, 1, 1, 4, 1, 1, 1, 1, 5, 20, 30, 40], dtype=float)
    labels, clusters = cluster_optics_xi(
        reachability=reach,
        predecessor=np.arange(-1, 15),
        ordering=np.arange(16),
        min_samples=2,
        min_cluster_size=3,
        xi=0.3,
    )
    # The shallow valley comes last, and rows keep the label of the deep ones.
    assert clusters.tolist() == [[2, 6], [7, 12], [0, 15]]
    assert labels.tolist() == [-1, -1, *[0] * 5, *[1] * 6, -1, -1, -1]


@pytest.mark.parametrize("correct", [True, False])
def test_valleys_of_any_curve_are_those_of_scikit_learn(correct):
    random = np.random.default_rng(0)
    for _ in range(40):
        n = 60
        reach = np.round(np.exp(np.cumsum(random.normal(size=n) * 0.5)), 1) + 0.1
        reach[random.random(n) < 0.05] = np.inf
        order = random.permutation(n)
        before = np.full(n, -1)
        before[order[1:]] = [order[random.integers(place)] for place in range(1, n)]
        settings = {"reachability": reach, "predecessor": before, "ordering": order, "min_samples": 3, "xi": 0.15}
        ours = cluster_optics_xi(**settings, predecessor_correction=correct)
        theirs = sklearn.cluster.cluster_optics_xi(**settings, predecessor_correction=correct)
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1].tolist() == theirs[1].tolist()


@pytest.mark.parametrize("eps", [0.6, 1.0, 2.0])
def test_a_level_cuts_out_the_core_rows_of_dbscan(eps):
    X = draw()
    order, core, reach, _ = compute_optics_graph(
        X, min_samples=5, max_eps=np.inf, metric="minkowski", p=2, metric_params=None, algorithm="auto", leaf_size=30,
        n_jobs=None,
    )  # fmt: skip
    labels = cluster_optics_dbscan(reachability=reach, core_distances=core, ordering=order, eps=eps)
    other = DBSCAN(eps=eps, min_samples=5).fit(X)
    rows = other.core_sample_indices_
    assert adjusted_rand_score(labels[rows], other.labels_[rows]) == 1.0
    assert np.mean((labels == -1) == (other.labels_ == -1)) > 0.97


def test_given_distances_and_sparse_rows_give_the_same_order():
    X = draw(100)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    model = OPTICS().fit(X)
    given = OPTICS(metric="precomputed").fit(D)
    np.testing.assert_array_equal(given.ordering_, model.ordering_)
    near = scipy.sparse.csr_array(np.where(D <= 12.0, D, 0.0))
    np.testing.assert_array_equal(
        OPTICS(metric="precomputed", max_eps=3.0).fit(near).ordering_, OPTICS(max_eps=3.0).fit(X).ordering_
    )
    # Rounding decides which of two rows that are equally near comes first.
    sparse = OPTICS().fit(scipy.sparse.csr_array(X))
    np.testing.assert_allclose(sparse.core_distances_, model.core_distances_, rtol=1e-6)
    assert np.median(sparse.reachability_) == pytest.approx(np.median(model.reachability_), rel=0.02)


def test_the_order_is_kept_in_memory_between_fits(tmp_path):
    X = draw(60)
    first, again = (OPTICS(memory=str(tmp_path)).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.ordering_, again.ordering_)


def test_what_cannot_be_ordered_is_refused_or_said():
    X = draw(30)
    with pytest.raises(DataError, match=r"min_samples must be no greater than .* \(n_samples=33\); got 40"):
        OPTICS(min_samples=40).fit(X)
    with pytest.raises(DataError, match=r"Specify an epsilon smaller than 0\.1\. Got 0\.3"):
        OPTICS(max_eps=0.1, cluster_method="dbscan", eps=0.3).fit(X)
    with pytest.warns(UserWarning, match="All reachability values are inf"):
        assert set(OPTICS(max_eps=1e-9).fit(X).labels_) == {-1}
