"""Gaussian process regression: the posterior, its evidence and gradients, weights, jitter, errors."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor as ScikitRegressor
from sklearn.gaussian_process import kernels as scikit
from sklearn.kernel_ridge import KernelRidge

import mercer
from mercer.errors import DataError, MemoryForecastError, ParameterError, UnsupportedError
from mercer.estimation import MultivariateGaussianDensity
from mercer.gaussian_process import GaussianProcessRegressor
from mercer.kernels import RBF, Linear, Matern, White

PRIOR = 1.5 * RBF(np.array([0.8, 2.0])) + White(0.05)
THEIRS = 1.5 * scikit.RBF([0.8, 2.0]) + scikit.WhiteKernel(0.05)


def rows(n=60, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * random.normal(size=n)


@pytest.mark.catalogue("KM-17")
def test_the_mean_is_kernel_ridge_with_the_noise_as_its_penalty():
    X, y = rows()
    model = GaussianProcessRegressor(RBF(0.7), alpha=0.09, optimizer=None).fit(X, y)
    ridge = KernelRidge(alpha=0.09, kernel="rbf", gamma=1 / (2 * 0.7**2)).fit(X, y)
    np.testing.assert_allclose(model.predict(X[:5] + 0.1), ridge.predict(X[:5] + 0.1), rtol=1e-10)


@pytest.mark.catalogue("KM-17")
def test_it_is_the_conditional_of_the_joint_gaussian():
    X, y = rows(12)
    kernel = RBF(0.9)
    K = kernel(X) + 0.01 * np.diag(np.arange(12) < 8)
    given = MultivariateGaussianDensity(np.zeros(12), K).conditional(np.arange(8), y[:8])
    model = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X[:8], y[:8])
    mean, covariance = model.predict(X[8:], return_cov=True)
    np.testing.assert_allclose(mean, given.mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(covariance, given.covariance, rtol=1e-7, atol=1e-10)


@pytest.mark.catalogue("KM-17")
def test_the_variance_is_the_priors_at_most_shrinks_at_the_data_and_does_not_see_the_targets():
    X, y = rows()
    model = GaussianProcessRegressor(2.0 * RBF(0.8), alpha=1e-6, optimizer=None).fit(X, y)
    far, near = np.array([[40.0, 40.0]]), X[:5]
    assert model.predict(far, return_std=True)[1] == pytest.approx(np.sqrt(2.0))
    assert (model.predict(near, return_std=True)[1] < 2e-3).all()
    other = GaussianProcessRegressor(2.0 * RBF(0.8), alpha=1e-6, optimizer=None).fit(X, y[::-1])
    np.testing.assert_array_equal(
        model.predict(X + 0.1, return_std=True)[1], other.predict(X + 0.1, return_std=True)[1]
    )


@pytest.mark.parametrize("kernel", [PRIOR, THEIRS], ids=["mercer", "scikit-learn"])
def test_evidence_gradient_and_predictions_are_scikit_learns(kernel):
    X, y = rows()
    ours = GaussianProcessRegressor(kernel, optimizer=None, alpha=1e-4).fit(X, y)
    theirs = ScikitRegressor(THEIRS, optimizer=None, alpha=1e-4).fit(X, y)
    theta = theirs.kernel_.theta + 0.1
    for found, expected in zip(ours.log_marginal_likelihood(theta, True), theirs.log_marginal_likelihood(theta, True)):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    for options in ({"return_std": True}, {"return_cov": True}):
        for found, expected in zip(ours.predict(X + 0.05, **options), theirs.predict(X + 0.05, **options)):
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.L_, theirs.L_, rtol=1e-9, atol=1e-12)


def test_a_kernel_that_is_scikit_learns_alone_has_its_own_gradient_in_tiles():
    X, y = rows(230)
    X = X[:, :1]
    kernel = scikit.DotProduct() + 0.5 * scikit.ExpSineSquared() + scikit.WhiteKernel(0.1)
    ours, theirs = (cls(kernel, optimizer=None).fit(X, y) for cls in (GaussianProcessRegressor, ScikitRegressor))
    found, expected = (model.log_marginal_likelihood(kernel.theta, True) for model in (ours, theirs))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-8)


def test_the_evidence_rises_to_a_maximum_as_high_as_scikit_learns():
    X, y = rows()
    model = GaussianProcessRegressor(PRIOR).fit(X, y)
    assert model.converged_
    assert model.certificate_.value <= 1e-3
    assert (
        model.log_marginal_likelihood_value_ >= ScikitRegressor(THEIRS).fit(X, y).log_marginal_likelihood_value_ - 1e-6
    )
    best = [GaussianProcessRegressor(PRIOR, n_restarts_optimizer=k, random_state=0).fit(X, y) for k in (0, 3)]
    assert best[1].log_marginal_likelihood_value_ >= best[0].log_marginal_likelihood_value_


def test_restarts_on_threads_give_the_same_bits():
    X, y = rows()
    thetas = [
        GaussianProcessRegressor(PRIOR, n_restarts_optimizer=3, random_state=0, n_jobs=jobs).fit(X, y).kernel_.theta
        for jobs in (1, 3)
    ]
    np.testing.assert_array_equal(*thetas)


@pytest.mark.parametrize("kernel", [PRIOR, Matern(1.3, nu=2.5) * Linear() + White(0.1)], ids=["RBF", "product"])
def test_gradients_by_inputs_are_those_of_finite_differences(kernel):
    X, y = rows()
    model = GaussianProcessRegressor(kernel, normalize_y=True, optimizer=None).fit(X, y)
    at, step = X[:4] + 0.3, 1e-5
    *_, mean_slope, std_slope = model.predict(at, return_std=True, return_gradient=True)
    for column in range(2):
        move = step * np.eye(2)[column]
        above, below = (np.array(model.predict(at + sign * move, return_std=True)) for sign in (1, -1))
        mean, std = (above - below) / (2 * step)
        np.testing.assert_allclose(mean_slope[:, column], mean, rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(std_slope[:, column], std, rtol=1e-4, atol=1e-7)


def test_left_out_rows_are_predicted_as_by_refitting():
    X, y = rows(15)
    noise, weight = np.linspace(0.01, 0.1, 15), np.array([1.0, 2.0, 3.0] * 5)
    model = GaussianProcessRegressor(PRIOR, alpha=noise, optimizer=None, normalize_y=False).fit(X, y, weight)
    mean, std = model.leave_one_out(return_std=True)
    for i in (0, 7):
        rest = np.arange(15) != i
        other = GaussianProcessRegressor(PRIOR, alpha=noise[rest], optimizer=None).fit(X[rest], y[rest], weight[rest])
        np.testing.assert_allclose([mean[i], std[i]], np.ravel(other.predict(X[i : i + 1], return_std=True)), rtol=1e-9)


def test_a_weight_is_a_number_of_repetitions_with_noise_of_their_own():
    X, y = rows(30)
    weight = np.arange(30) % 3
    weighted = GaussianProcessRegressor(PRIOR, alpha=0.02).fit(X, y, sample_weight=weight)
    repeated = GaussianProcessRegressor(PRIOR, alpha=0.02).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.log_marginal_likelihood_value_ == pytest.approx(repeated.log_marginal_likelihood_value_, abs=1e-6)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


@pytest.mark.catalogue("KM-17")
def test_samples_of_prior_and_posterior_have_their_covariance():
    X, y = rows(8)
    model = GaussianProcessRegressor(RBF(0.9), alpha=0.1, optimizer=None)
    at = X[:3] + 0.4
    assert np.cov(model.sample_y(at, 40_000)) == pytest.approx(RBF(0.9)(at), abs=0.03)
    model.fit(X, y)
    assert np.cov(model.sample_y(at, 40_000)) == pytest.approx(model.predict(at, return_cov=True)[1], abs=0.03)
    assert multivariate_normal(*model.predict(at, return_cov=True)).logpdf(model.sample_y(at)[:, 0]) > -20


def test_repeated_rows_without_noise_get_the_least_jitter_and_it_is_recorded():
    X, y = rows(10)
    model = GaussianProcessRegressor(RBF(1.0), alpha=0.0, optimizer=None).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert 0 < model.jitter_ <= 1e-6
    np.testing.assert_allclose(model.predict(X), y, atol=1e-2)
    assert GaussianProcessRegressor(RBF(1.0), alpha=0.1, optimizer=None).fit(X, y).jitter_ == 0.0


def test_several_targets_are_several_functions_with_one_covariance():
    X, y = rows()
    Y = np.column_stack([y, 3 * y + 1])
    model = GaussianProcessRegressor(PRIOR, normalize_y=True).fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean[:, 1], 3 * mean[:, 0] + 1, rtol=1e-8)
    np.testing.assert_allclose(std[:, 1], 3 * std[:, 0], rtol=1e-8)
    assert model.predict(X, return_gradient=True)[1].shape == (60, 2, 2)


def test_a_matrix_that_does_not_fit_is_refused_with_the_other_solvers():
    X, y = rows(400)
    with mercer.config_context(max_memory="1 MiB"), pytest.raises(MemoryForecastError, match="solver='iterative'"):
        GaussianProcessRegressor(solver="exact").fit(X, y)
    with mercer.config_context(max_memory="1 MiB"):
        model = GaussianProcessRegressor(RBF() + White(), n_inducing=30, optimizer=None).fit(X, y)
    assert model.solver_used_ == "iterative"


def test_what_cannot_be_is_refused_by_name():
    X, y = rows(10)
    with pytest.raises(
        ParameterError, match=r"kernel must be a kernel of mercer.kernels or of scikit-learn or None; got 'rbf'"
    ):
        GaussianProcessRegressor("rbf").fit(X, y)
    with pytest.raises(ParameterError, match=r"same number of entries as y. \(3 != 10\)"):
        GaussianProcessRegressor(alpha=[1.0, 2.0, 3.0]).fit(X, y)
    with pytest.raises(DataError, match="sample_weight needs noise on every row to share out"):
        GaussianProcessRegressor(RBF(), alpha=0.0).fit(X, y, sample_weight=np.full(10, 2.0))
    with pytest.raises(RuntimeError, match="At most one of return_std or return_cov"):
        GaussianProcessRegressor().predict(X, return_std=True, return_cov=True)
    model = GaussianProcessRegressor(scikit.DotProduct() + scikit.WhiteKernel()).fit(X, y)
    with pytest.raises(UnsupportedError, match=r"derivatives by inputs are known for kernels of mercer\.kernels"):
        model.predict(X, return_gradient=True)
