"""Information measures, loss-optimal predictions and generative regression."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    GaussianDensity,
    GenerativeRegression,
    LaplaceDensity,
    MultivariateGaussianDensity,
    cross_entropy,
    entropy,
    gaussian_divergence,
    integrate_box,
    kl_divergence,
    mutual_information,
    optimal_prediction,
)
from mercer.linear_model import LinearRegression

tables = st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4).map(lambda p: np.array(p) / np.sum(p))


@pytest.mark.catalogue("PE-28")
@given(tables, tables)
def test_divergence_is_never_negative_and_cross_entropy_is_entropy_plus_divergence(p, q):
    assert kl_divergence(p, q) >= -1e-15
    assert cross_entropy(p, q) == pytest.approx(entropy(p) + kl_divergence(p, q), abs=1e-12)
    assert kl_divergence(p, p) == 0.0
    assert entropy(p, base=2) == pytest.approx(entropy(p) / np.log(2))


@pytest.mark.catalogue("PE-28")
def test_divergence_is_not_symmetric_and_infinite_where_the_model_excludes_what_happens():
    p, q = [0.5, 0.5, 0.0], [0.25, 0.5, 0.25]
    assert kl_divergence(p, q) == pytest.approx(0.5 * np.log(2))
    assert kl_divergence(q, p) == cross_entropy(q, p) == np.inf
    assert entropy(p) == pytest.approx(np.log(2))


@pytest.mark.catalogue("PE-28")
def test_mutual_information_is_what_the_entropies_leave():
    joint = np.random.default_rng(0).random((3, 4))
    joint /= joint.sum()
    parts = entropy(joint.sum(axis=0)) + entropy(joint.sum(axis=1)) - entropy(joint.ravel())
    assert mutual_information(joint) == pytest.approx(parts)
    assert mutual_information(100 * joint, base=2) == pytest.approx(parts / np.log(2))
    assert mutual_information(np.outer([0.2, 0.8], [0.3, 0.7])) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.catalogue("PE-28")
def test_the_divergence_of_gaussians_is_the_integral():
    first, second = GaussianDensity(0.5, 2.0), GaussianDensity(-1.0, 3.0)

    def integrand(x):
        logs = first.logpdf(x[:, 0])
        return np.exp(logs) * (logs - second.logpdf(x[:, 0]))

    assert gaussian_divergence(first, second) == pytest.approx(integrate_box(integrand, [-25.0], [25.0]).value)


@pytest.mark.catalogue("PE-28")
def test_measures_have_the_values_of_coding_theory():
    random = np.random.default_rng(0)
    # Dyadic probabilities: the entropy in bits is the mean length of their code words 0, 10, 110, 111.
    dyadic = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 8])
    lengths = np.array([1, 2, 3, 3])
    assert entropy(dyadic, base=2) == pytest.approx(dyadic @ lengths)
    # Coding a source p by the words of q costs the cross-entropy, and the divergence is the waste.
    p = np.array([0.1, 0.2, 0.3, 0.4])
    assert cross_entropy(p, dyadic, base=2) == pytest.approx(p @ lengths)
    assert kl_divergence(p, dyadic, base=2) == pytest.approx(p @ lengths - entropy(p, base=2))
    # A binary symmetric channel that flips one bit in ten with fair input carries 1 - H(0.1) bits.
    flip = 0.1
    channel = 0.5 * np.array([[1 - flip, flip], [flip, 1 - flip]])
    capacity = 1 + flip * np.log2(flip) + (1 - flip) * np.log2(1 - flip)
    assert mutual_information(channel, base=2) == pytest.approx(capacity)
    # A function of the other variable carries all its entropy; rows and columns of zeros change nothing.
    assert mutual_information(np.diag(dyadic), base=2) == pytest.approx(1.75)
    assert mutual_information(np.pad(channel, 1), base=2) == pytest.approx(capacity)
    # SciPy's values, row by row of a table.
    table, other = random.dirichlet(np.ones(5), 6), random.dirichlet(np.ones(5), 6)
    np.testing.assert_allclose(entropy(table), scipy.stats.entropy(table, axis=1))
    np.testing.assert_allclose(kl_divergence(table, other), scipy.stats.entropy(table, other, axis=1))


@pytest.mark.catalogue("PE-28")
def test_processing_loses_information_and_the_divergence_of_gaussian_rows_survives_a_change_of_coordinates():
    random = np.random.default_rng(0)
    joint = random.random((4, 5))
    merged = np.column_stack([joint[:, :2].sum(axis=1), joint[:, 2:]])
    assert mutual_information(merged) < mutual_information(joint)
    first = MultivariateGaussianDensity([0.0, 1.0, 2.0], np.diag([1.0, 2.0, 0.5]) + 0.2)
    second = MultivariateGaussianDensity([1.0, 0.0, 2.0], np.diag([2.0, 1.0, 1.5]) - 0.1)
    A = random.normal(size=(3, 3))
    moved = [MultivariateGaussianDensity(A @ g.mean + 1, A @ g.covariance @ A.T) for g in (first, second)]
    assert gaussian_divergence(*moved) == pytest.approx(gaussian_divergence(first, second))
    x = first.sample(200_000, random_state=0)
    assert np.mean(first.logpdf(x) - second.logpdf(x)) == pytest.approx(gaussian_divergence(first, second), abs=0.02)
    assert gaussian_divergence(first, second) != pytest.approx(gaussian_divergence(second, first))


@pytest.mark.catalogue("PE-26", "PL-36")
def test_losses_choose_mean_median_mode_and_quantile():
    x = np.linspace(0.0, 30.0, 30_001)
    weights = np.exp(-x) * x**2
    assert optimal_prediction(x, weights) == pytest.approx(3.0, abs=1e-3)
    assert optimal_prediction(x, weights, loss="absolute") == pytest.approx(2.67406, abs=1e-3)
    assert optimal_prediction(x, weights, loss="zero_one") == pytest.approx(2.0, abs=1e-9)
    assert optimal_prediction(x, weights, loss="pinball", quantile=0.9) == pytest.approx(5.32232, abs=1e-3)
    samples = np.random.default_rng(0).normal(size=(4, 501))
    np.testing.assert_allclose(optimal_prediction(samples, loss="absolute"), np.median(samples, axis=1))
    np.testing.assert_allclose(optimal_prediction(samples), samples.mean(axis=1))


@pytest.mark.catalogue("PE-26")
def test_any_loss_is_minimised_and_asymmetry_moves_the_answer():
    values = np.random.default_rng(0).gamma(3.0, size=2000)
    named = optimal_prediction(values)
    found = optimal_prediction(values, loss=lambda y, prediction: (y - prediction) ** 2)
    assert found == pytest.approx(named, abs=1e-6)
    dear = optimal_prediction(values, loss=lambda y, p: np.where(y > p, 5 * (y - p), p - y))
    assert dear == pytest.approx(np.quantile(values, 5 / 6), abs=0.02)
    chosen = optimal_prediction(values, loss=lambda y, p: np.abs(y - p), candidates=[0.0, 2.5, 10.0])
    assert chosen == 2.5
    discrete = optimal_prediction([1, 1, 2, 5], [0.2, 0.2, 0.35, 0.25], loss="zero_one")
    assert discrete == 1.0


@pytest.mark.catalogue("PE-27", "PL-40")
@pytest.mark.parametrize(("noise", "family"), [("gaussian", GaussianDensity), ("laplace", LaplaceDensity)])
def test_a_function_with_noise_judges_and_dreams_up_targets(noise, family):
    X = np.random.default_rng(0).uniform(-2, 2, size=(3000, 1))
    y = 1.5 * X[:, 0] + 0.5 + family(0.0, 0.3).sample(3000, random_state=0)
    model = GenerativeRegression.fit(LinearRegression().fit(X, y), X, y, noise)
    assert isinstance(model.noise, family)
    assert model.log_likelihood(X, y) == pytest.approx(model.noise.logpdf(y - model.predict(X)).sum())
    fantasies = model.sample(X[:3], 40_000, random_state=1)
    assert fantasies.shape == (40_000, 3)
    np.testing.assert_allclose(fantasies.mean(axis=0), model.predict(X[:3]), atol=0.02)
    np.testing.assert_allclose(fantasies.var(axis=0), model.noise.variance, rtol=0.05)


@pytest.mark.catalogue("PE-27")
def test_gaussian_noise_has_the_likelihood_of_squared_errors_and_relative_noise_its_own():
    X, y = np.array([[1.0], [2.0], [3.0]]), np.array([1.5, 1.0, 4.0])
    model = GenerativeRegression(lambda X: X[:, 0], GaussianDensity(0.0, 0.5))
    squares = np.square(y - X[:, 0]).sum()
    assert model.log_likelihood(X, y) == pytest.approx(-squares / (2 * 0.5) - 1.5 * np.log(2 * np.pi * 0.5))
    relative = GenerativeRegression(lambda X: X[:, 0], GaussianDensity(0.0, 0.04), multiplicative=True)
    one = lambda t: np.exp(relative.logpdf(np.full((len(t), 1), 2.0), t[:, 0]))  # noqa: E731
    assert integrate_box(one, [-4.0], [8.0]).value == pytest.approx(1.0)
    assert relative.sample(X, 50_000, random_state=0).std(axis=0) == pytest.approx(0.2 * X[:, 0], rel=0.03)


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda: entropy([0.5, 0.6]), ParameterError, r"entropy: p must sum to 1; got 1\.1"),
        (lambda: entropy([0.5, 0.5], base=1), ParameterError, "base must be a positive number other than 1; got 1"),
        (lambda: kl_divergence([0.5, 0.5], [1.0]), ParameterError, "q must have 2 entries"),
        (lambda: mutual_information([0.5, 0.5]), DataError, "joint must be a table"),
        (lambda: optimal_prediction([]), DataError, "need a last axis with a positive weight"),
        (
            lambda: optimal_prediction([1.0], loss="huber"),
            ParameterError,
            "loss must be a callable or one",
        ),
        (lambda: optimal_prediction([1.0], quantile=0.5), ParameterError, "with quantile for 'pinball' alone"),
        (lambda: GenerativeRegression.fit(np.sum, [[1.0]], [1.0], "student"), ParameterError, "or a density"),
        (
            lambda: GenerativeRegression(lambda X: X[:, 0], GaussianDensity()).logpdf([[1.0]], [1.0, 2.0]),
            DataError,
            r"y must have the shape of the predictions, \(1,\)",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(act, error, words):
    with pytest.raises(error, match=words):
        act()
