"""Parametric densities by empirical cross-entropy: the whole sample at once, and a few observations at a time."""

import numpy as np
import pytest
import scipy.stats

from mercer.errors import DataError
from mercer.estimation import (
    GaussianDensity,
    IndependentDensity,
    LaplaceDensity,
    PoissonDensity,
    UniformDensity,
    maximum_likelihood,
    select_density,
)
from mercer.neighbors import KernelDensity
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


@pytest.mark.catalogue("DE-04")
@pytest.mark.parametrize("cv", [5, "one test set"])
def test_the_choice_is_validated_by_observations_that_were_left_out(cv):
    # Twelve bins fit the training rows better than the truth, a Gaussian; held-out rows say otherwise.
    # Quantiles of the Gaussian, every third of them held out: what is drawn could look more like a Laplace density.
    quantiles = scipy.stats.norm.ppf((np.arange(60) + 0.5) / 60)[:, None]
    x = np.r_[quantiles[0::3], quantiles[2::3], quantiles[1::3]]
    candidates = {
        "gaussian": IndependentDensity(GaussianDensity()),
        "many bumps": KernelDensity(bandwidth=0.03),
        "laplace": IndependentDensity(LaplaceDensity()),
    }
    splits = cv if cv == 5 else [(np.arange(40), np.arange(40, 60))]
    chosen = select_density(candidates, x, cv=splits, random_state=0)
    assert chosen.best_name == "gaussian"
    assert chosen.names[int(np.argmin(chosen.training_cross_entropies))] == "many bumps"
    fitted = chosen.best.density
    assert (fitted.mean[0], fitted.variance[0]) == (pytest.approx(x.mean()), pytest.approx(x.var()))
    if cv != 5:
        train, test = x[:40], x[40:]
        wanted = -scipy.stats.norm(train.mean(), train.std()).logpdf(test).mean()
        assert chosen.cross_entropies[0] == pytest.approx(wanted)
        losses = -scipy.stats.norm(train.mean(), train.std()).logpdf(test)
        assert chosen.standard_errors[0] == pytest.approx(losses.std() / np.sqrt(20))


@pytest.mark.catalogue("DE-04")
def test_held_out_cross_entropy_weighs_rows_and_excludes_what_cannot_be():
    x = np.arange(12.0) % 5
    weight = np.array([1, 2, 1, 3, 1, 1, 2, 1, 1, 1, 2, 1])
    split = [(np.arange(0, 12, 2), np.arange(1, 12, 2))]
    train, test = x[::2].repeat(weight[::2]), x[1::2].repeat(weight[1::2])
    candidates = {"poisson": PoissonDensity(), "uniform": UniformDensity()}
    found = select_density(candidates, x, cv=split, sample_weight=weight)
    assert found.cross_entropies[0] == pytest.approx(-scipy.stats.poisson(train.mean()).logpmf(test).mean())
    outside = select_density(candidates, [0, 0, 1, 2, 9], cv=[([0, 1, 2, 3], [4])])
    assert outside.cross_entropies[1] == np.inf
    with pytest.raises(DataError, match="some candidate must give every held-out observation a density"):
        select_density({"uniform": UniformDensity()}, [0.0, 1.0, 9.0], cv=[([0, 1], [2])])
