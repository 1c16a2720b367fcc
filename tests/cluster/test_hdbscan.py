"""HDBSCAN: the spanning tree, the hierarchy, the choice of clusters, against scikit-learn and by hand."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.cluster
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from mercer.cluster import DBSCAN, HDBSCAN
from mercer.cluster._density.condensed_tree import CondensedTree, linkage_of
from mercer.errors import DataError, ParameterError


def blobs(n=300, d=3, seed=0):
    return make_blobs(n, d, centers=4, cluster_std=1.0, random_state=seed)[0]


def mutual_reachability(X, k, alpha=1.0):
    D = cdist(X, X)
    core = np.sort(D, axis=1)[:, k - 1]
    return np.maximum(np.maximum(core[:, None], core[None]), D / alpha)


# Truth.


@pytest.mark.parametrize("algorithm", ["auto", "brute", "ball_tree"])
@pytest.mark.parametrize(("d", "k", "alpha"), [(1, 1, 1.0), (2, 4, 1.0), (5, 7, 1.3), (20, 3, 1.0)])
def test_the_merges_are_those_of_the_minimum_spanning_tree(d, k, alpha, algorithm):
    X = np.random.default_rng(d).normal(size=(250, d))
    model = HDBSCAN(min_samples=k, alpha=alpha, algorithm=algorithm, copy=True).fit(X)
    expected = np.sort(minimum_spanning_tree(mutual_reachability(X, k, alpha)).data)
    np.testing.assert_allclose(model.single_linkage_tree_[:, 2], expected, rtol=1e-9)
    np.testing.assert_allclose(model.core_distances_, np.sort(cdist(X, X), axis=1)[:, k - 1], atol=1e-7)


def test_the_condensed_tree_of_a_hand_made_line_is_known():
    # Two triples a distance 1 apart inside and 5 between, and a row 20 away.
    places = np.array([0.0, 1.0, 2.0, 7.0, 8.0, 9.0, 29.0])
    edges = np.column_stack([np.arange(6), np.arange(1, 7)]).astype(np.int32)
    tree = CondensedTree.of(linkage_of(edges, np.diff(places)), 3)
    assert tree.parents.tolist() == [-1, 0, 0]
    assert tree.births.tolist() == [0.0, 0.2, 0.2]
    assert tree.belongs.tolist() == [1, 1, 1, 2, 2, 2, 0]
    assert tree.fallen.tolist() == [1.0] * 6 + [0.05]
    # The root loses one row at 1/20 and splits six at 1/5; each triple keeps three rows from 1/5 to 1.
    np.testing.assert_allclose(tree.stabilities(), [0.05 + 6 * 0.2, 3 * 0.8, 3 * 0.8])
    labels, depth = tree.labels(tree.select("eom", False, 0.0, None), 0.0)
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, -1]
    assert depth.tolist() == [1.0] * 6 + [0.0]
    assert tree.select("eom", True, 0.0, None).tolist() == [False, True, True]
    assert not tree.select("eom", False, 0.0, 2).any()
    assert tree.select("eom", True, 6.0, None).tolist() == [True, False, False]
    assert tree.select("leaf", False, 6.0, None).tolist() == [False, True, True]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["eom", "leaf"])
def test_without_ties_the_labels_are_scikit_learns(seed, method):
    X = blobs(seed=seed)
    settings = {"min_samples": 1, "min_cluster_size": 8, "cluster_selection_method": method, "copy": True}
    expected = sklearn.cluster.HDBSCAN(**settings).fit(X)
    found = HDBSCAN(**settings).fit(X)
    np.testing.assert_array_equal(found.labels_, expected.labels_)


@pytest.mark.parametrize("seed", range(4))
def test_core_distances_make_ties_and_the_clusters_are_still_scikit_learns(seed):
    X = blobs(seed=seed, d=2)
    expected = sklearn.cluster.HDBSCAN(min_cluster_size=15, copy=True).fit(X).labels_
    assert adjusted_rand_score(HDBSCAN(min_cluster_size=15, copy=True).fit(X).labels_, expected) > 0.98


# Optimality.


def test_a_cut_of_the_tree_is_dbscan_without_borders():
    X = blobs()
    model = HDBSCAN(min_samples=5, copy=True).fit(X)
    for eps in (0.6, 0.9, 1.2):
        other = DBSCAN(eps, min_samples=5).fit(X)
        cores = other.core_sample_indices_
        cut = model.dbscan_clustering(eps, min_cluster_size=1)
        assert adjusted_rand_score(cut[cores], other.labels_[cores]) == 1.0


# Invariance.


def test_every_search_finds_the_same_tree_whatever_the_ties():
    X = np.random.default_rng(5).integers(0, 6, size=(300, 3)).astype(float)
    found = [HDBSCAN(algorithm=one, min_samples=3, copy=True).fit(X) for one in ("kd_tree", "brute", "ball_tree")]
    given = HDBSCAN(metric="precomputed", min_samples=3, copy=True).fit(cdist(X, X))
    for other in (*found[1:], given):
        np.testing.assert_array_equal(found[0].labels_, other.labels_)
        np.testing.assert_allclose(found[0].single_linkage_tree_, other.single_linkage_tree_)


def test_rows_of_the_fit_are_predicted_into_their_clusters_and_far_rows_into_none():
    X = blobs(seed=1)
    model = HDBSCAN(min_cluster_size=15, copy=True).fit(X)
    kept = model.labels_ >= 0
    assert (model.predict(X[kept]) == model.labels_[kept]).mean() > 0.99
    assert model.predict(np.full((1, 3), 1e3)).tolist() == [-1]


# Equality of places.


def test_sparse_rows_and_sparse_distances_give_the_labels_of_dense_ones():
    X = np.round(blobs(100), 1)
    expected = HDBSCAN(copy=True).fit(X).labels_
    np.testing.assert_array_equal(HDBSCAN(copy=True).fit(scipy.sparse.csr_array(X)).labels_, expected)
    D = cdist(X, X)
    sparse = HDBSCAN(metric="precomputed", copy=True).fit(scipy.sparse.csr_array(D))
    # What is stored of a row leaves out the row itself.
    dense = HDBSCAN(metric="precomputed", min_samples=6, copy=True).fit(D)
    np.testing.assert_allclose(sparse.core_distances_, dense.core_distances_)


# Edges.


def test_rows_with_nan_and_infinity_are_set_apart():
    X = blobs()
    spoilt = X.copy()
    spoilt[3, 0], spoilt[8, 1], spoilt[9] = np.nan, -np.inf, [np.nan, np.inf, 0.0]
    model = HDBSCAN(copy=True).fit(spoilt)
    assert model.labels_[[3, 8, 9]].tolist() == [-3, -2, -3]
    assert np.isnan(model.probabilities_[[3, 9]]).all()
    clean = np.delete(np.arange(len(X)), [3, 8, 9])
    np.testing.assert_array_equal(model.labels_[clean], HDBSCAN(copy=True).fit(X[clean]).labels_)


def test_equal_rows_and_the_least_number_of_rows_are_clustered():
    assert set(HDBSCAN(copy=True, allow_single_cluster=True).fit(np.ones((20, 2))).labels_) == {0}
    assert HDBSCAN(2, copy=True).fit([[0.0], [1.0]]).labels_.tolist() == [-1, -1]


def test_centres_are_weighted_means_and_rows_of_least_distance():
    X = blobs()
    model = HDBSCAN(min_cluster_size=15, store_centers="both", copy=True).fit(X)
    for label, (mean, medoid) in enumerate(zip(model.centroids_, model.medoids_, strict=True)):
        rows, depth = X[model.labels_ == label], model.probabilities_[model.labels_ == label]
        np.testing.assert_allclose(mean, np.average(rows, axis=0, weights=depth))
        np.testing.assert_array_equal(medoid, rows[(cdist(rows, rows) @ depth).argmin()])


def test_missing_distances_are_infinite_and_warned_of():
    D = cdist(line := [[0.0], [1.0], [9.0], [10.0]], line)
    D[:2, 2:] = D[2:, :2] = np.inf
    with pytest.warns(UserWarning, match="edge weights with value infinity"):
        HDBSCAN(2, metric="precomputed", copy=True).fit(D)


# Errors.


def test_what_cannot_be_done_is_refused_with_its_cure():
    X = blobs(20)
    with pytest.raises(DataError, match=r"min_samples \(21\) must be at most the number of samples in X \(20\)"):
        HDBSCAN(min_samples=21).fit(X)
    with pytest.raises(DataError, match="some rows must be without NaN and infinity; all have one"):
        HDBSCAN().fit(np.full((5, 2), np.nan))
    with pytest.raises(ParameterError, match="Cannot store centers when using a precomputed distance matrix"):
        HDBSCAN(metric="precomputed", store_centers="medoid").fit(np.eye(5))
    with pytest.raises(DataError, match="2 connected components"):
        HDBSCAN(2, metric="precomputed").fit(scipy.sparse.csr_array(np.kron(np.eye(2), 1 - np.eye(3))))
