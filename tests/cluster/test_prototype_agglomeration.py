"""k-means to prototypes, then agglomeration."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score

import mercer
from mercer.cluster import AgglomerativeClustering, KMeans, PrototypeAgglomeration, cut_linkage, linkage
from mercer.errors import DataError, MemoryForecastError

X, GROUPS = make_blobs(600, 3, centers=5, random_state=0)


@pytest.mark.catalogue("CL-08")
@pytest.mark.parametrize("method", ["ward", "average", "single"])
def test_the_tree_is_that_of_the_prototypes_with_their_weights(method):
    model = PrototypeAgglomeration(3, n_prototypes=40, linkage=method, random_state=0).fit(X)
    assert model.prototype_weights_.sum() == 600
    expected = linkage(model.prototypes_, method, sample_weight=model.prototype_weights_)
    assert np.array_equal(model.linkage_matrix_, expected)
    flat = cut_linkage(expected, n_clusters=3)
    nearest = ((X[:, None] - model.prototypes_[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert adjusted_rand_score(model.labels_, flat[nearest]) == 1
    assert np.array_equal(model.predict(X), model.labels_)


@pytest.mark.catalogue("CL-08")
def test_prototypes_that_are_all_rows_give_the_full_hierarchy():
    model = PrototypeAgglomeration(4, n_prototypes=600, random_state=0).fit(X)
    full = AgglomerativeClustering(4, compute_distances=True).fit(X)
    np.testing.assert_allclose(model.linkage_matrix_[:, 2], full.distances_, rtol=1e-9, atol=1e-9)
    assert np.array_equal(model.labels_, full.labels_)


def test_prototypes_are_those_of_k_means():
    model = PrototypeAgglomeration(4, n_prototypes=30, random_state=3).fit(X)
    means = KMeans(30, n_init=1, random_state=3).fit(X)
    assert np.array_equal(model.prototypes_, means.cluster_centers_)
    assert model.history_["objective"][-1] == means.history_["objective"][-1]


@pytest.mark.catalogue("CL-08")
def test_rows_that_a_full_matrix_has_no_room_for_are_clustered():
    rings, truth = make_circles(20_000, noise=0.05, factor=0.4, random_state=0)
    with mercer.config_context(max_memory=2**25):
        with pytest.raises(MemoryForecastError, match="prototypes of them"):
            AgglomerativeClustering(2, linkage="average").fit(rings)
        model = PrototypeAgglomeration(2, linkage="single", n_prototypes=200, random_state=0).fit(rings)
    assert adjusted_rand_score(model.labels_, truth) == 1


def test_the_widest_gap_tells_the_number_of_clusters():
    far, truth = make_blobs(500, 2, centers=[[0, 0], [60, 0], [0, 60], [60, 60]], random_state=0)
    model = PrototypeAgglomeration(None, random_state=0, linkage="average").fit(far)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(model.labels_, truth) == 1


def test_one_row_and_equal_rows_are_one_cluster():
    assert PrototypeAgglomeration(1).fit(X[:1]).labels_.tolist() == [0]
    with pytest.raises(DataError, match="n_clusters must be at most the 1 prototypes; got 2"):
        PrototypeAgglomeration(2).fit(X[:1])
