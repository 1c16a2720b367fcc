"""Distances to the k-th nearest row, and the epsilon read from them."""

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from mercer.cluster import DBSCAN, k_distances, suggest_eps
from mercer.errors import DataError, ParameterError


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("k", [1, 4, 70])
def test_distances_are_those_of_a_full_sort(metric, k):
    X = np.random.default_rng(0).normal(size=(150, 6))
    D = cdist(X, X, "cityblock" if metric == "manhattan" else metric)
    np.testing.assert_allclose(k_distances(X, k, metric=metric), np.sort(np.sort(D, axis=1)[:, k]), rtol=1e-7)
    np.testing.assert_allclose(k_distances(D, k, metric="precomputed"), np.sort(np.sort(D, axis=1)[:, k]))
    np.testing.assert_allclose(
        k_distances(scipy.sparse.csr_array(X), k, metric=metric), k_distances(X, k, metric=metric)
    )


def test_the_suggested_epsilon_finds_the_blobs_and_leaves_the_noise():
    X, y = make_blobs(600, 2, centers=[[0, 0], [10, 0], [0, 10]], cluster_std=0.5, random_state=0)
    X = np.vstack([X, np.random.default_rng(0).uniform(-20, 30, size=(30, 2))])
    labels = DBSCAN(suggest_eps(X)).fit(X).labels_
    assert [len(set(labels[:600][y == blob]) - {-1}) for blob in range(3)] == [1, 1, 1]
    assert len({labels[:600][y == blob].max() for blob in range(3)}) == 3
    assert (labels[600:] == -1).mean() > 0.7


def test_distances_that_are_not_stored_are_far():
    D = scipy.sparse.csr_array(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]]))
    assert k_distances(D, 1, metric="precomputed").tolist() == [1.0, 1.0, 3.0]


def test_a_flat_curve_has_its_one_value():
    assert suggest_eps(np.arange(8.0)[:, None], min_samples=2) == 1.0
    assert suggest_eps(np.zeros((9, 2)), min_samples=3) == 0.0


def test_more_neighbours_than_rows_are_refused():
    with pytest.raises(DataError, match="k must be less than the number of rows; got k=3 and 3 rows"):
        k_distances(np.eye(3), 3)
    with pytest.raises(ParameterError, match=r"min_samples must be an integer in \[2, inf\); got 1"):
        suggest_eps(np.eye(3), 1)
