"""Gaussian process classification: Laplace's approximation against scikit-learn's and against integrals."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from sklearn.gaussian_process import GaussianProcessClassifier as ScikitClassifier
from sklearn.gaussian_process import kernels as scikit

from mercer.errors import DataError, UnsupportedError
from mercer.gaussian_process import GaussianProcessClassifier
from mercer.gaussian_process._laplace import LaplaceEvidence, average_sigmoids, compute_mode_slope
from mercer.kernels import RBF, White


def rows(n=90, classes=2):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * random.normal(size=n)
    return X, np.array(["ash", "birch", "cedar"])[np.digitize(f, [0.0] if classes == 2 else [-0.7, 0.7])]


@pytest.mark.parametrize(("mean", "variance"), [(0.3, 1e-12), (0.3, 0.5), (1.0, 1.1), (-2.0, 30.0), (5.0, 1e4)])
def test_the_mean_of_the_sigmoid_is_the_integral(mean, variance):
    def integrand(z):
        return expit(mean + np.sqrt(variance) * z) * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)

    expected = quad(integrand, -12, 12, points=[np.clip(-mean / np.sqrt(variance), -11, 11)], epsabs=1e-13, limit=200)[
        0
    ]
    assert average_sigmoids(np.array([mean]), np.array([variance]))[0] == pytest.approx(expected, abs=1e-12)


def test_evidence_gradient_latent_values_and_probabilities_are_scikit_learns():
    X, y = rows()
    ours = GaussianProcessClassifier(1.5 * RBF(0.9), optimizer=None).fit(X, y)
    theirs = ScikitClassifier(1.5 * scikit.RBF(0.9), optimizer=None).fit(X, y)
    theta = theirs.kernel_.theta + 0.2
    for found, expected in zip(ours.log_marginal_likelihood(theta, True), theirs.log_marginal_likelihood(theta, True)):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    for found, expected in zip(ours.latent_mean_and_variance(X), theirs.latent_mean_and_variance(X)):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    # scikit-learn replaces the sigmoid by a sum of error functions, to three digits.
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


def test_the_mode_is_found_to_rounding_so_that_values_do_not_scatter():
    X, y = rows()
    evidence = LaplaceEvidence(X, (y == "ash").astype(float), np.ones(90), 100, np.zeros(90))
    kernel, random = 10.0 * RBF(0.9), np.random.default_rng(0)
    value, slope = evidence.evaluate(kernel)
    for move in 1e-9 * random.normal(size=(20, 2)):
        assert evidence.evaluate(kernel.with_theta(kernel.theta + move), False)[0] == pytest.approx(
            value + slope @ move, abs=1e-11
        )


def test_the_slope_by_the_mode_is_that_by_posterior_variances():
    X, _ = rows()
    f, weight = 4.0 * np.sin(3 * X[:, 0]), 0.5 + X[:, 1] ** 2
    K = 100.0 * RBF(0.9)(X)
    pi = expit(f)
    W = weight * pi * (1.0 - pi)
    B = np.eye(90) + np.sqrt(W)[:, None] * K * np.sqrt(W)
    half = np.linalg.solve(B, np.sqrt(W)[:, None] * K)
    variance = np.diag(K) - np.einsum("ij,ij->j", np.sqrt(W)[:, None] * K, half)
    found = compute_mode_slope(np.diag(np.linalg.inv(B)), pi, expit(-f))
    np.testing.assert_allclose(found, -0.5 * variance * W * (1.0 - 2.0 * pi), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
def test_several_classes_are_several_problems(multi_class):
    X, y = rows(classes=3)
    ours = GaussianProcessClassifier(1.0 * RBF(), multi_class=multi_class).fit(X, y)
    theirs = ScikitClassifier(1.0 * scikit.RBF(), multi_class=multi_class).fit(X, y)
    # Of several maxima, ours may be a higher one.
    assert ours.log_marginal_likelihood_value_ >= theirs.log_marginal_likelihood_value_ - 1e-5
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.97
    assert len(ours.models_) == len(ours.kernels_) == 3


def test_the_search_ends_at_a_maximum_on_any_number_of_threads():
    X, y = rows(classes=3)
    models = [GaussianProcessClassifier(1.0 * RBF(), n_jobs=jobs).fit(X, y) for jobs in (1, 3)]
    assert models[0].certificate_.satisfied
    assert np.all(np.diff(models[0].history_["objective"]) >= 0)
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


def test_an_optimizer_of_ones_own_that_does_not_move_is_not_certified():
    X, y = rows()
    best = GaussianProcessClassifier(1.0 * RBF()).fit(X, y).kernel_.theta
    for theta, satisfied in ((best, True), (best + 0.1, False)):
        model = GaussianProcessClassifier(1.0 * RBF(), optimizer=lambda objective, start, bounds, at=theta: (at, 0.0))
        assert model.fit(X, y).certificate_.satisfied is satisfied


def test_a_weight_is_a_number_of_repetitions():
    X, y = rows()
    weight = np.arange(90) % 3
    weighted = GaussianProcessClassifier(1.0 * RBF()).fit(X, y, sample_weight=weight)
    repeated = GaussianProcessClassifier(1.0 * RBF()).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.log_marginal_likelihood_value_ == pytest.approx(repeated.log_marginal_likelihood_value_, abs=1e-6)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_a_warm_start_begins_at_the_last_modes_and_ends_at_the_same_ones():
    X, y = rows()
    model = GaussianProcessClassifier(1.0 * RBF(), warm_start=True).fit(X, y)
    first = model.predict_proba(X)
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X), first, atol=1e-5)


def test_what_cannot_be_is_refused_by_name():
    X, y = rows()
    with pytest.raises(
        DataError, match=r"requires 2 or more distinct classes; got 1 class \(only class ash is present\)"
    ):
        GaussianProcessClassifier().fit(X, np.full(90, "ash"))
    with pytest.raises(UnsupportedError, match="cannot be used with white noise in the kernel"):
        GaussianProcessClassifier(RBF() + White()).fit(X, y, sample_weight=np.ones(90) * 2)
    X, y = rows(classes=3)
    model = GaussianProcessClassifier(RBF(), optimizer=None, multi_class="one_vs_one").fit(X, y)
    with pytest.raises(UnsupportedError, match="one_vs_one multi-class mode does not support"):
        model.predict_proba(X)
    with pytest.raises(UnsupportedError, match="only supported for binary classification"):
        model.latent_mean_and_variance(X)
