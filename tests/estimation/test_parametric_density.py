"""Parametric densities by empirical cross-entropy: the whole sample at once, and a few observations at a time."""

import numpy as np
import pytest

from mercer.estimation import GaussianDensity, maximum_likelihood
from mercer.optim import check_gradient, minimize_stochastic


def log_density(x, theta):
    """log N(x; m, exp(2 s)) with theta = (m, s)."""
    return -0.5 * ((x - theta[0]) / np.exp(theta[1])) ** 2 - theta[1] - 0.5 * np.log(2 * np.pi)


def score(x, theta):
    z = (x - theta[0]) / np.exp(theta[1])
    return np.stack([z / np.exp(theta[1]), z**2 - 1], axis=1)


@pytest.fixture(scope="module")
def sample():
    return np.random.default_rng(0).normal(1.5, 2.0, size=400)


@pytest.mark.catalogue("DE-04")
def test_minimal_cross_entropy_is_maximum_likelihood(sample):
    found = maximum_likelihood(log_density, sample, [0.0, 0.0], score=score)
    closed = GaussianDensity().fit(sample)
    np.testing.assert_allclose(found.parameters, [sample.mean(), np.log(sample.std())], atol=1e-5)
    assert found.log_likelihood == pytest.approx(closed.logpdf(sample).sum(), abs=1e-6)


@pytest.mark.catalogue("DE-04")
def test_its_gradient_is_that_of_differences(sample):
    def cross_entropy(theta):
        return -np.mean(log_density(sample, theta))

    report = check_gradient(cross_entropy, lambda theta: -score(sample, theta).mean(axis=0), np.array([0.3, 0.4]))
    assert report.passed


@pytest.mark.catalogue("DE-04")
def test_training_value_is_at_most_that_of_the_truth_and_fresh_value_at_least(sample):
    found = maximum_likelihood(log_density, sample, [0.0, 0.0], score=score).parameters
    truth, fresh = np.array([1.5, np.log(2.0)]), np.random.default_rng(1).normal(1.5, 2.0, size=200_000)
    assert -np.mean(log_density(sample, found)) <= -np.mean(log_density(sample, truth))
    assert -np.mean(log_density(fresh, found)) >= -np.mean(log_density(fresh, truth))


@pytest.mark.catalogue("DE-04")
def test_a_few_observations_at_a_time_come_near_the_same(sample):
    result = minimize_stochastic(
        lambda theta, rows: -np.mean(log_density(sample[rows], theta)),
        [0.0, 0.0],
        n_samples=len(sample),
        batch_size=20,
        grad=lambda theta, rows: -score(sample[rows], theta).mean(axis=0),
        method="adam",
        learning_rate=0.02,
        random_state=0,
    )
    np.testing.assert_allclose(result.x, [sample.mean(), np.log(sample.std())], atol=0.1)
