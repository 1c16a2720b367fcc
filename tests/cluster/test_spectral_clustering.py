"""SpectralClustering: least cuts of small graphs, rings that k-means cannot tell apart, roundings, errors."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.cluster
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score

from mercer.cluster import KMeans, SpectralClustering, spectral_clustering
from mercer.errors import DataError, UnsupportedError

ROUNDINGS = ("kmeans", "discretize", "cluster_qr")


def normalised_cut(A, labels):
    parts = [labels == k for k in np.unique(labels)]
    return sum(A[np.ix_(one, ~one)].sum() / A[one].sum() for one in parts)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_the_cut_of_a_small_graph_is_the_least_of_all(rounding):
    random = np.random.default_rng(3)
    A = np.kron([[1.0, 0.2], [0.2, 1.0]], np.ones((4, 4))) * random.uniform(0.5, 1.0, (8, 8))
    A = A + A.T
    labels = spectral_clustering(A, n_clusters=2, assign_labels=rounding, random_state=0)
    cuts = [normalised_cut(A, (np.arange(8) >> 0 & 0) + (number >> np.arange(8) & 1)) for number in range(1, 128)]
    assert normalised_cut(A, labels) == pytest.approx(min(cuts))


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_rings_are_told_apart_where_k_means_cannot(rounding):
    X, truth = make_circles(400, factor=0.4, noise=0.04, random_state=0)
    model = SpectralClustering(
        2, affinity="nearest_neighbors", n_neighbors=12, assign_labels=rounding, random_state=0
    ).fit(X)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert scipy.sparse.issparse(model.affinity_matrix_)
    assert adjusted_rand_score(truth, KMeans(2, random_state=0).fit(X).labels_) < 0.1


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors", "laplacian", "polynomial"])
@pytest.mark.filterwarnings("ignore:.*not fully connected:UserWarning")
def test_labels_are_those_of_scikit_learn(affinity, rounding):
    X, _ = make_blobs(150, 3, centers=4, cluster_std=1.5, random_state=1)
    X = X - X.min(axis=0)
    settings = {"gamma": 0.05, "affinity": affinity, "assign_labels": rounding, "random_state": 0}
    if affinity == "polynomial":
        settings |= {"gamma": 0.01, "degree": 2}
    ours = SpectralClustering(4, **settings).fit(X)
    theirs = sklearn.cluster.SpectralClustering(4, **settings).fit(X)
    difference = ours.affinity_matrix_ - theirs.affinity_matrix_
    assert abs(difference).max() < 1e-9 * abs(theirs.affinity_matrix_).max()
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > (0.99 if affinity != "polynomial" else 0.9)


def test_rotations_bring_the_coordinates_nearer_to_indicators():
    X, _ = make_blobs(300, 4, centers=5, cluster_std=3.0, random_state=2)
    model = SpectralClustering(5, gamma=0.02, assign_labels="discretize", random_state=1).fit(X)
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()
    assert model.converged_
    again = SpectralClustering(5, gamma=0.02, assign_labels="kmeans", random_state=1).fit(X)
    assert again.certificate_.satisfied


def test_given_affinities_and_distances_are_taken():
    X, truth = make_blobs(60, 3, centers=3, random_state=0)
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    by_rows = SpectralClustering(3, gamma=0.1, random_state=0).fit(X)
    given = SpectralClustering(3, affinity="precomputed", random_state=0).fit(np.exp(-0.1 * squares))
    assert adjusted_rand_score(by_rows.labels_, given.labels_) == 1.0
    near = SpectralClustering(3, affinity="precomputed_nearest_neighbors", n_neighbors=25, random_state=0)
    assert adjusted_rand_score(truth, near.fit(np.sqrt(squares)).labels_) == 1.0


def test_what_cannot_be_clustered_is_refused():
    with pytest.raises(DataError, match="n_samples=2 should be >= n_clusters=3"):
        SpectralClustering(3).fit([[1.0], [2.0]])
    with pytest.raises(DataError, match="affinities must not be negative"):
        SpectralClustering(2, affinity="linear").fit([[1.0], [2.0], [-3.0]])
    with pytest.raises(UnsupportedError, match="eigen_solver"):
        SpectralClustering(2, eigen_solver="amg").fit([[1.0], [2.0], [3.0]])
