"""Generators: samples have the moments of the truth that comes with them.

Tolerances are five standard errors of the estimate; the seeds are fixed.
"""

import math

import numpy as np
import pytest
import sklearn.datasets
from scipy.stats import multivariate_normal

from mercer.datasets import (
    make_autoregressive,
    make_blobs,
    make_class_gaussians,
    make_correlated_gaussian,
    make_low_rank,
    make_mixed_sources,
    make_mixture,
    make_moons,
    make_patterns,
    make_polynomial,
    make_rings,
    make_xor,
)

COVARIANCES = np.array([[[2.0, 0.8], [0.8, 1.0]], [[0.5, 0.0], [0.0, 3.0]]])
N = 20_000


def assert_mean(rows, mean, sigmas=5.0):
    np.testing.assert_array_less(np.abs(rows.mean(axis=0) - mean), sigmas * rows.std(axis=0) / math.sqrt(len(rows)))


def assert_covariance(rows, covariance, sigmas=5.0):
    """Entries of a Gaussian's sample covariance have variance (c_ij^2 + c_ii c_jj) / n."""
    spread = np.diag(covariance)
    error = np.sqrt((covariance**2 + np.outer(spread, spread)) / len(rows))
    np.testing.assert_array_less(np.abs(np.cov(rows.T, ddof=0) - covariance), sigmas * error + 1e-12)


def log_joint(rows, means, covariances, shares):
    """log P_k + log p(x | k), by SciPy."""
    classes = zip(means, covariances, shares, strict=True)
    return np.stack([multivariate_normal(m, C).logpdf(rows) + math.log(P) for m, C, P in classes], axis=1)


@pytest.mark.catalogue("WF-07")
def test_a_polynomial_comes_with_its_function_and_noise_about_it():
    rows = make_polynomial(N, (1.0, 0.0, -3.0), noise=0.5, interval=(-2.0, 2.0))
    x = rows.data[:, 0]
    np.testing.assert_allclose(rows.expected, 1.0 - 3.0 * x**2, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(rows.function(x), rows.expected)
    assert_mean((rows.target - rows.expected)[:, None], 0.0)
    assert np.std(rows.target - rows.expected) == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(2 * N))
    assert -2 <= x.min() < -1.99
    assert 1.99 < x.max() <= 2


@pytest.mark.catalogue("WF-07")
def test_classes_have_their_means_covariances_and_priors():
    means, priors = [[0.0, 1.0], [3.0, -1.0]], [0.3, 0.7]
    rows = make_class_gaussians(N, means=means, covariances=COVARIANCES, priors=priors, classes=["ash", "birch"])
    assert rows.bayes_error is None
    for number, name in enumerate(["ash", "birch"]):
        own = rows.data[rows.target == name]
        assert len(own) / N == pytest.approx(priors[number], abs=5 * math.sqrt(0.21 / N))
        assert_mean(own, means[number])
        assert_covariance(own, COVARIANCES[number])


@pytest.mark.catalogue("WF-07")
@pytest.mark.parametrize("priors", [[0.5, 0.5], [0.2, 0.8]])
def test_the_bayes_error_is_that_of_the_best_decider(priors):
    means = np.array([[0.0, 0.0], [1.5, 1.0]])
    rows = make_class_gaussians(N, means=means, covariances=COVARIANCES[0], priors=priors)
    decided = log_joint(rows.data, means, [COVARIANCES[0]] * 2, priors).argmax(axis=1)
    wrong = np.mean(decided != rows.target)
    assert wrong == pytest.approx(rows.bayes_error, abs=5 * math.sqrt(rows.bayes_error / N))
    assert make_class_gaussians(5, means=np.zeros((2, 2)), priors=priors).bayes_error == min(priors)


@pytest.mark.catalogue("WF-07")
def test_scaling_alone_gives_no_correlation_and_turning_gives_r_d_squared_r_transposed():
    scaled = make_correlated_gaussian(N, scales=(3.0, 0.5), rotation=None)
    np.testing.assert_array_equal(scaled.covariance, np.diag([9.0, 0.25]))
    assert abs(np.corrcoef(scaled.data.T)[0, 1]) < 5 / math.sqrt(N)
    turned = make_correlated_gaussian(N, scales=(3.0, 0.5), rotation=0.4, mean=[1.0, -2.0])
    R = np.array([[math.cos(0.4), -math.sin(0.4)], [math.sin(0.4), math.cos(0.4)]])
    np.testing.assert_allclose(turned.covariance, R @ np.diag([9.0, 0.25]) @ R.T, rtol=1e-12)
    np.testing.assert_allclose(turned.data, scaled.data @ R.T + [1.0, -2.0], rtol=1e-9, atol=1e-12)
    assert_mean(turned.data, [1.0, -2.0])
    assert_covariance(turned.data, turned.covariance)
    assert np.corrcoef(turned.data.T)[0, 1] > 0.8
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    wide = make_correlated_gaussian(N, scales=[4.0, 3.0, 2.0, 0.0], rotation=Q)
    assert_covariance(wide.data, Q @ np.diag([16.0, 9.0, 4.0, 0.0]) @ Q.T)


@pytest.mark.catalogue("WF-07")
def test_a_mixture_has_the_moments_and_the_density_of_its_parameters():
    weights, means = np.array([0.3, 0.7]), np.array([[0.0, 1.0], [3.0, -1.0]])
    rows = make_mixture(N, weights=weights, means=means, covariances=COVARIANCES)
    mean = weights @ means
    assert_mean(rows.data, mean)
    covariance = np.einsum("k,kij->ij", weights, COVARIANCES + np.einsum("ki,kj->kij", means - mean, means - mean))
    np.testing.assert_allclose(np.cov(rows.data.T), covariance, atol=0.15)
    for number in (0, 1):
        assert_covariance(rows.data[rows.target == number], COVARIANCES[number])
    joint = log_joint(rows.data, means, COVARIANCES, weights)
    np.testing.assert_allclose(rows.log_density, np.logaddexp(*joint.T), rtol=1e-9)
    assert make_mixture(9, covariances=np.zeros((2, 2))).log_density is None


@pytest.mark.catalogue("WF-07")
def test_corners_of_a_square_are_crossed_as_often_as_their_noise_says():
    rows = make_xor(N, noise=0.7)
    wrong = np.mean((rows.data.prod(axis=1) < 0) != rows.target)
    assert wrong == pytest.approx(rows.bayes_error, abs=5 * math.sqrt(rows.bayes_error / N))
    assert np.bincount(rows.target).tolist() == [N // 2, N // 2]
    assert_covariance(rows.data, np.eye(2) * (1 + 0.49), sigmas=6)
    assert make_xor(8, noise=0.0).bayes_error == 0


@pytest.mark.catalogue("WF-07")
def test_rings_have_their_radii_and_no_direction():
    rows = make_rings(N, radii=[1.0, 4.0, 9.0, 2.0], noise=0.2)
    radius = np.hypot(*rows.data.T)
    for ring, expected in enumerate(rows.radii):
        assert_mean(radius[rows.target == ring][:, None], expected)
        assert_mean(rows.data[rows.target == ring], 0.0)
    assert set(np.bincount(rows.target)) == {N // 4}


@pytest.mark.catalogue("WF-07")
def test_moons_are_the_half_circles_of_scikit_learn():
    X, y = make_moons((30, 70), shuffle=False)
    expected, labels = sklearn.datasets.make_moons((30, 70), shuffle=False)
    np.testing.assert_allclose(X, expected, atol=1e-12)
    np.testing.assert_array_equal(y, labels)
    assert np.bincount(make_moons(101)[1]).tolist() == [51, 50]
    X, y = make_moons(N, noise=0.3, random_state=0)
    upper = X[y == 0]
    assert_mean(upper, [0.0, 2 / math.pi])


@pytest.mark.catalogue("WF-07")
def test_blobs_of_unequal_sizes_have_their_own_centres_and_spreads():
    sizes, spreads, centres = [300, 15_000, 4000], [2.0, 0.5, 1.0], [[0.0, 0.0, 0.0], [9.0, 9.0, 9.0], [5.0, -5.0, 0.0]]
    X, y, found = make_blobs(sizes, centers=centres, cluster_std=spreads, random_state=0, return_centers=True)
    np.testing.assert_array_equal(found, centres)
    assert np.bincount(y).tolist() == sizes
    assert not np.array_equal(y, np.sort(y))
    for number, spread in enumerate(spreads):
        assert_mean(X[y == number], centres[number])
        assert_covariance(X[y == number], spread**2 * np.eye(3))
    X, y = make_blobs(10, 7, centers=4, random_state=1)
    assert (X.shape, np.bincount(y).tolist()) == ((10, 7), [3, 3, 2, 2])


@pytest.mark.catalogue("WF-07")
def test_sources_are_standard_and_independent_and_unmixing_finds_them():
    laws = ["uniform", "laplace", "gaussian", "exponential", "binary", "sine", "sawtooth", "square"]
    rows = make_mixed_sources(N, sources=laws)
    assert_mean(rows.sources[:, :5], 0.0)
    spread = np.cov(rows.sources.T, ddof=0)
    np.testing.assert_allclose(spread[:5], np.eye(8)[:5], atol=0.05)
    # Waves of like frequency stay beside one another for long.
    np.testing.assert_allclose(spread[5:, 5:], np.eye(3), atol=0.15)
    np.testing.assert_allclose(np.diag(spread), 1.0, atol=0.05)
    np.testing.assert_allclose(rows.data @ rows.unmixing.T, rows.sources, atol=1e-12)
    assert np.linalg.cond(rows.mixing) == pytest.approx(2.0)
    A = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 1.0]])
    noisy = make_mixed_sources(N, mixing=A, noise=0.5)
    np.testing.assert_allclose(np.cov(noisy.data.T, ddof=0), A @ A.T + 0.25 * np.eye(3), atol=0.15)
    # A source keeps its rows whatever is drawn beside it.
    np.testing.assert_array_equal(noisy.sources[:, 0], make_mixed_sources(N, sources=["uniform"]).sources[:, 0])


@pytest.mark.catalogue("WF-07")
def test_autoregressive_sources_are_stationary_from_the_first_row():
    rows = make_autoregressive(N, coefficients=[[0.6], [0.5, -0.8], [0.1, 0.1, 0.1]], noise=2.0)
    # Closed forms: 1 / (1 - a^2), and (1 - a2) / ((1 + a2) ((1 - a2)^2 - a1^2)).
    assert rows.variances[0] == pytest.approx(4 / (1 - 0.36))
    assert rows.variances[1] == pytest.approx(4 * 1.8 / (0.2 * (1.8**2 - 0.25)))
    np.testing.assert_allclose(rows.correlations[:2], [0.6, 0.5 / 1.8])
    np.testing.assert_allclose(rows.data.var(axis=0), rows.variances, rtol=0.1)
    for series, correlation in zip(rows.data.T, rows.correlations, strict=True):
        assert np.corrcoef(series[1:], series[:-1])[0, 1] == pytest.approx(correlation, abs=0.03)
    past = np.column_stack([rows.data[1:-1, 1], rows.data[:-2, 1]])
    np.testing.assert_allclose(np.linalg.lstsq(past, rows.data[2:, 1])[0], [0.5, -0.8], atol=0.02)
    starts = [make_autoregressive(1, coefficients=[[0.9]], random_state=seed).data[0, 0] for seed in range(400)]
    assert np.var(starts) == pytest.approx(1 / 0.19, rel=5 * math.sqrt(2 / 400))


@pytest.mark.catalogue("WF-07")
def test_pictures_have_the_rank_and_the_variances_that_they_are_made_of():
    faces = make_low_rank(N, shape=(6, 5), rank=4, noise=0.1)
    np.testing.assert_allclose(faces.components @ faces.components.T, np.eye(4), atol=1e-12)
    covariance = (faces.components.T * faces.variances) @ faces.components + 0.01 * np.eye(30)
    assert_mean(faces.data, faces.mean)
    assert_covariance(faces.data, covariance, sigmas=6)
    np.testing.assert_array_equal(faces.images[3].reshape(-1), faces.data[3])
    clean = make_low_rank(50, rank=3, noise=0.0)
    assert np.linalg.matrix_rank(clean.data - clean.mean, tol=1e-9) == 3
    assert make_low_rank(3, shape=(2, 2), rank=4).components.shape == (4, 4)


@pytest.mark.catalogue("WF-07")
def test_copies_of_patterns_are_flipped_as_often_as_said():
    rows = make_patterns(4, 300, n_copies=50, flip=0.2, values=(0, 1))
    flipped = rows.data != rows.patterns[rows.target]
    assert flipped.mean() == pytest.approx(0.2, abs=5 * 0.4 / math.sqrt(flipped.size))
    assert set(np.unique(rows.data)) == {0.0, 1.0}
    assert rows.patterns.mean() == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(1200))
    np.testing.assert_array_equal(
        make_patterns(2, 9, flip=0.0, n_copies=1).data, make_patterns(2, 9, flip=0.3).patterns
    )
