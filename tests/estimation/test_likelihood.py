"""Maximum likelihood, maximum a posteriori and posteriors on grids, for any log-density."""

import warnings

import numpy as np
import pytest
import scipy.stats
from scipy.stats import beta
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso as PeerLasso

from mercer.errors import DataError
from mercer.estimation import (
    BernoulliDensity,
    BetaDensity,
    BetaGeometric,
    ExponentialDensity,
    GammaDensity,
    GaussianDensity,
    GaussianMean,
    GeometricDensity,
    LaplaceDensity,
    PoissonDensity,
    UniformDensity,
    grid_posterior,
    maximum_a_posteriori,
    maximum_likelihood,
)
from mercer.linear_model import Ridge
from mercer.optim import ROSENBROCK, GradientNorm, MaxIter, minimize


def geometric(x, theta):
    return GeometricDensity(*theta).logpdf(x)


def gaussian(x, theta):
    return GaussianDensity(theta[0], theta[1]).logpdf(x)


@pytest.mark.catalogue("PE-02")
@pytest.mark.parametrize("method", ["lbfgs", "newton", "conjugate_gradient", "rprop", "coordinate_search"])
def test_every_method_finds_the_closed_form(method):
    found = maximum_likelihood(geometric, [0, 2, 0, 1], [0.5], method=method)
    assert found.parameters[0] == pytest.approx(4 / 7, abs=1e-5)
    assert found.result.converged


@pytest.mark.catalogue("PE-02", "PE-04")
def test_gaussian_mean_and_variance_with_standard_errors():
    x = GaussianDensity(2.0, 3.0).sample(400, random_state=0)
    found = maximum_likelihood(gaussian, x, [0.0, 1.0], score=lambda x, t: GaussianDensity(*t).score(x))
    assert found.parameters == pytest.approx([x.mean(), x.var()], rel=1e-5)
    assert found.standard_errors == pytest.approx([np.sqrt(x.var() / 400), x.var() * np.sqrt(2 / 400)], rel=1e-3)
    assert found.log_likelihood == pytest.approx(GaussianDensity(x.mean(), x.var()).logpdf(x).sum())


@pytest.mark.catalogue("PE-02")
def test_another_parametrisation_gives_the_same_estimate():
    other = maximum_likelihood(lambda x, t: geometric(x, 1 / (1 + np.exp(-t))), [0, 2, 0, 1], [0.0])
    assert 1 / (1 + np.exp(-other.parameters[0])) == pytest.approx(4 / 7, abs=1e-6)


def test_weights_are_repetitions():
    x, weight = np.array([0, 2, 0, 1, 5]), np.array([1, 2, 0, 3, 1])
    weighted = maximum_likelihood(geometric, x, [0.5], sample_weight=weight)
    repeated = maximum_likelihood(geometric, x.repeat(weight), [0.5])
    assert weighted.parameters == pytest.approx(repeated.parameters, abs=1e-7)
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood)


@pytest.mark.catalogue("PE-12")
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_conjugate_priors_have_their_mode_in_closed_form(unit):
    """Beta with coins, gamma with counts, Gaussian with means: the prior's own numbers add to those of the data."""
    coins = np.array([1, 1, 0, 1, 0, 1, 1])
    for a, b in ((1.0, 1.0), (2.0, 5.0), (30.0, 4.0)):
        found = maximum_a_posteriori(lambda x, t: BernoulliDensity(*t).logpdf(x), BetaDensity(a, b), coins, [0.5])
        assert found.parameters[0] == pytest.approx((a + 5 - 1) / (a + b + 7 - 2), abs=1e-5)
    counts = np.array([3, 0, 5, 2])
    found = maximum_a_posteriori(lambda x, t: PoissonDensity(*t).logpdf(x), GammaDensity(2.0, 1.5), counts, [1.0])
    assert found.parameters[0] == pytest.approx((2 + 10 - 1) / (1.5 + 4), abs=1e-5)
    x = unit * np.array([1.0, 4.0, 2.5])
    noise, wide, centre = 2.0 * unit**2, 0.5 * unit**2, -3.0 * unit
    found = maximum_a_posteriori(
        lambda x, t: GaussianDensity(t[0], noise).logpdf(x), GaussianDensity(centre, wide), x, [0.0]
    )
    mode = (centre / wide + x.sum() / noise) / (1 / wide + 3 / noise)
    assert found.result.converged
    assert found.parameters[0] == pytest.approx(mode, rel=1e-4)
    assert found.information[0, 0] == pytest.approx(1 / wide + 3 / noise, rel=1e-3)


@pytest.mark.catalogue("PE-12")
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_gaussian_priors_give_ridge_and_correlated_ones_their_linear_system(unit):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3))
    y = unit * (X @ [1.0, -2.0, 0.5] + random.normal(size=40))
    rows = np.column_stack([X, y])
    noise, wide = 2.0 * unit**2, 0.25 * unit**2

    def linear(rows, w):
        return GaussianDensity(rows[:, :3] @ w, noise).logpdf(rows[:, 3])

    tight = {"stop": GradientNorm(1e-7 / unit) | MaxIter(500)}
    found = maximum_a_posteriori(linear, GaussianDensity(0.0, wide), rows, np.zeros(3), **tight)
    # lambda is the ratio of variances, 8, in any unit of the targets.
    ridge = np.linalg.solve(X.T @ X + 8.0 * np.eye(3), X.T @ y)
    np.testing.assert_allclose(found.parameters, ridge, rtol=1e-4)
    np.testing.assert_allclose(Ridge(alpha=8.0, fit_intercept=False).fit(X, y).coef_, ridge, rtol=1e-9)
    C, centre = (
        unit**2 * np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 0.1]]),
        unit * np.array([3.0, 0.0, 1.0]),
    )
    prior = scipy.stats.multivariate_normal(centre, C)
    found = maximum_a_posteriori(linear, prior.logpdf, rows, np.zeros(3), **tight)
    precision = np.linalg.inv(C)
    mode = np.linalg.solve(X.T @ X / noise + precision, X.T @ y / noise + precision @ centre)
    np.testing.assert_allclose(found.parameters, mode, rtol=1e-4)
    # A flat prior is none, and the influence of any falls as one over the number of rows.
    flat = maximum_a_posteriori(linear, lambda w: 0.0, rows, np.zeros(3), **tight)
    plain = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(flat.parameters, plain, rtol=1e-4)
    pulls = []
    for times in (10, 100, 1000):
        many = maximum_a_posteriori(linear, prior.logpdf, rows, plain, sample_weight=np.full(40, times), **tight)
        pulls.append(np.linalg.norm(many.parameters - plain))
    assert pulls[0] / pulls[1] == pytest.approx(10, rel=0.1)
    assert pulls[1] / pulls[2] == pytest.approx(10, rel=0.02)


@pytest.mark.catalogue("PE-12")
def test_a_laplace_prior_gives_the_lasso_of_a_peer():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3))
    y = X @ [1.0, 0.1, -0.5] + random.normal(size=40)
    rows = np.column_stack([X, y])
    # At a penalty just below the largest product with y, that column alone is used, with a small coefficient.
    *_, second, first = np.sort(np.abs(X.T @ y))
    noise = 2.0
    scale = noise / (first - 0.1 * (first - second))
    found = maximum_a_posteriori(
        lambda rows, w: GaussianDensity(rows[:, :3] @ w, noise).logpdf(rows[:, 3]),
        LaplaceDensity(0.0, scale), rows, np.full(3, 0.1), stop=GradientNorm(1e-9) | MaxIter(5000),
    )  # fmt: skip
    # |y - X w|^2 / (2 noise) + |w|_1 / scale, times noise / n: the peer's alpha is noise / (n scale).
    peer = PeerLasso(alpha=noise / scale / 40, fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(found.parameters, peer.coef_, atol=1e-6)
    assert (peer.coef_ == 0).any()
    np.testing.assert_array_equal(found.parameters == 0, peer.coef_ == 0)


@pytest.mark.catalogue("PE-12")
@pytest.mark.parametrize("prior", [
    LaplaceDensity(0.0, 0.5),
    LaplaceDensity(np.zeros(3), 0.5),
    scipy.stats.laplace(0.0, 0.5),
    lambda w: -2.0 * np.abs(w).sum(),
], ids=["numbers", "vector", "scipy", "function"])  # fmt: skip
def test_a_laplace_prior_gives_the_soft_threshold_of_orthogonal_columns_exactly(prior):
    # Columns of length 2 that are orthogonal: the minimum of |y - X w|^2 / 2 + 2 |w|_1 is S(X'y, 2) / 4, by hand.
    X = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    y = X @ [1.0, 0.3, -1.5]
    rows = np.column_stack([X, y])
    found = maximum_a_posteriori(
        lambda rows, w: GaussianDensity(rows[:, :3] @ w, 1.0).logpdf(rows[:, 3]), prior, rows, np.full(3, 0.2)
    )
    assert found.result.converged
    assert found.parameters == pytest.approx([0.5, 0.0, -1.0], abs=2e-6)
    if hasattr(prior, "prox") or hasattr(prior, "dist"):
        assert found.parameters[1] == 0.0
        np.testing.assert_allclose(found.information, 4 * np.eye(3), atol=1e-3)


def test_an_exponential_prior_keeps_to_its_side_and_ends_at_its_wall():
    def gaussian_mean(x, theta):
        return GaussianDensity(theta[0], 1.0).logpdf(x)

    # The minimum of (m - 1/4)^2 / 2 * 4 + 2 m is at 1/4 - 2/4 < 0, hence at the wall; that of (m - 2)^2 ... at 3/2.
    wall = maximum_a_posteriori(gaussian_mean, ExponentialDensity(2.0), [0.0, 0.5, 0.25, 0.25], [1.0])
    assert (wall.parameters[0], wall.result.converged) == (0.0, True)
    inside = maximum_a_posteriori(gaussian_mean, ExponentialDensity(2.0), [1.0, 3.0, 2.0, 2.0], [1.0])
    assert inside.parameters[0] == pytest.approx(1.5, abs=1e-6)


def test_a_search_that_does_not_converge_warns():
    stop = GradientNorm(1e-12) | MaxIter(1)
    with pytest.warns(ConvergenceWarning, match="maximum_likelihood: the search did not converge") as caught:
        found = maximum_likelihood(gaussian, [1.0, 2.0, 6.0], [0.0, 1.0], stop=stop)
    assert len(caught) == 1
    assert not found.result.converged
    with pytest.warns(ConvergenceWarning, match="It did not converge: allow more steps"):
        minimize(ROSENBROCK, [-1.2, 1.0], stop=stop)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A number of steps and nothing else is what the user asked for.
        assert minimize(ROSENBROCK, [-1.2, 1.0], stop=MaxIter(3)).n_iter == 3


@pytest.mark.catalogue("PE-12")
def test_flat_priors_give_maximum_likelihood_and_any_prior_vanishes_with_data():
    flat = maximum_a_posteriori(geometric, UniformDensity(), [0, 2, 0, 1], [0.5])
    assert flat.parameters[0] == pytest.approx(4 / 7, abs=1e-6)
    distances = []
    for n in (5, 50, 500):
        x = np.tile([0, 2, 0, 1], n)
        found = maximum_a_posteriori(geometric, BetaDensity(10.0, 2.0), x, [0.5])
        distances.append(abs(found.parameters[0] - 4 / 7))
    assert distances[0] > 5 * distances[1] > 25 * distances[2]


@pytest.mark.catalogue("PE-13")
def test_grids_reproduce_the_conjugate_posteriors():
    theta = np.linspace(0.0, 1.0, 4001)
    found = grid_posterior(lambda x, p: GeometricDensity(p).logpdf(x), UniformDensity(), [0, 2, 0, 1], theta)
    exact = BetaGeometric().update([0, 2, 0, 1])
    assert found.mean[0] == pytest.approx(exact.mean, abs=1e-7)
    assert found.mode[0] == pytest.approx(4 / 7, abs=3e-4)
    assert found.variance[0] == pytest.approx(exact.variance, abs=1e-7)
    assert found.probabilities.sum() == pytest.approx(1.0)
    assert np.trapezoid(np.exp(found.log_density), theta) == pytest.approx(1.0)
    assert np.exp(found.log_evidence) == pytest.approx(1 / 280, rel=1e-6)
    low, high = found.credible_interval(0.9)
    assert (low, high) == pytest.approx(beta(5, 4).ppf([0.05, 0.95]), abs=1e-4)
    predicted = found.predictive(lambda x, p: np.exp(GeometricDensity(p).logpdf(x)), [0, 1, 2])
    assert predicted == pytest.approx([5 / 9, 2 / 9, 10 / 99], abs=1e-6)


@pytest.mark.catalogue("PE-13")
def test_the_posterior_mean_has_the_least_expected_squared_error():
    mu = np.linspace(-8.0, 8.0, 2001)
    x = [1.0, 2.0, 4.5]
    found = grid_posterior(lambda x, m: GaussianDensity(m, 4.0).logpdf(x), GaussianDensity(0.0, 1.0), x, mu)
    exact = GaussianMean(0.0, 1.0, 4.0).update(x)
    assert (found.mean[0], found.variance[0]) == pytest.approx((exact.location, exact.spread), abs=1e-8)
    least = found.expect(lambda m: (m - found.mean[0]) ** 2)
    for other in (found.mean[0] - 0.1, found.mean[0] + 0.1):
        assert found.expect(lambda m, other=other: (m - other) ** 2) > least


@pytest.mark.catalogue("PE-13")
def test_two_parameters_have_marginals_and_priors_of_their_own():
    x = GaussianDensity(1.0, 2.0).sample(30, random_state=0)
    mean, variance = np.linspace(-1.0, 3.0, 81), np.linspace(0.3, 9.0, 91)
    found = grid_posterior(
        lambda x, m, v: GaussianDensity(m, v).logpdf(x), [GaussianDensity(0.0, 10.0), None], x, mean, variance
    )
    assert found.log_density.shape == (81, 91)
    assert np.trapezoid(found.marginal(0), mean) == pytest.approx(1.0, abs=1e-3)
    assert found.mean[0] == pytest.approx(x.mean(), abs=0.05)
    assert found.credible_interval(0.5, 1)[0] < found.mean[1] < found.credible_interval(0.5, 1)[1] + 0.5


def test_starts_and_grids_where_nothing_is_likely_are_refused():
    with pytest.raises(DataError, match=r"must have a finite log-density at start; got -inf. Move it"):
        maximum_likelihood(geometric, [0, 1], [1.5])
    with pytest.raises(DataError, match=r"X must hold at least one observation"):
        maximum_likelihood(geometric, [], [0.5])
    with pytest.raises(DataError, match=r"zero, or not a number, on all of the grid. Widen it"):
        grid_posterior(lambda x, m: GaussianDensity(m, 1.0).logpdf(x), UniformDensity(5.0, 6.0), [0.0], [0, 1, 2])
    with pytest.raises(DataError, match=r"a grid has one or two parameters; got 3"):
        grid_posterior(gaussian, None, [0.0], [0, 1, 2], [1, 2, 3], [1, 2, 3])
    with pytest.raises(DataError, match=r"at least three increasing values. Sort them"):
        grid_posterior(gaussian, None, [0.0], [2, 1, 0])
