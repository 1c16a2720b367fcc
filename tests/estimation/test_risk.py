"""Bias, variance, efficiency, James and Stein, Fisher information and priors."""

import numpy as np
import pytest
from scipy.special import polygamma
from scipy.stats import kstest, kurtosis

from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    BernoulliDensity,
    BetaDensity,
    BinomialDensity,
    ExponentialDensity,
    GammaDensity,
    GaussianDensity,
    GaussianMean,
    GeometricDensity,
    JeffreysPrior,
    MixtureDensity,
    PoissonDensity,
    cramer_rao_bound,
    excess_kurtosis,
    fisher_information,
    grid_posterior,
    james_stein,
    james_stein_risk,
    maximum_entropy,
    running_means,
    simulate_large_samples,
    simulate_risk,
    standardised_sums,
)


@pytest.mark.catalogue("PE-17", "PL-12")
def test_the_squared_error_is_bias_and_variance_and_the_mean_has_no_bias():
    def mean(x):
        return x.mean(axis=0)

    def shrunk(x):
        return 0.7 * x.mean(axis=0)

    density = GaussianDensity(np.array([1.0, -2.0]), 4.0)
    for estimator in (mean, shrunk):
        risk = simulate_risk(estimator, density, [1.0, -2.0], n_samples=10, n_repeats=2000, random_state=0)
        assert risk.mean_squared_error == pytest.approx(risk.bias @ risk.bias + risk.variance.sum(), rel=1e-12)
        assert (risk.variance > 0).all()
    risk = simulate_risk(mean, density, [1.0, -2.0], n_samples=10, n_repeats=2000, random_state=1)
    assert np.abs(risk.bias).max() < 4 * np.sqrt(0.4 / 2000)
    assert risk.mean_squared_error == pytest.approx(2 * 4 / 10, abs=4 * risk.standard_error)


@pytest.mark.catalogue("PE-04")
def test_the_maximum_likelihood_variance_is_biased_by_one_over_n():
    risk = simulate_risk(np.var, GaussianDensity(0.0, 2.0), 2.0, n_samples=5, n_repeats=6000, random_state=0)
    assert risk.estimates.mean() == pytest.approx(4 / 5 * 2.0, abs=4 * risk.estimates.std() / np.sqrt(6000))


@pytest.mark.catalogue("PE-18", "PL-13")
@pytest.mark.parametrize("norm", [0.0, 1.0, 3.0, 10.0])
def test_james_and_stein_are_better_than_the_mean_for_every_truth(norm):
    d, n = 10, 20
    truth = np.full(d, norm / np.sqrt(d))
    density = GaussianDensity(truth, 1.0)

    def plain(x):
        return james_stein(x, 1.0, positive=False)

    risk = simulate_risk(plain, density, truth, n_samples=n, n_repeats=2000, random_state=0)
    exact = float(james_stein_risk(norm, d, 1.0 / n))
    assert risk.mean_squared_error == pytest.approx(exact, abs=4 * risk.standard_error)
    assert exact < d / n
    positive = simulate_risk(lambda x: james_stein(x, 1.0), density, truth, n_samples=n, n_repeats=2000, random_state=0)
    assert positive.mean_squared_error <= risk.mean_squared_error + 1e-12


@pytest.mark.catalogue("PE-18", "PL-13")
def test_the_risk_is_two_at_the_target_and_the_means_far_away():
    norms = np.linspace(0.0, 50.0, 200)
    risk = james_stein_risk(norms, 10)
    assert risk[0] == pytest.approx(2.0)
    assert risk[-1] == pytest.approx(10.0, abs=0.05)
    assert (np.diff(risk) > 0).all()
    assert (risk < 10).all()
    mean = GaussianDensity(np.full(10, 0.3), 1.0).sample(20, random_state=0).mean(axis=0)
    rows = np.tile(mean, (20, 1))
    expected = (1 - 8 * (1 / 20) / (mean @ mean)) * mean
    np.testing.assert_allclose(james_stein(rows, 1.0, positive=False), expected)
    np.testing.assert_allclose(james_stein(rows + 5.0, 1.0, target=5.0), expected + 5.0)


@pytest.mark.catalogue("PE-18")
def test_an_unknown_variance_is_allowed_for():
    truth = np.full(6, 0.2)
    risk = simulate_risk(james_stein, GaussianDensity(truth, 4.0), truth, n_samples=8, n_repeats=3000, random_state=0)
    assert risk.mean_squared_error < 6 * 4.0 / 8
    with pytest.raises(DataError, match=r"rows of three coordinates or more; .* nothing beats the mean everywhere"):
        james_stein([[1.0, 2.0]], 1.0)
    with pytest.raises(DataError, match=r"the variance cannot be estimated from one row. Give variance"):
        james_stein([[1.0, 2.0, 3.0]])


@pytest.mark.catalogue("PE-19")
def test_fisher_information_of_known_families_adds_up_over_observations():
    n = 7
    assert fisher_information(GaussianDensity(0.0, 4.0), n=n) == pytest.approx(np.diag([n / 4.0, n / 32.0]))
    assert fisher_information(BernoulliDensity(0.3), n=n)[0, 0] == pytest.approx(n / 0.21)
    assert fisher_information(GeometricDensity(0.4))[0, 0] == pytest.approx(10.416667, abs=5e-7)
    assert fisher_information(GeometricDensity(0.4), n=n)[0, 0] == pytest.approx(n / (0.16 * 0.6))


@pytest.mark.catalogue("PE-19")
@pytest.mark.parametrize(
    "density", [GaussianDensity(1.0, 2.0), GeometricDensity(0.4), PoissonDensity(3.0), BetaDensity(2.0, 3.0)]
)
def test_simulated_information_agrees_with_the_closed_form(density):
    exact = fisher_information(density, method="exact")
    found = fisher_information(density, method="monte_carlo", n_samples=200_000, random_state=0)
    np.testing.assert_allclose(found, exact, rtol=0.03, atol=0.03 * np.abs(exact).max())


@pytest.mark.catalogue("PE-20")
def test_the_mean_is_efficient_and_the_unbiased_variance_is_not():
    n, density = 6, GaussianDensity(0.0, 4.0)
    bound = cramer_rao_bound(fisher_information(density, n=n))
    assert np.diag(bound) == pytest.approx([4.0 / n, 2 * 16.0 / n])

    def both(x):
        return [x.mean(), x.var(ddof=1)]

    risk = simulate_risk(both, density, [0.0, 4.0], n_samples=n, n_repeats=6000, random_state=0)
    efficiency = risk.efficiency(bound)
    assert efficiency[0] == pytest.approx(1.0, abs=0.04)
    assert efficiency[1] == pytest.approx((n - 1) / n, abs=0.05)
    with pytest.raises(DataError, match=r"the information is singular"):
        cramer_rao_bound([[1.0, 1.0], [1.0, 1.0]])


@pytest.mark.catalogue("PE-21")
def test_large_samples_have_the_variance_of_the_bound_and_errors_that_fall_like_a_root():
    study = simulate_large_samples(
        GeometricDensity(0.4), "probability", [25, 400, 6400], n_repeats=1500, random_state=0
    )
    assert study.limit == pytest.approx(0.096)
    assert study.scaled_variances[-1] == pytest.approx(0.096, rel=0.12)
    ratios = study.root_mean_squared_errors[:-1] / study.root_mean_squared_errors[1:]
    assert ratios == pytest.approx([4.0, 4.0], rel=0.2)


@pytest.mark.catalogue("PE-21")
@pytest.mark.parametrize(("density", "parameter", "limit"), [
    # The rate of gamma is unknown too: the first entry of the inverse of [[psi'(a), -1/r], [-1/r, a/r^2]].
    (GammaDensity(2.0, 3.0), "concentration", 2.0 / (2.0 * polygamma(1, 2.0) - 1.0)),
    (ExponentialDensity(2.0), "rate", 4.0),
    (GaussianDensity(1.0, 3.0), "variance", 18.0),
])  # fmt: skip
def test_standardised_estimates_become_normal(density, parameter, limit):
    study = simulate_large_samples(density, parameter, [8, 1600], n_repeats=500, random_state=1)
    assert study.limit == pytest.approx(limit)
    assert study.estimates.shape == (2, 500)
    # Normal in large samples: Kolmogorov's test keeps it at 1600 observations and rejects it at 8, where it is skewed.
    assert kstest(study.standardised[1], "norm").pvalue > 1e-4
    assert kstest(study.standardised[0], "norm").pvalue < 1e-4
    wanted = [kstest(values, "norm").statistic for values in study.standardised]
    np.testing.assert_allclose(study.kolmogorov_distances, wanted)
    np.testing.assert_allclose(study.scaled_variances, study.standardised.var(axis=1) * limit)
    assert study.scaled_variances[1] == pytest.approx(limit, rel=0.15)


def test_large_samples_need_a_parameter_that_is_estimated():
    with pytest.raises(DataError, match="a single number among probability of BinomialDensity; got 'trials'"):
        simulate_large_samples(BinomialDensity(0.4, 3), "trials", [10])


@pytest.mark.catalogue("PE-14")
def test_an_informative_prior_lowers_the_variance_and_adds_bias():
    truth, density = 1.0, GaussianDensity(1.0, 4.0)
    by = {
        spread: simulate_risk(
            lambda x, spread=spread: GaussianMean(0.0, spread, 4.0).update(x).location,
            density,
            truth,
            n_samples=5,
            n_repeats=3000,
            random_state=0,
        )
        for spread in (0.2, 1e6)
    }
    assert by[0.2].variance[0] < 0.5 * by[1e6].variance[0]
    assert abs(by[0.2].bias[0]) > 0.5 > 0.1 > abs(by[1e6].bias[0])
    assert GaussianMean(0.0, 0.2, 4.0).update([1.0]).spread < GaussianMean(0.0, 1e6, 4.0).update([1.0]).spread


@pytest.mark.catalogue("PE-15")
def test_jeffreys_priors_are_the_known_ones_and_do_not_depend_on_the_parametrisation():
    theta = np.linspace(0.05, 0.95, 19)

    def shape(prior, logs):
        difference = np.array([prior.logpdf([t]) for t in theta]) - logs
        return np.ptp(difference)

    bernoulli = JeffreysPrior(BernoulliDensity())
    assert shape(bernoulli, BetaDensity(0.5, 0.5).logpdf(theta)) < 1e-10
    assert shape(JeffreysPrior(GeometricDensity()), -np.log(theta) - 0.5 * np.log1p(-theta)) < 1e-10
    assert shape(JeffreysPrior(GaussianDensity(), ["mean"]), 0.0) < 1e-10
    grid = np.linspace(0.001, 0.999, 2001)
    direct = grid_posterior(
        lambda x, p: BernoulliDensity(p).logpdf(x), lambda p: bernoulli.logpdf([p]), [1, 1, 0], grid
    )
    logit = np.log(grid / (1 - grid))

    def there(x, z):
        return BernoulliDensity(1 / (1 + np.exp(-z))).logpdf(x)

    def prior(z):
        # The information by z is that by p, times (dp/dz)^2.
        p = 1 / (1 + np.exp(-z))
        return 0.5 * np.log(p * (1 - p))

    other = grid_posterior(there, prior, [1, 1, 0], logit)
    assert other.expect(lambda z: 1 / (1 + np.exp(-z))) == pytest.approx(direct.mean[0], abs=1e-4)


@pytest.mark.catalogue("PE-16")
def test_maximum_entropy_is_uniform_exponential_gaussian_or_a_regulariser():
    assert maximum_entropy(np.zeros((6, 0)), []).probabilities == pytest.approx(np.full(6, 1 / 6))
    x = np.linspace(0.0, 40.0, 4001)
    step = np.full(4001, x[1])
    step[[0, -1]] /= 2
    waiting = maximum_entropy(x[:, None], [2.0], sizes=step)
    np.testing.assert_allclose(waiting.probabilities / step, 0.5 * np.exp(-x / 2), atol=1e-4)
    assert waiting.entropy == pytest.approx(1 + np.log(2.0), abs=1e-4)
    y = np.linspace(-12.0, 12.0, 2401)
    width = np.full(2401, y[1] - y[0])
    normal = maximum_entropy(np.column_stack([y, (y - 1) ** 2]), [1.0, 2.0], sizes=width)
    np.testing.assert_allclose(normal.probabilities / width, np.exp(GaussianDensity(1.0, 2.0).logpdf(y)), atol=1e-6)
    penalty = np.abs(y)
    regular = maximum_entropy(penalty[:, None], [0.5], sizes=width)
    slope = np.diff(np.log(regular.probabilities))[1500:2000] / np.diff(y)[1500:2000]
    np.testing.assert_allclose(slope, regular.multipliers[0], rtol=1e-8)
    assert regular.multipliers[0] == pytest.approx(-2.0, rel=1e-3)


@pytest.mark.catalogue("PE-30")
def test_running_means_settle_and_sums_become_gaussian():
    x = ExponentialDensity().sample(40_000, random_state=0).reshape(400, 100)
    errors = np.abs(running_means(x.T) - 1.0).mean(axis=1)
    assert errors[99] == pytest.approx(errors[24] / 2, rel=0.15)
    for terms in (1, 4, 16):
        sums = standardised_sums(ExponentialDensity(), terms, 400_000, random_state=terms)
        assert excess_kurtosis(sums) == pytest.approx(6 / terms, rel=0.15)
        assert (sums.mean(), sums.std()) == pytest.approx((0.0, 1.0), abs=0.01)
    assert excess_kurtosis(x.ravel()) == pytest.approx(kurtosis(x.ravel()))


def test_what_cannot_be_simulated_or_constrained_is_refused():
    with pytest.raises(DataError, match=r"the estimator gives shape \(2,\) where truth has \(1,\)"):
        simulate_risk(lambda x: [1.0, 2.0], GaussianDensity(), 0.0, n_samples=3)
    with pytest.raises(DataError, match=r"n_samples must be 1 or more and n_repeats 2 or more; got 0 and 5"):
        simulate_risk(np.mean, GaussianDensity(), 0.0, n_samples=0, n_repeats=5)
    with pytest.raises(DataError, match=r"target 0 must be between 1 and 6, the feature's range; got 7"):
        maximum_entropy(np.arange(1, 7)[:, None], [7.0])
    with pytest.raises(DataError, match=r"no distribution on these points has the expected values"):
        maximum_entropy(np.column_stack([np.arange(5.0), np.arange(5.0) ** 2]), [2.0, 1.0])
    with pytest.raises(DataError, match=r"has no closed form. Use method='monte_carlo'"):
        fisher_information(MixtureDensity([GaussianDensity()], [1.0]), method="exact")
    with pytest.raises(ParameterError, match=r"parameters must be among densities, weights"):
        fisher_information(MixtureDensity([GaussianDensity()], [1.0]), parameters=["mean"])
