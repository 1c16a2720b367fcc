"""GrowingKMeans: centres are added where the variance is largest until the target is reached."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from mercer.cluster import GrowingKMeans


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(900, 3, centers=7, cluster_std=0.5, random_state=2)[0]


@pytest.mark.catalogue("CL-04")
def test_three_pairs_need_three_centres_for_a_target_of_two():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]])
    model = GrowingKMeans(target=2.0, tol=0).fit(X)
    assert sorted(model.cluster_centers_.ravel()) == [0.5, 10.5, 20.5]
    assert (model.n_clusters_, model.inertia_) == (3, 1.5)


@pytest.mark.catalogue("CL-04")
def test_the_target_is_reached_by_the_first_number_on_the_path_that_can(blobs):
    target = 3 * 900 * 0.5**2 * 1.1
    model = GrowingKMeans(target=target, tol=0).fit(blobs)
    assert model.converged_
    assert model.inertia_ <= target
    with pytest.warns(ConvergenceWarning, match="GrowingKMeans: stopped by max_iter"):
        fewer = GrowingKMeans(target=target, tol=0, max_clusters=model.n_clusters_ - 1).fit(blobs)
    assert fewer.inertia_ > target
    assert model.n_clusters_ == 7


@pytest.mark.catalogue("CL-04")
def test_the_inertia_falls_with_every_centre_and_every_iteration(blobs):
    model = GrowingKMeans(target=400.0, tol=0).fit(blobs)
    sizes, costs = model.history_["n_clusters"], model.history_["objective"]
    assert (np.diff(costs) <= 1e-9 * costs[0]).all()
    last = [costs[sizes == k][-1] for k in np.unique(sizes)]
    assert (np.diff(last) < 0).all()
    assert model.certificate_.value == 0.0


def test_by_default_nine_tenths_of_the_variance_are_explained(blobs):
    model = GrowingKMeans().fit(blobs)
    assert model.inertia_ <= 0.1 * ((blobs - blobs.mean(axis=0)) ** 2).sum()


def test_weights_are_repetitions_and_sparse_rows_are_rows(blobs):
    weight = np.random.default_rng(0).integers(0, 4, len(blobs))
    weighted = GrowingKMeans(tol=0).fit(blobs, sample_weight=weight)
    repeated = GrowingKMeans(tol=0).fit(blobs.repeat(weight, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-10)
    sparse = GrowingKMeans(tol=0).fit(scipy.sparse.csr_array(blobs))
    np.testing.assert_allclose(sparse.cluster_centers_, GrowingKMeans(tol=0).fit(blobs).cluster_centers_, rtol=1e-10)


def test_a_target_of_zero_ends_with_one_centre_per_position():
    X = np.array([[0.0], [0.0], [2.0], [5.0]])
    model = GrowingKMeans(target=0.0).fit(X)
    assert (model.n_clusters_, model.inertia_) == (3, 0.0)
