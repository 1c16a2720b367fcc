"""Fisher information of densities of numbers, of rows and of categories: as scores, as Hessians, in closed form."""

import numpy as np
import pytest

from mercer.errors import DataError, ParameterError
from mercer.estimation import (
    BernoulliDensity,
    BetaDensity,
    BinomialDensity,
    CategoricalDensity,
    ExponentialDensity,
    GammaDensity,
    GaussianDensity,
    GeometricDensity,
    IndependentDensity,
    JeffreysPrior,
    LaplaceDensity,
    MixtureDensity,
    MultivariateGaussianDensity,
    PoissonDensity,
    TransformedDensity,
    UniformDensity,
    cramer_rao_bound,
    fisher_information,
)
from mercer.optim import numerical_hessian

SMOOTH = [
    GaussianDensity(1.0, 2.0),
    BernoulliDensity(0.3),
    BinomialDensity(0.3, 5),
    GeometricDensity(0.4),
    PoissonDensity(3.0),
    ExponentialDensity(2.0),
    GammaDensity(2.0, 3.0),
    BetaDensity(2.0, 3.0),
]


@pytest.mark.catalogue("PE-19")
@pytest.mark.parametrize("density", SMOOTH, ids=lambda density: type(density).__name__)
def test_the_expected_outer_product_of_scores_is_minus_the_expected_hessian(density):
    exact = fisher_information(density, n=3, method="exact")
    assert exact.shape == (len(density.parameters()),) * 2
    size = np.abs(exact).max()
    for method in ("hessian", "monte_carlo"):
        found = fisher_information(density, n=3, method=method, n_samples=40_000, random_state=0)
        np.testing.assert_allclose(found, exact, rtol=0.05, atol=0.05 * size)


@pytest.mark.catalogue("PE-19")
@pytest.mark.parametrize("parameters", [None, ["mean"], ["covariance"]], ids=str)
@pytest.mark.parametrize("method", ["hessian", "monte_carlo"])
def test_densities_of_rows_have_the_information_of_all_their_free_numbers(method, parameters):
    covariance = np.array([[2.0, 0.6], [0.6, 1.0]])
    density = MultivariateGaussianDensity([1.0, -2.0], covariance)
    found = fisher_information(density, parameters=parameters, method=method, n_samples=40_000, random_state=0)
    # Of a Gaussian: dm' P dm, and tr(P dC P dC) / 2 with dC moving both places of an entry beside the diagonal.
    P = np.linalg.inv(covariance)
    moves = [np.diag([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.diag([0.0, 1.0])]
    known = np.zeros((5, 5))
    known[:2, :2] = P
    known[2:, 2:] = [[0.5 * np.trace(P @ a @ P @ b) for b in moves] for a in moves]
    places = {None: range(5), "mean": range(2), "covariance": range(2, 5)}[parameters and parameters[0]]
    expected = known[np.ix_(places, places)]
    np.testing.assert_allclose(found, expected, atol=0.05 * np.abs(expected).max())


@pytest.mark.catalogue("PE-19")
def test_minus_the_hessian_of_a_poisson_sample_is_its_mean_over_the_squared_rate():
    # -d^2 log p / dr^2 = x / r^2 for each x: what the Hessian method must average, to the accuracy of differences.
    density, n_samples = PoissonDensity(3.0), 500
    x = density.sample(n_samples, random_state=5)
    found = fisher_information(density, method="hessian", n_samples=n_samples, random_state=5)
    assert found[0, 0] == pytest.approx(x.mean() / 9.0, rel=1e-6)


def test_vector_parameters_give_a_matrix_for_each_variable():
    density = GaussianDensity([0.0, 1.0, 2.0], [1.0, 4.0, 0.5])
    wanted = np.stack([np.diag([1 / v, 1 / (2 * v * v)]) for v in (1.0, 4.0, 0.5)])
    np.testing.assert_allclose(fisher_information(density), wanted)
    np.testing.assert_allclose(fisher_information(density, parameters=["variance"]), wanted[:, 1:, 1:])
    np.testing.assert_allclose(fisher_information(density, parameters=["variance", "mean"]), wanted[:, ::-1, ::-1])
    # One shared variance: still a matrix for each mean.
    assert fisher_information(GaussianDensity([0.0, 1.0], 2.0)).shape == (2, 2, 2)
    for method in ("monte_carlo", "hessian"):
        found = fisher_information(density, method=method, n_samples=40_000, random_state=0)
        np.testing.assert_allclose(found, wanted, rtol=0.06, atol=0.06)


def test_independent_columns_add_up_what_they_share():
    own = IndependentDensity(GaussianDensity([0.0, 1.0], [1.0, 4.0]))
    np.testing.assert_allclose(fisher_information(own), np.diag([1.0, 0.25, 0.5, 1 / 32]))
    shared = IndependentDensity(GaussianDensity([0.0, 1.0], 2.0))
    # The variance of both columns: 2 / (2 v^2).
    np.testing.assert_allclose(fisher_information(shared), np.diag([0.5, 0.5, 0.25]))
    x = shared.sample(100_000, random_state=0)
    scores = np.column_stack([x - [0.0, 1.0], ((x - [0.0, 1.0]) ** 2 / 4 - 0.5).sum(axis=1)])
    scores[:, :2] /= 2.0
    scores[:, 2] /= 2.0
    np.testing.assert_allclose(scores.T @ scores / len(x), fisher_information(shared), atol=0.02)


@pytest.mark.catalogue("PE-19")
def test_the_information_of_a_gaussian_row_is_the_hessian_of_its_divergence():
    # KL(p_t || p_s) has the Fisher information as its Hessian by s at s = t, whatever the coordinates.
    mean, covariance = np.array([1.0, -1.0]), np.array([[2.0, 0.6], [0.6, 1.0]])
    density = MultivariateGaussianDensity(mean, covariance)

    def divergence(theta):
        other = np.array([[theta[2], theta[3]], [theta[3], theta[4]]])
        gap = theta[:2] - mean
        inverse = np.linalg.inv(other)
        constant = np.log(np.linalg.det(other) / np.linalg.det(covariance)) - 2
        return 0.5 * (np.trace(inverse @ covariance) + gap @ inverse @ gap + constant)

    wanted = numerical_hessian(divergence, np.array([1.0, -1.0, 2.0, 0.6, 1.0]))
    np.testing.assert_allclose(fisher_information(density), wanted, atol=1e-4)
    np.testing.assert_allclose(fisher_information(density, parameters=["covariance"]), wanted[2:, 2:], atol=1e-4)
    known = MultivariateGaussianDensity(mean, covariance, known="covariance")
    np.testing.assert_allclose(cramer_rao_bound(fisher_information(known, n=10)), covariance / 10)


@pytest.mark.catalogue("PE-19")
def test_the_information_of_categories_is_that_of_all_but_one():
    p = np.array([0.5, 0.2, 0.3])
    density = CategoricalDensity(p)
    information = fisher_information(density)
    np.testing.assert_allclose(information, [[1 / 0.5 + 1 / 0.3, 1 / 0.3], [1 / 0.3, 1 / 0.2 + 1 / 0.3]])
    # Its inverse is the covariance of the counts of one draw.
    np.testing.assert_allclose(cramer_rao_bound(information), np.diag(p[:2]) - np.outer(p[:2], p[:2]))
    scores = density.score([0, 1, 2])
    np.testing.assert_allclose(p @ scores, 0.0, atol=1e-15)
    np.testing.assert_allclose((scores.T * p) @ scores, information)
    assert fisher_information(CategoricalDensity([p, [1 / 3, 1 / 3, 1 / 3]])).shape == (2, 2, 2)
    np.testing.assert_allclose(fisher_information(CategoricalDensity([0.7, 0.3])), [[1 / 0.21]])


def test_a_known_number_of_trials_is_no_parameter():
    density = BinomialDensity(0.3, 5)
    assert list(density.parameters()) == ["probability"]
    np.testing.assert_allclose(fisher_information(density), [[5 / 0.21]])
    assert density.score([0, 3]).shape == (2, 1)
    np.testing.assert_allclose(cramer_rao_bound(fisher_information(density, n=4)), [[0.21 / 20]])
    with pytest.raises(ParameterError, match="parameters must be among probability; got"):
        fisher_information(density, parameters=["trials"])
    # Jeffreys' prior of a binomial probability is Beta(1/2, 1/2) whatever the number of trials.
    prior = JeffreysPrior(density)
    assert prior.logpdf([0.5]) - prior.logpdf([0.2]) == pytest.approx(0.5 * np.log(0.16 / 0.25))


def test_a_function_that_can_be_inverted_keeps_the_information():
    log_normal = TransformedDensity(GaussianDensity(1.0, 2.0), np.exp, np.log, np.exp)
    np.testing.assert_allclose(fisher_information(log_normal), np.diag([0.5, 0.125]))


def test_what_has_no_information_says_so():
    with pytest.raises(DataError, match="the support of UniformDensity depends on its parameters"):
        fisher_information(UniformDensity())
    with pytest.raises(DataError, match="LaplaceDensity has a kink and no second derivatives"):
        fisher_information(LaplaceDensity(), method="hessian")
    np.testing.assert_allclose(fisher_information(LaplaceDensity(0.0, 2.0)), np.diag([0.25, 0.25]))
    with pytest.raises(DataError, match="'densities' of MixtureDensity is none"):
        fisher_information(MixtureDensity([GaussianDensity()], [1.0]), method="monte_carlo", n_samples=10)
