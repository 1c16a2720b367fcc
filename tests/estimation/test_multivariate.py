"""The Gaussian density of rows, its marginals and conditionals."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import mercer
from mercer.errors import DataError, ParameterError
from mercer.estimation import GaussianDensity, MultivariateGaussianDensity, gaussian_divergence, integrate_box

FACTOR = np.random.default_rng(0).normal(size=(4, 4))
COVARIANCE = FACTOR @ FACTOR.T + np.eye(4)
MEAN = np.array([1.0, -2.0, 0.5, 3.0])
JOINT = MultivariateGaussianDensity(MEAN, COVARIANCE)


@pytest.mark.catalogue("DT-04")
def test_the_density_at_the_mean_has_the_right_normaliser_and_integrates_to_one():
    determinant = np.linalg.det(COVARIANCE)
    assert JOINT.logpdf([MEAN])[0] == pytest.approx(-0.5 * np.log((2 * np.pi) ** 4 * determinant))
    X = np.random.default_rng(1).normal(size=(20, 4))
    np.testing.assert_allclose(JOINT.logpdf(X), multivariate_normal(MEAN, COVARIANCE).logpdf(X))
    two = MultivariateGaussianDensity([0.0, 1.0], [[1.0, 0.6], [0.6, 2.0]])
    total = integrate_box(lambda x: np.exp(two.logpdf(x)), [-12.0, -14.0], [12.0, 16.0], tol=1e-7)
    assert total.value == pytest.approx(1.0, abs=1e-7)


@pytest.mark.catalogue("PE-03")
def test_the_mean_of_rows_with_known_covariance_has_score_zero():
    X = JOINT.sample(200, random_state=1)
    fitted = MultivariateGaussianDensity(np.zeros(4), COVARIANCE, known="covariance").fit(X)
    np.testing.assert_allclose(fitted.mean, X.mean(axis=0))
    np.testing.assert_allclose(np.linalg.solve(COVARIANCE, (X - fitted.mean).sum(axis=0)), 0.0, atol=1e-10)
    np.testing.assert_array_equal(fitted.covariance, COVARIANCE)
    best = fitted.logpdf(X).sum()
    for shift in np.eye(4) * 0.01:
        assert MultivariateGaussianDensity(fitted.mean + shift, COVARIANCE).logpdf(X).sum() < best


@pytest.mark.catalogue("PE-04")
def test_maximum_likelihood_divides_by_n_and_the_unbiased_covariance_by_one_less():
    X = JOINT.sample(30, random_state=1)
    start = MultivariateGaussianDensity.standard(4)
    np.testing.assert_allclose(start.fit(X).covariance, np.cov(X.T, ddof=0))
    np.testing.assert_allclose(MultivariateGaussianDensity.standard(4, ddof=1).fit(X).covariance, np.cov(X.T))
    around = MultivariateGaussianDensity(MEAN, np.eye(4), known="mean").fit(X)
    np.testing.assert_allclose(around.covariance, (X - MEAN).T @ (X - MEAN) / 30)
    weight = np.arange(30) % 3
    np.testing.assert_allclose(start.fit(X, weight).covariance, start.fit(X.repeat(weight, axis=0)).covariance)


@pytest.mark.catalogue("PE-29")
def test_conditionals_have_the_corrected_mean_and_no_more_variance():
    given, wanted = [0, 2], [1, 3]
    at_mean = JOINT.conditional(given, MEAN[given])
    np.testing.assert_allclose(at_mean.mean, MEAN[wanted])
    value = np.array([2.0, -1.0])
    gain = COVARIANCE[np.ix_(wanted, given)] @ np.linalg.inv(COVARIANCE[np.ix_(given, given)])
    there = JOINT.conditional(given, value)
    np.testing.assert_allclose(there.mean, MEAN[wanted] + gain @ (value - MEAN[given]))
    marginal = JOINT.marginal(wanted)
    assert np.linalg.eigvalsh(marginal.covariance - there.covariance).min() > -1e-10
    joint = JOINT.logpdf([[2.0, 0.3, -1.0, 1.0]])[0]
    assert there.logpdf([[0.3, 1.0]])[0] + JOINT.marginal(given).logpdf([value])[0] == pytest.approx(joint)


@pytest.mark.catalogue("PE-29")
def test_conditional_means_are_the_regression_on_a_large_sample():
    X = JOINT.sample(200_000, random_state=2)
    design = np.column_stack([X[:, [0, 2]], np.ones(len(X))])
    coefficients = np.linalg.lstsq(design, X[:, 1], rcond=None)[0]
    means, covariance = JOINT.conditional_moments([0, 2], X[:100, [0, 2]])
    np.testing.assert_allclose(means[:, 0], design[:100] @ coefficients, atol=0.05)
    assert covariance.shape == (2, 2)


def test_marginals_select_and_divergences_agree_in_one_dimension():
    kept = JOINT.marginal([3, 0])
    np.testing.assert_array_equal(kept.mean, MEAN[[3, 0]])
    np.testing.assert_array_equal(kept.covariance, COVARIANCE[np.ix_([3, 0], [3, 0])])
    rows = [MultivariateGaussianDensity([m], [[v]]) for m, v in ((0.0, 1.0), (1.0, 3.0))]
    numbers = GaussianDensity(0.0, 1.0), GaussianDensity(1.0, 3.0)
    assert gaussian_divergence(*rows) == pytest.approx(gaussian_divergence(*numbers))
    assert gaussian_divergence(JOINT, JOINT) == pytest.approx(0.0, abs=1e-10)


def test_densities_are_plain_records_that_model_files_can_hold(tmp_path):
    from mercer._base.model_file import load_plain, save_plain

    save_plain({"class": JOINT, "other": GaussianDensity(1.0, 2.0)}, tmp_path / "densities.mercer")
    loaded = load_plain(tmp_path / "densities.mercer")
    np.testing.assert_array_equal(loaded["class"].logpdf([MEAN]), JOINT.logpdf([MEAN]))
    assert loaded["other"].variance == 2.0
    assert mercer.estimation is not None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MultivariateGaussianDensity([0.0], np.eye(2)), r"covariance must be of shape \(1, 1\)"),
        (lambda: MultivariateGaussianDensity([0.0, 0.0], [[1, 2], [0, 1]]), "must be symmetric"),
        (
            lambda: MultivariateGaussianDensity([0.0, 0.0], [[1, 1], [1, 1]]),
            "must be positive definite; got rank 1 of 2. Add a small multiple of the identity",
        ),
        (lambda: MultivariateGaussianDensity.standard(2, known="all"), "known must be None, 'mean' or 'covariance'"),
        (lambda: MultivariateGaussianDensity.standard(5).fit(np.ones((3, 5))), "must be positive definite; got rank 0"),
    ],
)
def test_covariances_that_are_none_are_refused_with_the_cure(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


def test_regularisation_makes_few_rows_usable():
    X = np.random.default_rng(1).normal(size=(3, 5))
    fitted = MultivariateGaussianDensity.standard(5, regularization=0.1).fit(X)
    assert np.isfinite(fitted.logpdf(X)).all()


def test_columns_and_rows_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match=r"rows must have 4 columns; got 3"):
        JOINT.logpdf(np.zeros((2, 3)))
    with pytest.raises(DataError, match=r"columns must be different integers in \[0, 3\]"):
        JOINT.marginal([0, 4])
    with pytest.raises(DataError, match=r"a column that is not known"):
        JOINT.conditional([0, 1, 2, 3], MEAN)
