"""BisectingKMeans: worked splits, fixed points of every split, the tree that rows walk down, weights, errors."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.cluster
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from mercer.cluster import BisectingKMeans
from mercer.errors import DataError


def draw(n=400, seed=0):
    return make_blobs(n, 3, centers=6, cluster_std=0.5, random_state=seed)[0]


def ends(rows, k, random_state):
    return np.quantile(rows, [0.0, 1.0], axis=0)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_cluster_of_most_inertia_is_split_and_the_inertia_falls_by_what_the_split_explains(scale):
    X = np.array([[0.0], [1.0], [10.0], [14.0], [100.0], [101.0]]) * scale
    model = BisectingKMeans(4, init=ends, tol=0).fit(X)
    # First {100, 101} from the others, then {0, 1} from {10, 14}, whose inertia of 8 is then the largest.
    np.testing.assert_allclose(model.cluster_centers_.ravel() / scale, [0.5, 10.0, 14.0, 100.5])
    assert model.labels_.tolist() == [0, 0, 1, 2, 3, 3]
    total = ((X - X.mean()) ** 2).sum() / scale**2
    np.testing.assert_allclose(model.history_["objective"] / scale**2, [total, 141.25, 9.0, 1.0])
    assert model.certificate_.value == 0.0


def test_the_largest_cluster_is_split_by_weight_if_asked():
    X = np.array([[0.0], [0.1], [0.2], [50.0], [90.0]])
    by_rows = BisectingKMeans(3, init=ends, bisecting_strategy="largest_cluster").fit(X)
    assert by_rows.labels_.tolist() == [0, 0, 1, 2, 2] or by_rows.labels_.tolist() == [0, 1, 1, 2, 2]
    by_weight = BisectingKMeans(3, init=ends, bisecting_strategy="largest_cluster")
    assert by_weight.fit(X, sample_weight=[1, 1, 1, 9, 9]).labels_.tolist() == [0, 0, 0, 1, 2]


@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster"])
def test_rows_walk_down_to_the_labels_of_the_fit_and_centres_are_means(strategy):
    X = draw()
    model = BisectingKMeans(6, random_state=0, tol=0, bisecting_strategy=strategy).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    means = [X[model.labels_ == k].mean(axis=0) for k in range(6)]
    np.testing.assert_allclose(model.cluster_centers_, means)
    np.testing.assert_allclose(model.inertia_, sum(((X - means[k]) ** 2)[model.labels_ == k].sum() for k in range(6)))
    leaves = model.node_children_[:, 0] < 0
    assert leaves.sum() == 6
    np.testing.assert_allclose(np.sort(model.node_centers_[leaves], axis=0), np.sort(model.cluster_centers_, axis=0))


def test_the_same_first_centres_lead_to_the_splits_of_scikit_learn():
    X = draw(300, 3)
    ours = BisectingKMeans(6, init=ends, tol=0).fit(X)
    theirs = sklearn.cluster.BisectingKMeans(6, init=ends, tol=0).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    new = np.random.default_rng(0).normal(size=(200, 3)) * 8
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))


def test_weights_are_repetitions_and_rows_without_weight_are_no_rows():
    X = draw()
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = BisectingKMeans(6, init=ends, tol=0).fit(X, sample_weight=weight)
    repeated = BisectingKMeans(6, init=ends, tol=0).fit(X.repeat(weight, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    np.testing.assert_array_equal(weighted.labels_, repeated.predict(X))


def test_sparse_rows_are_rows():
    X = np.maximum(draw(), 0.0)
    dense = BisectingKMeans(6, init=lambda rows, k, random_state: rows[:2], tol=0).fit(X)
    sparse = BisectingKMeans(6, init=lambda rows, k, random_state: rows[:2], tol=0).fit(scipy.sparse.csr_array(X))
    np.testing.assert_allclose(sparse.cluster_centers_, dense.cluster_centers_)
    np.testing.assert_array_equal(sparse.predict(scipy.sparse.csr_array(X)), dense.labels_)


def test_equal_rows_leave_clusters_empty_with_a_warning():
    X = np.array([[1.0]] * 5 + [[2.0]])
    with pytest.warns(ConvergenceWarning, match=r"Number of distinct clusters \(2\) found smaller than n_clusters"):
        model = BisectingKMeans(3, random_state=0).fit(X)
    assert model.cluster_centers_.shape == (3, 1)
    assert len(set(model.labels_)) == 2


def test_what_cannot_be_split_is_refused():
    with pytest.raises(DataError, match="n_samples=2 should be >= n_clusters=3"):
        BisectingKMeans(3).fit([[1.0], [2.0]])
