"""SoftKMeans: the critical temperature, the cold limit, the cost, and its invariances."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import make_blobs

from mercer.cluster import KMeans, SoftKMeans
from mercer.errors import DataError


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(600, 3, centers=4, cluster_std=1.0, random_state=1)[0]


@pytest.mark.catalogue("CL-16")
@pytest.mark.parametrize(("factor", "distinct"), [(0.9, 1), (1.1, 2)])
def test_the_first_split_is_where_theory_puts_it(blobs, factor, distinct):
    critical = 1 / (2 * np.linalg.eigvalsh(np.cov(blobs, rowvar=False, ddof=0))[-1])
    model = SoftKMeans(3, beta=factor * critical, n_levels=1, max_iter=5000, tol=1e-16, random_state=0).fit(blobs)
    assert model.critical_beta_ == pytest.approx(critical, rel=1e-10)
    assert (model.n_distinct_[-1] > 1) == (distinct > 1)
    if distinct == 1:
        np.testing.assert_allclose(model.cluster_centers_, np.tile(blobs.mean(axis=0), (3, 1)), atol=1e-3)
        assert model.costs_[-1] == pytest.approx(blobs.var(axis=0).sum(), rel=1e-6)


@pytest.mark.catalogue("CL-16")
def test_cold_shares_are_those_of_k_means_and_the_cost_never_rises(blobs):
    model = SoftKMeans(4, beta=1000.0, n_levels=60, random_state=0).fit(blobs)
    clusters = KMeans(4, n_init=10, random_state=0).fit(blobs)
    assert model.inertia_ == pytest.approx(clusters.inertia_, rel=1e-6)
    assert model.costs_[-1] == pytest.approx(clusters.inertia_ / 600, rel=1e-4)
    assert (np.diff(model.costs_) <= 1e-6 * model.costs_[0]).all()
    assert (np.diff(model.n_distinct_) >= 0).all()
    assert model.n_distinct_[[0, -1]].tolist() == [1, 4]


def test_the_free_energy_falls_at_each_temperature_and_the_end_is_a_fixed_point(blobs):
    model = SoftKMeans(4, beta=0.5, n_levels=5, tol=1e-12, max_iter=2000, random_state=0).fit(blobs)
    for beta in np.unique(model.history_["beta"]):
        level = model.history_["objective"][model.history_["beta"] == beta]
        assert (np.diff(level) <= 1e-9 * abs(level[0])).all()
    distance = ((blobs[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    shares = softmax(-0.5 * distance, axis=1)
    np.testing.assert_allclose(model.memberships(blobs), shares, atol=1e-9)
    np.testing.assert_allclose(shares.T @ blobs / shares.sum(axis=0)[:, None], model.cluster_centers_, atol=1e-4)
    assert model.costs_[-1] == pytest.approx(np.mean((shares * distance).sum(axis=1)), rel=1e-5)


def test_weights_are_repetitions(blobs):
    weight = np.random.default_rng(0).integers(0, 3, 600)
    one = SoftKMeans(3, n_levels=5, random_state=0).fit(blobs, sample_weight=weight.astype(float))
    other = SoftKMeans(3, n_levels=5, random_state=0).fit(blobs.repeat(weight, axis=0))
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-6)


def test_rows_at_one_place_and_too_few_rows():
    model = SoftKMeans(2, random_state=0).fit(np.ones((5, 2)))
    np.testing.assert_allclose(model.cluster_centers_, 1.0, atol=1e-2)
    with pytest.raises(DataError, match="n_samples=1 should be >= n_clusters=2"):
        SoftKMeans(2).fit([[1.0]])
