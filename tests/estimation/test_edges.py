"""Estimation at its edges: leading axes, weights, ends of the support, defaults, and estimates written out by hand."""

import numpy as np
import pytest
from scipy import stats
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    BetaBinomial,
    BetaDensity,
    BinomialDensity,
    DirichletCategorical,
    EstimatorRisk,
    GammaDensity,
    GammaPoisson,
    GaussianDensity,
    GaussianMean,
    GenerativeRegression,
    JeffreysPrior,
    LaplaceDensity,
    ModelAveragingClassifier,
    ModelAveragingRegressor,
    MultivariateGaussianDensity,
    UniformDensity,
    cramer_rao_bound,
    data_log_likelihood,
    grid_posterior,
    james_stein,
    maximum_entropy,
    maximum_likelihood,
    monte_carlo_evidence,
    mutual_information,
    optimal_prediction,
)


def test_uniform_densities_include_both_ends():
    density = UniformDensity(1.0, 3.0)
    assert density.logpdf([0.999, 1.0, 3.0, 3.001]).tolist() == [-np.inf, -np.log(2), -np.log(2), -np.inf]


def test_the_largest_likelihood_of_gamma_rows_is_where_scipy_finds_it():
    random = np.random.default_rng(11)
    for shape in (0.05, 0.7, 3.0, 40.0):
        x = random.gamma(shape, 2.0, 400)
        a, _, scale = stats.gamma.fit(x, floc=0)
        fitted = GammaDensity().fit(x)
        np.testing.assert_allclose([fitted.concentration, fitted.rate], [a, 1 / scale], rtol=1e-6)
        # The score is zero at the maximum.
        assert np.abs(fitted.score(x).mean(axis=0)).max() < 1e-9 * max(1.0, shape)


def test_draws_of_gamma_and_laplace_have_the_moments_of_their_parameters():
    drawn = GammaDensity(3.0, 4.0).sample(200_000, 0)
    np.testing.assert_allclose([drawn.mean(), drawn.var()], [3 / 4, 3 / 16], rtol=0.02)
    information = LaplaceDensity(2.0, 0.5).fisher_information()
    assert information.tolist() == [[4.0, 0.0], [0.0, 4.0]]
    with pytest.raises(DataError, match="the scale of constant observations is zero"):
        LaplaceDensity().fit([2.0, 2.0, 2.0])
    with pytest.raises(DataError, match="the scale of constant observations is zero"):
        LaplaceDensity().fit([[1.0, 2.0], [3.0, 2.0]])


@pytest.mark.parametrize(
    ("a", "b", "mode"), [(2.0, 3.0, 1 / 3), (1.0, 3.0, np.nan), (3.0, 1.0, np.nan), (1.5, 1.5, 0.5)]
)
def test_a_beta_density_has_a_mode_inside_only_if_both_exponents_are_above_one(a, b, mode):
    np.testing.assert_equal(BetaDensity(a, b).mode, mode)


def test_rows_of_weight_zero_are_absent_even_where_they_are_impossible():
    density = UniformDensity(0.0, 2.0)
    assert data_log_likelihood(density, [1.0, 5.0, 0.5], [2.0, 0.0, 1.0]) == -3 * np.log(2)
    assert data_log_likelihood(density, [1.0, 5.0], [1.0, 0.5]) == -np.inf


def test_defaults_are_one_trial_and_uniform_priors():
    assert BinomialDensity().logpdf([0, 1]).tolist() == [np.log(0.5)] * 2
    assert (BetaBinomial().a, BetaBinomial().trials) == (1.0, 1.0)
    assert (GammaPoisson().concentration, GammaPoisson().rate) == (1.0, 1.0)
    assert DirichletCategorical().concentration.tolist() == [1.0, 1.0]
    with pytest.raises(ParameterError, match="trials must be whole numbers"):
        BinomialDensity(0.5, 2.5)


def test_beliefs_of_groups_keep_groups_without_observations():
    belief = GammaPoisson(2.0, 3.0).update_groups([4.0, 1.0, 5.0], [0, 2, 0], n_groups=5)
    assert belief.concentration.tolist() == [11.0, 2.0, 3.0, 2.0, 2.0]
    assert belief.rate.tolist() == [5.0, 3.0, 4.0, 3.0, 3.0]
    words = DirichletCategorical([1.0, 1.0, 1.0]).update_groups([0, 2, 2], [1, 1, 0], n_groups=4)
    assert words.concentration.tolist() == [[1, 1, 2], [2, 1, 2], [1, 1, 1], [1, 1, 1]]
    assert words.shape == (4,)
    assert DirichletCategorical([1.0, 1.0]).update_groups([0, 1], [0, 1]).shape == (2,)


def test_a_mean_without_observations_keeps_its_prior():
    belief = GaussianMean(np.array([1.0, 2.0]), 4.0, 9.0)
    unchanged = belief.update(np.empty((0, 2)))
    np.testing.assert_allclose(unchanged.location, [1.0, 2.0])


@pytest.mark.parametrize("variance", [None, 2.0])
def test_shrinkage_to_a_target_is_the_formula(variance):
    X = np.random.default_rng(11).normal(2.0, 1.0, (6, 5))
    target = np.arange(5.0)
    mean, n, d = X.mean(axis=0), 6, 5
    freedom = (n - 1) * d
    noise = 2.0 / n if variance else np.square(X - mean).sum() / (freedom + 2) / n
    shrunk = target + (1 - (d - 2) * noise / np.square(mean - target).sum()) * (mean - target)
    np.testing.assert_allclose(james_stein(X, variance, target=target, positive=False), shrunk, rtol=1e-12)
    # By default the factor never turns the sign: a mean on the target stays there.
    near = mean - mean + 1e-9
    np.testing.assert_allclose(james_stein(np.tile(mean, (6, 1)) * 0 + near, 1.0), np.zeros(5), atol=1e-12)


def test_weights_scale_the_slope_and_the_sum():
    random = np.random.default_rng(11)
    X, weight = random.normal(3.0, 2.0, 50), random.uniform(0.5, 3.0, 50)

    def log_density(x, theta):
        return stats.norm.logpdf(x, theta[0], 2.0)

    def score(x, theta):
        return ((x - theta[0]) / 4.0)[:, None]

    estimate = maximum_likelihood(log_density, X, [0.0], score=score, sample_weight=weight)
    np.testing.assert_allclose(estimate.parameters, [np.average(X, weights=weight)], rtol=1e-7)
    np.testing.assert_allclose(estimate.log_likelihood, weight @ stats.norm.logpdf(X, estimate.parameters[0], 2.0))
    # A score in other units than the value would end elsewhere, or not at all.
    assert estimate.result.converged
    assert estimate.result.n_iter <= 6


def test_the_error_of_simulated_evidence_is_that_of_its_mean():
    prior, X = GaussianDensity(0.0, 1.0), np.array([0.3])
    answer = monte_carlo_evidence(lambda x, theta: stats.norm.logpdf(x, theta[0], 1.0), prior, X, 500, random_state=4)
    draws = np.asarray(prior.sample(500, 4)).ravel()
    likelihoods = stats.norm.pdf(0.3, draws, 1.0)
    exact = stats.norm.logpdf(0.3, 0.0, np.sqrt(2.0))
    assert abs(answer.log_value - exact) < 5 * answer.error
    np.testing.assert_allclose(answer.error, likelihoods.std(ddof=1) / likelihoods.mean() / np.sqrt(500), rtol=0.2)


def test_bounds_and_priors_refuse_information_that_is_singular():
    with pytest.raises(DataError, match="the information is singular"):
        cramer_rao_bound([[1.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(cramer_rao_bound([[2.0, 1.0], [1.0, 3.0]]), np.linalg.inv([[2.0, 1.0], [1.0, 3.0]]))
    # An asymmetric entry would be half read if the matrix were taken as triangular.
    assert JeffreysPrior(GaussianDensity(0.0, 1.0)).logpdf([0.0, -1.0]) == -np.inf


def test_multiplicative_noise_needs_a_function_that_is_nowhere_zero():
    model = GenerativeRegression(lambda x: x, GaussianDensity(1.0, 0.1), multiplicative=True)
    with pytest.raises(DataError, match="nowhere zero"):
        model.logpdf([0.0, 1.0], [1.0, 2.0])


def test_axes_of_a_grid_must_rise_strictly():
    with pytest.raises(DataError, match="at least three increasing values"):
        grid_posterior(stats.norm.logpdf, [stats.norm(0, 1)], [0.1], [0.0, 1.0, 1.0, 2.0])


def test_mutual_information_of_a_stack_of_tables_is_that_of_each():
    tables = np.random.default_rng(11).uniform(size=(4, 2, 3))
    each = [mutual_information(table) for table in tables]
    np.testing.assert_allclose(mutual_information(tables), each, rtol=1e-12)
    for table, value in zip(tables / tables.sum(axis=(1, 2), keepdims=True), each, strict=True):
        by_hand = (table * np.log(table / np.outer(table.sum(axis=1), table.sum(axis=0)))).sum()
        np.testing.assert_allclose(value, by_hand, rtol=1e-12)
    with pytest.raises(ParameterError, match="base must be a positive number other than 1"):
        mutual_information(tables[0], base=0)
    np.testing.assert_allclose(mutual_information(tables[0], base=0.5), -each[0] / np.log(2), rtol=1e-12)


def test_the_unbiased_covariance_needs_weight_above_one():
    with pytest.raises(DataError, match="needs total weight above 1; got 1"):
        MultivariateGaussianDensity([0.0], [[1.0]], ddof=1).fit([[3.0]])


def test_cells_of_unequal_size_share_entropy_by_size():
    # Without constraints the density is uniform, so that a cell gets its share of the size.
    sizes = np.array([1.0, 3.0, 0.5])
    values = np.array([0.0, 1.0, 2.0])
    solution = maximum_entropy(values[:, None], [sizes @ values / sizes.sum()], sizes=sizes)
    np.testing.assert_allclose(solution.probabilities, sizes / sizes.sum(), rtol=1e-9)
    np.testing.assert_allclose(solution.entropy, np.log(sizes.sum()), rtol=1e-9)
    skewed = maximum_entropy(np.array([[0.0], [1.0], [2.0]]), [1.9], sizes=sizes)
    np.testing.assert_allclose(skewed.probabilities @ [0.0, 1.0, 2.0], 1.9, rtol=1e-6)
    tilted = sizes * np.exp(-skewed.multipliers[0] * np.array([0.0, 1.0, 2.0]))
    again = sizes * np.exp(skewed.multipliers[0] * np.array([0.0, 1.0, 2.0]))
    best = min(np.abs(own / own.sum() - skewed.probabilities).max() for own in (tilted, again))
    assert best < 1e-6


def test_predictions_for_a_stack_of_beliefs_are_those_of_each():
    random = np.random.default_rng(11)
    values, weights = random.normal(size=(2, 3, 7)), random.uniform(size=(2, 3, 7))

    def loss(outcome, guess):
        return (outcome - guess) ** 2

    stacked = optimal_prediction(values, weights, loss=loss)
    assert stacked.shape == (2, 3)
    by_hand = (values * weights).sum(axis=-1) / weights.sum(axis=-1)
    np.testing.assert_allclose(stacked, by_hand, atol=1e-5)


def test_simulated_risk_sums_squares_over_coordinates():
    estimates, truth = np.random.default_rng(11).normal(size=(9, 3)), np.array([0.5, -1.0, 2.0])
    risk = EstimatorRisk(truth, estimates)
    squares = ((estimates - truth) ** 2).sum(axis=1)
    np.testing.assert_allclose(risk.standard_error, squares.std(ddof=1) / 3.0, rtol=1e-12)


def test_averaged_models_weigh_by_the_likelihood_of_their_rows():
    random = np.random.default_rng(11)
    X, y = random.normal(size=(80, 2)), random.integers(0, 2, 80)
    informative = np.column_stack([y + 0.1 * random.normal(size=80), X[:, 1]])
    members = [("guess", DummyClassifier()), ("line", LogisticRegression())]
    model = ModelAveragingClassifier(members).fit(informative, y)
    assert model.weights_[1] > 0.999
    chosen = model.estimators_[1].predict_proba(informative)[np.arange(80), y]
    np.testing.assert_allclose(model.log_likelihoods_[1], np.log(chosen).sum(), rtol=1e-9)
    assert ModelAveragingClassifier().__sklearn_tags__().estimator_type == "classifier"
    weightless = ModelAveragingClassifier(members).fit(informative, np.where(y == 1, 1, 0), np.where(y >= 0, 1.0, 0.0))
    assert weightless.classes_.tolist() == [0, 1]
    labels = np.array([0, 1, 2] + [0, 1] * 10)
    rows = random.normal(size=(23, 2))
    weight = np.where(labels == 2, 0.0, 1.0)
    with pytest.raises(DataError, match="Drop rows of weight zero first"):
        ModelAveragingClassifier(members).fit(rows, labels, weight)
    with pytest.warns(UserWarning, match="column-vector"):
        ModelAveragingRegressor().fit(rows, rows[:, :1])
