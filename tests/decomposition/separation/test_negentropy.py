"""Negentropy and kurtosis: exact values of densities, estimates from samples, invariance, errors."""

import math

import numpy as np
import pytest
import scipy.stats

from mercer.decomposition import ProjectionPursuit, density_kurtosis, density_negentropy, negentropy
from mercer.errors import DataError, ParameterError
from mercer.estimation import ExponentialDensity, GaussianDensity, LaplaceDensity, UniformDensity, excess_kurtosis

KNOWN = [
    (LaplaceDensity(2.0, 3.0), 0.072365, 3.0),
    (UniformDensity(-1.0, 5.0), 0.176485, -1.2),
    (scipy.stats.logistic(1.0, 0.5), 0.014362, 1.2),
    (ExponentialDensity(4.0), 0.418939, 6.0),
    (GaussianDensity(1.0, 2.0), 0.0, 0.0),
]


@pytest.mark.catalogue("PM-17", "PM-16")
@pytest.mark.parametrize(("density", "value", "kurtosis"), KNOWN, ids=lambda one: type(one).__name__)
def test_densities_have_their_exact_values_at_any_place_and_scale(density, value, kurtosis):
    assert density_negentropy(density) == pytest.approx(value, abs=5e-7)
    assert density_kurtosis(density) == pytest.approx(kurtosis, abs=1e-6)


@pytest.mark.catalogue("PM-17")
@pytest.mark.parametrize("method", ["spacing", "neighbours", "histogram"])
@pytest.mark.parametrize(("density", "value", "kurtosis"), KNOWN, ids=lambda one: type(one).__name__)
def test_estimates_of_the_entropy_come_near_the_exact_values(density, value, kurtosis, method):
    draws = density.rvs(20_000, random_state=0) if hasattr(density, "rvs") else density.sample(20_000, random_state=0)
    estimate = negentropy(draws, method=method)
    assert estimate == pytest.approx(value, abs=0.03)
    assert negentropy(7.0 * draws - 3.0, method=method) == pytest.approx(estimate, abs=1e-9)


@pytest.mark.catalogue("PM-17")
@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize(
    # The uniform density has edges, see the next test: twice 0.19 * 3 of them and 0.7 of the deviation.
    ("law", "value", "most"),
    [("normal", 0.0, 1.0), ("laplace", 0.072365, 1.0), ("uniform", 0.176485, 2.0)],
)
def test_the_bias_of_the_default_is_of_the_order_of_one_over_n(law, value, most, unit):
    draws = getattr(np.random.default_rng(3), law)(size=(200, 400))
    estimates = negentropy(unit * draws)
    # Six standard errors of the mean of 400 estimates.
    assert estimates.mean() == pytest.approx(value, abs=most / 200 + 6 * estimates.std() / 20)
    assert estimates.std() / 20 < 0.005


def test_the_bias_at_edges_is_the_one_that_follows_from_neighbours_on_one_side():
    k, n = 3, 200
    estimates = negentropy(np.random.default_rng(3).uniform(size=(n, 4000)), n_neighbors=k)
    # A sample at u / n from an edge, with the k-th neighbour at r / n, has min(r, u) + r = m on average samples in
    # reach, m of the gamma density: log(2 r) exceeds log(m) by log(2 (m - u) / m) where u < m / 2, whose integral over
    # u is (log(2) - 1 / 2) k. The logarithm of the deviation errs by -1 / (2 n) - (kurtosis + 2) / (4 n).
    bias = -2 * (math.log(2) - 0.5) * k / n - 0.5 / n - 0.2 / n
    # Six standard errors; terms of the second order are some k^2 / n^2.
    assert estimates.mean() == pytest.approx(0.176485 + bias, abs=6 * estimates.std() / math.sqrt(4000) + (k / n) ** 2)


@pytest.mark.catalogue("PM-17")
@pytest.mark.parametrize("method", ["logcosh", "exp", "kurtosis"])
def test_approximations_are_squares_that_vanish_for_a_gaussian(method):
    random = np.random.default_rng(0)
    X = np.column_stack([random.laplace(size=20_000), random.uniform(size=20_000), random.normal(size=20_000)])
    values = negentropy(X, method=method)
    assert (values >= 0).all()
    assert values[2] < 1e-3
    assert (values[:2] > 20 * values[2]).all()
    np.testing.assert_allclose(negentropy(-5.0 * X + 1.0, method=method), values, rtol=1e-9)
    if method == "kurtosis":
        np.testing.assert_allclose(values, excess_kurtosis(X) ** 2 / 48, rtol=1e-6)


def test_samples_without_an_entropy_are_refused():
    with pytest.raises(DataError, match="needs samples that differ"):
        negentropy(np.random.default_rng(0).integers(0, 2, 100).astype(float), method="spacing")
    with pytest.raises(DataError, match="every column must vary"):
        negentropy(np.ones(10))
    with pytest.raises(DataError, match="at least 4 samples"):
        negentropy([1.0, 2.0])
    with pytest.raises(ParameterError, match="method must be one of"):
        negentropy(np.arange(9.0), method="magic")
    with pytest.raises(DataError, match="must be of one number"):
        density_negentropy(scipy.stats.multivariate_normal([0, 0]))
    with np.errstate(over="ignore"), pytest.raises(DataError, match="finite moments"):
        density_kurtosis(scipy.stats.cauchy())


@pytest.mark.catalogue("PM-16")
def test_the_kurtosis_of_a_mixture_is_the_sum_of_fourth_powers_times_kurtoses():
    # Three values with given probabilities, so that all moments over the product of the laws are exact.
    values = [np.array([-1.0, 1.0]), np.array([-2.0, 0.0, 2.0]), np.array([-3.0, 0.0, 3.0])]
    shares = [np.array([0.5, 0.5]), np.array([1, 6, 1]) / 8, np.array([1, 16, 1]) / 18]
    kurtoses = [(p @ v**4) / (p @ v**2) ** 2 - 3 for p, v in zip(shares, values, strict=True)]
    grids = np.meshgrid(*[v / np.sqrt(p @ v**2) for p, v in zip(shares, values, strict=True)], indexing="ij")
    weight = shares[0][:, None, None] * shares[1][None, :, None] * shares[2]
    for a in np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]:
        y = sum(share * grid for share, grid in zip(a, grids, strict=True))
        kurtosis = (weight * y**4).sum() / (weight * y**2).sum() ** 2 - 3
        assert kurtosis == pytest.approx((a**4) @ kurtoses)


@pytest.mark.catalogue("PM-16", "PM-17")
@pytest.mark.parametrize("orthogonalisation", ["deflation", "symmetric"])
@pytest.mark.parametrize("index", ["kurtosis", "logcosh", "exp"])
def test_pursuit_finds_light_and_heavy_tails_among_gaussians(index, orthogonalisation):
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 5))
    X[:, 1], X[:, 3] = random.laplace(size=4000), random.uniform(-1, 1, 4000)
    A = random.normal(size=(5, 5))
    # All directions at once end at the maximum that is next to the first ones: there are as many as columns.
    number = 2 if orthogonalisation == "deflation" else 5
    model = ProjectionPursuit(number, index=index, orthogonalisation=orthogonalisation, n_init=30, random_state=0).fit(
        X @ A.T
    )
    gains = (np.abs(model.components_ @ A) * X.std(axis=0))[:2]
    assert gains.argmax(axis=1).tolist() == [1, 3]
    assert (gains.max(axis=1) > 0.95).all()
    assert (model.gaussian_pvalue_[:2] < 1e-6).all()
    projections = model.transform(X @ A.T)
    np.testing.assert_allclose(projections.T @ projections / 4000, np.eye(number), atol=1e-9)
    if index == "kurtosis":
        np.testing.assert_allclose(model.index_, excess_kurtosis(projections), rtol=1e-8)
    else:
        np.testing.assert_allclose(model.index_, negentropy(projections, method=index), rtol=1e-6)


@pytest.mark.catalogue("PM-16")
def test_no_direction_has_a_larger_kurtosis():
    random = np.random.default_rng(0)
    S = np.column_stack([random.laplace(size=3000), random.uniform(-1, 1, 3000)])
    X = S @ np.array([[1.0, 0.4], [-0.7, 1.0]])
    model = ProjectionPursuit(1, index="kurtosis", random_state=0).fit(X)
    values, vectors = np.linalg.eigh(np.cov(X, rowvar=False))
    U = (X - X.mean(axis=0)) @ vectors / np.sqrt(values)
    angles = np.linspace(0, np.pi, 2000)
    best = np.abs(excess_kurtosis(U @ np.array([np.cos(angles), np.sin(angles)]))).max()
    assert abs(model.index_[0]) == pytest.approx(best, rel=1e-4)
    with pytest.raises(DataError, match="n_components must be at most 2"):
        ProjectionPursuit(3).fit(X)
