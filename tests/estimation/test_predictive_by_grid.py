"""Predictive densities of any family and prior, by grids and by draws, alone and in a classifier."""

import numpy as np
import pytest
import scipy.stats
from scipy.integrate import quad

from mercer.discriminant_analysis import ClassConditionalClassifier
from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    AveragedDensity,
    BetaDensity,
    BetaGeometric,
    GammaDensity,
    GaussianDensity,
    GeometricDensity,
    LaplaceDensity,
    UniformDensity,
    grid_posterior,
)

THETA = np.linspace(0.0, 1.0, 401)


@pytest.mark.catalogue("PE-09")
@pytest.mark.parametrize("how", ["grid", "draws"])
def test_the_geometric_example_by_grid_and_by_draws_decides_as_the_closed_form(how):
    # Rows {0, 2} and {0, 2, 0, 1}: 3/14 < 2/9 at x = 1; with equal priors the first class has the posterior 27/55.
    make = {
        "grid": lambda: AveragedDensity.on_grid(GeometricDensity, UniformDensity(), THETA),
        "draws": lambda: AveragedDensity.from_draws(GeometricDensity, UniformDensity(), 2000, random_state=0),
    }[how]
    X, y = [[0.0], [2.0], [0.0], [2.0], [0.0], [1.0]], [1, 1, 2, 2, 2, 2]
    model = ClassConditionalClassifier(make(), priors=[0.5, 0.5]).fit(X, y)
    wide = 1e-4 if how == "grid" else 0.01
    assert model.predict_proba([[1.0]])[0, 0] == pytest.approx(27 / 55, abs=wide)
    assert model.predict([[0.0], [1.0], [2.0], [3.0]]).tolist() == [2, 2, 1, 1]
    # Unequal priors move the decision: 0.6 * 3/14 > 0.4 * 2/9.
    moved = ClassConditionalClassifier(make(), priors=[0.6, 0.4]).fit(X, y)
    assert moved.predict([[1.0]]) == [1]
    weighted = make().fit([0.0, 2.0, 1.0], sample_weight=[2, 1, 1])
    np.testing.assert_allclose(weighted.logpdf([0, 1]), make().fit([0.0, 0.0, 2.0, 1.0]).logpdf([0, 1]), atol=1e-9)


@pytest.mark.catalogue("PE-09", "PE-13")
def test_a_pair_without_conjugacy_gives_the_integral():
    # Laplace noise about a mean with a Gaussian prior has no closed form; the truth is SciPy's quadrature.
    data = np.array([0.3, -0.8, 1.9])
    prior = GaussianDensity(0.5, 2.0)

    def joint(m):
        return np.exp(LaplaceDensity(m, 0.7).logpdf(data).sum() + prior.logpdf(m))

    evidence = quad(joint, -12, 12, points=[*data], limit=300)[0]

    def predictive(x):
        def integrand(m):
            return joint(m) * np.exp(LaplaceDensity(m, 0.7).logpdf(x))

        return quad(integrand, -12, 12, points=[*data, x], limit=300)[0] / evidence

    axis = np.linspace(-12.0, 12.0, 2401)
    found = AveragedDensity.on_grid(lambda m: LaplaceDensity(m, 0.7), prior, axis).fit(data)
    x = [-2.0, 0.31, 4.0]
    np.testing.assert_allclose(np.exp(found.logpdf(x)), [predictive(value) for value in x], rtol=1e-4)
    posterior = grid_posterior(lambda x, m: LaplaceDensity(m, 0.7).logpdf(x), prior, data, axis)
    assert np.exp(posterior.log_evidence) == pytest.approx(evidence, rel=1e-4)
    mean = quad(lambda m: m * joint(m), -12, 12, points=[*data])[0] / evidence
    assert posterior.mean[0] == pytest.approx(mean, rel=1e-4)
    np.testing.assert_allclose(found.parameters()["mean"], posterior.mean, atol=1e-9)
    averaged = posterior.predictive(lambda x, m: np.exp(LaplaceDensity(m, 0.7).logpdf(x)), x)
    np.testing.assert_allclose(averaged, np.exp(found.logpdf(x)), rtol=1e-9)
    drawn = AveragedDensity.from_draws(lambda m: LaplaceDensity(m, 0.7), prior, 3000, random_state=0).fit(data)
    np.testing.assert_allclose(np.exp(drawn.logpdf(x)), np.exp(found.logpdf(x)), rtol=0.1)
    assert 100 < drawn.effective_points < 3000


@pytest.mark.catalogue("PE-13")
def test_an_uneven_grid_and_two_parameters_agree_with_closed_forms():
    # Beta(3, 4) on a grid with uneven steps: quantiles, mean and variance are SciPy's.
    uneven = np.linspace(0.0, 1.0, 2001) ** 2
    found = grid_posterior(lambda x, p: GeometricDensity(p).logpdf(x), UniformDensity(), [1, 2], uneven)
    exact = scipy.stats.beta(3, 4)
    assert found.credible_interval(0.9) == pytest.approx(exact.interval(0.9), abs=1e-4)
    assert (found.mean[0], found.variance[0]) == pytest.approx((exact.mean(), exact.var()), abs=1e-5)
    assert np.trapezoid(np.exp(found.log_density), uneven) == pytest.approx(1.0, abs=1e-6)
    # Gaussian with mean and precision unknown: under the flat prior 1 / r in the precision r the mean is Student's t.
    x = np.array([1.0, 2.5, 0.5, 3.0, 2.0])
    means, rates = np.linspace(-4.0, 8.0, 121), np.linspace(0.01, 8.0, 121)
    both = grid_posterior(lambda x, m, r: GaussianDensity(m, 1 / r).logpdf(x), lambda m, r: -np.log(r), x, means, rates)
    student = scipy.stats.t(4, x.mean(), x.std(ddof=1) / np.sqrt(5))
    np.testing.assert_allclose(both.marginal(0), student.pdf(means), atol=4e-3)
    assert both.credible_interval(0.8, 0) == pytest.approx(student.interval(0.8), abs=0.02)


@pytest.mark.catalogue("PE-13")
def test_the_posterior_mean_minimises_expected_squared_error_among_all_constants():
    found = grid_posterior(lambda x, p: GeometricDensity(p).logpdf(x), BetaDensity(2.0, 5.0), [0, 3, 1], THETA)
    risks = [found.expect(lambda p, c=c: (p - c) ** 2) for c in THETA]
    assert THETA[int(np.argmin(risks))] == pytest.approx(found.mean[0], abs=1 / 400)
    medians = [found.expect(lambda p, c=c: np.abs(p - c)) for c in THETA]
    assert THETA[int(np.argmin(medians))] == pytest.approx(scipy.stats.beta(5, 9).median(), abs=2 / 400)


def test_draws_of_the_predictive_follow_it_and_two_parameters_take_two_axes():
    density = AveragedDensity.on_grid(GeometricDensity, None, THETA).fit([0, 2, 0, 1])
    exact = BetaGeometric(1, 1).predictive().fit([0, 2, 0, 1])
    draws = density.sample(20_000, random_state=0)
    shares = [(draws == k).mean() for k in range(4)]
    np.testing.assert_allclose(shares, np.exp(exact.logpdf(np.arange(4))), atol=0.01)
    np.testing.assert_array_equal(density.sample(9, 1), density.sample(9, 1))
    priors = [GaussianDensity(0.0, 9.0), GammaDensity(2.0, 1.0)]
    two = AveragedDensity.on_grid(GaussianDensity, priors, np.linspace(-5, 5, 41), np.linspace(0.2, 9, 41))
    logs = two.fit([1.0, 2.0, 1.5]).logpdf([1.5, 40.0])
    assert logs[0] > logs[1]


def test_what_cannot_be_averaged_is_refused():
    with pytest.raises(DataError, match="a grid has one or two axes of three or more increasing values"):
        AveragedDensity.on_grid(GeometricDensity, None, [1.0, 0.5])
    with pytest.raises(DataError, match="the observations must be possible at some point"):
        AveragedDensity.on_grid(lambda m: UniformDensity(m, m + 1), None, [0.0, 0.5, 1.0]).fit([9.0])
    with pytest.raises(ParameterError, match=r"points must have shape \(m, p\)"):
        AveragedDensity(GeometricDensity, [0.5], [0.0])
