"""KernelSelfOrganizingMap: the batch map on kernels alone."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_circles
from sklearn.metrics.pairwise import rbf_kernel

from mercer.cluster import KernelSelfOrganizingMap, SelfOrganizingMap
from mercer.cluster._map.grid import Grid
from mercer.cluster._map.kernel_map import KernelBatchMap, Narrowing


@pytest.mark.catalogue("KM-21")
@pytest.mark.parametrize("grid", [{}, {"topology": "hexagonal", "torus": True}], ids=str)
def test_the_linear_kernel_is_the_batch_map_from_the_same_start(grid):
    X = load_iris().data
    shape = {"n_rows": 4, "n_columns": 3, "sigma": 1.0, "annealing_iter": 6} | grid
    model = KernelSelfOrganizingMap(kernel="linear", **shape).fit(X)
    distances, diagonal = model._distances(X)
    sigma = Narrowing(1.0, 0.5, 6, "exponential")
    first = KernelBatchMap(distances, diagonal, np.ones(150), Grid(4, 3, **grid), sigma, 1)._first()
    shares = Grid(4, 3, **grid).neighbourhood(1.0)[first]
    # The first batch epoch has the winners of these units; its kernel twin has made them of its first labels.
    units = shares.T @ X / shares.sum(axis=0)[:, None]
    schedule = {"sigma": float(sigma.at(1)), "annealing_iter": 5, "tol": 0.0}
    batch = SelfOrganizingMap(init=units, **(shape | schedule)).fit(X)
    assert model.converged_
    np.testing.assert_array_equal(model.labels_, batch.labels_)
    assert model.inertia_ == pytest.approx(batch.inertia_, rel=1e-9)


@pytest.mark.catalogue("KM-21")
def test_given_kernels_and_computed_ones_give_one_map():
    X = load_iris().data
    computed = KernelSelfOrganizingMap(3, 3, gamma=0.5).fit(X)
    given = KernelSelfOrganizingMap(3, 3, kernel="precomputed").fit(rbf_kernel(X, gamma=0.5))
    np.testing.assert_array_equal(given.labels_, computed.labels_)
    np.testing.assert_array_equal(given.predict(rbf_kernel(X[:9], X, gamma=0.5)), computed.predict(X[:9]))
    np.testing.assert_array_equal(computed.predict(X), computed.labels_)


@pytest.mark.catalogue("KM-21")
def test_units_of_a_gaussian_map_do_not_mix_rings():
    X, rings = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    model = KernelSelfOrganizingMap(1, 6, gamma=3.0, sigma_end=0.3).fit(X)
    mixed = [min(np.sum(rings[model.labels_ == q]), np.sum(rings[model.labels_ == q] == 0)) for q in range(6)]
    assert sum(mixed) == 0


def test_weights_are_repetitions():
    X = load_iris().data
    weight = np.random.default_rng(0).integers(0, 3, 150)
    heavy = KernelSelfOrganizingMap(2, 3, gamma=0.5).fit(X, sample_weight=weight.astype(float))
    many = KernelSelfOrganizingMap(2, 3, gamma=0.5).fit(X.repeat(weight, axis=0))
    assert heavy.inertia_ == pytest.approx(many.inertia_, rel=1e-9)
    np.testing.assert_array_equal(heavy.predict(X), many.predict(X))


def test_equal_rows_share_a_unit():
    assert len(set(KernelSelfOrganizingMap(2, 2).fit(np.ones((5, 2))).labels_)) == 1
