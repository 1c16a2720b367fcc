"""BayesianRidge: posterior, evidence and predictive variance against their definitions with n x n matrices."""

import numpy as np
import pytest
import sklearn.linear_model
from scipy.stats import multivariate_normal
from sklearn.datasets import load_diabetes

from mercer._source import open_source
from mercer._statistic import Moments
from mercer._statistic.triangle import Triangle
from mercer.linear_model import BayesianRidge, LinearRegression, Ridge, alpha_from_variances
from mercer.linear_model._solvers.closed_form.evidence import Evidence, Precisions
from mercer.linear_model._solvers.closed_form.linear_spectrum import _from_moments, _from_triangle

ALPHA = 4.0
LAMBDA = 0.5


@pytest.fixture
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 4)) + np.array([5.0, 0.0, -2.0, 0.0])
    return X, X @ [1.0, -2.0, 0.0, 0.5] + 3.0 + 0.5 * random.normal(size=30)


def hold_precisions(**parameters):
    return BayesianRidge(alpha_init=ALPHA, lambda_init=LAMBDA, maximise_evidence=False, **parameters)


@pytest.mark.catalogue("LM-09")
def test_the_posterior_at_given_precisions_is_the_closed_form(data):
    X, y = data
    model = hold_precisions(fit_intercept=False).fit(X, y)
    covariance = np.linalg.inv(ALPHA * X.T @ X + LAMBDA * np.eye(4))
    np.testing.assert_allclose(model.sigma_, covariance, rtol=1e-10)
    np.testing.assert_allclose(model.coef_, ALPHA * covariance @ X.T @ y, rtol=1e-10)
    assert (model.alpha_, model.lambda_) == (ALPHA, LAMBDA)


@pytest.mark.catalogue("LM-09")
def test_the_evidence_is_the_density_of_the_targets(data):
    X, y = data
    model = hold_precisions(fit_intercept=False).fit(X, y)
    for alpha, lambda_ in ((ALPHA, LAMBDA), (0.3, 20.0)):
        expected = multivariate_normal(np.zeros(30), np.eye(30) / alpha + X @ X.T / lambda_).logpdf(y)
        assert model.log_evidence(alpha, lambda_) == pytest.approx(expected, rel=1e-10)
    assert model.log_evidence() == model.log_evidence(ALPHA, LAMBDA)


@pytest.mark.catalogue("LM-09")
def test_the_mean_is_ridge_and_a_flat_prior_gives_least_squares(data):
    X, y = data
    ridge = Ridge(alpha=alpha_from_variances(noise=1 / ALPHA, prior=1 / LAMBDA)).fit(X, y)
    model = hold_precisions().fit(X, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-10)
    assert model.intercept_ == pytest.approx(ridge.intercept_)
    flat = BayesianRidge(lambda_init=0.0, maximise_evidence=False).fit(X, y)
    np.testing.assert_allclose(flat.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-9)


@pytest.mark.catalogue("LM-09")
def test_the_likelihood_is_that_of_gaussian_noise(data):
    X, y = data
    model = hold_precisions().fit(X, y)
    squares = np.sum((y - model.predict(X)) ** 2)
    expected = -squares * ALPHA / 2 - 15 * np.log(2 * np.pi / ALPHA)
    assert model.log_likelihood(X, y) == pytest.approx(expected)


@pytest.mark.catalogue("LM-09")
def test_the_predictive_deviation_exceeds_the_noise_and_grows_away_from_the_data(data):
    X, y = data
    model = BayesianRidge().fit(X, y)
    centre, direction = X.mean(axis=0), np.array([1.0, 1.0, 0.0, 0.0])
    _, deviation = model.predict(centre + np.array([0.0, 1.0, 3.0, 9.0])[:, None] * direction, return_std=True)
    assert deviation[0] == pytest.approx(np.sqrt((1 + 1 / 30) / model.alpha_))
    assert (np.diff(deviation) > 0).all()


def test_the_predictive_variance_is_that_of_a_model_with_the_intercept_among_its_coefficients(data):
    """Use a column of ones with a prior of no precision: the flat prior on the intercept stands for it."""
    X, y = data
    Z = np.column_stack([X, np.ones(30)])
    covariance = np.linalg.inv(ALPHA * Z.T @ Z + np.diag([LAMBDA] * 4 + [1e-12]))
    _, deviation = hold_precisions().fit(X, y).predict(X, return_std=True)
    np.testing.assert_allclose(deviation**2, 1 / ALPHA + np.sum((Z @ covariance) * Z, axis=1), rtol=1e-7)


def test_the_maximum_of_the_evidence_is_scikit_learns_and_cannot_be_raised():
    X, y = load_diabetes(return_X_y=True)
    ours = BayesianRidge(tol=1e-10, compute_score=True).fit(X, y)
    theirs = sklearn.linear_model.BayesianRidge(tol=1e-10, compute_score=True, max_iter=1000).fit(X, y)
    np.testing.assert_allclose([ours.alpha_, ours.lambda_], [theirs.alpha_, theirs.lambda_], rtol=1e-5)
    assert ours.scores_[-1] == pytest.approx(theirs.scores_[-1], abs=1e-8)
    best = ours.log_evidence()
    for factor in (0.9, 1.1):
        assert ours.log_evidence(alpha=factor * ours.alpha_) < best
        assert ours.log_evidence(lambda_=factor * ours.lambda_) < best


def test_the_slope_is_the_derivative_and_expectation_steps_never_descend(data):
    X, y = data
    evidence = Evidence(_from_moments(open_source(X, y).reduce(Moments()), True), (0.2, 0.3), (0.5, 0.1))
    up, down = np.exp(1e-6), np.exp(-1e-6)
    by_alpha = [evidence.evaluate(Precisions(2.0 * factor, 30.0)).value for factor in (up, down)]
    by_lambda = [evidence.evaluate(Precisions(2.0, 30.0 * factor)).value for factor in (up, down)]
    expected = [(high - low) / 2e-6 for high, low in (by_alpha, by_lambda)]
    np.testing.assert_allclose(evidence.slope(evidence.evaluate(Precisions(2.0, 30.0))), expected, rtol=1e-6)
    for precisions in np.random.default_rng(1).lognormal(0, 5, size=(50, 2)):
        here = evidence.evaluate(Precisions(*precisions))
        assert evidence.evaluate(evidence.take_expectation_step(here)).value >= here.value - 1e-9
        assert evidence.improve(here).value >= here.value - 1e-9


def test_draws_from_the_posterior_have_its_moments(data):
    X, y = data
    model = BayesianRidge().fit(X, y)
    coefs, intercepts = model.sample_posterior(40_000, random_state=0)
    deviation = np.sqrt(np.diagonal(model.sigma_))
    np.testing.assert_allclose(coefs.mean(axis=0), model.coef_, atol=5 * deviation.max() / 200)
    np.testing.assert_allclose(np.cov(coefs.T), model.sigma_, atol=0.05 * np.abs(model.sigma_).max())
    _, expected = model.predict(np.zeros((1, 4)), return_std=True)
    assert intercepts.std() == pytest.approx(np.sqrt(expected[0] ** 2 - 1 / model.alpha_), rel=0.03)
    np.testing.assert_array_equal(coefs, model.sample_posterior(40_000, random_state=0)[0])


@pytest.mark.parametrize("centre", [True, False])
def test_scatter_and_triangle_give_one_spectrum(data, centre):
    X, y = data
    source = open_source(X, y)
    scatter = _from_moments(source.reduce(Moments()), centre)
    triangle = _from_triangle(source.reduce(Triangle(centre)), source.reduce(Moments(diagonal=True)))
    for name in ("values", "mean", "y_mean", "y_scatter", "unexplained", "y_variance"):
        np.testing.assert_allclose(getattr(scatter, name), getattr(triangle, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scatter.coef(2.0), triangle.coef(2.0), rtol=1e-9)


def test_more_columns_than_rows_keep_the_prior_where_there_are_no_data():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(10, 25)), random.normal(size=10)
    model = BayesianRidge(alpha_init=2.0, lambda_init=3.0, maximise_evidence=False, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.sigma_, np.linalg.inv(2.0 * X.T @ X + 3.0 * np.eye(25)), rtol=1e-9, atol=1e-12)


def test_constant_targets_and_constant_columns_are_fitted_exactly():
    X = np.column_stack([np.arange(6.0), np.full(6, 7.0)])
    model = BayesianRidge().fit(X, np.full(6, 2.5))
    mean, deviation = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, 2.5)
    assert deviation.max() < 0.01


def test_several_targets_are_refused():
    with pytest.raises(ValueError, match="y should be a 1d array"):
        BayesianRidge().fit(np.eye(3), np.eye(3))
