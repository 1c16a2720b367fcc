"""Densities fitted batch by batch: the estimate of one fit to all, or of what is not yet forgotten."""

import re

import numpy as np
import pytest

from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    BernoulliDensity,
    BinomialDensity,
    CategoricalDensity,
    Density,
    ExponentialDensity,
    GaussianDensity,
    GeometricDensity,
    LaplaceDensity,
    MultivariateGaussianDensity,
    PoissonDensity,
    RunningDensity,
    UniformDensity,
)

COVARIANCE = np.array([[2.0, 0.3], [0.3, 0.1]])
FAMILIES = {
    "gaussian": (GaussianDensity(), 1e6 + 3.0 * np.random.default_rng(0).normal(size=300)),
    "vector": (
        GaussianDensity(np.zeros(3), np.ones(3)),
        np.random.default_rng(1).normal(size=(300, 3)) * [1.0, 1e-3, 50.0] + 2.0,
    ),
    "rows": (
        MultivariateGaussianDensity(np.zeros(2), np.eye(2)),
        np.random.default_rng(2).multivariate_normal([5.0, -100.0], COVARIANCE, 300),
    ),
    "exponential": (ExponentialDensity(), np.random.default_rng(3).exponential(4.0, size=300)),
    "uniform": (UniformDensity(), np.random.default_rng(4).uniform(-3.0, 9.0, size=300)),
    "bernoulli": (BernoulliDensity(0.5), np.random.default_rng(5).integers(0, 2, size=300)),
    "binomial": (BinomialDensity(0.5, 7), np.random.default_rng(6).binomial(7, 0.2, size=300)),
    "poisson": (PoissonDensity(1.0), np.random.default_rng(7).poisson(12.0, size=300)),
    "geometric": (GeometricDensity(0.5), np.random.default_rng(8).geometric(0.1, size=300) - 1),
    "categorical": (CategoricalDensity([0.25] * 4), np.random.default_rng(9).integers(0, 4, size=300)),
}


def parameters(density):
    return np.concatenate([np.ravel(value) for value in vars(density).values()]).astype(float)


@pytest.mark.catalogue("WF-06")
@pytest.mark.parametrize("name", sorted(FAMILIES))
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_of_any_size_give_the_estimate_of_one_fit(name, weighted):
    density, x = FAMILIES[name]
    weight = np.random.default_rng(10).integers(1, 4, size=300).astype(float) if weighted else None
    if weighted:
        weight[5:20] = 0.0
    model = RunningDensity(density)
    for part in np.split(np.arange(300), [1, 2, 40, 299]):
        model.partial_fit(x[part], None if weight is None else weight[part])
    whole = density.fit(x, weight)
    np.testing.assert_allclose(parameters(model.density_), parameters(whole), rtol=1e-9)
    np.testing.assert_allclose(model.logpdf(x), whole.logpdf(x), rtol=1e-7, atol=1e-7)
    assert model.weight_ == pytest.approx(300 if weight is None else weight.sum())
    assert isinstance(model, Density)
    assert model.sample(4, random_state=0).shape[0] == 4


@pytest.mark.catalogue("WF-06")
@pytest.mark.parametrize("batch", [1, 7])
def test_forgetting_weighs_observations_by_their_age_however_they_are_cut(batch):
    x = np.random.default_rng(10).normal(size=60)
    model = RunningDensity(GaussianDensity(), forgetting=0.9)
    for start in range(0, 60, batch):
        model.partial_fit(x[start : start + batch])
    weight = 0.9 ** np.arange(60)[::-1]
    mean = weight @ x / weight.sum()
    assert model.density_.mean == pytest.approx(mean)
    assert model.density_.variance == pytest.approx(weight @ (x - mean) ** 2 / weight.sum())
    assert model.weight_ == pytest.approx(weight.sum())


@pytest.mark.catalogue("WF-06")
def test_a_constant_rate_follows_a_moving_target_and_a_decaying_one_converges():
    random = np.random.default_rng(1)
    times = np.arange(6000)
    rate = np.where(times < 3000, 4.0, 20.0)
    x = random.poisson(rate)
    follows, averages = RunningDensity(PoissonDensity(1.0), forgetting=1 - 1 / 200), RunningDensity(PoissonDensity(1.0))
    for start in range(0, 6000, 50):
        follows.partial_fit(x[start : start + 50])
        averages.partial_fit(x[start : start + 50])
    assert follows.density_.rate == pytest.approx(20.0, abs=1.0)
    assert averages.density_.rate == pytest.approx(12.0, abs=0.3)
    # Memory follows the distinct values, not the observations.
    assert len(averages._summary.counts) < 60


def test_what_a_few_sums_do_not_determine_is_refused_and_bad_batches_change_nothing():
    with pytest.raises(ParameterError, match="must be Gaussian, exponential, uniform or of whole"):
        RunningDensity(LaplaceDensity())
    with pytest.raises(ParameterError, match=re.escape("forgetting must be in (0, 1]; got 0")):
        RunningDensity(GaussianDensity(), forgetting=0.0)
    model = RunningDensity(PoissonDensity(1.0)).partial_fit([1, 2, 3])
    with pytest.raises(DataError, match="observations must be whole numbers"):
        model.partial_fit([0.5])
    with pytest.raises(DataError, match="needs at least one observation"):
        model.partial_fit([])
    with pytest.raises(DataError, match=re.escape("whole numbers must have one axis; got shape (1, 2)")):
        model.partial_fit([[1, 2]])
    assert model.density_.rate == pytest.approx(2.0)
    assert model.fit([5]).density_.rate == pytest.approx(5.0)
    one = RunningDensity(GaussianDensity()).partial_fit([4.0])
    with pytest.raises(DataError, match="the variance of constant observations is zero"):
        one.logpdf(4.0)
    assert one.partial_fit([6.0]).density_.variance == pytest.approx(1.0)
    with pytest.raises(DataError, match="density_ exists once observations of positive weight were seen"):
        _ = RunningDensity(GaussianDensity()).density_
    assert RunningDensity(GaussianDensity(3.0, 1.0)).logpdf(3.0) == GaussianDensity(3.0, 1.0).logpdf(3.0)
